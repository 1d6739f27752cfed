"""Writing: a file is written beside its place, brought to the disk, and only then put there.

Whatever happens on the way (a full disk, a kill, a power cut), the old file is still there or the new one is whole. A
folder of files is written in a folder within it and moved at the end, its manifest last: a folder without a manifest is
unfinished.
"""

import contextlib
import errno
import hashlib
import io
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from lpbandits.errors import InvalidInput, reason
from lpbandits.io.paths import as_path
from lpbandits.io.space import space_for

MANIFEST = "manifest.json"
TABLES = (".parquet", ".csv")
"""What a table is written as, by what the file is called."""

UNFINISHED = ".lpb-"
"""How the names of unfinished files and folders begin; what a killed process left of them can be deleted."""

_REMEDIES = {
    errno.ENOSPC: "free some space or choose another place",
    errno.EDQUOT: "free some space or choose another place",
    errno.EFBIG: "choose a place that takes larger files",
    errno.ENOENT: "make its folder first",
    errno.EISDIR: "it is a folder: name a file in it",
}


class Table(Protocol):
    """A table that can write itself as Parquet and CSV, as those of polars can."""

    def write_parquet(self, file: IO[bytes], /) -> None:
        """Write the table to an open file."""


class Stream(Protocol):
    """A table that writes itself as it is worked out, as those of polars that are lazy do."""

    def sink_parquet(self, path: Path, /) -> Any:
        """Write the table as Parquet."""

    def sink_csv(self, path: Path, /) -> Any:
        """Write the table as CSV."""


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: str | Path, content: Any) -> None:
    """Write a JSON file for people to read."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_table(path: str | Path, table: Table) -> None:
    """Write a table as Parquet."""
    write_bytes(path, as_parquet(table))


def write_part(path: Path, table: Table) -> None:
    """Write a part of a table as Parquet to a temporary folder."""
    with space_for("the table in parts", path.parent.parent, "set TMPDIR to another folder"):
        path.write_bytes(as_parquet(table))


def check_table_path(path: str | Path, name: str) -> Path:
    """Return where a table is to be written to, if it can be: what the file is called says in what form."""
    place = as_path(path)
    if place.suffix.lower() not in TABLES:
        raise InvalidInput(f"{name} is {str(place)!r}; give a name that ends in {' or '.join(TABLES)}")
    check_writable(place)
    return place


def write_stream(path: str | Path, table: Stream) -> None:
    """Write a table as it is worked out: as CSV if its name ends so, otherwise as Parquet."""
    with atomic_file(path) as part:
        if part.suffix.lower() == ".csv":
            table.sink_csv(part)
        else:
            table.sink_parquet(part)


def as_parquet(table: Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file, whole or not at all; a place that cannot be written to is an `InvalidInput`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(Path(folder) / "a.txt", b"tea"); write_bytes(Path(folder) / "a.txt", b"jam")
    ...     [(file.name, file.read_bytes()) for file in Path(folder).iterdir()]
    [('a.txt', b'jam')]
    """
    named = as_path(path)
    try:
        mode = _mode(named)
        if mode is not None and not stat.S_ISREG(mode):
            named.write_bytes(content)  # a device or a pipe, which must not be replaced; a folder refuses
            return
        place = Path(os.path.realpath(named))
        part = place.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
        try:
            _write(part, content, mode)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        _to_disk(place.parent)
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise cannot_write(named, error) from None


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Give a place beside a file's own, to be written to by others; at the end it is brought to the disk and put there.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("tea")
    ...     (Path(folder) / "a.txt").read_text()
    'tea'
    """
    named = as_path(path)
    try:
        mode = _mode(named)
        if mode is not None and not stat.S_ISREG(mode):
            raise InvalidInput(f"cannot write {named}: it is there and not a file; choose another name")
        place = Path(os.path.realpath(named))
        part = place.with_name(f"{UNFINISHED}{secrets.token_hex(8)}{place.suffix}")
        try:
            yield part
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            _to_disk(part)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
        _to_disk(place.parent)
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:
        raise cannot_write(named, error) from None


def check_writable(path: str | Path) -> None:
    """Refuse a place for a file before the long work, not after it."""
    place = as_path(path)
    try:
        if place.is_dir():
            raise InvalidInput(f"cannot write {place}: it is a folder; name a file, such as {place / 'model.json'}")
        if not place.parent.is_dir():
            raise InvalidInput(f"cannot write {place}: there is no folder {place.parent}; make it first")
        if not os.access(place if place.exists() else place.parent, os.W_OK):
            raise InvalidInput(f"cannot write {place}: permission denied; choose another file")
    except OSError as error:  # a name too long
        raise cannot_write(place, error) from None


def _mode(place: Path) -> int | None:
    """Return the mode of what is there, or None; a file that may not be written is not to be replaced either."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return None
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return mode


