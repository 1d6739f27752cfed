"""Relative feedback: evidence from who won a duel, and rules that choose who meets whom.

The forms are those of `evidence` and `rules`, with two actions in place of an action and a reward:

    n            = tell(ranks, wins, numbers, order, n, winner, loser)
    first, second = choose(ranks, wins, numbers, order, n, offered, seed, person, round_)

`wins` is k×k, how often each action (row) beat each other (column), and 0×0 for evidences that do not need it. A slot's
COUNT is the number of duels that its action took part in, and its SUM how many of them it won.
"""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, jit_inline
from lpbandits.kernels.evidence import normalise
from lpbandits.kernels.layout import (
    BEST,
    BLOCK_COUNT,
    BLOCK_SUM,
    COUNT,
    EXTRA,
    EXTRA_TOO,
    LOG_PRIOR,
    MARGIN,
    POSTERIOR,
    SCORE,
    SETTINGS,
    WEIGHT,
)
from lpbandits.kernels.random import FIRST, STATE, VALUE, below, normal, uniform
from lpbandits.kernels.rules import first_allowed
from lpbandits.kernels.tally import record
from lpbandits.typing import FloatArray, Int32Array, IntArray, SlotArray

CHALLENGE = 8  # purpose of a draw: the second half of double Thompson sampling
SAME = 1e-12  # masses of the posterior closer than this are equal: what rounding makes of them must decide nothing
TRIES = 32  # of a gamma draw; each is refused with a chance of 5 % at most


@jit_inline
def count_inversions(ranks: Int32Array, numbers: FloatArray, winner: int, loser: int) -> None:
    """Charge an inversion to every state that prefers the loser, and renew the posterior (Eq. `rel_lik_bound`)."""
    m = ranks.shape[0]
    for z in range(m):
        if ranks[z, loser] < ranks[z, winner]:
            numbers[EXTRA, z] += 1.0
        numbers[SCORE, z] = numbers[LOG_PRIOR, z] + numbers[EXTRA, z] * numbers[SETTINGS, MARGIN]
    normalise(numbers, m)


@jit_in_place
def inversions_tell(
    ranks: Int32Array, wins: FloatArray, numbers: FloatArray, order: SlotArray, n: int, winner: int, loser: int
) -> int:
    """Take in a duel: each inversion multiplies a state's likelihood by ½ − ρ."""
    n, _ = record(ranks, numbers, order, n, winner, 1.0)
    n, _ = record(ranks, numbers, order, n, loser, 0.0)
    count_inversions(ranks, numbers, winner, loser)
    return n


@jit_in_place
def wins_tell(
    ranks: Int32Array, wins: FloatArray, numbers: FloatArray, order: SlotArray, n: int, winner: int, loser: int
) -> int:
    """Take in a duel: count it. An action that met itself shows nothing."""
    n, _ = record(ranks, numbers, order, n, winner, 1.0)
    n, _ = record(ranks, numbers, order, n, loser, 0.0)
    if winner != loser:
        wins[winner, loser] += 1.0
    return n


