"""Order-constrained fits: pool adjacent violators on sums and counts."""

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BLOCK_COUNT, BLOCK_SUM, COUNT, SUM, Arrays
from lpbandits.typing import FloatArray


@kernel
def pool(b: Arrays, row: int, n: int) -> int:
    """Fit non-increasing means to the n tried actions in the order of `b.order[row]`; return the number of blocks.

    Counts and sums of the blocks are written to `b.work`, best first. Neighbours are pooled if the later mean is at
    least the earlier one, compared by cross-multiplication, without division. The current block stays in registers.
    """
    slots, order, work = b.slots, b.order, b.work
    one = np.uint64(1)  # an unsigned index needs no check of its sign
    done = np.uint64(0)
    if n == 0:
        return 0
    slot = order[row, 0]
    count = slots[COUNT, slot]
    total = slots[SUM, slot]
    for i in range(1, n):
        slot = order[row, i]
        next_count = slots[COUNT, slot]
        next_total = slots[SUM, slot]
        if total * next_count <= next_total * count:
            count += next_count
            total += next_total
            while done > 0 and work[BLOCK_SUM, done - one] * count <= total * work[BLOCK_COUNT, done - one]:
                done -= one
                count += work[BLOCK_COUNT, done]
                total += work[BLOCK_SUM, done]
        else:
            work[BLOCK_COUNT, done] = count
            work[BLOCK_SUM, done] = total
            done += one
            count = next_count
            total = next_total
    work[BLOCK_COUNT, done] = count
    work[BLOCK_SUM, done] = total
    return int(done + one)


@kernel
def block_squares(b: Arrays, blocks: int, centre: float) -> float:
    """Return Σ_blocks N (mean − centre)² of the latest fit of `pool`."""
    squares = 0.0
    for i in range(blocks):
        squares += (b.work[BLOCK_SUM, i] - centre * b.work[BLOCK_COUNT, i]) ** 2 / b.work[BLOCK_COUNT, i]
    return squares


@kernel
def fitted_at(b: Arrays, n: int, state: int, action: int) -> float:
    """Return the mean of one action in the latest fit of `pool`, which is that of this state.

    The mean of an untried action is interpolated by rank between its tried neighbours; before the first and after the
    last tried action it is constant.
    """
    rank = b.ranks[state, action]
    block = 0
    remaining = b.work[BLOCK_COUNT, 0]
    before = 0  # block and rank of the previous tried action
    rank_before = -1
    for i in range(n):
        if remaining <= 0.0:
            block += 1
            remaining = b.work[BLOCK_COUNT, block]
        slot = b.order[1 + state, i]
        remaining -= b.slots[COUNT, slot]  # counts are whole, so this subtraction is exact
        behind = b.ranks[state, b.order[0, slot]]
        if behind >= rank:
            mean = b.work[BLOCK_SUM, block] / b.work[BLOCK_COUNT, block]
            if behind == rank or i == 0:
                return mean
            mean_before = b.work[BLOCK_SUM, before] / b.work[BLOCK_COUNT, before]
            share = (rank - rank_before) / (behind - rank_before)
            return mean_before + share * (mean - mean_before)
        before = block
        rank_before = behind
    return b.work[BLOCK_SUM, block] / b.work[BLOCK_COUNT, block]


@kernel
def fitted_means(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write the mean of every action in the isotonic fit of a state; 0 if nothing was tried."""
    pool(b, 1 + state, n)
    for action in range(b.ranks.shape[1]):
        out[action] = fitted_at(b, n, state, action) if n > 0 else 0.0


@kernel
def fitted_one(b: Arrays, n: int, state: int, action: int) -> float:
    """Return the mean of one action in the isotonic fit of a state; NaN if nothing was tried."""
    pool(b, 1 + state, n)
    return fitted_at(b, n, state, action) if n > 0 else np.nan
