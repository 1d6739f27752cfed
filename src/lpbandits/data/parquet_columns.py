"""Columns of Parquet files that are one table: those that all have, each of one type in which no value changes."""

import itertools
from collections.abc import Collection, Mapping

import polars as pl

from lpbandits.data.numbers import is_text
from lpbandits.data.parquet_files import AGAIN, Part, first_line
from lpbandits.data.sources import Source
from lpbandits.errors import InvalidInput

EXACT = 2**53
"""Whole numbers below it are the same as floats."""

CASTS = pl.ScanCastOptions(integer_cast=["upcast", "allow-float"], float_cast="upcast", categorical_to_string="allow")
"""What polars may do to bring the columns of all files to one type: only what `common_type` asks for."""


class SharedColumns:
    """The columns of one Parquet file, or of several: their names, and whichever of them are wanted, as one table.

    Files without rows have no say: whoever writes them may not know the types, nor the columns.
    """

    def __init__(self, source: Source) -> None:
        self._name = source.name
        self._parts = [part for part in source.parts if part.rows] or list(source.parts[:1])
        alike: dict[tuple[tuple[str, pl.DataType], ...], str] = {}
        for part in self._parts:
            alike.setdefault(tuple(_schema(part, source).items()), part.name)
        kinds = [(name, dict(schema)) for schema, name in alike.items()]
        self._types: dict[str, dict[pl.DataType, str]] = {}
        for file, schema in kinds:
            for column, dtype in schema.items():
                self._types.setdefault(column, {}).setdefault(dtype, file)
        without = {column: [file for file, schema in kinds if column not in schema] for column in self._types}
        self.names = [column for column, files in without.items() if not files]
        self.lacking = {column: files[0] for column, files in without.items() if files}
        shared = [(file, [column for column in schema if column in set(self.names)]) for file, schema in kinds]
        self.reordered = next((file for file, columns in shared if columns != self.names), None)

    def take(self, chosen: Mapping[str, int]) -> pl.LazyFrame:
        """Return `blank`, which no row is, and the chosen columns under other names, each of one type."""
        columns = {role: self.names[place] for role, place in chosen.items()}
        table = pl.scan_parquet(
            [part.path for part in self._parts],
            schema={column: self._type_of(column) for column in columns.values()},
            extra_columns="ignore",
            cast_options=CASTS,
            hive_partitioning=False,
            glob=False,
        )
        mixed = {role: column for role, column in columns.items() if role != "rating" and self._is_mixed(column)}
        exact = {role: _is_exact(column, whole=role in ("person", "action")) for role, column in mixed.items()}
        if mixed:
            kept = table.select(**exact).collect(engine="streaming").row(0, named=True)
            for role, column in mixed.items():
                if not kept[role]:
                    raise self._differ(column)
        return table.select(pl.lit(False).alias("blank"), **{role: pl.col(name) for role, name in columns.items()})

    def _type_of(self, column: str) -> pl.DataType:
        common = common_type(self._types[column])
        if common is None:
            raise self._differ(column)
        return common

    def _is_mixed(self, column: str) -> bool:
        """Say whether a column is of floats that are not floats of the same kind in all files."""
        return self._type_of(column).is_float() and len(self._types[column].keys() - {pl.Null()}) > 1

    def _differ(self, column: str) -> InvalidInput:
        """Return the error for two files that have no type in common, or none without a change."""
        kinds = self._types[column]
        pairs = list(itertools.combinations([kind for kind in kinds if kind != pl.Null()], 2))
        apart = [pair for pair in pairs if common_type(pair) is None]
        one, other = (apart or [pair for pair in pairs if common_type(pair) == pl.Float64()])[0]
        return InvalidInput(
            f"column {column!r} is {_called(one)} in {kinds[one]} and {_called(other)} in {kinds[other]}, and no one "
            f"type holds the values of both as they are; write it as the same type in all files of {self._name}"
        )


def common_type(types: Collection[pl.DataType]) -> pl.DataType | None:
    """Return the type that values of all these types can have without a change; None if there is none.

    Whole numbers and floats are floats together, which is without a change only where whole numbers are below 2^53.

    >>> pairs = [pl.Int32(), pl.Int64()], [pl.UInt64(), pl.Int8()], [pl.Int8(), pl.String()]
    >>> [common_type(pair) for pair in pairs]
    [Int64, Int128, None]
    """
    kinds = set(types) - {pl.Null()}  # a column of nothing but nulls goes with any other
    if len(kinds) < 2:
        return next(iter(kinds), pl.Null())
    if all(is_text(kind) and not isinstance(kind, pl.Enum) for kind in kinds):
        return pl.String()
    if not all(kind.is_integer() or kind.is_float() for kind in kinds):
        return None
    if not all(kind.is_integer() for kind in kinds):
        return pl.Float64()
    bits = max(_bits(kind) * (1 if kind.is_signed_integer() else 2) for kind in kinds)
    return pl.Int64() if bits <= 64 else pl.Int128() if bits <= 128 else None


def _bits(kind: pl.DataType) -> int:
    return int(str(kind).lstrip("UInt"))


def _is_exact(column: str, *, whole: bool) -> pl.Expr:
    """Return whether floats can have been whole numbers: labels must be, or else they would be called otherwise."""
    value = pl.col(column)
    small = value.abs() < EXACT
    return (value.is_nan() | (small & (value == value.round()) if whole else small)).all()


def _schema(part: Part, source: Source) -> Mapping[str, pl.DataType]:
    try:
        return pl.scan_parquet(part.path, glob=False, hive_partitioning=False).collect_schema()
    except source.faults as error:
        raise InvalidInput(f"cannot read {part.name}: {first_line(error)}; {AGAIN}") from None


def _called(dtype: pl.DataType) -> str:
    return f"Enum of {len(dtype.categories)} categories" if isinstance(dtype, pl.Enum) else str(dtype)
