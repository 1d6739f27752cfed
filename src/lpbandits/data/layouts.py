"""How a table of ratings is laid out: one rating per row, a column per action, or actions in order of preference."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import polars as pl

from lpbandits import validate
from lpbandits.data.columns import AGAIN, check_distinct, guess_columns, lacks, like, named, word_of
from lpbandits.data.preflib import read_preflib
from lpbandits.data.rankings import ranked
from lpbandits.data.sources import Source
from lpbandits.data.tables import Table, open_table
from lpbandits.data.wide import is_wide, unfolded
from lpbandits.errors import InvalidInput

Layout = Literal["auto", "long", "wide", "rankings"]

DOUBTFUL = {
    "timestamp",
    "time",
    "date",
    "datetime",
    "year",
    "age",
    "weight",
    "count",
    "rank",
    "place",
    "position",
    "index",
}
"""Columns of numbers that are hardly actions: with one of them a table is not taken for a wide one unasked."""

PLACES = re.compile(
    r"(?:(?:rank|place|choice|preference|pref|position)[ _.#-]*([0-9]{1,4})|([0-9]{1,4})(?:st|nd|rd|th))"
)
"""Names of columns that hold the first, the second, the third choice."""


@dataclass(frozen=True)
class Wanted:
    """How the user says that a table is to be read."""

    layout: str = "auto"
    columns: Mapping[str, str | None] = field(default_factory=dict)
    """The names given for the person, the action, the rating and the rank."""
    decimal_comma: bool = False

    def given(self, *roles: str) -> list[str]:
        """Return those of some roles that a column was named for."""
        return [role for role in roles if self.columns.get(role) is not None]


@dataclass(frozen=True)
class Long:
    """A table of one rating per row: row, blank, person, action and rating, as the source has them."""

    rows: pl.LazyFrame
    layout: str
    ranks: bool = False
    """Whether the ratings are places: 1 is best."""
    left_out: Mapping[str, int] = field(default_factory=dict)


def to_long(source: Source, wanted: Wanted) -> Long:
    """Return a table as one rating per row, however it is laid out."""
    layout = validate.as_choice(wanted.layout, "layout", get_args(Layout))
    if wanted.given("rank") and wanted.given("rating"):
        raise InvalidInput("both a rating and a rank are named; a log has one of them: leave the other out")
    if source.kind == "preflib":
        _refuse(wanted, ("person", "action", "rating", "rank"), "a PrefLib file has no columns to name")
        if layout not in ("auto", "rankings"):
            raise InvalidInput(
                f"{source.name} is a PrefLib file of rankings, not {layout}; leave layout out (--layout)"
            )
        return Long(read_preflib(source).lazy(), "rankings", ranks=True)
    if source.columns and layout not in ("auto", "long"):
        raise InvalidInput(f"{source.name} has one rating per row, not {layout}; leave layout out (--layout)")
    table = open_table(source, wide=layout == "wide")
    person: int | None = None
    if layout == "auto":
        layout, person = _recognised(table, wanted)
    if layout == "long":
        return _long(table, wanted)
    _refuse(
        wanted, ("action", "rating", "rank"), f"in a table laid out as {layout} only the person has a column to name"
    )
    for column, file in table.lacking.items():
        raise lacks(file, column, f"in a table laid out as {layout}")
    by_order = layout == "rankings" or (person is None and not wanted.given("person"))
    if by_order and table.reordered is not None:
        raise InvalidInput(
            f"{table.reordered} has its columns in another order than other files, and in a table laid out as {layout} "
            "their order tells what they are; give all files the same, or name the person of a wide table (--person)"
        )
    person = _person(table, wanted) if person is None else person
    others = _others(table, person)
    if layout == "wide":
        rows, left_out = unfolded(table, person, others, decimal_comma=wanted.decimal_comma)
    else:
        rows, left_out = ranked(table, person, others)
    return Long(rows.lazy(), layout, ranks=layout == "rankings", left_out=left_out)


def _long(table: Table, wanted: Wanted) -> Long:
    chosen = guess_columns(table.names, wanted.columns, table.source.name, lacking=table.lacking)
    ranks = "rank" in chosen
    places = {"rating" if role == "rank" else role: table.names.index(name) for role, name in chosen.items()}
    return Long(table.columns(**places), "long", ranks=ranks)


def _recognised(table: Table, wanted: Wanted) -> tuple[str, int | None]:
    """Return the layout that a table surely has, and its person; long, whose columns have names, for any other."""
    names = table.names
    known = [*names, *table.lacking]
    told = table.source.columns or wanted.given("action", "rating", "rank")
    people = [wanted.columns["person"]] if wanted.given("person") else like(names, "person")
    if told or like(known, "action") or like(known, "rating") or len(people) != 1 or people[0] not in names:
        return "long", None
    person = names.index(people[0])
    others = [i for i in range(len(names)) if i != person]
    words = [names[i].strip().lower() for i in others]
    found = [PLACES.fullmatch(word) for word in words]
    places = [int(match[1] or match[2]) for match in found if match]
    if len(others) > 1 and places == list(range(1, len(others) + 1)):
        return "rankings", person
    if len(others) < 2 or places or any(word_of(word) in DOUBTFUL for word in words):
        return "long", None
    return ("wide", person) if is_wide(table, person, others) else ("long", None)


def _person(table: Table, wanted: Wanted) -> int:
    """Return which column is the person: the one named, or the first."""
    name = wanted.columns.get("person")
    return 0 if name is None else table.names.index(named(table.names, name, "person", table.source.name))


def _others(table: Table, person: int) -> list[int]:
    """Return the columns beside the person; those without a name may only be empty, and are left out."""
    source = table.source
    others = [i for i in range(len(table.names)) if i != person]
    nameless = [i for i in others if not table.names[i].partition(AGAIN)[0].strip()]
    if nameless:
        cells = table.columns(**{str(i): i for i in nameless})
        full = cells.select(pl.exclude("row", "blank").is_not_null().any()).collect(engine="streaming").row(0)
        if any(full):
            at = nameless[full.index(True)] + 1
            raise InvalidInput(f"column {at} of {source.name} has no name; name it, or empty it")
    kept = [i for i in others if i not in set(nameless)]
    if not kept:
        raise InvalidInput(
            f"{source.name} has one column; give a person and at least one column more, or one rating per row"
        )
    check_distinct(table.names, kept, source.name)
    return kept


def _refuse(wanted: Wanted, roles: tuple[str, ...], why: str) -> None:
    """Refuse names of columns that would change nothing."""
    given = wanted.given(*roles)
    if given:
        raise InvalidInput(f"{given[0]} is {wanted.columns[given[0]]!r}, but {why}; leave it out (--{given[0]})")
