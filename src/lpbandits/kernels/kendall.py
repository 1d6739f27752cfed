"""Kendall distance by merge sort: n log n instead of all pairs."""

import numpy as np

from lpbandits.kernels.compiler import jit, jit_in_place
from lpbandits.typing import IntArray


@jit_in_place
def inversions(values: IntArray, work: IntArray) -> int:
    """Return the number of pairs i < j with values[i] > values[j]; sorts `values` in place, `work` is scratch."""
    n = len(values)
    total = 0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            left = start
            right = middle
            for out in range(start, end):
                if left < middle and (right >= end or values[left] <= values[right]):
                    work[out] = values[left]
                    left += 1
                else:
                    work[out] = values[right]
                    right += 1
                    total += middle - left
        for i in range(n):
            values[i] = work[i]
        width *= 2
    return total


@jit_in_place
def sort_ties(by: IntArray, order: IntArray, values: IntArray, work: IntArray) -> int:
    """Sort the values of actions that `by` ranks equal; `values` and `by` are read in this order of the actions.

    Return the number of pairs that are equal in both.
    """
    equal = 0
    start = 0
    n = len(values)
    while start < n:
        end = start + 1
        while end < n and by[order[end]] == by[order[start]]:
            end += 1
        inversions(values[start:end], work)
        run = 0
        for i in range(start + 1, end):
            run = run + 1 if values[i] == values[i - 1] else 0
            equal += run
        start = end
    return equal


@jit
def kendall_distances(ranks: IntArray, others: IntArray, symmetric: bool) -> IntArray:
    """Return twice the number of action pairs that a row of `ranks` and one of `others` order differently.

    A pair that is tied in one of them counts half. `symmetric`: both are the same array.
    """
    k = ranks.shape[1]
    out = np.zeros((len(ranks), len(others)), dtype=np.int64)
    values = np.empty(k, dtype=np.int64)
    work = np.empty(k, dtype=np.int64)
    for y in range(len(ranks)):
        order = np.argsort(ranks[y])
        values[:] = 0
        tied = sort_ties(ranks[y], order, values, work)
        for z in range(y + 1 if symmetric else 0, len(others)):
            values[:] = others[z]
            inversions(values, work)
            tied_other = 0
            run = 0
            for i in range(1, k):
                run = run + 1 if values[i] == values[i - 1] else 0
                tied_other += run
            for i in range(k):
                values[i] = others[z, order[i]]
            both = sort_ties(ranks[y], order, values, work)
            out[y, z] = 2 * inversions(values, work) + tied + tied_other - 2 * both
            if symmetric:
                out[z, y] = out[y, z]
    return out
