"""Compressed files, unpacked through a limit: a small file cannot fill the disk or the memory."""

import contextlib
import gzip
import mmap
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from lpbandits.errors import InvalidInput, reason
from lpbandits.io.space import space_for

LONGEST_LINE = 2**20
"""Bytes of the longest line that a table may have."""

_CHUNK = 1 << 20
_PACKED = {
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x78\x01": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
    b"PK\x03\x04": "zip (a name that ends in .zip would do)",
}


class Limit(NamedTuple):
    """How much a compressed file may unpack to: so many bytes, and so many times its own size.

    Small files may unpack to `least` bytes whatever their size.
    """

    most: int = 20 * 10**9
    times: float = 200.0
    least: int = 2**26

    def of(self, packed: int) -> int:
        """Return how many bytes a file of `packed` bytes may unpack to.

        >>> Limit().of(10**6), Limit().of(10**9)
        (200000000, 20000000000)
        """
        return int(min(self.most, max(self.times * packed, self.least)))


@contextlib.contextmanager
def plain(path: Path, name: str, limit: Limit) -> Iterator[Path]:
    """Give a file to read: the one there is, or, of a gzipped one, what it unpacks to, for as long as it is needed."""
    with path.open("rb") as raw:
        start = raw.read(8)
        if start[:2] != b"\x1f\x8b":
            packed = next((kind for mark, kind in _PACKED.items() if start.startswith(mark)), None)
            if packed is not None:
                raise InvalidInput(f"{name} is compressed, by {packed}; gzip and zip are read: unpack it first")
            yield path
            return
        raw.seek(0)
        with temporary_folder() as folder:
            target = folder / "table"
            with gzip.GzipFile(fileobj=raw) as inside:
                copy(inside, target, name, limit.of(path.stat().st_size))
            yield target


def extract(archive: Path, member: zipfile.ZipInfo, bundle: zipfile.ZipFile, target: Path, limit: Limit) -> None:
    """Unpack one member of a zip file."""
    name = f"{archive.name}:{member.filename}"
    if member.flag_bits & 1:
        raise InvalidInput(f"{name} is encrypted; unpack it with its password first, and name the file")
    with bundle.open(member) as inside:
        copy(inside, target, name, limit.of(archive.stat().st_size))


@contextlib.contextmanager
def open_zip(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file; whatever is odd about it, also while a member is read, is one clear error."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            yield bundle
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"cannot unpack {archive}: {error}; download or make it again") from None


@contextlib.contextmanager
def temporary_folder(inside: Path | None = None) -> Iterator[Path]:
    """Give a folder that is gone afterwards; in another one, if that is named."""
    try:
        holder = tempfile.TemporaryDirectory(prefix="lpbandits-", dir=inside)
    except OSError as error:
        if inside is not None:
            raise InvalidInput(
                f"there is no place for temporary files in {inside}: {reason(error, 'name a folder that is there')}"
            ) from None
        remedy = "set TMPDIR to a folder"
        raise InvalidInput(f"there is no place for temporary files: {reason(error, remedy)}") from None
    with holder as folder:
        yield Path(folder)


def copy(source: IO[bytes] | gzip.GzipFile, target: Path, name: str, most: int) -> None:
    """Copy what `source` unpacks to, at most so many bytes of it."""
    done = 0
    with target.open("wb") as out:
        while chunk := source.read(_CHUNK):
            done += len(chunk)
            if done > most:
                raise InvalidInput(
                    f"{name} unpacks to more than {most:,} bytes, which no log of ratings does; if yours does, raise "
                    "the limit: unpack_limit=… (--unpack-limit 50GB)"
                )
            with space_for(name, target.parent, "set TMPDIR to another folder"):
                out.write(chunk)


def check_lines(path: Path, name: str) -> None:
    """Refuse a text with a line longer than `LONGEST_LINE` bytes; looks at one place per megabyte."""
    with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as text:
        start = 0
        while len(text) - start > LONGEST_LINE:
            last = text.rfind(b"\n", start, start + LONGEST_LINE)
            if last < start:
                raise InvalidInput(
                    f"{name} has a line longer than {LONGEST_LINE:,} bytes (from byte {start:,}); it is not a table of "
                    "ratings, or its lines do not end in a newline"
                )
            start = last + 1
