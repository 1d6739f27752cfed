"""Uncertainty of utilities and orderings.

**Standard errors clustered by person**: the comparisons of one person are not independent. For action a of a
state, person p of weight w_p (1 or 0, or EM's probability of the state) has the residual
g_pa = w_p (wins_pa − Σ_{j∈p} σ(β_a − β_j)); G = Σ_p g², and H = Σ_p w_p Σ_j σ(1 − σ) is the curvature. The *sandwich*
G / H² is the variance of β_a given the log; it equals 1/H only where comparisons are independent.

**Orderings**: probabilities that one action is above another, and rank intervals, follow from independent normal
utilities (logits) with these standard errors.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from lpbandits.fit.comparisons import Comparisons
from lpbandits.fit.kernels.bradley_terry import CURVATURE, RATERS, SQUARES, scatter_parts
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray, IntArray

PARTS = 64
"""Number of parts that histories are summed in, for any number of threads."""

PSEUDO_RATERS = 5.0
"""Weight, in raters, of the state's average G / H when each action's G is smoothed.

Otherwise two raters who agree would give a G, and a standard error, that are far too small.
"""

LEVEL = 0.9
"""Coverage of rank intervals."""

DRAWS = 1000
"""Orderings drawn for an interval."""

MAX_PAIRED = 1000
"""With more actions, pairs are evaluated among this many, evenly spaced along the ordering."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """Per state and action: G, smoothed, and H; both 0 for an action never compared in the state."""

    squares: FloatArray
    curvature: FloatArray

    @classmethod
    def of(cls, sums: FloatArray) -> "Scatter":
        """Return the scatter for m×3×k sums over people, or for the 3×k sums of one state.

        G ← (n G + 5 (pool) H) / (n + 5) for n raters. The pool is ΣG / ΣH over all actions of the state, at least 1: by
        how much the variance exceeds that of independent comparisons.
        """
        squares, raters = sums[..., SQUARES, :], sums[..., RATERS, :]
        curvature = np.maximum(sums[..., CURVATURE, :], 0.0)
        total = np.maximum(curvature.sum(axis=-1, keepdims=True), 1e-300)
        pool = np.maximum(squares.sum(axis=-1, keepdims=True) / total, 1.0)
        return cls((raters * squares + PSEUDO_RATERS * pool * curvature) / (raters + PSEUDO_RATERS), curvature)

    def errors(self, prior_sd: float) -> FloatArray:
        """Return the standard errors of utilities fitted with a Gaussian prior of precision λ: √(G + λ) / (H + λ).

        G / (H + λ)² is the people's part, λ² s² / (H + λ)² = λ / (H + λ)² the prior's. Without ratings the error is the
        prior's, and independent comparisons, G = H, give the curvature's 1 / (H + λ).
        """
        precision = prior_sd**-2
        return np.sqrt(self.squares + precision) / (self.curvature + precision)


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
    """Return the 90 % interval of each action's rank, from a thousand drawn orderings."""
    rng = np.random.default_rng(0)
    ranks = np.empty((DRAWS, len(actions)), dtype=np.int64)
    for row in ranks:
        drawn = utilities + errors * rng.standard_normal(len(utilities))
        row[:] = 1 + len(drawn) - np.searchsorted(np.sort(drawn), drawn[actions], side="right")
    ends = np.quantile(ranks, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0, method="inverted_cdf")
    return np.ascontiguousarray(ends.T).astype(np.int64)


def _phi(difference: FloatArray, spread: FloatArray) -> FloatArray:
    """Return Φ(difference / spread); if spread is 0: 1 or 0 by the sign of `difference`, ½ if `difference` is 0."""
    known = spread > 0
    return np.where(known, ndtr(difference / np.where(known, spread, 1.0)), 0.5 + 0.5 * np.sign(difference))
