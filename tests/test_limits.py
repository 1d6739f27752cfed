"""Sizes are refused before the work starts, with little memory, and nothing that a patient user could want is."""

import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits import limits
from lpbandits.cli import app
from lpbandits.inspection.inspect import inspect_model
from lpbandits.paper.reproduce import reproduce
from lpbandits.paper.spec import Size
from lpbandits.simulation import bounds, size
from lpbandits.simulation.bounds import bound_model, bound_world, bounds_against
from lpbandits.simulation.run import builders_of
from lpbandits.simulation.size import check_bounds, check_run
from lpbandits.theory import nearest_inversions
from lpbandits.theory.program import check_size
from lpbandits.views.demo import run_demo
from tests.conftest import random_orderings

runner = CliRunner()

HUGE = 2**31 - 1
WORLD = lpb.SyntheticWorld(states=2, actions=3)
MODEL = lpb.PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])
TRUTH = np.zeros(1, dtype=np.int64)
PEOPLE = WORLD.draw(people=1, seed=0)
LOG = lpb.Ratings.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [5, 3, 2, 4, 1, 1])
MEMORY = "GiB of memory; the limit"
HOURS = "hours; the limit"


class Told:
    """A world that says how large it is, and must not be asked for people."""

    def __init__(self, states: int, actions: int) -> None:
        self.about = {"world": "told", "states": states, "actions": actions}

    def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:
        raise AssertionError(f"{people} people were drawn with seed {seed}, draw {draw}")

    def to_dict(self) -> dict[str, Any]:
        return self.about


