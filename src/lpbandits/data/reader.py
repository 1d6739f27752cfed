"""Reading a log of ratings from a table, lazily, and saying exactly what is wrong with it."""

import contextlib
import inspect
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, get_args

import polars as pl

from lpbandits import validate
from lpbandits.data.codes import Codes
from lpbandits.data.duplicates import DUPLICATES, one_each, repeat_error
from lpbandits.data.layouts import Layout, Long, Wanted, to_long
from lpbandits.data.numbers import comma_hint, is_text, number
from lpbandits.data.rankings import by_place
from lpbandits.data.ratings import MOST, Ratings
from lpbandits.data.sources import Source, find_fault, open_source
from lpbandits.errors import InvalidInput, reason, translate_errors
from lpbandits.io.compressed import Limit
from lpbandits.text import pluralize


class Frame(Protocol):
    """What a frame of pandas has."""

    columns: Any
    index: Any
    iloc: Any


@translate_errors("reading ratings")
def read_ratings(
    source: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame | Frame",
    *,
    layout: str = "auto",
    person: str | None = None,
    action: str | None = None,
    rating: str | None = None,
    rank: str | None = None,
    duplicates: str = "error",
    decimal_comma: bool = False,
    min_person: int = 0,
    min_action: int = 0,
    unpack_limit: int | None = None,
) -> Ratings:
    r"""Read a log of ratings or rankings from a file, from many Parquet files, or from a frame of polars or pandas.

    Parameters
    ----------
    source
        CSV or TSV (gzipped or not), Parquet, Excel (if `fastexcel` is installed), rankings of PrefLib, a MovieLens
        folder or zip; many Parquet files, as a folder, a pattern ("ratings/*.parquet") or a list; or a frame.
    layout
        `long`: one rating per row, further columns are ignored. `wide`: a row per person, a column per action, empty
        (or NaN) where there is no rating. `rankings`: a row per person, then its actions in order of preference.
        `auto` recognises what is certain, and `Ratings.layout` tells.
    person, action, rating
        Names of the columns; guessed from the header when obvious. In a wide table and in rankings only the person has
        one, by default the first column.
    rank
        Name of a column with ranks, 1 the best, instead of ratings. Ranks, and places in rankings, become ratings: of k
        actions the first gets k; only their order within a person has a meaning.
    duplicates
        What to do about a person's second rating of the same action: `error`, keep the `last` row, or the `mean`.
    decimal_comma
        Whether 4,5 is four and a half.
    min_person
        Keep people with at least this many ratings. People are filtered first, then actions, one pass each (the order
        that gives the paper's MovieLens data), so some people may end up below it.
    min_action
        Keep actions with at least this many ratings by the people kept.
    unpack_limit
        Bytes that a compressed file may unpack to; by default 20 GB, and 200 times its own size.

    Nothing is dropped silently: `Ratings.dropped` counts what was left out, and a missing or non-numeric value or a
    repeated (person, action) is an error that names the row.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name) / "log.csv"
    >>> _ = table.write_text("userId,movieId,rating\n1,10,4.5\n1,20,3\n2,10,5\n")
    >>> read_ratings(table, min_person=2)
    <Ratings: 2 by 1 people of 2 actions>
    >>> read_ratings(table, min_person=2).dropped["people_below_min_person"]
    1
    >>> folder.cleanup()
    >>> wide = read_ratings(pl.DataFrame({"person": ["ann", "bo"], "tea": [5, None], "jam": [3, 4]}))
    >>> wide.layout, wide.actions, wide.rating.tolist()
    ('wide', ('jam', 'tea'), [3.0, 5.0, 4.0])
    """
    reading = Reading.of(**{name: value for name, value in locals().items() if name != "source"})
    with open_source(source, reading.limit) as found:
        long, clean, dropped = rows_of(found, reading)
        with unreadable(found):
            frame = clean.collect(engine="streaming")
        if reading.duplicates != "error":
            frame, dropped["repeated_ratings"] = one_each(frame, reading.duplicates)
        if long.ranks:
            frame = by_place(frame, frame["action"].n_unique())
        kept, few = _filtered(frame, reading.min_person, reading.min_action)
        if kept.is_empty():
            raise nothing_left(len(frame), found, reading)
        return _ratings(kept, {**dropped, **few}, found, long.layout)


