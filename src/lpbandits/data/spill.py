"""Files of a log that exceeds the memory: buckets of rows while it is sorted, then blocks of people."""

import contextlib
import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lpbandits.data.blocks import block_edges
from lpbandits.data.chunked import ChunkedRatings, block_name, read_arrays
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.io.atomic import space_for
from lpbandits.text import size_text
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label

MAX_OPEN_FILES = 2**16
"""Bucket numbers have 16 bits."""

CELLS_PER_LABEL, MIN_CELLS = 16, 10**6
"""Integer labels are looked up in an array from the lowest to the highest, if it has at most `CELLS_PER_LABEL` cells
per label plus `MIN_CELLS`; otherwise by bisection."""

OTHER_DISK = "name a folder on another disk (scratch=…; --scratch)"


def max_open_files() -> int:
    """Return half the number of files that the system allows to be open.

    >>> max_open_files() > 0
    True
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return MAX_OPEN_FILES
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_OPEN_FILES if soft == resource.RLIM_INFINITY else max(min(soft // 2, MAX_OPEN_FILES), 1)


def count_labels(rows: pl.LazyFrame, roles: Sequence[str], batch: int) -> list[pl.DataFrame]:
    """Return the sorted labels of columns with their counts, in one pass by batches.

    The streaming group-by of polars keeps a gigabyte for a hundred million rows.
    """
    schema = rows.collect_schema()
    counts = {role: [pl.DataFrame(schema={role: schema[role], "len": pl.Int64})] for role in roles}
    for frame in rows.select(roles).collect_batches(chunk_size=batch, engine="streaming"):
        for role, frames in counts.items():
            frames.append(frame.group_by(role).agg(pl.len().cast(pl.Int64)))
            if sum(map(len, frames[1:])) > max(len(frames[0]), batch):
                frames[:] = [pl.concat(frames).group_by(role).agg(pl.col("len").sum())]
    return [pl.concat(frames).group_by(role).agg(pl.col("len").sum()).sort(role) for role, frames in counts.items()]


class Codes:
    """The sorted labels of a column, and the index of any label.

    >>> codes = Codes(pl.Series("action", ["tea", "jam", "tea"]))
    >>> codes.labels, codes.of(pl.Series("action", ["tea", "rum"])).tolist()
    (('jam', 'tea'), [1, -1])
    """

    def __init__(self, column: pl.Series) -> None:
        self._sorted = column.unique().sort()
        self.labels: tuple[Label, ...] = tuple(self._sorted.to_list())
        self._low, self._table = 0, np.empty(0, dtype=np.int32)
        if column.dtype == pl.Int64 and self.labels:
            low, high = int(self._sorted[0]), int(self._sorted[-1])
            if high - low < CELLS_PER_LABEL * len(self.labels) + MIN_CELLS:
                self._low, self._table = low, np.full(high - low + 1, -1, dtype=np.int32)
                self._table[self._sorted.to_numpy() - low] = np.arange(len(self.labels))

    def of(self, column: pl.Series) -> IntArray:
        """Return the index of each label of a column of the same type, −1 for an unknown label."""
        if len(self._table):
            cell = column.to_numpy() - self._low
            known = (cell >= 0) & (cell < len(self._table))
            index: IntArray = self._table[cell if known.all() else np.where(known, cell, 0)].astype(np.int64)
            return index if known.all() else np.where(known, index, -1)
        if column.dtype == pl.Int64 and self.labels:
            return self._search(column.to_numpy())
        name = self._sorted.name
        indexed = self._sorted.to_frame().with_row_index("code")
        joined = column.alias(name).to_frame().join(indexed, on=name, how="left", maintain_order="left")
        codes: IntArray = joined["code"].cast(pl.Int64).fill_null(-1).to_numpy()
        return codes

    def _search(self, values: IntArray) -> IntArray:
        """Search for integers in increasing order, which takes half the time of any other order."""
        order, labels = np.argsort(values), self._sorted.to_numpy()
        index = np.empty(len(values), dtype=np.int64)
        index[order] = np.minimum(np.searchsorted(labels, values[order]), len(labels) - 1)
        return np.where(labels[index] == values, index, -1)


class Scratch:
    """A folder of arrays that records its current and its maximum size.

    `needed` bytes must be free on the disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scratch = Scratch(Path(folder), needed=1000)
    ...     scratch.write("a", np.arange(2), np.ones(1))
    ...     [array.tolist() for array in scratch.take("a", 2)], scratch.used, scratch.most
    ([[0, 1], [1.0]], 0, 280)
    """

    def __init__(self, folder: Path, *, needed: int) -> None:
        self.folder = folder
        self.used = self.most = 0
        self._what = f"the files of the log ({size_text(needed)})"
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise InvalidInput(
                f"{folder.parent} has {size_text(free)} free, but the files of the log need {size_text(needed)}; free "
                f"some space, or {OTHER_DISK}"
            )

    def write(self, name: str, *arrays: NDArray[Any]) -> None:
        """Write arrays to a file."""
        with self.space(), (self.folder / name).open("wb") as out:
            for array in map(np.ascontiguousarray, arrays):
                np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
                out.write(array.data)  # numpy's own writer hides the reason of a failure
            self.grow(out.tell())

    def take(self, name: str, count: int) -> list[NDArray[Any]]:
        """Return the arrays of a file, and delete it."""
        arrays = read_arrays(self.folder / name, count)
        self.remove(name)
        return arrays

    def remove(self, name: str) -> None:
        """Delete a file."""
        self.grow(-(self.folder / name).stat().st_size)
        (self.folder / name).unlink()

    def grow(self, size: int) -> None:
        """Record a change of the size."""
        self.used += size
        self.most = max(self.most, self.used)

    def space(self) -> contextlib.AbstractContextManager[None]:
        """Convert the error of a full disk."""
        return space_for(self._what, self.folder.parent, OTHER_DISK)


class Buckets:
    """Rows in files, one per bucket, in the order in which they were added.

    >>> import tempfile
    >>> rows = np.array([(5, 1.0), (7, 2.0), (5, 3.0)], dtype=[("a", "i4"), ("b", "f8")])
    >>> with tempfile.TemporaryDirectory() as folder, Buckets(Scratch(Path(folder), needed=36), 2, rows.dtype) as files:
    ...     files.add(np.array([1, 0, 1]), rows)
    ...     [files.take(bucket)["b"].tolist() for bucket in range(2)]
    [[2.0], [1.0, 3.0]]
    """

    def __init__(self, scratch: Scratch, n_buckets: int, dtype: Any) -> None:
        self._scratch = scratch
        self._names = [f"bucket-{bucket:06}" for bucket in range(n_buckets)]
        self._dtype = np.dtype(dtype)
        self._open: list[IO[bytes]] = []

    def __enter__(self) -> "Buckets":
        self._open = [(self._scratch.folder / name).open("wb") for name in self._names]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            with contextlib.suppress(OSError):  # a full disk was reported before
                file.close()

    def add(self, bucket: NDArray[Any], rows: NDArray[Any]) -> None:
        """Append each row to the file of its bucket."""
        order = np.argsort(bucket.astype(np.uint16), kind="stable")  # a radix sort
        sizes = np.bincount(bucket, minlength=len(self._names))
        ends = np.cumsum(sizes)
        with self._scratch.space():
            for file, size, end in zip(self._open, sizes, ends, strict=True):
                if size:
                    file.write(rows[order[end - size : end]].tobytes())
        self._scratch.grow(rows.nbytes)

    def take(self, bucket: int) -> NDArray[Any]:
        """Return the rows of a bucket, and delete its file."""
        with self._scratch.space():
            self._open[bucket].close()
        rows = np.fromfile(self._scratch.folder / self._names[bucket], dtype=self._dtype)
        self._scratch.remove(self._names[bucket])
        return rows


class BlockWriter:
    """Writes people, who are added in order, to one file per block."""

    def __init__(self, scratch: Scratch) -> None:
        self.scratch = scratch
        self._counts: list[IntArray] = []
        self._pending: list[tuple[IntArray, Int32Array, FloatArray]] = []
        self._n_blocks = 0

    def add(self, counts: IntArray, action: Int32Array, rating: FloatArray) -> None:
        """Add people: their numbers of ratings, and all of their ratings."""
        self._counts.append(counts)
        pending = [*self._pending, (counts, action, rating)]
        counts, action, rating = (np.concatenate(arrays) for arrays in zip(*pending, strict=True))
        edges = block_edges(counts)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        last = int(edges[-2]) if len(edges) > 1 else 0  # the last block may continue
        for low, high in itertools.pairwise(edges[:-1].tolist()):
            self._write(offsets[low : high + 1], action, rating)
        rest = slice(int(offsets[last]), None)
        self._pending = [(counts[last:], action[rest], rating[rest])]

    def close(self) -> IntArray:
        """Write the last block; return the number of ratings per person."""
        for counts, action, rating in self._pending:
            if len(counts):
                self._write(np.concatenate([[0], np.cumsum(counts)]), action, rating)
        self._pending = []
        return np.concatenate(self._counts)

    def _write(self, offsets: IntArray, action: Int32Array, rating: FloatArray) -> None:
        rows = slice(int(offsets[0]), int(offsets[-1]))
        starts = (offsets - offsets[0]).astype(np.int64)
        self.scratch.write(block_name(self._n_blocks), starts, action[rows].astype(np.int32), rating[rows])
        self._n_blocks += 1


def write_chunks(ratings: Ratings, folder: Path) -> ChunkedRatings:
    """Write a log in memory to files, for workers to read."""
    scratch = Scratch(folder, needed=12 * len(ratings) + 8 * len(ratings.people))
    writer = BlockWriter(scratch)
    for low, high in itertools.pairwise(block_edges(ratings.counts).tolist()):
        block = ratings.run(low, high)
        writer.add(block.counts, block.action, block.rating)
    counts = writer.close()
    log = ChunkedRatings(
        folder=folder,
        scratch=scratch.most,
        counts=counts,
        people=ratings.people,
        actions=ratings.actions,
        dropped=ratings.dropped,
        layout=ratings.layout,
    )
    log.__dict__["sha256"] = ratings.sha256
    return log
