"""Which file holds the ratings, and how it is laid out: plain tables, MovieLens folders and zips."""

import contextlib
import csv
import gzip
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from lpbandits.errors import InvalidInput

MEMBERS = ("ratings.csv", "ratings.csv.gz", "ratings.dat", "ratings.parquet", "u.data")
"""What MovieLens (and we) call the ratings inside a folder or zip."""

NO_HEADER = ("userId", "movieId", "rating")
"""The columns of the MovieLens files that have no header line."""

UNREADABLE = (OSError, EOFError, zlib.error)
AGAIN = "it may be cut short or damaged: copy or download it again"


@dataclass(frozen=True)
class Source:
    """One table of ratings: where it is, what to call it, and its form."""

    path: Path
    name: str
    parquet: bool = False
    separator: str = ","
    columns: tuple[str, ...] | None = None
    """Given when the file has no header line."""
    step: int = 1
    """Fields from one column to the next: 2 for the '::' of MovieLens, read as ':' with an empty field between."""

    def place(self, index: int) -> str:
        """Return how a user finds data row `index`.

        >>> Source(Path("a.csv"), "a.csv").place(0)
        'a.csv, line 2'
        """
        if self.parquet:
            return f"{self.name}, row {index + 1}"
        return f"{self.name}, line {index + (1 if self.columns else 2)}"


@contextlib.contextmanager
def open_source(path: str | Path) -> Iterator[Source]:
    """Find the table in a file, folder or zip; a zip's member is unpacked to a temporary file meanwhile."""
    place = Path(path)
    if place.is_dir():
        found = [place / name for name in MEMBERS if (place / name).is_file()]
        if not found:
            raise InvalidInput(f"{place} holds no ratings: none of {', '.join(MEMBERS)}; name the file itself")
        yield describe(found[0], str(found[0]))
    elif not place.is_file():
        raise InvalidInput(f"{place} does not exist; give a CSV, TSV, Parquet or zip file, or a MovieLens folder")
    elif place.suffix.lower() == ".zip":
        with tempfile.TemporaryDirectory(prefix="lpbandits-") as folder:
            yield _unpack(place, Path(folder))
    else:
        yield describe(place, place.name)


def _unpack(archive: Path, folder: Path) -> Source:
    try:
        with zipfile.ZipFile(archive) as bundle:
            for wanted in MEMBERS:
                for member in bundle.namelist():
                    if PurePosixPath(member).name == wanted:
                        target = folder / wanted
                        with bundle.open(member) as source, target.open("wb") as out:
                            while chunk := source.read(1 << 22):
                                out.write(chunk)
                        return describe(target, f"{archive.name}:{member}")
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise InvalidInput(f"cannot unpack {archive}: {error}; download it again") from None
    raise InvalidInput(f"{archive} holds no ratings: none of {', '.join(MEMBERS)}; unpack it and name the file")


def describe(path: Path, name: str) -> Source:
    """Return the form of one file, from its name and first line."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".parquet" in suffixes[-1:]:
        return Source(path, name, parquet=True)
    if suffixes[-2:] == [".parquet", ".gz"]:
        raise InvalidInput(f"{name} is gzipped Parquet, which is compressed already; unpack it first: gunzip {name}")
    line = _first_line(path, name)
    if path.name == "u.data":
        return Source(path, name, separator="\t", columns=NO_HEADER)
    if "::" in line and path.suffix.lower() == ".dat":
        return Source(path, name, separator=":", columns=NO_HEADER, step=2)
    separator = max(",\t;|", key=line.count)
    if not line.count(separator):
        raise InvalidInput(
            f"{name} is not a table of ratings: its first line {line[:60]!r} has no comma, tab, semicolon or bar; "
            "give a CSV, TSV or Parquet file with one rating per row"
        )
    return Source(path, name, separator=separator)


def find_fault(source: Source) -> str | None:
    """Return where and why a text table cannot be read, by going through it slowly; None if nothing is found."""
    if source.parquet:
        return None
    line, width = 0, 0
    try:
        with _unpacked(source.path) as raw:
            for line, content in enumerate(raw, start=1):
                text = content.decode("utf-8")
                fields = len(next(csv.reader([text], delimiter=source.separator), []))
                width = width or fields
                if fields > width:
                    return (
                        f"{source.name}, line {line}: it has {fields} fields, but the first line has {width}; "
                        "correct or remove the line"
                    )
    except UnicodeDecodeError:
        return f"{source.name}, line {line}: it is not UTF-8 text; save the file as UTF-8"
    except csv.Error as error:
        return f"{source.name}, line {line}: {error}; correct or remove the line"
    except UNREADABLE as error:
        return f"cannot read {source.name} beyond line {line}: {error}; {AGAIN}"
    return None


@contextlib.contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Open a file, gzipped or not, for reading its bytes."""
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=raw) as inside:
                yield inside
        else:
            yield raw


def _first_line(path: Path, name: str) -> str:
    try:
        with _unpacked(path) as raw:
            line = raw.readline(1 << 16)
    except UNREADABLE as error:
        raise InvalidInput(f"cannot read {name}: {error}; {AGAIN}") from None
    if not line.strip():
        raise InvalidInput(f"{name} is empty or starts with a blank line; its first line must name the columns")
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text; save it as UTF-8 CSV or as Parquet") from None
