"""The bound's program: minimise Σ c_a Δ_a over rates c ≥ 0 that distinguish every alternative state from the true one.

First `interior` approaches the optimum to the tolerance. Then a linear program over its cuts gives the nearest vertex,
where zero costs and weights are exactly 0. If near-ties stopped the first step early, Kelley's cutting-plane method
continues: every round adds a cut for each violated alternative, at the vertex and halfway to the best feasible costs,
where cuts exclude more. Costs scaled to feasibility bound the value from above, multipliers from below.
"""

import numpy as np
from scipy.optimize import linprog

from lpbandits.errors import InvalidInput
from lpbandits.limits import check_memory
from lpbandits.theory.constraints import Constraints, scale_to_feasible
from lpbandits.theory.interior import solve_interior
from lpbandits.typing import FloatArray

MAX_ROUNDS = 300


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
