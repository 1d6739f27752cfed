"""Layouts of a table of ratings (long, wide, rankings), each brought to one rating per row."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from lpbandits import validate
from lpbandits.data.columns import (
    DUPLICATED,
    ReadOptions,
    check_distinct,
    comma_hint,
    find_column,
    guess_columns,
    is_blank,
    is_text,
    lacks,
    like,
    normalized,
    number,
)
from lpbandits.data.preflib import read_preflib
from lpbandits.data.sources import Source
from lpbandits.data.tables import Table, open_table
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.text import pluralize

NOT_ACTIONS = "timestamp|time|date|datetime|year|age|weight|count|rank|place|position|index"
"""Names of numeric columns that are hardly actions: a table with one of them is not recognised as wide."""

PLACES = re.compile(
    r"(?:(?:rank|place|choice|preference|pref|position)[ _.#-]*([0-9]{1,4})|([0-9]{1,4})(?:st|nd|rd|th))"
)
"""Names of the columns of the first, second, third choice."""


@dataclass(frozen=True)
class LongTable:
    """A table of one rating per row: row, blank, person, action and rating, unconverted."""

    rows: pl.LazyFrame
    layout: str
    ranks: bool = False
    """Whether the ratings are ranks: 1 is best."""
    dropped: Mapping[str, int] = field(default_factory=dict)


def to_long(source: Source, options: ReadOptions) -> LongTable:
    """Return a table in any layout as one rating per row."""
    layout = options.layout
    if source.kind == "preflib":
        _refuse(options, ("person", "action", "rating", "rank"), "a PrefLib file has no columns to name")
        if layout not in ("auto", "rankings"):
            raise InvalidInput(f"layout is {layout!r}, but {source.name} is a PrefLib file of rankings; leave it out")
        return LongTable(read_preflib(source).lazy(), "rankings", ranks=True)
    if source.columns and layout not in ("auto", "long"):
        raise InvalidInput(f"layout is {layout!r}, but {source.name} has one rating per row; leave it out (--layout)")
    table = open_table(source, wide=layout == "wide")
    person: int | None = None
    if layout == "auto":
        layout, person = _recognise(table, options)
    if layout == "long":
        chosen = guess_columns(table.names, options.columns, source.name, lacking=table.lacking)
        places = {"rating" if role == "rank" else role: table.names.index(name) for role, name in chosen.items()}
        return LongTable(table.columns(**places), "long", ranks="rank" in chosen)
    _refuse(options, ("action", "rating", "rank"), f"with layout {layout!r} only the person has a column to name")
    for column, file in table.lacking.items():
        raise lacks(file, column, f"in a table with layout {layout!r}")
    by_order = layout == "rankings" or (person is None and options.person is None)
    if by_order and table.reordered is not None:
        raise InvalidInput(
            f"{table.reordered} has its columns in another order than other files, which changes their meaning in a "
            f"table with layout {layout!r}; use one order in all files, or name the person of a wide table (--person)"
        )
    if person is None and options.person is not None:
        person = table.names.index(find_column(table.names, options.person, "person", source.name))
    person = person or 0
    others = _other_columns(table, person)
    if layout == "wide":
        rows, dropped = unpivot(table, person, others, decimal_comma=options.decimal_comma)
    else:
        rows, dropped = unpivot_rankings(table, person, others)
    return LongTable(rows.lazy(), layout, ranks=layout == "rankings", dropped=dropped)


def _recognise(table: Table, options: ReadOptions) -> tuple[str, int | None]:
    """Return the layout and the person's column of a table that is surely wide or rankings; otherwise long."""
    names = table.names
    known = [*names, *table.lacking]
    named = table.source.columns or options.named("action", "rating", "rank")
    people = [options.person] if options.person is not None else like(names, "person")
    if named or like(known, "action") or like(known, "rating") or len(people) != 1 or people[0] not in names:
        return "long", None
    person = names.index(people[0])
    others = [i for i in range(len(names)) if i != person]
    words = [names[i].strip().lower() for i in others]
    matches = [PLACES.fullmatch(word) for word in words]
    places = [int(match[1] or match[2]) for match in matches if match]
    if len(others) > 1 and places == list(range(1, len(others) + 1)):
        return "rankings", person
    if len(others) < 2 or places or any(re.fullmatch(NOT_ACTIONS, normalized(word)) for word in words):
        return "long", None
    return ("wide", person) if is_wide(table, person, others) else ("long", None)


def _other_columns(table: Table, person: int) -> list[int]:
    """Return the columns of actions or places; columns without a name must be empty, and are dropped."""
    source = table.source
    others = [i for i in range(len(table.names)) if i != person]
    nameless = [i for i in others if not table.names[i].partition(DUPLICATED)[0].strip()]
    if nameless:
        cells = table.columns(**{str(i): i for i in nameless})
        full = cells.select(pl.exclude("row", "blank").is_not_null().any()).collect(engine="streaming").row(0)
        if any(full):
            at = nameless[full.index(True)] + 1
            raise InvalidInput(f"column {at} of {source.name} has no name; name it, or empty it")
    named = [i for i in others if i not in set(nameless)]
    if not named:
        raise InvalidInput(
            f"{source.name} has one column; give a person and at least one more column, or one rating per row"
        )
    check_distinct(table.names, named, source.name)
    return named


def _refuse(options: ReadOptions, roles: tuple[str, ...], why: str) -> None:
    """Raise if a column is named that has no effect."""
    for role in options.named(*roles):
        raise InvalidInput(f"{role} is {options.columns[role]!r}, but {why}; leave it out (--{role})")


