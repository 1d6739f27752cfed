"""Sweeps over the k×k matrix of meetings, for Bradley-Terry models.

`halves` is symmetric: twice the number of meetings of two actions, zero on the diagonal. With strengths p = exp(β),
P(i beats j) = p_i / (p_i + p_j): one division per cell and no exponential. As the matrix is symmetric, a sweep over
columns low..high−1 walks along rows and adds to one accumulator per column; the innermost loop then has no reduction in
it, is compiled to vector instructions, and the order of every sum does not depend on the number of threads.
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray

BLOCK = 512  # columns per block: their accumulators stay in the fastest cache


@jit
def expect(low: int, high: int, halves: Any, p: FloatArray, wins: FloatArray, curvature: FloatArray) -> None:
    """Fill the expected wins[i] = Σ_j w_ij P(i beats j), and curvature[i] = Σ_j w_ij P(i) P(j)."""
    for start in range(low, high, BLOCK):
        end = min(start + BLOCK, high)
        columns_p = p[start:end].copy()
        total = np.zeros(end - start)
        bends = np.zeros(end - start)
        for j in range(len(p)):
            row = halves[j, start:end]
            row_p = p[j]
            for i in range(end - start):
                share = 1.0 / (columns_p[i] + row_p)
                part = row[i] * share
                total[i] += part
                bends[i] += part * (share * row_p)
        for i in range(end - start):
            wins[start + i] = 0.5 * columns_p[i] * total[i]
            curvature[start + i] = 0.5 * columns_p[i] * bends[i]


@jit
def neighbours(low: int, high: int, halves: Any, p: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill out[i] = Σ_j w_ij P(i) P(j) v_j: the off-diagonal part of the Hessian times v."""
    for start in range(low, high, BLOCK):
        end = min(start + BLOCK, high)
        columns_p = p[start:end].copy()
        total = np.zeros(end - start)
        for j in range(len(p)):
            row = halves[j, start:end]
            row_p = p[j]
            pull = row_p * v[j]
            for i in range(end - start):
                share = 1.0 / (columns_p[i] + row_p)
                total[i] += row[i] * (share * share) * pull
        for i in range(end - start):
            out[start + i] = 0.5 * columns_p[i] * total[i]


@jit
def squared_neighbours(low: int, high: int, halves: Any, p: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill out[i] = Σ_j (w_ij P(i) P(j))² v_j: the second term of the series of the inverse's diagonal."""
    for start in range(low, high, BLOCK):
        end = min(start + BLOCK, high)
        columns_p = p[start:end].copy()
        total = np.zeros(end - start)
        for j in range(len(p)):
            row = halves[j, start:end]
            row_p = p[j]
            pull = v[j]
            for i in range(end - start):
                share = 1.0 / (columns_p[i] + row_p)
                part = 0.5 * row[i] * (share * share) * (columns_p[i] * row_p)
                total[i] += part * part * pull
        for i in range(end - start):
            out[start + i] = total[i]
