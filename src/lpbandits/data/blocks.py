"""Blocks of people: a fit processes a log block by block, in memory or on disk, with or without worker processes.

A block is consecutive people with about `RATINGS_PER_BLOCK` ratings. Where it begins and ends depends only on the log.
A *stage* of a fit processes one block at a time, and its results are combined in the order of the blocks. Hence a fit
is equal to the last bit wherever the blocks are stored and whichever process works on them.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.chunked import ChunkedRatings, peak_of_process, read_block
from lpbandits.data.memory import AHEAD, BYTES_PER_SELECTED_RATING, MemoryBudget
from lpbandits.data.ratings import Ratings, offsets_of
from lpbandits.limits import memory_limit
from lpbandits.parallel import Executor, Threads
from lpbandits.typing import FloatArray, Int32Array, IntArray

RATINGS_PER_BLOCK = 2**22
"""Approximate number of ratings per block. A person's ratings are never split over two blocks."""

MAX_EXACT_RATINGS = 2**25
"""With more ratings, KMeans clusters a sample of the people, and item means stop when they have nearly settled."""

SAMPLE_SIZE = 2**21
"""Approximate number of ratings of a `subsample`."""

MAX_PARTS, MIN_PART = 16, 2**15
"""Limits of `parallel_sum`: number of parts of a block, and ratings per part."""

FOLDS_PER_WORKER = 4
"""Number of partial sums per worker: more of them send more data, but less work is lost if a worker dies."""

T = TypeVar("T")
Runs = Iterable[tuple[int, int]]
"""First block and last block + 1 of each run."""
Call = tuple[Callable[..., Any], Sequence[Any], Sequence[Any]]
"""A stage, its common arguments and its arrays per person."""

RatingsLike = Ratings | ChunkedRatings
"""A log in memory or on disk."""


