"""Strategies for damaged documents: JSON, CSV, Parquet, Excel, PrefLib text and polars or pandas frames."""

import base64
import contextlib
import gzip
import importlib
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from lpbandits.io.json import digest
from tests.fuzz.values import NAMES, Code, anything, one_of
from tests.workbooks import workbook

TOKENS = (
    *("NaN", "Infinity", "-Infinity", "1e400", "1" * 5000, "-1", "0", "0.5", "1e308", "1e-320", str(2**63)),
    *(str(10**30), "true", "null", '""', '"x"', '"\\ud800"', '"\\u0000"', "[]", "{}", "[[]]", '{"a": 1}'),
    *("[1, 2, 3]", "[null]", "[" * 100 + "]" * 100, "[" * 5000, '"' + "x" * 10_000 + '"'),
)
"""JSON text that replaces a value of a document."""


@contextlib.contextmanager
def temporary_file(name: str, data: bytes) -> Iterator[Path]:
    """Yield the path of a file with this name and content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


def packed(data: str) -> bytes:
    return base64.b85decode(data)


def in_pandas(frame: pl.DataFrame) -> Any:
    return importlib.import_module("pandas").DataFrame(frame.to_dict(as_series=False))


NAMES |= {"packed": packed, "pl": pl, "in_pandas": in_pandas}


def source_of(data: bytes) -> str:
    """Return bytes as Python source."""
    plain = repr(data)
    return plain if len(plain) < 2 * len(data) else f"packed({base64.b85encode(data).decode()!r})"


@st.composite
def changed_bytes(draw: st.DrawFn, valid: bytes) -> bytes:
    """Draw a document with bytes flipped, removed, repeated, inserted or cut off."""
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        change = draw(st.sampled_from(["flip", "remove", "truncate", "repeat", "insert"]))
        if change == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif change == "remove":
            del data[at : at + draw(st.integers(1, 20))]
        elif change == "truncate":
            del data[at:]
        elif change == "repeat":
            data[at:at] = data[at : at + draw(st.integers(1, 40))]
        else:
            data[at:at] = draw(st.sampled_from([b"\x00", b"\xff", b"\n", b'"', b"{", b"1e999", b"\xed\xa0\x80", b","]))
    return bytes(data)


def _paths_in(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values of a JSON document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path, *(place for key, value in inner for place in _paths_in(value, (*path, key)))]


@st.composite
def changed_json(draw: st.DrawFn, valid: str) -> str:
    """Draw a JSON document with a value replaced, removed, repeated or renamed; its hash is mostly correct."""
    content = json.loads(valid)
    tokens: dict[str, str] = {}
    for i in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(_paths_in(content)[1:] or [()]))
        if not path:
            break
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        change = draw(st.sampled_from(["replace", "replace", "replace", "remove", "repeat", "rename"]))
        if change == "replace":
            token = draw(st.sampled_from(TOKENS))
            try:  # a value that Python can hold is part of the hash below
                holder[path[-1]] = json.loads(token)
            except (ValueError, RecursionError):
                holder[path[-1]] = f"@{i}@"
                tokens[f"@{i}@"] = token
        elif change == "remove":
            del holder[path[-1]]
        elif change == "repeat" and isinstance(holder, list):
            holder.append(holder[path[-1]])
        elif isinstance(holder, dict):
            holder["renamed"] = holder.pop(path[-1])
    if draw(st.integers(0, 4)) and isinstance(content, dict):
        with contextlib.suppress(ValueError):
            _update_hashes(content)
    out = json.dumps(content)
    for mark, token in tokens.items():
        out = out.replace(f'"{mark}"', token)
    return out.replace("{", '{"format": 1, ', 1) if draw(st.integers(0, 9)) == 0 else out  # a repeated key


def _update_hashes(content: dict[str, Any]) -> None:
    inner = content.get("model")
    if isinstance(inner, dict) and "sha256" in inner:
        _update_hashes(inner)
        content["model_sha256"] = inner["sha256"]
    if "sha256" in content:
        hashed = {key: value for key, value in content.items() if key not in ("sha256", "evaluation")}
        content["sha256"] = digest(hashed)


def changed_text(valid: str) -> Code:
    """Draw the source of a JSON text with its values or its bytes changed."""
    by_bytes = changed_bytes(valid.encode()).map(lambda data: repr(data.decode("utf-8", "surrogateescape")))
    return st.one_of(changed_json(valid).map(repr), changed_json(valid).map(repr), by_bytes)


CELLS = (
    *("1", "2", "ann", "tea", "3.5", "", " ", "nan", "inf", "1e400", "-1e101", "1e5", "0x10", '"a,b"', '"'),
    *("é", "\x00", "9" * 30),
)
HEADERS = ["person,action,rating", "userId,movieId,rating,timestamp", "a,b,c", "user,item,item,rating"]


@st.composite
def long_tables(draw: st.DrawFn) -> bytes:
    """Draw delimited text with one rating per row and a few malformed cells."""
    separator = draw(st.sampled_from(",,,\t;|"))
    rows = []
    for n in range(draw(st.integers(0, 5))):
        row = [str(n // 2), str(n % 3), draw(st.sampled_from(["1", "2.5", "4"]))]
        if draw(st.integers(0, 5)) == 0:
            row[draw(st.integers(0, 2))] = draw(st.sampled_from(CELLS))
        if draw(st.integers(0, 9)) == 0:
            row = row[:2] if draw(st.booleans()) else [*row, "7"]
        rows.append(separator.join(row))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]))
    header = draw(st.sampled_from(HEADERS)).replace(",", separator)
    out = end.join([header, *rows, *draw(st.sampled_from([[""], [], ["", ""]]))])
    return draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"])) + out.encode("utf-8", "replace")


@st.composite
def wide_tables(draw: st.DrawFn) -> bytes:
    """Draw delimited text with one person per row: ratings by action, or rankings."""
    columns = st.sampled_from(["tea", "jam", "10", "rank1", "rank2", "", "row", "blank", "time"])
    names = draw(st.lists(columns, max_size=4))
    lines = [["user", *names]]
    cells = st.sampled_from(["1", "2.5", "4,5", "", "tea", "jam", " ", *CELLS])
    for n in range(draw(st.integers(0, 3))):
        row = [draw(cells if draw(st.integers(0, 4)) == 0 else st.just("3")) for _ in names]
        lines.append([str(n), *row])
    return "\n".join(";".join(line) for line in lines).encode("utf-8", "replace")


COLUMNS: tuple[Any, ...] = (
    *([1, 1, 2], ["a", "b", "a"], [1.5, None, 3.0], [True, False, True], [[1], [2], [3]], [None, None, None]),
    *([1.0, float("nan"), float("inf")], [2**63 - 1, -(2**63), 0], [b"x", b"y", b"z"], ["4,5", "3", ""]),
    ["tea", "jam", None],
)


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _zipped(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


@cache
def _excel() -> bytes:
    rows: list[list[Any]] = [["user", "item", "rating"], [1, "tea", 4.5], [2, "jam", 3], [None] * 3, [2, "tea", 1]]
    with tempfile.TemporaryDirectory() as folder:
        return workbook(Path(folder) / "a.xlsx", rows).read_bytes()


PREFLIB = (
    b"# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n# ALTERNATIVE NAME 1: tea\n"
    b"# ALTERNATIVE NAME 2: jam\n# ALTERNATIVE NAME 3: milk\n2: 3,{1,2}\n1: 1,2,3\n"
)
OPTIONS = one_of(
    *("{}", "{}", "{}", "dict(min_person=2)", "dict(min_action=2)", "dict(unpack_limit=10)", "dict(person='x')"),
    *("dict(person='a', action='b', rating='c')", "dict(rank='rating')", "dict(layout='wide')"),
    *("dict(layout='rankings')", "dict(duplicates='mean')", "dict(duplicates='last')", "dict(decimal_comma=True)"),
    "dict(layout='wide', duplicates='last', decimal_comma=True)",
) | st.tuples(
    one_of("layout", "duplicates", "decimal_comma", "rank", "min_person", "rating", "unpack_limit"), anything()
).map(lambda pair: f"dict({pair[0]}={pair[1]})")
"""Options of `read_ratings`."""


@st.composite
def rating_files(draw: st.DrawFn) -> str:
    """Draw the name, the content and the read options of a ratings file, often damaged."""
    data = draw(st.one_of(long_tables(), long_tables(), wide_tables()))
    headless = data.partition(b"\n")[2]
    columns = draw(st.tuples(*[st.sampled_from(COLUMNS)] * 3))
    frame = pl.DataFrame(dict(zip(("person", "action", "rating"), columns, strict=True)), strict=False)
    inner = draw(st.sampled_from(["ml/ratings.csv", "a.csv", "../ratings.csv"]))
    files = {
        "ratings.csv": data,
        "ratings.txt": data,
        "ratings.tsv": data,
        "ratings.dat": headless.replace(b",", b"::"),
        "u.data": headless.replace(b",", b"\t"),
        "ratings.csv.gz": gzip.compress(data, mtime=0),
        "ml.zip": _zipped(inner, data),
        "ratings.parquet": parquet(frame),
        "ratings.xlsx": _excel(),
        "ratings.toc": PREFLIB,
        "ratings.toi": PREFLIB,
    }
    name = draw(st.sampled_from(["ratings.csv", "ratings.csv", *files]))
    content = files[name]
    if content and draw(st.integers(0, 2)) == 0:
        content = draw(changed_bytes(content))
    return f"[{name!r}, {source_of(content)}, {draw(OPTIONS)}]"


_MIXABLE = (pl.Int8, pl.Int64, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64)
_LABEL_TYPES = (
    *(*_MIXABLE, pl.Int128, pl.String, pl.Categorical, pl.Boolean, pl.Date, pl.Null, pl.Decimal(6, 1)),
    pl.List(pl.Int64),
)
_RATING_TYPES = (pl.Float64, pl.Float32, pl.Int16, pl.Decimal(6, 1), pl.String, pl.Null, pl.Duration("ms"))


def _column(name: str, values: list[Any], kind: Any) -> pl.DataFrame:
    """Return a column cast to a type; unchanged where the cast fails."""
    frame = pl.DataFrame({name: values})
    try:
        return frame.cast(pl.String).cast(kind) if kind == pl.Categorical else frame.cast(kind)
    except pl.exceptions.PolarsError:
        return frame


@st.composite
def parquet_files(draw: st.DrawFn) -> str:
    """Draw several Parquet files with different column types, and how they are named to the reader."""
    labels = draw(st.sampled_from([_MIXABLE, _MIXABLE, (pl.String, pl.Categorical), _LABEL_TYPES]))
    ratings = draw(st.sampled_from([_RATING_TYPES[:3], _RATING_TYPES]))
    contents = []
    for number in range(draw(st.integers(1, 4))):
        n = draw(st.sampled_from([0, 2, 2, 2, 3]))
        frame = _column("user", [3 * number + i for i in range(n)], draw(st.sampled_from(labels)))
        frame = frame.hstack(_column("item", list(range(n)), draw(st.sampled_from(labels))))
        frame = frame.hstack(_column("rating", [float(i) for i in range(n)], draw(st.sampled_from(ratings))))
        if draw(st.integers(0, 9)) == 0:
            frame = frame.drop(draw(st.sampled_from(["user", "item", "rating"])))
        if draw(st.integers(0, 3)) == 0:
            frame = frame.with_columns(pl.lit(number).alias(draw(st.sampled_from(["time", "score", "row", "blank"]))))
        data = parquet(frame)
        contents.append(source_of(draw(changed_bytes(data)) if draw(st.integers(0, 9)) == 0 else data))
    source = draw(st.sampled_from(["folder", "pattern", "list", "partitioned"]))
    return f"[{source!r}, [{', '.join(contents)}], {draw(OPTIONS)}]"


_FRAMES: tuple[dict[str, Any], ...] = (
    {"person": [1, 1, 2], "action": ["tea", "jam", "tea"], "rating": [1.0, 2.5, -3.0]},
    {"user": ["ann", "bo", "cy"], "tea": [1, 2, None], "jam": [float("nan"), 2.0, 3.0]},
    {"voter": [1, 2, 3], "rank1": ["tea", "jam", "tea"], "rank2": ["jam", None, "milk"]},
)
_CONVERSIONS = one_of(
    *("lambda f: f", "lambda f: f.lazy()", "in_pandas", "in_pandas", "lambda f: in_pandas(f).set_index('user')"),
    *("lambda f: f.cast(pl.Categorical, strict=False)", "lambda f: f.clear()", "lambda f: f.select()"),
    *("lambda f: f.lazy().select(pl.col('nope'))", "lambda f: in_pandas(f).astype('category')", "lambda f: {}"),
)


@st.composite
def frames(draw: st.DrawFn) -> str:
    """Draw the columns of a frame, its conversion and read options."""
    valid = draw(st.sampled_from(_FRAMES))
    columns = {name: draw(st.sampled_from(COLUMNS)) if draw(st.integers(0, 5)) == 3 else valid[name] for name in valid}
    return f"[{columns!r}, {draw(_CONVERSIONS)}, {draw(OPTIONS)}]"
