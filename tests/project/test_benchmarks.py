"""The benchmarks without measuring: the page is what the results say, and peers are nowhere but there."""

import ast
import doctest
import json
import os
import re
import socket
import subprocess
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

with mock.patch.dict(os.environ):  # its one thread for BLAS is not for the tests
    from benchmarks import __main__ as program
    from benchmarks import (
        beaten,
        bend,
        beyond,
        bradley_terry,
        charts,
        command,
        machine,
        markdown,
        measure,
        missed,
        page,
        peers,
        processes,
        readme,
        references,
        results,
        thompson,
        whole_fit,
    )
    from benchmarks.measure import Measured, Row, Table
    from benchmarks.recommenders import Recommender, Score, Settings
    from benchmarks.recovery import contest
    from benchmarks.sections import SECTIONS
    from benchmarks.thompson_players import ENTRANTS, EXACT, River

ROOT = Path(__file__).parents[2]
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


def test_the_table_of_the_readme_is_what_the_results_say() -> None:
    text = page.README.read_text(encoding="utf-8")
    assert text == readme.renewed(text, FOUND), "run `python -m benchmarks page`"
    shown = text.partition(readme.BEGIN)[2].partition(readme.END)[0]
    for (group, what), words in readme.SHOWN.items():
        (row,) = [row for row in FOUND.groups[group]["rows"] if row["what"] == what]
        assert f"| {words} | {row['value']:,.0f}× |" in shown
        assert f"| {group} | {what} | " in page.render(FOUND)


def test_another_number_changes_page_and_readme() -> None:
    other = deepcopy(FOUND)
    next(row for row in other.groups["core"]["rows"] if row["what"].startswith("simulator vs SciPy"))["value"] = 4321.0
    assert "4,321×" in page.render(other)
    assert "4,321×" in readme.renewed(page.README.read_text(encoding="utf-8"), other)
    with pytest.raises(SystemExit, match="lost the marks"):
        readme.renewed(f"{readme.BEGIN} and no end", FOUND)


