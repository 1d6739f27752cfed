"""Targets: tables of ratings (CSV, Parquet, Excel, PrefLib text, polars or pandas frames), names and histories."""

import gzip
import importlib
import io
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.data.names import read_names
from lpbandits.io.atomic import as_parquet
from tests.fuzz.commands import run_json
from tests.fuzz.documents import changed_bytes, cut_off, source_of, temporary_file
from tests.fuzz.shared import MODEL, target
from tests.fuzz.values import NAMES, anything, listed, one_of
from tests.workbooks import workbook


def in_pandas(frame: pl.DataFrame) -> Any:
    return importlib.import_module("pandas").DataFrame(frame.to_dict(as_series=False))


NAMES |= {"pl": pl, "in_pandas": in_pandas}
CELLS = (
    *("1", "2", "ann", "tea", "3.5", "", " ", "nan", "inf", "1e400", "-1e101", "1e5", "0x10", '"a,b"', '"'),
    *("NA", "-", "n/a", "2024-05-01", "2024-05-01T10:00+02:00"),
    *("é", "e\u0301", "\x00", "9" * 30, "x" * 1001, '12" x', '""', "1.0"),
)
HEADERS = [
    *("person,action,rating", "userId,movieId,rating,timestamp", "a,b,c", "user,item,item,rating"),
    *("Respondent,Dish name,Rating (1-5)", "patient_id,treatment,outcome,when"),
]


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


@st.composite
def expert_tables(draw: st.DrawFn) -> bytes:
    """Draw delimited text with the orderings of experts in one of the four forms."""
    forms = ["expert,share,ordering", "name,rank1,rank2,rank3", "expert,action,rank,weight", "expert,tea,jam,7"]
    form = draw(st.sampled_from(forms))
    header = form.split(",")
    actions = ["tea", "jam", "7"]
    cells = {
        "ordering": st.permutations(actions).map(" > ".join) | st.sampled_from(["tea=jam>7", "tea", ">", "=", "7>7"]),
        "rank": st.sampled_from(["1", "2", "2.5", "", "x"]),
        "action": st.sampled_from(actions),
        **dict.fromkeys(actions, st.sampled_from(["1", "2", "3", "1.5", "", "x"])),
        **dict.fromkeys(("share", "weight"), st.sampled_from(["1", "20%", "0", "0,5"])),
    }
    rows = []
    for n in range(draw(st.integers(0, 5))):
        row = [draw(cells.get(name.rstrip("123"), st.sampled_from(["ann", "bo", f"di{n}"]))) for name in header]
        if form.startswith("name"):
            row[1:] = draw(st.permutations(actions))
        if draw(st.integers(0, 4)) == 0:
            row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from(CELLS))
        rows.append(";".join(row))
    return "\n".join([form.replace(",", ";"), *rows]).encode("utf-8", "replace")


COLUMNS: tuple[Any, ...] = (
    *([1, 1, 2], ["a", "b", "a"], [1.5, None, 3.0], [True, False, True], [[1], [2], [3]], [None, None, None]),
    *([1.0, float("nan"), float("inf")], [2**63 - 1, -(2**63), 0], [b"x", b"y", b"z"], ["4,5", "3", ""]),
    *(["tea", "jam", None], [1, "1", 2], ["a", "", " "], ["a\0", "a", "a "], [1.0, 2.0, 2.5]),
)


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
    *("dict(missing='error')", "dict(lower_is_better=True)", "dict(time='timestamp', duplicates='last')"),
    *("dict(time='time', layout='wide', duplicates='last')", "dict(ignore=['time'])", "dict(columns=['tea', 'jam'])"),
    *("dict(columns=['tea', 'time'])", "dict(layout='rankings', ignore=['time', 'tea'])"),
) | st.tuples(
    one_of(
        *("layout", "duplicates", "decimal_comma", "rank", "min_person", "rating", "unpack_limit", "missing", "time"),
        *("columns", "ignore", "lower_is_better"),
    ),
    anything(),
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
        "ratings.parquet": as_parquet(frame),
        "ratings.xlsx": _excel(),
        "ratings.toc": PREFLIB,
        "ratings.toi": PREFLIB,
    }
    name = draw(st.sampled_from(["ratings.csv", "ratings.csv", *files]))
    content = files[name]
    if content and draw(st.integers(0, 2)) == 0:
        content = draw(cut_off(content) if name == "ratings.parquet" else changed_bytes(content))
    return f"[{name!r}, {source_of(content)}, {draw(OPTIONS)}]"


def read_both_ways(source: Any, options: dict[str, Any]) -> lpb.Ratings:
    """Read ratings, and check that the chunked reader returns the same."""
    log = lpb.read_ratings(source, **options)
    with lpb.spill_ratings(source, **options) as chunks:
        assert (chunks.sha256, dict(chunks.dropped)) == (log.sha256, dict(log.dropped)), "another log on disk"
        assert chunks.lower_is_better == log.lower_is_better
    return log


@target("ratings-file", rating_files(), 4)
def read_file(value: Any) -> Any:
    name, data, options = value
    with temporary_file(name, data) as path:
        return read_both_ways(path, options).rating


