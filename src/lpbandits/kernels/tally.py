"""Record outcomes: one slot per tried action, sorted by each state's order."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import COUNT, FAMILY, GAUSSIAN_UNKNOWN, NOISE, REWARDS, SPREAD, SUM, Arrays
from lpbandits.typing import Int32Array, SlotArray


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
    return n, slot
