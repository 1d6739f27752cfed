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
    """Solve the program; `fixed` gives the alternatives' means where they are known and nothing is to be fitted."""
    inner = _Inner(program, fixed)
    start = 2.0 / inner.gaps  # the plain bandit's rates tell everything apart that can be
    cuts = inner.cuts(start)
    hopeless = np.flatnonzero(inner.values <= 1e-14 * start.sum())
    if len(hopeless):
        return _endless(program, inner, int(hopeless[0]))
    owners = np.arange(len(cuts))
    feasible = start / inner.values.min()
    low = 0.0
    weights: FloatArray = np.zeros(len(cuts))
    for _ in range(MOST_ROUNDS):
        done = linprog(-np.ones(len(cuts)), A_ub=cuts.T, b_ub=np.ones(len(inner.gaps)), method="highs")
        if done.status != 0:
            break
        found = np.asarray(done.x, dtype=np.float64)
        mix = found / max(1.0, float((cuts.T @ found).max()))
        if mix.sum() > low:
            low = float(mix.sum())
            weights = np.bincount(owners, weights=mix, minlength=len(inner.values)).astype(np.float64)
        corner = np.maximum(-done.ineqlin.marginals, 0.0)
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


def _endless(program: Program, inner: _Inner, state: int) -> Solution:
    """Return the solution where an alternative explains the true means for free: no rates suffice."""
    rates = np.full(len(program.means), np.inf)
    rates[program.best] = 0.0
    weights = np.zeros(len(inner.values))
    weights[state] = 1.0
    return Solution(np.inf, rates, 0.0, state, inner.fitted[state].copy(), weights)
