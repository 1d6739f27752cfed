"""How much people differ in what they say of an action: sums over people, for errors clustered by person.

With β the utilities, p = exp(β) and n ratings in a history, action a of it has the residual
g = w · (wins_a − Σ_j p_a / (p_a + p_j)), ties half wins, and the curvature w · Σ_j p_a p_j / (p_a + p_j)².
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray, IntArray

SQUARES, CURVATURE, RATERS = 0, 1, 2  # rows of a part's sums


@jit
def scatter_parts(
    low: int,
    high: int,
    edges: IntArray,
    offsets: IntArray,
    action: Any,
    below: Any,
    through: Any,
    people: FloatArray,
    weight: FloatArray,
    p: FloatArray,
    sums: FloatArray,
) -> None:
    """Fill sums[part, ·, a] over histories edges[part]..edges[part + 1]−1: Σ g², Σ curvature, Σ people.

    `people` is how much of its person a history stands for in the state, `weight` that times the weight of its
    comparisons. An action is in one history of a person only, so a person's residual is a history's. Parts are the same
    for any number of threads. Every pair is met twice: then the inner loop has no reduction in it and is vectorised.
    """
    longest = 0
    for g in range(edges[low], edges[high]):
        longest = max(longest, offsets[g + 1] - offsets[g])
    mine = np.empty(longest)
    share = np.empty(longest)
    bend = np.empty(longest)
    for part in range(low, high):
        sums[part] = 0.0
        for g in range(edges[part], edges[part + 1]):
            start = offsets[g]
            n = offsets[g + 1] - start
            if n < 2 or people[g] <= 0.0:
                continue
            for i in range(n):
                mine[i] = p[action[start + i]]
                share[i] = 0.0
                bend[i] = 0.0
            for j in range(n):
                other = mine[j]
                for i in range(n):
                    one = 1.0 / (mine[i] + other)
                    share[i] += one
                    bend[i] += one * (one * other)
            for i in range(n):
                at = start + i
                wins = below[at] - start + 0.5 * (through[at] - below[at])  # with half a tie against itself, as below
                residual = weight[g] * (wins - mine[i] * share[i])
                sums[part, SQUARES, action[at]] += residual * residual
                sums[part, CURVATURE, action[at]] += weight[g] * (mine[i] * bend[i] - 0.25)
                sums[part, RATERS, action[at]] += people[g]
