"""Arrays on the disk for as long as a piece of work needs them: more of them than the memory holds."""

import contextlib
import shutil
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.errors import InvalidInput
from lpbandits.io.space import space_for
from lpbandits.text import size_text

MOST_OPEN = 2**16
"""Files that `Spill` can tell apart."""

ELSEWHERE = "name a folder on another disk (scratch=…; --scratch)"


def most_open() -> int:
    """Return how many files may be open at a time: half of what the system allows, the rest is for all else.

    >>> most_open() > 0
    True
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return MOST_OPEN
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_OPEN if soft == resource.RLIM_INFINITY else max(min(soft // 2, MOST_OPEN), 1)


def read_arrays(path: Path, count: int) -> list[NDArray[Any]]:
    """Return the first arrays of a file."""
    with path.open("rb") as raw:
        return [np.load(raw, allow_pickle=False) for _ in range(count)]


class Scratch:
    """A folder for arrays: it knows how much is in it, and how much that was at most.

    `needed` bytes must be free there, or nothing is begun.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scratch = Scratch(Path(folder), needed=1000)
    ...     scratch.write("a", np.arange(2), np.ones(1))
    ...     [one.tolist() for one in scratch.take("a", 2)], scratch.used, scratch.most
    ([[0, 1], [1.0]], 0, 280)
    """

    def __init__(self, folder: Path, *, needed: int) -> None:
        self.folder = folder
        self.used = self.most = 0
        self._what = f"the parts of the log, which take {size_text(needed)},"
        free = shutil.disk_usage(folder).free
        if free < needed:
            raise InvalidInput(
                f"the parts of the log take {size_text(needed)}, and {folder.parent} has {size_text(free)} free: free "
                f"some, or {ELSEWHERE}"
            )

    def write(self, name: str, *arrays: NDArray[Any]) -> None:
        """Write arrays one after the other into a file."""
        with self.space(), self.path(name).open("wb") as out:
            for array in map(np.ascontiguousarray, arrays):
                np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
                out.write(array.data)  # `np.save` does not say why a disk takes no more
            self.grow(out.tell())

    def take(self, name: str, count: int) -> list[NDArray[Any]]:
        """Return the arrays of a file, which is gone afterwards."""
        found = read_arrays(self.path(name), count)
        self.remove(name)
        return found

    def remove(self, name: str) -> None:
        """Delete a file."""
        self.grow(-self.path(name).stat().st_size)
        self.path(name).unlink()

    def path(self, name: str) -> Path:
        """Return where a file is."""
        return self.folder / name

    def grow(self, size: int) -> None:
        """Take note of so many more bytes."""
        self.used += size
        self.most = max(self.most, self.used)

    def space(self) -> contextlib.AbstractContextManager[None]:
        """Say what to do about a full disk."""
        return space_for(self._what, self.folder.parent, ELSEWHERE)


class Spill:
    """Rows put into files by bucket, in the order in which they come, and taken out bucket by bucket.

    >>> import tempfile
    >>> rows = np.array([(5, 1.0), (7, 2.0), (5, 3.0)], dtype=[("a", "i4"), ("b", "f8")])
    >>> with tempfile.TemporaryDirectory() as folder, Spill(Scratch(Path(folder), needed=36), 2, rows.dtype) as spill:
    ...     spill.add(np.array([1, 0, 1]), rows)
    ...     [spill.take(bucket)["b"].tolist() for bucket in range(2)]
    [[2.0], [1.0, 3.0]]
    """

    def __init__(self, scratch: Scratch, buckets: int, dtype: Any) -> None:
        assert buckets <= MOST_OPEN  # noqa: S101 - `most_open` says so
        self._scratch = scratch
        self._names = [f"bucket-{bucket:06}" for bucket in range(buckets)]
        self._dtype = np.dtype(dtype)
        self._open: list[IO[bytes]] = []

    def __enter__(self) -> "Spill":
        self._open = [self._scratch.path(name).open("wb") for name in self._names]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            with contextlib.suppress(OSError):  # a full disk was said before
                file.close()

    def add(self, bucket: NDArray[Any], rows: NDArray[Any]) -> None:
        """Put each row into its bucket."""
        order = np.argsort(bucket.astype(np.uint16), kind="stable")  # of such short numbers that is one pass
        sizes = np.bincount(bucket, minlength=len(self._names))
        ends = np.cumsum(sizes)
        with self._scratch.space():
            for file, size, end in zip(self._open, sizes, ends, strict=True):
                if size:
                    file.write(rows[order[end - size : end]].tobytes())
        self._scratch.grow(rows.nbytes)

    def take(self, bucket: int) -> NDArray[Any]:
        """Return a bucket's rows; the file is gone afterwards."""
        with self._scratch.space():
            self._open[bucket].close()
        rows = np.fromfile(self._scratch.path(self._names[bucket]), dtype=self._dtype)
        self._scratch.remove(self._names[bucket])
        return rows
