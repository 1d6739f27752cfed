"""Ratings of an action by the people of a state: how many, their sum, and squares about means.

A person counts in the state of their label; or, where there are chances (people × states, else 0 columns), in each
state by its chance. Sums are made in parts, from people edges[part] up to edges[part + 1], that are the same for any
number of threads.
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
    chance: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, ·, z, a]: how many of the part's people in state z rated a, and the sum of these ratings."""
    for part in range(low, high):
        raters, total = sums[part, RATERS], sums[part, SUM]
        raters[:] = 0.0
        total[:] = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            given = rating[offsets[i] : offsets[i + 1]]
            for z in range(chance.shape[1]):
                for t in range(len(rated)):
                    raters[z, rated[t]] += chance[i, z]
                    total[z, rated[t]] += chance[i, z] * given[t]
            if chance.shape[1] == 0:
                for t in range(len(rated)):
                    raters[labels[i], rated[t]] += 1.0
                    total[labels[i], rated[t]] += given[t]


@jit_in_place
def add_squares(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    rating: FloatArray,
    labels: IntArray,
    chance: FloatArray,
    means: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part]: Σ (rating − mean in the person's state)² over the part's people."""
    for part in range(low, high):
        total = 0.0
        for i in range(edges[part], edges[part + 1]):
            rated = action[offsets[i] : offsets[i + 1]]
            given = rating[offsets[i] : offsets[i + 1]]
            for z in range(chance.shape[1]):
                for t in range(len(rated)):
                    away = given[t] - means[z, rated[t]]
                    total += chance[i, z] * (away * away)
            if chance.shape[1] == 0:
                for t in range(len(rated)):
                    away = given[t] - means[labels[i], rated[t]]
                    total += away * away
        sums[part] = total
