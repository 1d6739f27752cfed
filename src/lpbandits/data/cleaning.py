"""Cleaning: valid labels and numbers, one rating per person and action, and minimum counts.

Each step processes one bucket at a time: all ratings of some of the people. A log in memory is one bucket.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from lpbandits import validate
from lpbandits.data.columns import ReadOptions, clipped, comma_hint, is_text, number
from lpbandits.data.layouts import LongTable, to_long
from lpbandits.data.spill import Codes
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.text import pluralize
from lpbandits.typing import Int32Array, IntArray, Label

ROW = np.dtype([("row", "i8"), ("person", "i4"), ("action", "i4"), ("rating", "f8")])
"""A rating with the indices of its person and action, and its row in the source."""

REASONS = (
    "people_below_min_person",
    "ratings_of_people_below_min_person",
    "actions_below_min_action",
    "ratings_of_actions_below_min_action",
    "people_left_without_ratings",
)
"""Keys that `Ratings.dropped` has for every log that is read, in addition to blank lines."""

MAX_REPEATS = 2**20
"""Stop looking for repeated rows once more than this many were found."""

Bucket = Sequence[NDArray[Any]]
"""Persons (or counts per person), actions and ratings, sorted by person and action."""

BLANK = r"^[\s\x1c-\x1f]*$"
"""Text that is empty or all white space, as `str.strip` defines it."""


def clean_rows(table: Table, options: ReadOptions) -> LongTable:
    """Validate all rows of a table in one pass; return row, person, action and rating with valid values."""
    with table.readable():
        long = to_long(table, options)
        rows, word = long.rows, "rank" if long.ranks else "rating"
        schema = rows.collect_schema()
        if not (is_text(schema["rating"]) or schema["rating"].is_numeric() or schema["rating"] == pl.Null):
            raise InvalidInput(
                f"the {word}s of {table.name} must be numbers, got {schema['rating']} values; name another column, or "
                "write them as numbers"
            )
        value = number(pl.col("rating"), schema["rating"], decimal_comma=options.decimal_comma)
        outside = value.is_finite() & (value.abs() > validate.MAX_ABS_VALUE)
        faults = {
            **label_faults("person", schema["person"]),
            **label_faults("action", schema["action"]),
            f"{word} is missing": pl.col("rating").is_null() | value.is_nan(),
            f"{word} is not a finite number": pl.col("rating").is_not_null() & (value.is_null() | value.is_infinite()),
            f"{word} is not within ±{validate.MAX_ABS_VALUE:g}": outside,
        }
        faults = {what: test.fill_null(False) & ~pl.col("blank") for what, test in faults.items()}
        checked = (
            rows.select(
                pl.col("blank").sum(),
                *(all_integers(role, schema[role], table).alias(role) for role in ("person", "action")),
                *(pl.col("row").filter(test).min().alias(what) for what, test in faults.items()),
            )
            .collect(engine="streaming")
            .row(0, named=True)
        )
        first = {what: checked[what] for what in faults if checked[what] is not None}
        if first:
            what = min(first, key=lambda fault: first[fault])
            raise _row_error(table, long, what, rows.filter(faults[what]), first[what])
        labels = [label_expr(role, schema[role], integers=checked[role]) for role in ("person", "action")]
    lines = rows.filter(~pl.col("blank")) if checked["blank"] else rows  # without a filter polars skips row groups
    dropped = {**long.dropped, "blank_lines": int(checked["blank"]) + long.dropped.get("blank_lines", 0)}
    return replace(long, rows=lines.select("row", *labels, value.alias("rating")), dropped=dropped)


def _row_error(table: Table, long: LongTable, what: str, invalid: pl.LazyFrame, row: int) -> InvalidInput:
    """Return the error for invalid rows, of which `row` is the first."""
    first = invalid.filter(pl.col("row") == row).head(1).collect().row(0, named=True)
    n_invalid = invalid.select(pl.len()).collect(engine="streaming").item()
    count = pluralize(n_invalid, "such row" if long.layout == "long" else "such rating")
    remedy = comma_hint(first["rating"]) or "correct or remove the row"
    if long.layout == "wide" and "rating" in what:
        what = what.replace("rating", f"rating of {first['action']!r}")
        remedy = comma_hint(first["rating"]) or "correct it, or drop the column if it is not an action"
    value = first[what.partition(" ")[0]] if what.startswith(("person", "action")) else first["rating"]
    shown = what.replace(" is not", f" is {value!r}, not")
    return InvalidInput(f"{table.place(row)}: {shown} ({count} in all); {remedy}")


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


def label_expr(role: str, dtype: pl.DataType, *, integers: bool) -> pl.Expr:
    """Return the labels of a column as integers or text."""
    if not is_text(dtype):
        return pl.col(role).cast(pl.Int64 if integers else pl.String)
    text = pl.col(role).cast(pl.String)  # categories cannot be cast to numbers directly
    return text.str.strip_suffix(".0").cast(pl.Int64) if integers else text


def all_integers(role: str, dtype: pl.DataType, table: Table) -> pl.Expr:
    """Return whether all labels are 64-bit integers; text counts if written as 7 or 7.0, not 07."""
    column = pl.col(role)
    if dtype.is_integer():
        return ((column <= 2**63 - 1) & (column >= -(2**63))).all()
    if is_text(dtype):
        text = clipped(column if dtype == pl.String else column.unique())
        text = text.str.strip_suffix(".0")  # pandas writes integers as floats if some are missing
        return (text.cast(pl.Int64, strict=False).cast(pl.String) == text).fill_null(text.is_null()).all()
    if dtype.is_float():
        return ((column == column.round()) & (column.abs() < 2**63)).all()
    if dtype == pl.Null:
        return pl.lit(True)
    raise InvalidInput(f"the {role} column of {table.name} must hold text or whole numbers, got {dtype} values")


class Cleaner:
    """Removes repeated ratings, people and actions with few ratings, and counts what it drops.

    `people` and `actions` are the labels that are kept, known once all buckets are clean.
    """

    people: tuple[Label, ...]
    actions: tuple[Label, ...]

    def __init__(self, table: Table, options: ReadOptions, clean: LongTable, people: Codes, actions: Codes) -> None:
        if not len(people.series):
            raise InvalidInput(f"{table.name} has no ratings; give at least one row")
        self._table, self._options, self._ranks = table, options, clean.ranks
        self._people, self._actions = people, actions
        self._counts = np.zeros(len(actions.series), dtype=np.int64)
        self._repeats: list[NDArray[Any]] = []
        self._n_ratings = 0
        self.layout = clean.layout
        self.dropped = dict(clean.dropped)
        if options.duplicates != "error":
            self.dropped["repeated_ratings"] = 0
        self.dropped |= dict.fromkeys(REASONS, 0)

    def clean(
        self, buckets: Iterable[NDArray[Any]], hold: Callable[[Iterable[Bucket]], Iterable[Bucket]] = list
    ) -> Iterator[Bucket]:
        """Yield the counts per person, the actions and the ratings of each bucket of `ROW`.

        `hold` keeps sorted buckets until all are sorted: which actions are kept depends on all of them.
        """
        held = hold(map(self._sort, buckets))
        if self._repeats:
            raise self._repeat_error()
        few = (self._counts > 0) & (self._counts < self._options.min_action)
        self.dropped["actions_below_min_action"] = int(few.sum())
        self.dropped["ratings_of_actions_below_min_action"] = int(self._counts[few].sum())
        kept_actions = (self._counts > 0) & ~few
        if not kept_actions.any():
            raise InvalidInput(
                f"none of the {self._n_ratings} ratings in {self._table.name} remain with min_person "
                f"{self._options.min_person} and min_action {self._options.min_action}; lower these limits"
            )
        index = (np.cumsum(kept_actions) - 1).astype(np.int32)
        kept_people = np.zeros(len(self._people.series), dtype=np.bool_)
        for bucket in held:
            person, action, rating = bucket
            n_people = int(np.count_nonzero(np.diff(person, prepend=-1)))
            if not kept_actions.all():
                kept = kept_actions[action]
                person, action, rating = person[kept], index[action[kept]], rating[kept]
            starts = np.flatnonzero(np.diff(person, prepend=-1))
            kept_people[person[starts]] = True
            self.dropped["people_left_without_ratings"] += n_people - len(starts)
            yield np.diff(np.append(starts, len(person))), action, rating
        self.people = tuple(itertools.compress(self._people.labels, kept_people))
        self.actions = tuple(itertools.compress(self._actions.labels, kept_actions))

    def _sort(self, rows: NDArray[Any]) -> Bucket:
        """Return a bucket of `ROW` sorted by person and action, one rating each, without people below `min_person`."""
        duplicates = self._options.duplicates
        person, action = (np.ascontiguousarray(rows[name]) for name in ("person", "action"))
        first = int(person.min())
        order = np.arange(len(rows))
        if duplicates != "error":  # sums of means do not depend on the order of the rows if ratings are sorted
            order = np.argsort(rows["row" if duplicates == "last" else "rating"], kind="stable")
        order = stable_order(action, order, len(self._counts))
        order = stable_order(person - first, order, int(person.max()) - first + 1)
        person, action, rating = person[order], action[order], rows["rating"][order]
        again = np.zeros(len(rows), dtype=np.bool_)
        again[1:] = (person[1:] == person[:-1]) & (action[1:] == action[:-1])
        if again.any() and duplicates == "error":
            self._repeats.append(rows[order[again | np.append(again[1:], False)]])
            if sum(map(len, self._repeats)) > MAX_REPEATS:
                raise self._repeat_error()
        elif again.any():
            starts = np.flatnonzero(~again)
            counts = np.diff(starts, append=len(rows))
            last = duplicates == "last"
            rating = rating[starts + counts - 1] if last else np.add.reduceat(rating, starts) / counts
            person, action = person[starts], action[starts]
            self.dropped["repeated_ratings"] += len(rows) - len(starts)
        if self._ranks:  # the best of k actions gets k; ties share the mean of their ranks
            ranks = pl.DataFrame({"person": person, "rank": rating})
            ranks = ranks.select(pl.col("rank").rank("average").over("person"))
            rating = len(self._counts) + 1 - ranks.to_series().to_numpy()
        self._n_ratings += len(person)
        counts = np.bincount(person - first)
        few = (counts > 0) & (counts < self._options.min_person)
        if few.any():
            self.dropped["people_below_min_person"] += int(few.sum())
            self.dropped["ratings_of_people_below_min_person"] += int(counts[few].sum())
            enough = ~few[person - first]
            person, action, rating = person[enough], action[enough], rating[enough]
        self._counts += np.bincount(action, minlength=len(self._counts))
        return person, action, rating

    def _repeat_error(self) -> InvalidInput:
        rows = np.concatenate(self._repeats)
        rows = rows[np.argsort(rows["row"], kind="stable")]
        pairs = rows[["person", "action"]]
        same = rows["row"][pairs == pairs[0]]
        n_repeats = len(rows) - len(np.unique(pairs))
        person, action = self._people.labels[rows["person"][0]], self._actions.labels[rows["action"][0]]
        place = self._table.place
        return InvalidInput(
            f"{place(int(same[1]))}: person {person!r} rated action {action!r} again, first on {place(int(same[0]))} "
            f"({pluralize(n_repeats, 'repeat')} in all); keep one rating per person and action: duplicates='last' "
            "(--duplicates last) keeps the last row, 'mean' the mean"
        )


def stable_order(key: Int32Array, order: IntArray, n_keys: int) -> IntArray:
    """Return `order` stably sorted by key[order], by counting.

    >>> stable_order(np.array([1, 0, 1, 0]), np.arange(4), 2).tolist()
    [1, 3, 0, 2]
    """
    rows = sparse.coo_array((order, (key[order], np.zeros(len(order), dtype=np.int32))), shape=(n_keys, 1))
    rows.has_canonical_format = True  # or equal keys would be added up
    return rows.tocsr().data
