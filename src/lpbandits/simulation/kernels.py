"""Compiled loops of the simulator: all rounds of many people, and histograms with geometric bins."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaError

from lpbandits.errors import InvalidInput
from lpbandits.kernels.choices import favourites, filled
from lpbandits.kernels.compiler import compile_error, jit_in_place, kernel, name_of, specialise
from lpbandits.kernels.isotonic import pool
from lpbandits.kernels.layout import POSTERIOR, Arrays
from lpbandits.kernels.outcomes import People
from lpbandits.typing import FloatArray, Int32Array, IntArray, UInt16Array


class Offers(NamedTuple):
    """What people may choose from, in rounds: people × rounds × allowed actions in rising order, filled up with -1.

    1 in place of people or rounds: the same for all; 1×1×0: everything. `sets` is what the world allows, `choices` what
    the policy limits itself to. Where offers depend on the past, `taken` (one per action, 0 at first; else empty) and
    `choices` (1×2×k) are scratch, and `prefer` holds the ranks by which a policy limits itself to favourites (0×0: it
    does not).
    """

    sets: IntArray
    choices: IntArray
    taken: IntArray
    prefer: Int32Array


@kernel
def best_mean(means: FloatArray, p: int, allowed: IntArray, size: int) -> float:
    """Return the largest mean among the first `size` allowed actions, or of all where `allowed` is empty."""
    value = -np.inf
    if len(allowed) == 0:
        for action in range(means.shape[1]):
            value = max(value, means[p, action])
    else:
        for i in range(size):
            value = max(value, means[p, allowed[i]])
    return value


@kernel
def offer_sets(offers: Offers, people: People, b: Arrays, n: int, p: int, t: int) -> tuple[int, int, int, int, float]:
    """Offer the round's set, whatever happened before.

    Every offer returns where its actions stand in `choices` (person, round and how many), how many the world allows,
    and the best mean of those, from which regret is counted.
    """
    sets, choices = offers.sets, offers.choices
    allowed = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1)]
    i, j = min(p, choices.shape[0] - 1), min(t, choices.shape[1] - 1)
    whole = filled(allowed)
    return i, j, filled(choices[i, j]), whole, best_mean(people.means, p, allowed, whole)


@kernel
def offer_once(offers: Offers, people: People, b: Arrays, n: int, p: int, t: int) -> tuple[int, int, int, int, float]:
    """Offer what the round's set has left: each action at most once."""
    sets, taken = offers.sets, offers.taken
    choices = offers.choices[0, 0]
    for slot in range(n):
        taken[b.order[0, slot]] = p + 1
    allowed = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1)]
    whole = len(taken) if len(allowed) == 0 else filled(allowed)
    size = 0
    for i in range(whole):
        action = i if len(allowed) == 0 else allowed[i]
        if taken[action] != p + 1:
            choices[size] = action
            size += 1
    target = best_mean(people.means, p, choices, size)
    if len(offers.prefer) > 0:
        return 0, 1, favourites(offers.prefer, choices, size, offers.choices[0, 1]), size, target
    return 0, 0, size, size, target


@jit_in_place
def active_constraints(b: Arrays, n: int, state: int, out: FloatArray, p: int) -> None:
    """Write the order constraints that hold with equality: mean over all states, the true one, mean of the others."""
    m = b.states.shape[1]
    total = 0.0
    for z in range(m):
        blocks = pool(b, 1 + z, n)
        total += n - blocks
        if z == state:
            out[p, 1] = n - blocks
    out[p, 0] = total / m
    out[p, 2] = (total - out[p, 1]) / (m - 1) if m > 1 and state >= 0 else np.nan


def offer(*_: Any) -> Any:
    """Stand for the function that is put in."""


choose = outcome = tell = apply_exploration_floor = offer


class Records(NamedTuple):
    """Where a rollout writes its results, by person and round (`Trace` describes the arrays)."""

    plays: Int32Array
    rewards: FloatArray
    regret: FloatArray
    weak: FloatArray
    mass: FloatArray
    active: FloatArray


