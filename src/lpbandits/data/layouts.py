"""Recognise the layout of a table of ratings (long, wide, rankings), and convert it to one rating per row."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from lpbandits import validate
from lpbandits.data.columns import DUPLICATED, ReadOptions, is_blank, is_text, number
from lpbandits.data.preflib import PrefLibTable
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_memory

KNOWN_NAMES = {
    "person": "person|user|reader|customer|patient|people|uid|member|viewer|voter|guest",
    "action": "action|item|movie|book|isbn|product|film|song|artist|track|dish|arm",
    "rating": "rating|score|stars|reward|grade|ratings|bookrating|value",
}
"""Recognised column names, compared without case, punctuation and a final 'id'."""

RANKS = ("rank", "ranking", "place", "position")
"""Names that suggest ranks. A rank column is never guessed: naming it (rank=…) confirms that 1 is best."""

BYTES_PER_CELL = 100
"""Memory that a cell of a wide table takes while it is read."""

NOT_ACTIONS = "timestamp|time|date|datetime|year|age|weight|count|rank|place|position|index"
"""Names of numeric columns that are probably not actions: a table with one of them is not recognised as wide."""

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


def to_long(table: Table, options: ReadOptions) -> LongTable:
    """Return a table in any layout as one rating per row."""
    layout, person = options.layout, None
    if isinstance(table, PrefLibTable):
        _refuse(options, ("person", "action", "rating", "rank"), "a PrefLib file has no columns to name")
        if layout not in ("auto", "rankings"):
            raise InvalidInput(
                f"layout is {layout!r}, but {table.name} is a PrefLib file of rankings; remove layout (--layout)"
            )
        return LongTable(table.read().lazy(), "rankings", ranks=True)
    if table.known and layout not in ("auto", "long"):
        raise InvalidInput(f"layout is {layout!r}, but {table.name} has one rating per row; remove layout (--layout)")
    columns = [*table.names, *table.lacking]
    named = table.known or any(name is not None for name in (options.action, options.rating, options.rank))
    if layout == "auto" and (named or like(columns, "action") or like(columns, "rating")):
        layout = "long"
    elif layout == "auto":
        layout, person = _recognise(table, options)
    if layout == "long":
        roles = ("person", "action", "rating" if options.rank is None else "rank")
        chosen = {role: find_column(table, role, options.columns[role]) for role in roles}
        if len(set(chosen.values())) < len(chosen):
            names = _join(table.names[index] for index in chosen.values())
            raise InvalidInput(f"{', '.join(roles)} must be three columns of {table.name}, got {names}; name others")
        rows = table.columns(**dict(zip(KNOWN_NAMES, chosen.values(), strict=True)))
        return LongTable(rows, "long", ranks=options.rank is not None)
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
        person = find_column(table, "person", options.person)
    return _unpivot(table, person or 0, layout)


def _refuse(options: ReadOptions, roles: tuple[str, ...], why: str) -> None:
    """Raise if the user named a column that the layout does not use."""
    for role in roles:
        if options.columns[role] is not None:
            raise InvalidInput(f"{role} is {options.columns[role]!r}, but {why}; leave it out (--{role})")


def _recognise(table: Table, options: ReadOptions) -> tuple[str, int | None]:
    """Return the layout and the person's column of a table that is unambiguously wide or rankings; otherwise long."""
    names = table.names
    people = [options.person] if options.person is not None else like(names, "person")
    if len(people) != 1 or people[0] not in names:
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
    return ("wide", person) if _is_wide(table, person, others) else ("long", None)


def _is_wide(table: Table, person: int, others: list[int]) -> bool:
    """Return whether a table is unambiguously wide: no person has two rows, and all other cells are numbers or empty.

    Numbers may have a decimal comma, which is reported when they are read.
    """
    people = table.columns(person=person).filter(~pl.col("blank"))
    rows, repeated = people.select(pl.len(), pl.col("person").is_duplicated().any()).collect(engine="streaming").row(0)
    if repeated:
        return False
    check_cells(rows, len(others))
    try:
        cells = _cells(table, person, others, "wide")
    except InvalidInput:
        return False
    dtype = cells.collect_schema()["rating"]
    numbers = [number(pl.col("rating"), dtype, decimal_comma=comma) for comma in (False, True)]
    valid = [(x.is_finite() & (x.abs() <= validate.MAX_ABS_VALUE)).fill_null(False).all() for x in numbers]
    count, *all_valid = cells.select(pl.len(), point=valid[0], comma=valid[1]).collect().row(0)
    return count > 0 and any(all_valid)


def _unpivot(table: Table, person: int, layout: str) -> LongTable:
    """Return one row per rating of a wide table, or per ranked action, with its rank as rating."""
    others = _other_columns(table, person)
    rows, blank = (
        table.columns(person=person).select(pl.len(), pl.col("blank").sum()).collect(engine="streaming").row(0)
    )
    check_cells(rows, len(others))
    long = _cells(table, person, others, layout).collect(engine="streaming")
    dropped = {"blank_lines": blank, "rows_without_ratings": rows - blank - long["row"].n_unique()}
    if layout == "rankings":
        return LongTable(long.sort("row", "rating").lazy(), layout, ranks=True, dropped=dropped)
    dropped["columns_without_ratings"] = len(others) - long["action"].n_unique()
    return LongTable(long.lazy(), layout, dropped=dropped)


