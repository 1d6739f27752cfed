"""Comparisons within each person's history: sort by rating, count wins, and compute likelihoods.

A *history* is one person's ratings (or a random group of them, see `group_sizes`), sorted by rating. The actions rated
lower than the one at a position are a prefix of the history, and its ties are one run: `below` holds the start of the
run of ties, `through` its end, both as positions in the array of all histories.

Counts are H = 2 × wins + ties, so a tie is half a win each way and small integers suffice.
"""

from typing import Any, NamedTuple

import numpy as np

from lpbandits.kernels.compiler import jit
from lpbandits.kernels.random import below as below_
from lpbandits.kernels.random import uniform
from lpbandits.typing import FloatArray, IntArray

SPLIT = 100  # purpose of a random draw: to split a long history into groups


class SortedHistories(NamedTuple):
    """Sorted histories one after another: history g is at positions offsets[g]..offsets[g + 1]−1."""

    offsets: IntArray
    action: Any
    below: Any
    through: Any


@jit
def group_sizes(n: int, cap: int) -> tuple[int, int, int]:
    """Split n ratings so that they have at most `cap` pairs; return (groups, size, number of groups with one more).

    Only pairs within a group are compared. In a random split all pairs are equally likely to be kept, so weighting the
    kept pairs by n(n−1)/2 over their number preserves the expected counts.
    """
    groups = max(n * n // (2 * cap + n), 1)
    while True:
        size = n // groups
        extra = n - groups * size
        if size < 2:
            return min(cap, n // 2), 2, 0
        if extra * size + groups * (size * (size - 1) // 2) <= cap:
            return groups, size, extra
        groups += 1


@jit
def split_histories(
    offsets: IntArray, action: Any, rating: FloatArray, cap: int, seed: int, first_person: int
) -> tuple[IntArray, FloatArray, IntArray, Any, FloatArray]:
    """Split people with more than `cap` pairs; return the histories' people, weights, offsets, actions and ratings.

    `first_person` is the index in the log of the first person here: random draws are indexed by person.
    """
    histories, longest = 0, 0
    for person in range(len(offsets) - 1):
        n = offsets[person + 1] - offsets[person]
        longest = max(longest, n)
        histories += group_sizes(n, cap)[0] if n * (n - 1) // 2 > cap else 1
    people, weight = np.empty(histories, dtype=np.int64), np.ones(histories)
    out_offsets = np.zeros(histories + 1, dtype=np.int64)
    out_action, out_rating = np.empty_like(action), np.empty_like(rating)
    order = np.empty(longest, dtype=np.int64)
    at, history = 0, 0
    for person in range(len(offsets) - 1):
        start = offsets[person]
        n = offsets[person + 1] - start
        for i in range(n):
            order[i] = i
        groups, size, extra = 1, n, 0
        scale = 1.0
        if n * (n - 1) // 2 > cap:
            groups, size, extra = group_sizes(n, cap)
            kept = extra * size + groups * (size * (size - 1) // 2)
            scale = (n * (n - 1) // 2) / kept
            for i in range(n - 1, 0, -1):
                j = below_(uniform(seed, first_person + person, i, SPLIT, 0), i + 1)
                order[i], order[j] = order[j], order[i]
        taken = 0
        for group in range(groups):
            length = size + (1 if group < extra else 0)
            for i in range(taken, taken + length):
                out_action[at] = action[start + order[i]]
                out_rating[at] = rating[start + order[i]]
                at += 1
            taken += length
            people[history], weight[history] = person, scale
            history += 1
            out_offsets[history] = at
    return people, weight, out_offsets, out_action[:at].copy(), out_rating[:at].copy()


@jit
def sort_histories(low: int, high: int, action: Any, rating: FloatArray, out: SortedHistories) -> None:
    """Sort histories low..high−1 by rating, the lowest first, and mark each position's run of ties."""
    offsets, out_action, below, through = out
    for g in range(low, high):
        start = offsets[g]
        n = offsets[g + 1] - start
        order = np.argsort(rating[start : start + n], kind="mergesort")
        run = 0
        for i in range(n):
            out_action[start + i] = action[start + order[i]]
            if i + 1 == n or rating[start + order[i + 1]] > rating[start + order[i]]:
                for t in range(run, i + 1):
                    below[start + t] = start + run
                    through[start + t] = start + i + 1
                run = i + 1


@jit
def group_by_action(chosen: IntArray, histories: SortedHistories, lists: Any) -> None:
    """Fill `lists` = (starts, position, owner): each action's positions in the chosen histories, and those histories.

    `starts`, k + 1 zeros, receives where the entries of each action begin.
    """
    starts, position, owner = lists
    offsets, action, _, _ = histories
    k = len(starts) - 1
    for g in chosen:
        for at in range(offsets[g], offsets[g + 1]):
            starts[action[at] + 1] += 1
    for a in range(k):
        starts[a + 1] += starts[a]
    slot = starts[:-1].copy()
    for g in chosen:
        for at in range(offsets[g], offsets[g + 1]):
            a = action[at]
            position[slot[a]] = at
            owner[slot[a]] = g
            slot[a] += 1


@jit
def count_rows(low: int, high: int, lists: Any, histories: SortedHistories, weight: Any, counts: Any) -> None:
    """Add to rows low..high−1 of H: counts[i, j] += Σ weight × (2 if i was rated above j, 1 if equal).

    `lists` are those of `group_by_action`. One row at a time stays in the fast cache. `weight` has the type of
    `counts`: integers wide enough for twice the number of raters of i, or floats.
    """
    starts, position, owner = lists
    offsets, action, below, through = histories
    for i in range(low, high):
        row = counts[i]
        for o in range(starts[i], starts[i + 1]):
            at = position[o]
            g = owner[o]
            tie = weight[g]
            win = tie + tie
            for t in range(offsets[g], below[at]):
                row[action[t]] += win
            for t in range(below[at], through[at]):
                row[action[t]] += tie
        row[i] = 0


@jit
def add_transposed(low: int, high: int, tile: int, counts: Any) -> None:
    """Replace H by H + Hᵀ in place, for tile rows low..high−1 and the tiles to their right."""
    k = len(counts)
    for block in range(low, high):
        top = block * tile
        bottom = min(top + tile, k)
        for left in range(top, k, tile):
            right = min(left + tile, k)
            for i in range(top, bottom):
                for j in range(max(left, i + 1), right):
                    both = counts[i, j] + counts[j, i]
                    counts[i, j] = both
                    counts[j, i] = both


@jit
def history_log_likelihoods(
    low: int, high: int, histories: SortedHistories, beta: FloatArray, power: FloatArray, rounds: int, out: FloatArray
) -> None:
    """Fill out[g, z]: the log-probability of all comparisons in history g under the utilities β of state z.

    Σ wins_i β_i − Σ_{i<j} log(p_i + p_j), with p = exp(β) in `power`: `rounds` factors are multiplied before a
    logarithm is taken. The caller chooses `rounds`, and shifts β, so that no product leaves the range of a float.
    """
    offsets, action, below, through = histories
    longest = 0
    for g in range(low, high):
        longest = max(longest, offsets[g + 1] - offsets[g])
    p = np.empty(longest)
    product = np.empty(longest)
    for g in range(low, high):
        start = offsets[g]
        n = offsets[g + 1] - start
        for z in range(len(beta)):
            total = 0.0
            for i in range(n):
                at = start + i
                p[i] = power[z, action[at]]
                total += (below[at] - start + 0.5 * (through[at] - below[at] - 1)) * beta[z, action[at]]
            product[:n] = 1.0
            for i in range(1, n):
                p_i = p[i]
                for j in range(i):
                    product[j] *= p_i + p[j]
                if i % rounds == 0 or i + 1 == n:
                    for j in range(i):
                        total -= np.log(product[j])
                        product[j] = 1.0
            out[g, z] = total
