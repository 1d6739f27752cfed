"""The Parquet files of a log, from a list, a folder or a pattern, and their columns as one table."""

import glob
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from lpbandits.data.columns import check_width, is_text
from lpbandits.errors import InvalidInput, reason

DAMAGED = "it may be truncated or damaged: copy or download it again"

MAX_DEPTH = 3
"""Levels of subfolders (year=2024/month=5/day=1) that are searched for a hint."""

MAX_EXACT = 2**53
"""Smaller integers are exact as floats."""

CASTS = pl.ScanCastOptions(integer_cast=["upcast", "allow-float"], float_cast="upcast", categorical_to_string="allow")
"""The casts that `common_type` asks for."""

FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


class ParquetFile(NamedTuple):
    """A Parquet file: its path, its name in messages, and its number of rows."""

    path: Path
    name: str
    rows: int


def find_parquet(place: Path) -> list[Path]:
    """Return the Parquet files of a folder or pattern, sorted by name; none for a single path.

    Subfolders and names that start with a dot are ignored.
    """
    try:
        if place.is_dir():
            return check_files(parquet_in(place), str(place))
        if place.exists() or not glob.has_magic(str(place)):
            return []
        paths = sorted(set(_matching(place)))  # '**/**' yields a file more than once
    except InvalidInput:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot read {str(place)[:80]!r}: {reason(error)}") from None
    if not paths:
        raise InvalidInput(
            f"no file matches {str(place)!r}; give a pattern of Parquet files, such as 'ratings/*.parquet'"
        )
    return check_files(paths, str(place))


def parquet_in(folder: Path) -> list[Path]:
    """Return the Parquet files directly in a folder, sorted by name."""
    visible = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in visible if path.suffix.lower() == ".parquet")


def _matching(pattern: Path) -> list[Path]:
    """Return the paths that match a pattern; existing folders are taken literally, such as 'of [all] people'."""
    start, rest = Path(pattern.anchor), pattern.relative_to(pattern.anchor).parts
    while (start / rest[0]).exists():
        start, rest = start / rest[0], rest[1:]
    return [start / name for name in glob.iglob(str(Path(*rest)), root_dir=start, recursive=True)]  # noqa: PTH207 - `Path.glob` includes hidden files


def check_files(paths: Sequence[Path], name: str) -> list[Path]:
    """Raise unless all paths are different Parquet files."""
    seen: dict[Path, Path] = {}
    for path in paths:
        try:
            fault = _fault(path)
            if fault is None and (real := path.resolve()) in seen:
                fault = f"is the same file as {seen[real]}; leave one of them out"
            elif fault is None:
                seen[real] = path
        except OSError as error:  # a name that is too long, a folder without permission
            fault = f"cannot be read: {reason(error, 'leave it out')}"
        if fault is not None:
            raise InvalidInput(f"{name} includes {path}, which {fault}")
    return list(paths)


def _fault(path: Path) -> str | None:
    if path.is_dir():
        return "is a folder; name the files in it, by a pattern such as '**/part-*.parquet'"
    if path.suffix.lower() != ".parquet":
        return "is not a Parquet file; with several files, all must be Parquet"
    if path.is_file():
        return None
    if path.is_symlink():
        return "is a broken symlink; fix or remove it"
    return "is not a regular file; leave it out" if path.exists() else "does not exist; leave it out"


def pattern_below(folder: Path) -> str | None:
    """Return a pattern of the Parquet files in subfolders, or None if there are none."""
    here = glob.escape(str(folder))
    for depth in range(1, MAX_DEPTH + 1):
        if next(glob.iglob(f"{here}/{'*/' * depth}*.parquet"), None) is not None:  # noqa: PTH207 - see `_matching`
            return f"{here}/**/*.parquet"
    return None


def short_names(paths: Sequence[Path]) -> list[str]:
    """Return the paths relative to their common folder.

    >>> short_names([Path("log/year=2023/a.parquet"), Path("log/year=2024/a.parquet")])
    ['year=2023/a.parquet', 'year=2024/a.parquet']
    """
    absolute = [path.absolute() for path in paths]
    common = os.path.commonpath([path.parent for path in absolute])
    return [path.relative_to(common).as_posix() for path in absolute]


