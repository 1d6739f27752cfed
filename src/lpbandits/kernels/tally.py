"""Recording outcomes: one slot per tried action, kept in the order of each state."""

from lpbandits.kernels.compiler import jit_in_place, jit_inline
from lpbandits.kernels.layout import COUNT, SPREAD, SUM
from lpbandits.typing import FloatArray, Int32Array


@jit_inline
def find(order: Int32Array, n: int, action: int) -> int:
    """Return the slot of `action`, or -1 if it was never tried."""
    for slot in range(n):
        if order[0, slot] == action:
            return slot
    return -1


@jit_in_place
def insert(ranks: Int32Array, stats: FloatArray, order: Int32Array, n: int, action: int) -> None:
    """Open slot n for `action` and put it in its place in every state's order."""
    order[0, n] = action
    stats[COUNT, n] = 0.0
    stats[SUM, n] = 0.0
    stats[SPREAD, n] = 0.0
    for row in range(1, order.shape[0]):
        rank = ranks[row - 1, action]
        i = n
        while i > 0 and ranks[row - 1, order[0, order[row, i - 1]]] > rank:
            order[row, i] = order[row, i - 1]
            i -= 1
        order[row, i] = n


@jit_inline
def record(
    ranks: Int32Array, stats: FloatArray, order: Int32Array, n: int, action: int, reward: float
) -> tuple[int, int]:
    """Add one outcome; return the number of tried actions and the action's slot."""
    slot = find(order, n, action)
    if slot < 0:
        insert(ranks, stats, order, n, action)
        slot = n
        n += 1
    count = stats[COUNT, slot]
    mean = stats[SUM, slot] / count if count > 0.0 else reward
    stats[COUNT, slot] = count + 1.0
    stats[SUM, slot] += reward
    stats[SPREAD, slot] += (reward - mean) * (reward - stats[SUM, slot] / (count + 1.0))
    return n, slot


@jit_in_place
def remove(stats: FloatArray, order: Int32Array, n: int, action: int, reward: float) -> int:
    """Take one told outcome back; return the number of actions that are still tried."""
    slot = find(order, n, action)
    count = stats[COUNT, slot] - 1.0
    if count > 0.0:
        mean = stats[SUM, slot] / (count + 1.0)
        stats[COUNT, slot] = count
        stats[SUM, slot] -= reward
        less = (reward - mean) * (reward - stats[SUM, slot] / count)
        stats[SPREAD, slot] = max(stats[SPREAD, slot] - less, 0.0)
        return n
    last = n - 1
    for row in range(1, order.shape[0]):  # close the gap, and let the last slot move into the empty one
        kept = 0
        for i in range(n):
            if order[row, i] != slot:
                order[row, kept] = slot if order[row, i] == last else order[row, i]
                kept += 1
    order[0, slot] = order[0, last]
    for row in range(SPREAD + 1):
        stats[row, slot] = stats[row, last]
    return last