def rollout(
    b: Arrays,
    start_states: FloatArray,
    start_own: FloatArray,
    people: People,
    offers: Offers,
    changing: bool,
    explore: float,
    seed: int,
    person: int,
    records: Records,
) -> None:
    """Play all rounds for some people; the first of them has random stream `person`.

    `b` is the policy and one belief, which starts as `start_states` and `start_own` for each person. `changing` says
    whether offers depend on the round; `explore` is the smallest probability of every allowed action. A person's
    results depend only on their random stream, so any split over threads gives the same bits.
    """
    states, own, truth = b.states, b.own, people.truth
    plays, mass, active = records.plays, records.mass, records.active
    sets, choices, taken = offers.sets, offers.choices, offers.taken
    count, rounds, width = plays.shape
    m = states.shape[1]
    zero: Any = np.int64(0)  # a literal 0 would have every kernel below compiled once more, for literals
    for p in range(count):
        n = zero
        for row in range(states.shape[0]):
            for z in range(m):
                states[row, z] = start_states[row, z]
        for row in range(own.shape[0]):
            for i in range(own.shape[1]):
                own[row, i] = start_own[row, i]
        i, j, size, whole, target = offer(offers, people, b, n, p, zero)
        for t in range(rounds):
            if changing and t > 0:
                i, j, size, whole, target = offer(offers, people, b, n, p, t)
            play = choose(b, n, choices[i, j, :size], seed, person + p, t)
            if explore > 0.0:
                allowed = sets[min(p, sets.shape[0] - 1), min(t, sets.shape[1] - 1), :whole]
                if len(taken) > 0:
                    allowed = choices[0, 0, :whole]
                play = apply_exploration_floor(play, explore, people.means.shape[1], allowed, seed, person + p, t)
            one, other, who, shown, value, loss, less = outcome(people, p, target, play, seed, person + p, t)
            n = tell(b, n, who, shown)
            plays[p, t, 0] = one
            if width > 1:
                plays[p, t, 1] = other
                plays[p, t, 2] = who
            records.rewards[p, t] = value
            records.regret[p, t] = loss
            if records.weak.shape[1] > 0:
                records.weak[p, t] = less
            mass[p, t] = states[POSTERIOR, truth[p]] if m > 0 and truth[p] >= 0 else np.nan
        for part in range(3):
            active[p, part] = np.nan
        if m > 0 and b.order.shape[0] == 1 + m:
            active_constraints(b, n, truth[p], active, p)


@functools.cache
def rollout_of(
    offering: Callable[..., Any],
    choosing: Callable[..., Any],
    wandering: Callable[..., Any],
    happening: Callable[..., Any],
    telling: Callable[..., int],
) -> Callable[..., None]:
    """Return `rollout` compiled around the five functions."""
    parts = {
        "offer": offering,
        "choose": choosing,
        "apply_exploration_floor": wandering,
        "outcome": happening,
        "tell": telling,
    }
    made = specialise(rollout, name_of("rollout", parts), parts)

    def play(*arguments: Any) -> None:
        try:
            made(*arguments)
        except NumbaError as error:
            raise compile_error(error, choosing, telling) from None
        except IndexError as error:
            raise InvalidInput(str(error)) from None

    return play


@jit_in_place
def put_in_bins(values: FloatArray, smallest: float, log_growth: float, last: int, bins: UInt16Array) -> None:
    """Write the bin of each of people × rounds `values`: bin 0 takes what is below `smallest`, the last the rest.

    Bin i > 0 holds smallest · growth^(i − 1) ≤ value < smallest · growth^i.
    """
    for p in range(values.shape[0]):
        for t in range(values.shape[1]):
            value = values[p, t]
            i = 0
            if value >= smallest:
                i = min(1 + int(np.log(value / smallest) / log_growth), last)
            bins[p, t] = i


@jit_in_place
def count_bins(bins: UInt16Array, counts: IntArray) -> None:
    """Add people × rounds `bins` to rounds × bins `counts`."""
    for p in range(bins.shape[0]):
        for t in range(bins.shape[1]):
            counts[t, bins[p, t]] += 1