def _many_states(states: int) -> lpb.PreferenceModel:
    return lpb.PreferenceModel(random_orderings(states, 9, 0))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "orderings": (lambda: lpb.SyntheticWorld(states=math.factorial(12), actions=12), MEMORY),
    "states-and-actions": (lambda: lpb.SyntheticWorld(states=HUGE, actions=HUGE), MEMORY),
    "drawn-people": (lambda: WORLD.draw(people=HUGE, seed=0), MEMORY),
    "people-of-means": (lambda: lpb.MeansWorld(MODEL).draw(people=HUGE, seed=0), MEMORY),
    "people": (lambda: lpb.simulate(WORLD, ["ts"], people=HUGE), MEMORY),
    "rounds": (lambda: lpb.simulate(WORLD, ["ts"], people=1, rounds=HUGE), MEMORY),
    "draws": (lambda: lpb.simulate(WORLD, ["ts"], people=1, draws=HUGE), MEMORY),
    "everything": (lambda: lpb.simulate(WORLD, ["ts"], people=HUGE, rounds=HUGE, draws=HUGE), MEMORY),
    "policies": (lambda: lpb.simulate(WORLD, {f"p{i}": "ts" for i in range(30)}, people=3 * 10**6), MEMORY),
    "traces": (lambda: lpb.simulate(WORLD, ["ts"], people=10**6, rounds=1000, traces=True), MEMORY),
    "time": (lambda: lpb.simulate(Told(1000, 50), ["lpbts"], people=1000, rounds=10**5, threads=1), HOURS),
    "time-of-duels": (lambda: lpb.simulate(Told(5, 5000), ["double-ts"], people=1000, rounds=10**4), HOURS),
    "a-world-of-ones-own": (lambda: lpb.simulate(Told(10**30, 10**90), ["ts"]), MEMORY),
    "roll": (lambda: lpb.simulation.rollout(lpb.TS(PEOPLE.model), PEOPLE, rounds=HUGE, seed=0), MEMORY),
    "bound": (lambda: bound_world(lpb.SyntheticWorld(states=100_000, actions=20)), HOURS),
    "bound-actions": (lambda: bound_world(lpb.SyntheticWorld(states=2, actions=10**5)), MEMORY),
    "bound-against": (lambda: bounds_against("size", values=[5, 200], people=100_000), HOURS),
    "bound-value": (lambda: bounds_against("states", values=[10**6], actions=20), HOURS),
    "bound-rounds": (lambda: bound_world(WORLD, policies=["ts"], rounds=HUGE), MEMORY),
    "bound-repeats": (lambda: bound_world(WORLD, policies=["ts"], repeats=HUGE), MEMORY),
    "bound-time": (lambda: bound_world(WORLD, people=10**5, policies=["ts"], rounds=10**7, threads=1), HOURS),
    "one-bound": (lambda: check_size(10**6, 20), HOURS),
    "states-of-a-reproduction": (lambda: reproduce(["vary-states"], size=Size(people=HUGE)), MEMORY),
    "draws-of-a-reproduction": (lambda: reproduce(["recovery"], size=Size(draws=HUGE)), HOURS),
    "duels-of-a-reproduction": (lambda: reproduce(["duels"], size=Size(rounds=HUGE)), MEMORY),
    "pairs-of-a-reproduction": (lambda: reproduce(["pairing"], size=Size(rounds=HUGE)), MEMORY),
    "curves-of-a-reproduction": (lambda: reproduce(["regret-curves"], size=Size(people=HUGE)), MEMORY),
    "rounds-of-a-reproduction": (lambda: reproduce(["bound-gap"], size=Size(rounds=HUGE)), MEMORY),
    "wins": (lambda: lpb.fit.fit_bradley_terry(np.broadcast_to(1.0, (10**6, 10**6))), MEMORY),
    "a-hollow-model": (lambda: lpb.PreferenceModel(np.broadcast_to(np.arange(10**5), (10**8, 10**5))), MEMORY),
    "hollow-means": (
        lambda: lpb.worlds.Population(MODEL, TRUTH, np.broadcast_to(1.0, (HUGE, 2)), lpb.Rewards()),
        MEMORY,
    ),
    "room": (lambda: lpb.LpbTS(MODEL).new_belief(HUGE), MEMORY),
    "an-exact-number": (lambda: nearest_inversions(10**15, 20), MEMORY),
}


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight gigabytes, whatever there is: the limits are tried, not the machine."""
    monkeypatch.setattr(limits, "memory_limit", lambda: 8 * 2**30)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_too_large_is_refused_with_little_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, words = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(lpb.InvalidInput, match=words) as found:
            call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * 2**20
    assert len(str(found.value)) < 300
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("small_machine")
def test_distances_between_too_many_states_are_refused() -> None:
    model = _many_states(20_000)
    model.__dict__["orderings"] = np.broadcast_to(model.orderings[0], (50_000, 9))
    with pytest.raises(lpb.InvalidInput, match=MEMORY):
        model.kendall  # noqa: B018 - it is computed when it is asked for
    with pytest.raises(lpb.InvalidInput, match=MEMORY):
        inspect_model(model)
    with pytest.raises(lpb.InvalidInput, match=MEMORY):
        lpb.fit.match_orderings(model, model)
    with pytest.raises(lpb.InvalidInput, match=HOURS):
        bound_model(model, state=None)


@pytest.mark.usefixtures("small_machine")
def test_a_log_that_would_fill_the_memory_is_refused() -> None:
    actions = tuple(range(10**5))
    wide = lpb.Ratings(
        offsets=np.arange(0, 10**6 + 1, 2),
        action=np.tile(np.array([0, 1], dtype=np.int32), 5 * 10**5),
        rating=np.tile([1.0, 2.0], 5 * 10**5),
        people=tuple(range(5 * 10**5)),
        actions=actions,
    )
    with pytest.raises(lpb.InvalidInput, match=f"to replay 500,000 people with 100,000 actions would take .* {MEMORY}"):
        lpb.ReplayWorld(lpb.PreferenceModel([actions], actions=actions), wide)


def test_a_demo_is_refused_before_it_draws(tmp_path: Path) -> None:
    with pytest.raises(lpb.InvalidInput, match=MEMORY):
        run_demo(tmp_path / "demo", draws=HUGE)


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "--people", str(HUGE)],
        ["simulate", "--states", "479001600", "--actions", "12"],
        ["bound", "--states", "100000"],
        ["reproduce", "--draws", str(HUGE)],
        ["demo", "--draws", str(HUGE)],
    ],
)
def test_commands_refuse(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, arguments)
    assert isinstance(done.exception, lpb.InvalidInput)
    assert "would take" in str(done.exception)
    assert done.stdout == ""


def test_all_of_a_command_is_estimated_before_its_first_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(bounds, "bound_world", never)
    args = ["bound", "--states", "2", "--actions", "2", "--people", "100000", "--policies", "lpbts", "--threads", "1"]
    done = runner.invoke(app, [*args, "--rounds", "500000", "--against", "size"])
    assert isinstance(done.exception, lpb.InvalidInput)
    assert "100,000 people × 10 repeats × 500,000 rounds with 1 policy would take about" in str(done.exception)
    assert isinstance(runner.invoke(app, [*args, "--rounds", "500000"]).exception, AssertionError)


@pytest.mark.usefixtures("small_machine")
def test_what_a_patient_user_could_want_is_not_refused() -> None:
    every = builders_of([name for name, entry in lpb.policies.POLICIES.items() if entry.feedback == "rewards"])
    check_run(every, states=100, actions=100, people=10**5, rounds=1000, draws=1)
    check_run(every, states=5, actions=10, people=10**6, rounds=200, draws=1)
    check_run(every, states=20, actions=20, people=1000, rounds=200, draws=1000)
    check_run(builders_of(["lpbts"]), states=5, actions=10, people=100, rounds=200_000)
    check_run(builders_of(["lpbts"]), states=10**5, actions=20, people=10**5, rounds=100, workers=2)
    check_bounds([lpb.SyntheticWorld(states=20, actions=20)], people=100_000)
    check_bounds([lpb.SyntheticWorld(states=10_000, actions=20)], people=20)
    check_bounds([lpb.SyntheticWorld(states=50, actions=50)], people=20, policies=["lpbts"], rounds=10**6, repeats=10)
    lpb.SyntheticWorld(states=math.factorial(9), actions=9)
    lpb.SyntheticWorld(states=10**6, actions=20)


@pytest.mark.parametrize(
    ("world", "run"),
    [
        ({"states": 5, "actions": 10}, {"people": 20_000, "rounds": 2}),
        ({"states": 5, "actions": 200}, {"people": 2_000, "rounds": 2}),
        ({"states": 50_000, "actions": 20}, {"people": 1, "rounds": 1}),
        ({"states": 2, "actions": 3}, {"people": 1, "rounds": 200, "draws": 1000}),
        ({"states": 1, "actions": 3}, {"people": 1, "rounds": 300_000}),
        ({"states": 1, "actions": 3}, {"people": 5000, "rounds": 2000}),
    ],
)
def test_the_estimate_is_about_what_a_run_takes(
    world: dict[str, Any], run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within a factor of four, whichever part of the memory is the largest; a table and a file are not written here."""
    told: list[float] = []
    monkeypatch.setattr(size, "check_resources", lambda *_, **sizes: told.append(sizes["size"]))
    place = lpb.SyntheticWorld(**world)
    lpb.simulate(place, ["uniform"], people=1, rounds=1, threads=1)
    tracemalloc.start()
    try:
        lpb.simulate(place, ["uniform"], **run, threads=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.8 < told[-1] / peak < 4


@pytest.mark.parametrize(("text", "wanted"), [("1073741824\n", 3 * 2**28), ("max\n", None), ("-1", None), ("", None)])
def test_a_container_has_less_memory(
    text: str, wanted: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = limits.memory_limit.__wrapped__()
    (tmp_path / "limit").write_text(text)
    monkeypatch.setattr(limits, "_CONTAINERS", (str(tmp_path / "limit"), str(tmp_path / "nothing")))
    assert limits.memory_limit.__wrapped__() == (wanted or usual)
