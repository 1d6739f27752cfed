"""`ChunkedRatings`: a log on disk, one file per block of people, and `DiskBlocks`, which processes it."""

import itertools
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.blocks import Blocks, Call, Runs, block_edges
from lpbandits.data.memory import AHEAD, BYTES_PER_SELECTED_RATING, MemoryBudget
from lpbandits.data.ratings import Ratings, hash_of, offsets_of
from lpbandits.errors import InvalidInput
from lpbandits.limits import peak_bytes
from lpbandits.parallel import Executor, Threads
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label

FOLDS_PER_WORKER = 4
"""Number of partial sums per worker: more of them send more data, but less work is lost if a worker dies."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedRatings:
    """A log of ratings on disk, as `spill_ratings` returns it.

    Parameters
    ----------
    folder
        Folder of the files. Workers on other machines must see it under the same path.
    counts
        Number of ratings per person.
    people, actions, dropped, layout
        As in `Ratings`.
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
    lpbandits.errors.InvalidInput: the files of the log in ... were deleted, or ...
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
        validate.as_count(number, "block", low=0, high=len(self.edges) - 2)
        return read_block(self.folder, number, self.actions, self.layout)

    def blocks(self) -> Iterator[Ratings]:
        """Yield the blocks in order."""
        return map(self.block, range(len(self.edges) - 1))

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, equal to that of the same log in memory."""
        actions, ratings = (block.action for block in self.blocks()), (block.rating for block in self.blocks())
        return hash_of(self.people, self.actions, itertools.chain([offsets_of(self.counts)], actions, ratings))


def block_name(number: int) -> str:
    """Return the file name of a block."""
    return f"block-{number:06}"


def read_arrays(path: Path) -> list[NDArray[Any]]:
    """Return the three arrays of a file."""
    with path.open("rb") as raw:
        return [np.load(raw, allow_pickle=False) for _ in range(3)]


def read_block(folder: Path, number: int, actions: tuple[Label, ...], layout: str = "long") -> Ratings:
    """Return a block of a log on disk."""
    try:
        offsets, action, rating = read_arrays(folder / block_name(number))
    except FileNotFoundError:
        raise _missing(folder, platform.node()) from None
    except (ValueError, EOFError):
        raise InvalidInput(
            f"block {number} of the log in {folder} is truncated or was changed; call spill_ratings again"
        ) from None
    return Ratings.trusted(offsets, action, rating, range(len(offsets) - 1), actions, layout)


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
        return DiskBlocks(self.log, Executor(threads=self.pool.count), self.pool, replace(self.budget, workers=0))

    @property
    def n_folds(self) -> int:
        """Number of partial sums of `fold`: each worker sends a few."""
        return 1 if self._executor.in_process else FOLDS_PER_WORKER * self._executor.n_workers

    def _results(self, runs: Runs, call: Call, *, fold: bool = True, in_order: bool = True) -> Iterator[Any]:
        stage, common, per_person = call

        def jobs() -> Iterator[tuple[Any, ...]]:
            for low, high in runs:
                blocks = [(number, self._slices(per_person, number)) for number in range(low, high)]
                yield stage, self.log.folder, blocks, len(self.log.actions), self._executor.threads, common, fold

        if in_order:
            ahead: Any = {"max_ahead": AHEAD} if fold else {}
            results = self._executor.map(_run, jobs(), **ahead)
        else:
            results = (result for _, result in self._executor.as_completed(_run, jobs()))
        for result, (process, peak) in results:
            self.peaks[process] = max(peak, self.peaks.get(process, 0))
            yield result

    def subset(self, people: IntArray) -> Ratings:
        """Return the ratings of some people, in memory."""
        log = self.log
        offsets = offsets_of(log.counts[people])
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
        for host, sees in [_sees(self.log.folder), *self._executor.run_everywhere(_sees, self.log.folder)]:
            if not sees:
                raise _missing(self.log.folder, host)


def peak_of_process() -> tuple[str, int]:
    """Return the host and id of this process, and its peak memory in bytes."""
    return f"{platform.node()}:{os.getpid()}", peak_bytes() or 0


def _sees(folder: Path) -> tuple[str, bool]:
    return platform.node(), (folder / block_name(0)).exists()


def _missing(folder: Path, host: str) -> InvalidInput:
    return InvalidInput(
        f"the files of the log in {folder} were deleted, or {host} does not see them; use the log inside `with "
        "spill_ratings(…) as log:`, and with several machines a folder that all share (scratch=…; --scratch)"
    )


def _run(
    stage: Callable[..., Any],
    folder: Path,
    blocks: Iterable[tuple[int, Sequence[Any]]],
    n_actions: int,
    threads: int,
    common: Sequence[Any],
    fold: bool,
) -> tuple[Any, tuple[str, int]]:
    """Run a stage on one block, or fold it over several; also return the peak memory of the process."""
    totals = None
    with Threads(threads) as pool:
        for number, arrays in blocks:
            block = read_block(folder, number, tuple(range(n_actions)))
            totals = stage(block, pool, *((totals,) if fold else ()), *common, *arrays)
    return totals, peak_of_process()


def _select(block: Ratings, _: Threads, chosen: Any) -> tuple[Int32Array, FloatArray]:
    rows = np.repeat(chosen, block.counts)
    return block.action[rows], block.rating[rows]
