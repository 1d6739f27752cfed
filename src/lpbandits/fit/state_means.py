"""Mean rewards of each state on the scale of the log, and the standard deviation of ratings about them.

The mean of action a in state z is that of its n ratings by the state's people, shrunk by `PSEUDO_RATERS` towards the
prediction α_z + β_z x_za from the state's utilities x, the regression line through its means. Isotonic regression
makes the means non-increasing along the state's ordering; means that it makes equal are separated in proportion to the
predictions.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, as_blocks, parallel_sum, reduce_add, subsample
from lpbandits.data.ratings import Ratings
from lpbandits.errors import translate_errors
from lpbandits.fit.kernels.ratings import add_cells, add_squares
from lpbandits.fit.methods.estimator import Estimate
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray, IntArray

PSEUDO_RATERS = 5.0
"""Number of raters at the predicted mean that are added to each action's raters."""

EDGE = 1e-4
"""Minimum mean of counts, and minimum distance from 1 of means of zeros and ones: no outcome has probability 0."""

DIGITS = 5
"""Means are rounded to this many digits below the leading digit of the ratings' interquartile range."""

MIN_NOISE = 1e-3
"""Minimum noise, as a share of the range of ratings."""


class StateMeans(NamedTuple):
    """m×k means, non-increasing along the state's ordering, and the standard deviation of ratings about them."""

    means: FloatArray
    noise: float
    rewards: str | None = None
    """"bernoulli" if all ratings are 0 or 1."""
    reward_range: tuple[float, float] | None = None
    """Lowest and highest rating."""


def state_means(log: Ratings | Blocks, estimate: Estimate, threads: Threads | None = None) -> StateMeans:
    """Return the means of an estimate's states, within the range of all ratings."""
    blocks = as_blocks(log, threads)
    ranges = list(blocks.map(_block_range))
    lowest, highest = min(one[0] for one in ranges), max(one[1] for one in ranges)
    low, high = lowest, highest  # bounds of means
    if all(are_counts for _, _, are_counts in ranges):
        low, high = (EDGE, 1 - EDGE) if high <= 1 else (low or EDGE, high)
    m, k = estimate.utilities.shape
    membership = np.empty((len(estimate.labels), 0)) if estimate.membership is None else estimate.membership
    per_person = estimate.labels, np.ascontiguousarray(membership)
    counts, sums = reduce_add(blocks.map(_state_sums, (2, m, k), per_person=per_person))
    overall = float(sums.sum() / counts.sum())
    means = np.empty_like(sums)
    n_levels = 0
    for z, order in enumerate(estimate.orderings):
        known = order[~estimate.unknown[z][order]]
        predicted = _predicted(estimate.utilities[z], counts[z], sums[z], overall)
        weight = counts[z] + PSEUDO_RATERS
        shrunk = np.clip((sums[z] + PSEUDO_RATERS * np.clip(predicted, low, high)) / weight, low, high)
        means[z] = shrunk.mean()  # for a state without known actions
        if len(known):
            fitted = isotonic(shrunk[known], weights=weight[known])
            n_levels += len(np.unique(fitted))
            means[z, known] = _separate(fitted, predicted[known], weight[known], low, high)
            means[z, estimate.unknown[z]] = means[z, known[-1]]
    sample = blocks.subset(subsample(np.arange(len(blocks.log.counts)), blocks.log.counts)).rating
    means = np.clip(_rounded(means, sample, highest - lowest), low, high)
    squares = float(reduce_add(blocks.map(_squares, means, per_person=per_person)))
    noise = math.sqrt(squares / max(int(blocks.log.counts.sum()) - n_levels, 1))
    noise = min(max(noise, MIN_NOISE * ((high - low) or 1.0)), validate.MAX_ABS_VALUE)
    binary = highest <= 1 and all(are_counts for _, _, are_counts in ranges)
    return StateMeans(means, noise, "bernoulli" if binary else None, (lowest, highest))


def _block_range(block: Ratings, _: Threads) -> tuple[float, float, bool]:
    """Return the lowest and the highest rating, and whether all could be counts."""
    low, high = float(block.rating.min(initial=np.inf)), float(block.rating.max(initial=-np.inf))
    return low, high, low >= 0 and bool((block.rating == np.rint(block.rating)).all())


def _state_sums(
    block: Ratings, threads: Threads, shape: tuple[int, int, int], labels: IntArray, membership: FloatArray
) -> FloatArray:
    """Return m×k numbers of raters and sums of ratings."""
    return parallel_sum(add_cells, block, threads, shape, labels, membership)


def _squares(
    block: Ratings, threads: Threads, means: FloatArray, labels: IntArray, membership: FloatArray
) -> FloatArray:
    """Return Σ (rating − mean in the person's state)², weighted by membership."""
    return parallel_sum(add_squares, block, threads, (), labels, membership, means)


def _predicted(utilities: FloatArray, counts: FloatArray, sums: FloatArray, overall: float) -> FloatArray:
    """Return α + β x of one state: the weighted regression line through the means of its actions."""
    total = float(counts.sum())
    if total <= 0.0:
        return np.full(len(utilities), overall)
    level, centre = float(sums.sum()) / total, float(counts @ utilities) / total
    away = utilities - centre
    square = float(counts @ away**2)
    slope = float((sums - level * counts) @ away) / square if square > 0 else 0.0
    return level + max(slope, 0.0) * away


def _separate(fitted: FloatArray, predicted: FloatArray, weight: FloatArray, low: float, high: float) -> FloatArray:
    """Separate equal means as predicted, within a third of the gap on each side, keeping each block's mean."""
    out = fitted.copy()
    edges = [0, *(np.flatnonzero(np.diff(fitted)) + 1).tolist(), len(fitted)]
    for start, end in pairwise(edges):
        away = predicted[start:end] - np.average(predicted[start:end], weights=weight[start:end])
        if away[0] > 0 > away[-1]:
            above = (fitted[start - 1] if start else high) - fitted[start]
            below = fitted[start] - (fitted[end] if end < len(fitted) else low)
            out[start:end] += min(1.0, above / (3 * away[0]), -below / (3 * away[-1])) * away
    return out


def _rounded(means: FloatArray, rating: FloatArray, span: float) -> FloatArray:
    """Round means to decimals that suit the interquartile range of the ratings, or else their range."""
    first, last = np.quantile(rating, [0.25, 0.75])
    width = float(last - first) or span or 1.0
    decimals = DIGITS - math.floor(math.log10(width))
    return np.round(means, decimals) + 0.0 if abs(decimals) < 200 else means  # + 0.0: no mean is −0


@translate_errors("fitting")
def isotonic(values: Any, *, weights: Any = None) -> FloatArray:
    """Return the non-increasing fit to `values` with the least weighted squared error (Proposition 2).

    Parameters
    ----------
    weights
        Positive weights, 1 by default; in a bandit, the number of plays of each action. Leave out unplayed actions.

    Examples
    --------
    >>> isotonic([3.0, 4.0, 1.0], weights=[1, 2, 1]).round(3).tolist()
    [3.667, 3.667, 1.0]
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - heavy, and only fits need it

    clean = validate.as_floats(values, "values", shape=(None,), max_abs=validate.MAX_ABS_VALUE)
    positive = None
    if weights is not None:
        positive = validate.as_floats(weights, "weights", shape=(len(clean),))
        validate.check_entries(positive, "weights", positive <= 0, "be positive", "leave out such values")
    return np.asarray(isotonic_regression(clean, weights=positive, increasing=False).x, dtype=np.float64)
