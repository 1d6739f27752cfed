"""Ratings that are written as text: which number that is, and what it looks like if it is none."""

import re

import polars as pl

BLANKS = ("", "na", "n/a", "nan", "none", "null", "-")
"""What stands, in any case, in a cell of a wide table where there is no rating."""

_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]{3})*,[0-9]+")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_POINTS = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?$"
"""A number with points between thousands, as people write it who write decimals with a comma."""


def is_text(dtype: pl.DataType) -> bool:
    """Say whether a column holds text, also as categories."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def number(column: pl.Expr, dtype: pl.DataType, *, decimal_comma: bool) -> pl.Expr:
    """Return a column as floats: null where there is nothing, or no number.

    >>> table = pl.LazyFrame({"x": [" 4.5", "1.234,5", "4,5"]})
    >>> table.select(number(pl.col("x"), pl.String(), decimal_comma=True)).collect()["x"].to_list()
    [None, 1234.5, 4.5]
    """
    if not is_text(dtype):
        return column.cast(pl.Float64, strict=False)
    text = column.cast(pl.String).str.strip_chars()
    if decimal_comma:
        whole = text.str.replace_all(".", "", literal=True)
        plain = pl.when(~text.str.contains(".", literal=True)).then(text)
        text = pl.when(text.str.contains(_POINTS)).then(whole).otherwise(plain).str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def is_blank(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return where a cell of a wide table holds nothing."""
    if is_text(dtype):
        return column.is_null() | column.cast(pl.String).str.strip_chars().str.to_lowercase().is_in(BLANKS)
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def comma_hint(value: object) -> str:
    """Return what to do about a number with a comma in it, for the end of a message; or nothing.

    >>> comma_hint("4,5")
    'it looks like a decimal comma: decimal_comma=True (--decimal-comma) reads it'
    """
    text = value.strip() if isinstance(value, str) else ""
    reads = "decimal_comma=True (--decimal-comma) reads it"
    if _DECIMAL.fullmatch(text) and _THOUSANDS.fullmatch(text):
        return f"if that is a decimal comma, {reads}; if it separates thousands, leave it out"
    if _DECIMAL.fullmatch(text):
        return f"it looks like a decimal comma: {reads}"
    return "leave out what separates thousands" if _THOUSANDS.fullmatch(text) else ""
