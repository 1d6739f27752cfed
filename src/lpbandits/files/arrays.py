"""Arrays on the disk for as long as a piece of work needs them: more of them than the memory holds."""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lpbandits.errors import InvalidInput


@contextlib.contextmanager
def _space(place: Path) -> Iterator[None]:
    """Say what to do about a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InvalidInput(
            f"there is no space for the parts of the log in {place.parent}: free some, or choose another place (TMPDIR "
            "is that of temporary files)"
        ) from None


def write_arrays(path: Path, *arrays: NDArray[Any]) -> None:
    """Write arrays one after the other.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_arrays(Path(folder) / "a", np.arange(2), np.ones(1))
    ...     [one.tolist() for one in read_arrays(Path(folder) / "a", 2)]
    [[0, 1], [1.0]]
    """
    with _space(path), path.open("wb") as out:
        for array in arrays:
            np.save(out, array, allow_pickle=False)


def read_arrays(path: Path, count: int) -> list[NDArray[Any]]:
    """Return the first arrays of a file."""
    with path.open("rb") as raw:
        return [np.load(raw, allow_pickle=False) for _ in range(count)]


class Spill:
    """Rows put into files by bucket, in the order in which they come, and taken out bucket by bucket.

    >>> import tempfile
    >>> rows = np.array([(5, 1.0), (7, 2.0), (5, 3.0)], dtype=[("a", "i4"), ("b", "f8")])
    >>> with tempfile.TemporaryDirectory() as folder, Spill(Path(folder), 2, rows.dtype) as spill:
    ...     spill.add(np.array([1, 0, 1]), rows)
    ...     [spill.take(bucket)["b"].tolist() for bucket in range(2)]
    [[2.0], [1.0, 3.0]]
    """

    def __init__(self, folder: Path, buckets: int, dtype: Any) -> None:
        assert buckets <= 2**16  # noqa: S101 - more files cannot be open at a time
        self._places = [folder / f"bucket-{bucket:06}" for bucket in range(buckets)]
        self._dtype = np.dtype(dtype)
        self._open: list[IO[bytes]] = []

    def __enter__(self) -> "Spill":
        self._open = [place.open("wb") for place in self._places]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            with contextlib.suppress(OSError):  # a full disk was said before
                file.close()

    def add(self, bucket: NDArray[Any], rows: NDArray[Any]) -> None:
        """Put each row into its bucket."""
        order = np.argsort(bucket.astype(np.uint16), kind="stable")  # of such short numbers that is one pass
        sizes = np.bincount(bucket, minlength=len(self._places))
        ends = np.cumsum(sizes)
        for file, place, size, end in zip(self._open, self._places, sizes, ends, strict=True):
            if size:
                with _space(place):
                    file.write(rows[order[end - size : end]].tobytes())

    def take(self, bucket: int) -> NDArray[Any]:
        """Return a bucket's rows; the file is gone afterwards."""
        place = self._places[bucket]
        with _space(place):
            self._open[bucket].close()
        rows = np.fromfile(place, dtype=self._dtype)
        place.unlink()
        return rows
