"""The exact order posterior: chances of orders against SciPy, by drawing, and by laws of their own."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import lpbandits as lpb
from lpbandits.kernels.chain import BEYOND, NODES, PLACE, WHOLE, legendre_rule
from lpbandits.kernels.layout import COUNT, SCORE, SUM
from lpbandits.model import PreferenceModel
from lpbandits.policies.belief import Belief
from lpbandits.policies.lpbts import LpbTS
from lpbandits.simulation import roll
from lpbandits.typing import FloatArray, IntArray
from tests import naive


def belief_of(policy: LpbTS, counts: FloatArray, means: FloatArray) -> Belief:
    """Return what the policy believes after `counts` rewards of each action with these means."""
    tried = [
        {"action": a, "count": float(n), "sum": float(n * mean), "spread": 0.0}
        for a, (n, mean) in enumerate(zip(counts, means, strict=True))
        if n
    ]
    m = policy.model.n_states
    return Belief.from_dict(
        policy, {"tried": tried, "states": {"score": [0.0] * m, "posterior": [1 / m] * m}, "own": []}
    )


def log_chances(orderings: IntArray, counts: FloatArray, means: FloatArray, noise: float = 1.0) -> FloatArray:
    """Return log P(order) of every ordering: a score is that plus log prior and Σ N (mean − centre)² / 2σ²."""
    model = PreferenceModel(orderings)
    belief = belief_of(LpbTS(model, noise=noise, likelihood="marginal"), counts, means)
    n, total = belief.slots[COUNT, : belief.tried], belief.slots[SUM, : belief.tried]
    constant = np.sum((total - n * total.sum() / n.sum()) ** 2 / n) / (2 * noise**2)
    return np.asarray(belief.states[SCORE] - np.log(model.prior) - constant)


def all_orders(k: int) -> IntArray:
    return np.array(list(itertools.permutations(range(k))), dtype=np.int64)


@pytest.mark.parametrize("k", [2, 3, 4])
@given(data=st.data())
def test_chances_are_those_of_differences_of_neighbours(k: int, data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.integers(1, 40), min_size=k, max_size=k)), dtype=float)
    means = np.array(data.draw(st.lists(st.floats(-1.5, 1.5), min_size=k, max_size=k)))
    orders = all_orders(k)[:: 1 if k < 4 else 7]
    got = np.exp(log_chances(orders, counts, means))
    differences = np.diff(np.eye(k), axis=0)
    for order, chance in zip(orders, got, strict=True):
        covariance = differences @ np.diag(1 / counts[order]) @ differences.T
        wanted = multivariate_normal.cdf(np.zeros(k - 1), differences @ means[order], covariance)
        np.testing.assert_allclose(chance, wanted, rtol=1e-5, atol=1e-5 if k == 4 else 1e-8)  # 4 is drawn by SciPy


@given(data=st.data(), k=st.integers(1, 5))
def test_the_chances_of_all_orders_sum_to_one(data: st.DataObject, k: int) -> None:
    counts = np.array(data.draw(st.lists(st.integers(1, 10**6), min_size=k, max_size=k)), dtype=float)
    means = np.array(data.draw(st.lists(st.integers(-8, 8).map(lambda x: x / 4), min_size=k, max_size=k)))
    np.testing.assert_allclose(np.exp(log_chances(all_orders(k), counts, means)).sum(), 1.0, rtol=1e-7)


@pytest.mark.parametrize("k", [1, 2, 6, 60, 100])
def test_equal_means_make_all_orders_equally_likely(k: int) -> None:
    orders = np.array([range(k)])
    got = log_chances(orders, np.full(k, 3.0), np.full(k, 1.25))
    np.testing.assert_allclose(got, -math.lgamma(k + 1), rtol=1e-8, atol=1e-7)


def test_chances_agree_with_drawing() -> None:
    rng = np.random.default_rng(11)
    counts, means = np.array([1.0, 30.0, 4.0, 2.0, 9.0]), np.array([0.3, 0.1, -0.4, 0.9, 0.0])
    orders = all_orders(5)
    draws = 400_000
    drawn = np.argsort(-(means + rng.standard_normal((draws, 5)) / np.sqrt(counts)), axis=1)
    place = {tuple(order): i for i, order in enumerate(orders.tolist())}
    seen = np.bincount([place[tuple(row)] for row in drawn.tolist()], minlength=120) / draws
    chances = np.exp(log_chances(orders, counts, means))
    errors = (seen - chances) / np.sqrt(chances / draws)
    assert np.abs(errors).max() < 4.5, "4.5 standard errors, for 120 orders"
    assert 0.7 < errors.std() < 1.3


@pytest.mark.parametrize("size", [(5, 10), (10, 20)])
def test_scores_are_exact_on_histories_of_real_runs(size: tuple[int, int]) -> None:
    states, actions = size
    people = lpb.SyntheticWorld(states=states, actions=actions, scale="different").draw(people=1, seed=5)
    trace = roll(LpbTS(people.model, likelihood="marginal"), people, rounds=200, seed=5)
    for plays, rewards in zip(trace.actions, trace.rewards, strict=True):
        counts = np.bincount(plays, minlength=actions).astype(float)
        means = np.bincount(plays, rewards, minlength=actions) / np.maximum(counts, 1)
        got = log_chances(people.model.orderings, counts, means)
        rows = [row[counts[row] > 0] for row in people.model.orderings]
        wanted = np.log([naive.chance_of_order(means[row], counts[row] ** -0.5, 40001) for row in rows])
        near = wanted > wanted.max() - 30
        np.testing.assert_allclose(got[near], wanted[near], atol=1e-6)


def test_the_likelihood_at_the_fit_is_an_upper_bound() -> None:
    rng = np.random.default_rng(3)
    orders = all_orders(5)
    for _ in range(20):
        counts, means = rng.integers(1, 50, 5).astype(float), rng.normal(0, 1.0, 5)
        exact = log_chances(orders, counts, means)
        fits = [naive.isotonic(means[row], counts[row]) for row in orders]
        bound = [-np.sum(counts[row] * (means[row] - fit) ** 2) / 2 for row, fit in zip(orders, fits, strict=True)]
        assert np.all(exact <= np.array(bound) + 1e-9)


@given(st.permutations(range(5)), st.integers(0, 2**31))
def test_relabelling_the_actions_relabels_the_posterior(names: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts, means = rng.integers(1, 30, 5).astype(float), rng.normal(0, 0.7, 5)
    orders = np.array([rng.permutation(5) for _ in range(3)])
    orders = np.unique(orders, axis=0)
    renamed = np.array(names)[orders]
    again = np.argsort(names)
    np.testing.assert_allclose(
        log_chances(orders, counts, means), log_chances(renamed, counts[again], means[again]), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("count", [1e4, 1e8, 1e12])
def test_a_sharp_mean_among_vague_ones(count: float) -> None:
    """With one mean nearly known, the others are apart from each other: a product of two tails."""
    got = log_chances(np.array([[0, 1, 2]]), np.array([1.0, count, 4.0]), np.array([0.3, 0.1, 0.2]))
    tails = [0.5 * math.erfc(-0.2 / math.sqrt(2)), 0.5 * math.erfc(2 * 0.1 / math.sqrt(2))]
    np.testing.assert_allclose(got, np.log(np.prod(tails)), atol=2 / math.sqrt(count))


@pytest.mark.parametrize("noise", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("reward", [0.0, 1e-300, 30.0, 1e10, 1e100])
def test_scores_stay_finite(noise: float, reward: float) -> None:
    model = PreferenceModel(all_orders(4))
    policy = LpbTS(model, noise=noise, likelihood="marginal")
    agent = lpb.Agent(policy, seed=0)
    for action, value in [(0, reward), (1, -reward), (2, 0.0), (3, reward), (0, 0.0), (1, reward)]:
        agent.tell(action, value)
        assert np.isfinite(agent.belief.states).all()
        np.testing.assert_allclose(agent.posterior.sum(), 1.0)


def test_the_rule_integrates_polynomials() -> None:
    rule = legendre_rule()
    x = rule[PLACE]
    for power in range(NODES):
        np.testing.assert_allclose(rule[WHOLE] @ x**power, (1 - (-1) ** (power + 1)) / (power + 1), atol=1e-12)
        np.testing.assert_allclose(x**power @ rule[BEYOND:], (1 - x ** (power + 1)) / (power + 1), atol=1e-12)
