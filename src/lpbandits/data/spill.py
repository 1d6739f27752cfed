"""Files of a log that exceeds the memory: buckets of rows while it is sorted, then blocks of people."""

import contextlib
import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lpbandits.data.blocks import block_edges
from lpbandits.data.chunked import ChunkedRatings, block_name, read_arrays
from lpbandits.data.ratings import Ratings, offsets_of
from lpbandits.errors import InvalidInput
from lpbandits.io.atomic import space_for
from lpbandits.text import size_text
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label

T = TypeVar("T")

CELLS_PER_LABEL, MIN_CELLS = 16, 10**6
"""Integer labels are looked up in an array from the lowest to the highest, if it has at most `CELLS_PER_LABEL` cells
per label plus `MIN_CELLS`."""

OTHER_DISK = "name a folder on another disk (scratch=…; --scratch)"


def count_labels(rows: pl.LazyFrame, batch: int) -> list[pl.DataFrame]:
    """Return the sorted people, and the sorted actions, with their number of rows (`len`), in one pass by batches.

    The streaming group-by of polars would need a gigabyte for a hundred million rows.
    """
    roles = ("person", "action")
    empty = rows.select(*roles, pl.lit(0, pl.Int64).alias("len")).head(0).collect()
    counts = {role: [empty.select(role, "len")] for role in roles}
    for frame in rows.select(*roles).collect_batches(chunk_size=batch, engine="streaming"):
        for role, frames in counts.items():
            frames.append(frame.group_by(role).agg(pl.len().cast(pl.Int64)))
            if sum(map(len, frames[1:])) > max(len(frames[0]), 4 * batch):
                frames[:] = [pl.concat(frames).group_by(role).agg(pl.col("len").sum())]
    return [pl.concat(frames).group_by(role).agg(pl.col("len").sum()).sort(role) for role, frames in counts.items()]


class Codes:
    """Distinct labels of a column, and the index of each.

    >>> Codes(pl.Series("action", ["tea", "jam"])).of(pl.Series("action", ["tea", "jam", "tea"])).tolist()
    [0, 1, 0]
    """

    def __init__(self, labels: pl.Series) -> None:
        self.series = labels
        self._low, self._table = 0, np.empty(0, dtype=np.int32)
        if labels.dtype == pl.Int64 and len(labels):
            values = labels.to_numpy()
            low, high = int(values.min()), int(values.max())
            if high - low < CELLS_PER_LABEL * len(labels) + MIN_CELLS:
                self._low, self._table = low, np.zeros(high - low + 1, dtype=np.int32)
                self._table[values - low] = np.arange(len(labels))

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The labels."""
        return tuple(self.series.to_list())

    def of(self, column: pl.Series) -> Int32Array:
        """Return the index of each label of a column."""
        if len(self._table):
            return np.concatenate([self._table[chunk.to_numpy() - self._low] for chunk in column.get_chunks()])
        indexed = self.series.alias("label").to_frame().with_row_index("code")
        joined = column.alias("label").to_frame().join(indexed, on="label", how="left", maintain_order="left")
        codes: Int32Array = joined["code"].cast(pl.Int32).to_numpy()
        return codes


class Scratch:
    """A folder of arrays that records its current and its maximum size.

    `needed` bytes must be free on the disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scratch = Scratch(Path(folder), needed=1000)
    ...     scratch.write("a", np.arange(2), np.arange(3), np.ones(1))
    ...     [array.tolist() for array in scratch.pop("a", read_arrays)], scratch.used, scratch.most
    ([[0, 1], [0, 1, 2], [1.0]], 0, 432)
    """

    def __init__(self, folder: Path, *, needed: int) -> None:
        self.folder = folder
        self.used = self.most = 0
        self._what = f"temporary files ({size_text(needed)})"
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise InvalidInput(
                f"{folder.parent} has {size_text(free)} free, but temporary files need {size_text(needed)}; free some "
                f"space, or {OTHER_DISK}"
            )

    def write(self, name: str, *arrays: NDArray[Any]) -> None:
        """Write arrays to a file, for `read_arrays`."""
        with self._open(name) as out:
            for array in map(np.ascontiguousarray, arrays):
                np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
                out.write(array.data)  # `ndarray.tofile` does not report why a write failed

    def pop(self, name: str, read: Callable[[Path], T]) -> T:
        """Return what a file holds, and delete it."""
        path = self.folder / name
        content = read(path)
        self.used -= path.stat().st_size
        path.unlink()
        return content

    def hold(self, buckets: Iterable[Sequence[NDArray[Any]]]) -> Iterator[list[NDArray[Any]]]:
        """Write each bucket to a file; return an iterator that reads and deletes them in order."""
        names = []
        for number, bucket in enumerate(buckets):
            names.append(f"sorted-{number}")
            self.write(names[-1], *bucket)
        return (self.pop(name, read_arrays) for name in names)

    def scatter(self, bucket: IntArray, rows: NDArray[Any]) -> None:
        """Append each row to the file of its bucket.

        >>> import tempfile
        >>> rows = np.array([5, 7, 6])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     scratch = Scratch(Path(folder), needed=24)
        ...     scratch.scatter(np.array([1, 0, 1]), rows)
        ...     scratch.pop("bucket-1", np.fromfile).view(rows.dtype).tolist()
        [5, 6]
        """
        order = np.argsort(bucket.astype(np.uint16), kind="stable")  # a radix sort
        sizes = np.bincount(bucket)
        ends = np.cumsum(sizes)
        for number in np.flatnonzero(sizes).tolist():
            with self._open(f"bucket-{number}") as out:
                out.write(rows[order[ends[number] - sizes[number] : ends[number]]].tobytes())

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file to append to it; a full disk raises."""
        with space_for(self._what, self.folder.parent, OTHER_DISK), (self.folder / name).open("ab") as out:
            before = out.tell()
            yield out
            self.used += out.tell() - before
        self.most = max(self.most, self.used)


