"""Doors of files: valid documents, then changed: bytes, keys, types, numbers; also with the hash made right again."""

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

import lpbandits as lpb
from lpbandits.data.names import read_genres, read_names
from lpbandits.inspection.facts import fit_lines, taste_lines
from lpbandits.inspection.inspect import inspect_model, place_table, state_table
from lpbandits.inspection.tables import pair_table, trait_table
from lpbandits.io.json import digest
from lpbandits.paper.cases import keep, kept, place_of
from lpbandits.paper.spec import Case, Figure
from tests.doors.deciding import MODEL, live
from tests.doors.hostile import NAMES, Code, anything, mostly, one_of, text
from tests.doors.runner import Door
from tests.workbooks import workbook

TOKENS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "1" * 5000,
    "-1",
    "0",
    "0.5",
    "1e308",
    "1e-320",
    str(2**63),
    str(10**30),
    "true",
    "null",
    '""',
    '"x"',
    '"\\ud800"',
    '"\\u0000"',
    "[]",
    "{}",
    "[[]]",
    '{"a": 1}',
    "[1, 2, 3]",
    "[null]",
    "[" * 100 + "]" * 100,
    "[" * 5000,
    '"' + "x" * 10_000 + '"',
)
"""What may stand in a JSON document where something else belongs."""


@contextlib.contextmanager
def a_file(name: str, data: bytes) -> Iterator[Path]:
    """Give a file of this name and content."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        yield place


def packed(data: str) -> bytes:
    """Return bytes that the source of a try holds as text."""
    return base64.b85decode(data)


NAMES |= {"packed": packed}


def source_of(data: bytes) -> str:
    """Return bytes as Python source, the shorter way."""
    plain = repr(data)
    return plain if len(plain) < 2 * len(data) else f"packed({base64.b85encode(data).decode()!r})"


@st.composite
def bytes_changed(draw: st.DrawFn, valid: bytes) -> bytes:
    """Draw a document with some bytes flipped, cut out, repeated or cut off."""
    data = bytearray(valid)
    for _ in range(draw(st.integers(1, 3))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        what = draw(st.sampled_from(["flip", "cut", "end", "twice", "put"]))
        if what == "flip":
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif what == "cut":
            del data[at : at + draw(st.integers(1, 20))]
        elif what == "end":
            del data[at:]
        elif what == "twice":
            data[at:at] = data[at : at + draw(st.integers(1, 40))]
        else:
            data[at:at] = draw(st.sampled_from([b"\x00", b"\xff", b"\n", b'"', b"{", b"1e999", b"\xed\xa0\x80", b","]))
    return bytes(data)


def places_in(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything in a JSON document."""
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [path, *(place for key, value in inner for place in places_in(value, (*path, key)))]


@st.composite
def json_changed(draw: st.DrawFn, valid: str) -> str:
    """Draw a JSON document in which something is replaced, left out, repeated or renamed, mostly with a right hash."""
    content = json.loads(valid)
    swaps: dict[str, str] = {}
    for i in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(places_in(content)[1:] or [()]))
        if not path:
            break
        holder = content
        for key in path[:-1]:
            holder = holder[key]
        what = draw(st.sampled_from(["swap", "swap", "swap", "drop", "twice", "rename"]))
        if what == "swap":
            swaps[f"@{i}@"] = draw(st.sampled_from(TOKENS))
            try:  # a value that Python holds as well gets its hash below
                holder[path[-1]] = json.loads(swaps[f"@{i}@"])
                swaps.pop(f"@{i}@")
            except (ValueError, RecursionError):
                holder[path[-1]] = f"@{i}@"
        elif what == "drop":
            del holder[path[-1]]
        elif what == "twice" and isinstance(holder, list):
            holder.append(holder[path[-1]])
        elif isinstance(holder, dict):
            holder["renamed"] = holder.pop(path[-1])
    if draw(st.integers(0, 4)) and isinstance(content, dict):
        with contextlib.suppress(ValueError):
            _resealed(content)
    out = json.dumps(content)
    for mark, token in swaps.items():
        out = out.replace(f'"{mark}"', token)
    if draw(st.integers(0, 9)) == 0:
        out = out.replace("{", '{"format": 1, ', 1)  # a key twice
    return out


def _resealed(content: dict[str, Any]) -> None:
    """Make the hashes of a changed document right, so that what is behind them is reached."""
    inner = content.get("model")
    if isinstance(inner, dict) and "sha256" in inner:
        _resealed(inner)
        content["model_sha256"] = inner["sha256"]
    if "sha256" in content:
        sealed = {key: value for key, value in content.items() if key not in ("sha256", "evaluation")}
        content["sha256"] = digest(sealed)


