"""Bradley-Terry models: sweeps over the k×k counts of comparisons, and squared residuals of each person.

`doubled` is symmetric: twice the number w_ij of comparisons of two actions, zero on the diagonal. With strengths
p = exp(β), P(i beats j) = p_i / (p_i + p_j): one division per cell and no exponential. As the matrix is symmetric, a
sweep over columns low..high−1 walks along rows and adds to one accumulator per column. The innermost loop then has no
reduction, is compiled to vector instructions, and the order of every sum does not depend on the number of threads.
"""

from typing import Any

import numpy as np

from lpbandits.fit.kernels.comparisons import SortedHistories
from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray, IntArray

BLOCK = 512  # columns per block: their accumulators stay in the fastest cache
SQUARES, CURVATURE, RATERS = 0, 1, 2  # rows of a part's sums in `scatter_parts`


@jit
def expected_wins(low: int, high: int, doubled: Any, p: FloatArray, wins: FloatArray, curvature: FloatArray) -> None:
    """Fill the expected wins[i] = Σ_j w_ij P(i beats j), and curvature[i] = Σ_j w_ij P(i) P(j)."""
    for start in range(low, high, BLOCK):
        end = min(start + BLOCK, high)
        columns_p = p[start:end].copy()
        total = np.zeros(end - start)
        curvatures = np.zeros(end - start)
        for j in range(len(p)):
            row = doubled[j, start:end]
            row_p = p[j]
            for i in range(end - start):
                share = 1.0 / (columns_p[i] + row_p)
                part = row[i] * share
                total[i] += part
                curvatures[i] += part * (share * row_p)
        for i in range(end - start):
            wins[start + i] = 0.5 * columns_p[i] * total[i]
            curvature[start + i] = 0.5 * columns_p[i] * curvatures[i]


@jit
def hessian_off_diagonal(low: int, high: int, doubled: Any, p: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill out[i] = Σ_j w_ij P(i) P(j) v_j: the off-diagonal part of the Hessian times v."""
    for start in range(low, high, BLOCK):
        end = min(start + BLOCK, high)
        columns_p = p[start:end].copy()
        total = np.zeros(end - start)
        for j in range(len(p)):
            row = doubled[j, start:end]
            row_p = p[j]
            pull = row_p * v[j]
            for i in range(end - start):
                share = 1.0 / (columns_p[i] + row_p)
                total[i] += row[i] * (share * share) * pull
        for i in range(end - start):
            out[start + i] = 0.5 * columns_p[i] * total[i]


@jit
def squared_off_diagonal(low: int, high: int, doubled: Any, p: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill out[i] = Σ_j (w_ij P(i) P(j))² v_j: the second term of the series of the inverse's diagonal."""
    for start in range(low, high, BLOCK):
        end = min(start + BLOCK, high)
        columns_p = p[start:end].copy()
        total = np.zeros(end - start)
        for j in range(len(p)):
            row = doubled[j, start:end]
            row_p = p[j]
            pull = v[j]
            for i in range(end - start):
                share = 1.0 / (columns_p[i] + row_p)
                part = 0.5 * row[i] * (share * share) * (columns_p[i] * row_p)
                total[i] += part * part * pull
        for i in range(end - start):
            out[start + i] = total[i]


@jit
def scatter_parts(
    low: int, high: int, edges: IntArray, histories: SortedHistories, weights: Any, p: FloatArray, sums: FloatArray
) -> None:
    """Fill sums[part, ·, a] over histories edges[part]..edges[part + 1]−1: Σ g², Σ curvature, Σ `people`.

    Action a of a history has the residual g = w · (wins_a − Σ_j p_a / (p_a + p_j)), with half a win for a tie, and the
    curvature w · Σ_j p_a p_j / (p_a + p_j)². `weights` is (people, weight): the probability that a history's person is
    in the state, and this times the weight of the history's comparisons. An action is in one history per person only,
    so residuals of people are those of histories. Parts do not depend on the number of threads. Each pair is visited
    twice, so that the inner loop has no reduction and is vectorised.
    """
    offsets, action, below, through = histories
    people, weight = weights
    longest = 0
    for g in range(edges[low], edges[high]):
        longest = max(longest, offsets[g + 1] - offsets[g])
    strength = np.empty(longest)
    share = np.empty(longest)
    curvature = np.empty(longest)
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
                curvature[i] = 0.0
            for j in range(n):
                p_j = strength[j]
                share_j, curvature_j = share[j], curvature[j]
                for i in range(n):
                    inverse = 1.0 / (strength[i] + p_j)
                    share[i] += inverse
                    curvature[i] += inverse * (inverse * p_j)
                share[j], curvature[j] = share_j, curvature_j  # an action is not compared with itself
            for i in range(n):
                at = start + i
                wins = below[at] - start + 0.5 * (through[at] - below[at] - 1)
                residual = weight[g] * (wins - strength[i] * share[i])
                sums[part, SQUARES, action[at]] += residual * residual
                sums[part, CURVATURE, action[at]] += weight[g] * (strength[i] * curvature[i])
                sums[part, RATERS, action[at]] += people[g]
