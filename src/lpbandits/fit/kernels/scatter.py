"""Sums over people of squared residuals, for standard errors clustered by person.

With β the utilities, p = exp(β) and n ratings in a history, action a of it has the residual
g = w · (wins_a − Σ_j p_a / (p_a + p_j)), ties half wins, and the curvature w · Σ_j p_a p_j / (p_a + p_j)².
"""

from typing import Any

import numpy as np

from lpbandits.fit.kernels.comparisons import SortedHistories
from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray, IntArray

SQUARES, CURVATURE, RATERS = 0, 1, 2  # rows of a part's sums


@jit
def scatter_parts(
    low: int, high: int, edges: IntArray, histories: SortedHistories, weights: Any, p: FloatArray, sums: FloatArray
) -> None:
    """Fill sums[part, ·, a] over histories edges[part]..edges[part + 1]−1: Σ g², Σ curvature, Σ `people`.

    `weights` is (people, weight): the probability that a history's person is in the state, and this times the weight of
    the history's comparisons. An action is in one history per person only, so residuals of people are those of
    histories. Parts do not depend on the number of threads. Each pair is visited twice, so that the inner loop has no
    reduction and is vectorised.
    """
    offsets, action, below, through = histories
    people, weight = weights
    longest = 0
    for g in range(edges[low], edges[high]):
        longest = max(longest, offsets[g + 1] - offsets[g])
    strength = np.empty(longest)
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
                strength[i] = p[action[start + i]]
                share[i] = 0.0
                bend[i] = 0.0
            for j in range(n):
                p_j = strength[j]
                share_j, bend_j = share[j], bend[j]
                for i in range(n):
                    inverse = 1.0 / (strength[i] + p_j)
                    share[i] += inverse
                    bend[i] += inverse * (inverse * p_j)
                share[j], bend[j] = share_j, bend_j  # an action is not compared with itself
            for i in range(n):
                at = start + i
                wins = below[at] - start + 0.5 * (through[at] - below[at] - 1)
                residual = weight[g] * (wins - strength[i] * share[i])
                sums[part, SQUARES, action[at]] += residual * residual
                sums[part, CURVATURE, action[at]] += weight[g] * (strength[i] * bend[i])
                sums[part, RATERS, action[at]] += people[g]
