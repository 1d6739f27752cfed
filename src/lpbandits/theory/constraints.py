"""Constraints of the bound's program: the rates must distinguish every alternative state from the true one.

The variables are the costs x_a = c_a Δ_a of all actions but the best. Each alternative z has one constraint f_z(x) ≥ 1,
where f_z is a minimum over all means that z allows, found by isotonic regression. f_z is concave and homogeneous, so
its gradient g at any point is a *cut*: g · x ≥ f_z(x) for all x, with equality at that point.
"""

from dataclasses import dataclass

import numpy as np

from lpbandits.theory.kernels import confusing_means
from lpbandits.typing import FloatArray, IntArray


@dataclass(frozen=True)
class Program:
    """Program of one person, scaled so that the best mean is 0, the others are below, and the noise is 1."""

    orderings: IntArray
    others: IntArray
    means: FloatArray
    best: int
    pinned: bool


class Constraints:
    """Constraints of all alternatives; `values` and `fitted` are those of the last call of `cuts`.

    Parameters
    ----------
    program
        The program.
    fixed
        Means of the alternatives, if they are known; by default they are fitted.
    """

    def __init__(self, program: Program, fixed: FloatArray | None = None) -> None:
        k = len(program.means)
        self.program = program
        self.fixed = fixed
        self.worse = np.flatnonzero(np.arange(k) != program.best)
        self.gaps: FloatArray = -program.means[self.worse]
        self.rates = np.zeros(k)
        self.values: FloatArray = np.empty(len(program.others))
        self.fitted = np.empty((len(program.others), k)) if fixed is None else fixed
        self._scratch = np.empty((3, k))
        rest = program.orderings[program.others]
        self._order: IntArray = rest[rest != program.best].reshape(len(program.others), k - 1)

    def cuts(self, costs: FloatArray) -> FloatArray:
        """Fit every alternative at these costs; return a cut per alternative: row · x ≥ 1 for all feasible x."""
        p = self.program
        self.rates[self.worse] = costs / self.gaps
        if self.fixed is None:
            confusing_means(
                p.orderings,
                p.others,
                p.means,
                p.best,
                p.pinned,
                self.rates,
                self._scratch,
                self.fitted,
                self.values,
            )
        rows: FloatArray = (self.fitted[:, self.worse] + self.gaps) ** 2 / (2.0 * self.gaps)
        if self.fixed is not None:
            self.values = rows @ costs
        return rows

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return rows B with Bᵀ B = −Σ weights_z x_a x_b ∂²f_z / ∂x_a ∂x_b at the last costs x.

        Each block of actions pooled to one level λ gives a row: c_a (μ_a − λ) / √Σ c for its actions and 0 elsewhere.
        Actions at the best mean, 0, are not fitted and have no curvature.
        """
        difference = self.program.means - self.fitted
        level, residual = (np.take_along_axis(array, self._order, axis=1) for array in (self.fitted, difference))
        rates = self.rates[self._order]
        first = np.ones(level.shape, dtype=bool)
        first[:, 1:] = level[:, 1:] != level[:, :-1]
        block = np.cumsum(first.ravel()) - 1
        pooled = (np.bincount(block)[block] > 1) & (level.ravel() != 0.0)
        total = np.bincount(block, weights=rates.ravel())
        shares = np.repeat(weights, level.shape[1])[pooled] / np.maximum(total[block[pooled]], 1e-300)
        row = np.cumsum(first.ravel()[pooled]) - 1
        action = self._order.ravel()[pooled]
        rows: FloatArray = np.zeros((int(row[-1]) + 1 if len(row) else 0, len(self.program.means)))
        rows[row, action] = np.sqrt(shares) * rates.ravel()[pooled] * residual.ravel()[pooled]
        return rows[:, self.worse]


def scale_to_feasible(cuts: FloatArray, multipliers: FloatArray) -> FloatArray:
    """Scale multipliers y down so that yᵀ cuts ≤ 1, each by the largest column that it contributes to.

    By weak duality, Σ y ≤ yᵀ cuts · x ≤ Σ x for all feasible costs x.

    >>> scale_to_feasible(np.array([[1.0, 0.0], [1.0, 0.5]]), np.array([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    load = np.maximum(cuts.T @ multipliers, 1.0)
    scaled: FloatArray = multipliers / np.where(cuts > 0.0, load, 1.0).max(axis=1)
    return scaled
