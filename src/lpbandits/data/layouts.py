"""Recognise the layout of a table of ratings (long, wide, rankings), and convert it to one rating per row."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from lpbandits import validate
from lpbandits.data.columns.cells import DUPLICATED, is_blank, is_text, number
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.columns.roles import check_direction, check_once, find_columns, join, lacks, like, strength
from lpbandits.data.columns.scales import DOUBTFUL, FACTS, named_like, not_actions, odd_columns
from lpbandits.data.preflib import PrefLibTable
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_memory

BYTES_PER_CELL = 100
"""Memory that a cell of a wide table takes while it is read."""

MOSTLY = 0.5
"""Share of numbers in a column from which on the other cells are errors; below it, the column is text."""

PLACES = re.compile(
    r"(?:(?:rank|place|choice|preference|pref|position)[ _.#-]*([0-9]{1,4})|([0-9]{1,4})(?:st|nd|rd|th))"
)
"""Names of the columns of the first, second, third choice."""


@dataclass(frozen=True)
class LongTable:
    """A table of one rating per row: row, blank, person, action, rating and, if named, time, unconverted."""

    rows: pl.LazyFrame
    layout: str
    ranks: bool = False
    """Whether the ratings are ranks: 1 is best."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    people: pl.LazyFrame | None = None
    """`blank` and the `person` of all rows, where a person may have a row without ratings."""
    person_column: str | None = None
    """Name of the column of the people in a wide table or rankings."""


def to_long(table: Table, options: ReadOptions, known: Collection[str] | None = None) -> LongTable:
    """Return a table in any layout as one rating per row.

    `known` holds the labels of a model's actions, for a history: its columns are not compared with each other.
    """
    layout = options.layout
    if isinstance(table, PrefLibTable):
        return _preflib(table, options)
    if table.known and layout not in ("auto", "long"):
        raise InvalidInput(f"layout is {layout!r}, but {table.name} has one rating per row; remove layout (--layout)")
    _check_names(table, options)
    options, numbered = _without_row_numbers(table, options)
    person = None
    if layout == "auto" and (table.known or _is_long(table, options)):
        layout = "long"
    elif layout == "auto":
        layout, person = _recognise(table, options, known)
    if layout == "long":
        return _long(table, options, known)
    _refuse(options, ("action", "rating", "rank"), f"with layout {layout!r} only the person has a column to name")
    if options.missing == "error":
        raise InvalidInput(
            f"missing is 'error', but in a table with layout {layout!r} an empty cell is an action without a rating; "
            "leave it out (--missing)"
        )
    for column, file in table.lacking.items():
        if column not in options.ignore and (options.columns is None or column in options.columns):
            raise lacks(file, column, f"in a table with layout {layout!r}")
    by_order = layout == "rankings" or (person is None and options.person is None)
    if by_order and table.reordered is not None:
        raise InvalidInput(
            f"{table.reordered} has its columns in another order than other files, which changes their meaning in a "
            f"table with layout {layout!r}; use one order in all files, or name the person of a wide table (--person)"
        )
    wanted = {role: name for role, name in (("person", options.person), ("time", options.time)) if name is not None}
    index = find_columns(table, wanted)
    if "person" not in index:
        free = _free_columns(table, options) if person is None else [person]
        named = [i for i in free if table.names[i] not in (known or ()) and strength(table.names[i], "person") == 2]
        if free and free[0] not in named and len(named) == 1:
            free = named  # such as the second column, after a time
        if not free:
            raise InvalidInput(f"{table.name} has no column for the person; leave one out of ignore (--ignore)")
        index["person"] = free[0]
    long = _unpivot(table, index, options, layout, known)
    dropped = {**long.dropped, **({"row_numbers": 1} if numbered else {})}
    return replace(long, dropped=dropped, person_column=table.names[index["person"]])


