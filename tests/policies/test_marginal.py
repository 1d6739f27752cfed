"""The exact posterior of orders: probabilities against SciPy, simulation and quadrature."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import multivariate_normal

import lpbandits as lpb
from lpbandits.kernels.layout import COUNT, POSTERIOR, SCORE, SUM
from lpbandits.model import PreferenceModel
from lpbandits.policies.belief import Belief
from lpbandits.policies.evidences import order_probability as kernels
from lpbandits.policies.latent import LpbTS
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray, IntArray
from tests import naive

pytestmark = pytest.mark.xdist_group("lpbts-marginal")  # one process compiles this policy


def belief_of(policy: LpbTS, counts: FloatArray, means: FloatArray) -> Belief:
    """Return the policy's belief after `counts` rewards of each action with these means."""
    tried = [
        {"action": a, "count": float(n), "sum": float(n * mean), "spread": 0.0}
        for a, (n, mean) in enumerate(zip(counts, means, strict=True))
        if n
    ]
    m = policy.model.n_states
    return Belief.from_dict(
        policy, {"tried": tried, "states": {"score": [0.0] * m, "posterior": [1 / m] * m}, "own": []}
    )


def log_probabilities(orderings: IntArray, counts: FloatArray, means: FloatArray, noise: float = 1.0) -> FloatArray:
    """Return log P(order) of every ordering: a score is that plus log prior and Σ N (mean − centre)² / 2σ²."""
    model = PreferenceModel(orderings)
    belief = belief_of(LpbTS(model, noise=noise, likelihood="marginal"), counts, means)
    n, total = belief.slots[COUNT, : belief.tried], belief.slots[SUM, : belief.tried]
    constant = np.sum((total - n * total.sum() / n.sum()) ** 2 / n) / (2 * noise**2)
    return np.asarray(belief.states[SCORE] - np.log(model.prior) - constant)


def log_probability_of_reversed(means: FloatArray, sds: FloatArray) -> float:
    """Return log P(μ₁ ≥ μ₂ ≥ …) if all means pool into one, by quadrature over the gaps between neighbours.

    With μ the pooled mean and G the running Σ (ȳ − μ)/s², gaps t ≥ 0 have the density of N(0, D diag(s²) Dᵀ) times
    e^{Σ G t}, and that times e^{−Σ (ȳ − μ)²/2s²}.
    """
    pooled = np.sum(means / sds**2) / np.sum(sds**-2.0)
    tilt = -np.cumsum((means - pooled) / sds**2)[:-1]
    assert np.all(tilt > 0)
    differences = np.diff(np.eye(len(means)), axis=0)
    covariance = differences @ np.diag(sds**2) @ differences.T
    nodes, weights = np.polynomial.legendre.leggauss(60)
    ends = np.minimum(40 / tilt, 9 * np.sqrt(np.diag(covariance)))
    gaps = np.stack(np.meshgrid(*(end * (nodes + 1) / 2 for end in ends), indexing="ij"), axis=-1)
    areas = math.prod(np.meshgrid(*(end * weights / 2 for end in ends), indexing="ij"))
    squares = np.einsum("...i,ij,...j", gaps, np.linalg.inv(covariance), gaps)
    total = np.sum(areas * np.exp(-squares / 2 - gaps @ tilt))
    fit = -np.sum((means - pooled) ** 2 / sds**2) / 2
    return float(fit + np.log(total) - np.linalg.slogdet(2 * math.pi * covariance)[1] / 2)


def all_orders(k: int) -> IntArray:
    return np.array(list(itertools.permutations(range(k))), dtype=np.int64)


@pytest.mark.parametrize("k", [2, 3, 4])
@given(data=st.data())
def test_probabilities_equal_scipys(k: int, data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.integers(1, 40), min_size=k, max_size=k)), dtype=float)
    means = np.array(data.draw(st.lists(st.floats(-1.5, 1.5), min_size=k, max_size=k)))
    orders = all_orders(k)[:: 1 if k < 4 else 7]
    got = np.exp(log_probabilities(orders, counts, means))
    differences = np.diff(np.eye(k), axis=0)
    for order, probability in zip(orders, got, strict=True):
        misfit = counts[order] @ (means[order] - naive.isotonic(means[order], counts[order])) ** 2
        assert probability <= np.exp(-misfit / 2) * (1 + 1e-9), "the likelihood at the fit is an upper bound"
        covariance = differences @ np.diag(1 / counts[order]) @ differences.T
        expected = multivariate_normal.cdf(np.zeros(k - 1), differences @ means[order], covariance)
        np.testing.assert_allclose(
            probability, expected, rtol=1e-5, atol=1e-5 if k == 4 else 1e-8
        )  # SciPy simulates k = 4


