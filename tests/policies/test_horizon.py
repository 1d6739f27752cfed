"""Planning for a known number of rounds: the choice against its twin, and regret."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.model import PreferenceModel
from lpbandits.policies.rules import knowledge_gradient as kg
from lpbandits.simulation import simulate
from lpbandits.worlds import SyntheticWorld
from tests import naive
from tests.conftest import Outcome, agent_after
from tests.policies.test_rules import draw_at


def some_model(rng: np.random.Generator, states: int, actions: int) -> PreferenceModel:
    """Return a model with random orderings and prior, and utilities with errors every other time."""
    orderings = np.unique(np.argsort(rng.random((states, actions)), axis=1), axis=0)
    states = len(orderings)
    model = PreferenceModel(orderings, prior=rng.dirichlet(np.full(states, 2.0)))
    if rng.random() < 0.5:
        return model
    utilities = np.empty((states, actions))
    descending = np.sort(rng.uniform(0.05, 0.95, (states, actions)), axis=1)[:, ::-1]
    np.put_along_axis(utilities, orderings, descending, axis=1)
    return model.replace(utilities=utilities, errors=rng.uniform(0.0, 0.6, (states, actions)))


@pytest.mark.jitless
@pytest.mark.parametrize("shape", [(3, 6), (5, 10), (30, 25)], ids=str)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), rounds=st.integers(1, 40))
def test_the_plan_equals_its_twin(shape: tuple[int, int], seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    model = some_model(rng, *shape)
    scale, level = rng.choice([0.01, 1.0, 30.0]), rng.choice([0.0, 50.0])
    policy = lpb.LpbHorizon(model, rounds=rounds, noise=scale)
    true = level + 3 * scale * (1 - model.ranks[0] / shape[1])
    tried = rng.choice(rng.choice(shape[1], 4), rng.integers(0, min(rounds + 2, 12)))
    history: list[Outcome] = [(int(a), float(true[a] + scale * rng.normal())) for a in tried]
    allowed = sorted(rng.choice(shape[1], rng.integers(2, shape[1] + 1), replace=False).tolist())
    twin = naive.actions_of(policy, "unknown-noise", history, allowed, draw_at(0, 0, 0))
    agent = agent_after(policy, history)
    assert agent.ask(allowed) in twin
    assert agent.probabilities(allowed).max() == 1.0


@pytest.mark.jitless
@given(seed=st.integers(0, 2**32))
def test_goals_and_promises_equal_their_formulas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = some_model(rng, 4, 7)
    agent = agent_after(lpb.LpbHorizon(model), [(a, float(rng.normal())) for a in (0, 2, 0)])
    b, everything = agent.policy.arrays(agent.belief), np.empty(0, dtype=np.int64)
    means, weights, sd = rng.normal(size=(3, 7)), rng.dirichlet([1, 1, 1]), rng.uniform(0, 1, 7)
    b.work[kg.EXPECTED : kg.EXPECTED + 3, :7] = means
    b.work[kg.WEIGHT, :3] = 5 * weights
    b.work[kg.MEAN, :7], b.work[kg.SD, :7] = weights @ means, sd
    best = int((weights @ means).argmax())
    goals, gain = kg.set_goals(b, everything, 3, best)
    assert b.work[kg.GOAL, 0] == best
    assert set(b.work[kg.GOAL, :goals]) == {best, *means.argmax(axis=1)}
    assert gain == pytest.approx(weights @ (means.max(axis=1) - means[:, best]))
    kg.set_promise(b, everything, 3, 2.0, 0.7)
    spread = weights @ (means - weights @ means) ** 2 + sd**2
    np.testing.assert_allclose(b.work[kg.PROMISE, :7], weights @ means + 2 * np.sqrt(spread / (spread + 0.7)))


@pytest.mark.parametrize("shape", [(3, 6), (5, 10), (10, 20)], ids=str)
@pytest.mark.parametrize("rounds", [5, 20])
def test_it_has_less_regret_in_few_rounds(shape: tuple[int, int], rounds: int) -> None:
    # by 2 standard errors of the ratio of means over draws; it is expected below 0.95, and 1.0 for popular at 5 rounds
    states, actions = shape
    world = SyntheticWorld(states=states, actions=actions, scale="different")
    results = simulate(world, ["lpb-horizon", "lpb-ids", "popular"], people=6, rounds=rounds, draws=60, seed=41)
    assert results["lpb-horizon"].regret.mean[-1] < 0.97 * results["lpb-ids"].regret.mean[-1]
    assert results["lpb-horizon"].regret.mean[-1] < results["popular"].regret.mean[-1]


@pytest.mark.parametrize("tied", [1, 6])
@pytest.mark.parametrize("seed", range(6))
def test_labels_of_states_and_actions_do_not_matter(tied: int, seed: int) -> None:
    """With 60 states, more than plans use, nearly equally probable, or in groups of six equal ones."""
    rng = np.random.default_rng(seed)
    orderings = np.argsort(rng.random((60, 12)), axis=1)
    descending = np.sort(rng.uniform(0.05, 0.95, (60, 12)), axis=1)[:, ::-1]
    ranks = np.argsort(orderings, axis=1)
    utilities, errors = np.take_along_axis(descending, ranks, axis=1), rng.uniform(0.0, 0.6, (60, 12))
    prior = np.repeat(rng.dirichlet(np.full(60 // tied, 300.0)), tied) / tied
    model = PreferenceModel(orderings, prior=prior, utilities=utilities, errors=errors)
    states, name = rng.permutation(60), rng.permutation(12)
    arrays: dict[str, Any] = {
        key: one[states][:, np.argsort(name)] for key, one in (("utilities", utilities), ("errors", errors))
    }
    other = PreferenceModel(name[orderings[states]], prior=prior[states], **arrays)
    told: list[Outcome] = []
    for reward in (5.0, *rng.normal(4.5, 0.5, 5)):
        action = int(agent_after(lpb.LpbHorizon(model, rounds=30), told).ask())
        renamed = [(int(name[a]), r) for a, r in told]
        assert agent_after(lpb.LpbHorizon(other, rounds=30), renamed).ask() == name[action]
        told.append((action, float(reward)))


def test_it_starts_as_popular_and_ends_greedily() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0], [1, 2, 0]], prior=[0.5, 0.3, 0.2])
    for rounds in (1, 5, 100):
        assert agent_after(lpb.LpbHorizon(model, rounds=rounds), []).ask() == agent_after(lpb.Popular(model), []).ask()
    told = [(0, 3.0), (1, 2.9), (0, 3.1)]
    greedy = lpb.Policy(model, lpb.evidences.Utility(lpb.Rewards(noise_known=False), isotonic=0.25), lpb.rules.Greedy())
    assert agent_after(lpb.LpbHorizon(model, rounds=4), told).ask() == agent_after(greedy, told).ask()


def test_beyond_the_plan_it_plans_for_half_as_many_rounds_again() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.6, 0.4])
    for told, planned in (([(0, 3.0)], 3), ([(0, 3.0)] * 8, 12), ([(0, 3.0), (2, 2.5), (2, 3.1)], 5)):
        beyond = agent_after(lpb.LpbHorizon(model, rounds=1), told).ask()
        assert beyond == agent_after(lpb.LpbHorizon(model, rounds=planned), told).ask()


def test_more_rounds_are_worth_a_try() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.6, 0.4])
    told = [(0, 3.0)]
    asked = [agent_after(lpb.LpbHorizon(model, rounds=rounds), told).ask() for rounds in (2, 10)]
    assert asked == [0, 2]
