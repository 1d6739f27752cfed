"""`open_table`: find the files of a source, decompress them, and open them in their format."""

import contextlib
import glob
import importlib.util
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import polars as pl

from lpbandits.data.columns.cells import unique_names
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.exports import ratings_in
from lpbandits.data.preflib import PrefLibTable
from lpbandits.data.tables import DAMAGED, EMPTY_LINE, PandasTable, ParquetTable, Table, TextTable
from lpbandits.errors import InvalidInput, check_fork, reason
from lpbandits.io.compressed import check_archive, decompressed, extract, temporary_folder
from lpbandits.io.paths import as_path

MEMBERS = ("ratings.csv", "ratings.csv.gz", "ratings.dat", "ratings.parquet", "u.data")
"""Names of the ratings in a MovieLens folder or zip, or in the zip of an export."""

PREFLIB = (".soc", ".soi", ".toc", ".toi")
"""Suffixes of PrefLib's files of rankings."""

SUBFOLDERS = ("*/", "*/*/", "*/*/*/")
"""Subfolders (year=2024/month=5/day=1) that are searched to suggest a pattern in a message."""


@runtime_checkable
class PandasFrame(Protocol):
    """The attributes of a pandas frame that are used."""

    columns: Any
    index: Any
    iloc: Any


RatingsSource = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame | PandasFrame
"""A path, several paths of Parquet files, or a frame."""


@contextlib.contextmanager
def open_table(origin: Any, options: ReadOptions, *, narrow: bool = False) -> Iterator[Table]:
    """Yield the table of a path or a frame; a compressed file is decompressed to a temporary file.

    With `narrow`, a table may have a single column.
    """
    check_fork()
    if isinstance(origin, pl.DataFrame | pl.LazyFrame):
        yield Table("the frame", origin.lazy(), rows=0 if isinstance(origin, pl.DataFrame) else None)
        return
    if isinstance(origin, PandasFrame):
        yield PandasTable("the frame", origin, wide=options.layout == "wide")
        return
    if isinstance(origin, str | os.PathLike) and os.path.isfile(origin):  # noqa: PTH113 - False for an invalid name
        path = as_path(origin)
        name, paths = path.name, [path]
    else:
        name, paths = find_files(origin)
        path = paths[0]
    if path.suffix.lower() == ".parquet":
        folder = os.path.commonpath([path.absolute().parent for path in paths])
        names = [path.absolute().relative_to(folder).as_posix() for path in paths]
        with _utf8_names(paths) as readable:
            yield ParquetTable(name if len(paths) > 1 else names[0], readable, names)
        return
    limit = options.unpack_limit
    with contextlib.ExitStack() as stack:
        (path,) = stack.enter_context(_utf8_names(paths))
        try:
            if path.suffix.lower() == ".zip":
                path, name = _unpack(path, stack.enter_context(temporary_folder()), limit)
            file = path.name.lower()
            if file.endswith(".parquet.gz"):
                raise InvalidInput(f"{name} is gzipped Parquet, which is compressed already; unpack it: gunzip {name}")
            if file.endswith(".parquet"):
                table: Table = ParquetTable(name, [path], [name])
            elif file.endswith(".xlsx"):
                table = _open_workbook(path, name, limit)
            else:
                text = stack.enter_context(decompressed(path, name, limit))
                preflib = file.removesuffix(".gz").endswith(PREFLIB)
                table = PrefLibTable(name, text) if preflib else TextTable(name, text, path.name, narrow=narrow)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInput(f"cannot read {name}: {error}; {DAMAGED}") from None
        yield table


@contextlib.contextmanager
def _utf8_names(paths: list[Path]) -> Iterator[list[Path]]:
    """Yield the paths, or links to them in a temporary folder if one is not UTF-8: polars cannot open such a path."""
    if all(str(path).encode(errors="replace").decode() == str(path) for path in paths):
        yield paths
        return
    with temporary_folder() as folder:
        links = [folder / str(i) / os.fsencode(path.name).decode(errors="replace") for i, path in enumerate(paths)]
        for link, path in zip(links, paths, strict=True):
            link.parent.mkdir()
            link.symlink_to(path.absolute())
        yield links


