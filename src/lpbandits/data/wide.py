"""Wide tables: a row per person, a column per action, nothing where there is no rating."""

import polars as pl

from lpbandits import validate
from lpbandits.data.numbers import comma_hint, is_blank, is_text, number
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.text import pluralize


def is_wide(table: Table, person: int, others: list[int]) -> bool:
    """Say whether a table is surely a wide one: nobody has two rows, and all else is numbers or empty.

    Numbers may have a decimal comma: what to do about it is said when they are read.
    """
    types = _columns(table, person, others).collect_schema()
    people = table.columns(person=person).filter(~pl.col("blank"))
    if not all(_holds_numbers(types[str(i)]) for i in range(len(others))):
        return False
    if people.select(pl.col("person").is_duplicated().any()).collect(engine="streaming").item():
        return False
    _count(table, person, others)
    cells = _cells(table, person, others)
    return len(cells) > 0 and any(_faults(cells, decimal_comma=comma).is_empty() for comma in (False, True))


def unfolded(
    table: Table, person: int, others: list[int], *, decimal_comma: bool
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return one row per rating of a wide table, and how many rows and columns have none."""
    names = [table.names[i] for i in others]
    types = _columns(table, person, others).collect_schema()
    for i, name in enumerate(names):
        if not _holds_numbers(types[str(i)]):
            raise InvalidInput(
                f"column {name!r} of {table.source.name} holds {types[str(i)]} values; in a wide table every column "
                "but the person's is an action, with numbers: leave the column out"
            )
    rows, blank = _count(table, person, others)
    cells = _cells(table, person, others)
    faults = _faults(cells, decimal_comma=decimal_comma)
    if len(faults):
        raise _not_a_rating(faults, table, names)
    labels = pl.Series(names, dtype=pl.String).gather(cells["action"])
    left_out = {
        "blank_lines": int(blank),
        "rows_without_ratings": int(rows - blank - cells["row"].n_unique()),
        "columns_without_ratings": len(others) - cells["action"].n_unique(),
    }
    return cells.with_columns(action=labels, blank=pl.lit(False)), left_out


def _count(table: Table, person: int, others: list[int]) -> tuple[int, int]:
    """Return how many rows there are, and how many of them are blank, if all cells can be held."""
    count = table.columns(person=person).select(pl.len(), pl.col("blank").sum())
    rows, blank = count.collect(engine="streaming").row(0)
    check_resources(
        f"a wide table of {rows:,} rows and {len(others):,} columns",
        "give one rating per row instead, in three columns",
        size=40 * rows * len(others),
    )
    return int(rows), int(blank)


def _columns(table: Table, person: int, others: list[int]) -> pl.LazyFrame:
    """Return the person, and the other columns as 0, 1, … in the order given."""
    return table.columns(person=person, **{str(i): place for i, place in enumerate(others)})


def _cells(table: Table, person: int, others: list[int]) -> pl.DataFrame:
    """Return every cell that is not empty: its row, person, column (as `action`) and content."""
    columns = _columns(table, person, others)
    names = [str(i) for i in range(len(others))]
    types = columns.collect_schema()
    kind = pl.String() if any(is_text(types[name]) for name in names) else pl.Float64()
    cells = columns.with_columns(pl.col(names).cast(kind)).unpivot(
        names, index=["row", "person"], variable_name="action", value_name="rating"
    )
    full = cells.filter(~is_blank(pl.col("rating"), kind)).with_columns(pl.col("action").cast(pl.Int64))
    return full.collect(engine="streaming")


def _holds_numbers(dtype: pl.DataType) -> bool:
    return is_text(dtype) or dtype.is_numeric() or dtype == pl.Null


def _faults(cells: pl.DataFrame, *, decimal_comma: bool) -> pl.DataFrame:
    """Return the cells that hold something else than a rating."""
    value = number(pl.col("rating"), cells.schema["rating"], decimal_comma=decimal_comma)
    good = value.is_finite() & (value.abs() <= validate.MAX_ABS_VALUE)
    return cells.filter(~good.fill_null(False))


def _not_a_rating(faults: pl.DataFrame, table: Table, names: list[str]) -> InvalidInput:
    first = faults.sort("row", "action").row(0, named=True)
    value = first["rating"]
    hint = comma_hint(value) or "correct it, or leave the column out if it is not an action"
    place, name = table.source.place(first["row"]), names[first["action"]]
    return InvalidInput(
        f"{place}: the rating of {name!r} is {validate.short_repr(value)}, not a finite number within "
        f"±{validate.MAX_ABS_VALUE:g} ({pluralize(len(faults), 'such cell')} in all); {hint}"
    )