def test_the_page_has_every_group_and_every_picture() -> None:
    text = page.render(FOUND)
    assert {*program.GROUPS, program.LONG} >= set(FOUND.groups)
    assert set(program.GROUPS) - set(FOUND.groups) <= set(SECTIONS), "run `make bench`"
    for group, (heading, _) in SECTIONS.items():
        measured = group in FOUND.groups
        assert (f"\n## {heading}\n" in text) == measured
        assert ("Not measured in these results: " in text and f"`{group}`" in text) or measured
    drawn = {name for name, (_, needs) in charts.CHARTS.items() if FOUND.table(needs)}
    for name in drawn:
        assert f"(benchmarks/{name}.svg)" in text
        assert (page.PICTURES / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    assert {picture.stem for picture in page.PICTURES.iterdir()} == drawn


def test_pictures_say_how_to_read_them() -> None:
    """A title, units, what is better, and logarithms where there are some; no wider than a page."""
    for name, (draw, needs) in charts.CHARTS.items():
        if not FOUND.table(needs):
            continue
        words = json.dumps(draw(FOUND).to_dict())
        assert re.search(r"lower is faster|further (left|right) is better|shorter is better", words), name
        assert re.search(r"µs|ms |KiB|seconds|units", json.dumps(draw(FOUND).to_dict(), ensure_ascii=False)), name
        assert ('"type": "log"' in words) == ("are logarithmic" in words), name
        drawn = (page.PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        assert int(re.findall(r'width="(\d+)"', drawn)[0]) <= 730


def test_colours_can_be_read_on_white() -> None:
    """Names are written in them: a contrast of 3 at least, as WCAG asks of large text."""
    for colour in {*charts.COLOURS.values(), charts.OURS, charts.EXACT}:
        parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        assert 1.05 / (float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05) >= 3.0, colour


def test_every_missed_goal_is_explained() -> None:
    for group, row in FOUND.rows():
        assert row.met or missed.why(FOUND, group, row.what), f"say in benchmarks/missed.py why: {row.what}"
    busy = results_of(fit=[{"load": 3.0}])
    assert "its load was 3.0" in missed.why(busy, "fit", "whole fit: by the clock, idle machine")
    assert not missed.why(results_of(fit=[{"load": 0.1}]), "fit", "whole fit: by the clock, idle machine")
    assert not missed.why(FOUND, "core", "something else")


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
    assert whole_fit.SECONDS == 60.0
    assert whole_fit.GIB == 3.0
    assert processes.GOAL == 1.6
    assert beyond.GIB == 8.0
    assert goals["first decision, compiled before"] == (0.6, True)
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


MACHINE: dict[str, Any] = {
    "day": "2026-01-01",
    "processor": "one",
    "cores": 2,
    "memory_gib": 8,
    "system": "Linux",
    "python": "3.11.7",
    "versions": {"numpy": "2.0", "river": None},
}


def test_results_are_kept_group_by_group(tmp_path: Path) -> None:
    place = tmp_path / "results.json"
    kept = results.Results.begin(place, MACHINE)
    kept.add("one", Measured([Row("a", 1.23456, 2.0)], [Table("t", [{"x": float("nan"), "y": 3.14159}])]), place)
    later = {**MACHINE, "day": "2026-01-02", "versions": {**MACHINE["versions"], "joblib": "1.0"}}
    results.Results.begin(place, later).add("two", Measured([]), place)
    written = results.Results.read(place)
    assert list(written.groups) == ["one", "two"]
    assert written.table("t") == [{"x": None, "y": 3.142}]
    assert written.groups["one"]["rows"][0]["met"] is False
    assert [written.groups[name]["day"] for name in written.groups] == ["2026-01-01", "2026-01-02"]
    assert "about" not in written.groups["one"]
    assert "`one` is of 2026-01-01." in page._machine(written)


def test_results_of_another_machine_stay_and_say_so(tmp_path: Path) -> None:
    place = tmp_path / "results.json"
    results.Results.begin(place, MACHINE).add("one", Measured([Row("a", 3.0, 2.0)]), place)
    for processor in ("another", "a third"):
        results.Results.begin(place, {**MACHINE, "processor": processor}).add("two", Measured([]), place)
    written = results.Results.read(place)
    assert written.about["processor"] == "a third"
    assert written.groups["one"]["about"]["processor"] == "one"
    assert "about" not in written.groups["two"]
    assert "`one` is of 2026-01-01, with: one, 2 cores" in page._machine(written)
    newer = {**MACHINE, "versions": {"numpy": "2.1", "river": None}}
    assert not results.alike(MACHINE, newer)


def test_a_run_says_what_it_runs_on_and_who_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program, "GROUPS", {"some": lambda: Measured([Row("a", 1.0, 2.0), Row("b", 3.0, 2.0)])})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in ("river", "surprise") else 1)
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    with pytest.raises(SystemExit) as ended:
        program.main()
    assert ended.value.code is True
    said = capsys.readouterr().out
    assert machine.in_words(machine.about()) in said
    assert "Not installed here, so not measured: river, scikit-surprise. `make bench` installs all of them" in said
    assert "1 of 2 goals met. MISSED:\n  a: 1×, goal ≥ 2×" in said


def test_a_line_bends_where_its_points_do() -> None:
    sizes = [10.0, 32, 100, 316, 1000, 3162, 10000, 31623]
    straight = bend.through(sizes, [3 * size**0.9 for size in sizes])
    assert not straight.bent
    np.testing.assert_allclose(straight.exponents, [0.9], atol=1e-9)
    bent = bend.through(sizes, [max(1.0, size / 1000) for size in sizes])
    np.testing.assert_allclose(bent.exponents, [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(bent.sizes, [10, 1000, 31623])
    rng = np.random.default_rng(0)
    noisy = [bend.through(sizes, (np.array(sizes) * np.exp(0.05 * rng.normal(size=8))).tolist()) for _ in range(50)]
    assert sum(line.bent for line in noisy) <= 2  # noise is no bend


def test_a_command_is_watched_with_all_it_starts(tmp_path: Path) -> None:
    """Two processes hold 64 MiB each at the same time, and work for half a second each."""
    child = "a = bytearray(b'1' * 2**26); import time\nwhile time.process_time() < 0.5: pass\ntime.sleep(1.0)"
    code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {child!r}]); exec({child!r}); p.wait()"
    watch = command.Watch()
    with subprocess.Popen([sys.executable, "-c", code], text=True) as process:
        command._watch(process, watch)
    assert len(watch.used) == 2
    assert watch.peak > 2 * 2**26
    assert sum(watch.used.values()) > 0.9
    with pytest.raises(SystemExit, match=r"lpb fit ended with 2: .*nowhere"):
        command.lpb("fit", str(tmp_path / "nowhere.parquet"))


