"""A log as blocks of people: what a fit goes through, whether the log is in memory or in files, here or elsewhere.

A block is a run of people with about `RATINGS` ratings. Where it ends depends on the log alone. A *stage* of a fit sees
one block at a time, and what it returns is put together in the order of the blocks: so a fit is the same, to the last
bit, whoever holds the blocks and whoever works on them.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from lpbandits.data.memory import MemoryBudget
from lpbandits.data.ratings import Ratings
from lpbandits.limits import memory_limit
from lpbandits.parallel import Threads
from lpbandits.typing import IntArray, Label

RATINGS = 2**22
"""Ratings of a block; a person's are never parted."""

ENORMOUS = 2**25
"""A log with more ratings than this is enormous: a sample of its people, or fewer passes over it, do as well."""

SAMPLED = 2**21
"""Ratings of a sample of the people that stands for a larger log."""

T = TypeVar("T")


class Log(Protocol):
    """What is known of a log without looking at its ratings."""

    @property
    def people(self) -> Sequence[Label]:
        """Labels of all people, sorted."""

    @property
    def actions(self) -> tuple[Label, ...]:
        """Labels of all actions, sorted."""

    @property
    def counts(self) -> IntArray:
        """How many actions each person rated."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """What was left out on the way in, by reason."""

    @property
    def sha256(self) -> str:
        """The hash of the content."""

    def __len__(self) -> int:
        """Return the number of ratings."""


class Blocks(Protocol):
    """A log, block by block."""

    @property
    def log(self) -> Log:
        """The log."""

    @property
    def pool(self) -> Threads:
        """Threads of this process, for what is done here."""

    @property
    def room(self) -> MemoryBudget:
        """The memory there is."""

    @property
    def here(self) -> "Blocks":
        """The same with nobody to help: for what workers have no room for."""

    @property
    def edges(self) -> IntArray:
        """Block b has the people edges[b] up to, not including, edges[b + 1]."""

    def each(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give `stage(block, threads, *common, *own)` for every block, in order.

        A stage is a function at the top of a module. The block is `Ratings` with all actions; its people have no labels
        of their own. Arrays of `own` are indexed by person, and a stage gets its people's part of them.
        """

    def folded(self, stage: Callable[..., list[Any]], *common: Any, own: Sequence[Any] = ()) -> list[Any]:
        """Return arrays of whole numbers that every block adds to.

        `stage(block, threads, totals, *common, *own)` adds to `totals`, which are None at first, and returns them. Some
        blocks may be folded apart from others, and their totals added: whole numbers do not mind the order.
        """

    def by_runs(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what every run of blocks adds up to, in order, with a stage like those of `folded`.

        Which blocks are a run depends on the log alone, so that even sums of fractions are the same whoever makes them;
        and what is large is sent once for a run.
        """

    def some(self, people: IntArray) -> Ratings:
        """Return the log of some people, by index in rising order, in memory."""


def runs_of(blocks: int) -> list[tuple[int, int]]:
    """Return the runs of so many blocks: from which block each goes up to, not including, which other.

    There are about twice as many as the square root: enough to share out evenly, and few of many.

    >>> runs_of(2), [high - low for low, high in runs_of(20)], len(runs_of(2400))
    ([(0, 1), (1, 2)], [2, 2, 2, 2, 2, 2, 2, 2, 2, 2], 98)
    """
    runs = min(2 * math.isqrt(blocks - 1) + 2, blocks) if blocks else 0
    return list(itertools.pairwise(blocks * run // runs for run in range(runs + 1))) if runs else []


def largest_of(counts: IntArray) -> int:
    """Return how many ratings the largest block has.

    >>> largest_of(np.array([3, 3, 3]))
    9
    """
    upto = np.concatenate([[0], np.cumsum(counts)])
    return int(np.diff(upto[edges_of(counts)]).max(initial=0))


def edges_of(counts: IntArray, ratings: int | None = None) -> IntArray:
    """Return where blocks of people begin, and where the last ends.

    >>> edges_of(np.array([3, 3, 3, 1, 9, 1]), ratings=6).tolist()
    [0, 2, 5, 6]
    """
    size = RATINGS if ratings is None else ratings
    upto = np.cumsum(counts)
    edges = [0]
    while edges[-1] < len(counts):
        before = int(upto[edges[-1] - 1]) if edges[-1] else 0
        edges.append(min(int(np.searchsorted(upto, before + size)) + 1, len(counts)))
    return np.array(edges, dtype=np.int64)


L = TypeVar("L", bound=Log)


class BaseBlocks(Generic[L]):
    """What blocks know of themselves, wherever they are."""

    def __init__(self, log: L, pool: Threads, room: MemoryBudget | None = None) -> None:
        self._log, self._pool = log, pool
        self._room = MemoryBudget(memory_limit(), asked=False) if room is None else room

    @property
    def log(self) -> L:
        """The log."""
        return self._log

    @property
    def pool(self) -> Threads:
        """Threads of this process."""
        return self._pool

    @property
    def room(self) -> MemoryBudget:
        """The memory there is."""
        return self._room

    @cached_property
    def edges(self) -> IntArray:
        """Where blocks of people begin."""
        return edges_of(self.log.counts)


class MemoryBlocks(BaseBlocks[Ratings]):
    """The blocks of a log in memory; stages run here, one after the other, each on all threads.

    >>> log = Ratings.from_arrays([0, 0, 1], [0, 1, 1], [5, 3, 4])
    >>> [len(block) for block in MemoryBlocks(log, Threads(1)).each(lambda block, threads: block)]
    [3]
    """

    @property
    def here(self) -> "MemoryBlocks":
        """The same: nobody helps."""
        return self

    @cached_property
    def _blocks(self) -> list[Ratings]:
        return [self.log.run(low, high) for low, high in itertools.pairwise(self.edges.tolist())]

    def each(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what a stage makes of each block."""
        for block, low, high in zip(self._blocks, self.edges[:-1], self.edges[1:], strict=True):
            yield stage(block, self.pool, *common, *(array[low:high] for array in own))

    def folded(self, stage: Callable[..., list[Any]], *common: Any, own: Sequence[Any] = ()) -> list[Any]:
        """Return the sums that all blocks add to."""
        return self._fold(stage, 0, len(self.edges) - 1, common, own)

    def by_runs(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what every run of blocks adds up to."""
        for low, high in runs_of(len(self.edges) - 1):
            yield self._fold(stage, low, high, common, own)

    def _fold(self, stage: Callable[..., T], first: int, last: int, common: Sequence[Any], own: Sequence[Any]) -> T:
        totals: Any = None
        for number in range(first, last):
            low, high = self.edges[number], self.edges[number + 1]
            totals = stage(self._blocks[number], self.pool, totals, *common, *(array[low:high] for array in own))
        found: T = totals
        return found

    def some(self, people: IntArray) -> Ratings:
        """Return the log of some people."""
        return self.log if len(people) == len(self.log.people) else self.log.subset(people)


def as_blocks(log: "Ratings | Blocks", threads: Threads | None = None) -> Blocks:
    """Return a log in memory as blocks, with these threads or one; what is blocks stays as it is."""
    return MemoryBlocks(log, threads or Threads(1)) if isinstance(log, Ratings) else log


def sample_of(people: IntArray, counts: IntArray, ratings: int = SAMPLED) -> IntArray:
    """Return every so manieth of some people, so that they have about so many ratings; all of fewer.

    >>> sample_of(np.arange(1, 8), np.array([9, 2, 2, 2, 2, 2, 2, 2]), ratings=5).tolist()
    [1, 4, 7]
    """
    return people[:: -(-int(counts[people].sum()) // ratings)]
