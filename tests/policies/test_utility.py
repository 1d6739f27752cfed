"""Approximate utilities and information-directed sampling: twins, invariances and regret."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy
from lpbandits.policies.rules.ids import GAP, INFORMATION, best_mix
from lpbandits.simulation import simulate
from lpbandits.worlds import SyntheticWorld
from tests import naive
from tests.conftest import Outcome, agent_after, models, outcomes_for

GRID = st.integers(0, 200).map(lambda x: x / 20) | st.floats(1e-6, 10)


@st.composite
def fitted(draw: st.DrawFn) -> PreferenceModel:
    """Make models as a fit writes them: utilities, their errors, and orderings that follow from the utilities."""
    m, k = draw(st.integers(1, 4)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    utilities = rng.uniform(0.05, 0.95, (min(m, k), k))  # so few are hardly ever ordered alike
    m = len(np.unique(np.argsort(-utilities, axis=1), axis=0))
    utilities = utilities[:1] if m < len(utilities) else utilities
    m = len(utilities)
    return PreferenceModel(
        np.argsort(-utilities, axis=1),
        utilities=utilities,
        errors=rng.uniform(0, 1, (m, k)),
        prior=rng.dirichlet([2] * m),
    )


@pytest.mark.jitless
@given(st.data(), st.floats(0, 0.1), st.floats(0, 1))
def test_posterior_and_expectations_of_a_fitted_model_equal_the_twin(
    data: st.DataObject, slack: float, isotonic: float
) -> None:
    model = data.draw(fitted())
    history: list[Outcome] = data.draw(outcomes_for(model, "gaussian", 12))
    policy = lpb.LpbUtility(model, noise=0.7, slack=slack + 1e-6, isotonic=isotonic)
    agent = agent_after(policy, history)
    posterior = naive.posterior_of(policy, "unknown-noise", history)
    np.testing.assert_allclose(agent.posterior, posterior, rtol=1e-6, atol=1e-9)
    for z, row in enumerate(lpb.expected(policy, agent.belief)):
        np.testing.assert_allclose(row, naive.expected_of(policy, history, z), rtol=1e-7, atol=1e-7)
    sd = naive.utility_of(policy, history).doubts()
    np.testing.assert_allclose(policy.predictive_sd(agent.belief), sd, rtol=1e-7, atol=1e-12)


@pytest.mark.jitless
@given(st.lists(st.tuples(GRID, GRID), min_size=1, max_size=8))
def test_no_mix_of_two_actions_is_better_than_best_mix(points: list[tuple[float, float]]) -> None:
    work = np.zeros((INFORMATION + 1, len(points)))
    work[GAP], work[INFORMATION] = np.array(points).T
    first, last, share = best_mix(work, len(points))
    one, other = (np.array(ends).T[:, :, None] for ends in zip(*itertools.product(points, repeat=2), strict=True))
    shares = np.linspace(0, 1, 201)
    gaps, informations = (1 - shares) * one + shares * other
    informative = informations > 0
    least = np.min(gaps[informative] ** 2 / informations[informative], initial=np.inf)
    if np.isfinite(least) and np.all(gaps > 0):
        gap, information = (1 - share) * np.array(points[first]) + share * np.array(points[last])
        assert gap**2 <= information * (least * (1 + 1e-9) + 1e-12)
    else:
        assert points[first][0] == min(gap for gap, _ in points), (
            "a gap of 0 is best; without information, the smallest"
        )


@pytest.mark.parametrize("factor", [1e-3, 1e4])
@given(data=st.data())
def test_with_unknown_noise_the_posterior_ignores_the_unit_of_rewards(data: st.DataObject, factor: float) -> None:
    model = data.draw(models())
    history: list[Outcome] = data.draw(outcomes_for(model, "gaussian", 12))
    one = agent_after(lpb.LpbIDS(model), history)
    other = agent_after(lpb.LpbIDS(model), [(action, reward * factor) for action, reward in history])
    if len({reward for _, reward in history}) > 1:
        np.testing.assert_allclose(one.posterior, other.posterior, rtol=1e-6, atol=1e-9)


def test_a_best_action_with_low_rewards_is_abandoned() -> None:
    model = PreferenceModel([list(range(6))])
    history = ((0, 0.0), (1, 5.0), (0, 0.1), (1, 5.1), (2, 4.0), (0, 0.0), (1, 4.9))
    assert agent_after(lpb.LpbUtility(model), history).ask() == 1
    assert agent_after(lpb.LpbTS(model), history).ask() == 0


@pytest.mark.parametrize(
    ("world", "most"),
    [
        (SyntheticWorld(states=5, actions=10, scale="different"), 0.68),
        (SyntheticWorld(states=10, actions=20, scale="different", gaps="cliff"), 0.75),
        (SyntheticWorld(states=10, actions=20, scale="different", assumed_noise=0.5), 0.8),
        (SyntheticWorld(states=10, actions=20, scale="different", model_error=0.1), 0.7),
        (SyntheticWorld(states=10, actions=20, scale="different", gap=1.0), 0.9),
        (SyntheticWorld(states=10, actions=20, scale="different", noise=0.1), 0.9),
    ],
    ids=["paper", "cliff", "half the noise", "wrong model", "wide gaps", "little noise"],
)
def test_information_directed_sampling_has_less_regret_than_lpbts(world: SyntheticWorld, most: float) -> None:
    # six draws of 20 people a state: the ratio's standard error is about 0.03 (0.05 with a wrong model)
    results = simulate(world, ["lpbts", "lpb-ids"], people=20, draws=6, seed=31)
    assert results["lpb-ids"].regret.mean[-1] < most * results["lpbts"].regret.mean[-1]


@pytest.mark.parametrize("size", [(20, 20), (40, 8)], ids=str)
def test_relabelling_actions_relabels_the_probabilities(size: tuple[int, int]) -> None:
    model = SyntheticWorld(states=size[0], actions=size[1]).draw(people=1, seed=3).model
    k = model.n_actions
    rng = np.random.default_rng(1)
    for _ in range(20):
        new_name = rng.permutation(k)
        one = Agent(lpb.LpbIDS(model), seed=0)
        other = Agent(lpb.LpbIDS(PreferenceModel(new_name[model.orderings])), seed=0)
        for action, reward in zip(rng.integers(0, k, 10).tolist(), rng.normal(size=10).tolist(), strict=True):
            one.tell(action, reward)
            other.tell(int(new_name[action]), reward)
        np.testing.assert_allclose(other.probabilities()[new_name], one.probabilities(), atol=1e-6)


def test_more_than_a_thousand_equally_probable_states() -> None:
    orderings = np.array(list(itertools.islice(itertools.permutations(range(7)), 0, 5000, 4)))
    agent = Agent(lpb.LpbIDS(PreferenceModel(orderings)), seed=0)
    assert len(orderings) > 1000
    np.testing.assert_allclose(agent.probabilities().sum(), 1.0)
    for action in range(6):
        agent.tell(action, float(action))
    assert agent.ask() in (5, 6)
    assert agent.probabilities()[[5, 6]].sum() > 0.99


def test_explanations_are_sorted_by_expected_reward() -> None:
    agent = agent_after(lpb.LpbUtility(PreferenceModel([[0, 1, 2]])), ((0, 0.0), (2, 5.0), (0, 0.2), (2, 4.8)) * 2)
    state = agent.explain().states[0]
    assert state.blocks == ((2,), (0,))
    assert state.intervals == {}


def test_a_greedy_agent_warns_when_it_repeats_an_action() -> None:
    policy = Policy(PreferenceModel([[0, 1, 2]]), lpb.evidences.Utility(), lpb.rules.Greedy())
    agent = agent_after(policy, [(0, 9.0)])
    with pytest.warns(lpb.errors.LockInWarning, match=r"plays 0 again.*ask\(allowed=…\)"):
        agent.ask()
    assert agent.ask(allowed=[1, 2]) == 1
