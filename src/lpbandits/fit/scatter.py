"""Errors of utilities that know about people: the comparisons of one person are one opinion, not many.

For action a of a state, person p of weight w_p (1 or 0, or EM's probability of the state) has the residual
g_pa = w_p (wins_pa − Σ_{j∈p} σ(β_a − β_j)); G = Σ_p g², and H = Σ_p w_p Σ_j σ(1 − σ) is the curvature. The *sandwich*
G / H² is the variance of what the log says of β_a: it is 1/H only where comparisons are independent.
"""

from dataclasses import dataclass

import numpy as np

from lpbandits.fit.comparisons import Comparisons
from lpbandits.fit.kernels.scatter import CURVATURE, RATERS, SQUARES, scatter_parts
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray

PARTS = 64
"""Histories are summed in so many parts, whatever the number of threads."""

PSEUDO_RATERS = 5.0
"""Every action's G is smoothed with so many raters of the pool: one or two who agree are not certainty."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """Of one state, per action: G, smoothed, and H; both 0 for an action never compared.

    >>> Scatter(np.array([4.0, 0.0]), np.array([2.0, 0.0])).errors(prior_sd=2.0).round(3).tolist()
    [0.916, 2.0]
    """

    squares: FloatArray
    curvature: FloatArray

    @classmethod
    def of(cls, sums: FloatArray) -> "Scatter":
        """Return the scatter from a state's sums over people.

        The pool's G / H, the factor by which people differ more than independent comparisons would, is that of all
        actions of the state, and at least 1: G ← (n G + 5 (pool) H) / (n + 5), for n raters.
        """
        curvature = np.maximum(sums[CURVATURE], 0.0)
        pool = max(float(sums[SQUARES].sum() / max(curvature.sum(), 1e-300)), 1.0)
        smoothed = sums[RATERS] * sums[SQUARES] + PSEUDO_RATERS * pool * curvature
        return cls(smoothed / (sums[RATERS] + PSEUDO_RATERS), curvature)

    def errors(self, prior_sd: float) -> FloatArray:
        """Return the standard errors of utilities fitted with a Gaussian prior of precision λ: √(G + λ) / (H + λ).

        G / (H + λ)² is what the log's people add, λ² s² / (H + λ)² = λ / (H + λ)² what the prior's pull does: without
        ratings the error is the prior's, and independent comparisons, G = H, give the curvature's 1 / (H + λ).
        """
        precision = prior_sd**-2
        return np.sqrt(self.squares + precision) / (self.curvature + precision)


def scatter(comparisons: Comparisons, weight: FloatArray, utilities: FloatArray, *, threads: Threads) -> Scatter:
    """Return one state's scatter around its utilities; people have weights, by index.

    >>> from lpbandits.fit.comparisons import compare
    >>> from lpbandits.data.ratings import Ratings
    >>> log = Ratings.from_arrays([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [3, 2, 1, 3, 2, 1])
    >>> found = scatter(compare(log), np.ones(2), np.zeros(3), threads=Threads(1))
    >>> found.squares.tolist(), found.curvature.tolist()  # G = [2, 0, 2], H = 1 everywhere, pool 4/3
    ([1.5238095238095237, 0.9523809523809523, 1.5238095238095237], [1.0, 1.0, 1.0])
    """
    return Scatter.of(scatter_sums(comparisons, weight, utilities, threads=threads))


def scatter_sums(
    comparisons: Comparisons, weight: FloatArray, utilities: FloatArray, *, threads: Threads
) -> FloatArray:
    """Return 3×k sums over people: of g², of curvature, and of people; those of several blocks may be added."""
    parts = max(min(PARTS, len(comparisons.person)), 1)
    edges = np.linspace(0, len(comparisons.person), parts + 1).astype(np.int64)
    sums = np.empty((parts, 3, comparisons.actions))
    people = weight[comparisons.person]
    threads.run(
        scatter_parts,
        parts,
        *(edges, comparisons.offsets, comparisons.action, comparisons.below, comparisons.through),
        *(people, people * comparisons.weight, np.exp(utilities), sums),
        blocks=PARTS,
    )
    total: FloatArray = sums.sum(axis=0)
    return total
