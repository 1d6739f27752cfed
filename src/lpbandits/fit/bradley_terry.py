"""Bradley-Terry models with a Gaussian prior: utilities from counts of wins.

P(i beats j) = σ(β_i − β_j); the log-posterior Σ_i wins_i β_i − Σ_{i<j} w_ij log(e^{β_i} + e^{β_j}) − Σ_i β_i²/2s² is
maximised by Newton's method, each step solved by conjugate gradients with the Hessian's diagonal as preconditioner.
The cost is counted in passes over the k×k counts; no step is O(k³) for large k.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigvalsh_tridiagonal

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.comparisons import PairCounts, gather
from lpbandits.fit.kernels import bradley_terry as kernels
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray, IntArray

PRIOR_SD = 1.0
"""Default standard deviation of the Gaussian prior of a utility."""

MAX_EXACT_ACTIONS = 512
"""Maximum number of actions with standard errors from the exact inverse Hessian."""

MAX_WINS = 1e100
"""Maximum number of wins of one action against another."""

MAX_UTILITY = 300.0
"""Stop when a utility exceeds this: exp(2 × 300) does not overflow, and no log of ratings supports such odds."""


@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """A fitted Bradley-Terry model.

    Examples
    --------
    >>> fit_bradley_terry([[0, 3], [1, 0]]).components
    1
    """

    utilities: FloatArray
    """β, with mean 0 in every component of the comparison graph; 0 for an action never compared."""
    standard_errors: FloatArray
    """Standard errors of the centred utilities from the curvature of the log-posterior, as if all comparisons were
    independent: exact up to 512 actions; for more, two terms of the inverse's series, with a relative error of about
    1/k for dense comparison graphs and too low for sparse ones. Those of a fit of states are in its `Estimate`."""
    passes: int
    """Number of passes over the k×k counts."""
    converged: bool
    """Whether no utility was expected to change by more than the tolerance. False if the search ended because a utility
    would exceed ±300, which can happen under a very weak prior."""
    never_compared: BoolArray
    """True for actions without any comparison."""
    pieces: IntArray
    """Connected component of each action in the comparison graph; only the prior links different components."""

    @property
    def components(self) -> int:
        """Number of components of the comparison graph, without actions never compared."""
        return len(np.unique(self.pieces[~self.never_compared]))

    @property
    def ordering(self) -> IntArray:
        """All actions by decreasing utility; those never compared come last, by index."""
        return np.lexsort((np.arange(len(self.utilities)), -self.utilities, self.never_compared))


@translate_errors("fitting Bradley-Terry")
def fit_bradley_terry(
    wins: Any,
    *,
    prior_sd: float = PRIOR_SD,
    tolerance: float = 1e-6,
    max_passes: int = 1000,
    threads: int | None = 1,
) -> BradleyTerry:
    """Fit utilities to a k×k matrix: wins[i, j] is the number of times i beat j, with half a win each way for a tie.

    Parameters
    ----------
    prior_sd
        Standard deviation of the Gaussian prior of each utility, which keeps the utilities of actions that never win or
        never lose finite.
    tolerance
        Stop when no utility is expected to change by more than this.
    max_passes
        Maximum number of passes; beyond it the result has `converged=False`.

    Notes
    -----
    The standard errors assume independent comparisons. If one person made many of them, the errors are far too small:
    fit the log itself with `fit_states(ratings, TwoStage(), states=1)`.

    Examples
    --------
    >>> fit = fit_bradley_terry([[0, 3, 4], [1, 0, 3], [0, 2, 0]], prior_sd=10)
    >>> fit.utilities.round(3).tolist(), fit.converged
    ([1.318, -0.307, -1.011], True)
    """
    sd = as_prior_sd(prior_sd)
    limit = validate.as_number(tolerance, "tolerance", low=0, above=True)
    most = validate.as_count(max_passes, "max_passes")
    matrix = validate.as_floats(wins, "wins", shape=(None, None), max_abs=MAX_WINS)
    if matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InvalidInput(f"wins must be square, with one row per action, got shape {matrix.shape}")
    if matrix.min() < 0:
        i, j = (int(x) for x in np.argwhere(matrix < 0)[0])
        raise InvalidInput(f"wins[{i}, {j}] must not be negative, got {matrix[i, j]:g}")
    np.fill_diagonal(matrix, 0.0)
    matrix *= 2
    with Threads(threads) as pool:
        counts = gather(matrix, threads=pool)
        fit = maximise(counts, prior_sd=sd, tolerance=limit, max_passes=most, threads=pool)
        posterior = _Posterior(counts, sd, pool)
        errors = posterior.standard_errors(fit.utilities)
        return replace(fit, standard_errors=errors, passes=fit.passes + posterior.passes)


def as_prior_sd(value: Any) -> float:
    """Check the standard deviation of a prior: its square and the inverse must be finite."""
    return validate.as_number(value, "prior_sd", low=1e-50, high=1e6)


def maximise(
    counts: PairCounts,
    *,
    prior_sd: float,
    tolerance: float = 1e-6,
    max_passes: int = 1000,
    start: FloatArray | None = None,
    threads: Threads,
) -> BradleyTerry:
    """Fit utilities, without standard errors, to gathered counts; the result covers all actions.

    It starts from `start` or from 1.5 × logit of the win rate, with half a win and half a loss added to each action.
    """
    posterior = _Posterior(counts, prior_sd, threads)
    if start is None:
        losses = counts.double_counts.sum(axis=1, dtype=np.float64) / 2 - counts.wins
        beta = posterior.centre(np.asarray(1.5 * np.log((counts.wins + 0.5) / (losses + 0.5))))
    else:
        beta = posterior.centre(start[counts.kept])
    gradient, curvature = posterior.gradient(beta)
    converged = False
    while posterior.passes < max_passes and not converged:
        step, error = _newton_step(posterior, beta, gradient, curvature, tolerance)
        size = float(np.abs(step).max())
        converged = max(error, size * size) <= tolerance
        if converged:
            beta = posterior.centre(beta + step)
            continue
        if not 0 < size < math.inf:
            break
        point, gradient, curvature = _line_search(posterior, beta, step, gradient, max_passes)
        if not float(np.abs(point).max()) <= MAX_UTILITY:
            break
        beta = point
    utilities, never = np.zeros(counts.actions), np.ones(counts.actions, dtype=np.bool_)
    pieces = len(beta) + np.arange(counts.actions)  # an action without counts is a component of its own
    utilities[counts.kept], never[counts.kept], pieces[counts.kept] = beta, posterior.never, posterior.pieces
    return BradleyTerry(utilities, np.full(counts.actions, np.nan), posterior.passes, converged, never, pieces)


class _Posterior:
    """Log-posterior of utilities given counts, and the number of passes over them."""

    def __init__(self, counts: PairCounts, prior_sd: float, threads: Threads) -> None:
        self.counts = counts
        self.precision = prior_sd**-2
        self.threads = threads
        self.passes = 0
        self.pieces = components(counts.double_counts)
        self._sizes = np.bincount(self.pieces)
        self.never: BoolArray = self._sizes[self.pieces] == 1

    def centre(self, beta: FloatArray) -> FloatArray:
        """Shift each component to mean 0, as at the optimum, where the pair terms of its gradient cancel."""
        means = np.bincount(self.pieces, weights=beta) / self._sizes
        return beta - means[self.pieces]

    def gradient(self, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the diagonal of the negative Hessian, in one pass."""
        expected, curvature = np.empty(len(beta)), np.empty(len(beta))
        self._sweep(kernels.expected_wins, np.exp(beta), expected, curvature)
        return self.counts.wins - expected - self.precision * beta, curvature + self.precision

    def hessian_times(self, beta: FloatArray, curvature: FloatArray, v: FloatArray) -> FloatArray:
        """Return the negative Hessian times v, in one pass."""
        out = np.empty(len(beta))
        self._sweep(kernels.hessian_off_diagonal, np.exp(beta), v, out)
        return curvature * v - out

    def standard_errors(self, beta: FloatArray) -> FloatArray:
        """Return the standard deviations of the centred utilities (of the prior for actions never compared)."""
        p = np.exp(beta)
        _, curvature = self.gradient(beta)
        variance = self._exact_variance(p, curvature) if len(beta) <= MAX_EXACT_ACTIONS else None
        if variance is None:
            second = np.empty(len(beta))
            self._sweep(kernels.squared_off_diagonal, p, 1 / curvature, second)
            variance = 1 / curvature + second / curvature**2
        return np.sqrt(np.maximum(variance, 0.0))

    def _exact_variance(self, p: FloatArray, curvature: FloatArray) -> FloatArray | None:
        """Return the diagonal of the inverse Hessian without the common shift; None if it cannot be inverted."""
        chance = p[:, None] / (p[:, None] + p[None, :])
        hessian = np.diag(curvature) - self.counts.double_counts / 2 * chance * chance.T
        try:
            variance: FloatArray = np.diag(cho_solve(cho_factor(hessian), np.eye(len(p))))
        except np.linalg.LinAlgError:  # the prior is too weak for the precision of floats
            return None
        # The all-ones vector of a component is an eigenvector: the common shift, which centring removes.
        return variance - np.where(self.never, 0.0, 1 / (self.precision * self._sizes[self.pieces]))

    def _sweep(self, kernel: Any, *arrays: FloatArray) -> None:
        self.passes += 1
        self.threads.run(kernel, len(self.pieces), self.counts.double_counts, *arrays, smallest=256)


