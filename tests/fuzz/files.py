"""Targets: files, frames, paths and saved agents."""

import contextlib
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.data.names import read_names
from tests.fuzz.commands import run
from tests.fuzz.documents import (
    changed_bytes,
    source_of,
    temporary_file,
)
from tests.fuzz.policies import use_agent
from tests.fuzz.shared import (
    LOG,
    MODEL,
)
from tests.fuzz.values import (
    NAMES,
    listed,
    mostly,
    one_of,
    text,
)


@cache
def agent_texts() -> tuple[str, ...]:
    agents = [
        lpb.Agent(policy, seed=3, person="ann")
        for policy in (lpb.LpbTS(MODEL), lpb.MUCB(MODEL), lpb.TS(MODEL), lpb.LpbDuel(MODEL), lpb.DoubleTS(MODEL))
    ]
    for agent in agents:
        labels: tuple[Any, ...] = ("tea", "jam", "tea", 7)
        for i, label in enumerate(labels):
            if agent.policy.feedback == "duels":
                agent.tell_duel(label, "jam", id=i)
            else:
                agent.tell(label, 0.5 * i, id=f"visit {i}")
    return tuple(agent.to_json() for agent in agents)


@cache
def beliefs() -> list[tuple[str, bytes]]:
    sources = ("lpb.LpbTS(MODEL)", "lpb.MUCB(MODEL)", "lpb.TS(MODEL)", "lpb.LpbDuel(MODEL)", "lpb.DoubleTS(MODEL)")
    agents = [lpb.Agent(eval(source, dict(NAMES)), seed=1) for source in sources]  # noqa: S307 - source from this file
    for agent in agents:
        for label in ("tea", "jam", "tea"):
            agent.tell_duel(label, "jam") if agent.policy.feedback == "duels" else agent.tell(label, 1.5)
    return [(source, agent.belief.pack()) for source, agent in zip(sources, agents, strict=True)]


def load_model(data: bytes) -> Any:
    with temporary_file("model.json", data) as path:
        model = lpb.PreferenceModel.load(path)
        code, out, err = run(["inspect", str(path), "--json"])
        assert code in (0, 2), err[-300:]
    if code == 2:
        raise lpb.InvalidInput(err)
    with contextlib.suppress(lpb.InvalidInput):  # the actions may be others
        lpb.states_of(model, LOG, threads=1)
    return model.to_dict(), json.loads(out)


def load_agent(value: Any) -> Any:
    agent = lpb.Agent.from_json(value)
    assert lpb.Agent.from_json(agent.to_json()).outcomes == agent.outcomes
    return use_agent(agent, (1.0, 0.0))


def load_belief(value: Any) -> Any:
    policy, data = value
    return use_agent(lpb.Agent(policy, seed=0, belief=lpb.Belief.unpack(policy, data)), (1.0, 0.0))


def _same_on_disk(source: Any, options: dict[str, Any], log: lpb.Ratings) -> None:
    """Check that the chunked reader returns the same ratings."""
    with lpb.spill_ratings(source, **options) as chunks:
        assert (chunks.sha256, dict(chunks.dropped)) == (log.sha256, dict(log.dropped)), "another log on disk"


def read_file(value: Any) -> Any:
    name, data, options = value
    with temporary_file(name, data) as path:
        log = lpb.read_ratings(path, **options)
        _same_on_disk(path, options, log)
    return log.rating, log.counts


def read_frame(value: Any) -> Any:
    columns, convert, options = value
    try:
        frame = convert(pl.DataFrame(columns, strict=False))
    except (ValueError, TypeError, LookupError, pl.exceptions.PolarsError) as error:
        raise lpb.InvalidInput("no such frame") from error
    log = lpb.read_ratings(frame, **options)
    _same_on_disk(frame, options, log)
    return log.rating, log.counts


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
        given = sources.get(source, folder / "**/*.parquet")
        log = lpb.read_ratings(given, **options)
        _same_on_disk(given, options, log)
        if options.get("duplicates") != "last":
            assert lpb.read_ratings(list(reversed(paths)), **options).sha256 == log.sha256, "the order of files counts"
    return log.rating, log.counts


def read_names_file(value: Any) -> Any:
    with temporary_file(*value) as path:
        return read_names(path)


def use_path(value: Any) -> Any:
    kind, path = value
    functions: dict[str, Any] = {"load": lpb.PreferenceModel.load, "save": MODEL.save, "read": lpb.read_ratings}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        functions[kind](path)


def read_history(value: Any) -> Any:
    rows, options = value
    data = rows.encode("utf-8", "surrogatepass") if isinstance(rows, str) else rows
    with temporary_file("history.csv", data) as path:
        MODEL.save(path.parent / "model.json")
        code, out, err = run(["decide", "--model", str(path.parent / "model.json"), str(path), "--json", *options])
    assert code in (0, 2), err[-300:]
    if code == 2:
        raise lpb.InvalidInput(err)
    return json.loads(out)


_CELL = st.sampled_from(["ann", "3", "tea", "7", "jam", "1", "0.5", "nan", "", "1e400", '"', "\x00", "x" * 100])
_ROWS = st.lists(st.lists(_CELL, min_size=2, max_size=4).map(",".join), max_size=6).map("\n".join)
HISTORY_FILES = listed(
    _ROWS.map(lambda rows: repr("person,action,reward\nann,tea,1\n" + rows)) | one_of("''", "b'\\xff\\xfe'", "'x'"),
    one_of("[]", "['--allowed', 'tea']", "['--allowed', ',']", "['--exclude-seen']", "['--unknown', 'skip']"),
)
PATHS = mostly(
    one_of(
        *("'.'", "'/'", "'/dev/null'", "'/dev/full'", "'/proc/self/mem'", "'a/b/c'", "'x' * 300", "'a\\x00b'"),
        *("'new.json'", "'/dev/zero'", "Path('new.json')", "b'new'", "0", "None", "['a.parquet', 3]"),
    )
    | text()
)
NAMES_FILES = st.sampled_from(
    [
        ("movies.csv", b'movieId,title,genres\n1,"Heat, The (1995)",Crime|Drama\n2,Tea,\n'),
        ("movies.dat", b"1::Heat (1995)::Crime|Drama\n2::Tea::Jam\n"),
    ]
).flatmap(lambda file: changed_bytes(file[1]).map(lambda data: f"[{file[0]!r}, {source_of(data)}]"))