def _without_row_numbers(table: Table, options: ReadOptions) -> tuple[ReadOptions, bool]:
    """Ignore a first column without a name that counts the rows, if another column is the person's; say whether.

    Such a column is the index that `DataFrame.to_csv()` writes.
    """
    first, others = next(iter(table.names), "-"), table.names[1:]
    if first.strip() or first in options.ignore or (options.person is None and not like(others, "person")):
        return options, False
    cells = table.columns(x=0).filter(~pl.col("blank"))
    number = cells.select(pl.col("x").cast(pl.String).cast(pl.Int64, strict=False))
    counts = number.select(pl.col("x").is_not_null().all() & (pl.col("x").diff().drop_nulls() > 0).all())
    if not counts.collect(engine="streaming").item():
        return options, False
    return replace(options, ignore=(*options.ignore, first)), True


def _preflib(table: PrefLibTable, options: ReadOptions) -> LongTable:
    """Return the rankings of a PrefLib file, which has no layout and no columns to choose."""
    _refuse(options, ("person", "action", "rating", "rank", "time"), "a PrefLib file has no columns to name")
    for option in ("columns", "ignore"):
        if getattr(options, option):
            raise InvalidInput(f"{option} must be left out for {table.name}, a PrefLib file without columns")
    if options.layout not in ("auto", "rankings"):
        raise InvalidInput(
            f"layout is {options.layout!r}, but {table.name} is a PrefLib file of rankings; remove layout (--layout)"
        )
    return LongTable(table.read().lazy(), "rankings", ranks=True)


def _long(table: Table, options: ReadOptions, known: Collection[str] | None) -> LongTable:
    """Return the columns of a table of one rating per row; a history has the direction of its model."""
    if options.columns is not None:
        raise InvalidInput(
            f"columns is {join(options.columns)}, but {table.name} is read as one rating per row; leave it out "
            "(--columns), or set layout='wide' (--layout wide)"
        )
    value = "rating" if options.rank is None else "rank"
    roles = ("person", "action", value, *(["time"] if options.time is not None else []))
    chosen = find_columns(table, {role: options.roles[role] for role in roles}, ignore=options.ignore)
    if len(set(chosen.values())) < len(chosen):
        names, number_ = join(table.names[index] for index in chosen.values()), "four" if "time" in chosen else "three"
        raise InvalidInput(f"{', '.join(roles)} must be {number_} columns of {table.name}, got {names}; name others")
    if known is None and options.rating is None and value == "rating" and not options.lower_is_better:
        check_direction(table, table.names[chosen["rating"]])
    chosen["rating"] = chosen.pop(value)
    return LongTable(table.columns(**chosen), "long", ranks=options.rank is not None)


def _refuse(options: ReadOptions, roles: tuple[str, ...], why: str) -> None:
    """Raise if the user named a column that the layout does not use."""
    for role in roles:
        if options.roles[role] is not None:
            raise InvalidInput(f"{role} is {options.roles[role]!r}, but {why}; leave it out (--{role})")


def _check_names(table: Table, options: ReadOptions) -> None:
    """Raise if a column to keep or to ignore does not exist, or is both."""
    names = {*table.names, *table.lacking}
    for option, columns in (("columns", options.columns or ()), ("ignore", options.ignore)):
        for column in columns:
            if column not in names:
                near = validate.did_you_mean(column, table.names)
                raise InvalidInput(
                    f"{option} has {column!r}, which is not a column of {table.name}; its columns are "
                    f"{join(table.names)}{near}"
                )
    used = [*(options.columns or ()), *(name for name in options.roles.values() if name is not None)]
    both = next((column for column in used if column in options.ignore), None)
    if both is not None:
        raise InvalidInput(f"column {both!r} is named and also ignored; leave it out of ignore (--ignore)")


def _free_columns(table: Table, options: ReadOptions) -> list[int]:
    """Return the columns that may hold the person or an action."""
    taken = {*options.ignore, options.time}
    free = [i for i, name in enumerate(table.names) if name not in taken]
    if options.columns is not None and options.person is None:
        return [i for i in free if table.names[i] not in options.columns] or free
    return free


def _is_long(table: Table, options: ReadOptions) -> bool:
    """Return whether a column is named for an action or a rating, by the user or by the header."""
    if any(name is not None for name in (options.action, options.rating, options.rank)):
        return True
    if options.columns is not None:
        return False
    names = [name for name in (*table.names, *table.lacking) if name not in options.ignore]
    actions, ratings = (like(names, role) for role in ("action", "rating"))
    sure = [column for role, found in (("action", actions), ("rating", ratings)) if len(found) == 1
            for column in found if strength(column, role) == 2]  # fmt: skip
    return bool(sure) or (len(actions) == 1 and len(ratings) == 1)


