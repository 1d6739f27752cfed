"""Wide tables: a row per person, a column per action, nothing where there is no rating."""

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.limits import affordable
from lpbandits.recovery.numbers import comma_hint, is_blank, is_text, number
from lpbandits.recovery.tables import Table


def is_wide(table: Table, person: int, others: list[int], *, decimal_comma: bool) -> bool:
    """Say whether a table is surely a wide one: nobody has two rows, and all else is numbers or empty."""
    columns = table.columns(person=person, **_numbered(others))
    types = columns.collect_schema()
    if any(not _holds_numbers(types[str(i)]) for i in range(len(others))):
        return False
    faults = _faults(others, types, decimal_comma)
    found = columns.select(
        pl.any_horizontal(*(fault.any() for fault in faults.values())).alias("fault"),
        pl.any_horizontal(*(pl.col(f"{i}").is_not_null().any() for i in range(len(others)))).alias("any"),
        pl.col("person").filter(~pl.col("blank")).is_duplicated().any().alias("twice"),
    )
    fault, some, twice = found.collect(engine="streaming").row(0)
    return bool(some and not fault and not twice)


def unfolded(
    table: Table, person: int, others: list[int], *, decimal_comma: bool
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return one row per rating of a wide table, and how many columns and rows have none."""
    source, names = table.source, [table.names[i] for i in others]
    columns = table.columns(person=person, **_numbered(others))
    types = columns.collect_schema()
    for i, name in enumerate(names):
        if not _holds_numbers(types[str(i)]):
            raise InvalidInput(
                f"column {name!r} of {source.name} holds {types[str(i)]} values; in a wide table every column but the "
                "person's is an action, with numbers: leave the column out"
            )
    faults = _faults(others, types, decimal_comma)
    found = columns.select(
        pl.len().alias("rows"), *(pl.col("row").filter(fault).min().alias(f"{i}") for i, fault in faults.items())
    )
    rows, *first = found.collect(engine="streaming").row(0)
    if any(row is not None for row in first):
        row, i = min((row, i) for i, row in enumerate(first) if row is not None)
        raise _not_a_rating(columns, table, row, i, names[i])
    affordable(
        f"a wide table of {rows:,} rows and {len(others):,} columns",
        "give one rating per row instead, in three columns",
        size=64 * rows * len(others),
    )
    numbers = [_value(i, types, decimal_comma).alias(str(i)) for i in range(len(others))]
    whole = columns.select("blank", "person", *numbers).collect(engine="streaming")
    matrix = whole.select(pl.exclude("blank", "person")).to_numpy()
    who, which = np.nonzero(~np.isnan(matrix))
    rated = np.bincount(who, minlength=rows) > 0
    empty = int((~rated & ~whole["blank"].to_numpy()).sum())
    unrated = len(others) - len(np.unique(which))
    long = pl.DataFrame(
        {
            "row": who,
            "blank": np.zeros(len(who), dtype=bool),
            "person": whole["person"].gather(who),
            "action": pl.Series(names, dtype=pl.String).gather(which),
            "rating": matrix[who, which],
        }
    )
    blank = int(whole["blank"].sum())
    return long, {"blank_lines": blank, "rows_without_ratings": empty, "columns_without_ratings": unrated}


def _numbered(others: list[int]) -> dict[str, int]:
    return {str(i): place for i, place in enumerate(others)}


def _holds_numbers(dtype: pl.DataType) -> bool:
    return is_text(dtype) or dtype.is_numeric() or dtype == pl.Null


def _value(i: int, types: pl.Schema, decimal_comma: bool) -> pl.Expr:
    """Return the numbers of a column, NaN where there is none."""
    column, dtype = pl.col(str(i)), types[str(i)]
    return pl.when(~is_blank(column, dtype)).then(number(column, dtype, decimal_comma=decimal_comma)).fill_null(np.nan)


def _faults(others: list[int], types: pl.Schema, decimal_comma: bool) -> dict[int, pl.Expr]:
    """Return, for each column, where it holds something else than a rating."""
    out = {}
    for i in range(len(others)):
        column, dtype = pl.col(str(i)), types[str(i)]
        value = number(column, dtype, decimal_comma=decimal_comma)
        good = value.is_finite() & (value.abs() <= validate.LARGEST)
        out[i] = ~is_blank(column, dtype) & ~good.fill_null(False)
    return out


def _not_a_rating(columns: pl.LazyFrame, table: Table, row: int, i: int, name: str) -> InvalidInput:
    value = columns.filter(pl.col("row") == row).select(str(i)).collect().item()
    hint = comma_hint(value) or "correct it, or leave the column out if it is not an action"
    return InvalidInput(
        f"{table.source.place(row)}: the rating of {name!r} is {validate.quoted(value)}, not a finite number within "
        f"±{validate.LARGEST:g}; {hint}"
    )
