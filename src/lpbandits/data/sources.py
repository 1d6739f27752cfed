"""Where ratings come from, and in which form: tables, workbooks, rankings, MovieLens folders, frames in memory."""

import bisect
import contextlib
import csv
import glob
import importlib.util
import itertools
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import polars as pl

from lpbandits import validate
from lpbandits.data.columns import check_width
from lpbandits.data.excel import check_workbook
from lpbandits.data.frames import is_pandas
from lpbandits.data.parquet_files import (
    AGAIN,
    Part,
    as_files,
    below,
    checked_part,
    checked_parts,
    damaged,
    in_folder,
    several,
)
from lpbandits.errors import InvalidInput, reason
from lpbandits.io.compressed import LONGEST_LINE, Limit, check_lines, extract, open_zip, plain, temporary_folder
from lpbandits.io.parquet import size_of
from lpbandits.io.paths import as_path

MEMBERS = ("ratings.csv", "ratings.csv.gz", "ratings.dat", "ratings.parquet", "u.data")
"""What MovieLens (and we) call the ratings inside a folder or zip."""

NO_HEADER = ("userId", "movieId", "rating")
"""The columns of the MovieLens files that have no header line."""

PREFLIB = (".soc", ".soi", ".toc", ".toi")
"""How the names of PrefLib's files of rankings end."""

Kind = Literal["text", "parquet", "excel", "preflib", "frame"]

UNREADABLE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True)
class Source:
    """One table of ratings: where it is, what to call it, and its form."""

    path: Path
    name: str
    kind: Kind = "text"
    separator: str = ","
    columns: tuple[str, ...] | None = None
    """Given when the file has no header line."""
    most: int = 20 * 10**9
    """Bytes that its labels may take: as many as the file may unpack to."""
    step: int = 1
    """Fields from one column to the next: 2 for the '::' of MovieLens, read as ':' with an empty field between."""
    frame: Any = None
    """A frame in memory, of polars or pandas, instead of a path."""
    parts: tuple[Part, ...] = ()
    """The Parquet files of a log, one or several, each with a part of the rows."""

    def place(self, index: int) -> str:
        """Return how a user finds data row `index`.

        >>> Source(Path("a.csv"), "a.csv").place(0)
        'a.csv, line 2'
        """
        if self.parts:
            ends = list(itertools.accumulate(part.rows for part in self.parts))
            part = self.parts[at := bisect.bisect_right(ends, index)]
            return f"{part.name}, row {index - ends[at] + part.rows + 1}"
        if self.kind == "frame":
            return f"{self.name}, row {index + 1}"
        word = "row" if self.kind == "excel" else "line"
        return f"{self.name}, {word} {index + (1 if self.columns or self.kind == 'preflib' else 2)}"

    @property
    def faults(self) -> tuple[type[BaseException], ...]:
        """What reading it may raise: errors of polars, and of functions of the user's that a lazy frame may hold."""
        own = validate.CONVERSION_ERRORS if isinstance(self.frame, pl.LazyFrame) else ()
        return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, *own

    @property
    def remedy(self) -> str:
        """What to do about a table that a library cannot read."""
        return "mend the frame" if self.kind == "frame" else AGAIN


@contextlib.contextmanager
def open_source(
    given: Any,
    limit: Limit = Limit(),  # noqa: B008 - it never changes
    *,
    narrow: bool = False,
) -> Iterator[Source]:
    """Give the table that a path or a frame stands for; what is packed is unpacked to a temporary file meanwhile.

    A `narrow` table may have a single column.
    """
    if isinstance(given, pl.DataFrame | pl.LazyFrame) or is_pandas(given):
        yield Source(Path(), "the frame", kind="frame", frame=given)
        return
    name, paths = _named_files(given)
    if paths:
        parts = checked_parts(paths, limit)
        most = limit.of(sum(path.stat().st_size for path in paths))
        yield Source(paths[0], name, kind="parquet", most=most, parts=parts)
        return
    with _open_path(given, limit, narrow) as source:
        yield source


def _named_files(given: Any) -> tuple[str, list[Path]]:
    """Return the Parquet files that a list, a folder or a pattern stands for, and a name for all; none for one path."""
    if isinstance(given, list | tuple) and given and all(isinstance(one, str | os.PathLike) for one in given):
        return "the list of files", as_files([as_path(one) for one in given], "the list of files")
    if not isinstance(given, str | os.PathLike):
        raise InvalidInput(
            "ratings come from a file, a list of Parquet files or a frame of polars or pandas, not from a "
            f"{type(given).__name__}; for arrays use Ratings.from_arrays(…) or Ratings.from_matrix(…)"
        )
    place = as_path(given)
    member = _member(place)
    if member is None:
        return str(place), several(place)
    with contextlib.suppress(OSError):  # a folder that may not be listed
        for path in in_folder(place):
            if not path.exists() or not path.samefile(member):
                raise InvalidInput(
                    f"{place} holds {member.name}, and beside it {path.name}: name the one that is the log, or all "
                    f"that are Parquet: '{glob.escape(str(place))}/*.parquet'"
                )
    return str(place), []


def _member(folder: Path) -> Path | None:
    """Return the file of ratings in a MovieLens folder, if it is one."""
    with contextlib.suppress(OSError, ValueError):  # a name too long, or with a zero byte: said when it is read
        return next((folder / name for name in MEMBERS if (folder / name).is_file()), None)
    return None


