"""Compressed files, decompressed up to a limit: a small file cannot fill the disk."""

import contextlib
import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from lpbandits.errors import InvalidInput, reason
from lpbandits.io.atomic import space_for
from lpbandits.io.scratch import owned_folder

_CHUNK = 1 << 20
_FORMATS = {
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x78\x9c": "zlib",
    b"PK\x03\x04": "zip (rename it to .zip)",
}
"""Other formats of compression, by the first bytes of a file."""
_RAISE = "if the file is really that large, raise the limit: unpack_limit=… (--unpack-limit 50GB)"


def max_unpacked(path: Path, limit: int | None = None) -> int:
    """Return the maximum decompressed size in bytes: `limit`, by default 200 times the size within bounds."""
    return min(20 * 10**9, max(200 * path.stat().st_size, 2**26)) if limit is None else limit


@contextlib.contextmanager
def decompressed(path: Path, name: str, limit: int | None) -> Iterator[Path]:
    """Yield a path to the decompressed file, deleted on exit; the path itself if it is not gzipped."""
    with path.open("rb") as raw:
        start = raw.read(8)
        raw.seek(0)
        if start.startswith(b"\x1f\x8b"):
            with temporary_folder() as folder, gzip.GzipFile(fileobj=raw) as inside:
                copy(inside, folder / "table", name, max_unpacked(path, limit))
                yield folder / "table"
            return
    for mark, kind in _FORMATS.items():
        if start.startswith(mark):
            raise InvalidInput(f"{name} is compressed with {kind}; only gzip and zip are supported: unpack it")
    yield path


def extract(archive: Path, names: Collection[str], folder: Path, limit: int | None = None) -> dict[str, str]:
    """Extract the first member of a zip file with each of these file names; return their names in messages."""
    extracted: dict[str, str] = {}
    with open_zip(archive) as bundle:
        for member in bundle.infolist():
            name = PurePosixPath(member.filename).name
            if name in names and name not in extracted:
                extracted[name] = f"{archive.name}:{member.filename}"
                if member.flag_bits & 1:
                    raise InvalidInput(
                        f"{extracted[name]} is encrypted; unpack it with its password, and name the file"
                    )
                with bundle.open(member) as inside:
                    copy(inside, folder / name, extracted[name], max_unpacked(archive, limit))
    return extracted


def check_archive(path: Path, name: str, limit: int | None) -> None:
    """Raise if a zip-based file, such as a workbook, is invalid, encrypted or above the limit."""
    max_size = max_unpacked(path, limit)
    with open_zip(path) as bundle:
        if any(member.flag_bits & 1 for member in bundle.infolist()):
            raise InvalidInput(f"{name} is encrypted; save it without a password")
        size = sum(member.file_size for member in bundle.infolist())
    if size > max_size:
        raise InvalidInput(f"{name} unpacks to {size:,} bytes; the limit is {max_size:,}: {_RAISE}")


@contextlib.contextmanager
def open_zip(archive: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file; all errors of reading it become `InvalidInput`."""
    try:
        with zipfile.ZipFile(archive) as bundle:
            yield bundle
    except InvalidInput:
        raise
    except (zipfile.BadZipFile, EOFError, zlib.error, RuntimeError, ValueError, OSError) as error:
        raise InvalidInput(f"cannot unpack {archive}: {error}; download or create it again") from None


@contextlib.contextmanager
def temporary_folder(inside: Path | None = None) -> Iterator[Path]:
    """Yield a new folder, deleted on exit, in `inside` or in the folder for temporary files."""
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(owned_folder(inside or Path(tempfile.gettempdir())))
        except OSError as error:
            remedy = "set TMPDIR to another folder" if inside is None else f"name an existing folder, not {inside}"
            raise InvalidInput(f"cannot create temporary files: {reason(error, remedy)}") from None
        yield folder


def copy(source: IO[bytes] | gzip.GzipFile, target: Path, name: str, most: int) -> None:
    """Copy a decompressed stream of at most `most` bytes to a file."""
    done = 0
    remedy = "choose another folder (TMPDIR for temporary files)"
    with space_for(name, target.parent.parent, remedy), target.open("wb") as out:
        while chunk := source.read(_CHUNK):
            done += len(chunk)
            if done > most:
                raise InvalidInput(f"{name} unpacks to more than the limit of {most:,} bytes; {_RAISE}")
            out.write(chunk)
