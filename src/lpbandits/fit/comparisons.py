"""Comparisons in a log: which action was rated above which, and how often."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels import comparisons as kernels
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray, IntArray

TILE = 64
"""Number of rows and columns of a tile when a matrix is added to its transpose."""

CHUNK = 2**17
"""Number of ratings counted together; larger chunks were three times slower for a million people with 200 ratings."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Each person's history, sorted by rating for counting; see `kernels.comparisons` for the layout.

    `person` is the owner of each history and `weight` the weight of its comparisons. Without a cap on pairs per person,
    each person has one history of weight 1.
    """

    person: IntArray
    weight: FloatArray
    histories: kernels.SortedHistories
    people: int
    actions: int

    @property
    def lengths(self) -> IntArray:
        """Number of ratings of each history."""
        return np.diff(self.histories.offsets)

    @property
    def pairs(self) -> FloatArray:
        """Number of comparisons per person, including ties, before any cap."""
        lengths = self.lengths.astype(np.float64)
        pairs = self.weight * lengths * (lengths - 1) / 2
        return np.bincount(self.person, weights=pairs, minlength=self.people).astype(np.float64)

    @property
    def ties(self) -> float:
        """Number of tied comparisons of all people."""
        offsets, _, below, through = self.histories
        tied = (through - below - 1) / 2  # each run of n ties has n entries, and n(n − 1)/2 pairs
        per_history = np.add.reduceat(np.append(tied, 0.0), offsets[:-1]) * (self.lengths > 0)
        return float(self.weight @ per_history)

    def raters(self, used: BoolArray) -> IntArray:
        """Return the number of raters of each action in the `used` histories."""
        return np.bincount(self.histories.action[np.repeat(used, self.lengths)], minlength=self.actions)

    def restricted(self, kept: IntArray) -> "Comparisons":
        """Renumber the `kept` actions from 0; valid only for histories whose actions are all in `kept`."""
        if len(kept) == self.actions:
            return self
        number = np.zeros(self.actions, dtype=np.uint32)
        number[kept] = np.arange(len(kept))
        renumbered = self.histories._replace(action=number[self.histories.action])
        return replace(self, histories=renumbered, actions=len(kept))


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Sufficient statistics of a Bradley-Terry model: `wins` per action (a tie is half a win), comparisons per pair.

    `double_counts` = H + Hᵀ is twice the number of comparisons of each pair; H counts half wins, so that ties are
    integers. Its rows and columns are the actions in `kept`; `actions` is the number of all actions.
    """

    double_counts: NDArray[Any]
    wins: FloatArray
    kept: IntArray
    actions: int

    def plus(self, other: "PairCounts") -> "PairCounts":
        """Add the counts of held-out people, overwriting `double_counts`."""
        np.add(self.double_counts, other.double_counts, out=self.double_counts)
        return replace(self, wins=self.wins + other.wins)

    def minus(self, other: "PairCounts") -> "PairCounts":
        """Subtract the counts of held-out people, overwriting `double_counts`."""
        np.subtract(self.double_counts, other.double_counts, out=self.double_counts)
        return replace(self, wins=self.wins - other.wins)


def compare(
    ratings: Ratings,
    *,
    pairs_per_person: int | None = None,
    seed: int = 0,
    first: int = 0,
    threads: Threads | None = None,
) -> Comparisons:
    """Sort each person's ratings; `first` is the index in the log of the first person.

    The ratings of a person with more than `pairs_per_person` pairs are split at random into groups. Only pairs within a
    group count, with a weight that keeps the expected counts.
    """
    offsets, action, rating = np.array(ratings.offsets), ratings.action.astype(np.uint32), np.array(ratings.rating)
    person = np.arange(len(ratings.people))
    weight = np.ones(len(person))
    if pairs_per_person is not None:
        history = offsets, action, rating, pairs_per_person, seed, first
        person, weight, offsets, action, rating = kernels.split_histories(*history)
    histories = kernels.SortedHistories(offsets, np.empty_like(action), *np.empty((2, len(action)), dtype=np.int32))
    pool = threads or Threads(1)
    pool.run(kernels.sort_histories, len(person), action, rating, histories, blocks=8, smallest=64)
    return Comparisons(person, weight, histories, len(ratings.people), len(ratings.actions))


