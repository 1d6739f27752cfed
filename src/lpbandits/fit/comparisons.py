"""Comparisons in a log: which action was rated above which, how often, per person and per state.

Counts are integers, so a worker may count any blocks and add them up before sending. With a cap on pairs per person
they are sums of weights, which are added in runs of blocks, in order.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.blocks import Blocks, iadd, iadd_each, writable
from lpbandits.data.memory import MemoryBudget
from lpbandits.data.ratings import Ratings
from lpbandits.fit.clusters import raters_of
from lpbandits.fit.kernels import comparisons as kernels
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, FloatArray, Int32Array, IntArray

TILE = 64
CHUNK = 2**17
"""Ratings counted together: with more, a million people of 200 ratings took three times as long."""

CELLS = 2**26
"""Maximum number of cells of counts held at a time: the states that fit are counted in one pass."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Each person's history sorted by rating, ready for counting; see `kernels.comparisons` for the layout.

    `person` is the owner of each history and `weight` the weight of its comparisons. A person has one history of weight
    1, unless there is a cap on pairs per person.
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
        """Number of comparisons per person, strict or tied (with a cap: as if there were none)."""
        lengths = np.diff(self.offsets).astype(np.float64)
        pairs = self.weight * lengths * (lengths - 1) / 2
        return np.bincount(self.person, weights=pairs, minlength=self.people).astype(np.float64)

    @property
    def ties(self) -> float:
        """Number of tied comparisons of all people.

        >>> compare(Ratings.from_arrays([0, 0, 0], ["jam", "rum", "tea"], [2, 2, 5])).ties
        1.0
        """
        tied = (self.through - self.below - 1) / 2  # each run of n ties has n entries, and n(n − 1)/2 pairs
        per_history = np.add.reduceat(np.append(tied, 0.0), self.offsets[:-1]) * (np.diff(self.offsets) > 0)
        return float(self.weight @ per_history)

    def restricted(self, kept: IntArray) -> "Comparisons":
        """Renumber the `kept` actions from 0; histories with other actions must not be used afterwards."""
        if len(kept) == self.actions:
            return self
        number = np.zeros(self.actions, dtype=np.uint32)
        number[kept] = np.arange(len(kept))
        return replace(self, action=number[self.action], actions=len(kept))


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Sufficient statistics of a Bradley-Terry model: `wins` per action (a tie is half a win) and meetings per pair.

    `halves` is symmetric and holds twice the number of meetings. Rows stand for the `kept` of all `actions`.
    """

    halves: NDArray[Any]
    wins: FloatArray
    kept: IntArray
    actions: int

    def minus(self, other: "PairCounts") -> "PairCounts":
        """Subtract the counts of held-out people, overwriting `halves`."""
        np.subtract(self.halves, other.halves, out=self.halves)
        return replace(self, wins=self.wins - other.wins)


def compare(
    ratings: Ratings,
    *,
    pairs_per_person: int | None = None,
    seed: int = 0,
    first: int = 0,
    threads: Threads | None = None,
) -> Comparisons:
    """Sort each person's ratings.

    Parameters
    ----------
    pairs_per_person
        The ratings of a person with more pairs are split at random into groups. Only pairs within a group count, with a
        weight that keeps the expected counts.
    seed
        Random seed of the split.
    first
        Index of the first person, for a block of a log.

    Examples
    --------
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
        person_offsets, offsets = offsets, np.zeros(int(groups.sum()) + 1, dtype=np.int64)
        weight = np.ones(len(offsets) - 1)
        arrays = np.empty_like(action), np.empty_like(rating)
        size = kernels.split_histories(
            person_offsets, cap, validate.as_seed(seed), first, starts, action, rating, offsets, *arrays, weight
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
    """Return the comparisons of a block, cached on the block unless there is a cap."""
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
    used = np.repeat(weight > 0, np.diff(comparisons.offsets))
    raters = np.bincount(comparisons.action[used], minlength=comparisons.actions)
    counts = np.zeros((comparisons.actions, comparisons.actions), dtype=cell_type(weight[weight > 0], raters))
    add_wins(counts, comparisons, weight, threads=threads)
    return counts


def add_wins(counts: NDArray[Any], comparisons: Comparisons, weight: FloatArray, *, threads: Threads | None) -> None:
    """Add the wins of weighted histories to H, in chunks that fit into a core's cache."""
    pool = threads or Threads(1)
    layout = comparisons.offsets, comparisons.action
    rest = comparisons.below, comparisons.through, weight.astype(counts.dtype)
    chosen = np.flatnonzero(weight > 0)
    ends = np.cumsum(np.diff(comparisons.offsets)[chosen])
    done = taken = 0
    while done < len(chosen):
        chunk = chosen[done : int(np.searchsorted(ends, taken + CHUNK)) + 1]
        size, done = int(ends[done + len(chunk) - 1]) - taken, done + len(chunk)
        starts = np.zeros(comparisons.actions + 1, dtype=np.int64)
        position, owner = np.empty((2, size), dtype=np.int32)
        kernels.group_by_action(chunk, *layout, starts, position, owner)
        pool.run(
            kernels.count_rows,
            comparisons.actions,
            *(starts, position, owner, *layout, *rest, counts),
            blocks=16,
            smallest=8,
        )
        taken += size


def cell_type(weight: FloatArray, raters: IntArray) -> type[np.generic]:
    """Return the smallest type for H and H + Hᵀ: an action's cells are at most twice its number of raters."""
    if np.any(weight != 1.0):
        return np.float64
    return np.uint16 if 2 * int(raters.max(initial=0)) <= np.iinfo(np.uint16).max else np.uint32


def gather(
    counts: NDArray[Any], kept: IntArray | None = None, n_actions: int = 0, *, threads: Threads | None = None
) -> PairCounts:
    """Return wins and meetings from H, which is overwritten; its rows are the `kept` of `n_actions` actions, or all.

    >>> both = gather(np.array([[0, 3], [1, 0]], dtype=np.uint16))
    >>> both.wins.tolist(), both.halves.tolist()
    ([1.5, 0.5], [[0, 4], [4, 0]])
    """
    wins = counts.sum(axis=1, dtype=np.float64) / 2
    tiles = -(-len(counts) // TILE)
    (threads or Threads(1)).run(kernels.add_transposed, tiles, TILE, counts, blocks=8, smallest=4)
    return PairCounts(counts, wins, np.arange(len(counts)) if kept is None else kept, n_actions or len(counts))


def count_state(comparisons: Comparisons, weight: FloatArray, *, threads: Threads | None = None) -> PairCounts:
    """Count the comparisons of people with a weight above 0, among the actions that they rated.

    >>> log = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 1, 2], [3, 5, 4, 1])
    >>> counts = count_state(compare(log), np.array([0.0, 1.0]))
    >>> counts.wins.tolist(), counts.kept.tolist(), counts.actions
    ([1.0, 0.0], [1, 2], 3)
    """
    used = np.repeat(weight[comparisons.person] > 0, np.diff(comparisons.offsets))
    kept = _kept(np.bincount(comparisons.action[used], minlength=comparisons.actions))
    counts = count_wins(comparisons.restricted(kept), weight, threads=threads)
    return gather(counts, kept, comparisons.actions, threads=threads)


def _kept(raters: IntArray) -> IntArray:
    """Return the rated actions; a state without people keeps one action, never compared."""
    kept = np.flatnonzero(raters)
    return kept if len(kept) else np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _State:
    """One state to count: its number, its actions, the type of a cell and the bytes of its counts."""

    number: int
    kept: IntArray
    cell: str
    size: int


def count_states(
    log: Blocks,
    labels: IntArray,
    states: int,
    *,
    holdout: BoolArray | None = None,
    pairs_per_person: int | None = None,
    seed: int = 0,
) -> Iterator[tuple[PairCounts, PairCounts | None]]:
    """Yield, state by state, the counts of all its people and of its held-out people.

    >>> from lpbandits.data.blocks import MemoryBlocks
    >>> rows = Ratings.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 1, 2], [3, 5, 4, 1, 1, 4])
    >>> log, holdout = MemoryBlocks(rows, Threads(1)), np.array([0, 0, 1]) > 0
    >>> counts = count_states(log, np.array([0, 1, 1]), 2, holdout=holdout)
    >>> [(everyone.wins.tolist(), everyone.kept.tolist(), held.wins.tolist()) for everyone, held in counts]
    [([0.0, 1.0], [0, 1], [0.0, 0.0]), ([1.0, 1.0], [1, 2], [0.0, 1.0])]
    """
    raters = raters_of(log, labels, states)
    parts = 1 if holdout is None else 2
    mask = np.zeros(len(labels), dtype=np.bool_) if holdout is None else holdout
    in_order = pairs_per_person is not None
    to_count = []
    for z, row in enumerate(raters):
        kept = _kept(row)
        cell = np.dtype(np.float64 if in_order else cell_type(np.ones(1), row))
        to_count.append(_State(z, kept, cell.str, cell.itemsize * parts * len(kept) ** 2))
    largest = max(state.size for state in to_count)
    remedy = "leave out actions with few ratings (min_action; --min-action)"
    log.budget.check(f"counts of {raters.shape[1]:,} actions in one state", largest, remedy)
    if not log.budget.shared(largest, in_order=in_order):
        log = log.local
    for group in _passes(to_count, parts, log.budget, in_order=in_order):
        common = (group, parts, pairs_per_person, seed)
        per_person = (np.arange(len(labels)), labels, mask)
        if in_order:
            totals = functools.reduce(iadd_each, log.fold_runs(_count_block, *common, per_person=per_person))
        else:
            totals = log.fold(_count_block, *common, per_person=per_person)
        totals.reverse()  # popped from the end, so that the memory of each state is freed in turn
        for state in group:
            yield _pop_counts(totals, parts, state, raters.shape[1], log.pool)


def _pop_counts(
    totals: list[NDArray[Any]], parts: int, state: _State, n_actions: int, pool: Threads
) -> tuple[PairCounts, PairCounts | None]:
    """Pop a state's counts, of all people and of held-out people, without keeping a reference to them."""
    counts = writable(totals.pop())
    held = writable(totals.pop()) if parts > 1 else None
    if held is not None:
        counts = iadd(counts, held)
    everyone = gather(counts, state.kept, n_actions, threads=pool)
    return everyone, None if held is None else gather(held, state.kept, n_actions, threads=pool)


def _passes(states: list[_State], parts: int, budget: MemoryBudget, *, in_order: bool) -> list[list[_State]]:
    """Group the states that are counted in one pass."""
    groups: list[list[_State]] = []
    held = taken = 0
    for state in states:
        cells = parts * len(state.kept) ** 2
        if not groups or held + cells > CELLS or not budget.shared(taken + state.size, in_order=in_order):
            groups.append([])
            held = taken = 0
        held, taken = held + cells, taken + state.size
        groups[-1].append(state)
    return groups


def _count_block(
    block: Ratings,
    threads: Threads,
    totals: list[NDArray[Any]] | None,
    group: list[_State],
    parts: int,
    cap: int | None,
    seed: int,
    index: IntArray,
    labels: IntArray,
    holdout: BoolArray,
) -> list[NDArray[Any]]:
    """Add a block's pairs to the counts of each state: of training people, then of held-out people."""
    if totals is None:
        shapes = [(len(state.kept), state.cell) for state in group for _ in range(parts)]
        totals = [np.zeros((size, size), dtype=cell) for size, cell in shapes]
    comparisons = compared(block, pairs_per_person=cap, seed=seed, first=int(index[0]), threads=threads)
    counts = iter(totals)
    for state in group:
        fewer = comparisons.restricted(state.kept)
        for part in range(parts):
            chosen = (labels == state.number) & (holdout == bool(part))
            add_wins(next(counts), fewer, fewer.weight * chosen[fewer.person], threads=threads)
    return totals