@cache
def model_text() -> str:
    return json.dumps(MODEL.to_dict())


@cache
def fitted_text() -> str:
    """Return a model as a fit and an evaluation leave it, small."""
    row = {"states": 2, "heldout_log_likelihood": -0.5, "score": -0.5, "below_best": 0, "standard_error": 0.1}
    report = {"people": 9, "state_people": [6, 3], "heldout_log_likelihood": -0.6, "heldout_people": 2, "ties": 0.5}
    return json.dumps(
        lpb.PreferenceModel(
            [[0, 1, 2], [2, 0, 1]],
            utilities=[[0.9, 0.4, 0.3], [0.5, 0.2, 0.7]],
            errors=[[0.1, 0.2, 0.3], [0.0, 1.0, 50.0]],
            taste=lpb.TasteModel([0.1, 0.2, 0.3], [[1.0], [0.0], [-1.0]], [1.0] * 3, about={"score": -1, "level": 0.8}),  # type: ignore[arg-type] # as users write it
            names=["tea", "jam", "bun"],
            noise=0.5,
            provenance={
                "versions": {"numpy": "2"},
                "never_compared": [[], [1]],
                "report": {**report, "curve": [row], "warnings": ["few"]},
            },
            evaluation={"verdict": "it helps", "best": "taste", "policies": {"taste": {"gain": 0.1}}},
        ).to_dict()
    )


LABELS: tuple[Any, ...] = ("tea", "jam", "tea", 7)


@cache
def agent_texts() -> tuple[str, ...]:
    made = []
    for policy in (
        lpb.LpbTS(MODEL),
        lpb.MTS(MODEL),
        lpb.MUCB(MODEL),
        lpb.TS(MODEL),
        lpb.LpbDuel(MODEL),
        lpb.DoubleTS(MODEL),
    ):
        agent = lpb.Agent(policy, seed=3, person="ann")
        for i, label in enumerate(LABELS):
            if policy.feedback == "duels":
                agent.tell_duel(label, "jam", id=i)
            else:
                agent.tell(label, 0.5 * i, id=f"visit {i}")
        made.append(agent.to_json())
    return tuple(made)


@cache
def packed_beliefs() -> tuple[tuple[str, bytes], ...]:
    out = []
    for source in ("lpb.LpbTS(MODEL)", "lpb.MUCB(MODEL)", "lpb.TS(MODEL)", "lpb.LpbDuel(MODEL)", "lpb.DoubleTS(MODEL)"):
        agent = lpb.Agent(eval(source, dict(NAMES)), seed=1)  # noqa: S307 - our own source
        for label in ("tea", "jam", "tea"):
            agent.tell_duel(label, "jam") if agent.policy.feedback == "duels" else agent.tell(label, 1.5)
        out.append((source, agent.belief.pack()))
    return tuple(out)


def use_model_file(given: Any) -> Any:
    with a_file("model.json", given) as place:
        model = lpb.PreferenceModel.load(place)
    return model.to_dict(), model.kendall


def use_inspection(given: Any) -> Any:
    with a_file("model.json", given) as place:
        seen = inspect_model(lpb.PreferenceModel.load(place), top=2)
    json.dumps(seen.to_dict(), allow_nan=False)
    tables = [state_table(seen), place_table(seen), pair_table(seen.contrasts), trait_table(seen.contrasts)]
    return [*tables, fit_lines(seen.fit), taste_lines(seen.taste), seen.verdict.lines(), seen.silence]


def use_agent_text(given: Any) -> Any:
    agent = lpb.Agent.from_json(given)
    again = lpb.Agent.from_json(agent.to_json())
    assert again.outcomes == agent.outcomes
    return live(agent, (1.0, 0.0))


def use_belief(given: Any) -> Any:
    policy, data = given
    belief = lpb.Belief.unpack(policy, data)
    return live(lpb.Agent(policy, seed=0, belief=belief), (1.0, 0.0))


def use_ratings_file(given: Any) -> Any:
    name, data, settings = given
    with a_file(name, data) as place:
        source = place.parent if settings.pop("folder", False) else place
        log = lpb.read_ratings(source, **settings)
        same_in_files(source, settings, log)
    return log.rating, log.counts, log.sha256


