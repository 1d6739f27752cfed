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


@jit
def kendall_distances(orderings: IntArray, ranks: IntArray) -> IntArray:
    """Return the m×m numbers of action pairs that two states order differently."""
    m, k = orderings.shape
    out = np.zeros((m, m), dtype=np.int64)
    values = np.empty(k, dtype=np.int64)
    work = np.empty(k, dtype=np.int64)
    for y in range(m):
        for z in range(y + 1, m):
            for i in range(k):
                values[i] = ranks[z, orderings[y, i]]
            out[y, z] = inversions(values, work)
            out[z, y] = out[y, z]
    return out
