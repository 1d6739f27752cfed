from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from lpbandits.errors import InvalidInput
from lpbandits.fit import bradley_terry as module
from lpbandits.fit import fit_bradley_terry
from lpbandits.fit.bradley_terry import MAX_UTILITY, maximise
from lpbandits.fit.comparisons import compare, count_state, count_wins, gather
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray
from tests import naive_recovery as naive
from tests.synthetic_recovery import readers


def contest(seed: int, k: int, games: int, spread: float = 1.0) -> FloatArray:
    """Return wins of pairs that meet `games` times, with normal utilities of this spread."""
    rng = np.random.default_rng(seed)
    beta = rng.normal(0, spread, k)
    chance = 1 / (1 + np.exp(beta[None, :] - beta[:, None]))
    upper = np.triu(rng.binomial(games, chance), 1)
    lower = np.triu(games - upper, 1)
    return (upper + lower.T).astype(np.float64)


def logistic(wins: FloatArray, prior_sd: float) -> FloatArray:
    """Return scikit-learn's utilities, from one row per ordered pair, weighted by its wins."""
    first, second = np.nonzero(wins)
    rows = np.zeros((len(first), len(wins)))
    rows[np.arange(len(first)), first] = 1
    rows[np.arange(len(first)), second] = -1
    both, labels = np.concatenate([rows, -rows]), np.repeat([1, 0], len(first))
    weight = np.tile(wins[first, second] / 2, 2)
    model = LogisticRegression(C=prior_sd**2, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    beta: FloatArray = model.fit(both, labels, sample_weight=weight).coef_[0]
    return beta


@pytest.mark.parametrize("prior_sd", [0.3, 1.0, 5.0])
def test_agrees_with_logistic_regression(prior_sd: float) -> None:
    wins = contest(0, 12, 9) + 0.5
    np.fill_diagonal(wins, 0)
    wins[3] = 0  # never wins
    wins[:, 7] = 0  # never loses
    fit = fit_bradley_terry(wins, prior_sd=prior_sd)
    np.testing.assert_allclose(fit.utilities, logistic(wins, prior_sd), atol=1e-5)
    assert fit.converged
    assert fit.passes <= 40


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10_000), st.floats(0.2, 20), st.floats(0.05, 1))
def test_agrees_with_full_newton(k: int, seed: int, prior_sd: float, density: float) -> None:
    rng = np.random.default_rng(seed)
    wins = rng.integers(0, 30, (k, k)) * (rng.uniform(size=(k, k)) < density) / 2
    np.fill_diagonal(wins, 0)
    fit = fit_bradley_terry(wins, prior_sd=prior_sd)
    beta, inverse = naive.bradley_terry(wins, prior_sd)
    np.testing.assert_allclose(fit.utilities, beta, atol=2e-6)
    for piece in np.unique(fit.pieces):
        inside = fit.pieces == piece
        centring = np.eye(inside.sum()) - (1 / inside.sum() if inside.sum() > 1 else 0)
        spread = centring @ inverse[np.ix_(inside, inside)] @ centring
        np.testing.assert_allclose(fit.standard_errors[inside], np.sqrt(np.diag(spread)), rtol=1e-4)


@pytest.mark.parametrize(("k", "spread"), [(30, 0.3), (200, 1.0), (600, 2.0)])
def test_dense_counts_are_fitted_to_the_tolerance_in_few_passes(k: int, spread: float) -> None:
    wins = contest(1, k, 20, spread)
    for most in (30, 40):
        fit = fit_bradley_terry(wins)
        assert fit.converged
        assert fit.passes <= most
        np.testing.assert_allclose(fit.utilities, fit_bradley_terry(wins, tolerance=1e-13).utilities, atol=1e-6)
        wins[5] = 0  # never wins
    assert fit.ordering[-1] == 5


def test_chains_of_comparisons_are_solved() -> None:
    k = 60
    wins = np.diag(np.full(k - 1, 300.0), 1) + np.diag(np.full(k - 1, 200.0), -1)
    for prior_sd in (1.0, 30.0):
        fit = fit_bradley_terry(wins, prior_sd=prior_sd)
        np.testing.assert_allclose(fit.utilities, naive.bradley_terry(wins, prior_sd)[0], atol=1e-5)
        assert fit.ordering.tolist() == list(range(k))


