"""Order-constrained fits: pool adjacent violators on sums and counts."""

import numpy as np

from lpbandits.kernels.compiler import jit, jit_in_place, jit_inline
from lpbandits.kernels.layout import BLOCK_COUNT, BLOCK_SUM, COUNT, SUM
from lpbandits.typing import FloatArray, SlotArray


@jit_inline
def pool(numbers: FloatArray, order: SlotArray, row: int, n: int, watch: int) -> tuple[int, int]:
    """Fit non-increasing means to the n tried actions in the order of `order[row]`.

    Writes each block's count and sum to the scratch rows of `numbers`; returns the number of blocks and the block that
    holds slot `watch` (-1 for a slot that is not there). Two neighbours are pooled when the later mean is at least the
    earlier one, compared by cross-multiplication, so nothing is divided.
    """
    last = -1
    watched = -1
    for i in range(n):
        slot = order[row, i]
        count = numbers[COUNT, slot]
        total = numbers[SUM, slot]
        while last >= 0 and numbers[BLOCK_SUM, last] * count <= total * numbers[BLOCK_COUNT, last]:
            count += numbers[BLOCK_COUNT, last]
            total += numbers[BLOCK_SUM, last]
            last -= 1
        last += 1
        numbers[BLOCK_COUNT, last] = count
        numbers[BLOCK_SUM, last] = total
        if slot == watch:
            watched = last
        elif watched > last:
            watched = last
    return last + 1, watched


@jit_in_place
def fit(numbers: FloatArray, order: SlotArray, row: int, n: int, means: FloatArray) -> int:
    """Write the fitted mean of each tried action, best first, to `means`; return the number of blocks."""
    blocks, _ = pool(numbers, order, row, n, -1)
    i = 0
    for block in range(blocks):
        mean = numbers[BLOCK_SUM, block] / numbers[BLOCK_COUNT, block]
        left = numbers[BLOCK_COUNT, block]
        while i < n and left > 0.0:  # counts are whole, so this subtraction is exact
            left -= numbers[COUNT, order[row, i]]
            means[i] = mean
            i += 1
    return blocks


@jit
def isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the non-increasing weighted least-squares fit to `values` (weights > 0, any real)."""
    n = len(values)
    out = np.empty(n)
    weight = np.empty(n)
    mean = np.empty(n)
    size = np.empty(n, dtype=np.int64)
    last = -1
    for i in range(n):
        w = weights[i]
        v = values[i]
        length = 1
        while last >= 0 and mean[last] <= v:
            total = weight[last] + w
            v = v + (mean[last] - v) * (weight[last] / total)
            w = total
            length += size[last]
            last -= 1
        last += 1
        weight[last] = w
        mean[last] = v
        size[last] = length
    i = 0
    for block in range(last + 1):
        for _ in range(size[block]):
            out[i] = mean[block]
            i += 1
    return out
