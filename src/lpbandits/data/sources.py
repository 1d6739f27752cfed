"""`Source`: where a table of ratings is stored and in which format."""

import bisect
import contextlib
import glob
import importlib.util
import itertools
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol

import polars as pl

from lpbandits.data.columns import check_width
from lpbandits.data.parquet import (
    DAMAGED,
    ParquetFile,
    check_files,
    find_parquet,
    open_parquet,
    parquet_in,
    pattern_below,
    short_names,
)
from lpbandits.errors import InvalidInput, reason
from lpbandits.io.compressed import (
    MAX_LINE_BYTES,
    Limit,
    check_archive,
    check_lines,
    decompressed,
    extract,
    open_zip,
    temporary_folder,
)
from lpbandits.io.paths import as_path

MEMBERS = ("ratings.csv", "ratings.csv.gz", "ratings.dat", "ratings.parquet", "u.data")
"""Names of the ratings in a MovieLens folder or zip."""

NO_HEADER = ("userId", "movieId", "rating")
"""Columns of the MovieLens files without a header line."""

PREFLIB = (".soc", ".soi", ".toc", ".toi")
"""Suffixes of PrefLib's files of rankings."""

Kind = Literal["text", "parquet", "excel", "preflib", "frame"]

READ_ERRORS = (OSError, EOFError, zlib.error)


class PandasFrame(Protocol):
    """The attributes of a pandas frame that are used."""

    columns: Any
    index: Any
    iloc: Any


RatingsSource = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame | PandasFrame
"""A path, several paths of Parquet files, or a frame."""


@dataclass(frozen=True)
class Source:
    """A table of ratings: its location, its name in messages and its format."""

    path: Path
    name: str
    kind: Kind = "text"
    separator: str = ","
    columns: tuple[str, ...] | None = None
    """Column names of a file without a header line."""
    step: int = 1
    """Fields per column: 2 for the '::' of MovieLens, which is read as ':' with an empty field between."""
    frame: Any = None
    """A polars or pandas frame, instead of a path."""
    files: tuple[ParquetFile, ...] = ()
    """Parquet files, each with a part of the rows."""

    def place(self, index: int) -> str:
        """Return the location of data row `index` for a message.

        >>> Source(Path("a.csv"), "a.csv").place(0)
        'a.csv, line 2'
        """
        if self.files:
            ends = list(itertools.accumulate(file.rows for file in self.files))
            file = self.files[at := bisect.bisect_right(ends, index)]
            return f"{file.name}, row {index - ends[at] + file.rows + 1}"
        if self.kind == "frame":
            return f"{self.name}, row {index + 1}"
        word = "row" if self.kind == "excel" else "line"
        return f"{self.name}, {word} {index + (1 if self.columns or self.kind == 'preflib' else 2)}"

    @property
    def estimated_rows(self) -> int:
        """Estimated number of ratings of a file: exact for Parquet, a rating per 16 bytes of text; 0 for a frame."""
        if self.files:
            return sum(file.rows for file in self.files)
        return 0 if self.kind == "frame" else self.path.stat().st_size // 16


def is_pandas(value: object) -> bool:
    """Return whether a value is a pandas frame, without importing pandas.

    >>> is_pandas({"person": [1]})
    False
    """
    bases = type(value).__mro__
    return any(f"{base.__module__}".startswith("pandas") and base.__name__ == "DataFrame" for base in bases)


@contextlib.contextmanager
def open_source(
    origin: Any,
    limit: Limit = Limit(),  # noqa: B008 - immutable
    *,
    narrow: bool = False,
) -> Iterator[Source]:
    """Yield the table of a path or a frame; a compressed file is decompressed to a temporary file.

    A `narrow` table may have a single column.
    """
    if isinstance(origin, pl.DataFrame | pl.LazyFrame) or is_pandas(origin):
        yield Source(Path(), "the frame", kind="frame", frame=origin)
        return
    name, paths = _parquet_files(origin)
    if paths:
        files = tuple(map(open_parquet, paths, short_names(paths)))
        yield Source(paths[0], name, kind="parquet", files=files)
        return
    with contextlib.ExitStack() as stack:
        place, name = _find_file(origin)
        if place.suffix.lower() == ".zip":
            place, name = _unpack(place, stack.enter_context(temporary_folder()), limit)
        try:
            source = stack.enter_context(_open_file(place, name, limit, narrow))
        except READ_ERRORS as error:
            raise InvalidInput(f"cannot read {name}: {error}; {DAMAGED}") from None
        yield source


