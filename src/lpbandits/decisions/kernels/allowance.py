"""Batches of people with their outcomes, and the allowed actions of each person."""

from typing import NamedTuple

import numpy as np

from lpbandits.kernels.choices import favourites
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.typing import FloatArray, Int32Array, IntArray

NO_ACTIONS: IntArray = np.empty(0, dtype=np.int64)
NO_PRIORS: FloatArray = np.empty((0, 0))


class DecisionBatch(NamedTuple):
    """People to decide for.

    offsets  the outcomes of person p are at offsets[p] up to offsets[p + 1]
    action   index of the action of each outcome
    reward   NaN while the outcome is pending
    stream   random stream of each person
    starts   offsets of personal sets: those of person p are sets[starts[p]:starts[p + 1]], ascending; empty: none
    sets     allowed actions of the personal sets
    priors   people×m: probability of each state before the first outcome; 0×0: the model's prior for all
    """

    offsets: IntArray
    action: Int32Array
    reward: FloatArray
    stream: IntArray
    starts: IntArray = NO_ACTIONS
    sets: IntArray = NO_ACTIONS
    priors: FloatArray = NO_PRIORS

    def part(self, low: int, high: int) -> "DecisionBatch":
        """Return people low to high."""
        offsets, starts = self.offsets[low : high + 1], self.starts[low : high + 1]
        rows = slice(offsets[0], offsets[-1])
        sets = self.sets[starts[0] : starts[-1]] if len(starts) else NO_ACTIONS
        columns = self.action[rows], self.reward[rows], self.stream[low:high]
        return DecisionBatch(offsets - offsets[0], *columns, starts - starts[:1], sets, self.priors[low:high])


class Allowed(NamedTuple):
    """The allowed actions of all people, unless they have personal sets.

    orders   m×any  ordering of the actions of `common` in each state, best first
    common   actions that are allowed for all people, in ascending order; empty: all
    once     whether tried actions are excluded
    ranks    ranks of actions, for a rule that plays only the favourites of states; 0×0 for other rules
    tops     favourites among the actions of `common`
    taken    scratch, one per action: mark of the last person who tried it
    choices  scratch, 2×k
    """

    orders: Int32Array
    common: IntArray
    once: bool
    ranks: Int32Array
    tops: IntArray
    taken: IntArray
    choices: IntArray


@kernel
def leader(b: Arrays, batch: DecisionBatch, allowed: Allowed, p: int, mark: int, state: int, skip: int) -> int:
    """Return the first allowed action of a state other than `skip`, -1 if there is none."""
    if len(batch.starts) == 0:
        for i in range(allowed.orders.shape[1]):
            action = allowed.orders[state, i]
            if action != skip and allowed.taken[action] != mark:
                return int(action)
        return -1
    best = -1
    for i in range(batch.starts[p], batch.starts[p + 1]):
        action = batch.sets[i]
        if action != skip and allowed.taken[action] != mark:
            if best < 0 or b.ranks[state, action] < b.ranks[state, best]:
                best = action
    return best


@kernel
def gather(batch: DecisionBatch, allowed: Allowed, p: int, mark: int, skip: int) -> int:
    """Write the allowed actions of a person except `skip` to `choices[0]`, ascending; return their number."""
    personal = len(batch.starts) > 0
    start = batch.starts[p] if personal else 0
    end = batch.starts[p + 1] if personal else len(allowed.common)
    if not personal and end == 0:
        end = len(allowed.taken)
    size = 0
    for i in range(start, end):
        action = batch.sets[i] if personal else i if len(allowed.common) == 0 else allowed.common[i]
        if action != skip and allowed.taken[action] != mark:
            allowed.choices[0, size] = action
            size += 1
    return size


@kernel
def limit(allowed: Allowed, size: int, free: bool) -> tuple[int, int]:
    """Return which row of `choices` holds the actions that the rule considers, and how many they are."""
    if len(allowed.tops) == 0:
        return 0, size
    if free:
        for i in range(len(allowed.tops)):
            allowed.choices[1, i] = allowed.tops[i]
        return 1, len(allowed.tops)
    return 1, favourites(allowed.ranks, allowed.choices[0], size, allowed.choices[1])
