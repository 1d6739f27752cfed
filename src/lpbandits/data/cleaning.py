"""Cleaning: valid labels and numbers, one rating per person and action, and minimum counts.

Each step processes one bucket at a time: all ratings of some of the people. A log in memory is one bucket.
"""

import functools
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from lpbandits.data.columns.cells import BLANKS, clipped, is_blank, is_text, number
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.columns.times import time_number
from lpbandits.data.faults import (
    MAX_SEARCHED,
    NOT_FINITE,
    all_problems,
    label_faults,
    repeat_error,
    repeats_among,
    value_faults,
)
from lpbandits.data.layouts import LongTable, to_long
from lpbandits.data.spill import Codes
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.text import pluralize
from lpbandits.typing import Int32Array, IntArray, Label

ROW = np.dtype([("row", "i8"), ("person", "i4"), ("action", "i4"), ("rating", "f8")])
"""A rating with the indices of its person and action, and its row in the source."""

TIMED_ROW = np.dtype([*ROW.descr, ("time", "f8")])
"""The same with its time."""

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


def clean_rows(
    table: Table,
    options: ReadOptions,
    *,
    known: Collection[str] | None = None,
    pending: bool = False,
    check: Callable[[pl.LazyFrame, str], list[InvalidInput]] | None = None,
) -> LongTable:
    """Validate all rows of a table; return row, person, action, rating and, if named, time, with valid values.

    With `pending`, rows without a rating are kept, with null. `known` is that of `to_long`. `check`
    returns errors of valid rows in a layout; it is only called if there are others, to report all problems at once.
    """
    with table.readable():
        long = to_long(table, options, known)
        schema, word = long.rows.collect_schema(), "rank" if long.ranks else "rating"
        if long.ranks and options.lower_is_better:
            raise InvalidInput(
                f"lower_is_better must be False for rankings, and {table.name} holds rankings, where 1 is the best; "
                "leave it out (--lower-is-better)"
            )
        if not (is_text(schema["rating"]) or schema["rating"].is_numeric() or schema["rating"] == pl.Null):
            raise InvalidInput(
                f"the {word}s of {table.name} must be numbers, got {schema['rating']} values; name another column, or "
                "write them as numbers"
            )
        skips = options.missing == "skip" and not pending
        faults = {
            **label_faults("person", schema["person"]),
            **label_faults("action", schema["action"]),
            **value_faults(word, may_be_missing=skips or pending),
        }
        if "time" in schema:
            faults["time is not a number or a date"] = pl.col("moment").is_null()
        for words in (False, True):  # few tables have words for a missing rating, and comparing them takes long
            rows = _with_values(long.rows, options, skips=skips, words=words)
            checked = _check(table, rows, schema, faults)
            if not (is_text(schema["rating"]) and checked[f"{word} {NOT_FINITE}"]):
                break
        labels = [label_expr(role, schema[role], integers=checked[role]) for role in ("person", "action")]
        found = {what: test.fill_null(False) & pl.col("used") for what, test in faults.items() if checked[what]}
        if found:
            valid = rows.filter(pl.col("used") & ~pl.any_horizontal(*found.values())).select("row", *labels)
            others = [] if check is None else check(valid, long.layout)
            if options.duplicates == "error" and not pending and checked["rows"] <= MAX_SEARCHED:
                others += repeats_among(table, valid)
            raise all_problems(table, replace(long, rows=rows), found, others)
    rating = pl.col("number")
    if options.lower_is_better:
        rating = pl.when(rating == 0).then(0.0).otherwise(-rating)  # 0.0 - x is -0.0 in polars
    times = {"time": pl.col("moment")} if "time" in schema else {}
    unused = checked["blank"] or checked["missing"]  # without a filter polars skips row groups
    lines = rows.filter(pl.col("used")) if unused else rows
    dropped = {**long.dropped, "blank_lines": int(checked["blank"]) + long.dropped.get("blank_lines", 0)}
    if long.layout == "long" and skips:
        dropped["missing_ratings"] = int(checked["missing"])
    return replace(long, rows=lines.select("row", *labels, rating=rating, **times), dropped=dropped)


