"""Sweeps over the k×k matrix of meetings, for Bradley-Terry models.

`halves` is symmetric: twice the number of meetings of two actions, zero on the diagonal. With strengths p = exp(β),
P(i beats j) = p_i / (p_i + p_j): one division per cell and no exponential. As the matrix is symmetric, a sweep over
columns low..high−1 walks along rows and adds to one accumulator per column; the innermost loop then has no reduction in
it, is compiled to vector instructions, and every sum has the same order however the columns are shared out.
"""

from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray, IntArray

BLOCK = 512  # columns at work at a time: their accumulators stay in the fastest cache


@jit
def expect(low: int, high: int, halves: Any, p: FloatArray, wins: FloatArray, curvature: FloatArray) -> None:
    """Fill wins[i] = Σ_j w_ij P(i beats j), what the model expects, and curvature[i] = Σ_j w_ij P(i) P(j)."""
    for left in range(low, high, BLOCK):
        right = min(left + BLOCK, high)
        mine = p[left:right].copy()
        total = np.zeros(right - left)
        bend = np.zeros(right - left)
        for j in range(len(p)):
            row = halves[j, left:right]
            other = p[j]
            for i in range(right - left):
                share = 1.0 / (mine[i] + other)
                part = row[i] * share
                total[i] += part
                bend[i] += part * (share * other)
        for i in range(right - left):
            wins[left + i] = 0.5 * mine[i] * total[i]
            curvature[left + i] = 0.5 * mine[i] * bend[i]


@jit
def neighbours(low: int, high: int, halves: Any, p: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill out[i] = Σ_j w_ij P(i) P(j) v_j: the part of the Hessian off its diagonal, times v."""
    for left in range(low, high, BLOCK):
        right = min(left + BLOCK, high)
        mine = p[left:right].copy()
        total = np.zeros(right - left)
        for j in range(len(p)):
            row = halves[j, left:right]
            other = p[j]
            pull = other * v[j]
            for i in range(right - left):
                share = 1.0 / (mine[i] + other)
                total[i] += row[i] * (share * share) * pull
        for i in range(right - left):
            out[left + i] = 0.5 * mine[i] * total[i]


@jit
def squared_neighbours(low: int, high: int, halves: Any, p: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Fill out[i] = Σ_j (w_ij P(i) P(j))² v_j: the second term of the series of the inverse's diagonal."""
    for left in range(low, high, BLOCK):
        right = min(left + BLOCK, high)
        mine = p[left:right].copy()
        total = np.zeros(right - left)
        for j in range(len(p)):
            row = halves[j, left:right]
            other = p[j]
            pull = v[j]
            for i in range(right - left):
                share = 1.0 / (mine[i] + other)
                part = 0.5 * row[i] * (share * share) * (mine[i] * other)
                total[i] += part * part * pull
        for i in range(right - left):
            out[left + i] = total[i]


@jit
def pieces(halves: Any) -> IntArray:
    """Return the number of the connected piece of the comparison graph that each action is in, counted from 0."""
    k = len(halves)
    label = np.full(k, -1, dtype=np.int64)
    queue = np.empty(k, dtype=np.int64)
    found = 0
    for seed in range(k):
        if label[seed] >= 0:
            continue
        label[seed] = found
        queue[0] = seed
        head, tail = 0, 1
        while head < tail:
            row = halves[queue[head]]
            head += 1
            for j in range(k):
                if row[j] > 0 and label[j] < 0:
                    label[j] = found
                    queue[tail] = j
                    tail += 1
        found += 1
    return label
