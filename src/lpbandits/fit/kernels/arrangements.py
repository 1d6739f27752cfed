"""Means over all arrangements of a person's ratings over the rated actions.

A person has the values y_1 < y_2 < …, each n_b times, and rated actions with the utilities u_a. An arrangement gives a
value y_a to each action. With strength c, the log of the mean of exp(c Σ_a y_a u_a) over all distinct arrangements is
computed by adding up the terms of partial arrangements: the first j actions use j of the values, counted by value.
"""

import math
from typing import Any

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.typing import FloatArray

MAX_SCALINGS, MAX_UNEVEN = 60, 0.01
"""Rows and columns are scaled at most this number of times, and until the sums of rows are as close to 1."""

CERTAIN = 1e-12
"""A number of choices with a smaller variance is certain."""


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


@jit
def scaled_means(low: int, high: int, people: Any, means: FloatArray, strengths: FloatArray, out: FloatArray) -> None:
    """Fill `out` as `arrangement_means` does, approximately, in about n³ steps for n ratings.

    The mean is the permanent of the matrix exp(c y_i u_j), divided by n!. The permanent is that of a matrix B with row
    and column sums 1, times the factors that scale B to this matrix.
    """
    offsets, action, value = people
    for i in range(low, high):
        n = offsets[i + 1] - offsets[i]
        y = value[offsets[i] : offsets[i + 1]]
        utilities, rows, columns, sums = np.empty(n), np.empty(n), np.empty(n), np.empty((2, n))
        b, covariance = np.empty((n, n)), np.empty((n, n))
        for z in range(means.shape[1]):
            for j in range(n):
                utilities[j] = means[action[offsets[i] + j], z]
            utilities.sort()
            utilities -= utilities.mean()
            rows[:] = 0.0
            columns[:] = 0.0
            for s in range(len(strengths)):
                grown = strengths[s] / strengths[max(s - 1, 0)]  # begin with the factors of the strength before
                rows *= grown
                columns *= grown
                for t in range(n):
                    for j in range(n):
                        b[t, j] = math.exp(strengths[s] * y[t] * utilities[j] - rows[t] - columns[j])
                scale_to_one(b, rows, columns, sums)
                out[i, z, s] = rows.sum() + columns.sum() + log_permanent(b, covariance) - math.lgamma(n + 1.0)


@jit
def scale_to_one(b: FloatArray, rows: FloatArray, columns: FloatArray, sums: FloatArray) -> None:
    """Scale rows and columns in turn until all sums are nearly 1; add the logs of sums to `rows` and `columns`."""
    n = len(b)
    row_sums, column_sums = sums
    for t in range(n):
        row_sums[t] = b[t].sum()
    for _ in range(MAX_SCALINGS):
        column_sums[:] = 0.0
        for t in range(n):
            rows[t] += math.log(row_sums[t])
            factor = 1.0 / row_sums[t]
            for j in range(n):
                b[t, j] *= factor
                column_sums[j] += b[t, j]
        for j in range(n):
            columns[j] += math.log(column_sums[j])
            column_sums[j] = 1.0 / column_sums[j]
        uneven = 0.0
        for t in range(n):
            for j in range(n):
                b[t, j] *= column_sums[j]
            row_sums[t] = b[t].sum()
            uneven = max(uneven, abs(row_sums[t] - 1.0))
        if uneven < MAX_UNEVEN:
            break


@jit
def log_permanent(b: FloatArray, covariance: FloatArray) -> float:
    """Return the approximate log of the permanent of a matrix with row and column sums 1.

    If each row i chooses a column with the probabilities B_ij, the permanent is the probability that each column is
    chosen once: the product over columns j of the probability that j is chosen once if all columns before it are.
    The numbers of choices have the covariance I − BᵀB. With p the variance for j, given the columns before it, the
    probability is 1 − p for p ≤ ½, and p^(p / (1 − p)) above: exact for at most two choices, and for rows that choose
    among the same m columns at random (p = 1 − 1/m).
    """
    n = len(b)
    for j in range(n):
        for k in range(j, n):
            covariance[j, k] = 1.0 if j == k else 0.0
    for t in range(n):
        for j in range(n):
            for k in range(j, n):
                covariance[j, k] -= b[t, j] * b[t, k]
    out = 0.0
    for j in range(n - 1):  # the others determine the last
        p = covariance[j, j]
        if p > CERTAIN:
            out += math.log(1.0 - p) if p <= 0.5 else p / (1.0 - p) * math.log(p)
            for k in range(j + 1, n):
                factor = covariance[j, k] / p
                for m in range(k, n):
                    covariance[k, m] -= factor * covariance[j, m]
    return out
