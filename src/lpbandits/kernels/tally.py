"""Record outcomes: one slot per tried action, sorted by each state's order."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import COUNT, FAMILY, GAUSSIAN_UNKNOWN, NOISE, REWARDS, SPREAD, SUM, TIERED, Arrays
from lpbandits.typing import FloatArray, Int32Array, SlotArray


@kernel
def find(order: SlotArray, n: int, action: int) -> int:
    """Return the slot of `action`, or -1 if it was never tried."""
    for slot in range(n):
        if order[0, slot] == action:
            return slot
    return -1


@kernel
def totals(b: Arrays, n: int) -> tuple[float, float]:
    """Return the number and the sum of all rewards."""
    count = 0.0
    total = 0.0
    for slot in range(n):
        count += b.slots[COUNT, slot]
        total += b.slots[SUM, slot]
    return count, total


@kernel
def mean_reward(b: Arrays, slot: int) -> float:
    """Return the mean reward of a tried action."""
    return b.slots[SUM, slot] / b.slots[COUNT, slot]


@kernel
def confidence_width(b: Arrays, slot: int, log_rounds: float) -> float:
    """Return σ √(2 log t / n), the distance of UCB1's confidence bounds from the mean reward of a tried action."""
    return b.settings[REWARDS, NOISE] * np.sqrt(2.0 * log_rounds / b.slots[COUNT, slot])


@jit_in_place
def place(ranks: Int32Array, order: SlotArray, n: int, action: int) -> None:
    """Give `action` slot n, and insert the slot into every state's order."""
    order[0, n] = action
    for row in range(1, order.shape[0]):
        rank = ranks[row - 1, action]
        i = n
        while i > 0 and ranks[row - 1, order[0, order[row, i - 1]]] > rank:
            order[row, i] = order[row, i - 1]
            i -= 1
        order[row, i] = n


@kernel
def precedes(ranks: Int32Array, slots: FloatArray, order: SlotArray, row: int, one: int, other: int) -> bool:
    """Return whether a slot is before another: in a better tier, or in the same with a larger mean.

    Of equal means the earlier slot is first, so that the order depends on the slots alone.
    """
    rank, other_rank = ranks[row - 1, order[0, one]], ranks[row - 1, order[0, other]]
    if rank != other_rank:
        return rank < other_rank
    mean, other_mean = slots[SUM, one] / slots[COUNT, one], slots[SUM, other] / slots[COUNT, other]
    return mean > other_mean or (mean == other_mean and one < other)


@jit_in_place
def place_in_tiers(ranks: Int32Array, slots: FloatArray, order: SlotArray, n: int, slot: int) -> None:
    """Move a slot whose mean has changed to its place in every state's order."""
    for row in range(1, order.shape[0]):
        i = 0
        while order[row, i] != slot:
            i += 1
        moved = order[row, i]
        while i > 0 and precedes(ranks, slots, order, row, moved, order[row, i - 1]):
            order[row, i] = order[row, i - 1]
            i -= 1
        while i < n - 1 and precedes(ranks, slots, order, row, order[row, i + 1], moved):
            order[row, i] = order[row, i + 1]
            i += 1
        order[row, i] = moved


@kernel
def record(b: Arrays, n: int, action: int, reward: float) -> tuple[int, int]:
    """Add one outcome; return the number of tried actions and its slot. The spread is kept if the noise is unknown."""
    slot = find(b.order, n, action)
    if slot < 0:
        slot = n
        place(b.ranks, b.order, n, action)
        b.slots[COUNT, slot] = 0.0
        b.slots[SUM, slot] = 0.0
        b.slots[SPREAD, slot] = 0.0
        n += 1
    b.slots[COUNT, slot] += 1.0
    b.slots[SUM, slot] += reward
    if b.settings[REWARDS, FAMILY] == GAUSSIAN_UNKNOWN:
        count = b.slots[COUNT, slot]
        mean = b.slots[SUM, slot] / count
        before = (b.slots[SUM, slot] - reward) / (count - 1.0) if count > 1.0 else reward
        b.slots[SPREAD, slot] += (reward - before) * (reward - mean)
    if b.settings[REWARDS, TIERED] > 0.0:
        place_in_tiers(b.ranks, b.slots, b.order, n, slot)
    return n, slot
