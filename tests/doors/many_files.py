"""The door of logs in many Parquet files: of all types and columns, damaged now and then, named in every way."""

import io
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

import lpbandits as lpb
from tests.doors.documents import bytes_changed, same_in_files, source_of
from tests.doors.hostile import anything, one_of
from tests.doors.runner import Door

MIXABLE = (pl.Int8, pl.Int64, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)
LABELS = (
    *(pl.Int8, pl.Int64, pl.UInt32, pl.UInt64, pl.Int128, pl.Float32, pl.Float64),
    *(pl.String, pl.Categorical, pl.Boolean, pl.Date, pl.Null, pl.Decimal(6, 1), pl.List(pl.Int64)),
)
RATINGS = (pl.Float64, pl.Float64, pl.Float32, pl.Int16, pl.Decimal(6, 1), pl.String, pl.Null, pl.Duration("ms"))
WAYS = ("folder", "pattern", "list", "deep")


@st.composite
def parts(draw: st.DrawFn) -> str:
    """Draw some files, and how they are read."""
    usual = draw(st.sampled_from([MIXABLE, MIXABLE, (pl.String, pl.Categorical), LABELS]))
    ratings = draw(st.sampled_from([RATINGS[:4], RATINGS]))
    made = []
    for number in range(draw(st.integers(1, 4))):
        rows = draw(st.sampled_from([0, 2, 2, 2, 3]))
        frame = _cast({"user": [3 * number + i for i in range(rows)]}, draw(st.sampled_from(usual)))
        frame = frame.hstack(_cast({"item": list(range(rows))}, draw(st.sampled_from(usual))))
        frame = frame.hstack(_cast({"rating": [float(i) for i in range(rows)]}, draw(st.sampled_from(ratings))))
        if draw(st.integers(0, 9)) == 0:
            frame = frame.drop(draw(st.sampled_from(["user", "item", "rating"])))
        if draw(st.integers(0, 3)) == 0:
            frame = frame.with_columns(pl.lit(number).alias(draw(st.sampled_from(["time", "score", "row", "blank"]))))
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        data = buffer.getvalue()
        made.append(draw(bytes_changed(data)) if draw(st.integers(0, 9)) == 0 else data)
    files = ", ".join(source_of(data) for data in made)
    options = draw(
        one_of(
            *("{}", "{}", "{}", "{}", "dict(duplicates='mean')", "dict(layout='wide')", "dict(layout='rankings')"),
            *("dict(rating='score')", "dict(rank='rating')", "dict(person='item', action='user')"),
        )
    )
    return f"[{draw(st.sampled_from(WAYS))!r}, [{files}], {options}]"


def _cast(column: dict[str, list[Any]], kind: Any) -> pl.DataFrame:
    """Return a column of another type, if its values have it; else as it is."""
    frame = pl.DataFrame(column)
    try:
        return frame.with_columns(
            pl.all().cast(pl.String).cast(kind) if kind == pl.Categorical else pl.all().cast(kind)
        )
    except pl.exceptions.PolarsError:
        return frame


def use_parts(given: Any) -> Any:
    way, files, settings = given
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / (f"a={n}/p [{n}].parquet" if way == "deep" else f"p {n}.parquet") for n in range(len(files))]
        for path, data in zip(paths, files, strict=True):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        ways: dict[str, Any] = {
            "folder": folder,
            "pattern": folder / "p*",
            "list": paths,
            "deep": folder / "**/*.parquet",
        }
        source = ways[way]
        log = lpb.read_ratings(source, **settings)
        same_in_files(source, settings, log)
        back = lpb.read_ratings(list(reversed(paths)), **settings)
        if settings.get("duplicates") != "last" and back.sha256 != log.sha256:
            raise AssertionError("in another order the log is another")
    return log.rating, log.counts, log.sha256


def use_list(given: Any) -> Any:
    return lpb.read_ratings([given, "a.parquet"])


DOORS = [
    Door("ratings-files", parts(), use_parts, budget=60, share=3.0),
    Door("ratings-list", anything(), use_list, share=0.5),
]
