"""The bound's program: minimise Σ c_a Δ_a over rates c ≥ 0 that tell every alternative state from the true one.

Two steps. From inside, `interior` comes as near as is asked for, with a proof. Then a linear program over the cuts
there gives the corner next to it, where costs and shares that should be 0 are 0; mostly that is all. Where near-ties
kept the first step from its aim, Kelley's cutting planes go on: every round adds a cut for each violated alternative,
at the corner and halfway to the best feasible costs, where cuts are deeper. Any costs become feasible by scaling, which
bounds the value from above; multipliers, scaled to feasibility, bound it from below.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.theory.constraints import Constraints, Program, mended
from lpbandits.theory.interior import approach
from lpbandits.typing import FloatArray

MOST_ROUNDS = 300

MAX_HOURS = 10
"""How long bounds may go on, by their estimate: they take one core, and nothing is kept before the end."""


def check_size(states: int, actions: int, what: str = "a bound", operations: int | None = None) -> None:
    """Refuse a program of this size: by its matrices, and by its operations, or those of all to be solved.

    >>> check_size(10**6, 20)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: a bound with 1,000,000 states × 20 actions would take ... hours; at most 10 ...
    """
    check_resources(
        f"{what} with {states:,} states × {actions:,} actions",
        "take fewer people, states or actions",
        size=300 * states * actions + 100 * actions * actions,  # cuts and fits per state, and a linear system
        operations=operations_of(states, actions) if operations is None else operations,
        max_hours=MAX_HOURS,
    )


def operations_of(states: int, actions: int) -> int:
    """Return about how many operations a program takes, as measured: linear programs, and Newton's steps.

    >>> operations_of(10_000, 20) // 10**9  # seconds; measured were 16 and 28
    53
    """
    cells = states * actions
    return 600 * cells * math.isqrt(cells) + 4 * actions**3 * (1 + states // 8)


@dataclass(frozen=True)
class Solution:
    """Rates, their cost, its certified relative gap, and per alternative its share; `state` is the largest one."""

    value: float
    rates: FloatArray
    gap: float
    state: int
    means: FloatArray
    weights: FloatArray


def solve(program: Program, tolerance: float, *, fixed: FloatArray | None = None) -> Solution:
    """Solve the program; `fixed` gives the alternatives' means where they are known and nothing is to be fitted.

    No alternative may have the true means of all actions but the best: no rates would tell it apart.
    """
    check_size(len(program.others), len(program.means))
    inner = Constraints(program, fixed)
    start = 2.0 / inner.gaps  # the plain bandit's costs: with a pinned best action they tell everything apart
    cuts = inner.cuts(start)
    least = float(inner.values.min())
    if least < 1e-300 or not np.isfinite(start.sum() / least):
        raise InvalidInput("some means are too close together for a finite bound in floating point; move them apart")
    feasible = start / least
    weights: FloatArray = np.zeros(len(cuts))
    if fixed is None:  # known means are their own cuts: one linear program is the whole problem
        near = approach(inner, feasible, 0.5 * tolerance)
        feasible, cuts, weights = near.costs, near.cuts, near.multipliers
    low = float(weights.sum())
    owners = np.arange(len(cuts))
    for _ in range(MOST_ROUNDS):
        linear = _linear_program(cuts, start)
        if linear is None:
            break
        corner, mix = linear
        if mix.sum() > low:
            low = float(mix.sum())
            weights = np.bincount(owners, weights=mix, minlength=len(inner.values)).astype(np.float64)
        fresh = []
        for share in (0.0, 0.5):
            point = corner + share * (feasible - corner)
            new = inner.cuts(point)
            worst = float(inner.values.min())
            if worst > 0.0 and point.sum() < worst * feasible.sum():
                feasible = point / worst
            violated = np.flatnonzero(new @ corner < 1.0 - 1e-9)
            fresh.append((new[violated], violated))
        if feasible.sum() - low <= tolerance * feasible.sum() or not any(len(who) for _, who in fresh):
            break
        cuts = np.concatenate([cuts, *(rows for rows, _ in fresh)])
        owners = np.concatenate([owners, *(who for _, who in fresh)])
    inner.cuts(feasible)
    value = float(feasible.sum())
    state = int(np.argmax(weights))
    shares = weights / max(weights.sum(), 1e-300)
    return Solution(value, inner.rates.copy(), 1.0 - low / value, state, inner.fitted[state].copy(), shares)


def _linear_program(cuts: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the least costs x with cuts · x ≥ 1, and multipliers y ≥ 0 with yᵀ cuts ≤ 1; None if HiGHS fails.

    HiGHS takes numbers below 1e-9 for 0, so x is counted in `start` and y in its sum: near-ties make both huge. What
    it leaves violated is mended, so that y is truly feasible.
    """
    matrix = (cuts * start).T
    rows = matrix.max(axis=1)
    rows[rows == 0.0] = 1.0
    whole = start.sum()
    done = linprog(-np.ones(len(cuts)), A_ub=matrix / rows[:, None], b_ub=start / (whole * rows), method="highs")
    if done.status != 0:
        return None
    mix = mended(cuts, np.maximum(np.asarray(done.x, dtype=np.float64), 0.0) * whole)
    corner: FloatArray = np.maximum(-done.ineqlin.marginals, 0.0) * start / rows
    return corner, mix
