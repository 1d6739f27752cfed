"""`DiskBlocks`: the blocks of a log in files, for whoever works on them: this process, others, or a cluster's."""

import itertools
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lpbandits.data.blocks import BaseBlocks, runs_of
from lpbandits.data.chunked import ChunkedRatings, block_name, block_of
from lpbandits.data.memory import AHEAD, MemoryBudget
from lpbandits.data.ratings import Ratings
from lpbandits.data.reduce import added_each
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources, peak_bytes
from lpbandits.parallel import Executor, Threads
from lpbandits.typing import FloatArray, Int32Array, IntArray

T = TypeVar("T")
Peak = tuple[str, int]
"""A process, and the most memory that it has had since it began."""

SHARES = 4
"""Parts of the log that each worker folds: its totals are sent so often, and so much is lost with one that dies."""


class DiskBlocks(BaseBlocks[ChunkedRatings]):
    """The blocks of a log in files; stages run on an executor's workers, or here, one block at a time."""

    def __init__(
        self, log: ChunkedRatings, executor: Executor, pool: Threads, room: MemoryBudget | None = None
    ) -> None:
        super().__init__(log, pool, room)
        self._executor = executor
        self.peaks: dict[str, int] = {}
        """The most memory that each process has had since it began."""

    @property
    def here(self) -> "DiskBlocks":
        """The same with this process alone."""
        return DiskBlocks(self.log, Executor(threads=self.pool.count), self.pool, replace(self.room, sending=0))

    def each(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what a stage makes of each block."""
        log = self.log
        jobs = (
            (stage, log.folder, number, len(log.actions), self._executor.threads, common, self._own(own, number))
            for number in range(len(self.edges) - 1)
        )
        for found, peak in self._executor.map(_staged, jobs):
            self._saw(peak)
            yield found

    def folded(self, stage: Callable[..., list[Any]], *common: Any, own: Sequence[Any] = ()) -> list[Any]:
        """Return the sums that all blocks add to: each of a worker's parts of the log sends its own once."""
        blocks = len(self.edges) - 1
        parts = min(1 if self._executor.in_process else SHARES * self._executor.n_workers, blocks)
        bounds = itertools.pairwise(blocks * part // parts for part in range(parts + 1))
        totals: list[Any] | None = None
        for _, (some, peak) in self._executor.as_completed(
            _folded, self._folds(bounds, stage, common, own), batch=False
        ):
            self._saw(peak)
            totals = some if totals is None else added_each(totals, some)
        return totals or []

    def by_runs(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what every run of blocks adds up to."""
        runs = runs_of(len(self.edges) - 1)
        for found, peak in self._executor.map(
            _folded, self._folds(runs, stage, common, own), batch=False, max_ahead=AHEAD
        ):
            self._saw(peak)
            yield found

    def _folds(
        self, bounds: Iterable[tuple[int, int]], stage: Callable[..., Any], common: Sequence[Any], own: Sequence[Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Give the jobs that fold blocks, up to each bound from the one before."""
        log = self.log
        for low, high in bounds:
            blocks = [(number, self._own(own, number)) for number in range(low, high)]
            yield stage, log.folder, blocks, len(log.actions), self._executor.threads, common

    def _own(self, own: Sequence[Any], number: int) -> list[Any]:
        """Return what is sent of the people of a block, which must still be there."""
        self._look(number)
        low, high = self.edges[number], self.edges[number + 1]
        return [array[low:high] for array in own]

    def _saw(self, peak: Peak) -> None:
        self.peaks[peak[0]] = max(peak[1], self.peaks.get(peak[0], 0))

    def some(self, people: IntArray) -> Ratings:
        """Return the log of some people, in memory."""
        log = self.log
        offsets = np.concatenate([[0], np.cumsum(log.counts[people])]).astype(np.int64)
        ratings = int(offsets[-1])
        remedy = "use --method two-stage, which goes through them in parts, or fewer people"
        check_resources(f"{ratings:,} ratings in memory at once", remedy, size=40 * ratings)
        self.room.check(f"{ratings:,} ratings in memory at once", 40 * ratings, remedy)
        chosen = np.zeros(len(log.people), dtype=np.bool_)
        chosen[people] = True
        action, rating = np.empty(ratings, dtype=np.int32), np.empty(ratings)
        done = 0
        for some, theirs in self.each(_picked, own=(chosen,)):
            part = slice(done, done + len(some))
            action[part], rating[part] = some, theirs
            done += len(some)
        labels = tuple(log.people[n] for n in people.tolist())
        return Ratings.trusted(offsets, action, rating, labels, log.actions, log.layout)

    def probe(self) -> None:
        """Refuse, before the work starts, workers who do not see the files."""
        self._look(0)
        for host, sees in self._executor.run_everywhere(_sees, self.log.folder, 0):
            if not sees:
                raise _unseen(host, self.log.folder)

    def _look(self, number: int) -> None:
        """Refuse a log whose files are gone: a worker who finds none does not see the folder, then."""
        if not _sees(self.log.folder, number)[1]:
            self.log.block(number)  # which says so


def peak_of_process() -> Peak:
    """Return which process this is, and the most memory that it has had since it began."""
    return f"{platform.node()}:{os.getpid()}", peak_bytes() or 0


def _sees(folder: Path, number: int) -> tuple[str, bool]:
    return platform.node(), (folder / block_name(number)).exists()


def _unseen(host: str, folder: Path) -> InvalidInput:
    return InvalidInput(
        f"the worker on {host} does not see {folder}, where the log is: name a folder that all machines share "
        "(scratch=…; --scratch)"
    )


def _block(folder: Path, number: int, actions: int) -> Ratings:
    """Return a block, which was there when whoever sent the job looked; a worker may have joined since the probe."""
    host, sees = _sees(folder, number)
    if not sees:
        raise _unseen(host, folder)
    return block_of(folder, number, actions)


def _staged(
    stage: Callable[..., T],
    folder: Path,
    number: int,
    actions: int,
    threads: int,
    common: Sequence[Any],
    own: Sequence[Any],
) -> tuple[T, Peak]:
    with Threads(threads) as pool:
        return stage(_block(folder, number, actions), pool, *common, *own), peak_of_process()


def _folded(
    stage: Callable[..., T],
    folder: Path,
    blocks: Sequence[tuple[int, Sequence[Any]]],
    actions: int,
    threads: int,
    common: Sequence[Any],
) -> tuple[T, Peak]:
    totals: Any = None
    with Threads(threads) as pool:
        for number, own in blocks:
            totals = stage(_block(folder, number, actions), pool, totals, *common, *own)
    return totals, peak_of_process()


def _picked(block: Ratings, _: Threads, chosen: Any) -> tuple[Int32Array, FloatArray]:
    rows = np.repeat(chosen, block.counts)
    return block.action[rows], block.rating[rows]