def open_parquet(path: Path, name: str) -> ParquetFile:
    """Read the footer of a Parquet file."""
    try:
        table = _scan(path)
        check_width(len(table.collect_schema()), name)
        return ParquetFile(path, name, int(table.select(pl.len()).collect().item()))
    except FAULTS as error:
        raise _unreadable(name, error) from None


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def find_damaged(files: Sequence[ParquetFile]) -> InvalidInput | None:
    """Return the error of the first file that cannot be read completely, or None."""
    for file in files:
        try:
            for _ in _scan(file.path).collect_batches():
                pass
        except FAULTS as error:
            return _unreadable(file.name, error)
    return None


def _unreadable(name: str, error: Exception) -> InvalidInput:
    return error if isinstance(error, InvalidInput) else InvalidInput(f"cannot read {name}: {reason(error, DAMAGED)}")


class ParquetColumns:
    """The columns that Parquet files share, each cast to one type.

    Files without rows are ignored: their writer may not know the types, nor the columns.
    """

    def __init__(self, files: Sequence[ParquetFile], name: str) -> None:
        self._name = name
        self._files = [file for file in files if file.rows] or list(files[:1])
        schemas = {file.name: _scan(file.path).collect_schema() for file in self._files}
        self._types: dict[str, dict[pl.DataType, str]] = {}
        for file, schema in schemas.items():
            for column, dtype in schema.items():
                self._types.setdefault(column, {}).setdefault(dtype, file)
        without = {column: [file for file in schemas if column not in schemas[file]] for column in self._types}
        self.names = [column for column, files in without.items() if not files]
        self.lacking = {column: files[0] for column, files in without.items() if files}
        shared = {file: [column for column in schemas[file] if column not in self.lacking] for file in schemas}
        self.reordered = next((file for file, columns in shared.items() if columns != self.names), None)

    def take(self, chosen: Mapping[str, int]) -> pl.LazyFrame:
        """Return `blank` (always False) and the chosen columns under the given names."""
        columns = {role: self.names[index] for role, index in chosen.items()}
        types = {}
        for column in columns.values():
            common = common_type(self._types[column])
            if common is None:
                raise self._differ(column)
            types[column] = common
        table = pl.scan_parquet(
            [file.path for file in self._files],
            schema=types,
            extra_columns="ignore",
            cast_options=CASTS,
            hive_partitioning=False,
            glob=False,
        )
        mixed = {
            role: _is_exact(column, integer=role in ("person", "action"))
            for role, column in columns.items()
            if role != "rating" and types[column].is_float() and len(self._types[column].keys() - {pl.Null()}) > 1
        }
        if mixed:
            for role, exact in table.select(**mixed).collect(engine="streaming").row(0, named=True).items():
                if not exact:
                    raise self._differ(columns[role])
        return table.select(pl.lit(False).alias("blank"), **{role: pl.col(name) for role, name in columns.items()})

    def _differ(self, column: str) -> InvalidInput:
        kinds = " and ".join(f"{dtype} in {file}" for dtype, file in self._types[column].items() if dtype != pl.Null())
        return InvalidInput(
            f"column {column!r} is {kinds:.300}, and no type holds all values exactly; write it with one type in all "
            f"files of {self._name}"
        )


def common_type(types: Collection[pl.DataType]) -> pl.DataType | None:
    """Return the type to which values of all these types are cast, or None.

    Integers and floats become floats, which is exact for integers below 2^53.

    >>> pairs = [pl.Int32(), pl.Int64()], [pl.UInt64(), pl.Int8()], [pl.Int8(), pl.String()]
    >>> [common_type(pair) for pair in pairs]
    [Int64, Int128, None]
    """
    kinds = set(types) - {pl.Null()}  # a column of nulls goes with any type
    if len(kinds) < 2:
        return next(iter(kinds), pl.Null())
    if all(is_text(kind) and not isinstance(kind, pl.Enum) for kind in kinds):
        return pl.String()
    if all(kind.is_integer() for kind in kinds):
        return pl.Int128() if kinds & {pl.UInt64(), pl.Int128()} else pl.Int64()
    return pl.Float64() if all(kind.is_integer() or kind.is_float() for kind in kinds) else None


def _is_exact(column: str, *, integer: bool) -> pl.Expr:
    """Return whether all floats are below 2^53 and, as labels must be to keep their spelling, integers."""
    value = pl.col(column)
    exact = value.abs() < MAX_EXACT
    return (value.is_nan() | (exact & (value == value.round()) if integer else exact)).all()
