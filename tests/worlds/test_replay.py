"""`ReplayWorld`: recorded rewards, actions without replacement, and unknown states and means."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.simulation import rollout
from lpbandits.worlds import Population
from tests.conftest import CASES, REWARDS, SOME_RATINGS, Case, model_for, population_for
from tests.simulation.agents import assert_equals_agents

GAUSSIAN = [case for case in CASES if case.kind == "gaussian"]
WITHOUT_MEANS = [case for case in GAUSSIAN if case.name not in ("mts", "mucb")]


@pytest.mark.jitless
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_each_action_is_played_at_most_once(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=7)
    people = replace(population_for(model, case.rewards, people=1), without_replacement=True)
    limited = replace(people, offered=np.array([[[0, 1, 3, 4, 6]]] * 4))
    for population, rounds in ((people, 7), (limited, 5)):
        trace = assert_equals_agents(case.policy(model), population, rounds)
        assert all(len(set(row)) == rounds for row in trace.actions.tolist())


@pytest.mark.jitless
@pytest.mark.parametrize("case", WITHOUT_MEANS, ids=str)
def test_rewards_are_the_recorded_ratings(case: Case) -> None:
    model = lpb.PreferenceModel(model_for(case.rewards).orderings)
    people = lpb.ReplayWorld(model, SOME_RATINGS, least=3).draw(people=5, seed=1)
    trace = assert_equals_agents(case.policy(model), people, 3)
    recorded = np.take_along_axis(people.means, trace.actions.astype(np.int64), axis=1)
    np.testing.assert_array_equal(trace.rewards, recorded)
    assert np.isnan(trace.active[:, 1:]).all()


def test_playing_in_the_person_s_order_has_no_regret() -> None:
    model = lpb.PreferenceModel([[3, 1, 0, 2]])
    people = Population(model, [-1], [[2.0, 3.0, np.nan, 4.0]], lpb.Rewards(), without_replacement=True, replayed=True)  # type: ignore[arg-type] # lists will do
    trace = rollout(lpb.LpbTS(model), people, rounds=3, seed=0)
    assert trace.actions.tolist() == [[3, 1, 0]]
    np.testing.assert_array_equal(trace.regret, 0.0)


def test_a_log_is_matched_by_label_and_people_with_few_ratings_are_ignored() -> None:
    people, actions = ["ann", "ann", "ann", "bob", "cy", "cy"], ["tea", "jam", "salt", "tea", "jam", "milk"]
    log = lpb.Ratings.from_arrays(people, actions, [5, 1, 3, 2, 4, 2])
    model = lpb.PreferenceModel([[0, 1, 2]], actions=["milk", "tea", "jam"])
    means = lpb.ReplayWorld(model, log, least=2).draw(people=10, seed=0).means
    recorded = sorted(tuple(row) for row in np.nan_to_num(means, nan=-1.0).tolist())
    assert recorded == [(-1.0, 5.0, 1.0), (2.0, -1.0, 4.0)]
    results = lpb.simulate(lpb.ReplayWorld(model, log, least=2), ["lpbts", "uniform"], people=10, rounds=2)
    assert results.settings["people"] == 2
    assert results["lpbts"].people["state"].tolist() == [-1.0, -1.0]
    assert "state" in results.people().columns
    with pytest.raises(lpb.InvalidInput, match=r"least.*4"):
        lpb.ReplayWorld(model, log, least=4)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_recorded_rewards_of_every_family(family: Any) -> None:
    model = lpb.PreferenceModel([[0, 1, 2]])
    world = lpb.ReplayWorld(model, [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], least=3, rewards=lpb.Rewards(family))
    people = world.draw(people=2, seed=0)
    trace = rollout(lpb.LpbTS(model, rewards=family), people, rounds=3, seed=0)
    np.testing.assert_array_equal(
        trace.rewards, np.take_along_axis(people.means, trace.actions.astype(np.int64), axis=1)
    )
    with pytest.raises(lpb.InvalidInput, match=r"reward.*2\.5"):
        lpb.ReplayWorld(model, [[2.5, 0.0, 1.0]], least=3, rewards=lpb.Rewards(family))


def test_too_many_rounds_and_duels_raise() -> None:
    people = replace(population_for(model_for(REWARDS["gaussian"]), REWARDS["gaussian"]), without_replacement=True)
    with pytest.raises(lpb.InvalidInput, match=r"rounds.*7"):
        rollout(lpb.LpbTS(people.model), people, rounds=7, seed=0)
    with pytest.raises(lpb.InvalidInput, match="duels"):
        rollout(lpb.LpbDuel(people.model), people, rounds=2, seed=0)
