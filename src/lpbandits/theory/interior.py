"""Near the program's optimum by Newton steps, from inside: costs, and multipliers that prove how near they are.

The optimum x of min Σ x with f_z(x) ≥ 1 and x ≥ 0 is followed along the path on which, for a falling s > 0,

    1 − Σ_z y_z ∂f_z/∂x_a = v_a,    y_z (f_z(x) − 1) = s,    v_a x_a = s.

The f_z are smooth but for jumps of their curvature where a fit changes its blocks, so a few dozen steps give many
digits whatever the number of states; each costs as much as an isotonic fit per state and one linear system. All
unknowns are counted in x itself, so that near-ties of the means, which make some x huge, do not spoil the scale.
"""

from dataclasses import dataclass

import numpy as np

from lpbandits.theory.constraints import Constraints, mended
from lpbandits.typing import FloatArray

MOST_STEPS = 80
MOST_HALVINGS = 14
SHRINK = 0.3
"""How much smaller s gets with each step: smaller runs into more changes of blocks, larger needs more steps."""


@dataclass(frozen=True)
class Approach:
    """Feasible `costs`, the `cuts` near them, and `multipliers` with multipliersᵀ cuts ≤ 1 for cuts of their own."""

    costs: FloatArray
    cuts: FloatArray
    multipliers: FloatArray


def approach(constraints: Constraints, start: FloatArray, tolerance: float) -> Approach:
    """Go from `start`, costs with all f_z ≥ 1, until Σ costs and Σ multipliers agree, or no further.

    What floats cannot resolve ends the way early; the result is feasible all the same.
    """
    x = 2.0 * start
    cuts = constraints.cuts(x)
    slack = constraints.values - 1.0
    s = float(x.sum()) / (len(slack) + len(x))
    y, v = s / slack, s / x
    best = Approach(start, cuts, mended(cuts, y))
    for _ in range(MOST_STEPS):
        best = _better(best, x / constraints.values.min(), cuts, mended(cuts, y))
        cost = float(best.costs.sum())
        if cost - float(best.multipliers.sum()) <= tolerance * cost:
            break
        s = SHRINK * float(y @ slack + v @ x) / (len(slack) + len(x))
        step = _direction(constraints, x, y, v, cuts, slack, s)
        if step is None:
            break
        dx, dy, dv = step
        length = min(_room(x, dx), _room(y, dy), _room(v, dv))
        before = _miss(x, cuts, slack, x, y, v, s)
        for _ in range(MOST_HALVINGS):
            there = x + length * dx, y + length * dy, v + length * dv
            cuts = constraints.cuts(there[0])
            slack = constraints.values - 1.0
            if slack.min() > 0.0 and _miss(x, cuts, slack, *there, s) <= (1.0 - 0.01 * length) * before:
                break
            length *= 0.5
        else:
            break
        x, y, v = there
    return best


def _better(old: Approach, costs: FloatArray, cuts: FloatArray, multipliers: FloatArray) -> Approach:
    return Approach(
        costs if costs.sum() < old.costs.sum() else old.costs,
        cuts,
        multipliers if multipliers.sum() > old.multipliers.sum() else old.multipliers,
    )


def _direction(
    constraints: Constraints, x: FloatArray, y: FloatArray, v: FloatArray, cuts: FloatArray, slack: FloatArray, s: float
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the Newton step of the three equations in x, y and v; None where floats do not give one.

    With slopes G = ∂f_z/∂x_a · x_a, bends B and dx = x·d, the unknowns d and Y = y + dy satisfy

        v x d + Bᵀ B d − Gᵀ Y = s − x,    slack Y + y G d = s.

    Either Y is eliminated, or d: with few states and many actions that leaves a far smaller system, in Y and q = B d.
    """
    slopes = cuts * x
    bends = constraints.bends(y)
    own = v * x
    n = len(slack)
    try:
        if n + len(bends) < len(x):
            both = np.concatenate([slopes, -bends])
            scaled = both / own
            system = scaled @ both.T
            system[np.diag_indices(len(both))] += np.concatenate([slack / y, np.ones(len(bends))])
            found = np.linalg.solve(system, np.concatenate([s / y, np.zeros(len(bends))]) - scaled @ (s - x))
            target = found[:n]
            d = (s - x + found @ both) / own
        else:
            system = bends.T @ bends + (slopes.T * (y / slack)) @ slopes
            system[np.diag_indices(len(x))] += own
            d = np.linalg.solve(system, s - x + (s / slack) @ slopes)
            target = (s - y * (slopes @ d)) / slack
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(d).all() and np.isfinite(target).all()):
        return None
    return x * d, target - y, s / x - v * d - v


def _room(values: FloatArray, step: FloatArray) -> float:
    """Return how much of a step keeps the values above 0, at most all of it."""
    falls = step < 0.0
    return min(1.0, 0.99 * float((values[falls] / -step[falls]).min())) if falls.any() else 1.0


def _miss(
    unit: FloatArray, cuts: FloatArray, slack: FloatArray, x: FloatArray, y: FloatArray, v: FloatArray, s: float
) -> float:
    """Return by how much the three equations are missed, the first counted in `unit`."""
    return float(np.linalg.norm(np.concatenate([unit * (1.0 - y @ cuts - v), y * slack - s, v * x - s])))