@contextlib.contextmanager
def _open_path(path: str | os.PathLike[str], limit: Limit, narrow: bool) -> Iterator[Source]:
    """Find the table in a file, a MovieLens folder or a zip."""
    place = as_path(path)
    try:
        is_folder, is_file = place.is_dir(), place.is_file()
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise InvalidInput(f"cannot read {str(path)[:80]!r}: {reason(error)}") from None
    if is_folder:
        found = _member(place)
        if found is None:
            deeper = below(place)
            remedy = "name the file itself" if deeper is None else f"for those of the folders in it give '{deeper}'"
            raise InvalidInput(f"{place} holds no ratings: none of {', '.join(MEMBERS)}, nor *.parquet; {remedy}")
        place, name = found, str(found)
    elif not is_file:
        what = "is not a file that can be read twice" if place.exists() else "does not exist"
        raise InvalidInput(f"{place} {what}; give a CSV, TSV, Parquet, Excel or zip file, or a MovieLens folder")
    else:
        name = place.name
    with contextlib.ExitStack() as open_:
        if place.suffix.lower() == ".zip":
            place, name = _unpack(place, open_.enter_context(temporary_folder()), limit)
        try:
            source = open_.enter_context(_described(place, name, limit, narrow))
        except UNREADABLE as error:
            raise InvalidInput(f"cannot read {name}: {error}; {AGAIN}") from None
        yield source


def rows_in(given: Any) -> int:
    """Return about how many ratings there are in files that may hold very many; 0 for everything else.

    Parquet says it. Of text it is a guess: a short line has 16 bytes, and packed, four.
    """
    if isinstance(given, pl.DataFrame | pl.LazyFrame) or is_pandas(given):
        return 0
    _, paths = _named_files(given)
    try:
        if paths:
            return sum(size_of(path).rows for path in paths)
        place = _member(as_path(given)) or as_path(given)
        if place.suffix.lower() == ".parquet":
            return size_of(place).rows
        return place.stat().st_size // (4 if place.suffix.lower() in (".gz", ".zip") else 16) if place.is_file() else 0
    except (OSError, ValueError):
        return 0  # whoever reads it says what is wrong


def _unpack(archive: Path, folder: Path, limit: Limit) -> tuple[Path, str]:
    """Unpack the ratings of a zip file to `folder`; return where they are and what to call them."""
    with open_zip(archive) as bundle:
        for wanted in MEMBERS:
            for member in bundle.infolist():
                if PurePosixPath(member.filename).name == wanted:
                    extract(archive, member, bundle, folder / wanted, limit)
                    return folder / wanted, f"{archive.name}:{member.filename}"
    raise InvalidInput(f"{archive} holds no ratings: none of {', '.join(MEMBERS)}; unpack it and name the file")


@contextlib.contextmanager
def _described(path: Path, name: str, limit: Limit, narrow: bool) -> Iterator[Source]:
    """Give the form of one file, from its name and first line."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-2:] == [".parquet", ".gz"]:
        raise InvalidInput(f"{name} is gzipped Parquet, which is compressed already; unpack it first: gunzip {name}")
    if ".parquet" in suffixes[-1:]:
        part = checked_part(path, name, limit)
        yield Source(path, name, kind="parquet", most=limit.of(path.stat().st_size), parts=(part,))
        return
    if ".xlsx" in suffixes[-1:]:
        if importlib.util.find_spec("fastexcel") is None:
            raise InvalidInput(
                f"{name} is a workbook, for which a reader is missing: pip install fastexcel, or save it as CSV"
            )
        check_workbook(path, name, limit)
        yield Source(path, name, kind="excel", most=limit.of(path.stat().st_size))
        return
    with plain(path, name, limit) as text:
        ranked = [suffix for suffix in suffixes[-2:] if suffix != ".gz"][-1:]
        yield _of_text(text, name, path, preflib=bool(ranked) and ranked[0] in PREFLIB, narrow=narrow)


def _of_text(text: Path, name: str, path: Path, *, preflib: bool, narrow: bool) -> Source:
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
            f"{name} is not a table of ratings: its first line {line[:60]!r} has no comma, tab, semicolon or bar; "
            "give a CSV, TSV or Parquet file with one rating per row"
        )
    return Source(text, name, separator=separator)


def find_fault(source: Source) -> str | None:
    """Return where and why a text, or one of several files, cannot be read, by going through it slowly; or None."""
    if source.kind == "text":
        return _fault_of_text(source)
    return damaged(source.parts, source.faults) if len(source.parts) > 1 else None


def _fault_of_text(source: Source) -> str | None:
    line, width = 0, 0
    try:
        with source.path.open("rb") as raw:
            for line, content in enumerate(raw, start=1):
                text = content.decode("utf-8")
                fields = len(next(csv.reader([text], delimiter=source.separator), []))
                width = width or fields
                if fields > width:
                    return (
                        f"{source.name}, line {line}: it has {fields} fields, but the first line has {width}; "
                        "correct or remove the line" + _DECIMALS.get(source.separator, "")
                    )
    except UnicodeDecodeError:
        return f"{source.name}, line {line}: it is not UTF-8 text; save the file as UTF-8"
    except csv.Error as error:
        return f"{source.name}, line {line}: {error}; correct or remove the line"
    except UNREADABLE as error:
        return f"cannot read {source.name} beyond line {line}: {error}; {AGAIN}"
    return None


_DECIMALS = {",": ", or separate columns by semicolons if numbers have a decimal comma"}


def _first_line(path: Path, name: str) -> str:
    with path.open("rb") as raw:
        line = raw.readline(LONGEST_LINE)
    if not line.strip():
        raise InvalidInput(f"{name} is empty or starts with a blank line; its first line must name the columns")
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save it as UTF-8 CSV or as Parquet") from None
