"""Which action was rated above which, and how often: the comparisons in a log and their counts."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels import comparisons as kernels
from lpbandits.limits import check_resources
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray, Int32Array, IntArray

TILE = 64
ROUNDS = 500

CHUNK = 2**17
"""Ratings whose pairs are counted together: with more, a million people of 200 ratings took three times as long."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Each person's history sorted by rating, ready for counting; see `kernels.pairs` for the layout.

    `person` says whose each history is, `weight` how much each of its comparisons counts. A person has one history of
    weight 1, unless there is a cap on pairs per person.
    """

    person: IntArray
    weight: FloatArray
    offsets: IntArray
    action: NDArray[np.uint32]
    below: Int32Array
    through: Int32Array
    people: int
    actions: int

    @property
    def pairs(self) -> FloatArray:
        """The number of comparisons each person made, strict or tied (with a cap: as if there were none)."""
        lengths = np.diff(self.offsets).astype(np.float64)
        pairs = self.weight * lengths * (lengths - 1) / 2
        return np.bincount(self.person, weights=pairs, minlength=self.people).astype(np.float64)

    @property
    def ties(self) -> float:
        """The number of comparisons, of all people, that are ties.

        >>> compare(Ratings.from_arrays([0, 0, 0], ["jam", "rum", "tea"], [2, 2, 5])).ties
        1.0
        """
        tied = (self.through - self.below - 1) / 2  # each run of n ties has n entries, and n(n − 1)/2 pairs
        each = np.add.reduceat(np.append(tied, 0.0), self.offsets[:-1]) * (np.diff(self.offsets) > 0)
        return float(self.weight @ each)


@dataclass(frozen=True, eq=False)
class PairCounts:
    """What a Bradley-Terry model needs of many comparisons: `wins` per action, ties one half, and how often two met.

    `halves` is symmetric and holds twice the number of meetings. Rows are of the actions `kept`, of all `actions`: what
    nobody rated would only cost time and memory.
    """

    halves: NDArray[Any]
    wins: FloatArray
    kept: IntArray
    actions: int


def compare(
    ratings: Ratings,
    *,
    pairs_per_person: int | None = None,
    seed: int = 0,
    first: int = 0,
    threads: Threads | None = None,
) -> Comparisons:
    """Sort every person's ratings.

    With `pairs_per_person`, the ratings of a person with more pairs are split at random (by `seed`) into parts, only
    pairs inside a part count, and they weigh more in proportion: the expected counts are those without a cap. Of a
    block of a log, `first` is the number of its first person.

    >>> log = Ratings.from_arrays([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [3, 5, 3, 1, 4])
    >>> compare(log).pairs.tolist()
    [3.0, 1.0]
    """
    pool = threads or Threads(1)
    offsets = np.array(ratings.offsets)
    action = ratings.action.astype(np.uint32)
    rating = np.array(ratings.rating)
    person = np.arange(len(ratings.people))
    weight = np.ones(len(person))
    if pairs_per_person is not None:
        cap = validate.as_count(pairs_per_person, "pairs_per_person")
        groups = kernels.count_groups(offsets, cap)
        starts = np.cumsum(groups) - groups
        whole_offsets, offsets = offsets, np.zeros(int(groups.sum()) + 1, dtype=np.int64)
        weight = np.ones(len(offsets) - 1)
        arrays = np.empty_like(action), np.empty_like(rating)
        size = kernels.split_histories(
            whole_offsets, cap, validate.as_seed(seed), first, starts, action, rating, offsets, *arrays, weight
        )
        action, rating = arrays[0][:size].copy(), arrays[1][:size].copy()
        person = np.repeat(person, groups)
    below, through = np.empty(len(action), dtype=np.int32), np.empty(len(action), dtype=np.int32)
    sorted_action = np.empty_like(action)
    pool.run(
        kernels.sort_histories,
        len(person),
        *(offsets, action, rating, sorted_action, below, through),
        blocks=8,
        smallest=64,
    )
    return Comparisons(
        person, weight, offsets, sorted_action, below, through, len(ratings.people), len(ratings.actions)
    )


def compared(block: Ratings, *, pairs_per_person: int | None, seed: int, first: int, threads: Threads) -> Comparisons:
    """Return the comparisons of a block of a log; they stay with it for as long as it is in memory."""
    if pairs_per_person is not None:
        return compare(block, pairs_per_person=pairs_per_person, seed=seed, first=first, threads=threads)
    known: Comparisons | None = block.__dict__.get("comparisons")
    if known is None:
        known = block.__dict__["comparisons"] = compare(block, threads=threads)
    return known


def count_wins(
    comparisons: Comparisons, person_weight: FloatArray | None = None, *, threads: Threads | None = None
) -> NDArray[Any]:
    """Return k×k H = 2 × wins + ties: H[i, j] grows by 2 when a person rates i above j and by 1 when equal.

    Two bytes per cell, or four when an action has so many ratings that two might overflow; floats when people have
    weights other than 0 and 1, or comparisons have.

    >>> log = Ratings.from_arrays([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [3, 5, 3, 1, 4])
    >>> count_wins(compare(log))
    array([[0, 0, 1],
           [2, 0, 2],
           [3, 0, 0]], dtype=uint16)
    """
    weight = comparisons.weight
    if person_weight is not None:
        weight = weight * person_weight[comparisons.person]
    used = np.repeat(weight > 0, np.diff(comparisons.offsets))
    raters = np.bincount(comparisons.action[used], minlength=comparisons.actions)
    cell = np.dtype(cell_type(weight[weight > 0], raters))
    check_resources(
        f"counts of {comparisons.actions:,} × {comparisons.actions:,} actions",
        "leave out actions with few ratings (min_action; --min-action)",
        size=cell.itemsize * comparisons.actions**2,
    )
    counts = np.zeros((comparisons.actions, comparisons.actions), dtype=cell)
    add_wins(counts, comparisons, weight, threads=threads)
    return counts


def add_wins(counts: NDArray[Any], comparisons: Comparisons, weight: FloatArray, *, threads: Threads | None) -> None:
    """Add the wins of histories, each with its weight, to H; as many at a time as a core's own cache holds."""
    pool = threads or Threads(1)
    layout = comparisons.offsets, comparisons.action
    rest = comparisons.below, comparisons.through, weight.astype(counts.dtype)
    chosen = np.flatnonzero(weight > 0)
    ends = np.cumsum(np.diff(comparisons.offsets)[chosen])
    done = taken = 0
    while done < len(chosen):
        some = chosen[done : int(np.searchsorted(ends, taken + CHUNK)) + 1]
        size, done = int(ends[done + len(some) - 1]) - taken, done + len(some)
        starts = np.zeros(comparisons.actions + 1, dtype=np.int64)
        position, owner = np.empty((2, size), dtype=np.int32)
        kernels.group_by_action(some, *layout, starts, position, owner)
        pool.run(
            kernels.count_rows,
            comparisons.actions,
            *(starts, position, owner, *layout, *rest, counts),
            blocks=16,
            smallest=8,
        )
        taken += size


def cell_type(weight: FloatArray, raters: IntArray) -> type[np.generic]:
    """Return the smallest type that H and H + Hᵀ fit: an action's cells are at most twice its number of raters."""
    if np.any(weight != 1.0):
        return np.float64
    return np.uint16 if 2 * int(raters.max(initial=0)) <= np.iinfo(np.uint16).max else np.uint32


def gather(counts: NDArray[Any], *, threads: Threads | None = None) -> PairCounts:
    """Return wins and meetings from H, which is overwritten.

    >>> both = gather(np.array([[0, 3], [1, 0]], dtype=np.uint16))
    >>> both.wins.tolist(), both.halves.tolist()
    ([1.5, 0.5], [[0, 4], [4, 0]])
    """
    wins = counts.sum(axis=1, dtype=np.float64) / 2
    tiles = -(-len(counts) // TILE)
    (threads or Threads(1)).run(kernels.add_transposed, tiles, TILE, counts, blocks=8, smallest=4)
    return PairCounts(counts, wins, np.arange(len(counts)), len(counts))


def count_state(comparisons: Comparisons, weight: FloatArray, *, threads: Threads | None = None) -> PairCounts:
    """Count the comparisons of people with a weight above 0, among the actions that they rated.

    >>> log = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 1, 2], [3, 5, 4, 1])
    >>> counts = count_state(compare(log), np.array([0.0, 1.0]))
    >>> counts.wins.tolist(), counts.kept.tolist(), counts.actions
    ([1.0, 0.0], [1, 2], 3)
    """
    rated = np.zeros(comparisons.actions, dtype=np.bool_)
    used = np.repeat(weight[comparisons.person] > 0, np.diff(comparisons.offsets))
    rated[comparisons.action[used]] = True
    rated[0] |= not rated.any()  # a state that lost all its people keeps one action, never compared
    kept = np.flatnonzero(rated)
    fewer = comparisons
    if len(kept) < comparisons.actions:
        # Actions of other people get wrong numbers here; those people's histories are not looked at.
        number = np.maximum(np.cumsum(rated) - 1, 0).astype(np.uint32)
        fewer = replace(comparisons, action=number[comparisons.action], actions=len(kept))
    counts = gather(count_wins(fewer, weight, threads=threads), threads=threads)
    return replace(counts, kept=kept, actions=comparisons.actions)


def log_likelihoods(comparisons: Comparisons, utilities: FloatArray, *, threads: Threads | None = None) -> FloatArray:
    """Return people × states: the log-probability of each person's comparisons under each state's utilities.

    >>> log = Ratings.from_arrays([0, 0], [0, 1], [5, 1])
    >>> log_likelihoods(compare(log), np.array([[0.0, 0.0], [1.0, -1.0]])).round(4).tolist()
    [[-0.6931, -0.1269]]
    """
    top = utilities.max(axis=1, keepdims=True)
    shifted = np.ascontiguousarray(utilities - top)
    spread = max(float(-shifted.min()), 1.0)
    out = np.empty((len(comparisons.person), len(utilities)))
    (threads or Threads(1)).run(
        kernels.history_log_likelihoods,
        len(comparisons.person),
        *(comparisons.offsets, comparisons.action, comparisons.below, comparisons.through),
        *(shifted, np.exp(shifted), int(np.clip(600 / spread, 1, ROUNDS)), out),
        blocks=16,
        smallest=16,
    )
    if len(out) == comparisons.people:
        return out * comparisons.weight[:, None]
    columns = [
        np.bincount(comparisons.person, weights=out[:, z] * comparisons.weight, minlength=comparisons.people)
        for z in range(out.shape[1])
    ]
    return np.ascontiguousarray(np.stack(columns, axis=1))
