"""Runs and bounds beyond the memory limit raise before the work starts."""

import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits import limits
from lpbandits.cli import app
from lpbandits.paper.reproduce import reproduce
from lpbandits.paper.spec import Size
from lpbandits.simulation.bounds import bound_world
from lpbandits.simulation.run import check_run
from lpbandits.views.comparison_report import run_demo

HUGE = 2**31 - 1
WORLD = lpb.SyntheticWorld(states=2, actions=3)
PEOPLE = WORLD.draw(people=1, seed=0)
MEMORY = "GiB of memory; the limit"


class SizedWorld:
    """A world that states its size and must not be asked for people."""

    def __init__(self, states: int, actions: int) -> None:
        self.about = {"world": "sized", "states": states, "actions": actions}

    def draw(self, *, people: int, seed: int, draw: int = 0) -> lpb.worlds.Population:
        raise AssertionError(f"{people} people were drawn with seed {seed}, draw {draw}")

    def to_dict(self) -> dict[str, Any]:
        return self.about


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "orderings": (lambda: lpb.SyntheticWorld(states=math.factorial(12), actions=12).draw(people=1, seed=0), MEMORY),
    "drawn-people": (lambda: WORLD.draw(people=HUGE, seed=0), MEMORY),
    "people": (lambda: lpb.simulate(WORLD, ["ts"], people=HUGE), MEMORY),
    "rounds": (lambda: lpb.simulate(WORLD, ["ts"], people=1, rounds=HUGE), MEMORY),
    "draws": (lambda: lpb.simulate(WORLD, ["ts"], people=1, draws=HUGE), MEMORY),
    "policies": (lambda: lpb.simulate(WORLD, {f"p{i}": "ts" for i in range(30)}, people=3 * 10**6), MEMORY),
    "traces": (lambda: lpb.simulate(WORLD, ["ts"], people=10**6, rounds=1000, traces=True), MEMORY),
    "custom-world": (lambda: lpb.simulate(SizedWorld(10**30, 10**90), ["ts"]), MEMORY),
    "rollout": (lambda: lpb.simulation.rollout(lpb.TS(PEOPLE.model), PEOPLE, rounds=HUGE, seed=0), MEMORY),
    "bound-actions": (lambda: bound_world(lpb.SyntheticWorld(states=2, actions=10**5)), MEMORY),
    "bound-rounds": (lambda: bound_world(WORLD, policies=["ts"], rounds=HUGE), MEMORY),
    "bound-repeats": (lambda: bound_world(WORLD, policies=["ts"], repeats=HUGE), MEMORY),
    "reproduction": (lambda: reproduce(["regret-curves"], size=Size(people=HUGE)), MEMORY),
    "reproduced-duels": (lambda: reproduce(["duels"], size=Size(rounds=HUGE // 3)), MEMORY),
    "demo": (lambda: run_demo("demo", draws=HUGE), MEMORY),
    "command": (lambda: invoke("simulate", "--people", str(HUGE)), MEMORY),
}


def invoke(*arguments: str) -> None:
    CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.fixture
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the memory limit to 8 GiB on every machine."""
    monkeypatch.setattr(limits, "memory_limit", lambda: 8 * 2**30)


@pytest.mark.usefixtures("small_machine")
@pytest.mark.parametrize("name", REFUSED)
def test_oversized_calls_raise_with_little_memory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, message = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(lpb.InvalidInput, match=message) as caught:
            call()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * 2**20
    assert len(str(caught.value)) < 300
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("small_machine")
def test_large_but_feasible_calls_are_accepted() -> None:
    check_run(15, states=100, actions=100, people=10**5, rounds=1000, draws=1)
    check_run(15, states=5, actions=10, people=10**6, rounds=200, draws=1)
    check_run(15, states=20, actions=20, people=1000, rounds=200, draws=1000)
    check_run(1, states=5, actions=10, people=100, rounds=200_000)
    check_run(1, states=10**5, actions=20, people=10**5, rounds=100, workers=2)


@pytest.mark.parametrize(
    ("world", "run"),
    [
        ({"states": 5, "actions": 10}, {"people": 20_000, "rounds": 2}),
        ({"states": 5, "actions": 200}, {"people": 2_000, "rounds": 2}),
        ({"states": 5_000, "actions": 20}, {"people": 1, "rounds": 1}),
        ({"states": 2, "actions": 3}, {"people": 1, "rounds": 200, "draws": 300}),
        ({"states": 1, "actions": 3}, {"people": 1, "rounds": 300_000}),
        ({"states": 1, "actions": 3}, {"people": 2000, "rounds": 2000}),
    ],
)
def test_memory_estimates_are_within_a_factor_of_four(
    world: dict[str, Any], run: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each case another part of the memory is the largest."""
    estimates: list[float] = []
    monkeypatch.setattr("lpbandits.simulation.run.check_memory", lambda *arguments: estimates.append(arguments[-1]))
    population = lpb.SyntheticWorld(**world)
    lpb.simulate(population, ["uniform"], people=1, rounds=1, threads=1)
    tracemalloc.start()
    try:
        lpb.simulate(population, ["uniform"], **run, threads=1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.8 < estimates[-1] / peak < 4


@pytest.mark.parametrize(("text", "expected"), [("1073741824\n", 3 * 2**28), ("max\n", None), ("-1", None), ("", None)])
def test_the_limit_of_a_container_counts(
    text: str, expected: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = limits.memory_limit.__wrapped__()
    (tmp_path / "limit").write_text(text)
    monkeypatch.setattr(limits, "_CONTAINERS", (str(tmp_path / "limit"), str(tmp_path / "nothing")))
    assert limits.memory_limit.__wrapped__() == (expected or usual)
