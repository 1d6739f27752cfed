"""Primal-dual interior-point method for the bound's program.

The optimum x of min Σ x with f_z(x) ≥ 1 and x ≥ 0 is approached along the central path: for a decreasing s > 0,

    1 − Σ_z y_z ∂f_z/∂x_a = v_a,    y_z (f_z(x) − 1) = s,    v_a x_a = s.

The f_z are smooth except for jumps of their curvature where a fit changes its blocks, so a few dozen Newton steps give
many digits for any number of states. A step costs one isotonic fit per state and one linear system. Steps are relative
to x, because near-ties of the means make some x huge. The multipliers y certify the distance to the optimum.
"""

import numpy as np

from lpbandits.theory.constraints import Constraints, scale_to_feasible
from lpbandits.typing import FloatArray

MAX_STEPS = 80
MAX_HALVINGS = 14
SHRINK = 0.3
"""Factor of s per step: a smaller one meets more changes of blocks, a larger one needs more steps."""


def solve_interior(
    constraints: Constraints, start: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return feasible costs, the cuts near them, and dual feasible multipliers (of earlier cuts).

    Start at feasible costs and stop when Σ costs and Σ multipliers agree to a relative `tolerance`, or if rounding
    prevents progress.
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
