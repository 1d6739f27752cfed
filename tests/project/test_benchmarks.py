"""The benchmarks: stored results, the page made from them, and the baselines they measure against."""

import doctest
import importlib
import os
import re
import socket
import sys
import tomllib
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.evaluation.baselines import in_order
from lpbandits.evaluation.replay import Replay
from lpbandits.fit.taste.popularity import informative
from lpbandits.typing import FloatArray

with mock.patch.dict(os.environ):  # benchmarks limit BLAS to one thread
    from benchmarks import __main__ as program
    from benchmarks import beyond, bradley_terry, charts, missed, page, peers, readme, references, results, thompson
    from benchmarks.beaten import found as faster_peers
    from benchmarks.machine import in_words
    from benchmarks.measure import Measured, Row, Table
    from benchmarks.recovery import contest
    from benchmarks.thompson_players import EXACT

ROOT = Path(__file__).parents[2]
STORED = results.Results.read()
ROWS = [row for group in STORED.groups.values() for row in group["rows"]]
MACHINE: dict[str, Any] = {"day": "2026-01-01", "processor": "one", "cores": 2, "memory_gib": 8, "system": "Linux"}
MACHINE |= {"python": "3.11.7", "versions": {"numpy": "2.0", "river": None}}


def test_page_and_readme_are_current() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.render(STORED), "run `python -m benchmarks page`"
    text = page.README.read_text(encoding="utf-8")
    assert text == readme.renewed(text, STORED), "run `python -m benchmarks page`"


def test_page_and_readme_follow_the_results() -> None:
    other = deepcopy(STORED)
    next(row for row in other.groups["core"]["rows"] if row["what"].startswith("simulator vs SciPy"))["value"] = 4321.0
    assert "4,321×" in page.render(other)
    assert "4,321×" in readme.renewed(page.README.read_text(encoding="utf-8"), other)


def test_every_chart_is_stored_and_linked() -> None:
    text = page.render(STORED)
    drawn = {name for name, (_, needs) in charts.CHARTS.items() if STORED.table(needs)}
    assert {picture.stem for picture in page.PICTURES.iterdir()} == drawn
    assert all(f"(benchmarks/{name}.svg)" in text for name in drawn)


def test_goals_are_marked_and_missed_goals_explained() -> None:
    lines = [line for line in page.render(STORED).splitlines() if line.endswith(" |") and ("≤" in line or "≥" in line)]
    assert len(lines) == len(ROWS) > 40
    for line, row in zip(lines, ROWS, strict=True):
        reached = row["value"] <= row["goal"] if row["at_most"] else row["value"] >= row["goal"]
        assert reached == row["met"] == ("| ok |" in line) != ("| MISSED |" in line)
    for group, row in STORED.rows():
        assert row.met or missed.why(STORED, group, row.what), f"explain it in benchmarks/missed.py: {row.what}"


def test_results_do_not_identify_the_machine() -> None:
    text = results.PLACE.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|work|tmp|usr|opt)/|http", text)
    assert len(socket.gethostname()) < 4 or socket.gethostname() not in text


def test_peers_are_dependencies_of_the_group_bench_only() -> None:
    imports = re.compile(rf"^\s*(import|from) ({'|'.join(peers.PEERS)})\b", re.MULTILINE)
    assert not [source for source in (ROOT / "src").rglob("*.py") if imports.search(source.read_text("utf-8"))]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {re.split("[><=]", line)[0] for line in project["dependency-groups"]["bench"]} == set(peers.PEERS.values())


def test_the_lock_of_the_peers_contains_the_lock_of_the_package() -> None:
    pinned = re.compile(r"^([a-z0-9][\w.-]*)==([^\s;]+)", re.MULTILINE)
    lock = (ROOT / "requirements-bench.lock").read_text(encoding="utf-8")
    locked = set(pinned.findall(lock))
    assert set(pinned.findall((ROOT / "requirements.lock").read_text("utf-8"))) <= locked, "run `make lock`"
    assert set(peers.PEERS.values()) <= {name for name, _ in locked}
    assert "://" not in lock


def test_a_missing_peer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(peers, "importlib", SimpleNamespace(import_module=absent))
    with pytest.raises(peers.Missing, match="river"):
        peers.peer("river.bandit")
    reasons = thompson.installed()
    assert {name for name, why in reasons.items() if not why} == {"lpbandits", EXACT}