class Blocks:
    """A log that is processed block by block within a memory budget.

    The workers of an executor read blocks from disk. Without workers this process works on one block after another,
    each with all its threads.

    >>> log = Ratings.from_arrays([0, 0, 1], [0, 1, 1], [5, 3, 4])
    >>> [len(block) for block in Blocks(log, Threads(1)).map(lambda block, threads: block)]
    [3]
    """

    def __init__(
        self,
        log: RatingsLike,
        pool: Threads,
        budget: MemoryBudget | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.log, self.pool = log, pool
        self.budget = MemoryBudget(memory_limit(), set_by_user=False) if budget is None else budget
        self._executor = None if executor is None or executor.in_process else executor
        self._views: dict[int, Ratings] = {}
        """Blocks of a log in memory, which keep what they have computed."""
        self.peaks: dict[str, int] = {}
        """Peak memory of workers in bytes, by process."""

    @cached_property
    def edges(self) -> IntArray:
        """Block b holds the people edges[b] to edges[b + 1] − 1."""
        return block_edges(self.log.counts)

    @property
    def local(self) -> "Blocks":
        """These blocks without workers; used when partial sums exceed the memory budget."""
        return Blocks(self.log, self.pool, replace(self.budget, workers=0))

    def subset(self, people: IntArray) -> Ratings:
        """Return the ratings of the people with these increasing indices, in memory."""
        log = self.log
        if isinstance(log, Ratings):
            return log if len(people) == len(log.people) else log.subset(people)
        offsets = offsets_of(log.counts[people])
        n_ratings = int(offsets[-1])
        remedy = "use TwoStage, which processes one block at a time (--method two-stage), or fewer people"
        self.budget.check(f"{n_ratings:,} ratings in memory at once", BYTES_PER_SELECTED_RATING * n_ratings, remedy)
        chosen = np.zeros(len(log.people), dtype=np.bool_)
        chosen[people] = True
        action, rating = np.empty(n_ratings, dtype=np.int32), np.empty(n_ratings)
        start = 0
        for block_action, block_rating in self.map(_select, per_person=(chosen,)):
            rows = slice(start, start + len(block_action))
            action[rows], rating[rows] = block_action, block_rating
            start += len(block_action)
        labels = tuple(log.people[n] for n in people.tolist())
        return Ratings.trusted(offsets, action, rating, labels, log.actions, log.layout)

    def map(self, stage: Callable[..., T], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[T]:
        """Yield `stage(block, threads, *common, *arrays)` for every block, in order.

        `stage` is a module-level function. The block is a `Ratings` with all actions; its labels must not be used.
        `arrays` are the slices of `per_person` that belong to the people of the block.
        """
        return self._results(itertools.pairwise(range(len(self.edges))), (stage, common, per_person), fold=False)

    def fold(self, stage: Callable[..., list[Any]], *common: Any, per_person: Sequence[Any] = ()) -> list[Any]:
        """Return the sums over all blocks of arrays of integers.

        `stage(block, threads, totals, *common, *arrays)` adds to `totals`, which is None at first, and returns them.
        Each worker folds a few runs of blocks: integer sums do not depend on the order.
        """
        n_blocks = len(self.edges) - 1
        n_folds = min(n_blocks, 1 if self._executor is None else FOLDS_PER_WORKER * self._executor.n_workers)
        runs = itertools.pairwise(n_blocks * fold // n_folds for fold in range(n_folds + 1))
        totals: list[Any] = []
        for partial in self._results(runs, (stage, common, per_person), in_order=False):
            totals = iadd_each(totals, partial) if totals else partial
        return totals

    def fold_runs(self, stage: Callable[..., T], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[T]:
        """Yield the fold of every run of blocks, in order, for a stage as in `fold`.

        Runs depend on the log alone, so sums of floats do not depend on the workers, which send their
        partial sums once per run.
        """
        return self._results(block_runs(len(self.edges) - 1), (stage, common, per_person))

    def _results(self, runs: Runs, call: Call, *, fold: bool = True, in_order: bool = True) -> Iterator[Any]:
        """Yield the result of a stage for every run of blocks; without `fold` a run is one block."""
        stage, common, per_person = call
        places = ([(number, self._slices(per_person, number)) for number in range(*run)] for run in runs)
        if self._executor is None or isinstance(self.log, Ratings):
            for run in places:
                yield _fold(stage, ((self._block(number), arrays) for number, arrays in run), self.pool, common, fold)
            return
        folder, n_actions, threads = self.log.folder, len(self.log.actions), self._executor.threads
        jobs = ((stage, folder, run, n_actions, threads, common, fold) for run in places)
        if in_order:
            ahead: Any = {"max_ahead": AHEAD} if fold else {}
            results = self._executor.map(_fold_files, jobs, **ahead)
        else:
            results = (result for _, result in self._executor.as_completed(_fold_files, jobs))
        for result, (process, peak) in results:
            self.peaks[process] = max(peak, self.peaks.get(process, 0))
            yield result

    def _slices(self, per_person: Sequence[Any], number: int) -> list[Any]:
        """Return the slices of arrays that belong to the people of a block."""
        return [array[self.edges[number] : self.edges[number + 1]] for array in per_person]

    def _block(self, number: int) -> Ratings:
        if isinstance(self.log, ChunkedRatings):
            return self.log.block(number)
        if number not in self._views:
            self._views[number] = self.log.run(*self.edges[number : number + 2].tolist())
        return self._views[number]


def _fold(stage: Callable[..., Any], blocks: Iterable[Any], pool: Threads, common: Sequence[Any], fold: bool) -> Any:
    """Run a stage on one block with its arrays, or fold it over several."""
    result = None
    for block, arrays in blocks:
        result = stage(block, pool, *((result,) if fold else ()), *common, *arrays)
    return result


def _fold_files(
    stage: Callable[..., Any],
    folder: Path,
    numbered: Iterable[tuple[int, Sequence[Any]]],
    n_actions: int,
    threads: int,
    common: Sequence[Any],
    fold: bool,
) -> tuple[Any, tuple[str, int]]:
    """Run a stage on blocks on disk; also return the peak memory of the process."""
    blocks = ((read_block(folder, number, tuple(range(n_actions))), arrays) for number, arrays in numbered)
    with Threads(threads) as pool:
        return _fold(stage, blocks, pool, common, fold), peak_of_process()


def _select(block: Ratings, _: Threads, chosen: Any) -> tuple[Int32Array, FloatArray]:
    rows = np.repeat(chosen, block.counts)
    return block.action[rows], block.rating[rows]


def block_edges(counts: IntArray, size: int | None = None) -> IntArray:
    """Return the first person of each block of about `size` ratings, and the number of people.

    >>> block_edges(np.array([3, 3, 3, 1, 9, 1]), size=6).tolist()
    [0, 2, 5, 6]
    """
    size = RATINGS_PER_BLOCK if size is None else size
    cumulative = np.cumsum(counts)
    edges = [0]
    while edges[-1] < len(counts):
        before = int(cumulative[edges[-1] - 1]) if edges[-1] else 0
        edges.append(min(int(np.searchsorted(cumulative, before + size)) + 1, len(counts)))
    return np.array(edges, dtype=np.int64)


def largest_block(counts: IntArray) -> int:
    """Return the number of ratings of the largest block."""
    return int(np.diff(offsets_of(counts)[block_edges(counts)]).max(initial=0))


def block_runs(n_blocks: int) -> list[tuple[int, int]]:
    """Split blocks into about 2 √n_blocks runs; return the (first, last + 1) of each.

    >>> block_runs(2), [high - low for low, high in block_runs(20)], len(block_runs(2400))
    ([(0, 1), (1, 2)], [2, 2, 2, 2, 2, 2, 2, 2, 2, 2], 98)
    """
    n_runs = min(2 * math.isqrt(n_blocks - 1) + 2, n_blocks) if n_blocks else 0
    return list(itertools.pairwise(n_blocks * run // n_runs for run in range(n_runs + 1))) if n_runs else []


def as_blocks(log: Ratings | Blocks, threads: Threads | None = None) -> Blocks:
    """Return ratings in memory as blocks, by default with one thread; blocks are returned unchanged."""
    return Blocks(log, threads or Threads(1)) if isinstance(log, Ratings) else log


def subsample(people: IntArray, counts: IntArray, ratings: int = SAMPLE_SIZE) -> IntArray:
    """Return evenly spaced people who together have about `ratings` ratings, or all if they have fewer.

    >>> subsample(np.arange(1, 8), np.array([9, 2, 2, 2, 2, 2, 2, 2]), ratings=5).tolist()
    [1, 4, 7]
    """
    return people[:: -(-int(counts[people].sum()) // ratings)]


def split_people(offsets: IntArray, parts: int) -> IntArray:
    """Return the first person of each of `parts` parts with about equally many ratings, and the number of people.

    >>> split_people(np.array([0, 4, 5, 6, 9]), 2).tolist()
    [0, 1, 4]
    """
    inner = np.searchsorted(offsets, np.arange(1, parts) * int(offsets[-1]) // parts)
    return np.concatenate([[0], inner, [len(offsets) - 1]]).astype(np.int64)


def parallel_sum(
    kernel: Callable[..., None], block: Ratings, threads: Threads, shape: tuple[int, ...], *arrays: object
) -> FloatArray:
    """Return the sums of a kernel over the people of a block, in parts that depend on the block and `shape` alone.

    The kernel gets (edges, offsets, action, rating) of the people, `arrays` and the sums, one row per part. Each part
    allocates its own array of sums, so parts are made no smaller than that array.
    """
    count = min(MAX_PARTS, 1 + len(block) // max(math.prod(shape), MIN_PART))
    sums = np.empty((count, *shape))
    people = split_people(block.offsets, count), block.offsets, block.action.view(np.uint32), block.rating
    threads.run(kernel, count, people, *arrays, sums, blocks=MAX_PARTS)
    total: FloatArray = sums.sum(axis=0)
    return total


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, or a copy if it is read-only (arrays from another process may be)."""
    return array if array.flags.writeable else np.array(array)


def iadd(total: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Return `total + more`, added in place if `total` is writable.

    >>> iadd(np.ones(2), np.ones(2)).tolist()
    [2.0, 2.0]
    """
    total = writable(total)
    np.add(total, more, out=total)
    return total


def iadd_each(totals: Sequence[NDArray[Any]], more: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the pairwise sums of two lists of arrays."""
    return [iadd(total, array) for total, array in zip(totals, more, strict=True)]


def reduce_add(arrays: Iterable[FloatArray]) -> FloatArray:
    """Return the sum of arrays, added in order.

    >>> reduce_add(np.full(2, x) for x in (1.0, 2.0)).tolist()
    [3.0, 3.0]
    """
    return functools.reduce(iadd, arrays)