def check_cells(rows: int, columns: int) -> None:
    """Raise if the cells of a wide table, empty or not, do not fit in memory."""
    what, remedy = f"a table of {rows:,} rows and {columns:,} columns", "give one rating per row, in three columns"
    check_memory(what, remedy, BYTES_PER_CELL * rows * columns)


def _other_columns(table: Table, person: int) -> list[int]:
    """Return the columns of actions or places; columns without a name must be empty, and are dropped."""
    others = [i for i in range(len(table.names)) if i != person]
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
            f"{table.name} has one column; give a person and at least one more column, or one rating per row"
        )
    for i in named:
        check_once(table, i)
    return named


def _cells(table: Table, person: int, others: list[int], layout: str) -> pl.LazyFrame:
    """Return all non-empty cells as row, blank, person, action and rating; a column of another type raises.

    In a wide table the column is the action and the cell its rating; in rankings the cell is the action and the
    position of the column its rank.
    """
    names = [f":{table.names[i]}" if layout == "wide" else str(rank) for rank, i in enumerate(others, start=1)]
    columns = table.columns(person=person, **dict(zip(names, others, strict=True)))
    types = columns.collect_schema()
    for name, i in zip(names, others, strict=True):
        if not (is_text(types[name]) or types[name].is_numeric() or types[name] == pl.Null):
            raise InvalidInput(
                f"column {table.names[i]!r} of {table.name} holds {types[name]} values; with layout {layout!r} all "
                f"columns except the person's must hold {'numbers' if layout == 'wide' else 'actions'}: drop the column"
            )
    index = ["row", "blank", "person"]
    if layout == "wide":
        dtype = pl.String() if any(is_text(types[name]) for name in names) else pl.Float64()
        cells = columns.with_columns(pl.col(names).cast(dtype)).unpivot(
            names, index=index, variable_name="action", value_name="rating"
        )
        return cells.filter(~is_blank("rating", dtype)).with_columns(pl.col("action").str.slice(1))
    labels = columns.with_columns(_label(name, types[name]) for name in names)
    cells = labels.unpivot(names, index=index, variable_name="rating", value_name="action")
    return cells.filter(pl.col("action").is_not_null()).with_columns(pl.col("rating").cast(pl.Float64))


def _label(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return the actions of a column of ranks as text, null where it is empty."""
    cell = pl.col(name)
    if dtype.is_float():
        integer = pl.when(cell == cell.round()).then(cell.cast(pl.Int64, strict=False).cast(pl.String))
        cell = integer.otherwise(cell.cast(pl.String))
    return pl.when(~is_blank(name, dtype, blanks=("",))).then(cell.cast(pl.String)).alias(name)


def find_column(table: Table, role: str, wanted: str | None) -> int:
    """Return the number of the column with the wanted name, by default of the only one whose name suggests the role.

    >>> find_column(Table("books", pl.LazyFrame({"User-ID": [1], "ISBN": [7], "Book-Rating": [5]})), "action", None)
    1
    """
    names, lacking = table.names, table.lacking
    candidates = like(names, role) if wanted is None else [name for name in names if name == wanted]
    if len(candidates) == 1:
        return check_once(table, names.index(candidates[0]))
    elsewhere = like(lacking, role) if wanted is None else [name for name in lacking if name == wanted]
    if elsewhere and not candidates:
        raise lacks(lacking[elsewhere[0]], elsewhere[0], f"for the {role}")
    if wanted is not None:
        raise InvalidInput(
            f"{table.name} has no column {wanted!r} for the {role}; its columns are {_join(names)}"
            + validate.did_you_mean(wanted, names)
        )
    why = "no column" if not candidates else f"{len(candidates)} columns ({_join(candidates)})"
    ranks = [name for name in names if normalized(name) in RANKS] if role == "rating" else []
    hint = f"; if {ranks[0]!r} holds ranks (1 is best), set rank={ranks[0]!r} (--rank {ranks[0]})" if ranks else ""
    numeric = [name.replace(".", "", 1).lstrip("-").isdigit() for name in names]
    if numeric[:1] == [True] and 2 * sum(numeric) > len(names):
        hint += "; the first line looks like data: add a header line"
    elif not candidates:
        hint += "; if it is not one rating per row, set layout=… (--layout wide, --layout rankings)"
    raise InvalidInput(
        f"{why} of {table.name} could be the {role}; its columns are {_join(names)}: name one with {role}=… (--{role})"
        + hint
    )


def lacks(file: str, column: str, why: str) -> InvalidInput:
    """Return the error for a file without a column that other files have."""
    return InvalidInput(
        f"{file} has no column {column!r} {why}, but other files have this column; add it, or leave the file out"
    )


def like(columns: Iterable[str], role: str) -> list[str]:
    """Return the columns whose name suggests a role."""
    return [column for column in columns if re.fullmatch(KNOWN_NAMES[role], normalized(column))]


def check_once(table: Table, index: int) -> int:
    """Return the number of a column if no other has the same name."""
    name = table.names[index]
    if f"{name}{DUPLICATED}0" in table.names:
        second = table.names.index(f"{name}{DUPLICATED}0") + 1
        raise InvalidInput(
            f"{table.name} has two columns {name!r}, number {index + 1} and {second}; rename or remove one"
        )
    return index


def normalized(column: str) -> str:
    """Return a column name without case, punctuation and a final 'id'."""
    word = "".join(letter for letter in column.lower() if letter.isalnum())
    return word.removesuffix("id") if len(word) > 3 else word


def _join(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
