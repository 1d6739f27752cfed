"""`simulate`: settings, common random numbers, and several draws."""

from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.policies import Setting
from lpbandits.simulation import rollout, simulate
from lpbandits.worlds import SyntheticWorld
from tests.conftest import ANYWHERE

WORLD = SyntheticWorld(states=3, actions=4)


def test_results_do_not_depend_on_the_company_a_policy_keeps() -> None:
    together = simulate(WORLD, ANYWHERE, people=4, rounds=15, seed=2)
    for name in ANYWHERE:
        alone = simulate(WORLD, [name], people=4, rounds=15, seed=2)
        np.testing.assert_array_equal(alone[name].people["regret"], together[name].people["regret"])
    assert list(together.policies) == ANYWHERE


def test_policies_meet_the_same_people_with_the_same_luck() -> None:
    results = simulate(WORLD, {"one": "lpbts", "two": "lpbts", "ts": "ts"}, people=5, rounds=10, seed=2)
    assert results.difference("one", "two") == (0.0, 0.0)
    np.testing.assert_array_equal(results["one"].people["state"], results["ts"].people["state"])


def test_each_draw_is_a_population_of_its_own_and_people_keep_their_address() -> None:
    results = simulate(WORLD, ["lpbts"], people=4, rounds=12, draws=3, seed=5)
    regret = results["lpbts"].people["regret"].reshape(3, 12)
    for draw in range(3):
        population = WORLD.draw(people=4, seed=5, draw=draw)
        trace = rollout(lpb.LpbTS(population.model), population, rounds=12, seed=5, first_person=draw * 12)
        np.testing.assert_allclose(trace.regret.sum(axis=1), regret[draw], rtol=1e-12)
    assert len({regret[draw].tobytes() for draw in range(3)}) == 3
    np.testing.assert_array_equal(results["lpbts"].people["draw"], np.repeat([0, 1, 2], 12))


def test_the_seed_decides_everything() -> None:
    one, same, other = (simulate(WORLD, ["ts"], people=3, rounds=9, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one["ts"].regret.mean, same["ts"].regret.mean)
    assert not np.array_equal(one["ts"].regret.mean, other["ts"].regret.mean)


def test_longer_runs_begin_like_shorter_ones() -> None:
    horizonless = [name for name in ANYWHERE if name != "mucb"]  # mUCB plans for its horizon
    short = simulate(WORLD, horizonless, people=3, rounds=10, seed=1)
    long = simulate(WORLD, horizonless, people=3, rounds=25, seed=1)
    for name in horizonless:
        np.testing.assert_allclose(short[name].regret.mean, long[name].regret.mean[:10], rtol=1e-12)


def test_a_builder_of_ones_own() -> None:
    seen: list[Setting] = []

    def build(setting: Setting) -> lpb.Policy:
        seen.append(setting)
        return lpb.LpbTS(setting.model, noise=setting.rewards.noise)

    world = SyntheticWorld(states=3, actions=4, noise=0.7)
    results = simulate(world, {"mine": build, "theirs": "lpbts"}, people=5, rounds=20, draws=2, first="prior")
    assert results.difference("mine", "theirs")[0] == 0.0
    assert {(s.model.n_states, s.rewards.sd, s.rounds, s.first) for s in seen} == {(3, 0.7, 20, "prior")}
    assert len({s.model for s in seen}) == 2


def test_first_reaches_the_policies() -> None:
    runs = {first: simulate(WORLD, ["lpbts", "ts"], people=40, rounds=1, first=first) for first in ("prior", "uniform")}
    prior, uniform = runs["prior"]["lpbts"], runs["uniform"]["lpbts"]
    assert prior.regret.mean[0] != uniform.regret.mean[0]
    np.testing.assert_array_equal(runs["prior"]["ts"].regret.mean, runs["uniform"]["ts"].regret.mean)
    assert runs["uniform"].settings["first"] == "uniform"


def test_settings_record_the_world_and_the_run() -> None:
    settings = simulate(WORLD, ["ts"], people=2, rounds=3, draws=4, seed=6).settings
    expected = {"world": "synthetic", "states": 3, "actions": 4, "scale": "same", "gap": 0.2, "noise": 1.0}
    expected |= {"people": 2, "rounds": 3, "draws": 4, "seed": 6, "first": "prior"}
    assert expected.items() <= settings.items()


def test_progress_counts_up_to_the_end() -> None:
    calls: list[tuple[str, int, int]] = []
    simulate(WORLD, ["ts", "ucb"], people=2, rounds=3, draws=2, progress=lambda *call: calls.append(call))
    assert [done for _, done, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, _, total in calls} == {len(calls)}
    assert {name for name, _, _ in calls} == {"ts", "ucb"}


@pytest.mark.parametrize(
    ("policies", "settings", "message"),
    [
        (["lpbts", "nope"], {}, "policy must .*got 'nope'"),
        ("lpbts", {}, "policies must .*got 'lpbts'"),
        (7, {}, "policies must .*got 7"),
        ({"x": lambda setting: setting}, {}, "policy 'x' must .*got"),
        ([], {}, "policies must .*got none"),
        ({}, {}, "policies must .*got none"),
        (["ts", "ts"], {}, "policies must .*got 'ts' twice"),
        ([3], {}, "policy must .*got 3"),
        ({"x": "nope"}, {}, "policy .*'nope'"),
        (["ts"], {"people": 0}, "people must .*got 0"),
        (["ts"], {"rounds": 0}, "rounds .*0"),
        (["ts"], {"rounds": 2.5}, "rounds .*2.5"),
        (["ts"], {"draws": -1}, "draws .*-1"),
        (["ts"], {"seed": -1}, "seed .*-1"),
        (["ts"], {"seed": 2**63}, "seed .*9223372036854775808"),
        (["ts"], {"threads": 0}, "threads .*0"),
        (["ts"], {"first": "random"}, "first must .*got 'random'"),
        (["ts"], {"people": 10**6, "rounds": 10**6}, "take fewer people, draws, rounds"),
    ],
)
def test_bad_settings_are_named(policies: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        simulate(WORLD, policies, **{"people": 1, "rounds": 2, **settings})


def test_results_of_a_policy_that_was_not_run_are_refused() -> None:
    results = simulate(WORLD, ["ts", "ucb"], people=1, rounds=2)
    with pytest.raises(InvalidInput, match=r"policy must be one of ts, ucb, got 'lpbts'"):
        results["lpbts"]


def test_one_person_one_round_one_action() -> None:
    results = simulate(SyntheticWorld(states=1, actions=1), ANYWHERE, people=1, rounds=1)
    for name in ANYWHERE:
        summary = results[name].to_dict()
        assert summary["regret"]["mean"] == 0.0
        assert summary["best_share"] == 1.0