def components(double_counts: NDArray[Any]) -> IntArray:
    """Return the connected component of the comparison graph of each action, numbered from 0."""
    number, rest, component = np.empty(len(double_counts), dtype=np.int64), np.arange(len(double_counts)), 0
    while len(rest):
        reached, rest = [rest[0]], rest[1:]
        for action in reached:  # the list grows during the loop
            met = double_counts[action, rest] > 0
            reached.extend(rest[met])
            rest = rest[~met]
            if not len(rest):
                break
        number[reached] = component
        component += 1
    return number


def _newton_step(
    posterior: _Posterior, beta: FloatArray, gradient: FloatArray, curvature: FloatArray, tolerance: float
) -> tuple[FloatArray, float]:
    """Solve Hessian × step = gradient; return the step and an estimate of its largest error.

    The error of Newton's step itself is about its square, so conjugate gradients need not be more exact. The residual
    over the smallest eigenvalue of the preconditioned Hessian bounds the error; the coefficients of conjugate gradients
    form a Lanczos matrix, and its smallest eigenvalue is close to it.
    """
    step = np.zeros_like(gradient)
    residual = gradient.copy()
    scaled = posterior.centre(residual / curvature)
    direction = scaled.copy()
    size = float(np.sum(residual * scaled))
    error = float(np.abs(scaled).max())
    diagonal: list[float] = [0.0]
    off_diagonal: list[float] = []
    for _ in range(len(gradient)):
        hessian_direction = posterior.hessian_times(beta, curvature, direction)
        curvature_along = float(np.sum(direction * hessian_direction))
        rate = size / curvature_along if curvature_along > 0 else 0.0
        if not 1e-300 < rate < 1e300:  # the remaining improvement is below floating-point precision
            break
        step += rate * direction
        residual -= rate * hessian_direction
        scaled = posterior.centre(residual / curvature)
        diagonal[-1] += 1 / rate
        lowest = float(eigvalsh_tridiagonal(diagonal, off_diagonal)[0]) if off_diagonal else diagonal[0]
        error = float(np.abs(scaled).max()) / lowest if lowest > 0 else math.inf
        longest = float(np.abs(step).max())
        if error <= max(0.25 * tolerance, longest * min(0.1, longest)):
            break
        next_size = float(np.sum(residual * scaled))
        if next_size <= 0:
            break
        direction = scaled + (next_size / size) * direction
        off_diagonal.append(math.sqrt(next_size / size) / rate)
        diagonal.append(next_size / size / rate)
        size = next_size
    return posterior.centre(step), error


def _line_search(
    posterior: _Posterior, beta: FloatArray, step: FloatArray, gradient: FloatArray, max_passes: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shorten the step until it is certain to increase the log-posterior; return the new point, gradient and curvature.

    The log-posterior is concave, so it has increased if its slope along the step is still positive. A short step
    (|Δβ| ≤ 1/2 changes the curvature by less than a factor e) has also increased it if the slope is negative and at
    most half as steep as it was at the start.
    """
    before = float(np.sum(gradient * step))
    rate = min(1.0, 4.0 / float(np.abs(step).max()))
    while True:
        point = posterior.centre(beta + rate * step)
        slope, curvature = posterior.gradient(point)
        after = float(np.sum(slope * step))
        small = rate * float(np.abs(step).max()) <= 0.5
        if after >= 0 or (small and after >= -0.5 * before) or posterior.passes >= max_passes:
            return point, slope, curvature
        rate *= min(max(before / (before - after), 0.1), 0.9)