def same_in_files(source: Any, settings: dict[str, Any], log: lpb.Ratings) -> None:
    """Part a log that could be read: nothing else may come of it."""
    with lpb.spill_ratings(source, **settings) as parts, lpb.open_ratings(source, files=True, **settings) as again:
        assert sum(len(block) for block in parts.blocks()) == len(log)
        found = parts.sha256, again.sha256, dict(parts.dropped)
    if found != (log.sha256, log.sha256, dict(log.dropped)):
        raise AssertionError("in files the log is another")


def use_frame(given: Any) -> Any:
    columns, change, settings = given
    try:
        made = change(pl.DataFrame(columns, strict=False))
    except (ValueError, TypeError, LookupError, pl.exceptions.PolarsError) as error:
        raise lpb.InvalidInput("such a frame cannot be made") from error
    log = lpb.read_ratings(made, **settings)
    same_in_files(made, settings, log)
    return log.rating, log.counts, log.sha256


def use_names_file(given: Any) -> Any:
    name, data = given
    with a_file(name, data) as place:
        read_genres(place)
        return read_names(place)


def _figure() -> tuple[Figure, Case]:
    case = Case("tried", "one", {"states": 2})
    run: Any = None
    return Figure(
        name="tried", version=1, title="Tried", shows="nothing", plan=lambda *_: [case], run=run, chart=run
    ), case


@cache
def case_files() -> tuple[bytes, bytes]:
    figure, case = _figure()
    with tempfile.TemporaryDirectory() as folder:
        keep(Path(folder), figure, case, 0, pl.DataFrame({"x": [1.0, 2.0]}), 0.5)
        place = place_of(Path(folder), figure, case, 0)
        return place.read_bytes(), place.with_suffix(".json").read_bytes()


def use_case(given: Any) -> Any:
    table, record = given
    figure, case = _figure()
    with tempfile.TemporaryDirectory() as folder:
        place = place_of(Path(folder), figure, case, 0)
        place.write_bytes(table)
        place.with_suffix(".json").write_bytes(record)
        found = kept(Path(folder), figure, case, 0)
    if not isinstance(found, pl.DataFrame):
        raise lpb.FileFormatError(str(found))
    return found["x"].to_list()


def use_path(given: Any) -> Any:
    kind, value = given
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if kind == "load":
            return lpb.PreferenceModel.load(value).to_dict()
        if kind == "save":
            return MODEL.save(value)
        calls: dict[str, Any] = {"ratings": lpb.read_ratings, "names": read_names}
        return calls[kind](value)


