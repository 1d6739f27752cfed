"""Rules: which action to play, given what a belief says.

Every rule has a `choose` of one form:

    action = choose(ranks, table, best, settings, stats, order, states, n, offered, seed, person, round_)

`offered` holds the allowed actions in rising order, and is empty where all are allowed. A rule changes nothing. To add
one, write its choose here and its settings in `lpbandits.policies.rules`.
"""

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.kernels.layout import COUNT, FIRST, NOISE, POSTERIOR, PRIOR_MEAN, PRIOR_SD, SUM, TOP
from lpbandits.kernels.random import FIRST as FIRST_DRAW
from lpbandits.kernels.random import STATE, VALUE, below, largest_normal, normal, uniform
from lpbandits.typing import FloatArray, Int32Array, IntArray


@jit
def first_allowed(ranks: Int32Array, row: int, offered: IntArray) -> int:
    """Return the allowed action that ordering `row` prefers."""
    action = offered[0]
    for i in range(1, len(offered)):
        if ranks[row, offered[i]] < ranks[row, action]:
            action = offered[i]
    return action


@jit
def place(offered: IntArray, action: int) -> int:
    """Return the position of `action` among the allowed ones, -1 if it is not there."""
    if len(offered) == 0:
        return action
    i = np.searchsorted(offered, action)
    return int(i) if i < len(offered) and offered[i] == action else -1


@jit
def pick(offered: IntArray, k: int, u: float) -> int:
    """Return an allowed action, each with equal chance."""
    if len(offered) == 0:
        return below(u, k)
    return offered[below(u, len(offered))]


@jit
def pick_untried(order: Int32Array, n: int, offered: IntArray, untried: int, u: float) -> int:
    """Return one of the `untried` allowed actions, each with equal chance; row 1 of `order` rises by action."""
    position = below(u, untried)
    for i in range(n):
        at = place(offered, order[0, order[1, i]])
        if at > position:
            break
        if at >= 0:
            position += 1
    return position if len(offered) == 0 else offered[position]


@jit
def limit(ranks: Int32Array, best: IntArray, settings: FloatArray, offered: IntArray) -> IntArray:
    """Return the allowed actions in rising order; with TOP only those that some state prefers among them.

    Row 0 of `ranks` is then the actions' own order and the states' ranks follow.
    """
    if settings[TOP] == 0.0:
        return offered
    if len(offered) == 0:
        return best
    out = np.empty(ranks.shape[0] - 1, dtype=np.int64)
    for z in range(len(out)):
        out[z] = first_allowed(ranks, 1 + z, offered)
    return np.unique(out)


@jit
def sample_choose(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001 - one form for all rules
    best: IntArray,
    settings: FloatArray,
    stats: FloatArray,  # noqa: ARG001
    order: Int32Array,  # noqa: ARG001
    states: FloatArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Draw a state from the posterior and play its best allowed action (Algorithm 1, lines 3 and 4)."""
    if n == 0 and settings[FIRST] > 0.0:
        return pick(offered, ranks.shape[1], uniform(seed, person, round_, FIRST_DRAW, 0))
    left = uniform(seed, person, round_, STATE, 0)
    state = 0
    for z in range(states.shape[1]):
        if states[POSTERIOR, z] > 0.0:
            state = z
            left -= states[POSTERIOR, z]
            if left < 0.0:
                break
    if len(offered) == 0:
        return best[state]
    return first_allowed(ranks, state, offered)


@jit
def optimism_choose(
    ranks: Int32Array,
    table: FloatArray,
    best: IntArray,
    settings: FloatArray,  # noqa: ARG001
    stats: FloatArray,  # noqa: ARG001
    order: Int32Array,  # noqa: ARG001
    states: FloatArray,
    n: int,  # noqa: ARG001
    offered: IntArray,
    seed: int,  # noqa: ARG001
    person: int,  # noqa: ARG001
    round_: int,  # noqa: ARG001
) -> int:
    """Play the action of the best (state, action) pair among the states still possible (mUCB)."""
    action = -1
    promise = -np.inf
    for z in range(states.shape[1]):
        if states[POSTERIOR, z] > 0.0:
            own = best[z] if len(offered) == 0 else first_allowed(ranks, z, offered)
            if action < 0 or table[z, own] > promise:
                action = own
                promise = table[z, own]
    return action


@jit
def thompson_choose(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001
    best: IntArray,
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,  # noqa: ARG001
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
    allowed = limit(ranks, best, settings, offered)
    untried = k if len(allowed) == 0 else len(allowed)
    prior_precision = settings[PRIOR_SD] ** -2
    reward_precision = settings[NOISE] ** -2
    action = -1
    largest = -np.inf
    for i in range(n):
        slot = order[1, i]
        own = order[0, slot]
        if place(allowed, own) < 0:
            continue
        untried -= 1
        precision = prior_precision + stats[COUNT, slot] * reward_precision
        mean = (settings[PRIOR_MEAN] * prior_precision + stats[SUM, slot] * reward_precision) / precision
        draw = mean + normal(seed, person, round_, VALUE, own) / np.sqrt(precision)
        if action < 0 or draw > largest:
            action = own
            largest = draw
    if untried > 0:
        z = largest_normal(uniform(seed, person, round_, VALUE, k), untried)
        if action < 0 or settings[PRIOR_MEAN] + settings[PRIOR_SD] * z > largest:
            action = pick_untried(order, n, allowed, untried, uniform(seed, person, round_, FIRST_DRAW, 0))
    return action


@jit
def bound_choose(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001
    best: IntArray,
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,  # noqa: ARG001
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Play the largest upper confidence bound ȳ + σ √(2 log t / n) (UCB1); untried actions first, in random order."""
    allowed = limit(ranks, best, settings, offered)
    untried = ranks.shape[1] if len(allowed) == 0 else len(allowed)
    rounds = 1.0
    for slot in range(n):
        rounds += stats[COUNT, slot]
    action = -1
    largest = -np.inf
    for i in range(n):
        slot = order[1, i]
        own = order[0, slot]
        if place(allowed, own) < 0:
            continue
        untried -= 1
        count = stats[COUNT, slot]
        bound = stats[SUM, slot] / count + settings[NOISE] * np.sqrt(2.0 * np.log(rounds) / count)
        if action < 0 or bound > largest:
            action = own
            largest = bound
    if untried > 0:
        return pick_untried(order, n, allowed, untried, uniform(seed, person, round_, FIRST_DRAW, 0))
    return action


@jit
def uniform_choose(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001
    best: IntArray,  # noqa: ARG001
    settings: FloatArray,  # noqa: ARG001
    stats: FloatArray,  # noqa: ARG001
    order: Int32Array,  # noqa: ARG001
    states: FloatArray,  # noqa: ARG001
    n: int,  # noqa: ARG001
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> int:
    """Play any allowed action, each with equal chance."""
    return pick(offered, ranks.shape[1], uniform(seed, person, round_, FIRST_DRAW, 0))
