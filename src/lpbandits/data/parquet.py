"""`ParquetTable`: one or many Parquet files as one table."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from lpbandits.data.columns import check_width, is_text
from lpbandits.data.tables import DAMAGED, FAULTS, Table
from lpbandits.errors import InvalidInput, reason

MAX_EXACT = 2**53
"""Smaller integers are exact as floats."""

CASTS = pl.ScanCastOptions(integer_cast=["upcast", "allow-float"], float_cast="upcast", categorical_to_string="allow")
"""The casts that `common_type` asks for."""


class ParquetFile(NamedTuple):
    """A Parquet file: its path, its name in messages, its columns and its number of rows."""

    path: Path
    name: str
    schema: pl.Schema
    rows: int


class ParquetTable(Table):
    """The columns that Parquet files share, each cast to one type.

    Files without rows are ignored: their column types are often wrong or missing.
    """

    remedy = DAMAGED

    def __init__(self, name: str, paths: Sequence[Path], names: Sequence[str]) -> None:
        self.files = list(map(_open, paths, names))
        super().__init__(name, pl.LazyFrame(), rows=sum(file.rows for file in self.files))
        filled = [file for file in self.files if file.rows] or self.files[:1]
        self._paths = [file.path for file in filled]
        self._types: dict[str, dict[pl.DataType, str]] = {}
        """For each column its types, each with the first file that has it."""
        for file in filled:
            for column, dtype in file.schema.items():
                self._types.setdefault(column, {}).setdefault(dtype, file.name)
        without = {column: [file.name for file in filled if column not in file.schema] for column in self._types}
        self.lacking = {column: files[0] for column, files in without.items() if files}
        self.names = [column for column in self._types if column not in self.lacking]
        check_width(len(self.names), name)
        shared = {file.name: [column for column in file.schema if column not in self.lacking] for file in filled}
        self.reordered = next((file for file, columns in shared.items() if columns != self.names), None)

    def columns(self, **chosen: int) -> pl.LazyFrame:
        """Return `row`, `blank` (always False) and the chosen columns."""
        columns = {role: self.names[index] for role, index in chosen.items()}
        types = {}
        for column in columns.values():
            common = common_type(self._types[column])
            if common is None:
                raise self._differ(column)
            types[column] = common
        table = pl.scan_parquet(
            self._paths,
            schema=types,
            extra_columns="ignore",
            cast_options=CASTS,
            hive_partitioning=False,
            glob=False,
        )
        for role in ("person", "action"):
            name = columns.get(role)
            if name is None or not types[name].is_float() or len(self._types[name].keys() - {pl.Null()}) < 2:
                continue
            label = pl.col(name)
            exact = label.is_nan() | ((label.abs() < MAX_EXACT) & (label == label.round()))
            if not table.select(exact.all()).collect(engine="streaming").item():
                raise self._differ(name)
        selected = table.select(pl.lit(False).alias("blank"), **{role: pl.col(name) for role, name in columns.items()})
        return selected.with_row_index("row")

    def place(self, row: int) -> str:
        """Return the file of a row, and its number in that file."""
        for file in self.files:
            if row < file.rows:
                break
            row -= file.rows
        return f"{file.name}, row {row + 1}"

    def fault(self, error: BaseException) -> InvalidInput:
        """Return the error of the first file that cannot be read completely."""
        for file in self.files if len(self.files) > 1 else ():
            try:
                for _ in _scan(file.path).collect_batches():
                    pass
            except FAULTS as fault:
                return _unreadable(file.name, fault)
        return super().fault(error)

    def _differ(self, column: str) -> InvalidInput:
        kinds = " and ".join(f"{dtype} in {file}" for dtype, file in self._types[column].items() if dtype != pl.Null())
        return InvalidInput(
            f"column {column!r} is {kinds:.300}, which cannot be combined without loss; write it with one type in all "
            f"files of {self.name}"
        )


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def _open(path: Path, name: str) -> ParquetFile:
    """Read the footer of a Parquet file."""
    try:
        table = _scan(path)
        return ParquetFile(path, name, table.collect_schema(), int(table.select(pl.len()).collect().item()))
    except FAULTS as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: BaseException) -> InvalidInput:
    return InvalidInput(f"cannot read {name}: {reason(error, DAMAGED)}")


def common_type(types: Collection[pl.DataType]) -> pl.DataType | None:
    """Return the type to which values of all these types are cast, or None.

    Integers and floats become floats; labels among them must be integers below 2^53, which are exact.

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
