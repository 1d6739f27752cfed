"""Gaps: the probability of each ordering if the gaps between consecutive means are random. The evidence of `Best`.

Along an ordering from the worst action, each mean is larger than the last by an independent gap with an exponential
distribution; the level is flat. The mean gap is one of LANES multiples of a unit, with the weights WEIGHT: it is not
known how large gaps are in units of the noise. The means of tried actions then form a Markov chain. With φ_i the
likelihood of action i and d ranks between consecutive tried actions

    A_i(x) = φ_i(x) Σ_g p_d(g) A_{i−1}(x − g),

on a grid of GRID points. p_d is geometric with mean d times the mean gap, or for d > 1 the sum of two such variables,
so a step is one or two recursive filters along the grid. Σ_x A_n(x) is the likelihood of the ordering. Unlike the
likelihood at the best fit it does not favour orderings that leave the means more room, and unlike that under a flat
prior it does not assume that gaps are large.
"""

from dataclasses import dataclass, field

import numpy as np

from lpbandits.kernels import layout
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.isotonic import block_squares, fitted_means, fitted_one, pool
from lpbandits.kernels.layout import COUNT, LOG_PRIOR, POSTERIOR, RULE_WORK, SCORE, SUM, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.tally import find, record, totals
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray

GRID = 96
LANES = 4
TIE = 0.5
"""Probability that two consecutive actions have the same mean."""
REACH = 4.0
"""The grid covers every tried action's mean reward ± this many of its standard errors."""
BEYOND = 6.0
"""To find the distribution of a mean, it also covers this many units on both sides."""
LEAST_WIDTH = 0.6
"""A standard error is at least this many steps of the grid."""
FLOOR = 150.0
"""Largest negative log-likelihood of one action at a point, relative to its best point."""
TINY = 1e-140
"""Added to the filters, whose values would otherwise be denormal, which is slow."""
NEGLIGIBLE = 9.0
"""Orderings whose bound is this many nats below the best score, plus log m, are not integrated."""

# rows of the table, a column per lane
MULTIPLE, WEIGHT = range(2)
# rows of work: a row per point of the grid
LIKELIHOOD = RULE_WORK  # column per slot: φ
MESSAGE = LIKELIHOOD + GRID  # column per lane: A, then A from the worst action up, then in column DENSITY the density
DENSITY = 2 * LANES
# columns of the only row of `own`
LOW, STEP, UNIT = range(3)


@kernel
def noise_of_means(b: Arrays, n: int) -> float:
    """Return the noise; for Poisson rewards the root of their mean."""
    if b.settings[layout.REWARDS, layout.FAMILY] != layout.POISSON:
        return noise_of(b, n)
    count, total = totals(b, n)
    return float(np.sqrt(max(total, 1.0) / count))


@jit_in_place
def lay_grid(b: Arrays, n: int, noise: float, beyond: float) -> float:
    """Write the grid and every slot's likelihood on it; return the centre, the mean reward of the first slot.

    The unit of gaps is the noise, or half the mean gap between the observed means if that is larger.
    """
    centre = b.slots[SUM, 0] / b.slots[COUNT, 0]
    low, high, least, most = np.inf, -np.inf, np.inf, -np.inf
    for slot in range(n):
        mean = b.slots[SUM, slot] / b.slots[COUNT, slot] - centre
        error = REACH * noise / np.sqrt(b.slots[COUNT, slot])
        low, high = min(low, mean - error), max(high, mean + error)
        least, most = min(least, mean), max(most, mean)
    unit = max(noise, 0.5 * (most - least) / max(b.ranks.shape[1] - 1.0, 1.0))
    low -= beyond * unit
    step = (high + beyond * unit - low) / (GRID - 1)
    b.own[0, LOW], b.own[0, STEP], b.own[0, UNIT] = low, step, unit
    for slot in range(n):
        mean = b.slots[SUM, slot] / b.slots[COUNT, slot] - centre
        error = max(noise / np.sqrt(b.slots[COUNT, slot]), LEAST_WIDTH * step)
        for j in range(GRID):
            distance = (low + step * j - mean) / error
            b.work[LIKELIHOOD + j, slot] = np.exp(-min(0.5 * distance * distance, FLOOR))
    return float(centre)


