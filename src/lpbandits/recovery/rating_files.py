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

from lpbandits.errors import InvalidInput, reason
from lpbandits.files.excel import check_workbook
from lpbandits.files.parquet import Size, size_of
from lpbandits.files.places import as_path
from lpbandits.files.unpacking import LONGEST_LINE, Limit, check_lines, extract, plain, temporary, zipped
from lpbandits.recovery.frames import is_pandas
from lpbandits.validate import ODD

MEMBERS = ("ratings.csv", "ratings.csv.gz", "ratings.dat", "ratings.parquet", "u.data")
"""What MovieLens (and we) call the ratings inside a folder or zip."""

NO_HEADER = ("userId", "movieId", "rating")
"""The columns of the MovieLens files that have no header line."""

MOST_COLUMNS = 10_000
"""Columns of a table that is read."""

PREFLIB = (".soc", ".soi", ".toc", ".toi")
"""How the names of PrefLib's files of rankings end."""

Kind = Literal["text", "parquet", "excel", "preflib", "frame"]

UNREADABLE = (OSError, EOFError, zlib.error)
AGAIN = "it may be cut short or damaged: copy or download it again"


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
    paths: tuple[Path, ...] = ()
    """All files of a log in several, each with a part of the rows."""
    rows: tuple[int, ...] = ()
    """How many rows each Parquet file has."""

    def place(self, index: int) -> str:
        """Return how a user finds data row `index`.

        >>> Source(Path("a.csv"), "a.csv").place(0)
        'a.csv, line 2'
        """
        if len(self.paths) > 1:
            ends = list(itertools.accumulate(self.rows))
            file = bisect.bisect_right(ends, index)
            return f"{self.paths[file].name}, row {index - ends[file] + self.rows[file] + 1}"
        if self.kind in ("parquet", "frame"):
            return f"{self.name}, row {index + 1}"
        word = "row" if self.kind == "excel" else "line"
        return f"{self.name}, {word} {index + (1 if self.columns or self.kind == 'preflib' else 2)}"

    @property
    def faults(self) -> tuple[type[BaseException], ...]:
        """What reading it may raise: errors of polars, and of functions of the user's that a lazy frame may hold."""
        own = ODD if isinstance(self.frame, pl.LazyFrame) else ()
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
    if not isinstance(given, str | os.PathLike):
        raise InvalidInput(
            f"ratings come from a file or a frame of polars or pandas, not from a {type(given).__name__}; for arrays "
            "use Ratings.from_arrays(…) or Ratings.from_matrix(…)"
        )
    with _open_path(given, limit, narrow) as source:
        yield source


@contextlib.contextmanager
def _open_path(path: str | os.PathLike[str], limit: Limit, narrow: bool) -> Iterator[Source]:
    """Find the table in a file, folder or zip."""
    place = as_path(path)
    several = _several(place)
    if several:
        yield _of_several(several, str(place), limit)
        return
    try:
        is_folder, is_file = place.is_dir(), place.is_file()
    except (OSError, ValueError) as error:  # a name too long, or with a zero byte
        raise InvalidInput(f"cannot read {str(path)[:80]!r}: {reason(error)}") from None
    if is_folder:
        found = [place / name for name in MEMBERS if (place / name).is_file()]
        if not found:
            raise InvalidInput(f"{place} holds no ratings: none of {', '.join(MEMBERS)}; name the file itself")
        place, name = found[0], str(found[0])
    elif not is_file:
        what = "is not a file that can be read twice" if place.exists() else "does not exist"
        raise InvalidInput(f"{place} {what}; give a CSV, TSV, Parquet, Excel or zip file, or a MovieLens folder")
    else:
        name = place.name
    with contextlib.ExitStack() as open_:
        if place.suffix.lower() == ".zip":
            place, name = _unpack(place, open_.enter_context(temporary()), limit)
        try:
            source = open_.enter_context(_described(place, name, limit, narrow))
        except UNREADABLE as error:
            raise InvalidInput(f"cannot read {name}: {error}; {AGAIN}") from None
        yield source


def _several(place: Path) -> list[Path]:
    """Return the Parquet files that a pattern or a folder stands for; none if it is one file, or something else."""
    try:
        if place.is_dir():
            found = [] if any((place / name).is_file() for name in MEMBERS) else sorted(place.glob("*.parquet"))
            return [path for path in found if path.is_file()]
        if place.exists() or not glob.has_magic(str(place)):
            return []
        found = sorted(Path(name) for name in glob.iglob(str(place), recursive=True))  # noqa: PTH207 - a pattern of the user's
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot read {str(place)[:80]!r}: {reason(error)}") from None
    if not found:
        raise InvalidInput(
            f"no file matches {str(place)!r}; give a pattern of Parquet files, such as 'ratings/*.parquet'"
        )
    other = [path for path in found if path.suffix.lower() != ".parquet" or not path.is_file()]
    if other:
        raise InvalidInput(
            f"{str(place)!r} matches {other[0].name}, which is no Parquet file; of several files all must be Parquet"
        )
    return found


def _of_several(paths: list[Path], name: str, limit: Limit) -> Source:
    """Return the log that several Parquet files make up."""
    rows = tuple(_check_parquet(path, path.name, limit).rows for path in paths)
    most = limit.of(sum(path.stat().st_size for path in paths))
    return Source(paths[0], name, kind="parquet", most=most, paths=tuple(paths), rows=rows)


def rows_in(given: Any) -> int:
    """Return about how many ratings there are in files that may hold very many; 0 for everything else.

    Parquet says it. Of text it is a guess: a short line has 16 bytes, and packed, four.
    """
    if not isinstance(given, str | os.PathLike):
        return 0
    place = as_path(given)
    several = _several(place)
    try:
        if several or place.suffix.lower() == ".parquet":
            return sum(size_of(path).rows for path in several or [place])
        return place.stat().st_size // (4 if place.suffix.lower() in (".gz", ".zip") else 16) if place.is_file() else 0
    except (OSError, ValueError):
        return 0  # whoever reads it says what is wrong


def _unpack(archive: Path, folder: Path, limit: Limit) -> tuple[Path, str]:
    """Unpack the ratings of a zip file to `folder`; return where they are and what to call them."""
    with zipped(archive) as bundle:
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
        size = _check_parquet(path, name, limit)
        yield Source(path, name, kind="parquet", most=limit.of(path.stat().st_size), paths=(path,), rows=(size.rows,))
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


def check_width(columns: int, name: str) -> None:
    """Refuse a table with more columns than any log of ratings has."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(
            f"{name} has {columns:,} columns; at most {MOST_COLUMNS:,} are read: give one rating per row, with a "
            "person, an action and a rating"
        )


def _check_parquet(path: Path, name: str, limit: Limit) -> Size:
    """Return what a file says of its size; refuse what is not whole, or says that it unpacks to more than it may."""
    try:
        size = size_of(path)
    except ValueError as error:
        raise InvalidInput(f"{name} is not a whole Parquet file: {error}; {AGAIN}") from None
    check_width(size.columns, name)
    most = limit.of(path.stat().st_size)
    if max(size.unpacked, 24 * size.rows) > most:  # three columns of numbers
        raise InvalidInput(
            f"{name} says that it has {size.rows:,} rows and {size.unpacked:,} bytes, which is more than a file of its "
            f"size may unpack to ({most:,} bytes); if that is right, raise the limit: unpack_limit=… "
            "(--unpack-limit 50GB)"
        )
    return size


def find_fault(source: Source) -> str | None:
    """Return where and why a text table cannot be read, by going through it slowly; None if nothing is found."""
    if source.kind != "text":
        return None
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
