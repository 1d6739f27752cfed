"""`ChunkedRatings`: a log on disk, one file per block of people."""

import itertools
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.ratings import Ratings, hash_of, offsets_of, sizes_of
from lpbandits.errors import InvalidInput
from lpbandits.limits import peak_bytes
from lpbandits.parallel import Executor
from lpbandits.typing import IntArray, Label


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedRatings:
    """A log of ratings on disk, as `spill_ratings` returns it.

    Parameters
    ----------
    folder
        Folder of the files. Workers on other machines must see it under the same path.
    counts
        Number of ratings per person.
    edges
        Block b holds the people edges[b] to edges[b + 1] − 1.
    people, actions, dropped, layout, lower_is_better, ranks, person_column
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
    edges: IntArray
    people: Sequence[Label]
    actions: tuple[Label, ...]
    dropped: Mapping[str, int]
    layout: str
    scratch: int
    lower_is_better: bool = False
    ranks: bool = False
    person_column: str | None = None

    def __len__(self) -> int:
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"<ChunkedRatings: {sizes_of(self)}>"

    def block(self, number: int) -> Ratings:
        """Return one block; its people are labelled by numbers."""
        validate.as_count(number, "block", low=0, high=len(self.edges) - 2)
        return read_block(self.folder, number, self.actions, self.layout)

    def blocks(self) -> Iterator[Ratings]:
        """Yield the blocks in order."""
        return map(self.block, range(len(self.edges) - 1))

    def probe(self, executor: Executor) -> None:
        """Raise if a worker does not see the files, before the work starts."""
        for host, sees in [_sees(self.folder), *executor.run_everywhere(_sees, self.folder)]:
            if not sees:
                raise _missing(self.folder, host)

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
