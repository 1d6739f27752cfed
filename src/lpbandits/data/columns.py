"""`ReadOptions`, the columns that hold the person, the action and the rating, and text that is read as numbers."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.io.compressed import Limit

GUESSES = {
    "person": "person|user|reader|customer|patient|people|uid|member|viewer|voter|guest",
    "action": "action|item|movie|book|isbn|product|film|song|artist|track|dish|arm",
    "rating": "rating|score|stars|reward|grade|ratings|bookrating|value",
}
"""Recognised column names, without case, punctuation and a final 'id'."""

RANKS = ("rank", "ranking", "place", "position")
"""Names that suggest ranks. They are never guessed: naming the column confirms that 1 is best."""

MAX_COLUMNS = 10_000

DUPLICATED = "_duplicated_"
"""Suffix of a repeated column name, followed by a number, as in polars."""

BLANKS = ("", "na", "n/a", "nan", "none", "null", "-")
"""Lowercase cells of a wide table that stand for no rating."""

LAYOUTS = ("auto", "long", "wide", "rankings")
DUPLICATES = ("error", "last", "mean")

_NONE: Mapping[str, str] = MappingProxyType({})
_LAYOUT_HINT = "if it is not one rating per row, set layout=… (--layout wide, --layout rankings)"
_DECIMAL = re.compile(r"[+-]?[0-9]+(\.[0-9]{3})*,[0-9]+")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")
_POINTS = r"^[+-]?[0-9]{1,3}(\.[0-9]{3})+(,[0-9]+)?$"
"""A number with points between thousands, which goes with a decimal comma."""


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a log is read; `read_ratings` documents the fields.

    >>> ReadOptions(min_person=2).columns
    {'person': None, 'action': None, 'rating': None, 'rank': None}
    """

    layout: str = "auto"
    person: str | None = None
    action: str | None = None
    rating: str | None = None
    rank: str | None = None
    duplicates: str = "error"
    decimal_comma: bool = False
    min_person: int = 0
    min_action: int = 0
    unpack_limit: int | None = None

    def __post_init__(self) -> None:
        validate.as_choice(self.layout, "layout", LAYOUTS)
        for role, name in self.columns.items():
            if name is not None:
                validate.as_text(name, role)
        if self.rank is not None and self.rating is not None:
            raise InvalidInput(f"rating is {self.rating!r} and rank is {self.rank!r}; a log has one of them: drop one")
        validate.as_choice(self.duplicates, "duplicates", DUPLICATES)
        validate.as_flag(self.decimal_comma, "decimal_comma")
        validate.as_count(self.min_person, "min_person", low=0)
        validate.as_count(self.min_action, "min_action", low=0)
        if self.unpack_limit is not None:
            validate.as_count(self.unpack_limit, "unpack_limit", high=2**63 - 1)

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "ReadOptions":
        """Return the options of a call; an unknown name is an `InvalidInput`."""
        names = [field.name for field in fields(cls)]
        for name in options:
            if name not in names:
                raise InvalidInput(
                    f"unknown option {validate.short_repr(name)}; the options are {', '.join(names)}"
                    + validate.did_you_mean(name, names)
                )
        return cls(**options)

    @property
    def columns(self) -> dict[str, str | None]:
        """Names of the columns by role, None where they are guessed."""
        return {"person": self.person, "action": self.action, "rating": self.rating, "rank": self.rank}

    def named(self, *roles: str) -> list[str]:
        """Return the roles whose column is named."""
        return [role for role in roles if self.columns[role] is not None]

    @property
    def limit(self) -> Limit:
        """Limit of the decompressed size."""
        return Limit() if self.unpack_limit is None else Limit(self.unpack_limit, math.inf)


def guess_columns(
    columns: Sequence[str],
    named: Mapping[str, str | None],
    name: str,
    roles: Sequence[str] = tuple(GUESSES),
    *,
    lacking: Mapping[str, str] = _NONE,
) -> dict[str, str]:
    """Return the column of each role: person, action and rating (or rank, if that is named).

    `columns` are the columns that all files of a source have. `lacking` maps each other column to a file without it.

    >>> guess_columns(["User-ID", "ISBN", "Book-Rating"], {}, "books.csv")
    {'person': 'User-ID', 'action': 'ISBN', 'rating': 'Book-Rating'}
    """
    chosen = {}
    last = "rating" if named.get("rank") is None else "rank"
    for role in (last if role == "rating" else role for role in roles):
        column = named.get(role)
        if column is None:
            chosen[role] = _guess(columns, role, name, lacking)
        else:
            chosen[role] = find_column(columns, column, role, name, lacking=lacking)
    if len(set(chosen.values())) < len(chosen):
        raise InvalidInput(
            f"person, action and {last} must be three columns of {name}, got {_join(chosen.values())}; name others"
        )
    return chosen


