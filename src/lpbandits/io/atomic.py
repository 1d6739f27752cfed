"""Atomic writes: a file is written in a temporary folder next to its target, flushed to disk, and then moved.

After a full disk, a kill or a power cut either the old file exists or the new one is complete. A folder of files is
written in a temporary folder inside it and moved at the end, its manifest last: a folder without a manifest is
incomplete.
"""

import contextlib
import errno
import hashlib
import io
import json
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpbandits.errors import InvalidInput, reason
from lpbandits.io.paths import as_path
from lpbandits.io.scratch import LOCK, owned_folder

if TYPE_CHECKING:
    import polars as pl

MANIFEST = "manifest.json"
TABLES = (".parquet", ".csv")
"""Suffixes of table files; the suffix selects the format."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REMEDIES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free some space or choose another folder"),
    errno.EFBIG: "choose a file system that takes larger files",
    errno.ENOENT: "create its folder first",
    errno.EISDIR: "it is a folder: name a file in it, such as model.json",
}


def write_text(path: str | Path, text: str) -> None:
    """Write a text file in UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: str | Path, content: Any) -> None:
    """Write an indented JSON file."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_table(path: str | Path, table: "pl.DataFrame") -> None:
    """Write a table as Parquet."""
    write_bytes(path, as_parquet(table))


def write_part(path: Path, table: "pl.DataFrame") -> None:
    """Write a part of a table as Parquet to a temporary folder."""
    with space_for("parts of the table", path.parent.parent, "set TMPDIR to another folder"):
        path.write_bytes(as_parquet(table))


def write_stream(path: str | Path, table: "pl.LazyFrame", *, escape_formulas: bool = False) -> None:
    """Write a lazy table as CSV or Parquet, by the suffix of the file.

    With `escape_formulas`, CSV text that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    import polars as pl  # noqa: PLC0415 - slow to import, and not needed to write JSON

    with atomic_file(path) as part, part.open("wb") as raw:  # polars cannot open a name that is not UTF-8
        if part.suffix.lower() == ".csv":
            if escape_formulas:
                table = table.with_columns(pl.col(pl.String).str.replace(r"^[=+\-@\t\r]", "'$0"))
            table.sink_csv(raw)
        else:
            table.sink_parquet(raw)


def as_parquet(table: "pl.DataFrame") -> bytes:
    """Return a table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with atomic_file(path) as part:
        part.write_bytes(content)


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to, flushed and moved to `path` on exit; a device or a pipe is written directly."""
    named = as_path(path)
    with _writing(named):
        mode = _mode(named)
        if mode is not None and not stat.S_ISREG(mode):
            yield named
            return
        target = Path(os.path.realpath(named))
        with owned_folder(target.parent) as folder:
            part = folder / target.name
            yield part
            _flush(part)
            if mode is not None:
                part.chmod(stat.S_IMODE(mode))
            part.replace(target)
        _flush(target.parent)


def check_writable(path: str | Path) -> None:
    """Raise if a file cannot be written, before the long work starts."""
    place = as_path(path)
    with _writing(place):
        if _mode(place) is None and not os.access(place.parent, os.W_OK):
            raise _os_error(errno.EACCES if place.parent.is_dir() else errno.ENOENT)


def check_table_path(path: str | Path, name: str) -> Path:
    """Return the path of a table to write, if it is writable and its suffix names a format."""
    place = as_path(path)
    if place.suffix.lower() not in TABLES:
        raise InvalidInput(f"{name} must end in {' or '.join(TABLES)}, got {str(place)!r}; rename it")
    check_writable(place)
    return place


def _mode(place: Path) -> int | None:
    """Return the mode of an existing file, or None; a folder, or a file without write permission, raises."""
    try:
        mode = place.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode) or not os.access(place, os.W_OK):
        raise _os_error(errno.EISDIR if stat.S_ISDIR(mode) else errno.EACCES)
    return mode


def _flush(path: Path) -> None:
    """Flush a file to disk, or the entries of a folder if the system can."""
    folder = path.is_dir()
    with contextlib.suppress(OSError) if folder else contextlib.nullcontext():
        handle = os.open(path, os.O_RDONLY if folder else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def as_folder(path: str | Path) -> Path:
    """Return a writable folder, created if it does not exist."""
    folder = as_path(path)
    with _writing(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise InvalidInput(f"cannot write to {folder}: it is a file, not a folder; choose another name") from None
        if not os.access(folder, os.W_OK):
            raise _os_error(errno.EACCES)
    return folder


@contextlib.contextmanager
def atomic_folder(path: str | Path, manifest: Mapping[str, Any], *, replaces: Collection[str] = ()) -> Iterator[Path]:
    """Yield an empty folder; on exit its files are moved to `path` with a manifest that lists them.

    The manifest holds the given mapping, with changes made in the `with` block, and the SHA-256 of every file. If an
    error occurs before all files are written, the files in `path` are unchanged. Otherwise the old manifest is deleted,
    the files are moved, and the new manifest follows. Files with other names are kept, except those in `replaces`.
    """
    out, part = as_folder(path), Path()
    try:
        with _writing(out), owned_folder(out) as part:
            yield part
            names = sorted(file.name for file in part.iterdir() if file.name != LOCK)
            write_json(part / MANIFEST, {**manifest, "files": {name: sha256(part / name) for name in names}})
            for name in names:
                _flush(part / name)  # the caller may have written it without flushing
                check_writable(out / name)
            for name in (MANIFEST, *replaces):
                (out / name).unlink(missing_ok=True)
            for name in (*names, MANIFEST):
                (part / name).replace(out / name)
            _flush(out)
    except InvalidInput as error:
        raise InvalidInput(str(error).replace(str(part), str(out))) from None


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Convert errors of writing to a path to `InvalidInput` with the remedy."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "choose another folder")
        raise InvalidInput(f"cannot write {path}: {reason(error, remedy)}") from None


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@contextlib.contextmanager
def space_for(what: str, folder: Path, remedy: str) -> Iterator[None]:
    """Convert the error of a full disk to `InvalidInput`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise InvalidInput(f"no space left for {what} in {folder}; free some space, or {remedy}") from None
