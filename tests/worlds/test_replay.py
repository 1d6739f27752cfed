"""`ReplayWorld`: recorded rewards, actions without replacement, and unknown states and means."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.simulation import rollout
from lpbandits.worlds import Population
from tests.conftest import CASES, REWARDS, SOME_RATINGS, Case, model_for, population_for

GAUSSIAN = [case for case in CASES if case.kind == "gaussian"]
WITHOUT_MEANS = [case for case in GAUSSIAN if case.name not in ("mts", "mucb")]


def assert_equals_agents(policy: lpb.Policy, people: Population, rounds: int) -> None:
    """Compare a rollout with agents that are offered the remaining actions."""
    trace = rollout(policy, people, rounds=rounds, seed=3, first_person=4)
    for p in range(len(people)):
        agent = lpb.Agent(policy, seed=3, person=4 + p)
        row = people.offered[min(p, len(people.offered) - 1), 0]
        available = [int(a) for a in row if a >= 0] or list(range(policy.model.n_actions))
        for t in range(rounds):
            action = agent.ask(available)
            assert action == trace.actions[p, t]
            assert trace.regret[p, t] == people.means[p, available].max() - people.means[p, trace.actions[p, t]]
            available.remove(int(action))
            agent.tell(action, float(trace.rewards[p, t]))
        assert len(set(trace.actions[p].tolist())) == rounds


@pytest.mark.jitless
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_each_action_is_played_at_most_once(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=7)
    assert_equals_agents(
        case.policy(model), replace(population_for(model, case.rewards, people=1), without_replacement=True), rounds=7
    )
    sets = np.array([[[0, 1, 3, 4, 6]]] * 4)
    limited = replace(population_for(model, case.rewards, people=1, offered=sets), without_replacement=True)
    assert_equals_agents(case.policy(model), limited, rounds=5)


@pytest.mark.jitless
@pytest.mark.parametrize("case", WITHOUT_MEANS, ids=str)
def test_rewards_are_the_recorded_ratings(case: Case) -> None:
    model = lpb.PreferenceModel(model_for(case.rewards).orderings)
    people = lpb.ReplayWorld(model, SOME_RATINGS, least=3).draw(people=5, seed=1)
    assert_equals_agents(case.policy(model), people, rounds=3)
    trace = rollout(case.policy(model), people, rounds=3, seed=3)
    given = np.take_along_axis(people.means, trace.actions.astype(np.int64), axis=1)
    np.testing.assert_array_equal(trace.rewards, given)
    assert np.isnan(trace.mass).all()
    assert np.isnan(trace.active[:, 1:]).all()


def test_playing_in_the_person_s_order_has_no_regret() -> None:
    model = lpb.PreferenceModel([[3, 1, 0, 2]])
    people = Population(model, [-1], [[2.0, 3.0, np.nan, 4.0]], lpb.Rewards(), without_replacement=True, replayed=True)  # type: ignore[arg-type] # lists will do
    trace = rollout(lpb.LpbTS(model), people, rounds=3, seed=0)
    assert trace.actions.tolist() == [[3, 1, 0]]
    np.testing.assert_array_equal(trace.regret, 0.0)


def test_a_log_is_matched_by_label_and_people_with_few_ratings_are_ignored() -> None:
    rows = [
        ("ann", "tea", 5),
        ("ann", "jam", 1),
        ("ann", "salt", 3),
        ("bob", "tea", 2),
        ("cy", "jam", 4),
        ("cy", "milk", 2),
    ]
    log = lpb.Ratings.from_arrays(*zip(*rows, strict=True))
    model = lpb.PreferenceModel([[0, 1, 2]], actions=["milk", "tea", "jam"])
    people = lpb.ReplayWorld(model, log, least=2).draw(people=10, seed=0)
    recorded = sorted(tuple(row) for row in np.nan_to_num(people.means, nan=-1.0).tolist())
    assert recorded == [(-1.0, 5.0, 1.0), (2.0, -1.0, 4.0)]
    results = lpb.simulate(lpb.ReplayWorld(model, log, least=2), ["lpbts", "uniform"], people=10, rounds=2)
    assert results["lpbts"].people["state"].tolist() == [-1.0, -1.0]
    assert "state" in results.people().columns
    with pytest.raises(lpb.InvalidInput, match=r"least.*4"):
        lpb.ReplayWorld(model, log, least=4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"means": [[1.0, np.inf]]}, "finite"),
        ({"means": [[np.nan, np.nan]]}, "person 0"),
        ({"means": [[1.0, np.nan]], "offered": [[[0, 1]]]}, "offered must.*person 0"),
        ({"truth": [2]}, "truth"),
    ],
)
def test_invalid_populations_raise(changes: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"truth": None, "means": [[1.0, 2.0]], "replayed": True}
    with pytest.raises(lpb.InvalidInput, match=message):
        Population(lpb.PreferenceModel([[0, 1], [1, 0]]), rewards=lpb.Rewards(), **{**good, **changes})


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


def test_a_simulation_draws_at_most_the_people_of_the_log() -> None:
    world = lpb.ReplayWorld(model_for(lpb.Rewards()), SOME_RATINGS, least=3)
    results = lpb.simulate(world, ["popular"], people=50, rounds=3)
    assert results.settings["people"] == len(SOME_RATINGS)
