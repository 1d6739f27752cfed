"""P(best) against its slow twin, its invariances, and its calibration in simulated worlds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.kernels.layout import POSTERIOR
from lpbandits.model import PreferenceModel
from lpbandits.policies.best import judge_of, judged, plausible_orderings
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray
from tests import naive
from tests.conftest import Outcome, agent_after, models, outcomes_for
from tests.naive_best import BEYOND, GapsTwin

pytestmark = pytest.mark.xdist_group("best")  # one process compiles it

MODEL = PreferenceModel([[0, 1, 2], [2, 1, 0], [1, 2, 0]], prior=[0.5, 0.3, 0.2])
HISTORY: list[Outcome] = [(2, 4.5), (1, 3.0), (0, 1.0), (2, 2.75)]


def chances(agent: Agent, allowed: list[int] | None = None) -> FloatArray:
    """Return P(best) of every action."""
    judge = judge_of(agent.policy)
    return judge.rule.probabilities(judge, judged(judge, agent.belief, agent.policy.model), judge.indices(allowed))


def noise_of(kind: str, history: list[Outcome], weight: float) -> float:
    if kind == "bernoulli":
        return 0.5
    if kind == "poisson":
        rewards = [reward for _, reward in history]
        return float(np.sqrt(max(sum(rewards), 1.0) / len(rewards)))
    return 0.7 if kind == "gaussian" else naive.pooled_noise(history, 0.7, weight)


REWARDS = {
    "gaussian": lpb.Rewards(noise=0.7),
    "unknown-noise": lpb.Rewards(noise=0.7, noise_known=False),
    "bernoulli": lpb.Rewards("bernoulli"),
    "poisson": lpb.Rewards("poisson"),
}


@pytest.mark.parametrize("kind", REWARDS)
@settings(max_examples=15)
@given(data=st.data())
def test_posterior_of_orderings_equals_its_twin(kind: str, data: st.DataObject) -> None:
    model = data.draw(models(max_states=3))
    history = data.draw(outcomes_for(model, "gaussian" if kind == "unknown-noise" else kind, 8))
    policy = lpb.LpbTS(model, rewards=REWARDS[kind])
    belief = judged(judge_of(policy), agent_after(policy, history).belief, policy.model)
    noise = noise_of(kind, history, REWARDS[kind].weight) if history else 1.0
    twin = GapsTwin(history, noise, model.n_actions)
    expected = twin.posterior(model.orderings, model.prior)
    np.testing.assert_allclose(belief.states[POSTERIOR], expected, rtol=1e-5, atol=1e-4)  # skips hopeless orderings


@settings(max_examples=15)
@given(data=st.data())
def test_expected_mean_and_interval_equal_their_twin(data: st.DataObject) -> None:
    model = data.draw(models(max_states=3))
    history = data.draw(outcomes_for(model, "gaussian", 8).filter(bool))
    agent = agent_after(lpb.LpbTS(model, noise=0.7), history)
    best = agent.best()
    orders = GapsTwin(history, 0.7, model.n_actions).posterior(model.orderings, model.prior)
    twin = GapsTwin(history, 0.7, model.n_actions, BEYOND)
    mean, distribution = twin.mean_of(model.orderings, orders, model.index[best.action])
    width = twin.grid[1] - twin.grid[0]
    np.testing.assert_allclose(best.expected, mean, atol=0.02 * width)
    for value, quantile in ((best.low, 0.1), (best.high, 0.9)):
        np.testing.assert_allclose(np.interp(value, twin.grid, distribution), quantile, atol=2e-3)


def test_the_unit_of_gaps_grows_with_means_that_are_far_apart() -> None:
    history: list[Outcome] = [(1, 5.0), (0, 1.0)]
    agent = agent_after(lpb.LpbTS(MODEL, noise=0.05), history)
    twin = GapsTwin(history, 0.05, 3).posterior(MODEL.orderings, MODEL.prior)
    np.testing.assert_allclose(chances(agent)[[2, 1]], twin[1:], rtol=1e-6)


def test_it_depends_on_the_rewards_and_not_on_the_policy() -> None:
    model = MODEL.replace(means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    policies = [
        lpb.LpbTS(model, noise=1.0),
        lpb.LpbTS(model, noise=1.0, likelihood="marginal"),
        lpb.LpbTS(model, noise=1.0, likelihood="incremental"),
        lpb.MTS(model, noise=1.0),
        lpb.MUCB(model, noise=1.0),
        lpb.LpbIDS(model, noise=1.0, noise_known=True),
        lpb.LpbPaired(model, rewards=lpb.Rewards(noise=1.0)),
    ]
    results = [agent_after(policy, HISTORY).best() for policy in policies]
    assert all(result == results[0] for result in results)
    assert agent_after(policies[0], HISTORY[::-1]).best().probability == pytest.approx(results[0].probability, rel=1e-9)


@given(offset=st.sampled_from([0.0, -40.0, 1e6]), factor=st.sampled_from([0.01, 1.0, 1000.0]))
def test_level_and_unit_of_rewards_do_not_matter(offset: float, factor: float) -> None:
    one = agent_after(lpb.LpbTS(MODEL, noise=1.0), HISTORY).best()
    moved = [(action, factor * (reward + offset)) for action, reward in HISTORY]
    other = agent_after(lpb.LpbTS(MODEL, noise=factor), moved).best()
    assert (other.action, other.runner_up) == (one.action, one.runner_up)
    np.testing.assert_allclose(other.probability, one.probability, rtol=1e-6)
    numbers = ([result.expected, result.low, result.high] for result in (one, other))
    expected, got = map(np.array, numbers)
    np.testing.assert_allclose(got / factor - offset, expected, atol=1e-6)


def test_allowed_actions_and_runner_up() -> None:
    agent = agent_after(lpb.LpbTS(MODEL, noise=1.0), HISTORY)
    every, some, one = agent.best(), agent.best([0, 1]), agent.best([1])
    assert (every.action, every.runner_up) == (2, 1)
    np.testing.assert_allclose(chances(agent).sum(), 1.0)
    np.testing.assert_allclose(some.probability + some.runner_up_probability, 1.0)
    assert (one.action, one.probability, one.runner_up, one.runner_up_probability) == (1, 1.0, None, 0.0)
    assert every.low < every.expected < every.high
    with pytest.raises(InvalidInput, match="unknown action 'x'"):
        agent.best(["x"])


def test_without_outcomes_it_is_the_prior_and_no_mean_is_known() -> None:
    best = Agent(lpb.LpbTS(MODEL), seed=1).best()
    assert (best.action, best.probability, best.runner_up, best.runner_up_probability) == (0, 0.5, 2, 0.3)
    assert np.isnan([best.expected, best.low, best.high]).all()


@pytest.mark.parametrize("policy", [lpb.TS(MODEL), lpb.LpbDuel(MODEL), lpb.Popular(MODEL)])
def test_policies_without_states_or_rewards_have_none(policy: lpb.Policy) -> None:
    with pytest.raises(NotSupported, match=type(policy).__name__):
        Agent(policy, seed=1).best()


def test_errors_give_several_plausible_orderings_and_tiers_are_refused() -> None:
    utilities = np.array([[0.7, 0.6, 0.2], [0.1, 0.4, 0.8]])
    orderings = [[0, 1, 2], [2, 1, 0]]
    for size, certain in ((0.0, True), (0.3, False)):
        model = PreferenceModel(orderings, utilities=utilities, errors=np.full((2, 3), size))
        rows, shares = plausible_orderings(model)
        np.testing.assert_allclose(shares.sum(axis=0), 1.0)
        weights = shares @ model.prior
        assert (len(rows) == 2) == certain
    # utilities differ by log(0.7/0.3) − log(0.6/0.4) = 0.442 with twice an error of 0.3 √2, so 0.30 of people prefer 1
    swapped = weights[(rows[:, 0] == 1)].sum()
    assert 0.5 * 0.2 < swapped < 0.5 * 0.4
    tiered = PreferenceModel([["a", ["b", "c"]], [["a", "b"], "c"]])
    with pytest.raises(NotSupported, match="tiers"):
        Agent(lpb.LpbTS(tiered), seed=1).best()


def test_intervals_stay_within_the_range_of_rewards() -> None:
    stars = MODEL.replace(reward_range=(1.0, 5.0))
    for policy, reward in ((lpb.LpbTS(stars, noise=1.0), 5.0), (lpb.LpbTS(MODEL, rewards="bernoulli"), 1.0)):
        agent = Agent(policy, seed=1)
        agent.tell(0, reward)
        assert agent.best().high <= reward
    count = Agent(lpb.LpbTS(MODEL, rewards="poisson"), seed=1)
    count.tell(0, 0.0)
    assert count.best().low >= 0.0


def test_a_personal_prior_changes_the_probabilities_as_that_of_the_model_does() -> None:
    utilities, errors = np.array([[0.7, 0.6, 0.2], [0.1, 0.4, 0.8]]), np.full((2, 3), 0.3)
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]], utilities=utilities, errors=errors)
    personal = Agent(lpb.LpbTS(model, noise=1.0), seed=1, prior=[0.9, 0.1])
    other = Agent(lpb.LpbTS(model.replace(prior=[0.9, 0.1]), noise=1.0), seed=1)
    for agent in (personal, other):
        agent.tell(1, 2.0)
        agent.tell(2, 1.0)
    np.testing.assert_allclose(chances(personal), chances(other), rtol=1e-12)
    assert abs(chances(personal)[0] - chances(Agent(lpb.LpbTS(model, noise=1.0), seed=1))[0]) > 0.1


def test_lower_rewards_are_better_if_the_model_says_so() -> None:
    plain, turned = MODEL, MODEL.replace(lower_is_better=True)
    ours, theirs = Agent(lpb.LpbTS(plain, noise=0.7), seed=1), Agent(lpb.LpbTS(turned, noise=0.7), seed=1)
    for action, reward in HISTORY:
        ours.tell(action, reward)
        theirs.tell(action, -reward)
    one, other = ours.best(), theirs.best()
    assert (one.action, one.probability) == (other.action, other.probability)
    assert (one.expected, one.low, one.high) == (-other.expected, -other.high, -other.low)
    assert other.low < other.expected < other.high


@pytest.mark.parametrize("noise", [1e-50, 1e-3, 1e3, 1e100])
def test_extreme_rewards_give_probabilities(noise: float) -> None:
    agent = Agent(lpb.LpbTS(MODEL, noise=noise), seed=1)
    for action, reward in [(0, 1e100), (1, -1e100), (2, 0.0), (0, 1e-300), (0, 1e100)]:
        agent.tell(action, reward)
        best = agent.best()
        assert 0.0 < best.probability <= 1.0
        assert np.isfinite([best.expected, best.low, best.high]).all()


def claims(posterior: Any, *, seed: int = 5) -> tuple[float, float]:
    """Return claim − share right of the probably best actions after 15 rounds, and its standard error.

    They are those of people with gaps of 1 or 0.02, played by lpb-ids.
    """
    gaps = []
    for draw in range(8):
        people = lpb.SyntheticWorld(states=5, actions=10, scale="different", gaps="steps").draw(
            people=12, seed=seed, draw=draw
        )
        policy = lpb.LpbIDS(people.model, noise=1.0, noise_known=True)
        trace = rollout(policy, people, rounds=15, seed=seed, first_person=60 * draw)
        for person, means in enumerate(people.means):
            history = zip(trace.actions[person].tolist(), trace.rewards[person].tolist(), strict=True)
            chance = posterior(people.model, list(history))
            gaps.append(chance.max() - (means[chance.argmax()] == means.max()))
    return float(np.mean(gaps)), float(np.std(gaps) / np.sqrt(len(gaps)))


def test_it_is_calibrated_where_the_marginal_posterior_is_overconfident() -> None:
    def calibrated(model: PreferenceModel, history: list[Outcome]) -> FloatArray:
        return chances(agent_after(lpb.LpbTS(model, noise=1.0), history))

    def marginal(model: PreferenceModel, history: list[Outcome]) -> FloatArray:
        return agent_after(lpb.LpbTS(model, noise=1.0, likelihood="marginal"), history).probabilities()

    gap, error = claims(calibrated)
    assert abs(gap) < 3 * error
    gap, error = claims(marginal)
    assert gap > 4 * error