@kernel
def filtered(value: float, x: float, y: float, decay: float, twice: float) -> tuple[float, float, float]:
    """Return the next state of both filters and their output; the second passes its input on if `twice` is 0.

    A filter adds a gap that is 0 with probability TIE and otherwise geometric.
    """
    x = decay * x + (1.0 - decay) * value + TINY
    once = x + TIE * (value - x)
    y = once + twice * decay * (y - once)
    return x, y, y + TIE * (once - y)


@jit_in_place
def advance(b: Arrays, slot: int, ranks: int, rising: bool) -> None:
    """Move the messages over a number of ranks, up or down, then multiply them by a slot's likelihood (-1: none).

    Each lane is divided by its sum, whose logarithm is added to the lane's place in row BLOCK_COUNT of work. The lanes
    are written out, because a loop over them is not kept in registers.
    """
    work, step, multiples = b.work, b.own[0, STEP], b.table[MULTIPLE]
    scale = b.own[0, UNIT] * ranks / (min(max(ranks, 1), 2) * (1.0 - TIE))
    a0, a1 = 1.0 / (1.0 + step / (scale * multiples[0])), 1.0 / (1.0 + step / (scale * multiples[1]))
    a2, a3 = 1.0 / (1.0 + step / (scale * multiples[2])), 1.0 / (1.0 + step / (scale * multiples[3]))
    twice = 1.0 if ranks > 1 else 0.0
    x0, x1, x2, x3 = 0.0, 0.0, 0.0, 0.0
    y0, y1, y2, y3 = 0.0, 0.0, 0.0, 0.0
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for i in range(GRID):
        j = i if rising else GRID - 1 - i
        row = work[MESSAGE + j]
        likelihood = work[LIKELIHOOD + j, slot] if slot >= 0 else 1.0
        x0, y0, out0 = filtered(row[0], x0, y0, a0, twice)
        x1, y1, out1 = filtered(row[1], x1, y1, a1, twice)
        x2, y2, out2 = filtered(row[2], x2, y2, a2, twice)
        x3, y3, out3 = filtered(row[3], x3, y3, a3, twice)
        row[0], row[1], row[2], row[3] = out0 * likelihood, out1 * likelihood, out2 * likelihood, out3 * likelihood
        t0, t1, t2, t3 = t0 + row[0], t1 + row[1], t2 + row[2], t3 + row[3]
    r0, r1, r2, r3 = 1.0 / t0, 1.0 / t1, 1.0 / t2, 1.0 / t3
    for j in range(MESSAGE, MESSAGE + GRID):
        row = work[j]
        row[0], row[1], row[2], row[3] = row[0] * r0, row[1] * r1, row[2] * r2, row[3] * r3
    sums = work[layout.BLOCK_COUNT]
    sums[0] += np.log(t0)
    sums[1] += np.log(t1)
    sums[2] += np.log(t2)
    sums[3] += np.log(t3)


@kernel
def clear(b: Arrays) -> None:
    """Start with a flat distribution of the level."""
    for row in range(MESSAGE, MESSAGE + GRID):
        for lane in range(LANES):
            b.work[row, lane] = 1.0


@jit_in_place
def climb(b: Arrays, n: int, state: int, last: int, rising: bool) -> int:
    """Pass the tried actions of an ordering from one end to rank `last`, exclusive; return the rank reached.

    The first one starts from a flat distribution. −1: none was passed.
    """
    at = -1
    clear(b)
    for i in range(n):
        slot = b.order[1 + state, n - 1 - i if rising else i]
        rank = b.ranks[state, b.order[0, slot]]
        if rank <= last if rising else rank >= last:
            break
        advance(b, slot, 0 if at < 0 else abs(at - rank), rising)
        at = rank
    return at