def _parquet_files(origin: Any) -> tuple[str, list[Path]]:
    """Return the name and the Parquet files of a list, folder or pattern; no files for a single path."""
    if isinstance(origin, list | tuple) and origin and all(isinstance(path, str | os.PathLike) for path in origin):
        return "the list of files", check_files([as_path(path) for path in origin], "the list of files")
    if not isinstance(origin, str | os.PathLike):
        raise InvalidInput(
            f"source must be a path, a list of Parquet files or a polars or pandas frame, got {type(origin).__name__}; "
            "for arrays use Ratings.from_arrays(…) or Ratings.from_matrix(…)"
        )
    place = as_path(origin)
    member = _member(place)
    if member is None:
        return str(place), find_parquet(place)
    with contextlib.suppress(OSError):  # a folder without permission
        for path in parquet_in(place):
            if not path.exists() or not path.samefile(member):
                raise InvalidInput(
                    f"{place} holds {member.name} and also {path.name}; name the file of the log, or all Parquet "
                    f"files: '{glob.escape(str(place))}/*.parquet'"
                )
    return str(place), []


def _member(folder: Path) -> Path | None:
    """Return the ratings of a MovieLens folder."""
    with contextlib.suppress(OSError, ValueError):  # an invalid name: reported when it is read
        return next((folder / name for name in MEMBERS if (folder / name).is_file()), None)
    return None


def _find_file(origin: str | os.PathLike[str]) -> tuple[Path, str]:
    """Return the file of a path or MovieLens folder, and its name in messages."""
    place = as_path(origin)
    try:
        is_folder, is_file = place.is_dir(), place.is_file()
    except (OSError, ValueError) as error:  # a name that is too long, or has a null byte
        raise InvalidInput(f"cannot read {str(origin)[:80]!r}: {reason(error)}") from None
    if is_file:
        return place, place.name
    if not is_folder:
        what = "is not a regular file" if place.exists() else "does not exist"
        raise InvalidInput(f"{place} {what}; give a CSV, TSV, Parquet, Excel or zip file, or a MovieLens folder")
    member = _member(place)
    if member is None:
        pattern = pattern_below(place)
        remedy = "name the file itself" if pattern is None else f"for the files in its subfolders give '{pattern}'"
        raise InvalidInput(f"{place} holds no ratings: none of {', '.join(MEMBERS)}, nor *.parquet; {remedy}")
    return member, str(member)


def _unpack(archive: Path, folder: Path, limit: Limit) -> tuple[Path, str]:
    """Extract the ratings of a zip file; return their path and their name in messages."""
    with open_zip(archive) as bundle:
        for name in MEMBERS:
            for member in bundle.infolist():
                if PurePosixPath(member.filename).name == name:
                    extract(archive, member, bundle, folder / name, limit)
                    return folder / name, f"{archive.name}:{member.filename}"
    raise InvalidInput(f"{archive} holds no ratings: none of {', '.join(MEMBERS)}; unpack it and name the file")


@contextlib.contextmanager
def _open_file(path: Path, name: str, limit: Limit, narrow: bool) -> Iterator[Source]:
    """Yield the source of one file; its format follows from its name and first line."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-2:] == [".parquet", ".gz"]:
        raise InvalidInput(f"{name} is gzipped Parquet; Parquet is compressed already, so unpack it: gunzip {name}")
    if suffixes[-1:] == [".parquet"]:
        yield Source(path, name, kind="parquet", files=(open_parquet(path, name),))
    elif suffixes[-1:] == [".xlsx"]:
        if importlib.util.find_spec("fastexcel") is None:
            raise InvalidInput(f"reading the workbook {name} needs fastexcel: pip install fastexcel, or save it as CSV")
        check_archive(path, name, limit)
        yield Source(path, name, kind="excel")
    else:
        preflib = [suffix for suffix in suffixes[-2:] if suffix != ".gz"][-1:]
        with decompressed(path, name, limit) as text:
            yield _open_text(text, name, path, preflib=bool(preflib) and preflib[0] in PREFLIB, narrow=narrow)


def _open_text(text: Path, name: str, path: Path, *, preflib: bool, narrow: bool) -> Source:
    line = _first_line(text, name)
    check_lines(text, name)
    if preflib:
        return Source(text, name, kind="preflib")
    check_width(max(line.count(mark) for mark in ",\t;|:") + 1, name)
    if path.name == "u.data":
        return Source(text, name, separator="\t", columns=NO_HEADER)
    if "::" in line and path.suffix.lower() == ".dat":
        return Source(text, name, separator=":", columns=NO_HEADER, step=2)
    separator = max(",\t;|", key=line.count)
    if not line.count(separator) and not narrow:
        raise InvalidInput(
            f"{name} is not a table: its first line {line[:60]!r} has no comma, tab, semicolon or bar; give a CSV, TSV "
            "or Parquet file with one rating per row"
        )
    return Source(text, name, separator=separator)


def _first_line(path: Path, name: str) -> str:
    with path.open("rb") as raw:
        line = raw.readline(MAX_LINE_BYTES)
    if not line.strip():
        raise InvalidInput(f"{name} is empty or starts with a blank line; its first line must name the columns")
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save it as UTF-8 CSV or as Parquet") from None
