"""The next action for many people: take a history in, choose, and say how likely, how good and what else.

It is compiled around the functions of a policy, as a rollout is. For a rule that follows a state's order, nothing that
is done for a person grows with the number of actions.
"""

import functools
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from lpbandits.decisions.kernels.allowance import Allowed, gather, leader, limit
from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import explained, kernel, name_of, specialise
from lpbandits.kernels.exploring import apply_exploration_floor
from lpbandits.kernels.layout import POSTERIOR, Arrays
from lpbandits.kernels.likelihood import noise_of
from lpbandits.kernels.tally import find, record
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray

# columns of the numbers of a decision
CHANCE, EXPECTED, LOW, HIGH = range(4)
# places in what was seen on the way
MOST_ALLOWED, AGAIN = range(2)  # the largest set; people who get an action that they had


@kernel
def recorded(b: Arrays, n: int, action: int, reward: float) -> int:
    """Record an outcome, to be weighed with the others."""
    n, _ = record(b, n, action, reward)
    return n


@kernel
def settled(b: Arrays, n: int) -> None:
    """Leave it: every outcome was weighed when it was told."""


@kernel
def nobodys(b: Arrays, n: int, seed: int, person: int, round_: int) -> int:
    """Return that no state's order is followed."""
    return -1


@kernel
def untold(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return that the rule does not tell its chances here."""
    return np.nan


def take(*_: Any) -> Any:
    """Stand for the function that is put in."""


settle = choose = chance = follow = value_of = doubt_of = foresee = expect = doubt = expect_one = doubt_one = take


def value_by_one(b: Arrays, n: int, state: int, action: int, scratch: FloatArray) -> float:
    """Return what is expected of an action, by the function for one."""
    return expect_one(b, n, state, action)


def value_by_all(b: Arrays, n: int, state: int, action: int, scratch: FloatArray) -> float:
    """Return what is expected of an action, by the function for all."""
    expect(b, n, state, scratch)
    return scratch[action]


def doubt_by_one(b: Arrays, n: int, action: int, scratch: FloatArray) -> float:
    """Return how uncertain that is, by the function for one."""
    return doubt_one(b, n, action)


def doubt_by_all(b: Arrays, n: int, action: int, scratch: FloatArray) -> float:
    """Return how uncertain that is, by the function for all."""
    doubt(b, n, scratch)
    return scratch[action]


def outlook(
    b: Arrays, n: int, action: int, means: FloatArray, prior: FloatArray, noise: float, scratch: FloatArray
) -> tuple[float, float]:
    """Return M = Σ p_z M_z, and √(Σ p_z (M_z − M)² + doubt² + noise²), of the next reward of an action.

    M_z is what the evidence expects, or, where it does not know, the model's mean if there is one. A negative `noise`
    is part of the doubt; 0: it is the person's own, which the policy learns; NaN: it is not known.
    """
    m = b.states.shape[1]
    by_state = scratch[0]
    mean = 0.0
    for z in range(max(m, 1)):
        p = b.states[POSTERIOR, z] if m > 0 else 1.0
        by_state[z] = value_of(b, n, z, action, scratch[1]) if p > 0.0 else 0.0
        mean += p * by_state[z]
    count = m
    foretold = not np.isnan(mean)
    if not foretold and means.shape[0] > 0:
        count = means.shape[0]
        mean = 0.0
        for z in range(count):
            by_state[z] = means[z, action]
            mean += (b.states[POSTERIOR, z] if m > 0 else prior[z]) * by_state[z]
    square = 0.0
    for z in range(count):
        square += (b.states[POSTERIOR, z] if m > 0 else prior[z]) * (by_state[z] - mean) ** 2
    if foretold:
        square += doubt_of(b, n, action, scratch[1]) ** 2
    if noise == 0.0:
        noise = noise_of(b, n)
    if not noise < 0.0:  # also NaN
        square += noise * noise
    return mean, np.sqrt(square)


def deciding(
    low: int,
    high: int,
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    slots: FloatArray,
    states: FloatArray,
    own: FloatArray,
    order: SlotArray,
    work: FloatArray,
    start_states: FloatArray,
    start_own: FloatArray,
    orders: Int32Array,
    common: IntArray,
    starts: IntArray,
    lists: IntArray,
    once: bool,
    prefer: Int32Array,
    tops: IntArray,
    taken: IntArray,
    choices: IntArray,
    scratch: FloatArray,
    means: FloatArray,
    prior: FloatArray,
    noise: float,
    width: float,
    explore: float,
    seed: int,
    addresses: IntArray,
    offsets: IntArray,
    actions: Int32Array,
    rewards: FloatArray,
    plays: Int32Array,
    seconds: Int32Array,
    numbers: FloatArray,
    seen: IntArray,
) -> None:
    """Decide for people low to high.

    `ranks` to `work` are the policy and one belief, which starts as `start_states` and `start_own` for everyone;
    `orders` to `choices` are described in `Allowed`; `scratch` (2×any) has room for states and actions. Person p's
    outcomes stand at offsets[p] up to offsets[p + 1], and their number is the round that addresses the luck. `plays`,
    `seconds` (the runner-up), `numbers` and `seen` take the results; -1 is no action, NaN no number. What a person gets
    depends on nothing but their own history and address.
    """
    b = Arrays(ranks, table, settings, slots, states, own, order, work)
    ask = Allowed(orders, common, starts, lists, once, prefer, tops, taken, choices)
    k = len(taken)
    none: Any = np.int64(-1)  # literals would have every kernel below compiled once more
    zero: Any = np.int64(0)
    for p in range(low, high):
        mark = p - low + 1
        n = zero
        for row in range(states.shape[0]):
            for z in range(states.shape[1]):
                states[row, z] = start_states[row, z]
        for row in range(own.shape[0]):
            for i in range(own.shape[1]):
                own[row, i] = start_own[row, i]
        for i in range(offsets[p], offsets[p + 1]):
            n = take(b, n, np.int64(actions[i]), rewards[i])
        round_ = offsets[p + 1] - offsets[p]
        if round_ > 0:
            settle(b, n)
        if once:
            for slot in range(n):
                taken[order[0, slot]] = mark
        first = none
        second = none
        likely = np.nan
        state = follow(b, n, seed, addresses[p], round_) if explore == 0.0 else none
        if state >= 0:
            first = leader(b, ask, p, mark, state, none)
            if first >= 0:
                second = leader(b, ask, p, mark, state, first)
                likely = 0.0
                for z in range(states.shape[1]):
                    if states[POSTERIOR, z] > 0.0 and leader(b, ask, p, mark, z, none) == first:
                        likely += states[POSTERIOR, z]
        else:
            free = len(starts) == 0 and len(common) == 0 and (n == 0 or not once)
            for turn in range(2):
                size = zero
                if turn > 0 or not free:
                    size = gather(ask, p, mark, first)
                    if size == 0:
                        break
                whole = size if size > 0 else k
                at, count = limit(ask, size, size == 0)
                play = choose(b, n, choices[at, :count], seed, addresses[p], round_)
                action = play
                if explore > 0.0:
                    action = apply_exploration_floor(play, explore, k, choices[0, :size], seed, addresses[p], round_)
                if turn > 0:
                    second = action
                    break
                first = action
                likely = chance(b, n, choices[at, :count], play, action)
                if explore > 0.0:
                    likely = explore + max(1.0 - explore * whole, 0.0) * likely
                seen[MOST_ALLOWED] = max(seen[MOST_ALLOWED], whole)
        plays[p] = first
        seconds[p] = second
        numbers[p, CHANCE] = likely
        mean = np.nan
        sd = np.nan
        if first >= 0:
            mean, sd = foresee(b, n, first, means, prior, noise, scratch)
            if find(order, n, first) >= 0:
                seen[AGAIN] += 1
        numbers[p, EXPECTED] = mean
        numbers[p, LOW] = mean - width * sd
        numbers[p, HIGH] = mean + width * sd


@functools.cache
def deciding_of(
    taking: Callable[..., int],
    settling: Callable[..., None],
    choosing: Callable[..., int],
    chances: Callable[..., float],
    following: Callable[..., int],
    expecting: Callable[..., Any],
    one: bool,
    doubting: Callable[..., Any],
    one_doubt: bool,
) -> Callable[..., None]:
    """Return `deciding` compiled around the functions of a policy.

    `one` and `one_doubt` say whether `expecting` and `doubting` are those for one action or for all.
    """
    value = _built(value_by_one if one else value_by_all, {"expect_one" if one else "expect": expecting})
    doubts = _built(doubt_by_one if one_doubt else doubt_by_all, {"doubt_one" if one_doubt else "doubt": doubting})
    parts = {
        "take": taking,
        "settle": settling,
        "choose": choosing,
        "chance": chances,
        "follow": following,
        "foresee": _built(outlook, {"value_of": value, "doubt_of": doubts}),
    }
    made = _built(deciding, parts, inline=False)

    def decide(*arguments: Any) -> None:
        try:
            made(*arguments)
        except NumbaError as error:
            raise explained(error, f"'{choosing.__name__}' or '{taking.__name__}'") from None
        except IndexError as error:
            raise InvalidInput(str(error)) from None

    return decide


def _built(template: Callable[..., Any], functions: dict[str, Callable[..., Any]], *, inline: bool = True) -> Any:
    """Return a template around functions, under a short name: files of machine code are called by it."""
    whole = name_of(template.__name__, functions)
    name = f"{template.__name__}_{hashlib.sha256(whole.encode()).hexdigest()[:16]}"
    return specialise(template, name, functions, inline=inline)