def _recognise(table: Table, options: ReadOptions, known: Collection[str] | None) -> tuple[str, int | None]:
    """Return the layout and the person's column of a table that is unambiguously wide or rankings; otherwise long."""
    names, free = table.names, _free_columns(table, options)
    candidates = [names[i] for i in free]
    people = [options.person] if options.person is not None else like(candidates, "person")
    if len(people) != 1 or people[0] not in names:
        return ("wide", None) if options.columns is not None else ("long", None)
    person = names.index(people[0])
    others = _actions(table, options, {"person": person})
    matches = [PLACES.fullmatch(names[i].strip().lower()) for i in others]
    places = [int(match[1] or match[2]) for match in matches if match]
    if len(others) > 1 and places == list(range(1, len(others) + 1)):
        return "rankings", person
    if options.columns is not None:
        return "wide", person
    if len(others) < 2 or places:
        return "long", None
    return ("wide", person) if _is_wide(table, person, others, known) else ("long", None)


def _is_wide(table: Table, person: int, others: list[int], known: Collection[str] | None) -> bool:
    """Return whether a table is unambiguously wide: no person has two rows, and the other columns hold mostly numbers.

    If only some columns are text, or have names that are not of actions, raise an error that names them. Numbers may
    have a decimal comma, which is reported when they are read.
    """
    people = table.columns(person=person).filter(~pl.col("blank"))
    rows, repeated = people.select(pl.len(), pl.col("person").is_duplicated().any()).collect(engine="streaming").row(0)
    if repeated:
        return False
    check_cells(rows, len(others))
    try:
        cells = _cells(table, {"person": person}, others, "wide")
    except InvalidInput:
        return False
    dtype = cells.collect_schema()["rating"]
    numbers = [number(pl.col("rating"), dtype, decimal_comma=comma) for comma in (False, True)]
    valid = [(x.is_finite() & (x.abs() <= validate.MAX_ABS_VALUE)).fill_null(False).mean() for x in numbers]
    columns = cells.group_by("action").agg(numeric=pl.max_horizontal(*valid)).collect()
    text = set(columns.filter(pl.col("numeric") < MOSTLY)["action"]).difference(known or ())
    names = [table.names[i] for i in others]
    odd = [name for name in names if name in text or (named_like(name, DOUBTFUL) and name not in (known or ()))]
    n_actions = len(columns) - len(set(odd) & set(columns["action"]))
    if odd and n_actions >= 2:
        raise not_actions(table.name, odd, "text, or facts about a person or a row", names)
    return not odd and n_actions > 0


def _unpivot(
    table: Table, index: dict[str, int], options: ReadOptions, layout: str, known: Collection[str] | None
) -> LongTable:
    """Return one row per rating of a wide table, or per ranked action, with its rank as rating."""
    others = _other_columns(table, _actions(table, options, index))
    people = table.columns(person=index["person"])
    rows, blank = people.select(pl.len(), pl.col("blank").sum()).collect(engine="streaming").row(0)
    check_cells(rows, len(others))
    long = _cells(table, index, others, layout).collect(engine="streaming")
    dropped = {"blank_lines": blank, "rows_without_ratings": rows - blank - long["row"].n_unique()}
    if layout == "rankings":
        return LongTable(long.sort("row", "rating").lazy(), layout, ranks=True, dropped=dropped, people=people)
    dropped["columns_without_ratings"] = len(others) - long["action"].n_unique()
    if known is None and options.columns is None:
        _check_scales(table, long, options)
    return LongTable(long.lazy(), layout, dropped=dropped, people=people)


