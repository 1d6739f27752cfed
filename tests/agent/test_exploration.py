"""A floor for the chance of every allowed action: in `ask`, in `probabilities` and in the simulator alike."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.policies import POLICIES, Setting, make_policy
from lpbandits.rewards import Rewards
from lpbandits.simulation import rollout, simulate
from lpbandits.worlds import ReplayWorld, SyntheticWorld
from tests.conftest import CASES, ON_DUELS, SOME_RATINGS, Case, model_for, population_for

FLOOR = 0.06
GAUSSIAN = [case for case in CASES if case.kind == "gaussian"]
TOLD = [(0, 1.0), (3, 0.0), (0, 1.5), (5, 2.0)]


def told(case: Case, explore: float) -> Agent:
    agent = Agent(case.policy().exploring(explore), seed=11)
    for action, reward in TOLD:
        agent.tell(action, reward)
    return agent


@pytest.mark.parametrize("allowed", [None, [1, 2, 3, 5], [4]], ids=str)
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_every_allowed_action_has_the_floor_and_the_rest_is_the_policys(case: Case, allowed: list[int] | None) -> None:
    chance, free = told(case, FLOOR).probabilities(allowed), told(case, 0.0).probabilities(allowed)
    whole = list(range(6)) if allowed is None else allowed
    np.testing.assert_allclose(chance[whole], FLOOR + (1 - FLOOR * len(whole)) * free[whole], rtol=1e-12)
    np.testing.assert_array_equal(np.delete(chance, whole), 0.0)


@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_probabilities_match_the_frequency_of_ask(case: Case) -> None:
    asks = 3000
    agent = told(case, FLOOR)
    for allowed in (None, [1, 2, 3, 5]):
        expected = agent.probabilities(allowed) * asks
        counts = np.bincount(np.array([agent.ask(allowed) for _ in range(asks)]), minlength=6)
        assert counts[expected == 0].sum() == 0
        some = expected > 0
        # χ² at level 10⁻⁴
        assert ((counts[some] - expected[some]) ** 2 / expected[some]).sum() <= stats.chi2.isf(1e-4, some.sum() - 1)


@pytest.mark.parametrize("offered", [False, True], ids=["all", "offered"])
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_the_simulator_explores_as_the_agent_does(case: Case, offered: bool) -> None:
    model = model_for(case.rewards, m=3, k=6)
    rng = np.random.default_rng(0)
    sets = np.sort(rng.permuted(np.tile(np.arange(6), (3, 20, 1)), axis=2)[:, :, :4], axis=2) if offered else None
    people = population_for(model, case.rewards, people=1, offered=sets)
    policy = case.policy(model).exploring(0.1)
    trace = rollout(policy, people, rounds=20, seed=5, first_person=7)
    for p in range(3):
        agent = Agent(policy, seed=5, person=7 + p)
        for t in range(20):
            action = agent.ask(None if sets is None else sets[p, t].tolist())
            assert action == trace.actions[p, t]
            agent.tell(action, float(trace.rewards[p, t]))


@pytest.mark.parametrize("name", ["popular", "ts-top"])
def test_actions_given_once_are_explored_among_those_left(name: str) -> None:
    world = ReplayWorld(model_for(Rewards()), SOME_RATINGS, least=3)
    people = world.draw(people=5, seed=0)
    policy = make_policy(name, Setting(people.model, people.rewards)).exploring(0.15)
    for seed in range(20):
        trace = rollout(policy, people, rounds=3, seed=seed)
        for p, actions in enumerate(trace.actions.tolist()):
            left = [a for a in range(6) if not np.isnan(people.means[p, a])]
            agent = Agent(policy, seed=seed, person=p)
            for t, action in enumerate(actions):
                assert action == agent.ask(left)
                left.remove(action)
                agent.tell(action, float(trace.rewards[p, t]))


@pytest.mark.parametrize("name", ON_DUELS)
def test_both_places_of_a_duel_have_the_floor(name: str) -> None:
    people = SyntheticWorld(states=3, actions=5).draw(people=200, seed=0)
    policy = make_policy(name, Setting(people.model, people.rewards)).exploring(0.1)
    plays = rollout(policy, people, rounds=20, seed=1).plays[:, :, :2]
    agent = Agent(policy, seed=1, person=0)
    for one, other, winner in rollout(policy, people.cut(slice(1)), rounds=20, seed=1).plays[0].tolist():
        assert agent.ask_pair() == (one, other)
        agent.tell_duel(winner, one + other - winner)
    for place, action in itertools.product((0, 1), range(5)):
        share = float((plays[:, :, place] == action).mean())
        assert share > 0.1 - 4 * np.sqrt(0.1 * 0.9 / plays[:, :, 0].size)  # four standard errors


def test_a_floor_that_cannot_be_is_refused_with_its_limit() -> None:
    model = model_for(Rewards())
    for bad, says in ((-0.1, "explore.*-0.1"), (1.5, "explore.*1.5"), (float("nan"), "nan")):
        with pytest.raises(InvalidInput, match=says):
            lpb.LpbTS(model, explore=bad)
    agent = Agent(lpb.LpbTS(model, explore=0.2), seed=0)
    says = r"explore.*0\.167 for 6 allowed actions, got 0\.2"
    for use in (agent.ask, agent.probabilities):
        with pytest.raises(InvalidInput, match=says):
            use()
    assert agent.asked == 0
    assert agent.ask([0, 1, 2, 3, 4]) in range(5)
    with pytest.raises(InvalidInput, match=says):
        rollout(agent.policy, population_for(model, Rewards()), rounds=3, seed=0)
    with pytest.raises(InvalidInput, match=r"explore.*10 allowed actions, got 0\.3"):
        simulate(SyntheticWorld(), ["lpbts"], explore=0.3, people=1, rounds=2)


@pytest.mark.parametrize("name", POLICIES)
def test_every_named_policy_takes_it_and_saves_it(name: str) -> None:
    plain = make_policy(name, Setting(model_for(Rewards()), Rewards()))
    cls: Any = type(plain)
    policy = cls(plain.model, explore=FLOOR)
    assert policy.explore == FLOOR
    assert policy.to_dict()["explore"] == FLOOR
    assert "explore" not in plain.to_dict()
    agent = Agent(policy, seed=3)
    again = Agent.from_json(agent.to_json())
    assert again.policy == policy != cls(plain.model)
    asked = [(one.ask_pair() if policy.feedback == "duels" else one.ask()) for one in (agent, again)]
    assert asked[0] == asked[1]
    assert policy.with_model(model_for(Rewards(), m=2, k=3)).explore == FLOOR


def test_simulate_gives_every_policy_the_floor_and_says_so() -> None:
    world = SyntheticWorld(states=3, actions=4)
    results = simulate(world, ["lpbts", "ts-top"], people=100, rounds=30, explore=0.1, traces=True)
    assert results.settings["explore"] == 0.1
    for name in ("lpbts", "ts-top"):
        trace = results[name].trace
        assert trace is not None
        shares = np.bincount(trace.actions.ravel(), minlength=4) / trace.actions.size
        assert np.all(shares > 0.1 - 4 * np.sqrt(0.1 * 0.9 / trace.actions.size))  # four standard errors
    own = simulate(world, {"mine": lambda s: lpb.LpbTS(s.model, explore=0.2)}, people=5, rounds=5, explore=0.1)
    other = simulate(world, {"mine": lambda s: lpb.LpbTS(s.model, explore=0.2)}, people=5, rounds=5)
    np.testing.assert_array_equal(own["mine"].regret.mean, other["mine"].regret.mean)
