"""Who beat whom, in every state of a log: counts of pairs, block by block.

They are whole numbers, so it does not matter who counts which people, and a worker adds up all its blocks before it
sends anything. Only with a cap on pairs per person are they weights, which are added in runs of blocks, in order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.limits import affordable
from lpbandits.parallel import Threads
from lpbandits.recovery.blocks import Blocks
from lpbandits.recovery.pairs import PairCounts, add_wins, cell_type, compared, gather
from lpbandits.recovery.ratings import Ratings
from lpbandits.typing import BoolArray, IntArray

CELLS = 2**26
"""Cells of counts that are held at a time: as many states as that is enough for are counted in one pass."""


@dataclass(frozen=True, eq=False)
class _State:
    """One state whose pairs are to be counted: its actions, by index, and the type of a cell."""

    number: int
    kept: IntArray
    cell: str


def raters_of(log: Blocks, labels: IntArray, states: int) -> IntArray:
    """Return m×k: how many people of each state rated each action."""
    (found,) = log.folded(_raters, states, own=(labels,))
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
    aside: BoolArray | None = None,
    pairs_per_person: int | None = None,
    seed: int = 0,
) -> Iterator[tuple[PairCounts, PairCounts | None]]:
    """Yield the counts of all of a state's people, and of those aside; state by state, so that few are in memory.

    >>> from lpbandits.recovery.blocks import InMemory
    >>> rows = Ratings.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 1, 2], [3, 5, 4, 1, 1, 4])
    >>> found = list(count_states(InMemory(rows, Threads(1)), np.array([0, 1, 1]), 2, aside=np.array([0, 0, 1]) > 0))
    >>> [(all_people.wins.tolist(), all_people.kept.tolist(), aside.wins.tolist()) for all_people, aside in found]
    [([0.0, 1.0], [0, 1], [0.0, 0.0]), ([1.0, 1.0], [1, 2], [0.0, 1.0])]
    """
    raters = raters_of(log, labels, states)
    parts = 1 if aside is None else 2
    own = (np.arange(len(labels)), labels, np.zeros(len(labels), dtype=np.bool_) if aside is None else aside)
    for group in _passes(raters, parts, exact=pairs_per_person is None):
        common = (group, parts, pairs_per_person, seed)
        if pairs_per_person is None:
            totals = log.folded(_counted, *common, own=own)
        else:
            totals = _added(log.by_runs(_counted, *common, own=own))
        totals.reverse()  # so that each is given away, and its memory with it
        for state in group:
            yield _gathered(totals, parts, state, raters.shape[1], log.pool)


def _gathered(
    totals: list[NDArray[Any]], parts: int, state: _State, actions: int, pool: Threads
) -> tuple[PairCounts, PairCounts | None]:
    """Take a state's counts from the end of all, and gather them: of everybody, and of those aside."""
    counts = totals.pop()
    some = totals.pop() if parts > 1 else None
    if some is not None:
        counts += some
    gathered = [None if part is None else gather(part, threads=pool) for part in (counts, some)]
    whole, aside = (None if one is None else replace(one, kept=state.kept, actions=actions) for one in gathered)
    assert whole is not None  # noqa: S101 - counts are there
    return whole, aside


def _passes(raters: IntArray, parts: int, *, exact: bool) -> list[list[_State]]:
    """Return the states in groups that are counted in one pass."""
    groups: list[list[_State]] = []
    held = 0
    for z, row in enumerate(raters):
        kept = np.flatnonzero(row)
        if not len(kept):
            kept = np.zeros(1, dtype=np.int64)  # a state without people keeps one action, never compared
        cell = np.dtype(cell_type(np.ones(1), row) if exact else np.float64)
        cells = parts * len(kept) ** 2
        affordable(
            f"counts of {len(kept):,} × {len(kept):,} actions",
            "leave out actions with few ratings (min_action; --min-action)",
            size=cell.itemsize * cells,
        )
        if not groups or held + cells > CELLS:
            groups.append([])
            held = 0
        held += cells
        groups[-1].append(_State(z, kept, cell.str))
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
    aside: BoolArray,
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
            mine = (labels == state.number) & (aside == bool(part))
            add_wins(next(place), fewer, fewer.weight * mine[fewer.person], threads=threads)
    return totals


def _added(parts: Iterator[list[NDArray[Any]]]) -> list[NDArray[Any]]:
    totals = next(parts)
    for some in parts:
        for total, part in zip(totals, some, strict=True):
            np.add(total, part, out=total)
    return totals


def without(counts: PairCounts, some: PairCounts) -> PairCounts:
    """Return what is left of counts, which are overwritten, without those of some of the people."""
    np.subtract(counts.halves, some.halves, out=counts.halves)
    return replace(counts, wins=counts.wins - some.wins)
