"""The benchmarks without measuring: the page is what the results say, and peers are nowhere but there."""

import ast
import doctest
import json
import os
import re
import socket
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.evaluation.references import in_order
from lpbandits.evaluation.replay import Replay
from lpbandits.recovery.likings import telling
from lpbandits.typing import FloatArray

with mock.patch.dict(os.environ):  # its one thread for BLAS is not for the tests
    from benchmarks import __main__ as program
    from benchmarks import beaten, bradley_terry, charts, markdown, measure, page, peers, references, results, thompson
    from benchmarks.measure import Measured, Row, Table
    from benchmarks.recommenders import Recommender, Score, Settings
    from benchmarks.recovery import contest
    from benchmarks.sections import SECTIONS
    from benchmarks.thompson_players import ENTRANTS, EXACT, River

ROOT = Path(__file__).parent.parent
FOUND = results.Results.read()
ROWS = [row for group in FOUND.groups.values() for row in group["rows"]]
PINNED = re.compile(r"^([a-z0-9][\w.-]*)==([^\s;]+)", re.MULTILINE)


def absent(name: str) -> Any:
    raise ModuleNotFoundError(f"No module named {name!r}")


def imported(source: Path) -> set[str]:
    """Return the packages that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def results_of(**tables: list[dict[str, Any]]) -> results.Results:
    named = {name.replace("_", "-"): records for name, records in tables.items()}
    return results.Results({}, {"some": {"rows": [], "tables": named}})


def test_the_page_is_what_the_results_say() -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    assert written == page.render(FOUND), "run `python -m benchmarks page`"


def test_the_page_has_every_group_and_every_picture() -> None:
    text = page.render(FOUND)
    assert set(FOUND.groups) == set(program.GROUPS), "run `make bench`"
    for heading, _ in SECTIONS.values():
        assert f"\n## {heading}\n" in text
    for name, (_, needs) in charts.CHARTS.items():
        assert FOUND.table(needs)
        assert f"(benchmarks/{name}.svg)" in text
        assert (page.PICTURES / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    assert {picture.stem for picture in page.PICTURES.iterdir()} == set(charts.CHARTS)


def test_a_missed_goal_says_so() -> None:
    shown = [line for line in page.render(FOUND).splitlines() if line.endswith(" |") and ("≤" in line or "≥" in line)]
    assert len(shown) == len(ROWS) > 40
    for line, row in zip(shown, ROWS, strict=True):
        reached = row["value"] <= row["goal"] if row["at_most"] else row["value"] >= row["goal"]
        assert row["what"] in line
        assert reached == row["met"] == ("| ok |" in line) != ("| MISSED |" in line)


def test_the_goals_that_were_asked_for_are_there() -> None:
    goals = {row["what"]: (row["goal"], row["at_most"]) for row in ROWS}
    assert goals["TS: one decision over river's, k=10"] == (0.5, True)
    assert goals["TS: one decision over river's, k=1000"] == (0.1, True)
    simulated = [what for what in goals if what.startswith("TS: simulation vs the faster numpy loop")]
    assert len(simulated) == len(thompson.SIMULATED)
    assert all(goals[what] == (1.0, False) for what in simulated)
    exact = [what for what in goals if what.startswith("TS: regret less the exact loop's")]
    assert len(exact) == 2
    assert all(goals[what] == (3.0, True) for what in exact)
    along = {row["what"].split()[2].strip(","): row["goal"] for row in ROWS if row["what"].startswith("exponent")}
    assert set(along) == {"people", "rounds", "k"}


def test_nothing_tells_whose_machine_it_was() -> None:
    text = results.PLACE.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|work|tmp|usr|opt)/", text)
    assert "http" not in text
    name = socket.gethostname()
    assert len(name) < 4 or name not in text


def test_no_peer_is_imported_by_the_package() -> None:
    sources = list((ROOT / "src").rglob("*.py"))
    assert len(sources) > 100
    for source in sources:
        assert not imported(source) & set(peers.PEERS), source


def test_peers_are_in_the_group_bench_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {re.split("[><=]", line)[0] for line in project["dependency-groups"]["bench"]}
    assert wanted == set(peers.PEERS.values())
    elsewhere = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"][1:]]
    elsewhere += project["dependency-groups"]["test"]
    assert {re.split(r"[><=\[]", line)[0] for line in elsewhere} & wanted == {"choix"}  # the tests' twin of a fit


def test_the_lock_of_the_peers_is_that_of_the_package_and_more() -> None:
    lock = (ROOT / "requirements-bench.lock").read_text(encoding="utf-8")
    locked, own = set(PINNED.findall(lock)), set(PINNED.findall((ROOT / "requirements.lock").read_text("utf-8")))
    assert own <= locked, "run `make lock`"
    assert set(peers.PEERS.values()) <= {name for name, _ in locked}
    assert "http" not in lock
    assert lock.count("--hash=sha256:") > len(locked)


def test_a_peer_that_is_missing_is_a_line_and_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "importlib", SimpleNamespace(import_module=absent))
    with pytest.raises(peers.Missing, match="river cannot be imported here"):
        peers.peer("river.bandit")
    here = thompson.installed()
    assert {name for name, why in here.items() if not why} == {"lpbandits", EXACT}
    assert "mabwiser cannot be imported" in here["MABWiser TS"]
    told = {one["who"]: one["outcome"] for one in bradley_terry.never_wins()}
    assert told["lpbandits"] == "finite"
    assert "choix cannot be imported" in str(told["choix mm_pairwise"])


def test_a_name_that_is_no_peer_is_a_fault_of_ours() -> None:
    with pytest.raises(KeyError, match="no peer"):
        peers.peer("numpy")


def test_places_where_others_are_ahead_are_found() -> None:
    decided = [{"who": "lpbandits", "k": 10, "µs": 2.0}, {"who": "river", "k": 10, "µs": 1.0}]
    assert beaten.found(results_of(thompson_decision=decided)) == ["river decides in 0.5× our time at k = 10"]
    assert not beaten.found(results_of(thompson_decision=[*decided[:1], {**decided[1], "µs": 3.0}]))
    regret = {"who": "x", "k": 10, "rounds": 200, "more than exact": -16.0, "its se": 3.0}
    assert "16 ± 3 less regret" in beaten.found(results_of(thompson_regret=[regret]))[0]
    assert not beaten.found(results_of(thompson_regret=[{**regret, "its se": 8.0}]))
    fit = {"who": "lpbandits", "k": 20, "ms": 1.0, "error": 0.2, "missing": ""}
    others = [{**fit, "who": "a", "ms": 0.5}, {**fit, "who": "b", "error": 0.1}, {**fit, "who": "c", "missing": "no"}]
    told = beaten.found(results_of(bradley_terry=[fit, *others]))
    assert [sentence.split()[0] for sentence in told] == ["a", "b:"]
    held: list[dict[str, Any]] = [
        {"who": "lpbandits", "KiB each": 4.0},
        {"who": "mabby", "KiB each": 0.2},
        {"who": "d", "KiB each": None},
    ]
    assert beaten.found(results_of(memory_agents=held)) == ["an agent of mabby holds 0.05× the memory of ours"]


def test_results_are_kept_group_by_group(tmp_path: Path) -> None:
    place = tmp_path / "results.json"
    kept = results.Results.begin(whole=True, place=place)
    kept.add("one", Measured([Row("a", 1.23456, 2.0)], [Table("t", [{"x": float("nan"), "y": 3.14159}])]), place)
    again = results.Results.begin(whole=False, place=place)
    again.add("two", Measured([]), place)
    written = results.Results.read(place)
    assert list(written.groups) == ["one", "two"]
    assert written.table("t") == [{"x": None, "y": 3.142}]
    assert written.groups["one"]["rows"][0]["met"] is False
    other = json.loads(place.read_text(encoding="utf-8"))
    other["about"]["processor"] = "another"
    place.write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(SystemExit, match="another machine"):
        results.Results.begin(whole=False, place=place)


def test_a_group_that_fails_takes_no_other_along(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Measured:
        raise RuntimeError("a peer went away")

    fine = Measured([Row("a", 3.0, 2.0)])
    monkeypatch.setattr(program, "GROUPS", {"bad": broken, "good": lambda: fine})
    measured, failed = program.measure(["bad", "good"], save=False)
    assert (measured, failed) == ({"good": fine.rows}, ["bad"])
    assert "a peer went away" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        measure.show(measured, title="t", failed=True)
    assert ended.value.code is True


def test_the_exact_loops_are_one_algorithm() -> None:
    """Mean regret of 400 people; 5 standard errors."""
    means = thompson.people(10, 400).means
    one_by_one = np.array([thompson.played(EXACT, own, 100, person) for person, own in enumerate(means)])
    at_once = thompson.numpy_at_once(means, 100, 0)
    error = np.hypot(one_by_one.std(), at_once.std()) / np.sqrt(len(means))
    assert abs(one_by_one.mean() - at_once.mean()) < 5 * error
    ours = np.array([thompson.played("lpbandits", own, 100, person) for person, own in enumerate(means)])
    assert abs(ours.mean() - at_once.mean()) < 5 * error
    assert ENTRANTS[EXACT].exact
    assert not ENTRANTS["river"].exact


def test_the_optimum_is_one() -> None:
    wins = contest(12, 6)
    ours = lpb.fit_bradley_terry(wins, tolerance=1e-10)
    np.testing.assert_allclose(bradley_terry.optimum(wins, 1.0), ours.utilities, atol=1e-8)
    beta = bradley_terry.optimum(wins, 0.0)
    chance = 1 / (1 + np.exp(beta[None, :] - beta[:, None]))
    np.testing.assert_allclose(((wins + wins.T) * chance).sum(axis=1), wins.sum(axis=1), atol=1e-8)


def test_the_forms_of_comparisons_agree() -> None:
    data = bradley_terry.Comparisons(contest(9, 4))
    again = np.zeros((9, 9))
    for winner, loser in data.listed:
        again[winner, loser] += 1
    np.testing.assert_array_equal(again, data.wins)
    winners, losers, times = data.weighted
    np.testing.assert_array_equal(data.wins[winners, losers], times)
    np.testing.assert_allclose(
        bradley_terry.centred(bradley_terry.scikit_learn(data)), bradley_terry.ours(data), atol=1e-3
    )


def test_a_replay_by_scores_chooses_the_highest_and_learns_only_what_it_had() -> None:
    log = references.made_up(people=60, actions=12)
    people = telling(log)
    people = people[log.counts[people] >= 4]
    replay = Replay.of(log, people, rounds=5)
    liking = np.random.default_rng(0).normal(size=12)
    asked: list[FloatArray] = []

    def score(told: FloatArray) -> FloatArray:
        asked.append(told.copy())
        return np.repeat(liking[None, :], len(told), axis=0)

    popular = np.arange(12.0)
    got = replay.scored(references.played(score, popular, replay))
    np.testing.assert_array_equal(got, replay.scored(in_order(liking, replay)))
    assert np.isnan(asked[0]).all()
    assert ((~np.isnan(asked[2])).sum(axis=1) == 2).all()
    ties = replay.scored(references.played(lambda told: np.zeros(told.shape), popular, replay))
    np.testing.assert_array_equal(ties, replay.scored(in_order(popular, replay)))


@pytest.mark.parametrize("module", [markdown, measure, results])
def test_examples_of_the_benchmarks_hold(module: Any) -> None:
    done = doctest.testmod(module)
    assert done.attempted
    assert not done.failed


def test_river_has_the_burn_in_that_does_best() -> None:
    regret = {one["burn_in"]: one["regret"] for one in FOUND.table("thompson-burn-in")}
    assert set(regret) == set(thompson.BURN_INS)
    assert min(regret, key=lambda burn_in: float(regret[burn_in])) == River.burn_in
    assert min(regret.values()) > 0


def test_the_order_of_actions_tells_nothing() -> None:
    """Whoever always plays one action gets the same on average: the mean of all actions, 200 people, 5 s.e."""
    means = thompson.means_of(10, 200)
    lost = means.max(axis=1, keepdims=True) - means
    for action in range(10):
        own = lost[:, action]
        assert abs(own.mean() - lost.mean()) < 5 * own.std() / np.sqrt(len(own))


def test_a_setting_under_which_all_scores_tie_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(given: FloatArray, settings: Settings) -> Score:
        return lambda told: settings["weight"] * np.where(np.isnan(told), given, 0.0)

    dull = Recommender(
        lambda log, _: -np.bincount(log.action, weights=log.rating) * 1.0, fit, {"weight": (0.0, 1.0)}, "its own"
    )
    monkeypatch.setattr(references, "RECOMMENDERS", {"dull": dull})
    match = references.Match("made up", references.made_up(people=120, actions=20))
    assert match._value("dull", {"weight": 0.0}) == -np.inf
    assert np.isfinite(match._value("dull", {"weight": 1.0}))