CELLS = (
    "1",
    "2",
    "ann",
    "tea",
    "3.5",
    "",
    " ",
    "nan",
    "inf",
    "1e400",
    "-1e101",
    "1e5",
    "0x10",
    '"a,b"',
    '"',
    "é",
    "\x00",
    "9" * 30,
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Draw a table of ratings, with odd cells now and then."""
    separator = draw(st.sampled_from(",,,\t;|"))
    head = draw(
        st.sampled_from(["person,action,rating", "userId,movieId,rating,timestamp", "a,b,c", "user,item,item,rating"])
    )
    rows = []
    for n in range(draw(st.integers(0, 5))):
        row = [str(n // 2), str(n % 3), draw(st.sampled_from(["1", "2.5", "4"]))]
        if draw(st.integers(0, 5)) == 0:
            row[draw(st.integers(0, 2))] = draw(st.sampled_from(CELLS))
        if draw(st.integers(0, 9)) == 0:
            row = row[:2] if draw(st.booleans()) else [*row, "7"]
        rows.append(separator.join(row))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]))
    out = end.join([head.replace(",", separator), *rows, *draw(st.sampled_from([[""], [], ["", ""]]))])
    return draw(st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"])) + out.encode("utf-8", "replace")


_COLUMNS: tuple[Any, ...] = (
    [1, 1, 2],
    ["a", "b", "a"],
    [1.5, None, 3.0],
    [True, False, True],
    [[1], [2], [3]],
    [1.0, float("nan"), float("inf")],
    [None, None, None],
    [2**63 - 1, -(2**63), 0],
    [b"x", b"y", b"z"],
    ["4,5", "3", ""],
    ["tea", "jam", None],
)


def _parquet(columns: tuple[Any, ...]) -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(dict(zip(("person", "action", "rating"), columns, strict=True)), strict=False).write_parquet(buffer)
    return buffer.getvalue()


def _zipped(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(name, data)
    return buffer.getvalue()


@st.composite
def other_tables(draw: st.DrawFn) -> bytes:
    """Draw a wide table, or rankings, with odd cells and odd names of columns now and then."""
    names = draw(
        st.lists(st.sampled_from(["tea", "jam", "10", "rank1", "rank2", "", "row", "blank", "time"]), max_size=4)
    )
    lines = [["user", *names]]
    for n in range(draw(st.integers(0, 3))):
        cells = st.sampled_from(["1", "2.5", "4,5", "", "tea", "jam", " ", *CELLS])
        lines.append([str(n), *(draw(cells if draw(st.integers(0, 4)) == 0 else st.just("3")) for _ in names)])
    return "\n".join(";".join(line) for line in lines).encode("utf-8", "replace")


@cache
def a_workbook() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        rows: list[list[Any]] = [
            ["user", "item", "rating"],
            [1, "tea", 4.5],
            [2, "jam", 3],
            [None, None, None],
            [2, "tea", 1],
        ]
        return workbook(Path(folder) / "a.xlsx", rows).read_bytes()


ORDERS = (
    b"# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n# ALTERNATIVE NAME 1: tea\n"
    b"# ALTERNATIVE NAME 2: jam\n# ALTERNATIVE NAME 3: milk\n2: 3,{1,2}\n1: 1,2,3\n"
)


@st.composite
def rating_files(draw: st.DrawFn) -> str:
    """Draw a log in one of its forms, often damaged."""
    data = draw(tables())
    kinds = ["csv", "csv", "tsv", "gz", "zip", "parquet", "dat", "u.data", "txt", "wide", "wide", "xlsx", "toc", "toi"]
    kind = draw(st.sampled_from(kinds))
    name = "ratings.csv"
    if kind == "wide":
        data = draw(other_tables())
    elif kind == "xlsx":
        name, data = "ratings.xlsx", a_workbook()
    elif kind in ("toc", "toi"):
        name, data = f"ratings.{kind}", ORDERS
    if kind == "gz":
        name, data = "ratings.csv.gz", gzip.compress(data, mtime=0)
    elif kind == "zip":
        name, data = "ml.zip", _zipped(draw(st.sampled_from(["ml/ratings.csv", "a.csv", "../ratings.csv"])), data)
    elif kind == "parquet":
        name = "ratings.parquet"
        data = _parquet(draw(st.tuples(*[st.sampled_from(_COLUMNS)] * 3)))
    elif kind == "dat":
        name, data = "ratings.dat", data.replace(b",", b"::").partition(b"\n")[2]
    elif kind == "u.data":
        name, data = "u.data", data.replace(b",", b"\t").partition(b"\n")[2]
    elif kind in ("tsv", "txt"):
        name = f"ratings.{kind}"
    if draw(st.integers(0, 2)) == 0 and data:
        data = draw(bytes_changed(data))
    options = draw(
        one_of("{}", "{}", "dict(min_person=2)", "dict(min_action=2)", "dict(unpack_limit=10)", "dict(person='x')")
        | one_of("dict(folder=True)", "dict(person='a', action='b', rating='c')", "dict(rank='rating')")
        | one_of(
            "dict(layout='wide')", "dict(layout='rankings')", "dict(duplicates='mean')", "dict(decimal_comma=True)"
        )
        | one_of("dict(layout='wide', duplicates='last', decimal_comma=True)", "dict(layout='rankings', person='user')")
        | st.tuples(one_of("layout", "duplicates", "decimal_comma", "rank"), anything()).map(
            lambda p: f"dict({p[0]}={p[1]})"
        )
        | anything().map(lambda a: f"dict(min_person={a})")
        | anything().map(lambda a: f"dict(rating={a})")
        | anything().map(lambda a: f"dict(unpack_limit={a})")
    )
    return f"[{name!r}, {source_of(data)}, {options}]"


_GOOD: tuple[dict[str, Any], ...] = (
    {"person": [1, 1, 2], "action": ["tea", "jam", "tea"], "rating": [1.0, 2.5, -3.0]},
    {"user": ["ann", "bo", "cy"], "tea": [1, 2, None], "jam": [float("nan"), 2.0, 3.0]},
    {"voter": [1, 2, 3], "rank1": ["tea", "jam", "tea"], "rank2": ["jam", None, "milk"]},
)


@st.composite
def frames(draw: st.DrawFn) -> str:
    """Draw a frame of odd columns, as polars or pandas has it."""
    good = draw(st.sampled_from(_GOOD))
    columns = {name: draw(st.sampled_from(_COLUMNS)) if draw(st.integers(0, 5)) == 3 else good[name] for name in good}
    change = draw(
        one_of(
            "lambda f: f", "lambda f: f.lazy()", "in_pandas", "in_pandas", "lambda f: in_pandas(f).set_index('user')"
        )
        | one_of("lambda f: f.cast(pl.Categorical, strict=False)", "lambda f: f.clear()", "lambda f: f.select()")
        | one_of(
            "lambda f: f.lazy().select(pl.col('nope'))", "lambda f: in_pandas(f).astype('category')", "lambda f: {}"
        )
    )
    options = draw(
        one_of(
            "{}",
            "{}",
            "dict(layout='wide')",
            "dict(layout='rankings')",
            "dict(rank='rating')",
            "dict(duplicates='last')",
        )
        | anything().map(lambda a: f"dict(person={a})")
    )
    return f"[{columns!r}, {change}, {options}]"


def in_pandas(frame: pl.DataFrame) -> Any:
    """Return a frame as pandas has it, if that is installed."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return frame
    return pandas.DataFrame(frame.to_dict(as_series=False))


NAMES |= {"pl": pl, "in_pandas": in_pandas}


def _belief_changed(valid: tuple[str, bytes]) -> Code:
    return bytes_changed(valid[1]).map(lambda data: f"[{valid[0]}, {source_of(data)}]")


def _text_of(valid: Any) -> Code:
    """Draw the source of a changed JSON text: its content, or its bytes."""
    by_bytes = bytes_changed(valid.encode()).map(lambda data: repr(data.decode("utf-8", "surrogateescape")))
    return st.one_of(json_changed(valid).map(repr), json_changed(valid).map(repr), by_bytes)


_paths = mostly(
    one_of("'.'", "'/'", "'/dev/null'", "'/dev/full'", "'/proc/self/mem'", "'a/b/c'", "'x' * 300", "'a\\x00b'")
    | one_of("'new.json'", "'/dev/zero'", "Path('new.json')", "b'new'", "0", "None")
    | text()
)
DOORS = [
    Door(
        "model-file",
        st.one_of(
            st.deferred(lambda: json_changed(model_text())).map(lambda t: source_of(t.encode())),
            st.deferred(lambda: bytes_changed(model_text().encode())).map(source_of),
        ),
        use_model_file,
        budget=40,
        share=3.0,
    ),
    Door(
        "inspection",
        st.deferred(lambda: json_changed(fitted_text())).map(lambda t: source_of(t.encode())),
        use_inspection,
        budget=40,
        share=2.0,
    ),
    Door(
        "agent-json",
        mostly(st.deferred(lambda: st.one_of([_text_of(valid) for valid in agent_texts()]))),
        use_agent_text,
        budget=60,
        share=4.0,
    ),
    Door(
        "belief-bytes",
        st.deferred(lambda: st.sampled_from(packed_beliefs()).flatmap(_belief_changed))
        | anything().map(lambda a: f"[lpb.LpbTS(MODEL), {a}]"),
        use_belief,
        budget=30,
        share=2.0,
    ),
    Door("ratings-file", rating_files(), use_ratings_file, budget=60, share=4.0),
    Door("ratings-frame", frames(), use_frame, budget=40, share=2.0),
    Door(
        "names-file",
        st.tuples(
            st.sampled_from(["movies.csv", "movies.dat"]),
            st.one_of(
                bytes_changed(b'movieId,title,genres\n1,"Heat, The (1995)",Crime|Drama\n2,Tea,\n'),
                bytes_changed(b"1::Heat (1995)::Crime|Drama\n2::Tea::Jam\n"),
            ),
        ).map(lambda parts: f"[{parts[0]!r}, {source_of(parts[1])}]"),
        use_names_file,
    ),
    Door(
        "case-file",
        st.deferred(
            lambda: st.one_of(
                bytes_changed(case_files()[0]).map(lambda d: f"[{source_of(d)}, {source_of(case_files()[1])}]"),
                json_changed(case_files()[1].decode()).map(
                    lambda t: f"[{source_of(case_files()[0])}, {source_of(t.encode())}]"
                ),
            )
        ),
        use_case,
        share=0.5,
    ),
    Door(
        "path",
        st.tuples(one_of("'load'", "'save'", "'ratings'", "'names'"), _paths).map(lambda p: f"[{p[0]}, {p[1]}]"),
        use_path,
        budget=15,
        share=0.7,
    ),
]