@st.composite
def expert_sources(draw: st.DrawFn) -> str:
    """Draw a table of experts, as a file or a frame, or a dict of orderings; and how unranked actions are treated."""
    data = draw(expert_tables())
    if draw(st.integers(0, 3)) == 0:
        data = draw(changed_bytes(data))
    columns = draw(st.tuples(*[st.sampled_from(COLUMNS)] * 2))
    frame = f"pl.DataFrame({dict(zip(('expert', 'ordering'), columns, strict=True))!r}, strict=False)"
    named = st.dictionaries(
        st.sampled_from(["'ann'", "'bo'", "1"]), anything() | one_of("'tea > jam'", "['jam', 'tea']")
    )
    orderings = draw(named.map(lambda items: "{" + ", ".join(f"{k}: {v}" for k, v in items.items()) + "}"))
    source = draw(st.sampled_from([source_of(data), source_of(data), source_of(data), frame, orderings]))
    return f"[{source}, {draw(one_of(repr('error'), repr('last')))}]"


@target("experts", expert_sources(), 2)
def read_experts(value: Any) -> Any:
    source, unranked = value
    if not isinstance(source, bytes):
        return lpb.model_from_experts(source, unranked=unranked).to_dict()
    with temporary_file("experts.csv", source) as path:
        return lpb.model_from_experts(path, unranked=unranked).to_dict()


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
        data = as_parquet(frame)
        contents.append(source_of(draw(cut_off(data)) if draw(st.integers(0, 9)) == 0 else data))
    source = draw(st.sampled_from(["folder", "pattern", "list", "partitioned"]))
    return f"[{source!r}, [{', '.join(contents)}], {draw(OPTIONS)}]"


@target("ratings-files", parquet_files(), 2)
def read_files(value: Any) -> Any:
    source, contents, options = value
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pattern = "a={0}/p [{0}].parquet" if source == "partitioned" else "p {0}.parquet"
        paths = [folder / pattern.format(n) for n in range(len(contents))]
        for path, data in zip(paths, contents, strict=True):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        sources: dict[str, Any] = {"folder": folder, "pattern": folder / "p*", "list": paths}
        log = read_both_ways(sources.get(source, folder / "**/*.parquet"), options)
        if options.get("duplicates") != "last":
            assert lpb.read_ratings(list(reversed(paths)), **options).sha256 == log.sha256, "the order of files counts"
    return log.rating


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


@target("ratings-frame", frames(), 2)
def read_frame(value: Any) -> Any:
    columns, convert, options = value
    try:
        frame = convert(pl.DataFrame(columns, strict=False))
    except (ValueError, TypeError, LookupError, pl.exceptions.PolarsError) as error:
        raise lpb.InvalidInput("no such frame") from error
    return read_both_ways(frame, options).rating


_CSV, _DAT = b'movieId,title,genres\n1,"Heat, The (1995)",Crime|Drama\n2,Tea,\n', b"1::Heat::Crime|Drama\n2::Tea::Jam\n"
NAMES_FILES = changed_bytes(_CSV).map(lambda data: f"['movies.csv', {source_of(data)}]") | changed_bytes(_DAT).map(
    lambda data: f"['movies.dat', {source_of(data)}]"
)


@target("names-file", NAMES_FILES)
def read_names_file(value: Any) -> Any:
    with temporary_file(*value) as path:
        return read_names(path)


_CELL = st.sampled_from(["ann", "3", "tea", "7", "jam", "1", "0.5", "nan", "", "-", "1e400", '"', "\x00", "x" * 100])
_ROWS = st.lists(st.lists(_CELL, min_size=2, max_size=4).map(",".join), max_size=6).map("\n".join)
HISTORY_FILES = listed(
    _ROWS.map(lambda rows: repr(b"person,action,reward\nann,tea,1\n" + rows.encode()))
    | _ROWS.map(lambda rows: repr(b"person,tea,jam,7\nann,5,,1\n" + rows.encode()))
    | _ROWS.map(lambda rows: repr(b"person,rank1,rank2,rank3\nann,tea,jam,7\n" + rows.encode()))
    | one_of("b''", "b'\\xff\\xfe'", "b'x'"),
    one_of(
        *("[]", "['--allowed', 'tea']", "['--allowed', ',']", "['--exclude-seen']", "['--unknown', 'skip']"),
        *("['--layout', 'wide']", "['--layout', 'rankings']", "['--time', 'action']", "['--ignore', 'tea']"),
        *("['--rank', 'reward']", "['--columns', 'tea,jam', '--unknown', 'skip']"),
    )
    | one_of("['--policy', 'lpbts', '--prior', 'history']", "['--policy', 'lpbts', '--people', 'history']"),
)


@target("history-file", HISTORY_FILES)
def read_history(value: Any) -> Any:
    data, options = value
    with temporary_file("history.csv", data) as path:
        MODEL.save(path.parent / "model.json")
        words = [str(path) if option == "history" else option for option in options]
        return run_json(["decide", "--model", str(path.parent / "model.json"), str(path), *words])
