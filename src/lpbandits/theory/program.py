"""The bound's program: minimise Σ c_a Δ_a over rates c ≥ 0 that distinguish every alternative state from the true one.

The variables are the costs x_a = c_a Δ_a of all actions but the best. Each alternative z has one constraint f_z(x) ≥ 1,
where f_z is a minimum over all means that z allows, found by isotonic regression.

First a primal-dual interior-point method approaches the optimum to the tolerance. Then a linear program over its cuts
gives the nearest vertex, where zero costs and weights are exactly 0. If near-ties stopped the first step early,
Kelley's cutting-plane method continues: every round adds a cut for each violated alternative, at the vertex and halfway
to the best feasible costs, where cuts exclude more. Costs scaled to feasibility bound the value from above, multipliers
from below.
"""

import numpy as np
from scipy.optimize import linprog

from lpbandits.errors import InvalidInput
from lpbandits.limits import check_memory
from lpbandits.theory.kernels import confusing_means
from lpbandits.typing import FloatArray, IntArray

MAX_ROUNDS = 300
"""Maximum number of linear programs."""

MAX_STEPS = 80
"""Maximum number of Newton steps."""

MAX_HALVINGS = 14
"""Maximum number of times that a step is halved."""

SHRINK = 0.3
"""Factor of s per step: a smaller factor causes more changes of blocks, a larger one needs more steps."""


