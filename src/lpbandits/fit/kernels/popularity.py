"""What people like, each in their own units, as sums over people.

Person i's rating of action a is y = (rating − mean_i) / spread_i in their own units, and what is left of it after the
likings u, and after those of states that the person has chances of, is e = y − u_a − Σ_z chance_iz shift_az − α_i with
an offset α_i that makes the mean over their ratings 0. Sums are made in parts, from people edges[part] up to
edges[part + 1], that are the same for any number of threads.
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.typing import BoolArray, FloatArray, IntArray

RATERS, LIKED = 0, 1  # rows of a part's sums: how many rated an action, and Σ y
NOWHERE = 2**16 - 1  # the place of an action without one


@jit_in_place
def own_scales(low: int, high: int, offsets: IntArray, rating: FloatArray, means: FloatArray, spreads: Any) -> None:
    """Fill the mean and the standard deviation of the ratings of people low..high−1: 0 for one without any."""
    for i in range(low, high):
        own = rating[offsets[i] : offsets[i + 1]]
        n = max(len(own), 1)
        total = 0.0
        for t in range(len(own)):
            total += own[t]
        mean = total / n
        squares = 0.0
        for t in range(len(own)):
            squares += (own[t] - mean) * (own[t] - mean)
        means[i] = mean
        spreads[i] = np.sqrt(squares / n)


@jit_in_place
def add_liked(
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
        raters, liked = sums[part, RATERS], sums[part, LIKED]
        raters[:] = 0.0
        liked[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            if used[i]:
                rated = action[offsets[i] : offsets[i + 1]]
                own = rating[offsets[i] : offsets[i + 1]]
                for t in range(len(rated)):
                    raters[rated[t]] += 1.0
                    liked[rated[t]] += (own[t] - means[i]) / spreads[i]


@jit_in_place
def add_levels(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    used: BoolArray,
    likings: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, a] over the people in use who rated a: Σ of how much each likes, on average, what they rated.

    That is minus their offset, since the mean of a person's y is 0.
    """
    for part in range(low, high):
        levels = sums[part]
        levels[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            if used[i] and len(rated):
                total = 0.0
                for t in range(len(rated)):
                    total += likings[rated[t]]
                level = total / len(rated)
                for t in range(len(rated)):
                    levels[rated[t]] += level


@kernel
def left_of(y: float, i: int, a: int, likings: FloatArray, chance: FloatArray, shifts: FloatArray) -> float:
    """Return y − u_a − Σ_z chance_iz shift_az."""
    left = y - likings[a]
    for z in range(chance.shape[1]):
        left -= chance[i, z] * shifts[a, z]
    return left


@jit_in_place
def count_placed(
    low: int, high: int, offsets: IntArray, action: Any, used: BoolArray, place: Any, counts: IntArray
) -> None:
    """Fill how many actions with a place people low..high−1 rated: 0 for those not in use."""
    for i in range(low, high):
        counts[i] = 0
        if used[i]:
            rated = action[offsets[i] : offsets[i + 1]]
            for t in range(len(rated)):
                counts[i] += place[rated[t]] != NOWHERE


@jit_in_place
def leave(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    used: BoolArray,
    means: FloatArray,
    spreads: FloatArray,
    chance: FloatArray,
    likings: FloatArray,
    shifts: FloatArray,
    place: Any,
    out_offsets: IntArray,
    out_place: Any,
    out_left: FloatArray,
    own: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill each person's offset α, e with its place for actions that have one, and sums[part, a] = Σ e²."""
    for part in range(low, high):
        squares = sums[part]
        squares[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            own[i] = 0.0
            rated = action[offsets[i] : offsets[i + 1]]
            given = rating[offsets[i] : offsets[i + 1]]
            if not used[i] or not len(rated):
                continue
            total = 0.0
            for t in range(len(rated)):
                total += left_of((given[t] - means[i]) / spreads[i], i, rated[t], likings, chance, shifts)
            own[i] = total / len(rated)
            at = out_offsets[i]
            for t in range(len(rated)):
                a = rated[t]
                left = left_of((given[t] - means[i]) / spreads[i], i, a, likings, chance, shifts) - own[i]
                squares[a] += left * left
                if place[a] != NOWHERE:
                    out_place[at] = place[a]
                    out_left[at] = left
                    at += 1
