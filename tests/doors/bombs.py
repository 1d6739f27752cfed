"""Small files that would fill memory or time; each is read in a process of its own, whose memory is shown."""

import gzip
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import lpbandits as lpb
from tests.workbooks import workbook

MOST_MEGABYTES = 1000

MEGABYTE = bytes(2**20)


def _gzip_of_zeros(folder: Path) -> Path:
    place = folder / "ratings.csv.gz"
    with gzip.open(place, "wb", compresslevel=1) as out:
        out.write(b"person,action,rating\n")
        for _ in range(2000):
            out.write(MEGABYTE)
    return place


def _zip_of_zeros(folder: Path) -> Path:
    place = folder / "ml.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as bundle, bundle.open("ratings.csv", "w") as out:
        out.write(b"person,action,rating\n")
        for _ in range(2000):
            out.write(MEGABYTE)
    return place


def _wide(folder: Path) -> Path:
    place = folder / "ratings.csv"
    place.write_text(
        ",".join(f"c{i}" for i in range(200_000)) + "\n" + ",".join("1" * 200_000) + "\n", encoding="utf-8"
    )
    return place


def _one_line(folder: Path) -> Path:
    place = folder / "ratings.csv"
    with place.open("wb") as out:
        out.write(b"person,action,rating\n")
        for _ in range(300):
            out.write(b"1," * 2**19)
    return place


def _many_rows(folder: Path) -> Path:
    place = folder / "ratings.parquet"
    columns = [pl.lit(1, pl.Int8).repeat_by(1).explode().alias(name) for name in ("person", "action", "rating")]
    frame = pl.select(*columns).lazy()
    wide = frame.select(pl.repeat(1, 1_000_000_000, dtype=pl.Int8).alias("person")).with_columns(
        action=pl.lit(1, pl.Int8), rating=pl.lit(1, pl.Int8)
    )
    wide.sink_parquet(place)
    return place


def _brackets(folder: Path) -> Path:
    place = folder / "model.json"
    place.write_bytes(b"[" * 50_000_000)
    return place


def _flat(folder: Path) -> Path:
    place = folder / "model.json"
    place.write_bytes(b"[" + b"[]," * 60_000_000 + b"[]]")
    return place


def _labels(folder: Path) -> Path:
    place = folder / "ratings.parquet"
    action = pl.Series(["x" * 100_000]).cast(pl.Categorical).new_from_index(0, 100_000)
    table = pl.DataFrame({"person": range(100_000), "rating": [1.0] * 100_000}).with_columns(action=action)
    table.write_parquet(place)
    return place


def _long_text(folder: Path) -> Path:
    place = folder / "ratings.parquet"
    table = pl.DataFrame({"person": ["0" * 100_000_000, "b"], "action": ["x", "y"], "rating": [1.0, 2.0]})
    table.write_parquet(place)
    return place


def _footer(folder: Path) -> Path:
    place = folder / "ratings.parquet"
    footer = b"\x49" + b"\xf9" + b"\xff\xff\x7f" + b"\x09" * 2_000_000
    place.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    return place


def _no_header(folder: Path) -> Path:
    place = folder / "ratings.dat"
    place.write_text("::".join("1" * 300_000) + "\n", encoding="utf-8")
    return place


def _keys(folder: Path) -> Path:
    place = folder / "model.json"
    place.write_text("{" + ",".join(f'"k{i:07d}":0' for i in range(400_000)) + ',"z":1,"z":2}', encoding="utf-8")
    return place


def _one_text(folder: Path) -> Path:
    text = "x" * 32_000
    rows: list[list[Any]] = [["user", "item", "rating"], *([n, text, 1] for n in range(100_000))]
    return workbook(folder / "ratings.xlsx", rows)


def _voters(folder: Path) -> Path:
    place = folder / "ratings.soc"
    place.write_text("".join(f"{10**9}: 1,2,3\n" for _ in range(1000)), encoding="utf-8")
    return place


def _wide_and_long(folder: Path) -> Path:
    place = folder / "ratings.csv"
    place.write_bytes(b"user," + b",".join(b"%d" % i for i in range(9_000)) + b"\n" + (b"," * 9_000 + b"\n") * 3_000)
    return place


BOMBS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any]]] = {
    "gzip": (_gzip_of_zeros, lpb.read_ratings),
    "zip": (_zip_of_zeros, lpb.read_ratings),
    "columns": (_wide, lpb.read_ratings),
    "one line": (_one_line, lpb.read_ratings),
    "brackets": (_brackets, lpb.PreferenceModel.load),
    "many brackets": (_flat, lpb.PreferenceModel.load),
    "parquet": (_many_rows, lpb.read_ratings),
    "parquet labels": (_labels, lpb.read_ratings),
    "parquet text": (_long_text, lpb.read_ratings),
    "parquet footer": (_footer, lpb.read_ratings),
    "no header": (_no_header, lpb.read_ratings),
    "keys twice": (_keys, lpb.PreferenceModel.load),
    "workbook": (_one_text, lpb.read_ratings),
    "voters": (_voters, lpb.read_ratings),
    "wide": (_wide_and_long, lpb.read_ratings),
}


def explode(name: str, folder: Path) -> dict[str, Any]:
    """Read one bomb, which lies in a folder."""
    place = next(folder.iterdir())
    start = time.perf_counter()
    try:
        BOMBS[name][1](place)
    except lpb.LpbError:
        kind = "refused"
    except BaseException as error:
        print(f"bomb {name}: {type(error).__name__}: {str(error)[:200]}")
        kind = "foreign"
    else:
        kind = "accepted"
    return {kind: 1, "causes": int(kind == "refused"), "slowest": time.perf_counter() - start}


def make(name: str) -> "tempfile.TemporaryDirectory[str]":
    """Make a bomb; the folder is gone when it is closed."""
    folder = tempfile.TemporaryDirectory()
    BOMBS[name][0](Path(folder.name))
    return folder
