"""Choices among the allowed actions: `offered` holds them in ascending order, and is empty if all are allowed.

Also the exploration floor, and the checks of what plug-ins return.
"""

from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import POSTERIOR, Arrays
from lpbandits.kernels.random import EXPLORE, below, uniform
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray


@kernel
def position(offered: IntArray, action: int) -> int:
    """Return the position of `action` among the allowed ones, -1 if it is not there."""
    if len(offered) == 0:
        return action
    low = 0
    high = len(offered)
    while low < high:
        middle = (low + high) // 2
        if offered[middle] < action:
            low = middle + 1
        else:
            high = middle
    return low if low < len(offered) and offered[low] == action else -1


@kernel
def pick(b: Arrays, offered: IntArray, u: float) -> int:
    """Return the allowed action selected by a uniform number, each with equal probability."""
    if len(offered) == 0:
        return below(u, b.ranks.shape[1])
    return offered[below(u, len(offered))]


@kernel
def largest(values: FloatArray, offered: IntArray) -> int:
    """Return the allowed action with the largest of all actions' values; ties go to the first."""
    action = -1
    best = -np.inf
    for i in range(len(values) if len(offered) == 0 else len(offered)):
        a = i if len(offered) == 0 else offered[i]
        if action < 0 or values[a] > best:
            action = a
            best = values[a]
    return action


@jit_in_place
def pick_untried(order: SlotArray, n: int, offered: IntArray, untried: int, u: float) -> int:
    """Return one of the `untried` allowed actions with equal probability; row 1 of `order` is ascending by action."""
    at = below(u, untried)
    for i in range(n):
        tried = position(offered, order[0, order[1, i]])
        if tried > at:
            break
        if tried >= 0:
            at += 1
    return at if len(offered) == 0 else offered[at]


@kernel
def first_allowed(ranks: Int32Array, state: int, offered: IntArray) -> int:
    """Return a state's best action among a nonempty `offered`."""
    action = offered[0]
    for i in range(1, len(offered)):
        if ranks[state, offered[i]] < ranks[state, action]:
            action = offered[i]
    return action


@kernel
def favourites(ranks: Int32Array, offered: IntArray, size: int, out: IntArray) -> int:
    """Write each state's best actions among the first `size` offered, unique and ascending; return their number.

    They are several if they share a tier.
    """
    count = 0
    for z in range(ranks.shape[0]):
        first = 0
        last = 0  # of those with the best rank
        for i in range(1, size):
            if ranks[z, offered[i]] < ranks[z, offered[first]]:
                first = i
                last = i
            elif ranks[z, offered[i]] == ranks[z, offered[first]]:
                last = i
        for at in range(first, last + 1):
            action = offered[at]
            if ranks[z, action] != ranks[z, offered[first]]:
                continue
            i = count
            while i > 0 and out[i - 1] > action:
                i -= 1
            if i == 0 or out[i - 1] != action:
                for j in range(count, i, -1):
                    out[j] = out[j - 1]
                out[i] = action
                count += 1
    return count


@kernel
def filled(row: IntArray) -> int:
    """Return the number of entries before the padding of -1."""
    size = len(row)
    while size > 0 and row[size - 1] < 0:
        size -= 1
    return size


@jit_in_place
def favourite_sets(ranks: Int32Array, offered: IntArray, out: IntArray) -> None:
    """Reduce each offered set to the states' best actions in it, padded with -1."""
    for p in range(offered.shape[0]):
        for t in range(offered.shape[1]):
            size = favourites(ranks, offered[p, t], filled(offered[p, t]), out[p, t])
            for i in range(size, out.shape[2]):
                out[p, t, i] = -1


@kernel
def apply_exploration_floor(
    play: int, explore: float, k: int, allowed: IntArray, seed: int, person: int, round_: int, index: int = 0
) -> int:
    """Return each of N allowed actions (all k if `allowed` is empty) with probability `explore`, otherwise `play`.

    An action with probability p then has explore + (1 − N · explore) p. N · explore is at most 1.
    """
    u = uniform(seed, person, round_, EXPLORE, index)
    size = k if len(allowed) == 0 else len(allowed)
    if u >= size * explore:
        return play
    i = min(int(u / explore), size - 1)
    return i if len(allowed) == 0 else allowed[i]


@kernel
def apply_exploration_floor_to_pair(
    play: tuple[int, int], explore: float, k: int, allowed: IntArray, seed: int, person: int, round_: int
) -> tuple[int, int]:
    """Apply the floor to both actions of a pair independently."""
    first = apply_exploration_floor(play[0], explore, k, allowed, seed, person, round_, 0)
    return first, apply_exploration_floor(play[1], explore, k, allowed, seed, person, round_, 1)


def function(*_: Any) -> Any:
    """Stand in for the function that `specialise` binds."""


@kernel
def is_allowed(b: Arrays, offered: IntArray, chosen: float) -> bool:
    """Return whether a value is an allowed action."""
    action = int(chosen)
    return action == chosen and 0 <= action < b.ranks.shape[1] and position(offered, action) >= 0


def validated_action(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Choose, and raise if the action is not allowed: kernels index arrays with it."""
    chosen = function(b, n, offered, seed, person, round_)
    if not is_allowed(b, offered, chosen):
        raise InvalidInput("choose returned an action that is not allowed")
    return int(chosen)


def validated_pair(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> tuple[int, int]:
    """Choose a pair, and raise if an action is not allowed."""
    first, second = function(b, n, offered, seed, person, round_)
    if not (is_allowed(b, offered, first) and is_allowed(b, offered, second)):
        raise InvalidInput("choose returned an action that is not allowed")
    return int(first), int(second)


def validated_probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return the probability of an action, and raise if it is impossible."""
    p = function(b, n, offered, play, action)
    if not -1e-9 <= p <= 1.0 + 1e-9:
        raise InvalidInput("probability must return a number from 0 to 1")
    return p


def validated_tell(b: Arrays, n: int, action: int, outcome: float) -> int:
    """Add an outcome, and raise if the number of tried actions or the posterior is impossible."""
    returned = function(b, n, action, outcome)
    tried = int(returned)
    if tried != returned or tried < max(n, 1) or tried > n + 2 or tried > b.slots.shape[1]:
        raise InvalidInput("tell must return the number of tried actions")
    m = b.states.shape[1]
    total = 0.0
    least = 0.0
    for z in range(m):
        total += b.states[POSTERIOR, z]
        least = min(least, b.states[POSTERIOR, z])
    if m > 0 and not (abs(total - 1.0) < 1e-6 and least >= 0.0):
        raise InvalidInput("tell must leave a posterior of probabilities that sum to 1")
    return tried