@dataclass(frozen=True)
class Reading:
    """How a log is read, of arguments that were looked at; see `read_ratings`."""

    wanted: Wanted
    duplicates: str
    min_person: int
    min_action: int
    limit: Limit

    @classmethod
    def of(cls, **given: Any) -> "Reading":
        """Check arguments of `read_ratings`, whose signature says which there are and what those not given are."""
        bound = inspect.signature(read_ratings).bind(None, **given)
        bound.apply_defaults()
        asked = bound.arguments
        columns = {role: asked[role] for role in ("person", "action", "rating", "rank")}
        columns = {role: None if name is None else validate.as_text(name, role) for role, name in columns.items()}
        wanted = Wanted(
            validate.as_choice(asked["layout"], "layout", get_args(Layout)),
            columns,
            validate.as_flag(asked["decimal_comma"], "decimal_comma"),
        )
        limit = Limit()
        if asked["unpack_limit"] is not None:
            limit = Limit(validate.as_count(asked["unpack_limit"], "unpack_limit", high=2**63 - 1), math.inf)
        return cls(
            wanted,
            validate.as_choice(asked["duplicates"], "duplicates", DUPLICATES),
            validate.as_count(asked["min_person"], "min_person", low=0),
            validate.as_count(asked["min_action"], "min_action", low=0),
            limit,
        )


def rows_of(source: Source, reading: Reading) -> tuple[Long, pl.LazyFrame, dict[str, int]]:
    """Return how a table is laid out, its rows with clean labels and numbers, and what was left out of it."""
    with unreadable(source):
        long = to_long(source, reading.wanted)
        clean, blank = clean_rows(long, source, decimal_comma=reading.wanted.decimal_comma)
    return long, clean, {**long.left_out, "blank_lines": blank + long.left_out.get("blank_lines", 0)}


@contextlib.contextmanager
def unreadable(source: Source) -> Iterator[None]:
    """Say what is wrong with a table that a library cannot read."""
    try:
        yield
    except InvalidInput:
        raise
    except source.faults as error:
        said = find_fault(source) or f"cannot read {source.name}: {reason(error, source.remedy)}"
        raise InvalidInput(said) from None


def nothing_left(ratings: int, source: Source, reading: Reading) -> InvalidInput:
    """Return the error for a log that is empty, or was left empty by the limits."""
    if not ratings:
        below = "" if source.kind == "frame" else " below its header"
        return InvalidInput(f"{source.name} has no ratings{below}; give at least one row")
    return InvalidInput(
        f"no rating is left of the {ratings} in {source.name} with min_person {reading.min_person} and min_action "
        f"{reading.min_action}; lower these limits"
    )


def clean_rows(long: Long, source: Source, *, decimal_comma: bool = False) -> tuple[pl.LazyFrame, int]:
    """Return the table with clean labels and numbers, and how many lines were blank, after a pass over the file."""
    table, word = long.rows, "rank" if long.ranks else "rating"
    schema = table.collect_schema()
    if not (is_text(schema["rating"]) or schema["rating"].is_numeric() or schema["rating"] == pl.Null):
        raise InvalidInput(
            f"the {word}s of {source.name} are {schema['rating']} values; they must be numbers: name another column, "
            "or write them as numbers"
        )
    value = number(pl.col("rating"), schema["rating"], decimal_comma=decimal_comma)
    bad = {
        "person is missing": _is_missing("person", schema["person"]),
        "action is missing": _is_missing("action", schema["action"]),
        f"{word} is missing": pl.col("rating").is_null() | value.is_nan(),
        f"{word} is not a finite number": pl.col("rating").is_not_null() & (value.is_null() | value.is_infinite()),
        f"{word} is not within ±{validate.MAX_ABS_VALUE:g}": value.is_finite() & (value.abs() > validate.MAX_ABS_VALUE),
    }
    tests = {what: test.fill_null(False) & ~pl.col("blank") for what, test in bad.items()}
    found = (
        table.select(
            pl.col("blank").sum(),
            *(all_integers(role, schema[role], source).alias(role) for role in ("person", "action")),
            *(_bytes_of(role, schema[role]).alias(f"{role}|bytes") for role in ("person", "action")),
            *(pl.col("row").filter(test).min().alias(f"{what}|row") for what, test in tests.items()),
            *(test.sum().alias(f"{what}|count") for what, test in tests.items()),
        )
        .collect(engine="streaming")
        .row(0, named=True)
    )
    for role in ("person", "action"):
        taken = int(found[f"{role}|bytes"])
        if taken > source.most:
            raise InvalidInput(
                f"the labels of the {role} column of {source.name} unpack to {taken:,} bytes; for a file of its size "
                f"{source.most:,} is the limit: shorten them, or raise it by unpack_limit=… (--unpack-limit 50GB)"
            )
    rows = {what: int(found[f"{what}|row"]) for what in bad if found[f"{what}|row"] is not None}
    if rows:
        what = min(rows, key=lambda why: rows[why])
        count = pluralize(int(found[f"{what}|count"]), "such row" if long.layout == "long" else "such rating")
        raise _bad_row(table, source, rows[what], what, count)
    labels = [label_expr(role, schema[role], whole=found[role]) for role in ("person", "action")]
    lines = table.filter(~pl.col("blank")) if found["blank"] else table  # without a filter, slices skip row groups
    clean = lines.select("row", *labels, value.alias("rating"))
    return clean, int(found["blank"])


