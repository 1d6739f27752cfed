"""lpb-order-ucb: which states are dropped, which actions are candidates, and regret against ucb-top."""

import math

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from tests import naive
from tests.conftest import agent_after
from tests.policies.test_rules import draw_at


@pytest.mark.parametrize(("factor", "left"), [(0.999, [0.5, 0.5]), (1.001, [0.0, 1.0])])
def test_a_state_is_dropped_if_bounds_contradict_one_of_its_pairs(factor: float, left: list[float]) -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    width = 2 * 0.5 * math.sqrt(2 * math.log(3))  # both bounds after two rounds, with noise 0.5
    agent = agent_after(lpb.LpbOrderUcb(model, noise=0.5), [(1, 7.0), (2, 7.0 + factor * width)])
    assert agent.posterior.tolist() == left
    assert agent.ask() == (0 if left[0] else 2)  # the best action of state 0 is untried


def test_without_a_possible_state_all_return_and_the_policy_plays_as_ucb_top() -> None:
    model = PreferenceModel([[0, 1, 2], [0, 2, 1], [1, 0, 2]], prior=[0.5, 0.5, 0.0])
    history = [(0, 0.0), (1, 9.0), (2, 9.0), (0, 0.5)]
    agent = agent_after(lpb.LpbOrderUcb(model, noise=0.1), history)
    assert agent.posterior.tolist() == [0.5, 0.5, 0.0]
    assert agent.ask() == 0
    model = PreferenceModel([[0, 1, 2], [2, 0, 1]])
    history = [(0, 1.0), (1, 9.0), (2, 2.0)]
    agents = [agent_after(policy, history) for policy in (lpb.LpbOrderUcb(model), lpb.UCB(model, top=True))]
    assert [agent.ask() for agent in agents] == [2, 2]


@pytest.mark.parametrize("tiers", [False, True])
def test_plays_equal_the_twin_with_some_states_and_with_none_left(tiers: bool) -> None:
    """With little noise most histories drop states; those of random rewards often drop all."""
    left: dict[str, int] = {"all": 0, "some": 0, "none": 0}
    for seed in range(150):
        rng = np.random.default_rng([seed, 8])
        rows = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]
        sizes = [[1, 2, 1], [2, 1, 1], [1, 1, 2]] if tiers else None
        model = PreferenceModel(rows, tiers=sizes, prior=[0.5, 0.3, 0.2])
        truth = -rng.permutation(model.ranks[rng.integers(3)]) if seed % 2 else -model.ranks[rng.integers(3)]
        actions = rng.integers(0, 4, rng.integers(1, 12)).tolist()
        history = [(a, float(truth[a] + 0.1 * rng.normal())) for a in actions]
        policy = lpb.LpbOrderUcb(model, noise=0.1)
        agent = agent_after(policy, history)
        np.testing.assert_array_equal(agent.posterior, naive.order_bounds(model.ranks, model.prior, history, 0.1))
        allowed = sorted(rng.permutation(4)[: rng.integers(1, 5)].tolist())
        assert agent.ask(allowed) in naive.actions_of(policy, "gaussian", history, allowed, draw_at(0, 0, 0))
        scores = agent.belief.states[layout.SCORE]
        left["none" if (scores < 0).all() else "all" if (scores == 0).all() else "some"] += 1
    assert min(left.values()) > 10


def test_untried_actions_come_first_in_the_order_of_the_prior() -> None:
    model = PreferenceModel([[0, 1, 2], [1, 2, 0], [2, 0, 1]], prior=[0.2, 0.5, 0.3])
    agent, plays = lpb.Agent(lpb.LpbOrderUcb(model), seed=1), []
    for _ in range(3):
        plays.append(agent.ask())
        agent.tell(plays[-1], 1.0)
    assert plays == [1, 2, 0]
    assert lpb.Agent(lpb.LpbOrderUcb(model), seed=1).ask(allowed=[0, 2]) == 2
    np.testing.assert_array_equal(agent.probabilities(), np.eye(3)[int(agent.ask())])


def test_it_needs_a_known_noise_and_its_rule_needs_the_orderings() -> None:
    model = PreferenceModel([[0, 1], [1, 0]])
    with pytest.raises(InvalidInput, match=r"lpb-order-ucb needs a known noise"):
        lpb.LpbOrderUcb(model, rewards=lpb.Rewards(noise_known=False))
    with pytest.raises(InvalidInput, match=r"'order-optimism'.*'refit'.*'order-bounds'"):
        lpb.Policy(model, lpb.evidences.Refit(), lpb.rules.OrderOptimism())
    assert lpb.LpbOrderUcb(model, rewards="bernoulli").rewards.sd == 0.5


def test_it_has_less_regret_than_ucb_on_the_top_actions() -> None:
    draws = 8
    world = lpb.SyntheticWorld(states=10, actions=20, scale="different")
    results = lpb.simulate(world, ["ucb-top", "lpb-order-ucb"], people=5, draws=draws, seed=3)
    top, order = (results.policies[name].people["regret"].reshape(draws, -1).mean(axis=1) for name in results.policies)
    gain = top - order
    assert gain.mean() > 4 * gain.std(ddof=1) / math.sqrt(draws)  # four standard errors over draws
