"""Who beat whom, in every state of a log: counts of pairs, block by block.

They are whole numbers, so it does not matter who counts which people, and a worker adds up all its blocks before it
sends anything. Only with a cap on pairs per person are they weights, which are added in runs of blocks, in order.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import Blocks, iadd, iadd_each, writable
from lpbandits.data.memory import MemoryBudget
from lpbandits.data.ratings import Ratings
from lpbandits.fit.comparisons import PairCounts, add_wins, cell_type, compared, gather
from lpbandits.limits import check_resources
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray, IntArray

CELLS = 2**26
"""Cells of counts that are held at a time, or fewer, where there is little memory: as many states as that is enough for
are counted in one pass."""

FEWER = "leave out actions with few ratings (min_action; --min-action)"


@dataclass(frozen=True, eq=False)
class _State:
    """One state whose pairs are to be counted: its actions, by index, and the type of a cell."""

    number: int
    kept: IntArray
    cell: str
    size: int
    """Bytes of its counts, of those aside too."""


def raters_of(log: Blocks, labels: IntArray, states: int) -> IntArray:
    """Return m×k: how many people of each state rated each action."""
    (found,) = log.fold(_raters, states, per_person=(labels,))
    raters: IntArray = found.reshape(states, -1)
    return raters


def _raters(block: Ratings, _: Threads, totals: list[Any] | None, states: int, labels: IntArray) -> list[Any]:
    k = len(block.actions)
    here = np.bincount(labels[block.owner] * k + block.action, minlength=states * k)
    return [here if totals is None else totals[0] + here]


def count_states(
    log: Blocks,
    labels: IntArray,
    states: int,
    *,
    holdout: BoolArray | None = None,
    pairs_per_person: int | None = None,
    seed: int = 0,
) -> Iterator[tuple[PairCounts, PairCounts | None]]:
    """Yield the counts of all of a state's people, and of those aside; state by state, so that few are in memory.

    >>> from lpbandits.data.blocks import MemoryBlocks
    >>> rows = Ratings.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 1, 2], [3, 5, 4, 1, 1, 4])
    >>> log, holdout = MemoryBlocks(rows, Threads(1)), np.array([0, 0, 1]) > 0
    >>> found = list(count_states(log, np.array([0, 1, 1]), 2, holdout=holdout))
    >>> [(both.wins.tolist(), both.kept.tolist(), held.wins.tolist()) for both, held in found]
    [([0.0, 1.0], [0, 1], [0.0, 0.0]), ([1.0, 1.0], [1, 2], [0.0, 1.0])]
    """
    raters = raters_of(log, labels, states)
    parts = 1 if holdout is None else 2
    own = (np.arange(len(labels)), labels, np.zeros(len(labels), dtype=np.bool_) if holdout is None else holdout)
    every = [_state(z, row, parts, exact=pairs_per_person is None) for z, row in enumerate(raters)]
    most = max(state.size for state in every)
    log.budget.check(f"counts of {len(raters[0]):,} actions in one state", most, FEWER)
    in_order = pairs_per_person is not None
    if not log.budget.shared(most, in_order=in_order):
        log = log.local
    for group in _passes(every, parts, log.budget, in_order=in_order):
        common = (group, parts, pairs_per_person, seed)
        if pairs_per_person is None:
            totals = log.fold(_counted, *common, per_person=own)
        else:
            totals = functools.reduce(iadd_each, log.fold_runs(_counted, *common, per_person=own))
        totals.reverse()  # so that each is given away, and its memory with it
        for state in group:
            yield _gathered(totals, parts, state, raters.shape[1], log.pool)


def _gathered(
    totals: list[NDArray[Any]], parts: int, state: _State, actions: int, pool: Threads
) -> tuple[PairCounts, PairCounts | None]:
    """Take a state's counts from the end of all, and gather them: of everybody, and of those aside."""
    counts = writable(totals.pop())
    some = writable(totals.pop()) if parts > 1 else None
    if some is not None:
        counts = iadd(counts, some)
    gathered = [None if part is None else gather(part, threads=pool) for part in (counts, some)]
    whole, holdout = (None if one is None else replace(one, kept=state.kept, actions=actions) for one in gathered)
    assert whole is not None  # noqa: S101 - counts are there
    return whole, holdout


def _state(number: int, raters: IntArray, parts: int, *, exact: bool) -> _State:
    """Return what of a state is to be counted, with so many raters of each action."""
    kept = np.flatnonzero(raters)
    if not len(kept):
        kept = np.zeros(1, dtype=np.int64)  # a state without people keeps one action, never compared
    cell = np.dtype(cell_type(np.ones(1), raters) if exact else np.float64)
    size = cell.itemsize * parts * len(kept) ** 2
    check_resources(f"counts of {len(kept):,} × {len(kept):,} actions", FEWER, size=size)
    return _State(number, kept, cell.str, size)


def _passes(states: list[_State], parts: int, room: MemoryBudget, *, in_order: bool) -> list[list[_State]]:
    """Return the states in groups that are counted in one pass."""
    groups: list[list[_State]] = []
    held = taken = 0
    for state in states:
        cells = parts * len(state.kept) ** 2
        if not groups or held + cells > CELLS or not room.shared(taken + state.size, in_order=in_order):
            groups.append([])
            held = taken = 0
        held, taken = held + cells, taken + state.size
        groups[-1].append(state)
    return groups


def _counted(
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
    """Add a block's pairs to each state's counts: of people who are not aside, then of those who are."""
    if totals is None:
        shapes = [(len(state.kept), state.cell) for state in group for _ in range(parts)]
        totals = [np.zeros((size, size), dtype=cell) for size, cell in shapes]
    comparisons = compared(block, pairs_per_person=cap, seed=seed, first=int(index[0]), threads=threads)
    place = iter(totals)
    for state in group:
        fewer = comparisons
        if len(state.kept) < comparisons.actions:
            # Actions of other states get wrong numbers here; those people's histories are not looked at.
            number = np.zeros(comparisons.actions, dtype=np.uint32)
            number[state.kept] = np.arange(len(state.kept))
            fewer = replace(comparisons, action=number[comparisons.action], actions=len(state.kept))
        for part in range(parts):
            mine = (labels == state.number) & (holdout == bool(part))
            add_wins(next(place), fewer, fewer.weight * mine[fewer.person], threads=threads)
    return totals


def without(counts: PairCounts, some: PairCounts) -> PairCounts:
    """Return what is left of counts, which are overwritten, without those of some of the people."""
    np.subtract(counts.halves, some.halves, out=counts.halves)
    return replace(counts, wins=counts.wins - some.wins)
