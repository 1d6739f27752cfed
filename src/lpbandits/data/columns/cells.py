"""Names of columns, empty cells, and text that is read as numbers."""

import re
from collections.abc import Iterable, Sequence

import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput

MAX_COLUMNS = 10_000
"""Maximum number of columns of a table that is read."""

DUPLICATED = "_duplicated_"
"""Suffix of a repeated column name, followed by a number, as in polars."""

BLANKS = (
    *("", "na", "n/a", "n.a.", "<na>", "#n/a", "nan", "none", "null", "nil", "missing"),
    *("-", "--", "–", "—", ".", "?"),
)
"""Lowercase cells that stand for no rating."""

_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]{3})*,[0-9]+")
_POINT = re.compile(r"[+-]?[0-9]+[.][0-9]+")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_POINTS = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?$"
"""A number with points as thousands separators, as used with a decimal comma: 1.234,5."""


def check_width(n_columns: int, name: str) -> None:
    """Raise if a table has more than `MAX_COLUMNS` columns."""
    if n_columns > MAX_COLUMNS:
        raise InvalidInput(
            f"{name} has {n_columns:,} columns; the limit is {MAX_COLUMNS:,}: give one rating per row, with a person, "
            "an action and a rating"
        )


def unique_names(columns: Iterable[str]) -> list[str]:
    """Mark repeated names, as polars does.

    >>> unique_names(["tea", "jam", "tea"])
    ['tea', 'jam', 'tea_duplicated_0']
    """
    times: dict[str, int] = {}
    out = []
    for column in columns:
        out.append(column if column not in times else f"{column}{DUPLICATED}{times[column] - 1}")
        times[column] = times.get(column, 0) + 1
    return out


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a column holds text or categories."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def clipped(column: pl.Expr) -> pl.Expr:
    """Return a column of text or categories as text, null where a cell is longer than a label may be.

    Operations on text copy it for every row, even if it is stored once.
    """
    text = column.cast(pl.String)
    return pl.when(text.str.len_bytes() <= validate.MAX_LABEL_BYTES).then(text)


def number(column: pl.Expr, dtype: pl.DataType, *, decimal_comma: bool) -> pl.Expr:
    """Return a column as floats: null where it is empty or not a number.

    >>> table = pl.LazyFrame({"x": [" 4.5", "1.234,5", "4,5"]})
    >>> table.select(number(pl.col("x"), pl.String(), decimal_comma=True)).collect()["x"].to_list()
    [None, 1234.5, 4.5]
    """
    if not is_text(dtype):
        return column.cast(pl.Float64, strict=False)
    text = clipped(column).str.strip_chars()
    if decimal_comma:
        without_points = text.str.replace_all(".", "", literal=True)
        plain = pl.when(~text.str.contains(".", literal=True)).then(text)
        text = pl.when(text.str.contains(_POINTS)).then(without_points).otherwise(plain)
        text = text.str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def is_blank(name: str, dtype: pl.DataType, blanks: Sequence[str] = BLANKS) -> pl.Expr:
    """Return which cells of a column are empty: null, NaN, or text that is one of `blanks`."""
    column = pl.col(name)
    if is_text(dtype) and blanks:
        words = clipped(column).str.strip_chars().str.to_lowercase()
        return column.is_null() | words.is_in(blanks).fill_null(False)
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def comma_hint(value: object, remedy: str = "set decimal_comma=True (--decimal-comma)") -> str:
    """Return the remedy for a number with a comma, for the end of a message; empty for other values.

    A number with a point is only refused where commas are read.

    >>> comma_hint("4,5")
    'it looks like a decimal comma: set decimal_comma=True (--decimal-comma)'
    """
    text = value.strip() if isinstance(value, str) else ""
    if _DECIMAL.fullmatch(text) and _THOUSANDS.fullmatch(text):
        return f"if the comma is a decimal comma, {remedy}; if it separates thousands, remove it"
    if _DECIMAL.fullmatch(text):
        return f"it looks like a decimal comma: {remedy}"
    if _POINT.fullmatch(text):
        return "it has a decimal point: leave decimal_comma out (--decimal-comma), or write all numbers with a comma"
    return "remove the thousands separators" if _THOUSANDS.fullmatch(text) else ""