def test_the_series_approximates_standard_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    wins = contest(2, 300, 5)
    exact = fit_bradley_terry(wins).standard_errors
    monkeypatch.setattr(module, "MAX_EXACT_ACTIONS", 10)
    np.testing.assert_allclose(fit_bradley_terry(wins).standard_errors, exact, rtol=0.01)


def test_never_compared_actions_come_last_and_components_are_counted() -> None:
    wins = np.zeros((7, 7))
    wins[0, 1], wins[4, 5], wins[5, 6] = 3, 2, 2
    fit = fit_bradley_terry(wins, prior_sd=2.0)
    assert fit.never_compared.tolist() == [False, False, True, True, False, False, False]
    assert fit.components == 2
    assert fit.ordering[-2:].tolist() == [2, 3]
    np.testing.assert_allclose(fit.utilities[:2].sum(), 0, atol=1e-12)
    np.testing.assert_allclose(fit.utilities[4:].sum(), 0, atol=1e-12)
    np.testing.assert_allclose(fit.standard_errors[2:4], 2.0)
    nothing = fit_bradley_terry(np.zeros((3, 3)))
    assert nothing.converged
    assert nothing.ordering.tolist() == [0, 1, 2]


def test_results_do_not_depend_on_threads() -> None:
    wins = contest(6, 700, 3)
    one, two = fit_bradley_terry(wins, threads=1), fit_bradley_terry(wins, threads=2)
    np.testing.assert_array_equal(one.utilities, two.utilities)
    np.testing.assert_array_equal(one.standard_errors, two.standard_errors)


def test_too_few_passes_do_not_converge() -> None:
    fit = fit_bradley_terry(contest(7, 40, 5), max_passes=2)
    assert not fit.converged
    assert np.isfinite(fit.utilities).all()


@pytest.mark.parametrize(
    ("wins", "options", "message"),
    [
        ([[0, 1, 2]], {}, "wins.*square"),
        ([[0, -1], [1, 0]], {}, r"wins\[0, 1\].*-1"),
        ([[0, np.nan], [1, 0]], {}, "wins.*nan"),
        ([[0, 1], [1, 0]], {"prior_sd": 0}, r"prior_sd.* 0"),
        ([[0, 1], [1, 0]], {"max_passes": -3}, r"max_passes.*-3"),
    ],
)
def test_invalid_arguments_are_refused(wins: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        fit_bradley_terry(wins, **options)


ALWAYS_WON = {
    "chain": np.diag(np.ones(59), 1),
    "all": np.triu(np.full((80, 80), 20.0), 1),
    "many": np.triu(np.full((6, 6), 1e6), 1),
}


@pytest.mark.parametrize("prior_sd", [1e-3, 1e3, 1e6])
@pytest.mark.parametrize("name", ALWAYS_WON)
def test_extreme_priors_give_finite_utilities_in_order(name: str, prior_sd: float) -> None:
    wins = ALWAYS_WON[name]
    fit = fit_bradley_terry(wins, prior_sd=prior_sd)
    assert fit.converged == (prior_sd < 1 or (name == "many" and prior_sd < 1e6))
    assert np.isfinite(fit.utilities).all()
    assert np.isfinite(fit.standard_errors).all()
    assert fit.ordering.tolist() == list(range(len(wins)))
    assert np.abs(fit.utilities).max() <= MAX_UTILITY


@pytest.mark.parametrize("weighted", [False, True])
def test_unrated_actions_do_not_change_the_fit(weighted: bool) -> None:
    log, _ = readers(1, people=40, actions=60, states=2)
    weight = np.where(np.arange(40) < 2, 0.7 if weighted else 1.0, 0.0)
    with Threads(2) as threads:
        comparisons = compare(log, threads=threads)
        few = maximise(count_state(comparisons, weight, threads=threads), prior_sd=1.5, threads=threads)
        counts = gather(count_wins(comparisons, weight))
        full = maximise(counts, prior_sd=1.5, threads=threads)
    assert 0 < few.never_compared.sum() < 60
    np.testing.assert_array_equal(few.never_compared, full.never_compared)
    np.testing.assert_allclose(few.utilities, full.utilities, atol=1e-6)
    assert few.components == full.components