def label_expr(role: str, dtype: pl.DataType, *, whole: bool) -> pl.Expr:
    """Return a column's labels: whole numbers, or text."""
    if not is_text(dtype):
        return pl.col(role).cast(pl.Int64 if whole else pl.String)
    text = pl.col(role).cast(pl.String)  # categories do not become numbers at once
    return _plain(text).cast(pl.Int64) if whole else text


def _plain(text: pl.Expr) -> pl.Expr:
    """Return labels as numbers are spelt: 7.0, as tables have it that once had gaps, is 7."""
    return text.str.replace(r"^(-?[0-9]+)\.0$", "${1}")


def _is_missing(role: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(role)
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


def all_integers(role: str, dtype: pl.DataType, source: Source) -> pl.Expr:
    """Return whether all labels are whole numbers; text counts when it is spelt exactly as the number would be."""
    column = pl.col(role)
    if dtype.is_integer():
        return ((column <= 2**63 - 1) & (column >= -(2**63))).all()
    if is_text(dtype):
        text = _plain(column if dtype == pl.String else column.unique().cast(pl.String))
        return (text.cast(pl.Int64, strict=False).cast(pl.String) == text).fill_null(text.is_null()).all()
    if dtype.is_float():
        return ((column == column.round()) & (column.abs() < 2**63)).all()
    if dtype == pl.Null:
        return pl.lit(True)
    raise InvalidInput(f"the {role} column of {source.name} holds {dtype} values; labels must be text or whole numbers")


def _bytes_of(role: str, dtype: pl.DataType) -> pl.Expr:
    """Return how many bytes the labels take, written out: a dictionary may stand for far more than it holds."""
    column = pl.col(role)
    if dtype == pl.String:
        return column.str.len_bytes().cast(pl.Int64).sum()
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cat.len_bytes().cast(pl.Int64).sum()
    return pl.lit(0)


def _bad_row(table: pl.LazyFrame, source: Source, row: int, what: str, count: str) -> InvalidInput:
    value = table.filter(pl.col("row") == row).collect().row(0, named=True)["rating"]
    shown = what.replace(" is not", f" is {value!r}, not")
    hint = comma_hint(value) or "correct or remove the row"
    return InvalidInput(f"{source.place(row)}: {shown} ({count} in all); {hint}")


def _filtered(frame: pl.DataFrame, low_person: int, low_action: int) -> tuple[pl.DataFrame, dict[str, int]]:
    """Keep people, then actions, with enough ratings; count what is left out."""
    dropped = {}
    people = frame["person"].n_unique()
    for role, low, plural in (("person", low_person, "people"), ("action", low_action, "actions")):
        counts = frame.group_by(role).len()
        few = counts.filter(pl.col("len") < low)
        dropped[f"{plural}_below_min_{role}"] = len(few)
        dropped[f"ratings_of_{plural}_below_min_{role}"] = int(few["len"].sum())
        if len(few):
            frame = frame.join(few, on=role, how="anti")
    left = frame["person"].n_unique()
    dropped["people_left_without_ratings"] = people - dropped["people_below_min_person"] - left
    return frame, dropped


def _ratings(frame: pl.DataFrame, dropped: dict[str, int], source: Source, layout: str) -> Ratings:
    if len(frame) > MOST:
        raise InvalidInput(f"there are {len(frame)} ratings; at most {MOST} fit: keep a sample of the people")
    people, actions = Codes(frame["person"]), Codes(frame["action"])
    try:
        return Ratings.from_codes(
            people.of(frame["person"]),
            actions.of(frame["action"]),
            frame["rating"].to_numpy(),
            people=people.labels,
            actions=actions.labels,
            dropped=dropped,
            layout=layout,
        )
    except InvalidInput:
        raise repeat_error(frame, source) from None