def find_files(origin: Any) -> tuple[str, list[Path]]:
    """Return the name in messages and the files of a path, pattern, folder or list; several are all Parquet files.

    Of a folder only the Parquet files are read; subfolders and hidden files are ignored.
    """
    if isinstance(origin, list | tuple) and origin and all(isinstance(path, str | os.PathLike) for path in origin):
        return _check_files("the list of files", [as_path(path) for path in origin])
    if not isinstance(origin, str | os.PathLike):
        raise InvalidInput(
            f"source must be a path, a list of Parquet files or a polars or pandas frame, got {type(origin).__name__}; "
            "for arrays use Ratings.from_arrays(…) or Ratings.from_matrix(…)"
        )
    place = as_path(origin)
    try:
        if place.is_dir():
            return _find_in_folder(place)
        if place.exists():
            raise InvalidInput(f"{place} is not a regular file; give a file, or a folder of files")
        if not glob.has_magic(str(place)):
            raise InvalidInput(
                f"{place} does not exist; give a CSV, TSV, Parquet, Excel or zip file, or a MovieLens folder"
            )
        folder = glob.escape(str(place.parent)) if place.parent.is_dir() else str(place.parent)
        paths = sorted({Path(path) for path in glob.iglob(f"{folder}/{place.name}", recursive=True)})  # noqa: PTH207 - `Path.glob` includes hidden files
    except (OSError, RecursionError) as error:  # a name that is too long
        raise InvalidInput(f"cannot read {str(origin)[:80]!r}: {reason(error)}") from None
    if not paths:
        raise InvalidInput(
            f"no file matches {str(place)!r}; give a pattern of Parquet files, such as 'ratings/*.parquet'"
        )
    return _check_files(str(place), paths)


def _find_in_folder(folder: Path) -> tuple[str, list[Path]]:
    """Return the ratings of an export or a MovieLens folder, or all Parquet files of a folder, sorted by name."""
    exported = ratings_in(folder)
    if exported is not None:
        return str(exported), [exported]
    member = next((folder / name for name in MEMBERS if (folder / name).is_file()), None)
    parquet = sorted(
        path for path in folder.iterdir() if path.suffix.lower() == ".parquet" and not path.name.startswith(".")
    )
    if member is not None:
        for path in parquet:
            if not path.exists() or not path.samefile(member):
                raise InvalidInput(
                    f"{folder} holds {member.name} and also {path.name}; name the file to read, or all Parquet "
                    f"files: '{glob.escape(str(folder))}/*.parquet'"
                )
        return str(member), [member]
    if parquet:
        return _check_files(str(folder), parquet)
    here, remedy = glob.escape(str(folder)), "name the file itself"
    if any(next(glob.iglob(f"{here}/{below}*.parquet"), None) for below in SUBFOLDERS):  # noqa: PTH207 - see `find_files`
        remedy = f"for the files in its subfolders give '{here}/**/*.parquet'"
    raise InvalidInput(f"{folder} holds no ratings: none of {', '.join(MEMBERS)}, nor *.parquet; {remedy}")


def _check_files(name: str, paths: list[Path]) -> tuple[str, list[Path]]:
    """Return the name and the paths if all are different Parquet files."""
    seen: dict[Path, Path] = {}
    for path in paths:
        try:
            is_file, real = path.is_file(), path.resolve()
        except OSError as error:  # a name that is too long, a folder without permission
            raise InvalidInput(
                f"{name} includes {path}, which cannot be read: {reason(error, 'leave it out')}"
            ) from None
        if path.suffix.lower() != ".parquet":
            fault = "is not a Parquet file; with several files, all must be Parquet"
        elif not is_file:
            fault = "does not exist, or is a folder, broken symlink or pipe; leave it out, or name the files in it"
        elif real in seen:
            fault = f"is the same file as {seen[real]}; leave one of them out"
        else:
            seen[real] = path
            continue
        raise InvalidInput(f"{name} includes {path}, which {fault}")
    return name, paths


def _unpack(archive: Path, folder: Path, limit: int | None) -> tuple[Path, str]:
    """Extract the ratings of a zip file; return their path and their name in messages."""
    extracted = extract(archive, MEMBERS, folder, limit)
    for member in MEMBERS:
        if member in extracted:
            return folder / member, extracted[member]
    raise InvalidInput(f"{archive} holds no ratings: none of {', '.join(MEMBERS)}; unpack it and name the file")


def _open_workbook(path: Path, name: str, limit: int | None) -> Table:
    """Return the first sheet as text, with the first row as header."""
    if importlib.util.find_spec("fastexcel") is None:
        raise InvalidInput(f"reading the workbook {name} needs fastexcel: pip install fastexcel, or save it as CSV")
    check_archive(path, name, limit)
    as_stored: Any = {"drop_empty_rows": False, "drop_empty_cols": False, "raise_if_empty": False}
    try:
        cells = pl.read_excel(path, sheet_id=1, has_header=False, infer_schema_length=0, **as_stored)
    except Exception as error:  # the readers of workbooks share no exception
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise InvalidInput(f"cannot read the workbook {name}: {first}; save it as CSV") from None
    if cells.is_empty():
        raise InvalidInput(f"the first sheet of {name} is empty; its first row must name the columns")
    header = unique_names("" if label is None else label for label in cells.row(0))
    frame = cells.slice(1).rename(dict(zip(cells.columns, header, strict=True))).lazy()
    return Table(name, frame, rows=path.stat().st_size // 16, first_row=2, blank=EMPTY_LINE)