def _write(part: Path, content: bytes, mode: int | None) -> None:
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as raw:  # noqa: PTH123 - never another's
        raw.write(content)
        raw.flush()
        os.fsync(raw.fileno())
        if mode is not None and hasattr(os, "fchmod"):
            os.fchmod(raw.fileno(), stat.S_IMODE(mode))


def _to_disk(path: Path) -> None:
    """Bring a file, or a folder's names, to the disk, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def as_folder(path: str | Path) -> Path:
    """Return a folder to write to, made if it is not there."""
    folder = as_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInput(f"cannot write to {folder}: it is a file, not a folder; choose another name") from None
    except (OSError, ValueError) as error:
        raise cannot_write(folder, error) from None
    if not os.access(folder, os.W_OK):
        raise InvalidInput(f"cannot write to {folder}: permission denied; choose another folder")
    return folder


@contextlib.contextmanager
def atomic_folder(path: str | Path, manifest: Mapping[str, Any]) -> Iterator[Path]:
    """Give an empty folder to fill; at the end its files appear in `path` together, with a manifest that names them.

    The manifest is what is given, as it stands at the end, and `files`: the SHA-256 of every file. If anything fails
    before all are written, the files that were in `path` are as they were; then the old manifest goes, the files move,
    and the new one follows. Files of other names stay.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with atomic_folder(Path(home) / "out", {"format": "example"}) as folder:
    ...         write_text(folder / "a.txt", "tea")
    ...     sorted(file.name for file in (Path(home) / "out").iterdir())
    ['a.txt', 'manifest.json']
    """
    out = as_folder(path)
    part = out / f"{UNFINISHED}{secrets.token_hex(8)}"
    try:
        part.mkdir()
        yield part
        names = sorted(file.name for file in part.iterdir())
        hashes = {name: sha256(part / name) for name in names}
        write_json(part / MANIFEST, {**manifest, "files": hashes})
        for name in names:
            _to_disk(part / name)  # also what others wrote
        _check_replaceable(out, (*names, MANIFEST))
        (out / MANIFEST).unlink(missing_ok=True)
        for name in (*names, MANIFEST):
            (part / name).replace(out / name)
        _to_disk(out)
    except OSError as error:
        raise cannot_write(out, error) from None
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(str(part), str(out))) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check_replaceable(folder: Path, names: Sequence[str]) -> None:
    """Refuse, before anything is moved, names that stand for something else than a file of ours to replace."""
    for name in names:
        mode = _mode(folder / name)
        if mode is not None and not stat.S_ISREG(mode):
            raise InvalidInput(f"cannot write {folder / name}: it is there and not a file; move it away")


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def cannot_write(path: str | Path, error: Exception) -> InvalidInput:
    """Return the error for a place that cannot be written to, with the remedy."""
    number = getattr(error, "errno", None)
    remedy = _REMEDIES.get(number or 0, "choose another place")
    return InvalidInput(f"cannot write {path}: {reason(error, remedy)}")