def find_column(
    columns: Sequence[str], wanted: str, role: str, name: str, *, lacking: Mapping[str, str] = _NONE
) -> str:
    """Return the name of a column that must occur exactly once."""
    wanted = validate.as_text(wanted, role)
    if wanted in lacking:
        raise lacks(lacking[wanted], wanted, f"for the {role}")
    if wanted not in columns:
        raise InvalidInput(
            f"{name} has no column {wanted!r} for the {role}; its columns are {_join(columns)}"
            + validate.did_you_mean(wanted, columns)
        )
    return _check_once(columns, wanted, name)


def lacks(file: str, column: str, why: str) -> InvalidInput:
    """Return the error for a file without a column that other files have."""
    return InvalidInput(f"{file} has no column {column!r} {why}, which other files have; add it, or leave the file out")


def like(columns: Iterable[str], role: str) -> list[str]:
    """Return the columns whose name suggests a role."""
    return [column for column in columns if re.fullmatch(GUESSES[role], normalized(column))]


def check_distinct(columns: Sequence[str], chosen: Iterable[int], name: str) -> None:
    """Raise if one of the chosen columns has the same name as another."""
    for index in chosen:
        _check_once(columns, columns[index], name)


def check_width(n_columns: int, name: str) -> None:
    """Raise if a table has more than `MAX_COLUMNS` columns."""
    if n_columns > MAX_COLUMNS:
        raise InvalidInput(
            f"{name} has {n_columns:,} columns; the limit is {MAX_COLUMNS:,}: give one rating per row, with a person, "
            "an action and a rating"
        )


def normalized(column: str) -> str:
    """Return a column name without case, punctuation and a final 'id'."""
    word = "".join(letter for letter in column.lower() if letter.isalnum())
    return word.removesuffix("id") if len(word) > 3 else word


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


def _join(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _check_once(columns: Sequence[str], column: str, name: str) -> str:
    if f"{column}{DUPLICATED}0" in columns:
        first, second = columns.index(column) + 1, columns.index(f"{column}{DUPLICATED}0") + 1
        raise InvalidInput(f"{name} has two columns {column!r}, number {first} and {second}; rename or remove one")
    return column


def _guess(columns: Sequence[str], role: str, name: str, lacking: Mapping[str, str]) -> str:
    candidates = like(columns, role)
    if len(candidates) == 1:
        return _check_once(columns, candidates[0], name)
    elsewhere = [] if candidates else like(lacking, role)
    if elsewhere:
        raise lacks(lacking[elsewhere[0]], elsewhere[0], f"for the {role}")
    why = "no column" if not candidates else f"{len(candidates)} columns ({_join(candidates)})"
    ranks = [column for column in columns if normalized(column) in RANKS] if role == "rating" else []
    hint = f"; if {ranks[0]!r} holds ranks, 1 the best: rank={ranks[0]!r} (--rank {ranks[0]})" if ranks else ""
    numeric = [column.replace(".", "", 1).lstrip("-").isdigit() for column in columns]
    if numeric[:1] == [True] and 2 * sum(numeric) > len(columns):
        hint += "; the first line looks like data: add a header line"
    elif not candidates:
        hint += f"; {_LAYOUT_HINT}"
    raise InvalidInput(
        f"{why} of {name} could be the {role}; its columns are {_join(columns)}: name one with {role}=… (--{role})"
        + hint
    )


def is_text(dtype: pl.DataType) -> bool:
    """Return whether a column holds text or categories."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def number(column: pl.Expr, dtype: pl.DataType, *, decimal_comma: bool) -> pl.Expr:
    """Return a column as floats: null where it is empty or not a number.

    >>> table = pl.LazyFrame({"x": [" 4.5", "1.234,5", "4,5"]})
    >>> table.select(number(pl.col("x"), pl.String(), decimal_comma=True)).collect()["x"].to_list()
    [None, 1234.5, 4.5]
    """
    if not is_text(dtype):
        return column.cast(pl.Float64, strict=False)
    text = column.cast(pl.String).str.strip_chars()
    if decimal_comma:
        without_points = text.str.replace_all(".", "", literal=True)
        plain = pl.when(~text.str.contains(".", literal=True)).then(text)
        text = pl.when(text.str.contains(_POINTS)).then(without_points).otherwise(plain)
        text = text.str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def is_blank(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return which cells of a wide table are empty."""
    if is_text(dtype):
        return column.is_null() | column.cast(pl.String).str.strip_chars().str.to_lowercase().is_in(BLANKS)
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def comma_hint(value: object) -> str:
    """Return the remedy for a number with a comma, for the end of a message; empty for other values.

    >>> comma_hint("4,5")
    'it looks like a decimal comma: set decimal_comma=True (--decimal-comma)'
    """
    text = value.strip() if isinstance(value, str) else ""
    remedy = "set decimal_comma=True (--decimal-comma)"
    if _DECIMAL.fullmatch(text) and _THOUSANDS.fullmatch(text):
        return f"if the comma is a decimal comma, {remedy}; if it separates thousands, remove it"
    if _DECIMAL.fullmatch(text):
        return f"it looks like a decimal comma: {remedy}"
    return "remove the thousands separators" if _THOUSANDS.fullmatch(text) else ""
