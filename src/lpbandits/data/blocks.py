"""Blocks of people: a fit processes a log block by block, in memory or on disk, with or without worker processes.

A block is consecutive people with about `RATINGS_PER_BLOCK` ratings. Where it begins and ends depends only on the log.
A *stage* of a fit processes one block at a time, and its results are combined in the order of the blocks. Hence a fit
is equal to the last bit wherever the blocks are stored and whichever process works on them.
"""

import abc
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.memory import MemoryBudget
from lpbandits.data.ratings import Ratings, offsets_of
from lpbandits.limits import memory_limit
from lpbandits.parallel import Threads
from lpbandits.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from lpbandits.data.chunked import ChunkedRatings

RATINGS_PER_BLOCK = 2**22
"""Approximate number of ratings per block. A person's ratings are never split over two blocks."""

MAX_EXACT_RATINGS = 2**25
"""With more ratings, KMeans clusters a sample of the people, and item means stop when they have nearly settled."""

SAMPLE_SIZE = 2**21
"""Approximate number of ratings of a `subsample`."""

MAX_PARTS, MIN_PART = 16, 2**15
"""Limits of `parallel_sum`: number of parts of a block, and ratings per part."""

T = TypeVar("T")
Runs = Iterable[tuple[int, int]]
"""First block and last block + 1 of each run."""
Call = tuple[Callable[..., Any], Sequence[Any], Sequence[Any]]
"""A stage, its common arguments and its arrays per person."""

RatingsLike: TypeAlias = "Ratings | ChunkedRatings"
"""A log in memory or on disk."""


class Blocks(abc.ABC):
    """A log that is processed block by block, with the threads of this process and a memory budget."""

    log: RatingsLike

    def __init__(self, log: Any, pool: Threads, budget: MemoryBudget | None = None) -> None:
        self.log, self.pool = log, pool
        self.budget = MemoryBudget(memory_limit(), set_by_user=False) if budget is None else budget

    @cached_property
    def edges(self) -> IntArray:
        """Block b holds the people edges[b] to edges[b + 1] − 1."""
        return block_edges(self.log.counts)

    @property
    def local(self) -> "Blocks":
        """These blocks without workers; used when partial sums exceed the memory budget."""
        return self

    @abc.abstractmethod
    def subset(self, people: IntArray) -> Ratings:
        """Return the ratings of the people with these increasing indices, in memory."""

    def map(self, stage: Callable[..., T], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[T]:
        """Yield `stage(block, threads, *common, *arrays)` for every block, in order.

        `stage` is a module-level function. The block is a `Ratings` with all actions and without labels of people.
        `arrays` are the slices of `per_person` that belong to the people of the block.
        """
        return self._results(itertools.pairwise(range(len(self.edges))), (stage, common, per_person), fold=False)

    def fold(self, stage: Callable[..., list[Any]], *common: Any, per_person: Sequence[Any] = ()) -> list[Any]:
        """Return the sums over all blocks of arrays of integers.

        `stage(block, threads, totals, *common, *arrays)` adds to `totals`, which is None at first, and returns them.
        Workers may fold separate runs of blocks: integer sums do not depend on the order.
        """
        n_blocks = len(self.edges) - 1
        n_folds = min(self.n_folds, n_blocks)
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

    @property
    def n_folds(self) -> int:
        """Number of partial sums of `fold`."""
        return 1

    @abc.abstractmethod
    def _results(self, runs: Runs, call: Call, *, fold: bool = True, in_order: bool = True) -> Iterator[Any]:
        """Yield the result of a stage for every run of blocks; without `fold` a run is one block."""

    def _slices(self, per_person: Sequence[Any], number: int) -> list[Any]:
        """Return the slices of arrays that belong to the people of a block."""
        return [array[self.edges[number] : self.edges[number + 1]] for array in per_person]


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


class MemoryBlocks(Blocks):
    """Blocks of a log in memory; this process works on one block after another, each with all threads.

    >>> log = Ratings.from_arrays([0, 0, 1], [0, 1, 1], [5, 3, 4])
    >>> [len(block) for block in MemoryBlocks(log, Threads(1)).map(lambda block, threads: block)]
    [3]
    """

    log: Ratings

    @cached_property
    def _blocks(self) -> list[Ratings]:
        return [self.log.run(low, high) for low, high in itertools.pairwise(self.edges.tolist())]

    def _results(self, runs: Runs, call: Call, *, fold: bool = True, in_order: bool = True) -> Iterator[Any]:  # noqa: ARG002
        stage, common, per_person = call
        for low, high in runs:
            result = None
            for number in range(low, high):
                arrays = self._slices(per_person, number)
                result = stage(self._blocks[number], self.pool, *((result,) if fold else ()), *common, *arrays)
            yield result

    def subset(self, people: IntArray) -> Ratings:
        """Return the ratings of some people."""
        return self.log if len(people) == len(self.log.people) else self.log.subset(people)


def as_blocks(log: "Ratings | Blocks", threads: Threads | None = None) -> Blocks:
    """Return ratings in memory as blocks, by default with one thread; blocks are returned unchanged."""
    return MemoryBlocks(log, threads or Threads(1)) if isinstance(log, Ratings) else log


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
