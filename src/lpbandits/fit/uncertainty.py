"""Uncertainty of utilities and orderings, and shrinkage of utilities towards the other states.

**Standard errors clustered by person**: the comparisons of one person are not independent. For action a of a
state, person p of weight w_p (1 or 0, or EM's probability of the state) has the residual
g_pa = w_p (wins_pa − Σ_{j∈p} σ(β_a − β_j)); G = Σ_p g², and H = Σ_p w_p Σ_j σ(1 − σ) is the curvature. The *sandwich*
G / H² is the variance of β_a given the log; it equals 1/H only where comparisons are independent.

**Shrinkage (empirical Bayes)**: the utilities of one action in all states are modelled as a draw from N(mean, Σ),
observed with error variances D: E = mean + Σ(Σ + D)⁻¹(b − mean) and P² = diag(Σ − Σ(Σ + D)⁻¹Σ). Mean and Σ are those of
all actions.

**Orderings**: probabilities that one action is above another, and rank intervals, follow from independent normal
utilities (logits) with these standard errors.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from lpbandits.fit.bradley_terry import MAX_UTILITY, BradleyTerry
from lpbandits.fit.comparisons import Comparisons
from lpbandits.fit.kernels.bradley_terry import CURVATURE, RATERS, SQUARES, scatter_parts
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray, IntArray

PARTS = 64
"""Number of parts in which histories are summed, for any number of threads."""

PSEUDO_RATERS = 5.0
"""Weight, in raters, of the state's average G / H when each action's G is smoothed.

Without it, two raters who agree would give a standard error that is far too small.
"""

CELLS = 2**20
"""Cells of m×m matrices that are solved at a time."""

LEVEL = 0.9
"""Coverage of rank intervals."""

DRAWS = 1000
"""Number of orderings drawn for rank intervals."""

MAX_PAIRED = 1000
"""With more actions, pairs are evaluated among this many, evenly spaced along the ordering."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """Per state and action: G, smoothed, and H; both 0 for an action never compared in the state."""

    squares: FloatArray
    curvature: FloatArray

    @classmethod
    def of(cls, sums: FloatArray) -> "Scatter":
        """Make the scatter from m×3×k sums over people, or from the 3×k sums of one state.

        For n raters, G ← (n G + 5 f H) / (n + 5). The factor f = ΣG / ΣH over all actions of the state, at least 1, is
        the ratio of the variance to that of independent comparisons.
        """
        squares, raters = sums[..., SQUARES, :], sums[..., RATERS, :]
        curvature = np.maximum(sums[..., CURVATURE, :], 0.0)
        total = np.maximum(curvature.sum(axis=-1, keepdims=True), 1e-300)
        pool = np.maximum(squares.sum(axis=-1, keepdims=True) / total, 1.0)
        return cls((raters * squares + PSEUDO_RATERS * pool * curvature) / (raters + PSEUDO_RATERS), curvature)

    def inflated(self, factors: FloatArray) -> "Scatter":
        """Multiply the variances of each state by its factor."""
        return Scatter(self.squares * factors[:, None], self.curvature)

    def errors(self, prior_sd: float) -> FloatArray:
        """Return the standard errors of utilities fitted with a Gaussian prior of precision λ: √(G + λ) / (H + λ).

        G / (H + λ)² is the variance due to people, λ² s² / (H + λ)² = λ / (H + λ)² that due to the prior. Without
        ratings the error is the prior's s; independent comparisons, G = H, give 1 / √(H + λ).
        """
        precision = prior_sd**-2
        return np.sqrt(self.squares + precision) / (self.curvature + precision)

    def utilities(
        self, fits: Sequence[BradleyTerry], *, prior_sd: float, shrink: bool
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return m×k utilities, their standard errors, and whether they are unknown.

        With `shrink` they are the posterior means and standard deviations under N(mean, Σ). An action never compared in
        a state carries no information about it, and is unknown only if no state compared it.

        The prior of the fit multiplied β̂ by H / (H + λ). N(mean, Σ) replaces it, so this factor is undone first:
        b = β̂ (H + λ) / H, with the variance G / H². In one state with mean 0, Σ = s² and G = H the result is β̂ itself.
        An action that always won or always lost has almost no curvature under a very weak prior; it is kept unchanged.
        """
        fitted, fitted_errors = np.stack([fit.utilities for fit in fits]), self.errors(prior_sd)
        unknown = np.stack([fit.never_compared for fit in fits])
        if not shrink:
            return fitted, fitted_errors, unknown
        squares, curvature, precision = self.squares, self.curvature, prior_sd**-2
        informative = ~unknown & (curvature > 1e-9 * precision) & (squares > 0)
        safe_curvature = np.where(informative, curvature, 1.0)
        values = np.where(informative, fitted * (1 + precision / safe_curvature), 0.0)
        inverse_sd = np.where(informative, safe_curvature / np.sqrt(np.where(informative, squares, 1.0)), 0.0)  # D^-½
        mean, cov = _population(values, inverse_sd, prior_sd)
        centred, errors = _conditional(values - mean[:, None], inverse_sd, cov)
        extreme = ~(unknown | informative)
        shrunk = np.where(extreme, fitted, np.clip(mean[:, None] + centred, -MAX_UTILITY, MAX_UTILITY))
        everywhere = np.broadcast_to(unknown.all(axis=0), unknown.shape)
        return shrunk, np.where(extreme, fitted_errors, errors), everywhere