def is_wide(table: Table, person: int, others: list[int]) -> bool:
    """Return whether a table is surely wide: no person has two rows, and all other cells are numbers or empty.

    Numbers may have a decimal comma, which is reported when they are read.
    """
    types = _columns(table, person, others).collect_schema()
    people = table.columns(person=person).filter(~pl.col("blank"))
    if not all(_is_numeric(types[str(i)]) for i in range(len(others))):
        return False
    if people.select(pl.col("person").is_duplicated().any()).collect(engine="streaming").item():
        return False
    _count_rows(table, person, len(others))
    cells = _cells(table, person, others)
    return len(cells) > 0 and any(_bad_cells(cells, decimal_comma=comma).is_empty() for comma in (False, True))


def unpivot(
    table: Table, person: int, others: list[int], *, decimal_comma: bool
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return one row per rating of a wide table, and the number of rows and columns without ratings."""
    names = [table.names[i] for i in others]
    types = _columns(table, person, others).collect_schema()
    for i, name in enumerate(names):
        if not _is_numeric(types[str(i)]):
            raise InvalidInput(
                f"column {name!r} of {table.source.name} holds {types[str(i)]} values; in a wide table all columns "
                "except the person's must hold numbers: drop the column"
            )
    rows, blank = _count_rows(table, person, len(others))
    cells = _cells(table, person, others)
    bad = _bad_cells(cells, decimal_comma=decimal_comma)
    if len(bad):
        first = bad.sort("row", "action").row(0, named=True)
        hint = comma_hint(first["rating"]) or "correct it, or drop the column if it is not an action"
        raise InvalidInput(
            f"{table.source.place(first['row'])}: the rating of {names[first['action']]!r} must be a finite number "
            f"within ±{validate.MAX_ABS_VALUE:g}, got {validate.short_repr(first['rating'])} "
            f"({pluralize(len(bad), 'such cell')} in all); {hint}"
        )
    labels = pl.Series(names, dtype=pl.String).gather(cells["action"])
    dropped = {
        "blank_lines": blank,
        "rows_without_ratings": rows - blank - cells["row"].n_unique(),
        "columns_without_ratings": len(others) - cells["action"].n_unique(),
    }
    return cells.with_columns(action=labels, blank=pl.lit(False)), dropped


def unpivot_rankings(table: Table, person: int, others: list[int]) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return one row per ranked action, with its rank as rating, and the number of rows without any.

    The columns except the person's are ranks, best first.
    """
    columns = _columns(table, person, others)
    types = columns.collect_schema()
    labels = [_label(table, table.names[index], str(i), types[str(i)]) for i, index in enumerate(others)]
    rows, blank = _count_rows(table, person, len(others))
    cells = columns.select("row", "blank", "person", *labels).collect(engine="streaming")
    ranks = [
        cells.select("row", "blank", "person", action=pl.col(str(i)), rating=pl.lit(float(i + 1)))
        for i in range(len(others))
    ]
    long = pl.concat(ranks).filter(pl.col("action").is_not_null()).sort("row", maintain_order=True)
    return long, {"blank_lines": blank, "rows_without_ratings": rows - blank - long["row"].n_unique()}


def _count_rows(table: Table, person: int, n_columns: int) -> tuple[int, int]:
    """Return the number of rows and of blank rows, if all cells fit in memory."""
    count = table.columns(person=person).select(pl.len(), pl.col("blank").sum())
    rows, blank = count.collect(engine="streaming").row(0)
    check_resources(
        f"a table of {rows:,} rows and {n_columns:,} columns",
        "give one rating per row instead, in three columns",
        size=40 * rows * n_columns,
    )
    return int(rows), int(blank)


def _columns(table: Table, person: int, others: list[int]) -> pl.LazyFrame:
    """Return the person, and the other columns named by their position."""
    return table.columns(person=person, **{str(i): index for i, index in enumerate(others)})


def _cells(table: Table, person: int, others: list[int]) -> pl.DataFrame:
    """Return all non-empty cells: row, person, number of the column (as `action`) and content (as `rating`)."""
    columns = _columns(table, person, others)
    names = [str(i) for i in range(len(others))]
    types = columns.collect_schema()
    dtype = pl.String() if any(is_text(types[name]) for name in names) else pl.Float64()
    cells = columns.with_columns(pl.col(names).cast(dtype)).unpivot(
        names, index=["row", "person"], variable_name="action", value_name="rating"
    )
    full = cells.filter(~is_blank(pl.col("rating"), dtype)).with_columns(pl.col("action").cast(pl.Int64))
    return full.collect(engine="streaming")


def _is_numeric(dtype: pl.DataType) -> bool:
    return is_text(dtype) or dtype.is_numeric() or dtype == pl.Null


def _bad_cells(cells: pl.DataFrame, *, decimal_comma: bool) -> pl.DataFrame:
    value = number(pl.col("rating"), cells.schema["rating"], decimal_comma=decimal_comma)
    good = value.is_finite() & (value.abs() <= validate.MAX_ABS_VALUE)
    return cells.filter(~good.fill_null(False))


def _label(table: Table, name: str, column: str, dtype: pl.DataType) -> pl.Expr:
    """Return the actions of a column of ranks as text, null where it is empty."""
    cell = pl.col(column)
    if dtype.is_float():
        cell = pl.when(cell.is_not_nan()).then(cell)
        integer = pl.when(cell == cell.round()).then(cell.cast(pl.Int64, strict=False).cast(pl.String))
        return integer.otherwise(cell.cast(pl.String)).alias(column)
    if dtype.is_integer() or dtype == pl.Null:
        return cell.cast(pl.String)
    if not is_text(dtype):
        raise InvalidInput(
            f"column {name!r} of {table.source.name} holds {dtype} values; in a table of rankings all columns except "
            "the person's must hold actions: drop the column"
        )
    text = cell.cast(pl.String)
    return pl.when(text.str.strip_chars() != "").then(text).alias(column)