@jit_in_place
def paired_tell(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take in a reward as half a duel: every second one is compared with the one before (absolute to relative).

    The first of a pair waits in the row EXTRA_TOO: its action plus 1, and its reward.
    """
    n, _ = record(ranks, numbers, order, n, action, reward)
    if ranks.shape[0] == 1:
        return n
    if numbers[EXTRA_TOO, 0] == 0.0:
        numbers[EXTRA_TOO, 0] = action + 1.0
        numbers[EXTRA_TOO, 1] = reward
        return n
    earlier = int(numbers[EXTRA_TOO, 0]) - 1
    if numbers[EXTRA_TOO, 1] > reward:
        count_inversions(ranks, numbers, earlier, action)
    elif numbers[EXTRA_TOO, 1] < reward:
        count_inversions(ranks, numbers, action, earlier)
    numbers[EXTRA_TOO, 0] = 0.0
    numbers[EXTRA_TOO, 1] = 0.0
    return n


@jit_inline
def favourite(ranks: Int32Array, numbers: FloatArray, offered: IntArray, state: int) -> int:
    """Return a state's best allowed action."""
    return int(numbers[BEST, state]) if len(offered) == 0 else first_allowed(ranks, state, offered)


@jit_inline
def draw_state(numbers: FloatArray, m: int, u: float) -> int:
    """Return the state of the posterior that a uniform number points at."""
    state = 0
    for z in range(m):
        if numbers[POSTERIOR, z] > 0.0:
            state = z
            u -= numbers[POSTERIOR, z]
            if u < 0.0:
                break
    return state


@jit_in_place
def challenger(ranks: Int32Array, numbers: FloatArray, offered: IntArray, action: int) -> int:
    """Return the action whose duel with `action` is most open: the posterior is most divided on who is preferred.

    Of equally open ones it is that which stands farthest from `action`, over states: its duel is the easiest to call.
    """
    m, k = ranks.shape
    chosen = action
    most_open = -1.0
    farthest = -1.0
    for i in range(k if len(offered) == 0 else len(offered)):
        other = i if len(offered) == 0 else offered[i]
        if other == action:
            continue
        above = 0.0
        distance = 0.0
        for z in range(m):
            place = ranks[z, other] - ranks[z, action]
            distance += numbers[POSTERIOR, z] * abs(place)
            if place < 0:
                above += numbers[POSTERIOR, z]
        openness = above * (1.0 - above)
        if openness > most_open + SAME or (openness > most_open - SAME and distance > farthest + SAME):
            chosen = other
            most_open = openness
            farthest = distance
    return chosen


@jit_in_place
def two_states_choose(
    ranks: Int32Array,
    wins: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> tuple[int, int]:
    """Draw two states and let their best actions meet.

    If both prefer one action, it meets the most informative challenger as long as the posterior gives states with
    another best action more than 1/(t + 2) in round t. Below that it meets itself, which costs nothing if it is the
    best; as t grows the doubt that is left counts again, so that no pair is played for ever.
    """
    m = ranks.shape[0]
    first = favourite(ranks, numbers, offered, draw_state(numbers, m, uniform(seed, person, round_, STATE, 0)))
    second = favourite(ranks, numbers, offered, draw_state(numbers, m, uniform(seed, person, round_, STATE, 1)))
    if first != second:
        return first, second
    doubt = 0.0
    for z in range(m):
        if favourite(ranks, numbers, offered, z) != first:
            doubt += numbers[POSTERIOR, z]
    patience = 3.0
    for slot in range(n):
        patience += 0.5 * numbers[COUNT, slot]  # a duel counts for both
    if doubt * patience > 1.0 + SAME * patience:
        second = challenger(ranks, numbers, offered, first)
    return first, second


@jit_in_place
def gamma(shape: float, seed: int, person: int, round_: int, purpose: int, index: int) -> float:
    """Return a gamma number of shape ≥ 1 (Marsaglia and Tsang 2000), from the addresses 64·index and on."""
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    for i in range(TRIES):
        x = normal(seed, person, round_, purpose, 64 * index + 2 * i)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            u = uniform(seed, person, round_, purpose, 64 * index + 2 * i + 1)
            if np.log(u) < 0.5 * x * x + d - d * v + d * np.log(v):
                return d * v
    return d


@jit_inline
def reach(wins: FloatArray, one: int, other: int, budget: float) -> tuple[float, float]:
    """Return the confidence limits of the chance that `one` beats `other`; 0 and 2 where they never met."""
    met = wins[one, other] + wins[other, one]
    if met == 0.0:
        return 0.0, 2.0
    rate = wins[one, other] / met
    radius = np.sqrt(budget / met)
    return rate - radius, rate + radius


@jit_in_place
def double_thompson_choose(
    ranks: Int32Array,
    wins: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    offered: IntArray,
    seed: int,
    person: int,
    round_: int,
) -> tuple[int, int]:
    """Choose a pair by double Thompson sampling (Wu and Liu 2016, Algorithm 1) on the unstructured duelling bandit.

    First: of the actions that may still beat most others, the one that beats most in a draw of all win chances. Second:
    of those that may still beat the first, the one with the largest drawn chance to; the first itself has ½.
    """
    k = ranks.shape[1]
    size = k if len(offered) == 0 else len(offered)
    duels = 1.0
    for slot in range(n):
        duels += 0.5 * numbers[COUNT, slot]
    budget = numbers[SETTINGS, WEIGHT] * np.log(duels)
    for i in range(size):  # scratch: how many others each may beat, and how many it beats in the draw
        numbers[BLOCK_COUNT, i] = 0.0
        numbers[BLOCK_SUM, i] = 0.0
    for i in range(size):
        one = i if len(offered) == 0 else offered[i]
        for j in range(i + 1, size):
            other = j if len(offered) == 0 else offered[j]
            low, high = reach(wins, one, other, budget)
            numbers[BLOCK_COUNT, i] += 1.0 if high > 0.5 else 0.0
            numbers[BLOCK_COUNT, j] += 1.0 if low < 0.5 else 0.0
            pair = 2 * (one * k + other)
            mine = gamma(wins[one, other] + 1.0, seed, person, round_, VALUE, pair)
            theirs = gamma(wins[other, one] + 1.0, seed, person, round_, VALUE, pair + 1)
            if mine > theirs:
                numbers[BLOCK_SUM, i] += 1.0
            else:
                numbers[BLOCK_SUM, j] += 1.0
    hope = 0.0
    for i in range(size):
        hope = max(hope, numbers[BLOCK_COUNT, i])
    most = -1.0
    ties = 0
    for i in range(size):
        if numbers[BLOCK_COUNT, i] == hope:
            if numbers[BLOCK_SUM, i] > most:
                most = numbers[BLOCK_SUM, i]
                ties = 0
            if numbers[BLOCK_SUM, i] == most:
                ties += 1
    left = below(uniform(seed, person, round_, FIRST, 0), ties)
    first = 0
    for i in range(size):
        if numbers[BLOCK_COUNT, i] == hope and numbers[BLOCK_SUM, i] == most:
            if left == 0:
                first = i if len(offered) == 0 else offered[i]
                break
            left -= 1
    second = first
    largest = 0.5
    for i in range(size):
        one = i if len(offered) == 0 else offered[i]
        if one == first:
            continue
        low, _ = reach(wins, one, first, budget)
        if low <= 0.5:
            mine = gamma(wins[one, first] + 1.0, seed, person, round_, CHALLENGE, 2 * one)
            theirs = gamma(wins[first, one] + 1.0, seed, person, round_, CHALLENGE, 2 * one + 1)
            if mine / (mine + theirs) > largest:
                largest = mine / (mine + theirs)
                second = one
    return first, second
