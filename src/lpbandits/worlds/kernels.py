"""Compiled draws of people: orderings, descending means, swapped neighbours, model errors, and offered actions."""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.random import MISTAKE, OFFER, ORDER, STEP, SWAP, TIER, TOP, below, normal, uniform, words
from lpbandits.typing import FloatArray, IntArray

# families of gaps between neighbouring actions
PAPER = 0  # gap + U(0, jitter)
EXPONENTIAL = 1
CLIFF = 2  # one large gap in the middle
STEPS = 3  # a few large gaps at random

EXPONENTIAL_GAP = 0.225  # its mean: the paper's at Δ = 0.2, ε = 0.05
LEDGE, CLIFF_GAP = 0.05, 2.0
LEVEL, STEP_GAP, STEP_CHANCE = 0.02, 1.0, 0.2


@jit_in_place
def order_keys(seed: int, draw: int, attempt: int, out: FloatArray) -> None:
    """Fill `out` with the sort keys of one random ordering."""
    for a in range(len(out)):
        out[a] = uniform(seed, draw, attempt, ORDER, a)


@kernel
def gap_at(family: int, i: int, k: int, u: float, gap: float, jitter: float) -> float:
    """Return the gap between ranks i − 1 and i; u is uniform in (0, 1)."""
    if family == EXPONENTIAL:
        return -EXPONENTIAL_GAP * np.log1p(-u)
    if family == CLIFF:
        return CLIFF_GAP if i == k // 2 else LEDGE
    if family == STEPS:
        return STEP_GAP if u < STEP_CHANCE else LEVEL
    return gap + jitter * u


@jit_in_place
def descending_means(
    orderings: IntArray,
    truth: IntArray,
    ids: IntArray,
    seed: int,
    low: float,
    width: float,
    family: int,
    gap: float,
    jitter: float,
    out: FloatArray,
) -> None:
    """Draw each person's best mean from U(low, low + width), and subtract a gap for each next action."""
    k = orderings.shape[1]
    for p in range(len(truth)):
        mean = low + width * uniform(seed, ids[p], 0, TOP, 0)
        for i in range(k):
            if i > 0:
                mean -= gap_at(family, i, k, uniform(seed, ids[p], 0, STEP, i), gap, jitter)
            out[p, orderings[truth[p], i]] = mean


@jit_in_place
def shuffle_tiers(orderings: IntArray, truth: IntArray, ids: IntArray, seed: int, size: int, out: IntArray) -> None:
    """Write each person's ordering: that of their state, with each tier of `size` actions in random order."""
    k = orderings.shape[1]
    for p in range(len(truth)):
        for i in range(k):
            start = i - i % size
            j = start + below(uniform(seed, ids[p], 0, TIER, i), i - start + 1)
            out[p, i] = out[p, j]
            out[p, j] = orderings[truth[p], i]


@jit_in_place
def swap_neighbours(
    orderings: IntArray, truth: IntArray, ids: IntArray, seed: int, chance: float, means: FloatArray
) -> None:
    """Swap the means of ranks i and i + 1 with probability `chance`, in one pass over each person's ordering."""
    for p in range(len(truth)):
        ordering = orderings[truth[p]]
        held = ordering[0]  # the action at rank i, after the swaps before it
        mean = means[p, held]  # of rank i
        for i in range(len(ordering) - 1):
            after = ordering[i + 1]
            next_mean = means[p, after]
            if uniform(seed, ids[p], 0, SWAP, i) < chance:
                means[p, after] = mean
            else:
                means[p, held] = mean
                held = after
            mean = next_mean
        means[p, held] = mean


@jit_in_place
def mistakes(seed: int, draw: int, state: int, attempt: int, out: FloatArray) -> None:
    """Fill `out` with the standard normal errors of one state's utilities."""
    k = len(out)
    for a in range(k):
        word, _ = words(seed, draw, state, MISTAKE, attempt * k + a)
        out[a] = normal(word)


@jit_in_place
def diverse_sets(
    starts: IntArray,
    members: IntArray,
    owner_starts: IntArray,
    owners: IntArray,
    seed: int,
    first_person: int,
    out: IntArray,
    stamp: IntArray,
    left: IntArray,
    turn: IntArray,
) -> None:
    """Fill `out` (people × rounds × size) with sets of actions, drawn from the genres in turn.

    Genre g has actions members[starts[g]:starts[g+1]], action a has genres owners[owner_starts[a]:owner_starts[a+1]].
    Genres take turns in random order; in its turn, a genre gives a random action that is not yet chosen. Sets are in
    ascending order. `stamp` (per action, initially 0), `left` and `turn` (per genre) are scratch arrays.
    """
    people, rounds, size = out.shape
    genres = len(left)
    mark = 0
    for p in range(people):
        for t in range(rounds):
            mark += 1
            draw = 0
            for g in range(genres):
                left[g] = starts[g + 1] - starts[g]
                turn[g] = g
            for g in range(genres - 1, 0, -1):
                other = below(uniform(seed, first_person + p, t, OFFER, draw), g + 1)
                draw += 1
                turn[g], turn[other] = turn[other], turn[g]
            chosen = 0
            at = 0
            while chosen < size:
                g = turn[at % genres]
                at += 1
                if left[g] == 0:
                    continue
                action = -1
                while action < 0:
                    width = starts[g + 1] - starts[g]
                    candidate = members[starts[g] + below(uniform(seed, first_person + p, t, OFFER, draw), width)]
                    draw += 1
                    if stamp[candidate] != mark:
                        action = candidate
                stamp[action] = mark
                chosen += 1
                for i in range(owner_starts[action], owner_starts[action + 1]):
                    left[owners[i]] -= 1
            filled = 0
            for action in range(len(stamp)):
                if stamp[action] == mark:
                    out[p, t, filled] = action
                    filled += 1
