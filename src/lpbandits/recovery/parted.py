"""`PartedRatings`: a log of ratings in files, block by block, so that it need not fit in memory."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lpbandits.files.arrays import read_arrays, write_arrays
from lpbandits.limits import affordable
from lpbandits.parallel import Team, Threads
from lpbandits.recovery.blocks import edges_of, runs_of
from lpbandits.recovery.ratings import Ratings, hash_of
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label

T = TypeVar("T")

SHARES = 4
"""Parts of the log that each worker folds: its totals are sent so often, and so much is lost with one that dies."""


@dataclass(frozen=True, eq=False)
class PartedRatings:
    """A log of ratings in files, one for each block of people; made by `part_ratings`.

    Parameters
    ----------
    folder
        Where the files are. Workers on other machines must find it under the same name.
    counts
        How many actions each person rated.
    people, actions
        Labels, sorted.
    dropped
        What was left out on the way in, by reason.

    >>> from lpbandits import part_ratings
    >>> import polars as pl
    >>> rows = pl.DataFrame({"person": ["ann", "bo", "ann"], "action": ["tea", "tea", "jam"], "rating": [5, 4, 3]})
    >>> with part_ratings(rows) as log: len(log), log.counts.tolist(), log.actions
    (3, [2, 1], ('jam', 'tea'))
    """

    folder: Path
    counts: IntArray
    people: Sequence[Label]
    actions: tuple[Label, ...]
    dropped: Mapping[str, int]
    layout: str = "long"

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"<PartedRatings: {len(self)} by {len(self.people)} people of {len(self.actions)} actions>"

    @cached_property
    def edges(self) -> IntArray:
        """Block b has the people edges[b] up to, not including, edges[b + 1]."""
        return edges_of(self.counts)

    def block(self, number: int) -> Ratings:
        """Return one block; its people have numbers for labels."""
        return block_of(self.folder, number, len(self.actions))

    def blocks(self) -> Iterator[Ratings]:
        """Give one block after the other, with the labels of actions."""
        for number in range(len(self.edges) - 1):
            block = self.block(number)
            yield Ratings.trusted(block.offsets, block.action, block.rating, block.people, self.actions, self.layout)

    @cached_property
    def sha256(self) -> str:
        """The hash of the content: that of the same log in memory."""
        offsets = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        blocks = range(len(self.edges) - 1)
        actions = (self.block(number).action for number in blocks)
        ratings = (self.block(number).rating for number in blocks)
        return hash_of(self.people, self.actions, itertools.chain([offsets], actions, ratings))


def _place(folder: Path, number: int) -> Path:
    return folder / f"block-{number:06}"


def block_of(folder: Path, number: int, actions: int) -> Ratings:
    """Return a block of a log in files."""
    offsets, action, rating = read_arrays(_place(folder, number), 3)
    return Ratings.trusted(offsets, action, rating, range(len(offsets) - 1), tuple(range(actions)))


class BlockWriter:
    """Writes people, who come in order, into files of one block each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: list[IntArray] = []
        self._held: list[tuple[IntArray, Int32Array, FloatArray]] = []
        self._blocks = 0

    def add(self, counts: IntArray, action: Int32Array, rating: FloatArray) -> None:
        """Take in people: how many ratings each has, and all of these one after the other."""
        self.counts.append(counts)
        held = [*self._held, (counts, action, rating)]
        counts, action, rating = (np.concatenate(parts) for parts in zip(*held, strict=True))
        edges = edges_of(counts)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        last = int(edges[-2]) if len(edges) > 1 else 0  # the last block may go on
        for low, high in itertools.pairwise(edges[:-1].tolist()):
            self._write(offsets[low : high + 1], action, rating)
        rest = slice(int(offsets[last]), None)
        self._held = [(counts[last:], action[rest], rating[rest])]

    def close(self) -> IntArray:
        """Write what is left; return how many ratings each person has."""
        for counts, action, rating in self._held:
            if len(counts):
                self._write(np.concatenate([[0], np.cumsum(counts)]), action, rating)
        self._held = []
        return np.concatenate(self.counts)

    def _write(self, offsets: IntArray, action: Int32Array, rating: FloatArray) -> None:
        rows = slice(int(offsets[0]), int(offsets[-1]))
        own = (offsets - offsets[0]).astype(np.int64)
        write_arrays(_place(self.folder, self._blocks), own, action[rows].astype(np.int32), rating[rows])
        self._blocks += 1


