"""`DiskBlocks`: the blocks of a log on disk, processed by this process, by local workers or by a cluster."""

import itertools
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lpbandits.data.blocks import BaseBlocks, block_runs, iadd_each
from lpbandits.data.chunked import ChunkedRatings, block_name, read_block
from lpbandits.data.memory import AHEAD, BYTES_PER_SELECTED_RATING, MemoryBudget
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources, peak_bytes
from lpbandits.parallel import Executor, Threads
from lpbandits.typing import FloatArray, Int32Array, IntArray

T = TypeVar("T")
Peak = tuple[str, int]
"""A process (host and id) and its peak memory in bytes."""

FOLDS_PER_WORKER = 4
"""Partial sums per worker: more means more traffic but less lost work if a worker dies."""


class DiskBlocks(BaseBlocks[ChunkedRatings]):
    """Blocks of a log on disk; stages run on the workers of an executor, or in this process one block at a time."""

    def __init__(
        self, log: ChunkedRatings, executor: Executor, pool: Threads, budget: MemoryBudget | None = None
    ) -> None:
        super().__init__(log, pool, budget)
        self._executor = executor
        self.peaks: dict[str, int] = {}
        """Peak memory in bytes, by process."""

    @property
    def local(self) -> "DiskBlocks":
        """These blocks without workers."""
        return DiskBlocks(self.log, Executor(threads=self.pool.count), self.pool, replace(self.budget, sending=0))

    def map(self, stage: Callable[..., T], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[T]:
        """Yield the result of a stage for each block."""
        log = self.log
        jobs = (
            (
                stage,
                log.folder,
                number,
                len(log.actions),
                self._executor.threads,
                common,
                self._slices(per_person, number),
            )
            for number in range(len(self.edges) - 1)
        )
        for result, peak in self._executor.map(_run_stage, jobs):
            self._record(peak)
            yield result

    def fold(self, stage: Callable[..., list[Any]], *common: Any, per_person: Sequence[Any] = ()) -> list[Any]:
        """Return the sums over all blocks; each worker sends a few partial sums."""
        n_blocks = len(self.edges) - 1
        n_folds = min(1 if self._executor.in_process else FOLDS_PER_WORKER * self._executor.n_workers, n_blocks)
        runs = itertools.pairwise(n_blocks * fold // n_folds for fold in range(n_folds + 1))
        totals: list[Any] | None = None
        jobs = self._fold_jobs(runs, stage, common, per_person)
        for _, (partial, peak) in self._executor.as_completed(_run_fold, jobs, batch=False):
            self._record(peak)
            totals = partial if totals is None else iadd_each(totals, partial)
        return totals or []

    def fold_runs(self, stage: Callable[..., T], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[T]:
        """Yield the sums over every run of blocks."""
        jobs = self._fold_jobs(block_runs(len(self.edges) - 1), stage, common, per_person)
        for partial, peak in self._executor.map(_run_fold, jobs, batch=False, max_ahead=AHEAD):
            self._record(peak)
            yield partial

    def _fold_jobs(
        self,
        runs: Iterable[tuple[int, int]],
        stage: Callable[..., Any],
        common: Sequence[Any],
        per_person: Sequence[Any],
    ) -> Iterator[tuple[Any, ...]]:
        log = self.log
        for low, high in runs:
            blocks = [(number, self._slices(per_person, number)) for number in range(low, high)]
            yield stage, log.folder, blocks, len(log.actions), self._executor.threads, common

    def _slices(self, per_person: Sequence[Any], number: int) -> list[Any]:
        """Return the slices of arrays that belong to a block, whose file must exist."""
        self._check_exists(number)
        low, high = self.edges[number], self.edges[number + 1]
        return [array[low:high] for array in per_person]

    def _record(self, peak: Peak) -> None:
        self.peaks[peak[0]] = max(peak[1], self.peaks.get(peak[0], 0))

    def subset(self, people: IntArray) -> Ratings:
        """Return the ratings of some people, in memory."""
        log = self.log
        offsets = np.concatenate([[0], np.cumsum(log.counts[people])]).astype(np.int64)
        n_ratings = int(offsets[-1])
        remedy = "use --method two-stage, which processes one block at a time, or fewer people"
        size = BYTES_PER_SELECTED_RATING * n_ratings
        check_resources(f"{n_ratings:,} ratings in memory at once", remedy, size=size)
        self.budget.check(f"{n_ratings:,} ratings in memory at once", size, remedy)
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

    def probe(self) -> None:
        """Raise if a worker does not see the files, before the work starts."""
        self._check_exists(0)
        for host, sees in self._executor.run_everywhere(_sees, self.log.folder, 0):
            if not sees:
                raise _unseen(host, self.log.folder)

    def _check_exists(self, number: int) -> None:
        """Raise if the file of a block was deleted; otherwise a worker without it does not share the folder."""
        if not _sees(self.log.folder, number)[1]:
            self.log.block(number)  # raises


def peak_of_process() -> Peak:
    """Return the host and id of this process, and its peak memory in bytes."""
    return f"{platform.node()}:{os.getpid()}", peak_bytes() or 0


def _sees(folder: Path, number: int) -> tuple[str, bool]:
    return platform.node(), (folder / block_name(number)).exists()


def _unseen(host: str, folder: Path) -> InvalidInput:
    return InvalidInput(
        f"the worker on {host} does not see {folder}, where the log is; name a folder that all machines share "
        "(scratch=…; --scratch)"
    )


def _load(folder: Path, number: int, actions: int) -> Ratings:
    """Return a block; a worker that joined after `probe` may not see it."""
    host, sees = _sees(folder, number)
    if not sees:
        raise _unseen(host, folder)
    return read_block(folder, number, actions)


def _run_stage(
    stage: Callable[..., T],
    folder: Path,
    number: int,
    actions: int,
    threads: int,
    common: Sequence[Any],
    arrays: Sequence[Any],
) -> tuple[T, Peak]:
    with Threads(threads) as pool:
        return stage(_load(folder, number, actions), pool, *common, *arrays), peak_of_process()


def _run_fold(
    stage: Callable[..., T],
    folder: Path,
    blocks: Sequence[tuple[int, Sequence[Any]]],
    actions: int,
    threads: int,
    common: Sequence[Any],
) -> tuple[T, Peak]:
    totals: Any = None
    with Threads(threads) as pool:
        for number, arrays in blocks:
            totals = stage(_load(folder, number, actions), pool, totals, *common, *arrays)
    return totals, peak_of_process()


def _select(block: Ratings, _: Threads, chosen: Any) -> tuple[Int32Array, FloatArray]:
    rows = np.repeat(chosen, block.counts)
    return block.action[rows], block.rating[rows]
