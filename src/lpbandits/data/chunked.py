"""`ChunkedRatings`: a log of ratings in files, block by block, so that it need not fit in memory."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from lpbandits import validate
from lpbandits.data.arrays import Scratch, read_arrays
from lpbandits.data.blocks import block_edges
from lpbandits.data.ratings import Ratings, hash_of
from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label


@dataclass(frozen=True, eq=False, init=False)
class ChunkedRatings:
    """A log of ratings in files, one for each block of people; `spill_ratings` makes it, and takes the files away.

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
    layout
        How the source had them; see `Ratings`.
    scratch
        Bytes that were in the folder at most, while the log was parted.

    >>> from lpbandits import spill_ratings
    >>> import polars as pl
    >>> rows = pl.DataFrame({"person": ["ann", "bo", "ann"], "action": ["tea", "tea", "jam"], "rating": [5, 4, 3]})
    >>> with spill_ratings(rows) as log: len(log), log.counts.tolist(), log.actions
    (3, [2, 1], ('jam', 'tea'))
    >>> log.block(0)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: the files of the log are gone from ...: use it inside `with spill_ratings(…) as log:`
    """

    folder: Path
    counts: IntArray
    people: Sequence[Label]
    actions: tuple[Label, ...]
    dropped: Mapping[str, int]
    layout: str
    scratch: int

    def __init__(self, *_: object, **__: object) -> None:
        raise InvalidInput("ChunkedRatings is not made by hand; use: with spill_ratings(source) as log: …")

    @classmethod
    def trusted(
        cls,
        scratch: Scratch,
        counts: IntArray,
        people: Sequence[Label],
        actions: tuple[Label, ...],
        dropped: Mapping[str, int],
        layout: str,
    ) -> "ChunkedRatings":
        """Return the log whose blocks a `BlockWriter` wrote."""
        made = object.__new__(cls)
        parts = {"counts": counts, "people": people, "actions": actions, "dropped": dropped, "layout": layout}
        made.__dict__.update(parts, folder=scratch.folder, scratch=scratch.most)
        return made

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"<ChunkedRatings: {len(self)} by {len(self.people)} people of {len(self.actions)} actions>"

    @cached_property
    def edges(self) -> IntArray:
        """Block b has the people edges[b] up to, not including, edges[b + 1]."""
        return block_edges(self.counts)

    def block(self, number: int) -> Ratings:
        """Return one block; its people have numbers for labels."""
        last = len(self.edges) - 2
        return read_block(self.folder, validate.as_count(number, "block", low=0, high=last), len(self.actions))

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


def block_name(number: int) -> str:
    """Return what a block's file is called."""
    return f"block-{number:06}"


def read_block(folder: Path, number: int, actions: int) -> Ratings:
    """Return a block of a log in files."""
    try:
        offsets, action, rating = read_arrays(folder / block_name(number), 3)
    except FileNotFoundError:
        raise InvalidInput(
            f"the files of the log are gone from {folder}: use it inside `with spill_ratings(…) as log:`"
        ) from None
    except (ValueError, EOFError):
        raise InvalidInput(
            f"block {number} of the log in {folder} was cut short or altered by somebody else: part the log again"
        ) from None
    return Ratings.trusted(offsets, action, rating, range(len(offsets) - 1), tuple(range(actions)))


class BlockWriter:
    """Writes people, who come in order, into files of one block each."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self.counts: list[IntArray] = []
        self._held: list[tuple[IntArray, Int32Array, FloatArray]] = []
        self._blocks = 0

    def add(self, counts: IntArray, action: Int32Array, rating: FloatArray) -> None:
        """Take in people: how many ratings each has, and all of these one after the other."""
        self.counts.append(counts)
        held = [*self._held, (counts, action, rating)]
        counts, action, rating = (np.concatenate(parts) for parts in zip(*held, strict=True))
        edges = block_edges(counts)
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
        self.scratch.write(block_name(self._blocks), own, action[rows].astype(np.int32), rating[rows])
        self._blocks += 1


def write_chunks(ratings: Ratings, folder: Path) -> ChunkedRatings:
    """Write a log in memory to files, for workers to read."""
    scratch = Scratch(folder, needed=12 * len(ratings) + 8 * len(ratings.people))
    writer = BlockWriter(scratch)
    for low, high in itertools.pairwise(block_edges(ratings.counts).tolist()):
        block = ratings.run(low, high)
        writer.add(block.counts, block.action, block.rating)
    counts = writer.close()
    made = ChunkedRatings.trusted(
        scratch, counts, ratings.people, ratings.actions, ratings.dropped, layout=ratings.layout
    )
    made.__dict__["sha256"] = ratings.sha256
    return made