def parted(ratings: Ratings, folder: Path) -> PartedRatings:
    """Write a log in memory to files, for workers to read."""
    edges = edges_of(ratings.counts).tolist()
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        block = ratings.run(low, high)
        write_arrays(_place(folder, number), block.offsets, block.action, block.rating)
    made = PartedRatings(
        folder, ratings.counts, ratings.people, ratings.actions, ratings.dropped, layout=ratings.layout
    )
    made.__dict__["sha256"] = ratings.sha256
    return made


class InFiles:
    """The blocks of a log in files; stages run on a team's workers, or here, one block at a time."""

    def __init__(self, log: PartedRatings, team: Team, pool: Threads) -> None:
        self._log, self._team, self._pool = log, team, pool

    @property
    def log(self) -> PartedRatings:
        """The log."""
        return self._log

    @property
    def pool(self) -> Threads:
        """Threads of this process."""
        return self._pool

    @property
    def edges(self) -> IntArray:
        """Where blocks of people begin."""
        return self._log.edges

    def each(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what a stage makes of each block."""
        log = self._log
        jobs = (
            (stage, log.folder, number, len(log.actions), self._team.threads, common, self._own(own, number))
            for number in range(len(self.edges) - 1)
        )
        yield from self._team.each(_staged, jobs)

    def folded(self, stage: Callable[..., list[Any]], *common: Any, own: Sequence[Any] = ()) -> list[Any]:
        """Return the sums that all blocks add to: each of a worker's parts of the log sends its own once."""
        blocks = len(self.edges) - 1
        parts = min(1 if self._team.alone else SHARES * self._team.count, blocks)
        bounds = itertools.pairwise(blocks * part // parts for part in range(parts + 1))
        totals: list[Any] | None = None
        for _, some in self._team.as_they_end(_folded, self._folds(bounds, stage, common, own), join=False):
            if totals is None:
                totals = some
            else:
                for total, part in zip(totals, some, strict=True):
                    np.add(total, part, out=total)
        return totals or []

    def by_runs(self, stage: Callable[..., T], *common: Any, own: Sequence[Any] = ()) -> Iterator[T]:
        """Give what every run of blocks adds up to."""
        runs = runs_of(len(self.edges) - 1)
        yield from self._team.each(_folded, self._folds(runs, stage, common, own), join=False)

    def _folds(
        self, bounds: Iterable[tuple[int, int]], stage: Callable[..., Any], common: Sequence[Any], own: Sequence[Any]
    ) -> Iterator[tuple[Any, ...]]:
        """Give the jobs that fold blocks, up to each bound from the one before."""
        log = self._log
        for low, high in bounds:
            blocks = [(number, self._own(own, number)) for number in range(low, high)]
            yield stage, log.folder, blocks, len(log.actions), self._team.threads, common

    def _own(self, own: Sequence[Any], number: int) -> list[Any]:
        low, high = self.edges[number], self.edges[number + 1]
        return [array[low:high] for array in own]

    def some(self, people: IntArray) -> Ratings:
        """Return the log of some people, in memory."""
        log = self._log
        ratings = int(log.counts[people].sum())
        affordable(
            f"{ratings:,} ratings in memory at once",
            "use --method two-stage, which goes through them in parts, or fewer people",
            size=40 * ratings,
        )
        chosen = np.zeros(len(log.people), dtype=np.bool_)
        chosen[people] = True
        parts = list(self.each(_picked, own=(chosen,)))
        action, rating = (np.concatenate(some) for some in zip(*parts, strict=True))
        offsets = np.concatenate([[0], np.cumsum(log.counts[people])]).astype(np.int64)
        labels = tuple(log.people[n] for n in people.tolist())
        return Ratings.trusted(offsets, action, rating, labels, log.actions, log.layout)


def _staged(
    stage: Callable[..., T],
    folder: Path,
    number: int,
    actions: int,
    threads: int,
    common: Sequence[Any],
    own: Sequence[Any],
) -> T:
    with Threads(threads) as pool:
        return stage(block_of(folder, number, actions), pool, *common, *own)


def _folded(
    stage: Callable[..., T],
    folder: Path,
    blocks: Sequence[tuple[int, Sequence[Any]]],
    actions: int,
    threads: int,
    common: Sequence[Any],
) -> T:
    totals: Any = None
    with Threads(threads) as pool:
        for number, own in blocks:
            totals = stage(block_of(folder, number, actions), pool, totals, *common, *own)
    found: T = totals
    return found


def _picked(block: Ratings, _: Threads, chosen: Any) -> tuple[Int32Array, FloatArray]:
    rows = np.repeat(chosen, block.counts)
    return block.action[rows], block.rating[rows]
