"""Sums of ratings per state and action: number, total, and squares about means.

A person counts in the state of the label or, if `membership` (people × states) has columns, in each state by its
probability. Sums are made per part: people edges[part] up to edges[part + 1]. Parts do not depend on the number of
threads.
"""

from typing import Any

from lpbandits.kernels.compiler import jit_in_place
from lpbandits.typing import FloatArray, IntArray

RATERS, SUM = 0, 1  # rows of a part's sums


@jit_in_place
def add_cells(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    labels: IntArray,
    membership: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, ·, z, a]: number and sum of the ratings of a by the part's people of state z."""
    for part in range(low, high):
        raters, total = sums[part, RATERS], sums[part, SUM]
        raters[:] = 0.0
        total[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            for z in range(membership.shape[1]):
                for t in range(len(rated)):
                    raters[z, rated[t]] += membership[i, z]
                    total[z, rated[t]] += membership[i, z] * values[t]
            if membership.shape[1] == 0:
                for t in range(len(rated)):
                    raters[labels[i], rated[t]] += 1.0
                    total[labels[i], rated[t]] += values[t]


@jit_in_place
def add_squares(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    labels: IntArray,
    membership: FloatArray,
    means: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part]: Σ (rating − mean in the person's state)² over the part's people."""
    for part in range(low, high):
        total = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            values = rating[offsets[i] : offsets[i + 1]]
            for z in range(membership.shape[1]):
                for t in range(len(rated)):
                    away = values[t] - means[z, rated[t]]
                    total += membership[i, z] * (away * away)
            if membership.shape[1] == 0:
                for t in range(len(rated)):
                    away = values[t] - means[labels[i], rated[t]]
                    total += away * away
        sums[part] = total
