"""Exact means over all arrangements of a person's ratings over the rated actions.

A person has the values y_1 < y_2 < …, each n_b times, and rated actions with the utilities u_a. An arrangement gives a
value y_a to each action. With strength c, the log of the mean of exp(c Σ_a y_a u_a) over all distinct arrangements is
computed by adding up the terms of partial arrangements: the first j actions use j of the values, counted by value.
"""

import math
from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray


@jit
def arrangement_means(
    low: int, high: int, people: Any, means: FloatArray, strengths: FloatArray, out: FloatArray
) -> None:
    """Fill out[i, z, s] with log mean exp(strength_s Σ_a y_a u_za) for people low to high − 1.

    `people` is (offsets, action, value), values increasing within a person. Z[used] = Σ_b exp(c u_j (y_b − y*_j))
    Z[used − 1 of value b], where j is the number of values used and y* the arrangement with the largest sum: its term
    is 1, so that nothing underflows.
    """
    offsets, action, value = people
    for i in range(low, high):
        n = offsets[i + 1] - offsets[i]
        y = value[offsets[i] : offsets[i + 1]]
        rated = action[offsets[i] : offsets[i + 1]]
        distinct, size, stride = np.empty(n), np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
        n_values = 0
        log_arrangements = math.lgamma(n + 1.0)
        for t in range(n):
            if t == 0 or y[t] > y[t - 1]:
                distinct[n_values] = y[t]
                n_values += 1
            size[n_values - 1] += 1
            log_arrangements -= math.log(size[n_values - 1])
        n_cells = 1
        for b in range(n_values):
            stride[b] = n_cells
            n_cells *= size[b] + 1
        cells, used = np.empty(n_cells), np.empty(n_values, dtype=np.int64)
        utilities, weight = np.empty(n), np.empty((n, n_values))
        for z in range(means.shape[1]):
            for t in range(n):
                utilities[t] = means[rated[t], z]
            utilities.sort()
            utilities -= utilities.mean()
            largest = 0.0
            for t in range(n):
                largest += utilities[t] * y[t]
            for s in range(len(strengths)):
                for t in range(n):
                    for b in range(n_values):
                        weight[t, b] = math.exp(strengths[s] * utilities[t] * (distinct[b] - y[t]))
                used[:] = 0
                n_used = 0
                cells[0] = 1.0
                for cell in range(1, n_cells):
                    b = 0
                    while used[b] == size[b]:  # count up: `used` has one digit per value
                        n_used -= used[b]
                        used[b] = 0
                        b += 1
                    used[b] += 1
                    n_used += 1
                    total = 0.0
                    for b in range(n_values):
                        if used[b] > 0:
                            total += weight[n_used - 1, b] * cells[cell - stride[b]]
                    cells[cell] = total
                out[i, z, s] = strengths[s] * largest + math.log(cells[n_cells - 1]) - log_arrangements