def scatter_sums(
    comparisons: Comparisons, weight: FloatArray, utilities: FloatArray, *, threads: Threads
) -> FloatArray:
    """Return 3×k sums over people: of g², of curvature, and of weights; sums of several blocks may be added."""
    parts = max(min(PARTS, len(comparisons.person)), 1)
    edges = np.linspace(0, len(comparisons.person), parts + 1).astype(np.int64)
    sums = np.empty((parts, 3, comparisons.actions))
    people = weight[comparisons.person]
    arrays = edges, comparisons.histories, (people, people * comparisons.weight), np.exp(utilities), sums
    threads.run(scatter_parts, parts, *arrays, blocks=PARTS)
    return np.asarray(sums.sum(axis=0))


def _population(values: FloatArray, inverse_sd: FloatArray, prior_sd: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and Σ over actions: Σ = cov(b) − diag(mean D), eigenvalues clipped at 0.

    Actions have the weight 1 / (v + D), v a robust variance of b plus the median D, so that the noise of actions with
    few raters does not dominate. Each variance is at least √(2/n) times the mean D, because a smaller one cannot be
    told from the noise of n actions. The covariances of m states are multiplied by n / (n + m + 1).
    """
    m = len(values)
    known = inverse_sd > 0
    n_known = known.sum(axis=1)
    noise = np.where(known, 1 / np.where(known, inverse_sd, 1.0) ** 2, 0.0)
    typical = [
        np.median(noise[z][known[z]]) + _robust_variance(values[z][known[z]]) if n_known[z] else 1.0 for z in range(m)
    ]
    weight = np.where(known, 1 / (np.array(typical)[:, None] + noise), 0.0)
    total = np.maximum(weight.sum(axis=1), 1e-300)
    mean = (weight * values).sum(axis=1) / total
    mean_noise = (weight * noise).sum(axis=1) / total
    root_weight = np.sqrt(weight)
    deviations = root_weight * (values - mean[:, None])
    cov = (deviations @ deviations.T) / np.maximum(root_weight @ root_weight.T, 1e-300)
    both = known.astype(np.float64) @ known.T.astype(np.float64)
    shrunk_cov = cov * both / (both + m + 1)
    variances = np.maximum(np.diag(cov) - mean_noise, mean_noise * np.sqrt(2 / np.maximum(n_known, 1)))
    np.fill_diagonal(shrunk_cov, np.where(n_known > 0, variances, prior_sd**2))
    eigenvalues, vectors = np.linalg.eigh(shrunk_cov)
    return mean, (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T


def _robust_variance(values: FloatArray) -> float:
    """Return a variance that ignores outliers: that of normal values with the same interquartile range."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / 1.349) ** 2


def _conditional(values: FloatArray, inverse_sd: FloatArray, cov: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Σ(Σ + D)⁻¹ values and √diag(Σ − Σ(Σ + D)⁻¹Σ), action by action.

    With W = D^-½, 0 where nothing is known, (Σ + D)⁻¹ = W(1 + WΣW)⁻¹W, whose inverse always exists.
    """
    m, k = values.shape
    means, errors = np.empty((m, k)), np.empty((m, k))
    step = max(CELLS // (m * m), 1)
    for low in range(0, k, step):
        chunk = slice(low, low + step)
        w = inverse_sd[:, chunk].T  # actions × states
        scaled_cov = w[:, :, None] * cov  # WΣ
        matrix = np.eye(m) + scaled_cov * w[:, None, :]
        right = np.concatenate([scaled_cov, (w * values[:, chunk].T)[:, :, None]], axis=2)
        solved = np.linalg.solve(matrix, right)
        means[:, chunk] = np.einsum("ajz,aj->za", scaled_cov, solved[:, :, m])
        variance = np.diag(cov) - np.einsum("ajz,ajz->az", scaled_cov, solved[:, :, :m])
        errors[:, chunk] = np.sqrt(np.maximum(variance, 0.0)).T
    return means, errors


def probability_above(utilities: FloatArray, errors: FloatArray, one: int, other: int) -> FloatArray:
    """Return, per state, the probability that one action is above another: Φ((β₁ − β₂) / √(s₁² + s₂²))."""
    difference = utilities[..., one] - utilities[..., other]
    return _phi(difference, np.hypot(errors[..., one], errors[..., other]))


def expected_pairs_right(utilities: FloatArray, errors: FloatArray) -> float | None:
    """Return the expected share of pairs of actions in the right order; None without pairs."""
    if len(utilities) < 2:
        return None
    if len(utilities) > MAX_PAIRED:
        order = np.argsort(-utilities, kind="stable")
        spaced = order[np.linspace(0, len(order) - 1, MAX_PAIRED).astype(np.int64)]
        utilities, errors = utilities[spaced], errors[spaced]
    first, second = np.triu_indices(len(utilities), 1)
    right = _phi(np.abs(utilities[first] - utilities[second]), np.hypot(errors[first], errors[second]))
    return float(right.mean())


def rank_intervals(utilities: FloatArray, errors: FloatArray, actions: IntArray) -> IntArray:
    """Return the shortest interval with 90 % of each action's ranks in a thousand drawn orderings.

    Of equally short ones, the most central.
    """
    rng = np.random.default_rng(0)
    ranks = np.empty((DRAWS, len(actions)), dtype=np.int64)
    for row in ranks:
        drawn = utilities + errors * rng.standard_normal(len(utilities))
        row[:] = 1 + len(drawn) - np.searchsorted(np.sort(drawn), drawn[actions], side="right")
    ranks.sort(axis=0)
    inside = math.ceil(LEVEL * DRAWS)
    first = np.arange(DRAWS - inside + 1)
    width = ranks[inside - 1 :] - ranks[first]
    centrality = np.abs(2 * first - first[-1])[:, None]
    lowest = np.argmin(2 * DRAWS * width + centrality, axis=0)
    column = np.arange(len(lowest))
    return np.stack([ranks[lowest, column], ranks[lowest + inside - 1, column]], axis=1)


def _phi(difference: FloatArray, sd: FloatArray) -> FloatArray:
    """Return Φ(difference / sd); where sd is 0: 1, ½ or 0 by the sign of `difference`."""
    known = sd > 0
    return np.where(known, ndtr(difference / np.where(known, sd, 1.0)), 0.5 + 0.5 * np.sign(difference))
