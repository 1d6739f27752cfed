"""Each state's mean rewards on the log's own scale, and how far people's ratings lie from them.

The mean of action a in state z is that of its n ratings by the state's people, with `PSEUDO_RATERS` more at what the
state's utilities foretell, α_z + β_z x_za, the line through its means. Isotonic regression brings them into the state's
order, and those that it holds equal fall as the utilities foretell.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, as_blocks, parallel_sum, reduce_add, subsample
from lpbandits.data.ratings import Ratings
from lpbandits.fit.estimator import Estimate
from lpbandits.fit.isotonic import isotonic
from lpbandits.fit.kernels.state_sums import add_cells, add_squares
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray, IntArray

PSEUDO_RATERS = 5.0
"""Raters who say what the utilities foretell: what a state's people hardly rated is not taken at their word."""

EDGE = 1e-4
"""No mean of counts is nearer to 0, and none of zeros and ones nearer to 1: what was never seen may still happen."""

DIGITS = 5
"""Of a mean, after the first digit of the usual difference between ratings: a file is to be read."""

LEAST_NOISE = 1e-3
"""Of the range of ratings: a log without any noise says that there is little, not none."""


@dataclass(frozen=True, eq=False)
class StateMeans:
    """m×k means, never rising along the state's ordering, and the standard deviation of ratings about them."""

    means: FloatArray
    noise: float


def state_means(log: Ratings | Blocks, estimate: Estimate, threads: Threads | None = None) -> StateMeans:
    """Return the means of an estimate's states, from the ratings of its people, within the range of all ratings.

    >>> from lpbandits.parallel import Threads
    >>> from lpbandits.fit import TwoStage
    >>> from lpbandits.data.blocks import MemoryBlocks
    >>> from lpbandits.fit.report import Stopwatch
    >>> log = Ratings.from_arrays(*zip(*[(n, a, 3 - a + (n % 3) / 10) for n in range(60) for a in range(3)]))
    >>> with Threads(1) as pool:
    ...     made = TwoStage()(MemoryBlocks(log, pool), 1, watch=Stopwatch())
    >>> found = state_means(log, made)
    >>> found.means.tolist(), round(found.noise, 3)
    ([[3.1, 2.1, 1.1]], 0.082)
    """
    ratings = as_blocks(log, threads)
    reaches = list(ratings.map(_reach))
    least, most = min(reach[0] for reach in reaches), max(reach[1] for reach in reaches)
    low, high = _range_of(least, most, counts=all(reach[2] for reach in reaches))
    m, k = estimate.utilities.shape
    chance = np.empty((len(estimate.labels), 0)) if estimate.chance is None else estimate.chance
    states = estimate.labels, np.ascontiguousarray(chance)
    counts, sums = reduce_add(ratings.map(_cells, (2, m, k), per_person=states))
    overall = float(sums.sum() / counts.sum())
    means = np.empty_like(sums)
    blocks = 0
    for z, order in enumerate(estimate.orderings):
        known = order[~estimate.unknown[z][order]]
        foretold = _foretold(estimate.utilities[z], counts[z], sums[z], overall)
        weight = counts[z] + PSEUDO_RATERS
        pulled = np.clip((sums[z] + PSEUDO_RATERS * np.clip(foretold, low, high)) / weight, low, high)
        means[z] = pulled.mean()  # of a state of which nothing is known
        if len(known):
            fitted = isotonic(pulled[known], weights=weight[known])
            blocks += len(np.unique(fitted))
            means[z, known] = _apart(fitted, foretold[known], weight[known], low, high)
            means[z, estimate.unknown[z]] = means[z, known[-1]]
    sample = ratings.subset(subsample(np.arange(len(ratings.log.counts)), ratings.log.counts)).rating
    means = np.clip(_rounded(means, sample, most - least), low, high)
    squares = float(reduce_add(ratings.map(_squares, means, per_person=states)))
    noise = math.sqrt(squares / max(int(ratings.log.counts.sum()) - blocks, 1))
    return StateMeans(means, min(max(noise, LEAST_NOISE * ((high - low) or 1.0)), validate.MAX_ABS_VALUE))