@kernel
def log_likelihood_of_order(b: Arrays, n: int, state: int) -> float:
    """Return log Σ_lanes weight Σ_x A_n(x)."""
    sums = b.work[layout.BLOCK_COUNT]
    for lane in range(LANES):
        sums[lane] = 0.0
    climb(b, n, state, -1, True)
    largest = -np.inf
    for lane in range(LANES):
        largest = max(largest, sums[lane])
    total = 0.0
    for lane in range(LANES):
        total += b.table[WEIGHT, lane] * np.exp(sums[lane] - largest)
    return float(largest + np.log(total))


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + log likelihood of the ordering z.

    The likelihood is at most GRID times that of the isotonic fit. The ordering with the highest bound is integrated
    first, then those that could have a weight that is not negligible; the others keep their bound.
    """
    count, total = totals(b, n)
    middle = total / count
    noise = noise_of_means(b, n)
    lay_grid(b, n, noise, 0.0)
    squares = 0.0
    for slot in range(n):
        squares += (b.slots[SUM, slot] - middle * b.slots[COUNT, slot]) ** 2 / b.slots[COUNT, slot]
    first = 0
    for z in range(b.states.shape[1]):
        misfit = max(squares - block_squares(b, pool(b, 1 + z, n), middle), 0.0)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + np.log(GRID) - 0.5 * misfit / (noise * noise)
        if b.states[SCORE, z] > b.states[SCORE, first]:
            first = z
    b.states[SCORE, first] = b.states[LOG_PRIOR, first] + log_likelihood_of_order(b, n, first)
    highest = b.states[SCORE, first]
    margin = NEGLIGIBLE + np.log(b.states.shape[1])
    for z in range(b.states.shape[1]):
        if z != first and b.states[SCORE, z] > highest - margin:
            b.states[SCORE, z] = b.states[LOG_PRIOR, z] + log_likelihood_of_order(b, n, z)
            highest = max(highest, b.states[SCORE, z])
    normalise(b)


@kernel
def add_density(b: Arrays, n: int, state: int, action: int, probability: float) -> None:
    """Add the distribution of an action's mean under one ordering to column DENSITY, with this total.

    It is the product of the messages from both ends of the ordering.
    """
    work, rank = b.work, b.ranks[state, action]
    sums = work[layout.BLOCK_COUNT]
    for lane in range(LANES):
        sums[lane] = 0.0
    reached = climb(b, n, state, rank, True)
    advance(b, find(b.order, n, action), 0 if reached < 0 else reached - rank, True)
    for row in range(MESSAGE, MESSAGE + GRID):
        for lane in range(LANES):
            work[row, LANES + lane] = work[row, lane]
    reached = climb(b, n, state, rank, False)
    if reached >= 0:
        advance(b, -1, rank - reached, False)
    largest = -np.inf
    for lane in range(LANES):
        largest = max(largest, sums[lane])
    total = 0.0
    for row in range(MESSAGE, MESSAGE + GRID):
        for lane in range(LANES):
            work[row, lane] *= work[row, LANES + lane] * b.table[WEIGHT, lane] * np.exp(sums[lane] - largest)
            total += work[row, lane]
    for row in range(MESSAGE, MESSAGE + GRID):
        for lane in range(LANES):
            work[row, DENSITY] += probability * work[row, lane] / total


@jit_in_place
def distribution_of_mean(b: Arrays, n: int, action: int) -> float:
    """Write the distribution of an action's mean to column DENSITY of work, and its grid to `own`; return its centre.

    Orderings with a thousandth of the average probability are skipped.
    """
    for row in range(MESSAGE, MESSAGE + GRID):
        b.work[row, DENSITY] = 0.0
    centre = lay_grid(b, n, noise_of_means(b, n), BEYOND)
    m = b.states.shape[1]
    for z in range(m):
        if b.states[POSTERIOR, z] * m >= 1e-3:
            add_density(b, n, z, action, b.states[POSTERIOR, z])
    return centre


@dataclass(frozen=True)
class Gaps(Evidence):
    """The likelihood of orderings whose gaps between consecutive means are exponential, of unknown size.

    It depends only on counts, sums and spreads. Rewards of any family are treated as Gaussian.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind = "gaps"
    derived = True
    batchable = True
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)
    update_posterior = staticmethod(update_posterior)

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the multiples of the unit that a mean gap may be, and their prior weights."""
        return np.array([[0.06, 0.2, 0.6, 2.0], [0.15, 0.45, 0.3, 0.1]])

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return room for the grid."""
        return np.zeros((1, 3))

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return scratch: likelihoods and messages on the grid."""
        return 2 * GRID, DENSITY + 1

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Record the reward and update the posterior."""
        n, _ = record(b, n, action, reward)
        update_posterior(b, n)
        return n
