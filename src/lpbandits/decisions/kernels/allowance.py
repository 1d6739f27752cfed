"""What each of many people may have: everything, a set for all or one of their own, and perhaps nothing again."""

from typing import NamedTuple

from lpbandits.kernels.choices import favourites
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.typing import Int32Array, IntArray


class Allowed(NamedTuple):
    """What people may have.

    orders   m×any  every state's order of the actions that anybody may have, best first
    common   what everybody may have, in rising order; empty: all
    starts   where sets are personal, those of person p stand at lists[starts[p]:starts[p + 1]], rising; else empty
    lists
    once     whether what was tried is not allowed
    prefer   the ranks by which a rule limits itself to favourites; 0×0: it does not
    tops     the favourites among those of `common`
    taken    scratch, a place per action: who tried it last
    choices  scratch, 2×k
    """

    orders: Int32Array
    common: IntArray
    starts: IntArray
    lists: IntArray
    once: bool
    prefer: Int32Array
    tops: IntArray
    taken: IntArray
    choices: IntArray


@kernel
def leader(b: Arrays, ask: Allowed, p: int, mark: int, state: int, skip: int) -> int:
    """Return a state's first allowed action that is not `skip`, -1 if there is none."""
    if len(ask.starts) == 0:
        for i in range(ask.orders.shape[1]):
            action = ask.orders[state, i]
            if action != skip and ask.taken[action] != mark:
                return int(action)
        return -1
    best = -1
    for i in range(ask.starts[p], ask.starts[p + 1]):
        action = ask.lists[i]
        if action != skip and ask.taken[action] != mark:
            if best < 0 or b.ranks[state, action] < b.ranks[state, best]:
                best = action
    return best


@kernel
def gather(ask: Allowed, p: int, mark: int, skip: int) -> int:
    """Write to `choices[0]` what a person may have but `skip`, in rising order; return how many."""
    personal = len(ask.starts) > 0
    start = ask.starts[p] if personal else 0
    end = ask.starts[p + 1] if personal else len(ask.common)
    if not personal and end == 0:
        end = len(ask.taken)
    size = 0
    for i in range(start, end):
        action = ask.lists[i] if personal else i if len(ask.common) == 0 else ask.common[i]
        if action != skip and ask.taken[action] != mark:
            ask.choices[0, size] = action
            size += 1
    return size


@kernel
def limit(ask: Allowed, size: int, free: bool) -> tuple[int, int]:
    """Return in which row of `choices`, and how many, are the actions that the rule limits itself to."""
    if len(ask.tops) == 0:
        return 0, size
    if free:
        for i in range(len(ask.tops)):
            ask.choices[1, i] = ask.tops[i]
        return 1, len(ask.tops)
    return 1, favourites(ask.prefer, ask.choices[0], size, ask.choices[1])
