"""Constraints of the bound's program: the rates must distinguish every alternative state from the true one.

The variables are the costs x_a = c_a Δ_a of all actions but the best. Each alternative z has one constraint f_z(x) ≥ 1,
where f_z is a minimum over all means that z allows, found by isotonic regression. f_z is concave and homogeneous, so
its gradient g at any point is a *cut*: g · x ≥ f_z(x) for all x, with equality at that point.
"""

import numpy as np

from lpbandits.theory.kernels import confusing_means
from lpbandits.typing import FloatArray, IntArray


class Constraints:
    """Constraints of one person's program; `values` and `fitted` are those of the last call of `cuts`.

    The alternatives are the `others` among the `orderings`. The `means` are scaled so that the best is 0, the others
    are below, and the noise is 1. If `pinned`, alternatives have the same mean of the best action. `fixed` are the
    means of the alternatives, if they are known; by default they are fitted.
    """

    def __init__(
        self,
        orderings: IntArray,
        others: IntArray,
        means: FloatArray,
        best: int,
        *,
        pinned: bool = True,
        fixed: FloatArray | None = None,
    ) -> None:
        k = len(means)
        self.means = means
        self.fixed = fixed
        self.worse = np.flatnonzero(np.arange(k) != best)
        self.gaps: FloatArray = -means[self.worse]
        self.rates = np.zeros(k)
        self.values: FloatArray = np.empty(len(others))
        self.fitted = np.empty((len(others), k)) if fixed is None else fixed
        self._kernel_arguments = orderings, others, means, best, pinned, self.rates, np.empty((3, k))
        rest = orderings[others]
        self._order: IntArray = rest[rest != best].reshape(len(others), k - 1)

    def cuts(self, costs: FloatArray) -> FloatArray:
        """Fit every alternative at these costs; return a cut per alternative: row · x ≥ 1 for all feasible x."""
        self.rates[self.worse] = costs / self.gaps
        if self.fixed is None:
            confusing_means(*self._kernel_arguments, self.fitted, self.values)
        rows: FloatArray = (self.fitted[:, self.worse] + self.gaps) ** 2 / (2.0 * self.gaps)
        if self.fixed is not None:
            self.values = rows @ costs
        return rows

    def curvature(self, weights: FloatArray) -> FloatArray:
        """Return rows B with Bᵀ B = −Σ weights_z x_a x_b ∂²f_z / ∂x_a ∂x_b at the last costs x.

        Each block of actions pooled to one level λ gives a row: c_a (μ_a − λ) / √Σ c for its actions and 0 elsewhere.
        Actions at the best mean, 0, are not fitted and have no curvature.
        """
        difference = self.means - self.fitted
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
        rows: FloatArray = np.zeros((int(row[-1]) + 1 if len(row) else 0, len(self.means)))
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
