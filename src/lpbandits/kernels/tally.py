"""Recording outcomes: one slot per tried action, kept in the order of each state."""

from lpbandits.kernels.compiler import jit_in_place, jit_inline
from lpbandits.kernels.layout import COUNT, SPREAD, SUM
from lpbandits.typing import FloatArray, Int32Array, SlotArray


@jit_inline
def find(order: SlotArray, n: int, action: int) -> int:
    """Return the slot of `action`, or -1 if it was never tried."""
    for slot in range(n):
        if order[0, slot] == action:
            return slot
    return -1


@jit_in_place
def insert(ranks: Int32Array, numbers: FloatArray, order: SlotArray, n: int, action: int) -> None:
    """Open slot n for `action` and put it in its place in every state's order."""
    order[0, n] = action
    numbers[COUNT, n] = 0.0
    numbers[SUM, n] = 0.0
    numbers[SPREAD, n] = 0.0
    for row in range(1, order.shape[0]):
        rank = ranks[row - 1, action]
        i = n
        while i > 0 and ranks[row - 1, order[0, order[row, i - 1]]] > rank:
            order[row, i] = order[row, i - 1]
            i -= 1
        order[row, i] = n


@jit_inline
def record(
    ranks: Int32Array, numbers: FloatArray, order: SlotArray, n: int, action: int, reward: float
) -> tuple[int, int]:
    """Add one outcome; return the number of tried actions and the action's slot."""
    slot = find(order, n, action)
    if slot < 0:
        insert(ranks, numbers, order, n, action)
        slot = n
        n += 1
    count = numbers[COUNT, slot]
    mean = numbers[SUM, slot] / count if count > 0.0 else reward
    numbers[COUNT, slot] = count + 1.0
    numbers[SUM, slot] += reward
    numbers[SPREAD, slot] += (reward - mean) * (reward - numbers[SUM, slot] / (count + 1.0))
    return n, slot


@jit_in_place
def remove(numbers: FloatArray, order: SlotArray, n: int, action: int, reward: float) -> int:
    """Take one told outcome back; return the number of actions that are still tried."""
    slot = find(order, n, action)
    count = numbers[COUNT, slot] - 1.0
    if count > 0.0:
        mean = numbers[SUM, slot] / (count + 1.0)
        numbers[COUNT, slot] = count
        numbers[SUM, slot] -= reward
        less = (reward - mean) * (reward - numbers[SUM, slot] / count)
        numbers[SPREAD, slot] = max(numbers[SPREAD, slot] - less, 0.0)
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
        numbers[row, slot] = numbers[row, last]
    return last
