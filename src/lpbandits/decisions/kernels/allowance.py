"""Allowed actions per person: all, a common set or a personal set, optionally without tried actions."""

from typing import NamedTuple

from lpbandits.kernels.choices import favourites
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.typing import Int32Array, IntArray


class Allowed(NamedTuple):
    """The allowed actions of a batch of people.

    orders   m×any  ordering of the actions of `common` in each state, best first
    common   actions that are allowed for all people, in ascending order; empty: all
    starts   offsets of personal sets: those of person p are sets[starts[p]:starts[p + 1]], ascending; empty: none
    sets
    once     whether tried actions are excluded
    ranks    ranks of actions, for a rule that plays only the favourites of states; 0×0 for other rules
    tops     favourites among the actions of `common`
    taken    scratch, one per action: mark of the last person who tried it
    choices  scratch, 2×k
    """

    orders: Int32Array
    common: IntArray
    starts: IntArray
    sets: IntArray
    once: bool
    ranks: Int32Array
    tops: IntArray
    taken: IntArray
    choices: IntArray


@kernel
def leader(b: Arrays, allowed: Allowed, p: int, mark: int, state: int, skip: int) -> int:
    """Return the first allowed action of a state other than `skip`, -1 if there is none."""
    if len(allowed.starts) == 0:
        for i in range(allowed.orders.shape[1]):
            action = allowed.orders[state, i]
            if action != skip and allowed.taken[action] != mark:
                return int(action)
        return -1
    best = -1
    for i in range(allowed.starts[p], allowed.starts[p + 1]):
        action = allowed.sets[i]
        if action != skip and allowed.taken[action] != mark:
            if best < 0 or b.ranks[state, action] < b.ranks[state, best]:
                best = action
    return best


@kernel
def gather(allowed: Allowed, p: int, mark: int, skip: int) -> int:
    """Write the allowed actions of a person except `skip` to `choices[0]`, ascending; return their number."""
    personal = len(allowed.starts) > 0
    start = allowed.starts[p] if personal else 0
    end = allowed.starts[p + 1] if personal else len(allowed.common)
    if not personal and end == 0:
        end = len(allowed.taken)
    size = 0
    for i in range(start, end):
        action = allowed.sets[i] if personal else i if len(allowed.common) == 0 else allowed.common[i]
        if action != skip and allowed.taken[action] != mark:
            allowed.choices[0, size] = action
            size += 1
    return size


@kernel
def limit(allowed: Allowed, size: int, free: bool) -> tuple[int, int]:
    """Return the row of `choices` and the number of the actions that the rule restricts itself to."""
    if len(allowed.tops) == 0:
        return 0, size
    if free:
        for i in range(len(allowed.tops)):
            allowed.choices[1, i] = allowed.tops[i]
        return 1, len(allowed.tops)
    return 1, favourites(allowed.ranks, allowed.choices[0], size, allowed.choices[1])
