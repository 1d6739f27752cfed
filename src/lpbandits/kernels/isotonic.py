"""Order-constrained fits: pool adjacent violators on sums and counts.

With tiers, every action of a better tier has a mean at least that of every action of a worse one. Given bounds, the
fit within a tier clips the actions' own means to them, which keeps their order. The fit is therefore that of the total
order by tier and, within a tier, by mean reward: the order in which `b.order` holds the slots.
"""

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BLOCK_COUNT, BLOCK_SUM, COUNT, REWARDS, SUM, TIERED, Arrays
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

    The mean of an untried action is that of the tried actions of its tier. Without any it is interpolated by rank
    between the tried neighbours, the worst action above and the best one below; beyond the outermost it is constant.
    """
    rank = b.ranks[state, action]
    block = 0
    remaining = b.work[BLOCK_COUNT, 0]
    before = 0  # block and rank of the previous tried action
    rank_before = -1
    total = 0.0  # over tried actions of its tier
    members = 0
    for i in range(n):
        if remaining <= 0.0:
            block += 1
            remaining = b.work[BLOCK_COUNT, block]
        slot = b.order[1 + state, i]
        remaining -= b.slots[COUNT, slot]  # counts are whole, so this subtraction is exact
        behind = b.ranks[state, b.order[0, slot]]
        if behind >= rank:
            mean = b.work[BLOCK_SUM, block] / b.work[BLOCK_COUNT, block]
            if b.order[0, slot] == action:
                return mean
            if behind == rank:
                total += mean
                members += 1
                continue
            if members > 0:
                break
            if i == 0:
                return mean
            mean_before = b.work[BLOCK_SUM, before] / b.work[BLOCK_COUNT, before]
            share = (rank - rank_before) / (behind - rank_before)
            return mean_before + share * (mean - mean_before)
        before = block
        rank_before = behind
    if members > 0:
        return total / members
    return b.work[BLOCK_SUM, block] / b.work[BLOCK_COUNT, block]


@kernel
def active_constraints(b: Arrays, n: int, state: int, blocks: int) -> int:
    """Return the number of order constraints that hold with equality in the latest fit of `pool`.

    It is the number of tried actions less one in each block; a block within one tier has no constraint.
    """
    if b.settings[REWARDS, TIERED] == 0.0:
        return n - blocks
    active = 0
    i = 0
    for block in range(blocks):
        remaining = b.work[BLOCK_COUNT, block]
        first = i
        while remaining > 0.0:
            remaining -= b.slots[COUNT, b.order[1 + state, i]]
            i += 1
        best, worst = b.order[0, b.order[1 + state, first]], b.order[0, b.order[1 + state, i - 1]]
        if b.ranks[state, best] < b.ranks[state, worst]:
            active += i - 1 - first
    return active


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
