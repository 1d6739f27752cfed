"""Sums over people of standardized ratings, for item means and residuals.

Person i's rating of action a in standard units is y = (rating − mean_i) / sd_i. Its residual is e = y − u_a − α_i, with
the item mean u_a and the offset α_i that makes the mean residual of the person 0. Sums are made per part: people
edges[part] up to edges[part + 1]. Parts do not depend on the number of threads.
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import BoolArray, FloatArray, IntArray

RATERS, TOTAL = 0, 1  # rows of a part's sums: number of raters of an action, and Σ y
NOWHERE = 2**16 - 1  # the place of an action without covariances


@jit_in_place
def person_scales(low: int, high: int, offsets: IntArray, rating: FloatArray, means: FloatArray, spreads: Any) -> None:
    """Fill the mean and the standard deviation of the ratings of people low..high−1; 0 without ratings."""
    for i in range(low, high):
        values = rating[offsets[i] : offsets[i + 1]]
        n = max(len(values), 1)
        total = 0.0
        for t in range(len(values)):
            total += values[t]
        mean = total / n
        squares = 0.0
        for t in range(len(values)):
            squares += (values[t] - mean) * (values[t] - mean)
        means[i] = mean
        spreads[i] = np.sqrt(squares / n)


@jit_in_place
def add_ratings(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    used: BoolArray,
    means: FloatArray,
    spreads: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, ·, a] over the people in use who rated a: their number, and Σ y."""
    for part in range(low, high):
        raters, totals = sums[part, RATERS], sums[part, TOTAL]
        raters[:] = 0.0
        totals[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            if used[i]:
                rated = action[offsets[i] : offsets[i + 1]]
                values = rating[offsets[i] : offsets[i + 1]]
                for t in range(len(rated)):
                    raters[rated[t]] += 1.0
                    totals[rated[t]] += (values[t] - means[i]) / spreads[i]


@jit_in_place
def add_levels(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    used: BoolArray,
    items: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, a]: Σ of −α_i, the mean of u over what person i rated, over the people in use who rated a."""
    for part in range(low, high):
        levels = sums[part]
        levels[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            if used[i] and len(rated):
                total = 0.0
                for t in range(len(rated)):
                    total += items[rated[t]]
                level = total / len(rated)
                for t in range(len(rated)):
                    levels[rated[t]] += level


@jit_in_place
def count_placed(
    low: int, high: int, offsets: IntArray, action: Any, used: BoolArray, place: Any, counts: IntArray
) -> None:
    """Fill the number of actions with a place that each of people low..high−1 rated; 0 for people not in use."""
    for i in range(low, high):
        counts[i] = 0
        if used[i]:
            rated = action[offsets[i] : offsets[i + 1]]
            for t in range(len(rated)):
                counts[i] += place[rated[t]] != NOWHERE


@jit_in_place
def residuals(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    used: BoolArray,
    means: FloatArray,
    spreads: FloatArray,
    items: FloatArray,
    place: Any,
    out_offsets: IntArray,
    out_place: Any,
    out_residual: FloatArray,
    alpha: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill each person's α, e with its place for actions that have one, and sums[part, a] = Σ e²."""
    for part in range(low, high):
        squares = sums[part]
        squares[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            alpha[i] = 0.0
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            if not used[i] or not len(rated):
                continue
            total = 0.0
            for t in range(len(rated)):
                total += (values[t] - means[i]) / spreads[i] - items[rated[t]]
            alpha[i] = total / len(rated)
            at = out_offsets[i]
            for t in range(len(rated)):
                a = rated[t]
                e = (values[t] - means[i]) / spreads[i] - items[a] - alpha[i]
                squares[a] += e * e
                if place[a] != NOWHERE:
                    out_place[at] = place[a]
                    out_residual[at] = e
                    at += 1
