"""`ChunkedRatings`: a log on disk, one file per block of people, and `DiskBlocks`, which processes it."""

import itertools
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.blocks import Blocks, block_edges, block_runs, iadd_each
from lpbandits.data.memory import AHEAD, BYTES_PER_SELECTED_RATING, MemoryBudget
from lpbandits.data.ratings import Ratings, hash_of
from lpbandits.errors import InvalidInput
from lpbandits.limits import peak_bytes
from lpbandits.parallel import Executor, Threads
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label

T = TypeVar("T")
Peak = tuple[str, int]
"""A process (host and id) and its peak memory in bytes."""

FOLDS_PER_WORKER = 4
"""Partial sums per worker: more means more traffic but less lost work if a worker dies."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedRatings:
    """A log of ratings on disk, as `spill_ratings` returns it.

    Parameters
    ----------
    folder
        Folder of the files. Workers on other machines must see it under the same path.
    counts
        Number of ratings per person.
    people, actions
        Labels, sorted.
    dropped
        Number of rows, people and actions that were not kept, by reason.
    layout
        Layout of the source; see `Ratings`.
    scratch
        Maximum size of the folder in bytes while the log was read.

    Examples
    --------
    >>> from lpbandits import spill_ratings
    >>> import polars as pl
    >>> rows = pl.DataFrame({"person": ["ann", "bo", "ann"], "action": ["tea", "tea", "jam"], "rating": [5, 4, 3]})
    >>> with spill_ratings(rows) as log: len(log), log.counts.tolist(), log.actions
    (3, [2, 1], ('jam', 'tea'))
    >>> log.block(0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: the files of the log in ... were deleted; use the log inside ...
    """

    folder: Path
    counts: IntArray
    people: Sequence[Label]
    actions: tuple[Label, ...]
    dropped: Mapping[str, int]
    layout: str
    scratch: int

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"<ChunkedRatings: {len(self)} by {len(self.people)} people of {len(self.actions)} actions>"

    @cached_property
    def edges(self) -> IntArray:
        """Block b holds the people edges[b] to edges[b + 1] − 1."""
        return block_edges(self.counts)

    def block(self, number: int) -> Ratings:
        """Return one block; its people are labelled by numbers."""
        last = len(self.edges) - 2
        return read_block(self.folder, validate.as_count(number, "block", low=0, high=last), len(self.actions))

    def blocks(self) -> Iterator[Ratings]:
        """Yield the blocks in order, with the labels of the actions."""
        for number in range(len(self.edges) - 1):
            block = self.block(number)
            yield Ratings.trusted(block.offsets, block.action, block.rating, block.people, self.actions, self.layout)

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, equal to that of the same log in memory."""
        offsets = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        blocks = range(len(self.edges) - 1)
        actions = (self.block(number).action for number in blocks)
        ratings = (self.block(number).rating for number in blocks)
        return hash_of(self.people, self.actions, itertools.chain([offsets], actions, ratings))


def block_name(number: int) -> str:
    """Return the file name of a block."""
    return f"block-{number:06}"


def read_arrays(path: Path, count: int) -> list[NDArray[Any]]:
    """Return the first arrays of a file."""
    with path.open("rb") as raw:
        return [np.load(raw, allow_pickle=False) for _ in range(count)]


def read_block(folder: Path, number: int, n_actions: int) -> Ratings:
    """Return a block of a log on disk."""
    try:
        offsets, action, rating = read_arrays(folder / block_name(number), 3)
    except FileNotFoundError:
        raise InvalidInput(
            f"the files of the log in {folder} were deleted; use the log inside `with spill_ratings(…) as log:`"
        ) from None
    except (ValueError, EOFError):
        raise InvalidInput(
            f"block {number} of the log in {folder} is truncated or was changed; call spill_ratings again"
        ) from None
    return Ratings.trusted(offsets, action, rating, range(len(offsets) - 1), tuple(range(n_actions)))


class DiskBlocks(Blocks):
    """Blocks of a log on disk; stages run on the workers of an executor, or in this process one block at a time."""

    log: ChunkedRatings

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
        runs = itertools.pairwise(range(len(self.edges)))
        for result, peak in self._executor.map(_run, self._jobs(runs, stage, common, per_person, fold=False)):
            self._record(peak)
            yield result

    def fold(self, stage: Callable[..., list[Any]], *common: Any, per_person: Sequence[Any] = ()) -> list[Any]:
        """Return the sums over all blocks; each worker sends a few partial sums."""
        n_blocks = len(self.edges) - 1
        n_folds = min(1 if self._executor.in_process else FOLDS_PER_WORKER * self._executor.n_workers, n_blocks)
        runs = itertools.pairwise(n_blocks * fold // n_folds for fold in range(n_folds + 1))
        totals: list[Any] | None = None
        jobs = self._jobs(runs, stage, common, per_person)
        for _, (partial, peak) in self._executor.as_completed(_run, jobs, batch=False):
            self._record(peak)
            totals = partial if totals is None else iadd_each(totals, partial)
        return totals or []

    def fold_runs(self, stage: Callable[..., T], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[T]:
        """Yield the sums over every run of blocks."""
        jobs = self._jobs(block_runs(len(self.edges) - 1), stage, common, per_person)
        for partial, peak in self._executor.map(_run, jobs, batch=False, max_ahead=AHEAD):
            self._record(peak)
            yield partial

    def _jobs(
        self, runs: Iterable[tuple[int, int]], stage: Any, common: Any, per_person: Sequence[Any], *, fold: bool = True
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of `_run` for each run of blocks, whose files must exist."""
        for low, high in runs:
            for number in range(low, high):
                self._check_exists(number)
            blocks = [(number, self._slices(per_person, number)) for number in range(low, high)]
            yield stage, self.log.folder, blocks, len(self.log.actions), self._executor.threads, common, fold

    def _record(self, peak: Peak) -> None:
        self.peaks[peak[0]] = max(peak[1], self.peaks.get(peak[0], 0))

    def subset(self, people: IntArray) -> Ratings:
        """Return the ratings of some people, in memory."""
        log = self.log
        offsets = np.concatenate([[0], np.cumsum(log.counts[people])]).astype(np.int64)
        n_ratings = int(offsets[-1])
        remedy = "use --method two-stage, which processes one block at a time, or fewer people"
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


def _run(
    stage: Callable[..., Any],
    folder: Path,
    blocks: Iterable[tuple[int, Sequence[Any]]],
    n_actions: int,
    threads: int,
    common: Sequence[Any],
    fold: bool,
) -> tuple[Any, Peak]:
    """Run a stage on one block, or fold it over several; a worker that joined after `probe` may not see the files."""
    totals = None
    with Threads(threads) as pool:
        for number, arrays in blocks:
            host, sees = _sees(folder, number)
            if not sees:
                raise _unseen(host, folder)
            block = read_block(folder, number, n_actions)
            totals = stage(block, pool, *((totals,) if fold else ()), *common, *arrays)
    return totals, peak_of_process()


def _select(block: Ratings, _: Threads, chosen: Any) -> tuple[Int32Array, FloatArray]:
    rows = np.repeat(chosen, block.counts)
    return block.action[rows], block.rating[rows]