def _check_scales(table: Table, long: pl.DataFrame, options: ReadOptions) -> None:
    """Raise if a column of a wide table is named like a fact about a person, or has another scale than the others."""
    value = number(pl.col("rating"), long.schema["rating"], decimal_comma=options.decimal_comma)
    cells = (
        long.lazy().select("row", "action", x=value).filter(pl.col("x").is_finite()).sort("row", maintain_order=True)
    )
    spans = odd_columns(cells.collect())
    names = long["action"].unique(maintain_order=True).to_list()
    odd = [name for name in names if name in spans or named_like(name, FACTS)]
    if odd:
        values = ", ".join(f"{name} has {spans[name]}" for name in odd[:5] if name in spans)
        why = f"most columns have another scale ({values})" if values else "the name is of a fact about a person"
        raise not_actions(table.name, odd, why, names)


def check_cells(rows: int, columns: int) -> None:
    """Raise if the cells of a wide table, empty or not, do not fit in memory."""
    what, remedy = f"a table of {rows:,} rows and {columns:,} columns", "give one rating per row, in three columns"
    check_memory(what, remedy, BYTES_PER_CELL * rows * columns)


def _actions(table: Table, options: ReadOptions, index: Mapping[str, int]) -> list[int]:
    """Return the columns of actions or places, in the order of the table."""
    names, used = table.names, {*index.values()}
    others = [i for i, name in enumerate(names) if i not in used and name not in (*options.ignore, options.time)]
    return others if options.columns is None else [i for i in others if names[i] in options.columns]


def _other_columns(table: Table, others: list[int]) -> list[int]:
    """Return the columns that have a name and are not repeated; those without a name must be empty."""
    nameless = [i for i in others if not table.names[i].partition(DUPLICATED)[0].strip()]
    if nameless:
        cells = table.columns(**{str(i): i for i in nameless})
        full = cells.select(pl.exclude("row", "blank").is_not_null().any()).collect(engine="streaming").row(0)
        if any(full):
            at = nameless[full.index(True)] + 1
            raise InvalidInput(
                f"column {at} of {table.name} has values but no name; name it in the header, or delete it"
            )
    named = [i for i in others if i not in set(nameless)]
    if not named:
        raise InvalidInput(
            f"{table.name} has no column of an action; give a person and at least one more column, or one rating per "
            "row"
        )
    for i in named:
        check_once(table, i)
    return named


def _cells(table: Table, index: Mapping[str, int], others: list[int], layout: str) -> pl.LazyFrame:
    """Return all non-empty cells as row, blank, person, (time,) action and rating; a column of another type raises.

    In a wide table the column is the action and the cell its rating; in rankings the cell is the action and the
    position of the column its rank.
    """
    names = [f":{table.names[i]}" if layout == "wide" else str(rank) for rank, i in enumerate(others, start=1)]
    columns = table.columns(**index, **dict(zip(names, others, strict=True)))
    types = columns.collect_schema()
    for name, i in zip(names, others, strict=True):
        if not (is_text(types[name]) or types[name].is_numeric() or types[name] == pl.Null):
            raise InvalidInput(
                f"column {table.names[i]!r} of {table.name} holds {types[name]} values; with layout {layout!r} all "
                f"columns except the person's must hold {'numbers' if layout == 'wide' else 'actions'}: leave it out "
                "with ignore=… (--ignore)"
            )
    fixed = ["row", "blank", *index]
    if layout == "wide":
        dtype = pl.String() if any(is_text(types[name]) for name in names) else pl.Float64()
        cells = columns.with_columns(pl.col(names).cast(dtype)).unpivot(
            names, index=fixed, variable_name="action", value_name="rating"
        )
        return cells.filter(~is_blank("rating", dtype)).with_columns(pl.col("action").str.slice(1))
    labels = columns.with_columns(_label(name, types[name]) for name in names)
    cells = labels.unpivot(names, index=fixed, variable_name="rating", value_name="action")
    return cells.filter(pl.col("action").is_not_null()).with_columns(pl.col("rating").cast(pl.Float64))


def _label(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return the actions of a column of ranks as text, null where it is empty."""
    cell = pl.col(name)
    if dtype.is_float():
        integer = pl.when(cell == cell.round()).then(cell.cast(pl.Int64, strict=False).cast(pl.String))
        cell = integer.otherwise(cell.cast(pl.String))
    return pl.when(~is_blank(name, dtype, blanks=("",))).then(cell.cast(pl.String)).alias(name)