class PairCap(NamedTuple):
    """Maximum number of comparisons per person, None for all, and the seed of their choice."""

    pairs: int | None = None
    seed: int = 0

    def comparisons(self, block: Ratings, index: IntArray, threads: Threads) -> Comparisons:
        """Return the comparisons of a block, cached on it if all are used; `index` numbers its people in the log."""
        if self.pairs is not None:
            return compare(block, pairs_per_person=self.pairs, seed=self.seed, first=int(index[0]), threads=threads)
        if "comparisons" not in block.__dict__:
            block.__dict__["comparisons"] = compare(block, threads=threads)
        cached: Comparisons = block.__dict__["comparisons"]
        return cached


def count_wins(
    comparisons: Comparisons, person_weight: FloatArray | None = None, *, threads: Threads | None = None
) -> NDArray[Any]:
    """Return k×k H = 2 × wins + ties: H[i, j] grows by 2 when a person rates i above j and by 1 when equal.

    Two bytes per cell, or four if two might overflow; floats with weights other than 0 and 1.

    >>> log = Ratings.from_arrays([0, 0, 0, 1, 1], [0, 1, 2, 0, 2], [3, 5, 3, 1, 4])
    >>> count_wins(compare(log))
    array([[0, 0, 1],
           [2, 0, 2],
           [3, 0, 0]], dtype=uint16)
    """
    weight = comparisons.weight
    if person_weight is not None:
        weight = weight * person_weight[comparisons.person]
    raters = comparisons.raters(weight > 0)
    counts = np.zeros((comparisons.actions, comparisons.actions), dtype=cell_type(weight[weight > 0], raters))
    add_wins(counts, comparisons, weight, threads=threads)
    return counts


def add_wins(counts: NDArray[Any], comparisons: Comparisons, weight: FloatArray, *, threads: Threads | None) -> None:
    """Add the wins of weighted histories to H, in chunks that fit into a core's cache."""
    pool, typed_weight = threads or Threads(1), weight.astype(counts.dtype)
    chosen = np.flatnonzero(weight > 0)
    ends = np.cumsum(comparisons.lengths[chosen])
    done = taken = 0
    while done < len(chosen):
        chunk = chosen[done : int(np.searchsorted(ends, taken + CHUNK)) + 1]
        size, done = int(ends[done + len(chunk) - 1]) - taken, done + len(chunk)
        lists = np.zeros(comparisons.actions + 1, dtype=np.int64), *np.empty((2, size), dtype=np.int32)
        kernels.group_by_action(chunk, comparisons.histories, lists)
        arrays = lists, comparisons.histories, typed_weight, counts
        pool.run(kernels.count_rows, comparisons.actions, *arrays, blocks=16, smallest=8)
        taken += size


def cell_type(weight: FloatArray, raters: IntArray) -> type[np.generic]:
    """Return the smallest type for H and H + Hᵀ: an action's cells are at most twice its number of raters."""
    if np.any(weight != 1.0):
        return np.float64
    return np.uint16 if 2 * int(raters.max(initial=0)) <= np.iinfo(np.uint16).max else np.uint32


def gather(
    counts: NDArray[Any], kept: IntArray | None = None, n_actions: int = 0, *, threads: Threads | None = None
) -> PairCounts:
    """Return wins and comparisons from H, which is overwritten; row i of H is action kept[i], or i without `kept`."""
    wins = counts.sum(axis=1, dtype=np.float64) / 2
    tiles = -(-len(counts) // TILE)
    (threads or Threads(1)).run(kernels.add_transposed, tiles, TILE, counts, blocks=8, smallest=4)
    return PairCounts(counts, wins, np.arange(len(counts)) if kept is None else kept, n_actions or len(counts))


def count_state(comparisons: Comparisons, weight: FloatArray, *, threads: Threads | None = None) -> PairCounts:
    """Count the comparisons of people with a weight above 0, among the actions that they rated."""
    kept = rated_actions(comparisons.raters(weight[comparisons.person] > 0))
    counts = count_wins(comparisons.restricted(kept), weight, threads=threads)
    return gather(counts, kept, comparisons.actions, threads=threads)


def rated_actions(raters: IntArray) -> IntArray:
    """Return the rated actions; a state without people keeps one action, never compared."""
    kept = np.flatnonzero(raters)
    return kept if len(kept) else np.zeros(1, dtype=np.int64)