@pytest.mark.parametrize(("theirs", "sentences"), [(1.0, ["river decides in 0.5× our time at k = 10"]), (3.0, [])])
def test_faster_peers_are_reported(theirs: float, sentences: list[str]) -> None:
    records = [{"who": "lpbandits", "k": 10, "µs": 2.0}, {"who": "river", "k": 10, "µs": theirs}]
    stored = results.Results({}, {"some": {"rows": [], "tables": {"thompson-decision": records}}})
    assert faster_peers(stored) == sentences


def test_results_are_stored_by_group_and_machine(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    table = Table("t", [{"x": float("nan"), "y": 3.14159}])
    results.Results.begin(path, MACHINE).add("one", Measured([Row("a", 1.23456, 2.0)], [table]), path)
    results.Results.begin(path, {**MACHINE, "processor": "another"}).add("two", Measured([]), path)
    written = results.Results.read(path)
    assert written.table("t") == [{"x": None, "y": 3.142}]
    assert written.groups["one"]["rows"][0]["met"] is False
    assert written.groups["one"]["about"]["processor"] == "one"
    assert "about" not in written.groups["two"]


def test_groups_of_one_run_are_described_together() -> None:
    here, before = ({**MACHINE, "day": day} for day in ("2026-03-04", "2026-01-02"))
    empty: dict[str, Any] = {"rows": [], "tables": {}}
    other = empty | {"day": "2026-01-02", "about": before}
    text = page._machine(results.Results(here, {"core": empty, "start": other, "fit": other}))
    assert [part for part in text.split("\n\n") if part.startswith("`")] == [
        f"`start`, `fit` were measured on 2026-01-02: {in_words(before)}"
    ]


def test_a_group_that_fails_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Measured:
        raise RuntimeError("a peer failed")

    fine = Measured([Row("a", 3.0, 2.0)])
    assert program.measure({"bad": broken, "good": lambda: fine}, save=False) == ({"good": fine.rows}, ["bad"])
    assert "a peer failed" in capsys.readouterr().err


def test_a_missed_goal_ends_the_program_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "GROUPS", {"some": lambda: Measured([Row("a", 1.0, 2.0), Row("b", 3.0, 2.0)])})
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code
    assert "1 of 2 goals met" in capsys.readouterr().out


def test_the_large_log_does_not_depend_on_its_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "CHUNK", 30)
    beyond.make(tmp_path / "all", 60)
    beyond.some_of(tmp_path / "all", tmp_path / "some", 30)
    beyond.make(tmp_path / "one", 30)
    some, one, every = (pl.read_parquet(tmp_path / name / "*.parquet") for name in ("some", "one", "all"))
    assert one.equals(some)
    assert every.select("userId", "movieId").is_unique().all()


def test_reference_thompson_sampling_has_our_regret() -> None:
    """Mean regret of 400 people; 5 standard errors."""
    means = thompson.people(10, 400).means
    at_once = thompson.numpy_at_once(means, 100, 0)
    for name in (EXACT, "lpbandits"):
        regret = np.array([thompson.played(name, row, 100, person) for person, row in enumerate(means)])
        error = np.hypot(regret.std(), at_once.std()) / np.sqrt(len(means))
        assert abs(regret.mean() - at_once.mean()) < 5 * error


def test_reference_bradley_terry_has_our_optimum() -> None:
    wins = contest(12, 6)
    ours = lpb.fit.fit_bradley_terry(wins, tolerance=1e-10)
    np.testing.assert_allclose(bradley_terry.optimum(wins, 1.0), ours.utilities, atol=1e-8)
    data = bradley_terry.Comparisons(wins)
    sklearn = bradley_terry.centred(bradley_terry.scikit_learn(data))
    np.testing.assert_allclose(sklearn, bradley_terry.ours(data), atol=1e-3)


def test_replayed_recommenders_choose_the_highest_score() -> None:
    log = references.made_up(people=60, actions=12)
    people = informative(log)
    replay = Replay.of(log, people[log.counts[people] >= 4], rounds=5)
    scores = np.random.default_rng(0).normal(size=12)
    known: list[FloatArray] = []

    def score(ratings: FloatArray) -> FloatArray:
        known.append(ratings.copy())
        return np.repeat(scores[None, :], len(ratings), axis=0)

    replayed = replay.scores(references.played(score, np.arange(12.0), replay))
    np.testing.assert_array_equal(replayed, replay.scores(in_order(scores, replay)))
    assert np.isnan(known[0]).all()
    assert ((~np.isnan(known[2])).sum(axis=1) == 2).all()


@pytest.mark.parametrize("name", ["bend", "beyond", "machine", "markdown", "measure", "readme", "results"])
def test_doctests_of_benchmarks(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"benchmarks.{name}"))
    assert result.attempted
    assert not result.failed
