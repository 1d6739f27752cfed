"""`simulate`: settings, common random numbers, several draws, and the size of a run."""

from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.policies import Setting
from lpbandits.simulation import run, simulate
from lpbandits.worlds import SyntheticWorld
from tests.conftest import ANYWHERE

WORLD = SyntheticWorld(states=3, actions=4)


def test_results_depend_on_the_seed_and_not_on_later_rounds() -> None:
    names = [name for name in ANYWHERE if name not in ("mucb", "lpb-horizon")]  # these plan for the rounds
    short, same, other = (simulate(WORLD, names, people=3, rounds=10, seed=seed) for seed in (1, 1, 2))
    long = simulate(WORLD, names, people=3, rounds=25, seed=1)
    for name in names:
        np.testing.assert_array_equal(short[name].regret.mean, same[name].regret.mean)
        np.testing.assert_allclose(short[name].regret.mean, long[name].regret.mean[:10], rtol=1e-12)
    assert not np.array_equal(short["ts"].regret.mean, other["ts"].regret.mean)


def test_policies_of_a_function_play_with_the_same_people_and_random_numbers() -> None:
    seen: list[Setting] = []

    def build(setting: Setting) -> lpb.Policy:
        seen.append(setting)
        return lpb.LpbTS(setting.model, noise=setting.rewards.noise)

    world = SyntheticWorld(states=3, actions=4, noise=0.7)
    policies: dict[str, Any] = {"mine": build, "theirs": "lpbts", "ts": "ts"}
    results, uniform = (simulate(world, policies, people=5, rounds=20, draws=2, first=f) for f in ("prior", "uniform"))
    assert results.difference("mine", "theirs") == (0.0, 0.0)
    assert uniform.settings["first"] == "uniform"
    assert uniform.difference("mine", "theirs") != (0.0, 0.0)  # `build` ignores it
    np.testing.assert_array_equal(results["mine"].people["state"], results["ts"].people["state"])
    assert list(results.policies) == ["mine", "theirs", "ts"]
    assert {(s.model.n_states, s.rewards.sd, s.rounds, s.first) for s in seen} == {
        (3, 0.7, 20, first) for first in ("prior", "uniform")
    }
    assert len({s.model for s in seen}) == 2


def test_settings_and_progress() -> None:
    calls: list[tuple[str, int, int]] = []
    counts: dict[str, Any] = {"people": 2, "rounds": 3, "draws": 4, "seed": 6}
    settings = simulate(WORLD, ["ts", "ucb"], **counts, progress=lambda *call: calls.append(call)).settings
    expected = {"world": "synthetic", "states": 3, "actions": 4, "scale": "same", "gap": 0.2, "noise": 1.0}
    assert (expected | counts | {"first": "prior"}).items() <= settings.items()
    assert [done for _, done, _ in calls] == list(range(1, len(calls) + 1))
    assert {(name, total) for name, _, total in calls} == {("ts", len(calls)), ("ucb", len(calls))}


@pytest.mark.parametrize(
    ("policies", "settings", "message"),
    [
        (["lpbts", "nope"], {}, "policy must .*got 'nope'"),
        ("lpbts", {}, "policies must .*got 'lpbts'"),
        ([], {}, "policies must .*got none"),
        (["ts", "ts"], {}, "policies must .*got 'ts' twice"),
        ([3], {}, "policy must .*got 3"),
        ({"x": "nope"}, {}, "policy .*'nope'"),
        (["ts"], {"people": 0}, "people must .*got 0"),
        (["ts"], {"rounds": 0}, "rounds .*0"),
        (["ts"], {"draws": -1}, "draws .*-1"),
        (["ts"], {"progress": 3}, "progress must .*got 3"),
        (["ts", "lpb-duel"], {}, "same feedback.*'ts'.*'lpb-duel'"),
        (["ts"], {"seed": 2**63}, "seed .*9223372036854775808"),
        (["ts"], {"threads": 0}, "threads .*0"),
        (["ts"], {"first": "random"}, "first must .*got 'random'"),
        (["ts"], {"people": 10**6, "rounds": 10**6}, "take fewer people, draws, rounds"),
    ],
)
def test_invalid_settings_raise(policies: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        simulate(WORLD, policies, **{"people": 1, "rounds": 2, **settings})


def test_tasks_of_long_runs_have_few_people() -> None:
    population = WORLD.draw(people=100, seed=0)
    builders = run.builders_of(["ts"])
    assert len(run.tasks_of(builders, [population], rounds=10)) == 1
    tasks = run.tasks_of(builders, [population], rounds=20_000)
    assert max(len(task.people) for task in tasks) * 20_000 <= run.TASK_DECISIONS
    assert sum(len(task.people) for task in tasks) == 300
    assert [task.first_person for task in tasks] == list(np.cumsum([0] + [len(task.people) for task in tasks[:-1]]))
