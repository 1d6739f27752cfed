"""`probabilities()` is the exact probability of each action at the next ask."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.model import PreferenceModel
from tests.conftest import CASES, Case, Outcome, agent_after, model_for, models, outcomes_for

HISTORIES: dict[str, list[Outcome]] = {"new": [], "some": [(0, 1.0), (3, 0.0), (0, 1.0)]}
HISTORIES["all"] = [(a, float(a % 2)) for a in range(6)] + HISTORIES["some"]


def assert_frequencies(agent: Agent, allowed: list[int] | None, asks: int = 4000) -> None:
    """Compare the probabilities with the frequencies of asks: a χ² test at level 10⁻⁴.

    It is over the actions that can be expected 5 times; the rest must stay rare.
    """
    probability = agent.probabilities(allowed)
    np.testing.assert_allclose(probability.sum(), 1.0, rtol=1e-9)
    counts = np.bincount(np.array([agent.ask(allowed) for _ in range(asks)]), minlength=len(probability))
    common = probability * asks >= 5
    assert counts[probability == 0].sum() == 0
    expected = probability[common] * asks
    distance = float(((counts[common] - expected) ** 2 / expected).sum())
    assert distance <= stats.chi2.isf(1e-4, max(common.sum() - 1, 1))
    assert counts[~common].sum() <= 40


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_probabilities_sum_to_one_on_the_allowed_actions(case: Case, data: st.DataObject) -> None:
    model = data.draw(models())
    policy = case.policy(model, first=data.draw(st.sampled_from(["prior", "uniform"])))
    agent = agent_after(policy, data.draw(outcomes_for(model, case.kind, 10)))
    allowed = data.draw(st.lists(st.integers(0, model.n_actions - 1), min_size=1, unique=True))
    for offered in (None, allowed):
        probability = agent.probabilities(offered)
        assert probability.shape == (model.n_actions,)
        assert np.all(probability >= 0)
        np.testing.assert_allclose(probability.sum(), 1.0, rtol=1e-9)
        assert probability[model.index[agent.ask(offered)]] > 0
    np.testing.assert_array_equal(np.delete(agent.probabilities(allowed), allowed), 0.0)


@pytest.mark.parametrize(("first", "explore"), [("prior", 0.0), ("uniform", 0.0), ("prior", 0.06)])
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "gaussian"], ids=str)
def test_probabilities_match_the_frequency_of_ask(case: Case, history: str, first: str, explore: float) -> None:
    policy = case.policy(model_for(case.rewards), first=first).exploring(explore)
    agent = agent_after(policy, HISTORIES[history], seed=11)
    for allowed in (None, [1, 2, 3, 5]):
        assert_frequencies(agent, allowed)


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=4),
    st.lists(st.floats(-5, 5), min_size=1, max_size=4),
    st.floats(0.05, 5),
    st.floats(0.5, 200),
)
def test_thompson_between_two_actions_has_a_closed_form(
    one: list[float], other: list[float], noise: float, prior_sd: float
) -> None:
    policy = lpb.TS(PreferenceModel([[0, 1]]), noise=noise, prior_sd=prior_sd)
    agent = agent_after(policy, [(action, reward) for action, rewards in enumerate((one, other)) for reward in rewards])
    variance = 1 / (prior_sd**-2 + np.array([len(one), len(other)]) / noise**2)
    mean = variance * [sum(one), sum(other)] / noise**2
    exact = stats.norm.cdf((mean[0] - mean[1]) / np.sqrt(variance.sum()))
    np.testing.assert_allclose(agent.probabilities(), [exact, 1 - exact], atol=1e-8)


@pytest.mark.parametrize(("noise", "step", "share"), [(1e-9, 0.125, 1.0), (1e-3, 0.0, 0.5)])
def test_thompson_keeps_small_differences_of_large_rewards(noise: float, step: float, share: float) -> None:
    policy = lpb.TS(PreferenceModel([[0, 1, 2]]), noise=noise)
    agent = agent_after(policy, [(0, 1e15), (1, 1e15 + step)] * 3)
    np.testing.assert_allclose(agent.probabilities([0, 1]), [1 - share, share, 0.0], atol=1e-9)
    frequency = np.mean([agent.ask([0, 1]) == 1 for _ in range(2000)])
    assert abs(frequency - share) <= 4 * np.sqrt(share * (1 - share) / 2000)  # 4 standard errors


def test_a_belief_of_another_policy_has_no_probabilities() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    policy, other = lpb.LpbTS(model), lpb.TS(model)
    for use in (policy.arrays, policy.expected, policy.predictive_sd):
        for belief in (other.new_belief(), "belief", None):
            with pytest.raises(lpb.InvalidInput, match="belief"):
                use(belief)  # type: ignore[arg-type] # that is the point


def test_thompson_with_many_actions_equals_simulation() -> None:
    policy = lpb.TS(PreferenceModel([list(range(8))]), noise=1.0, prior_sd=3.0)
    rewards_of = {0: [2.0, 3.5], 1: [4.0], 2: [1.0, 1.5, 0.5]}
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((400_000, 8)) * 3.0
    for action, rewards in rewards_of.items():
        precision = 1 / 9 + len(rewards)
        draws[:, action] = sum(rewards) / precision + draws[:, action] / 3.0 / np.sqrt(precision)
    history = [(action, reward) for action, rewards in rewards_of.items() for reward in rewards]
    probability = agent_after(policy, history).probabilities()
    frequency = np.bincount(draws.argmax(axis=1), minlength=8) / len(draws)
    # 4 standard errors
    assert np.all(np.abs(frequency - probability) <= 4 * np.sqrt(probability * (1 - probability) / len(draws)))


def test_thompson_stays_exact_with_thousands_of_untried_actions() -> None:
    k = 8777
    agent = Agent(lpb.TS(PreferenceModel([list(range(k))]), noise=1.0, prior_sd=10.0), seed=0)
    agent.tell(5, 37.0)
    precision = 1 / 100 + 1
    # P(tried beats the largest of k - 1) = E Φ(x / 10)^(k - 1) with x from the tried action's posterior
    x, weight = np.polynomial.hermite_e.hermegauss(200)
    value = 37.0 / precision + x / np.sqrt(precision)
    exact = np.exp((k - 1) * stats.norm.logcdf(value / 10.0)) @ weight / weight.sum()
    probability = agent.probabilities()
    np.testing.assert_allclose(probability[5], exact, rtol=1e-6)
    np.testing.assert_allclose(np.delete(probability, 5), (1 - exact) / (k - 1), rtol=1e-6)


@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "gaussian"], ids=str)
def test_rules_of_best_actions_play_no_others(case: Case) -> None:
    model = PreferenceModel([[0, 1, 2, 3], [0, 3, 2, 1]], means=[[4.0, 3, 2, 1], [4, 1, 2, 3]])
    agent = Agent(case.policy(model), seed=0)
    if agent.policy.rule.top or agent.policy.rule.kind in ("sample", "optimism"):
        assert set(np.flatnonzero(agent.probabilities())) == {0}
        assert set(np.flatnonzero(agent.probabilities([1, 2, 3]))) <= {1, 3}
    elif agent.policy.rule.kind in ("any", "thompson", "upper-bound"):
        assert np.all(agent.probabilities() > 0)
