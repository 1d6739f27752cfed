"""Problems of the rows of a table: labels, numbers and times that are not valid, and repeated ratings."""

from collections.abc import Mapping

import polars as pl

from lpbandits import validate
from lpbandits.data.columns.cells import clipped, comma_hint, is_text
from lpbandits.data.columns.roles import shell_list
from lpbandits.data.layouts import LongTable
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput, combined
from lpbandits.text import pluralize
from lpbandits.typing import Label

SHOWN = 5
"""Maximum number of rows that an error lists for one problem."""

MAX_SEARCHED = 2**22
"""Maximum number of rows that are searched for repeated ratings if there are other problems, to limit the memory."""

BLANK = r"^[\s\x1c-\x1f]*$"
"""Text that is empty or all white space, as `str.strip` defines it."""

NOT_FINITE = "is not a finite number"

TIME_REMEDY = "write it as a number or as 2024-05-31 or 2024-05-31T14:00:00+02:00, or name another column"


def label_faults(role: str, dtype: pl.DataType) -> dict[str, pl.Expr]:
    """Return what may be wrong with the labels of a column (docs/files.md, Labels), and the rows where it is."""
    column = pl.col(role)
    if is_text(dtype):
        text = column.cast(pl.String)
        return {
            f"{role} is missing": column.is_null() | clipped(column).str.contains(BLANK),
            f"{role} has a null character": text.str.contains("\0", literal=True),
            f"{role} has more than {validate.MAX_LABEL_BYTES:,} bytes": text.str.len_bytes() > validate.MAX_LABEL_BYTES,
        }
    if dtype.is_float():
        fraction = column.is_infinite() | (column.is_finite() & (column != column.round()))
        return {f"{role} is missing": column.is_null() | column.is_nan(), f"{role} is not a whole number": fraction}
    return {f"{role} is missing": column.is_null()}


def value_faults(word: str, *, may_be_missing: bool) -> dict[str, pl.Expr]:
    """Return what may be wrong with the `number` of a rating or rank, and the rows where it is."""
    value, absent = pl.col("number"), pl.col("absent")
    faults = {
        f"{word} {NOT_FINITE}": ~absent & (value.is_null() | value.is_infinite()),
        f"{word} is not within ±{validate.MAX_ABS_VALUE:g}": value.is_finite() & (value.abs() > validate.MAX_ABS_VALUE),
    }
    return faults if may_be_missing else {f"{word} is missing": absent, **faults}


def all_problems(
    table: Table, long: LongTable, faults: Mapping[str, pl.Expr], others: list[InvalidInput]
) -> InvalidInput:
    """Return one error for all problems: the rows where a test in `faults` is true, and `others`."""
    errors: dict[tuple[int, int], InvalidInput] = {}
    for what, test in faults.items():
        invalid = long.rows.filter(test)
        count = invalid.select(pl.len()).collect(engine="streaming").item()
        if count:
            first = invalid.bottom_k(SHOWN, by="row").collect().sort("row", maintain_order=True)
            errors[first["row"][0], len(errors)] = _row_error(table, long, what, first, count)
    return combined(table.name, [*(errors[key] for key in sorted(errors)), *others])


def _row_error(table: Table, long: LongTable, what: str, rows: pl.DataFrame, count: int) -> InvalidInput:
    """Return the error for the rows with one problem, of which `rows` are the first."""
    first, *others = rows.rows(named=True)
    role = what.partition(" ")[0]
    column = role if role in ("person", "action", "time") else "rating"
    remedy = "correct or remove the row"
    if column == "time":
        remedy = TIME_REMEDY
    elif column == "rating":
        remedy = comma_hint(first["rating"]) or remedy
    if long.layout == "wide" and column == "rating":
        what = what.replace("rating", f"rating of {first['action']!r}")
        column_word = shell_list([str(first["action"])])
        leave_out = f"correct it, or leave the column out if it is not an action (--ignore {column_word})"
        remedy = comma_hint(first["rating"]) or leave_out
    shown = what.replace(" is not", f" is {validate.short_repr(first[column])}, not")
    also = ""
    if others and "missing" in what:
        also = ", also on " + ", ".join(_place(table, row["row"]) for row in others)
    elif others:
        also = ", also " + ", ".join(f"{validate.short_repr(r[column])} on {_place(table, r['row'])}" for r in others)
    more = ", …" if count > len(rows) else ""
    such = pluralize(count, "such row" if long.layout == "long" else "such rating")
    return InvalidInput(f"{table.place(first['row'])}: {shown} ({such} in all{also}{more}); {remedy}")


def _place(table: Table, row: int) -> str:
    return table.place(row).removeprefix(f"{table.name}, ")


def repeats_among(table: Table, rows: pl.LazyFrame) -> list[InvalidInput]:
    """Return the error for repeated ratings among rows of valid labels, if there are any."""
    pairs = rows.group_by("person", "action").agg(pl.len(), first=pl.col("row").bottom_k(2).sort())
    again = pairs.filter(pl.col("len") > 1).collect(engine="streaming")
    if again.is_empty():
        return []
    first = again.sort(pl.col("first").list.first()).row(0, named=True)
    n_repeats = int(again["len"].sum()) - len(again)
    return [repeat_error(table, first["person"], first["action"], first["first"], n_repeats)]


def repeat_error(table: Table, person: Label, action: Label, rows: list[int], n_repeats: int) -> InvalidInput:
    """Return the error for a person who rated an action again, on the first two `rows`."""
    return InvalidInput(
        f"{table.place(rows[1])}: person {person!r} rated action {action!r} again, first on {table.place(rows[0])} "
        f"({pluralize(n_repeats, 'repeat')} in all); keep one rating per person and action: duplicates='last' "
        "(--duplicates last) keeps the last row, or with time=… (--time) the latest; 'mean' keeps the mean"
    )