class Constraints:
    """Constraints f_z(x) ≥ 1 of one person's program; `values` and `fitted` are those of the last call of `cuts`.

    f_z is concave and homogeneous, so its gradient g at any point is a *cut*: g · x ≥ f_z(x) for all x, with equality
    at that point.

    Each row of `orderings` is an alternative. The `means` are scaled so that the best is 0, the others are below, and
    the noise is 1. If `pinned`, alternatives have the same mean of the best action. `fixed` are the means of the
    alternatives, if they are known; by default they are fitted.
    """

    def __init__(
        self,
        orderings: IntArray,
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
        self.values: FloatArray = np.empty(len(orderings))
        self.fitted = np.empty((len(orderings), k)) if fixed is None else fixed
        self._kernel_arguments = orderings, means, best, pinned, self.rates, np.empty((3, k))
        self._order: IntArray = orderings[orderings != best].reshape(len(orderings), k - 1)

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


def check_size(states: int, actions: int) -> None:
    """Raise `InvalidInput` if a program needs too much memory: cuts and fits per state, and a linear system."""
    size = 300 * states * actions + 100 * actions * actions
    check_memory(f"a bound with {states:,} states × {actions:,} actions", "take fewer states or actions", size)


def solve(inner: Constraints, tolerance: float) -> tuple[float, float, FloatArray]:
    """Return the minimal cost, its certified relative error and each alternative's share of it.

    `inner.rates` and `inner.fitted` are then those of the optimum. Every alternative must differ from the true means in
    an action other than the best.
    """
    check_size(len(inner.values), len(inner.means))
    start = 2.0 / inner.gaps  # the plain bandit's costs, feasible if the best action is pinned
    cuts = inner.cuts(start)
    least = float(inner.values.min())
    if least < 1e-300 or not np.isfinite(start.sum() / least):
        raise InvalidInput("means must differ by more than rounding errors; give means further apart")
    feasible = start / least
    weights: FloatArray = np.zeros(len(cuts))
    if inner.fixed is None:  # with known means, the program is linear
        feasible, cuts, weights = solve_interior(inner, feasible, 0.5 * tolerance)
    low = float(weights.sum())
    owners = np.arange(len(cuts))
    for _ in range(MAX_ROUNDS):
        linear = _linear_program(cuts, start)
        if linear is None:
            break
        vertex, mix = linear
        if mix.sum() > low:
            low = float(mix.sum())
            weights = np.bincount(owners, weights=mix, minlength=len(inner.values)).astype(np.float64)
        added = []
        for share in (0.0, 0.5):
            point = vertex + share * (feasible - vertex)
            new = inner.cuts(point)
            worst = float(inner.values.min())
            if worst > 0.0 and point.sum() < worst * feasible.sum():
                feasible = point / worst
            violated = np.flatnonzero(new @ vertex < 1.0 - 1e-9)
            added.append((new[violated], violated))
        if feasible.sum() - low <= tolerance * feasible.sum() or not any(len(states) for _, states in added):
            break
        cuts = np.concatenate([cuts, *(rows for rows, _ in added)])
        owners = np.concatenate([owners, *(states for _, states in added)])
    inner.cuts(feasible)
    value = float(feasible.sum())
    return value, 1.0 - low / value, weights / max(weights.sum(), 1e-300)


def _linear_program(cuts: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the minimal costs x with cuts · x ≥ 1, and multipliers y ≥ 0 with yᵀ cuts ≤ 1; None if HiGHS fails.

    HiGHS takes numbers below 1e-9 for 0, and near-ties make x and y huge: x is scaled by `start`, y by its sum. y is
    scaled to feasibility.
    """
    matrix = (cuts * start).T
    rows = matrix.max(axis=1)
    rows[rows == 0.0] = 1.0
    total = start.sum()
    solved = linprog(-np.ones(len(cuts)), A_ub=matrix / rows[:, None], b_ub=start / (total * rows), method="highs")
    if solved.status != 0:
        return None
    mix = scale_to_feasible(cuts, np.maximum(np.asarray(solved.x, dtype=np.float64), 0.0) * total)
    vertex: FloatArray = np.maximum(-solved.ineqlin.marginals, 0.0) * start / rows
    return vertex, mix


def solve_interior(
    constraints: Constraints, start: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return feasible costs, the cuts near them, and dual feasible multipliers (of earlier cuts).

    Start at feasible costs and stop when Σ costs and Σ multipliers agree to a relative `tolerance`, or if rounding
    prevents progress.

    Notes
    -----
    The optimum is approached along the central path: for a decreasing s > 0,

        1 − Σ_z y_z ∂f_z/∂x_a = v_a,    y_z (f_z(x) − 1) = s,    v_a x_a = s.

    The f_z are smooth except for jumps of their curvature where a fit changes its blocks, so a few dozen Newton steps
    give many digits for any number of states. A step costs one isotonic fit per state and one linear system. Steps are
    relative to x, because near-ties of the means make some x huge. The multipliers y certify the distance to the
    optimum.
    """
    x = 2.0 * start
    cuts = constraints.cuts(x)
    slack = constraints.values - 1.0
    s = float(x.sum()) / (len(slack) + len(x))
    y, v = s / slack, s / x
    costs, multipliers = start, scale_to_feasible(cuts, y)
    for _ in range(MAX_STEPS):
        costs = min(costs, x / constraints.values.min(), key=np.sum)
        multipliers = max(multipliers, scale_to_feasible(cuts, y), key=np.sum)
        near = cuts
        cost = float(costs.sum())
        if cost - float(multipliers.sum()) <= tolerance * cost:
            break
        s = SHRINK * float(y @ slack + v @ x) / (len(slack) + len(x))
        step = _direction(constraints, x, y, v, cuts, slack, s)
        if step is None:
            break
        dx, dy, dv = step
        length = min(_max_step(x, dx), _max_step(y, dy), _max_step(v, dv))
        before = _residual(x, cuts, slack, x, y, v, s)
        for _ in range(MAX_HALVINGS):
            point = x + length * dx, y + length * dy, v + length * dv
            cuts = constraints.cuts(point[0])
            slack = constraints.values - 1.0
            if slack.min() > 0.0 and _residual(x, cuts, slack, *point, s) <= (1.0 - 0.01 * length) * before:
                break
            length *= 0.5
        else:
            break
        x, y, v = point
    return costs, near, multipliers


def _direction(
    constraints: Constraints, x: FloatArray, y: FloatArray, v: FloatArray, cuts: FloatArray, slack: FloatArray, s: float
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the Newton step of the three equations in x, y and v; None if the linear system is singular.

    With slopes G = ∂f_z/∂x_a · x_a, curvature B and dx = x·d, the unknowns d and Y = y + dy satisfy

        v x d + Bᵀ B d − Gᵀ Y = s − x,    slack Y + y G d = s.

    Either Y or d is eliminated. With few states and many actions eliminating d leaves a smaller system, in Y and B d.
    """
    slopes = cuts * x
    bends = constraints.curvature(y)
    diagonal = v * x
    n = len(slack)
    try:
        if n + len(bends) < len(x):
            both = np.concatenate([slopes, -bends])
            scaled = both / diagonal
            system = scaled @ both.T
            system[np.diag_indices(len(both))] += np.concatenate([slack / y, np.ones(len(bends))])
            solved = np.linalg.solve(system, np.concatenate([s / y, np.zeros(len(bends))]) - scaled @ (s - x))
            target = solved[:n]
            d = (s - x + solved @ both) / diagonal
        else:
            system = bends.T @ bends + (slopes.T * (y / slack)) @ slopes
            system[np.diag_indices(len(x))] += diagonal
            d = np.linalg.solve(system, s - x + (s / slack) @ slopes)
            target = (s - y * (slopes @ d)) / slack
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(d).all() and np.isfinite(target).all()):
        return None
    return x * d, target - y, s / x - v * d - v


def _max_step(values: FloatArray, step: FloatArray) -> float:
    """Return the largest part of a step, at most 1, that keeps the values positive."""
    falls = step < 0.0
    return min(1.0, 0.99 * float((values[falls] / -step[falls]).min())) if falls.any() else 1.0


def _residual(
    unit: FloatArray, cuts: FloatArray, slack: FloatArray, x: FloatArray, y: FloatArray, v: FloatArray, s: float
) -> float:
    """Return the norm of the residuals of the three equations, the first relative to `unit`."""
    return float(np.linalg.norm(np.concatenate([unit * (1.0 - y @ cuts - v), y * slack - s, v * x - s])))