def _with_values(rows: pl.LazyFrame, options: ReadOptions, *, skips: bool, words: bool) -> pl.LazyFrame:
    """Add the `number` of each rating, the `moment` of its time, and whether a row is `absent` and `used`.

    Without `words`, only empty cells and NaN are absent ratings.
    """
    schema = rows.collect_schema()
    rating = schema["rating"]
    values = {"number": number(pl.col("rating"), rating, decimal_comma=options.decimal_comma)}
    if "time" in schema:
        values["moment"] = _times(rows, schema["time"], options)
    absent = (is_blank("rating", rating, BLANKS if words else ()) | pl.col("number").is_nan()).fill_null(False)
    rows = rows.with_columns(**values).with_columns(absent=absent)
    return rows.with_columns(used=~pl.col("blank") & ~(pl.col("absent") & skips))


def _check(table: Table, rows: pl.LazyFrame, schema: pl.Schema, faults: Mapping[str, pl.Expr]) -> dict[str, Any]:
    """Count rows, blank and skipped ones, and return which faults occur and which labels are integers."""
    used, roles = pl.col("used"), ("person", "action")
    counts = {"rows": pl.len(), "blank": pl.col("blank").sum(), "missing": (~used & ~pl.col("blank")).sum()}
    integers = {role: all_integers(role, schema[role], table, used) for role in roles}
    found = {what: (test & used).any() for what, test in faults.items()}
    return rows.select(**counts, **integers, **found).collect(engine="streaming").row(0, named=True)


def _times(rows: pl.LazyFrame, dtype: pl.DataType, options: ReadOptions) -> pl.Expr:
    """Return the times as numbers; a column of text holds numbers if most of its cells are numbers."""
    moment = functools.partial(time_number, pl.col("time"), dtype, name=str(options.time))
    if not is_text(dtype):
        return moment(dates=False)
    share = rows.select(moment(dates=False).is_not_null().mean()).collect(engine="streaming").item()
    return moment(dates=(share or 0.0) < 0.5)


def label_expr(role: str, dtype: pl.DataType, *, integers: bool) -> pl.Expr:
    """Return the labels of a column as integers or text."""
    if not is_text(dtype):
        return pl.col(role).cast(pl.Int64 if integers else pl.String)
    text = pl.col(role).cast(pl.String)  # categories cannot be cast to numbers directly
    return text.str.strip_suffix(".0").cast(pl.Int64) if integers else text


def all_integers(role: str, dtype: pl.DataType, table: Table, where: pl.Expr | None = None) -> pl.Expr:
    """Return whether all labels are 64-bit integers; text counts if written as 7 or 7.0, not 07.

    Labels of rows that are not `where` do not count.
    """
    column = pl.col(role) if where is None else pl.when(where).then(pl.col(role))
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
            missing = clean.dropped.get("missing_ratings")
            empty = f": the rating is missing in {pluralize(missing, 'row')}" if missing else ""
            raise InvalidInput(f"{table.name} has no ratings{empty}; give at least one row with a rating")
        self._table, self._options, self.ranks = table, options, clean.ranks
        self._people, self._actions = people, actions
        self._counts = np.zeros(len(actions.series), dtype=np.int64)
        self._repeats: list[NDArray[Any]] = []
        self._n_ratings = 0
        self.layout, self.lower_is_better = clean.layout, options.lower_is_better
        self.person_column = clean.person_column
        self.row_type = TIMED_ROW if options.time is not None else ROW
        self.dropped = dict(clean.dropped)
        self._repeated = "averaged_ratings" if options.duplicates == "mean" else "repeated_ratings"
        if options.duplicates != "error":
            self.dropped[self._repeated] = 0
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
        if duplicates == "mean":  # sums do not depend on the order of the rows if ratings are sorted
            order = np.argsort(rows["rating"], kind="stable")
        elif duplicates == "last":
            order = np.lexsort((rows["row"], rows["time"]) if self.row_type is TIMED_ROW else (rows["row"],))
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
            self.dropped[self._repeated] += len(rows) - len(starts)
        if self.ranks:  # the best of k actions gets k; ties share the mean of their ranks
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
        same = rows["row"][pairs == pairs[0]].tolist()
        n_repeats = len(rows) - len(np.unique(pairs))
        person, action = self._people.labels[rows["person"][0]], self._actions.labels[rows["action"][0]]
        return repeat_error(self._table, person, action, same, n_repeats)


def stable_order(key: Int32Array, order: IntArray, n_keys: int) -> IntArray:
    """Return `order` stably sorted by key[order], by counting.

    >>> stable_order(np.array([1, 0, 1, 0]), np.arange(4), 2).tolist()
    [1, 3, 0, 2]
    """
    rows = sparse.coo_array((order, (key[order], np.zeros(len(order), dtype=np.int32))), shape=(n_keys, 1))
    rows.has_canonical_format = True  # or equal keys would be added up
    return rows.tocsr().data