def _reach(block: Ratings, threads: Threads) -> tuple[float, float, bool]:
    """Return the lowest and the highest rating, and whether all could be counts."""
    del threads
    low, high = float(block.rating.min(initial=np.inf)), float(block.rating.max(initial=-np.inf))
    return low, high, low >= 0 and bool((block.rating == np.rint(block.rating)).all())


def _range_of(low: float, high: float, *, counts: bool) -> tuple[float, float]:
    """Return between what means lie: the lowest and the highest rating, a little inside where it is 0 or 1 of counts.

    >>> _range_of(1.0, 1.0, counts=True), _range_of(0.0, 7.0, counts=True), _range_of(-1.0, 2.5, counts=False)
    ((0.0001, 0.9999), (0.0001, 7.0), (-1.0, 2.5))
    """
    if counts and high <= 1:
        return EDGE, 1 - EDGE
    return (EDGE if counts and low == 0 else low), high


def _cells(
    block: Ratings, threads: Threads, shape: tuple[int, int, int], labels: IntArray, chance: FloatArray
) -> FloatArray:
    """Return m×k: how many of each state's people rated an action, and the sum of these ratings."""
    return parallel_sum(add_cells, block, threads, shape, block.rating, labels, chance)


def _squares(block: Ratings, threads: Threads, means: FloatArray, labels: IntArray, chance: FloatArray) -> FloatArray:
    """Return Σ (rating − mean in the person's state)², by chances of states where there are."""
    return parallel_sum(add_squares, block, threads, (), block.rating, labels, chance, means)


def _foretold(utilities: FloatArray, counts: FloatArray, sums: FloatArray, overall: float) -> FloatArray:
    """Return α + β x of one state: the line through the means of its actions, each counting by its ratings."""
    total = float(counts.sum())
    if total <= 0.0:
        return np.full(len(utilities), overall)
    level, centre = float(sums.sum()) / total, float(counts @ utilities) / total
    away = utilities - centre
    square = float(counts @ away**2)
    slope = float((sums - level * counts) @ away) / square if square > 0 else 0.0
    return level + max(slope, 0.0) * away


def _apart(fitted: FloatArray, foretold: FloatArray, weight: FloatArray, low: float, high: float) -> FloatArray:
    """Return a fit whose blocks of equal means fall as the utilities foretell, into a third of the room on each side.

    A block's own mean stays as it is. Where the utilities say that one action is better, its mean is then larger.

    >>> _apart(np.array([4.0, 2.0, 2.0]), np.array([4.0, 2.2, 1.8]), np.ones(3), 1.0, 5.0).tolist()
    [4.0, 2.2, 1.8]
    """
    out = fitted.copy()
    edges = [0, *(np.flatnonzero(np.diff(fitted)) + 1).tolist(), len(fitted)]
    for start, end in pairwise(edges):
        away = foretold[start:end] - np.average(foretold[start:end], weights=weight[start:end])
        if away[0] > 0 > away[-1]:
            above = (fitted[start - 1] if start else high) - fitted[start]
            below = fitted[start] - (fitted[end] if end < len(fitted) else low)
            out[start:end] += min(1.0, above / (3 * away[0]), -below / (3 * away[-1])) * away
    return out


def _rounded(means: FloatArray, rating: FloatArray, reach: float) -> FloatArray:
    """Return means with as many decimals as make sense beside the middle half of all ratings, or else their range."""
    first, last = np.quantile(rating, [0.25, 0.75])
    width = float(last - first) or reach or 1.0
    decimals = DIGITS - math.floor(math.log10(width))
    return np.round(means, decimals) + 0.0 if abs(decimals) < 200 else means  # + 0.0: no mean is −0
