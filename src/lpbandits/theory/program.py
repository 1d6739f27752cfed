"""The bound's program: minimise Σ c_a Δ_a over rates c ≥ 0 that tell every alternative state from the true one.

The constraint of an alternative is a minimum over all means that it allows, one isotonic fit: concave in c, with the
fit itself as its linear upper bound (a *cut*). Kelley's cutting planes, with two additions that make it fast: every
round adds a cut for each violated alternative, and cuts are also taken halfway to the best feasible rates, where they
are deeper than at the corners that a linear program returns. Any c becomes feasible by scaling, which bounds the value
from above; the linear program's multipliers, scaled to feasibility, bound it from below.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from lpbandits.errors import InvalidInput
from lpbandits.kernels.bound import confusing_means
from lpbandits.typing import FloatArray, IntArray

MOST_ROUNDS = 300


@dataclass(frozen=True)
class Program:
    """One person's program: `means` are at most 0, the best action's is 0, and the noise is 1."""

    orderings: IntArray
    others: IntArray
    means: FloatArray
    best: int
    pinned: bool


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
    inner = _Inner(program, fixed)
    start = 2.0 / inner.gaps  # the plain bandit's costs: with a pinned best action they tell everything apart
    cuts = inner.cuts(start)
    least = float(inner.values.min())
    if least < 1e-300 or not np.isfinite(start.sum() / least):
        raise InvalidInput("some means are too close together for a finite bound in floating point; move them apart")
    owners = np.arange(len(cuts))
    feasible = start / least
    low = 0.0
    weights: FloatArray = np.zeros(len(cuts))
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
    it leaves violated is mended per multiplier, by the fullest constraint it takes part in; so y is truly feasible.
    """
    matrix = (cuts * start).T
    rows = matrix.max(axis=1)
    rows[rows == 0.0] = 1.0
    whole = start.sum()
    done = linprog(-np.ones(len(cuts)), A_ub=matrix / rows[:, None], b_ub=start / (whole * rows), method="highs")
    if done.status != 0:
        return None
    found = np.maximum(np.asarray(done.x, dtype=np.float64), 0.0) * whole
    load = np.maximum(cuts.T @ found, 1.0)
    mix: FloatArray = found / np.where(cuts > 0.0, load, 1.0).max(axis=1)
    corner: FloatArray = np.maximum(-done.ineqlin.marginals, 0.0) * start / rows
    return corner, mix


class _Inner:
    """The alternatives' constraints, in costs x_a = c_a Δ_a of the actions but the best."""

    def __init__(self, program: Program, fixed: FloatArray | None) -> None:
        k = len(program.means)
        self.program = program
        self.fixed = fixed
        self.worse = np.flatnonzero(np.arange(k) != program.best)
        self.gaps = -program.means[self.worse]
        self.rates = np.zeros(k)
        self.values = np.empty(len(program.others))
        self.fitted = np.empty((len(program.others), k)) if fixed is None else fixed
        self._scratch = np.empty((3, k))

    def cuts(self, costs: FloatArray) -> FloatArray:
        """Fit every alternative at these costs; return a row per alternative: row · costs ≥ 1 for feasible costs."""
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
