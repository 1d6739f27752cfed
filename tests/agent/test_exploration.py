"""The exploration floor of every allowed action: in `ask`, in `probabilities` and in the simulator."""

import itertools
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.policies import POLICIES, Setting, make_policy
from lpbandits.rewards import Rewards
from lpbandits.simulation import rollout, simulate
from lpbandits.worlds import ReplayWorld, SyntheticWorld
from tests.conftest import CASES, ON_DUELS, SOME_RATINGS, Case, agent_after, model_for, population_for
from tests.simulation.agents import assert_equals_agents

FLOOR = 0.06
GAUSSIAN = [case for case in CASES if case.kind == "gaussian"]
HISTORY = [(0, 1.0), (3, 0.0), (0, 1.5), (5, 2.0)]


@pytest.mark.parametrize("allowed", [None, [1, 2, 3, 5], [4]], ids=str)
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_every_allowed_action_has_the_floor_plus_its_share_of_the_rest(case: Case, allowed: list[int] | None) -> None:
    floored, free = (
        agent_after(case.policy().exploring(floor), HISTORY).probabilities(allowed) for floor in (FLOOR, 0.0)
    )
    actions = list(range(6)) if allowed is None else allowed
    np.testing.assert_allclose(floored[actions], FLOOR + (1 - FLOOR * len(actions)) * free[actions], rtol=1e-12)
    np.testing.assert_array_equal(np.delete(floored, actions), 0.0)


@pytest.mark.parametrize("offered", [False, True], ids=["all", "offered"])
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_the_simulator_explores_as_the_agent(case: Case, offered: bool) -> None:
    model = model_for(case.rewards, m=3, k=6)
    rng = np.random.default_rng(0)
    sets = np.sort(rng.permuted(np.tile(np.arange(6), (3, 20, 1)), axis=2)[:, :, :4], axis=2) if offered else None
    people = population_for(model, case.rewards, people=1, offered=sets)
    assert_equals_agents(case.policy(model).exploring(0.1), people, 20)


@pytest.mark.parametrize("name", ["popular", "ts-top"])
def test_exploration_without_replacement(name: str) -> None:
    world = ReplayWorld(model_for(Rewards()), np.tile(SOME_RATINGS, (20, 1)), least=3)
    people = world.draw(people=100, seed=0)
    policy = make_policy(name, Setting(people.model, people.rewards)).exploring(0.15)
    assert_equals_agents(policy, people, 3)


@pytest.mark.parametrize("name", ON_DUELS)
def test_both_actions_of_a_duel_have_the_floor(name: str) -> None:
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


def test_a_floor_above_its_limit_is_an_error() -> None:
    model = model_for(Rewards())
    for explore in (-0.1, 1.5, float("nan")):
        with pytest.raises(InvalidInput, match=f"explore.*{explore}"):
            lpb.LpbTS(model, explore=explore)
    agent = Agent(lpb.LpbTS(model, explore=0.2), seed=0)
    match = r"explore.*0\.167.*got 0\.2"
    for method in (agent.ask, agent.probabilities):
        with pytest.raises(InvalidInput, match=match):
            method()
    assert agent.asked == 0
    assert agent.ask([0, 1, 2, 3, 4]) in range(5)
    with pytest.raises(InvalidInput, match=match):
        rollout(agent.policy, population_for(model, Rewards()), rounds=3, seed=0)
    with pytest.raises(InvalidInput, match=r"explore.*10 allowed actions, got 0\.3"):
        simulate(SyntheticWorld(), ["lpbts"], explore=0.3, people=1, rounds=2)


@pytest.mark.parametrize("name", POLICIES)
def test_every_named_policy_accepts_and_saves_a_floor(name: str) -> None:
    plain = make_policy(name, Setting(model_for(Rewards()), Rewards()))
    cls: Any = type(plain)
    policy = cls(plain.model, explore=FLOOR)
    assert policy.explore == FLOOR
    assert policy.to_dict()["explore"] == FLOOR
    assert "explore" not in plain.to_dict()
    agent = Agent(policy, seed=3)
    restored = Agent.from_json(agent.to_json())
    assert restored.policy == policy != cls(plain.model)
    plays = [(twin.ask_pair() if policy.feedback == "duels" else twin.ask()) for twin in (agent, restored)]
    assert plays[0] == plays[1]
    assert policy.with_model(model_for(Rewards(), m=2, k=3)).explore == FLOOR


def test_simulate_gives_every_policy_the_floor() -> None:
    world = SyntheticWorld(states=3, actions=4)
    results = simulate(world, ["lpbts", "ts-top"], people=100, rounds=30, explore=0.1, traces=True)
    assert results.settings["explore"] == 0.1
    for name in ("lpbts", "ts-top"):
        trace = results[name].trace
        assert trace is not None
        shares = np.bincount(trace.actions.ravel(), minlength=4) / trace.actions.size
        assert np.all(shares > 0.1 - 4 * np.sqrt(0.1 * 0.9 / trace.actions.size))  # four standard errors
    with_floor = {"mine": lambda s: lpb.LpbTS(s.model, explore=0.2)}  # which takes precedence
    one, other = (simulate(world, with_floor, people=5, rounds=5, explore=explore) for explore in (0.1, 0.0))
    np.testing.assert_array_equal(one["mine"].regret.mean, other["mine"].regret.mean)