@given(data=st.data(), k=st.integers(1, 5))
def test_the_probabilities_of_all_orders_sum_to_one(data: st.DataObject, k: int) -> None:
    counts = np.array(data.draw(st.lists(st.integers(1, 10**6), min_size=k, max_size=k)), dtype=float)
    means = np.array(data.draw(st.lists(st.integers(-8, 8).map(lambda x: x / 4), min_size=k, max_size=k)))
    np.testing.assert_allclose(np.exp(log_probabilities(all_orders(k), counts, means)).sum(), 1.0, rtol=1e-7)


@pytest.mark.parametrize("k", [1, 2, 6, 60, 100])
def test_equal_means_give_equal_probabilities(k: int) -> None:
    orders = np.array([range(k)])
    got = log_probabilities(orders, np.full(k, 3.0), np.full(k, 1.25))
    np.testing.assert_allclose(got, -math.lgamma(k + 1), rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("size", [(5, 10), (10, 20)])
def test_scores_are_exact_on_simulated_histories(size: tuple[int, int]) -> None:
    states, actions = size
    people = lpb.SyntheticWorld(states=states, actions=actions, scale="different").draw(people=1, seed=5)
    trace = rollout(LpbTS(people.model, likelihood="marginal"), people, rounds=200, seed=5)
    for plays, rewards in zip(trace.actions, trace.rewards, strict=True):
        counts = np.bincount(plays, minlength=actions).astype(float)
        means = np.bincount(plays, rewards, minlength=actions) / np.maximum(counts, 1)
        got = log_probabilities(people.model.orderings, counts, means)
        rows = [row[counts[row] > 0] for row in people.model.orderings]
        expected = np.log([naive.probability_of_order(means[row], counts[row] ** -0.5, 40001) for row in rows])
        near = expected > expected.max() - 30
        np.testing.assert_allclose(got[near], expected[near], atol=1e-6)


@pytest.mark.parametrize("count", [1e4, 1e8, 1e12])
def test_one_precise_mean_separates_the_others(count: float) -> None:
    """With one mean almost known, the others are independent: a product of two tails."""
    got = log_probabilities(np.array([[0, 1, 2]]), np.array([1.0, count, 4.0]), np.array([0.3, 0.1, 0.2]))
    tails = [0.5 * math.erfc(-0.2 / math.sqrt(2)), 0.5 * math.erfc(2 * 0.1 / math.sqrt(2))]
    np.testing.assert_allclose(got, np.log(np.prod(tails)), atol=2 / math.sqrt(count))


@pytest.mark.parametrize("counts", [(1.0, 1.0), (1.0, 100.0), (100.0, 1.0), (1.0, 1e8), (1e8, 1.0)])
def test_two_actions_with_any_contradiction(counts: tuple[float, float]) -> None:
    sd = math.hypot(counts[0] ** -0.5, counts[1] ** -0.5)
    for ratio in [0.0, *np.geomspace(0.1, 1e12, 40)]:
        got = log_probabilities(np.array([[0, 1]]), np.array(counts), np.array([0.0, ratio * sd]))
        np.testing.assert_allclose(got, log_ndtr(-ratio), rtol=1e-12, atol=1e-7)


@pytest.mark.parametrize("k", [3, 4])
@pytest.mark.parametrize("spread", [0.0, 3.0, 9.0])
def test_strongly_contradicted_orders(k: int, spread: float) -> None:
    """With equal and unequal counts, down to 1/|G| of 1e-6 of the smallest standard deviation."""
    rng = np.random.default_rng(7)
    for size in np.geomspace(3, 3e6, 13):
        counts = np.exp(rng.uniform(0, spread, k)).round()
        sds = counts**-0.5
        means = np.arange(k) * size + rng.uniform(-0.3, 0.3, k) * size
        got = log_probabilities(np.array([range(k)]), counts, means)
        np.testing.assert_allclose(got, log_probability_of_reversed(means, sds), rtol=1e-13, atol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("count", [1e2, 1e4, 1e8])
def test_a_contradicted_pair_below_a_precise_mean(count: float, gap: float) -> None:
    """The pair's gap is small against its sds, but not against that of the precise mean."""
    ratio = 100.0
    got = log_probabilities(np.array([[0, 1, 2]]), np.array([count, 1.0, 1.0]), np.array([gap + ratio / 2, 0.0, ratio]))
    x, weights = np.polynomial.hermite_e.hermegauss(40)
    top = gap + x / math.sqrt(count)  # from the middle of the pair
    nodes, areas = np.polynomial.laguerre.laggauss(40)
    t = nodes / (ratio / 2)
    below = np.exp(log_ndtr((top[:, None] - t / 2) * math.sqrt(2)))  # the upper is t/2 above the pair's middle
    gaps = (areas / (ratio / 2) * np.exp(-(t**2) / 4) / math.sqrt(4 * math.pi)) @ (weights @ below)
    expected = -(ratio**2) / 4 + np.log(gaps / math.sqrt(2 * math.pi))
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_posterior_of_contradicted_states_converges() -> None:
    """The posterior tends to ∝ Π 1/|G| as the noise falls."""
    orders = np.array([[3, 2, 1, 0], [3, 2, 0, 1], [2, 3, 1, 0]])
    means = np.array([0.9, 0.8, 0.12, 0.0])
    limit = 1 / np.prod(np.abs(np.cumsum(means[orders] - means.mean(), axis=1)[:, :-1]), axis=1)
    limit /= limit.sum()
    for noise in (1e-5, 1e-8, 1e-11, 1e-14, 1e-20, 1e-40):
        policy = LpbTS(PreferenceModel(orders), noise=noise, likelihood="marginal")
        posterior = belief_of(policy, np.full(4, 5000.0), means).states[POSTERIOR]
        np.testing.assert_allclose(posterior, limit, atol=1e-2 if noise < 1e-8 else 1e-5)


@pytest.mark.parametrize("ratio", [0.0, 1.0, 19.9, 20.1, 1e4, 1e12])
def test_the_fallback_of_the_integral_is_exact_for_two(ratio: float) -> None:
    work = np.zeros((kernels.TILT + 8, 4))
    work[kernels.SD, :3] = 1.0, 2.0, 0.5
    work[kernels.TILT, 0] = -ratio / math.sqrt(5)
    got = kernels.log_pairs(work, 0, 2)
    np.testing.assert_allclose(got, log_ndtr(-ratio) + ratio**2 / 2 if ratio < 1e6 else -np.log(ratio * 2.5066282746))
    work[kernels.FIT, 2] = -0.7
    np.testing.assert_allclose(kernels.log_pairs(work, 0, 3) - got, log_ndtr(0.7 / math.sqrt(0.8 + 0.25)))


def test_the_fallback_of_the_integral_is_the_limit_of_contradicted_orders() -> None:
    means, sds = np.array([0.0, 3e4, 6e4, 9e4]), np.array([1.0, 0.5, 2.0, 0.25])
    pooled = np.sum(means / sds**2) / np.sum(sds**-2)
    work = np.zeros((kernels.TILT + 8, 4))
    work[kernels.SD] = sds
    work[kernels.TILT, :3] = np.cumsum((means - pooled) / sds**2)[:-1]
    fit = -np.sum((means - pooled) ** 2 / sds**2) / 2
    np.testing.assert_allclose(kernels.log_pairs(work, 0, 4), log_probability_of_reversed(means, sds) - fit, atol=1e-4)


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


def test_the_table_integrates_polynomials_exactly() -> None:
    rule = kernels.legendre_rule()
    x = rule[kernels.NODE]
    for power in range(kernels.NODES):
        np.testing.assert_allclose(rule[kernels.WEIGHT] @ x**power, (1 - (-1) ** (power + 1)) / (power + 1), atol=1e-12)
        np.testing.assert_allclose(
            x**power @ rule[kernels.BEYOND : kernels.DERIVATIVE], (1 - x ** (power + 1)) / (power + 1), atol=1e-12
        )
        np.testing.assert_allclose(
            x**power @ rule[kernels.DERIVATIVE : kernels.AT_END], power * x ** max(power - 1, 0), atol=1e-11
        )
        np.testing.assert_allclose(x**power @ rule[kernels.AT_END], 1.0, atol=1e-12)