def write_blocks(scratch: Scratch, pieces: Iterable[Sequence[NDArray[Any]]], about: Any) -> ChunkedRatings:
    """Write people to one file per block.

    Each piece holds consecutive people: their numbers of ratings, and the actions and ratings of all of them. `about`,
    a `Ratings` or a `Cleaner`, has the labels once all pieces are written.
    """
    all_counts: list[IntArray] = []
    pending: tuple[Any, ...] = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    n_blocks = itertools.count()

    def write(counts: IntArray, action: Int32Array, rating: FloatArray) -> None:
        scratch.write(block_name(next(n_blocks)), offsets_of(counts), action.astype(np.int32), rating)

    for piece in pieces:
        all_counts.append(piece[0])
        arrays: Any = zip(pending, piece, strict=True)
        counts, action, rating = (np.concatenate(pair) for pair in arrays)
        if not len(counts):
            continue
        starts, edges = offsets_of(counts), block_edges(counts)
        *complete, last = [(slice(*edge), slice(*starts[list(edge)])) for edge in itertools.pairwise(edges.tolist())]
        for people, rows in complete:
            write(counts[people], action[rows], rating[rows])
        pending = counts[last[0]], action[last[1]], rating[last[1]]  # the last block may continue
    if len(pending[0]):
        write(*pending)
    counts = np.concatenate(all_counts)
    return ChunkedRatings(
        folder=scratch.folder,
        counts=counts,
        edges=block_edges(counts),
        people=about.people,
        actions=about.actions,
        dropped=about.dropped,
        layout=about.layout,
        lower_is_better=about.lower_is_better,
        ranks=about.ranks,
        person_column=about.person_column,
        scratch=scratch.most,
    )


def write_chunks(ratings: Ratings, folder: Path) -> ChunkedRatings:
    """Write a log in memory to files, for workers to read."""
    scratch = Scratch(folder, needed=12 * len(ratings) + 8 * len(ratings.people))
    blocks = (ratings.run(low, high) for low, high in itertools.pairwise(block_edges(ratings.counts).tolist()))
    log = write_blocks(scratch, ((block.counts, block.action, block.rating) for block in blocks), ratings)
    log.__dict__["sha256"] = ratings.sha256
    return log
