"""Reading a log of ratings from a table, lazily, and saying exactly what is wrong with it."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput, door
from lpbandits.files.unpacking import Limit
from lpbandits.recovery.rating_files import AGAIN, Source, find_fault, open_source
from lpbandits.recovery.ratings import MOST, Ratings
from lpbandits.recovery.report import counted
from lpbandits.typing import IntArray, Label

GUESSES = {
    "person": ["person", "user", "reader", "customer", "patient", "people", "uid", "member", "viewer"],
    "action": ["action", "item", "movie", "book", "isbn", "product", "film", "song", "artist", "track", "arm"],
    "rating": ["rating", "score", "stars", "reward", "grade", "ratings", "bookrating", "value"],
}
"""Column names that are recognised, ignoring case, punctuation and a final 'id'."""


@door("reading ratings")
def read_ratings(
    path: str | Path,
    *,
    person: str | None = None,
    action: str | None = None,
    rating: str | None = None,
    min_person: int = 0,
    min_action: int = 0,
    unpack_limit: int | None = None,
) -> Ratings:
    r"""Read a log of ratings: CSV or TSV (gzipped or not), Parquet, or a MovieLens folder or zip.

    Parameters
    ----------
    path
        One rating per row. Further columns are ignored.
    person, action, rating
        Names of the columns; guessed from the header when obvious.
    min_person
        Keep people with at least this many ratings. People are filtered first, then actions, one pass each (the order
        that gives the paper's MovieLens data), so some people may end up below it.
    min_action
        Keep actions with at least this many ratings by the people kept.
    unpack_limit
        Bytes that a compressed file may unpack to; by default 20 GB, and 200 times its own size.

    Nothing is dropped silently: `Ratings.dropped` counts what the filters left out, and a missing or non-numeric value
    or a repeated (person, action) is an error that names the row.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name) / "log.csv"
    >>> _ = table.write_text("userId,movieId,rating\n1,10,4.5\n1,20,3\n2,10,5\n")
    >>> read_ratings(table, min_person=2)
    <Ratings: 2 by 1 people of 2 actions>
    >>> read_ratings(table, min_person=2).dropped["people_below_min_person"]
    1
    >>> folder.cleanup()
    """
    low_person = validate.as_count(min_person, "min_person", low=0)
    low_action = validate.as_count(min_action, "min_action", low=0)
    limit = Limit()
    if unpack_limit is not None:
        limit = Limit(validate.as_count(unpack_limit, "unpack_limit", high=2**63 - 1), math.inf)
    with open_source(path, limit) as source:
        try:
            table = scan_table(source, {"person": person, "action": action, "rating": rating})
            clean, blank = checked_table(table, source)
            frame = clean.collect(engine="streaming")
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InvalidInput(find_fault(source) or f"cannot read {source.name}: {first}; {AGAIN}") from None
        kept, dropped = _filtered(frame, low_person, low_action)
        if kept.is_empty():
            raise InvalidInput(
                f"no rating is left of the {len(frame)} in {source.name} with min_person {low_person} and min_action "
                f"{low_action}; lower these limits"
                if len(frame)
                else f"{source.name} has no ratings below its header; give at least one row"
            )
        return _ratings(kept, {"blank_lines": blank, **dropped}, source)


def guess_columns(
    columns: list[str], given: Mapping[str, str | None], name: str, roles: Iterable[str] = tuple(GUESSES)
) -> dict[str, str]:
    """Return which column is the person, the action and the rating, or those of them that are asked for.

    >>> guess_columns(["User-ID", "ISBN", "Book-Rating"], {}, "books.csv")
    {'person': 'User-ID', 'action': 'ISBN', 'rating': 'Book-Rating'}
    """
    chosen = {}
    for role, words in ((role, GUESSES[role]) for role in roles):
        wanted = given.get(role)
        if wanted is not None:
            wanted = validate.as_text(wanted, role)
            if wanted not in columns:
                raise InvalidInput(
                    f"{name} has no column {wanted!r} for the {role}; its columns are {_listed(columns)}"
                )
            chosen[role] = wanted
            continue
        found = [column for column in columns if word_of(column) in words]
        if len(found) != 1:
            why = "no column" if not found else f"{len(found)} columns ({_listed(found)})"
            raise InvalidInput(
                f"{why} of {name} could be the {role}; its columns are {_listed(columns)}: name one with "
                f"{role}=… (--{role})" + _header_hint(columns)
            )
        chosen[role] = found[0]
    if len(set(chosen.values())) < len(chosen):
        raise InvalidInput(
            f"person, action and rating must be three columns of {name}; chosen are {_listed(chosen.values())}"
        )
    return chosen


def word_of(column: str) -> str:
    """Return what a column is called, without case, punctuation and a final "id"."""
    word = "".join(letter for letter in column.lower() if letter.isalnum())
    return word.removesuffix("id") if len(word) > 3 else word


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _header_hint(columns: list[str]) -> str:
    numeric = sum(column.replace(".", "", 1).lstrip("-").isdigit() for column in columns)
    return "; the first line looks like data: add a header line" if 2 * numeric > len(columns) else ""


def scan_table(source: Source, given: Mapping[str, str | None]) -> pl.LazyFrame:
    """Return row, blank (is the whole line empty?), person, action and rating, as the file has them."""
    if source.parquet:
        raw = pl.scan_parquet(source.path)
    else:
        raw = pl.scan_csv(
            source.path, separator=source.separator, has_header=source.columns is None, infer_schema=False
        )
    names = raw.collect_schema().names()
    if source.columns:
        names = names[:: source.step]
        if len(names) < len(source.columns):
            raise InvalidInput(f"{source.name} has {len(names)} columns; it must have {', '.join(source.columns)}")
        renamed = dict(zip(names, source.columns, strict=False))
        raw = raw.rename(renamed)
        names = list(renamed.values())
    chosen = guess_columns(names, given, source.name)
    blank = pl.lit(False) if source.parquet else pl.all_horizontal(pl.all().is_null())
    columns = [pl.col(column).alias(role) for role, column in chosen.items()]
    return raw.select(blank.alias("blank"), *columns).with_row_index("row")


def checked_table(table: pl.LazyFrame, source: Source) -> tuple[pl.LazyFrame, int]:
    """Return the table with clean labels and numbers, and how many lines were blank, after a pass over the file."""
    schema = table.collect_schema()
    if schema["rating"] != pl.String and not schema["rating"].is_numeric():
        raise InvalidInput(f"the ratings of {source.name} are {schema['rating']} values; they must be numbers")
    text = schema["rating"] == pl.String
    number = (pl.col("rating").str.strip_chars() if text else pl.col("rating")).cast(pl.Float64, strict=False)
    bad = {
        "person is missing": pl.col("person").is_null(),
        "action is missing": pl.col("action").is_null(),
        "rating is missing": pl.col("rating").is_null() | number.is_nan(),
        "rating is not a finite number": pl.col("rating").is_not_null() & (number.is_null() | number.is_infinite()),
        f"rating is not within ±{validate.LARGEST:g}": number.is_finite() & (number.abs() > validate.LARGEST),
    }
    tests = {what: test.fill_null(False) & ~pl.col("blank") for what, test in bad.items()}
    found = (
        table.select(
            pl.col("blank").sum(),
            *(is_whole(role, schema[role], source).alias(role) for role in ("person", "action")),
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
        what = min(rows, key=lambda reason: rows[reason])
        raise _bad_row(table, source, rows[what], what, int(found[f"{what}|count"]))
    labels = [pl.col(role).cast(pl.Int64 if found[role] else pl.String) for role in ("person", "action")]
    clean = table.filter(~pl.col("blank")).select("row", *labels, number.alias("rating"))
    return clean, int(found["blank"])


def is_whole(role: str, dtype: pl.DataType, source: Source) -> pl.Expr:
    """Return whether all labels are whole numbers; text counts when it is spelt exactly as the number would be."""
    column = pl.col(role)
    if dtype.is_integer():
        return pl.lit(True)
    if dtype == pl.String:
        return (column.cast(pl.Int64, strict=False).cast(pl.String) == column).fill_null(column.is_null()).all()
    if dtype.is_float():
        return (column == column.round()).all()
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return pl.lit(False)
    raise InvalidInput(f"the {role} column of {source.name} holds {dtype} values; labels must be text or whole numbers")


def _bytes_of(role: str, dtype: pl.DataType) -> pl.Expr:
    """Return how many bytes the labels take, written out: a dictionary may stand for far more than it holds."""
    column = pl.col(role)
    if dtype == pl.String:
        return column.str.len_bytes().cast(pl.Int64).sum()
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cat.len_bytes().cast(pl.Int64).sum()
    return pl.lit(0)


def _bad_row(table: pl.LazyFrame, source: Source, row: int, what: str, count: int) -> InvalidInput:
    value = table.filter(pl.col("row") == row).collect().row(0, named=True)["rating"]
    shown = what.replace("rating is not", f"rating is {value!r}, not")
    return InvalidInput(
        f"{source.place(row)}: {shown} ({counted(count, 'such row')} in all); correct or remove the row"
    )


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


def _ratings(frame: pl.DataFrame, dropped: dict[str, int], source: Source) -> Ratings:
    if len(frame) > MOST:
        raise InvalidInput(f"there are {len(frame)} ratings; at most {MOST} fit: keep a sample of the people")
    people, person = _coded(frame["person"])
    actions, action = _coded(frame["action"])
    try:
        return Ratings.from_codes(
            person, action, frame["rating"].to_numpy(), people=people, actions=actions, dropped=dropped
        )
    except InvalidInput:
        raise _repeat(frame, source) from None


def _coded(column: pl.Series) -> tuple[tuple[Label, ...], IntArray]:
    """Return the sorted labels, and the place of each row's label among them."""
    labels = column.unique().sort()
    if column.dtype == pl.Int64:
        low, high = int(labels[0]), int(labels[-1])
        if high - low < 2 * len(column) + 1_000_000:  # a table of all whole numbers between is small enough
            table = np.zeros(high - low + 1, dtype=np.int64)
            table[labels.to_numpy() - low] = np.arange(len(labels))
            return tuple(labels.to_list()), table[column.to_numpy() - low]
    places = labels.to_frame().with_row_index("code")
    codes = column.to_frame().join(places, on=column.name, how="left", maintain_order="left")["code"]
    return tuple(labels.to_list()), codes.to_numpy().astype(np.int64)


def _repeat(frame: pl.DataFrame, source: Source) -> InvalidInput:
    """Return the error for a (person, action) that occurs twice: which, and where."""
    again = frame.sort("row").filter(pl.struct("person", "action").is_duplicated())
    person, action = again.row(0, named=True)["person"], again.row(0, named=True)["action"]
    rows = again.filter((pl.col("person") == person) & (pl.col("action") == action))["row"].to_list()
    repeats = len(again) - again.select("person", "action").n_unique()
    return InvalidInput(
        f"{source.place(rows[1])}: person {person!r} rated action {action!r} again, first on {source.place(rows[0])} "
        f"({counted(repeats, 'repeat')} in all); keep one rating per person and action, for instance the latest"
    )
