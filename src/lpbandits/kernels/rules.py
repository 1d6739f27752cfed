"""Rules: which action to play, given what a belief says.

Every rule has a `choose` of one form:

    action = choose(ranks, table, numbers, order, n, offered, seed, person, round_)

`offered` holds the allowed actions in rising order, and is empty where all are allowed. A rule changes nothing. To add
one, write its choose here and its settings in `lpbandits.policies.rules`.
"""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, jit_inline
from lpbandits.kernels.layout import BEST, COUNT, FIRST, NOISE, POSTERIOR, PRIOR_MEAN, PRIOR_SD, SETTINGS, SUM
from lpbandits.kernels.random import FIRST as FIRST_DRAW
from lpbandits.kernels.random import STATE, VALUE, below, largest_normal, normal, uniform
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray


@jit_inline
def first_allowed(ranks: Int32Array, row: int, offered: IntArray) -> int:
    """Return the allowed action that ordering `row` prefers."""
    action = offered[0]
    for i in range(1, len(offered)):
        if ranks[row, offered[i]] < ranks[row, action]:
            action = offered[i]
    return action


@jit_inline
def place(offered: IntArray, action: int) -> int:
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


@jit_in_place
def pick(offered: IntArray, k: int, u: float) -> int:
    """Return an allowed action, each with equal chance."""
    if len(offered) == 0:
        return below(u, k)
    return offered[below(u, len(offered))]


@jit_in_place
def pick_untried(order: SlotArray, n: int, offered: IntArray, untried: int, u: float) -> int:
    """Return one of the `untried` allowed actions, each with equal chance; row 1 of `order` rises by action."""
    position = below(u, untried)
    for i in range(n):
        at = place(offered, order[0, order[1, i]])
        if at > position:
            break
        if at >= 0:
            position += 1
    return position if len(offered) == 0 else offered[position]


@jit_in_place
def favourites(ranks: IntArray, offered: IntArray, out: IntArray) -> None:
    """Reduce each offered set to the actions that some state prefers in it, in rising order, filled up with -1."""
    for p in range(offered.shape[0]):
        for t in range(offered.shape[1]):
            size = 0
            for z in range(ranks.shape[0]):
                action = offered[p, t, 0]
                for j in range(1, offered.shape[2]):
                    other = offered[p, t, j]
                    if other >= 0 and ranks[z, other] < ranks[z, action]:
                        action = other
                i = size
                while i > 0 and out[p, t, i - 1] > action:
                    i -= 1
                if i == 0 or out[p, t, i - 1] != action:
                    for j in range(size, i, -1):
                        out[p, t, j] = out[p, t, j - 1]
                    out[p, t, i] = action
                    size += 1
            for i in range(size, out.shape[2]):
                out[p, t, i] = -1


@jit_in_place
def sample_choose(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Draw a state from the posterior and play its best allowed action (Algorithm 1, lines 3 and 4)."""
    if n == 0 and numbers[SETTINGS, FIRST] > 0.0:
        return pick(offered, ranks.shape[1], uniform(seed, person, round_, FIRST_DRAW, 0))
    left = uniform(seed, person, round_, STATE, 0)
    state = 0
    for z in range(ranks.shape[0]):
        if numbers[POSTERIOR, z] > 0.0:
            state = z
            left -= numbers[POSTERIOR, z]
            if left < 0.0:
                break
    if len(offered) == 0:
        return int(numbers[BEST, state])
    return first_allowed(ranks, state, offered)


@jit_in_place
def optimism_choose(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Play the action of the best (state, action) pair among the states still possible (mUCB)."""
    action = -1
    promise = -np.inf
    for z in range(ranks.shape[0]):
        if numbers[POSTERIOR, z] > 0.0:
            own = int(numbers[BEST, z]) if len(offered) == 0 else first_allowed(ranks, z, offered)
            if action < 0 or table[z, own] > promise:
                action = own
                promise = table[z, own]
    return action


@jit_in_place
def thompson_choose(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Draw a mean for every action from its own normal posterior and play the largest.

    All untried actions share one prior, so the best of their draws is one draw of a maximum of so many normals, and
    each of them is equally likely to have made it: exact, at a cost that does not grow with the number of actions.
    """
    k = ranks.shape[1]
    untried = k if len(offered) == 0 else len(offered)
    prior_precision = numbers[SETTINGS, PRIOR_SD] ** -2
    reward_precision = numbers[SETTINGS, NOISE] ** -2
    action = -1
    largest = -np.inf
    for i in range(n):
        slot = order[1, i]
        own = order[0, slot]
        if place(offered, own) < 0:
            continue
        untried -= 1
        precision = prior_precision + numbers[COUNT, slot] * reward_precision
        mean = (numbers[SETTINGS, PRIOR_MEAN] * prior_precision + numbers[SUM, slot] * reward_precision) / precision
        draw = mean + normal(seed, person, round_, VALUE, own) / np.sqrt(precision)
        if action < 0 or draw > largest:
            action = own
            largest = draw
    if untried > 0:
        z = largest_normal(uniform(seed, person, round_, VALUE, k), untried)
        if action < 0 or numbers[SETTINGS, PRIOR_MEAN] + numbers[SETTINGS, PRIOR_SD] * z > largest:
            action = pick_untried(order, n, offered, untried, uniform(seed, person, round_, FIRST_DRAW, 0))
    return action


@jit_in_place
def bound_choose(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Play the largest upper confidence bound ȳ + σ √(2 log t / n) (UCB1); untried actions first, in random order."""
    untried = ranks.shape[1] if len(offered) == 0 else len(offered)
    rounds = 1.0
    for slot in range(n):
        rounds += numbers[COUNT, slot]
    action = -1
    largest = -np.inf
    for i in range(n):
        slot = order[1, i]
        own = order[0, slot]
        if place(offered, own) < 0:
            continue
        untried -= 1
        count = numbers[COUNT, slot]
        bound = numbers[SUM, slot] / count + numbers[SETTINGS, NOISE] * np.sqrt(2.0 * np.log(rounds) / count)
        if action < 0 or bound > largest:
            action = own
            largest = bound
    if untried > 0:
        return pick_untried(order, n, offered, untried, uniform(seed, person, round_, FIRST_DRAW, 0))
    return action


@jit_in_place
def uniform_choose(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Play any allowed action, each with equal chance."""
    return pick(offered, ranks.shape[1], uniform(seed, person, round_, FIRST_DRAW, 0))