def test_a_log_beyond_memory_is_the_same_whenever_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "CHUNK", 30)
    beyond.make(tmp_path / "all", 60)
    whole = pl.read_parquet(tmp_path / "all" / "*.parquet")
    assert whole.shape == (60 * beyond.EACH, 3)
    assert whole.select("userId", "movieId").is_unique().all()
    size = beyond.some_of(tmp_path / "all", tmp_path / "some", 30)
    some = pl.read_parquet(tmp_path / "some" / "*.parquet")
    assert set(some["userId"]) == set(range(30))
    assert size == sum(file.stat().st_size for file in (tmp_path / "some").iterdir())
    beyond.make(tmp_path / "one", 30)
    assert pl.read_parquet(tmp_path / "one" / "*.parquet").equals(some)


def test_goals_beyond_memory() -> None:
    one: dict[str, Any] = {"seconds": 9.0, "processor s": 9.0, "log bytes": 4.0, "scratch bytes": 24.0}
    records = [
        {**one, "way": way, "ratings": ratings, "GiB": gib, "sha256": model}
        for ratings, gib, model in ((50_000_000, 9.0, "a"), (100_000_000, 2.0, "b"))
        for way in beyond.WAYS
    ]
    assert [row.met for row in beyond.rows_of(records)] == [True, True, True, True]
    assert [row.met for row in beyond.rows_of([*records[:5], {**records[5], "sha256": "c"}])] == [
        True,
        True,
        True,
        False,
    ]
    assert [row.met for row in beyond.rows_of(records[:3])] == [False, False, False, True]
    tables = {"beyond": records, "beyond-slopes": beyond.slopes(records), "beyond-missing": []}
    found = results.Results(MACHINE, {"beyond": {"rows": [], "tables": tables}})
    text = page.render(found)
    assert "| 100 million, 2 processes | 9 | 9 | 2.0 | `b` |" in text
    assert "at most\n24.0 bytes" in text
    assert page.svg(charts.beyond(found)).startswith("<svg")


def test_long_work_has_its_sections() -> None:
    fit = {"ratings": 1000, "people": 10, "actions": 20, "states": 5, "seconds": 41.6, "processor s": 70.2, "GiB": 1.84}
    tables = {"fit": [{**fit, "load": 0.04}], "fit-stages": [{"stage": "taste", "seconds": 9.87}]}
    jobs = [{"jobs": n, "seconds": 80.0 / n, "processor s": 80.0, "GiB": 0.5 * n, "load": 0.1} for n in (1, 2)]
    some = {"fit": {"rows": [], "tables": tables}, "processes": {"rows": [], "tables": {"processes": jobs}}}
    text = page.render(results.Results(MACHINE, some))
    assert "**42 s**, with 70 s of processor time and 1.8 GiB" in text
    assert "| taste | 9.9 |" in text
    assert "| 2 | 40 | 80 | 1.0 |" in text


def test_a_group_that_fails_takes_no_other_along(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> Measured:
        raise RuntimeError("a peer went away")

    fine = Measured([Row("a", 3.0, 2.0)])
    measured, failed = program.measure({"bad": broken, "good": lambda: fine}, save=False)
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
    people = informative(log)
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


@pytest.mark.parametrize("module", [bend, beyond, machine, markdown, measure, readme, results])
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


def test_what_the_page_on_large_logs_says_was_measured() -> None:
    """docs/scale.md is written by hand, and works with these figures."""
    said = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    for one in FOUND.table("beyond"):
        if one["people"] == 1_000_000:
            assert f"| {one['seconds']:.0f} | {one['processor s']:.0f} | {one['GiB']:.1f} GiB |" in said
    slopes = {one["way"]: one["processor s a million"] for one in FOUND.table("beyond-slopes")}
    assert f"{slopes['2 processes']:.2f} s a million (two processes), {slopes['Dask, 2 workers']:.2f} s (Dask)" in said
    (whole,) = FOUND.table("fit")
    needed = f"{whole['seconds']:.0f}\nseconds of two cores ({whole['processor s']:.0f} of processor time)"
    assert f"{needed}, with {whole['GiB']:.1f} GiB" in said
