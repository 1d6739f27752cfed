"""Cleaning: valid labels and numbers, one rating per person and action, and minimum counts.

The steps run bucket by bucket, a bucket holding all ratings of some people. A log in memory is one bucket.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from lpbandits import validate
from lpbandits.data.columns import ReadOptions, comma_hint, is_text, number
from lpbandits.data.layouts import LongTable, to_long
from lpbandits.data.sources import Source
from lpbandits.data.tables import readable
from lpbandits.errors import InvalidInput
from lpbandits.text import pluralize
from lpbandits.typing import BoolArray, FloatArray, Int32Array, IntArray, Label

ROW = np.dtype([("row", "i8"), ("person", "i4"), ("action", "i4"), ("rating", "f8")])
"""A rating with the indices of its person and action, and its row in the source."""

REASONS = (
    "people_below_min_person",
    "ratings_of_people_below_min_person",
    "actions_below_min_action",
    "ratings_of_actions_below_min_action",
    "people_left_without_ratings",
)
"""Reasons of `Ratings.dropped` that every log has, besides blank lines."""

Bucket = tuple[Int32Array, Int32Array, FloatArray]
"""Persons, actions and ratings, sorted by person and action."""


def clean_rows(source: Source, options: ReadOptions) -> LongTable:
    """Validate all rows of a source in one pass; return row, person, action and rating with valid values."""
    with readable(source):
        long = to_long(source, options)
        rows, blank = check_rows(long, source, decimal_comma=options.decimal_comma)
    dropped = {**long.dropped, "blank_lines": blank + long.dropped.get("blank_lines", 0)}
    return replace(long, rows=rows, dropped=dropped)


def check_rows(long: LongTable, source: Source, *, decimal_comma: bool = False) -> tuple[pl.LazyFrame, int]:
    """Return the rows with labels and numbers converted, and the number of blank lines; an invalid row raises."""
    table, word = long.rows, "rank" if long.ranks else "rating"
    schema = table.collect_schema()
    if not (is_text(schema["rating"]) or schema["rating"].is_numeric() or schema["rating"] == pl.Null):
        raise InvalidInput(
            f"the {word}s of {source.name} must be numbers, got {schema['rating']} values; name another column, or "
            "write them as numbers"
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
    checked = (
        table.select(
            pl.col("blank").sum(),
            *(all_integers(role, schema[role], source).alias(role) for role in ("person", "action")),
            *(pl.col("row").filter(test).min().alias(f"{what}|row") for what, test in tests.items()),
            *(test.sum().alias(f"{what}|count") for what, test in tests.items()),
        )
        .collect(engine="streaming")
        .row(0, named=True)
    )
    rows = {what: int(checked[f"{what}|row"]) for what in bad if checked[f"{what}|row"] is not None}
    if rows:
        what = min(rows, key=lambda why: rows[why])
        count = pluralize(int(checked[f"{what}|count"]), "such row" if long.layout == "long" else "such rating")
        content = table.filter(pl.col("row") == rows[what]).collect().row(0, named=True)["rating"]
        shown = what.replace(" is not", f" is {content!r}, not")
        hint = comma_hint(content) or "correct or remove the row"
        raise InvalidInput(f"{source.place(rows[what])}: {shown} ({count} in all); {hint}")
    labels = [label_expr(role, schema[role], integers=checked[role]) for role in ("person", "action")]
    lines = table.filter(~pl.col("blank")) if checked["blank"] else table  # without a filter, slices skip row groups
    return lines.select("row", *labels, value.alias("rating")), int(checked["blank"])


def label_expr(role: str, dtype: pl.DataType, *, integers: bool) -> pl.Expr:
    """Return the labels of a column as integers or text."""
    if not is_text(dtype):
        return pl.col(role).cast(pl.Int64 if integers else pl.String)
    text = pl.col(role).cast(pl.String)  # categories cannot be cast to numbers directly
    return _without_zero(text).cast(pl.Int64) if integers else text


def all_integers(role: str, dtype: pl.DataType, source: Source) -> pl.Expr:
    """Return whether all labels are 64-bit integers; text counts if it is the canonical spelling."""
    column = pl.col(role)
    if dtype.is_integer():
        return ((column <= 2**63 - 1) & (column >= -(2**63))).all()
    if is_text(dtype):
        text = _without_zero(column if dtype == pl.String else column.unique().cast(pl.String))
        return (text.cast(pl.Int64, strict=False).cast(pl.String) == text).fill_null(text.is_null()).all()
    if dtype.is_float():
        return ((column == column.round()) & (column.abs() < 2**63)).all()
    if dtype == pl.Null:
        return pl.lit(True)
    raise InvalidInput(f"the {role} column of {source.name} must hold text or whole numbers, got {dtype} values")


def _without_zero(text: pl.Expr) -> pl.Expr:
    """Return 7.0 as 7: tables that once had gaps are written so."""
    return text.str.replace(r"^(-?[0-9]+)\.0$", "${1}")


def _is_missing(role: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(role)
    return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()


class Cleaner:
    """Removes repeated ratings, people and actions with few ratings, and counts what it drops.

    Call `sort` for each bucket, then `finish`, then `select` for each sorted bucket in order.
    """

    def __init__(
        self, source: Source, options: ReadOptions, clean: LongTable, people: Sequence[Label], actions: Sequence[Label]
    ) -> None:
        self._source, self._options, self._ranks = source, options, clean.ranks
        self._people, self._actions = people, actions
        self._counts = np.zeros(len(actions), dtype=np.int64)
        self._repeats: list[NDArray[Any]] = []
        self._n_ratings = 0
        self._kept_people = np.zeros(len(people), dtype=np.bool_)
        self._kept_actions: BoolArray = np.zeros(len(actions), dtype=np.bool_)
        self.dropped = dict(clean.dropped)
        if options.duplicates != "error":
            self.dropped["repeated_ratings"] = 0
        self.dropped |= dict.fromkeys(REASONS, 0)

    @property
    def n_repeats(self) -> int:
        """Number of rows that share their person and action with another row."""
        return sum(map(len, self._repeats))

    @property
    def people(self) -> tuple[Label, ...]:
        """Labels of the people that are kept, after `select`."""
        return tuple(label for label, kept in zip(self._people, self._kept_people, strict=True) if kept)

    @property
    def actions(self) -> tuple[Label, ...]:
        """Labels of the actions that are kept, after `finish`."""
        return tuple(label for label, kept in zip(self._actions, self._kept_actions, strict=True) if kept)

    def sort(self, rows: NDArray[Any]) -> Bucket:
        """Return a bucket of `ROW` sorted by person and action, without people below `min_person`."""
        rows = self._merge_repeats(rows)
        person, action = (np.ascontiguousarray(rows[name]) for name in ("person", "action"))
        first = int(person.min(initial=2**31 - 1))
        order = stable_order(action, np.arange(len(rows)), len(self._actions))
        order = stable_order(person - first, order, int(person.max(initial=0)) - first + 1)
        person, action, rating = person[order], action[order], rows["rating"][order]
        again = (person[1:] == person[:-1]) & (action[1:] == action[:-1])
        if again.any():
            self._repeats.append(rows[order[np.append(again, False) | np.append(False, again)]])
        self._n_ratings += len(rows)
        counts = np.bincount(person - first)
        few = (counts > 0) & (counts < self._options.min_person)
        if few.any():
            self.dropped["people_below_min_person"] += int(few.sum())
            self.dropped["ratings_of_people_below_min_person"] += int(counts[few].sum())
            enough = ~few[person - first]
            person, action, rating = person[enough], action[enough], rating[enough]
        self._counts += np.bincount(action, minlength=len(self._actions))
        return person, action, rating

    def _merge_repeats(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Apply `duplicates`, and convert ranks to ratings."""
        duplicates = self._options.duplicates
        if duplicates == "error" and not self._ranks:
            return rows
        frame = pl.DataFrame({name: np.ascontiguousarray(rows[name]) for name in ROW.names or ()})
        if duplicates != "error":
            frame = merge_repeats(frame, duplicates)
            self.dropped["repeated_ratings"] += len(rows) - len(frame)
        if self._ranks:
            frame = ranks_to_ratings(frame, len(self._actions))
        return as_rows(frame["row"], frame["person"].to_numpy(), frame["action"].to_numpy(), frame["rating"])

    def finish(self) -> None:
        """Choose the actions with at least `min_action` ratings; repeated ratings or an empty log raise."""
        if self._repeats:
            raise self._repeat_error()
        few = (self._counts > 0) & (self._counts < self._options.min_action)
        self.dropped["actions_below_min_action"] = int(few.sum())
        self.dropped["ratings_of_actions_below_min_action"] = int(self._counts[few].sum())
        self._kept_actions = (self._counts > 0) & ~few
        if not self._kept_actions.any():
            raise empty_log(self._n_ratings, self._source, self._options)

    def select(self, person: Any, action: Any, rating: Any) -> tuple[IntArray, Int32Array, FloatArray]:
        """Return the counts per person, actions and ratings of a sorted bucket, without the actions not kept."""
        before = len(_starts(person))
        if not self._kept_actions.all():
            kept = self._kept_actions[action]
            index = (np.cumsum(self._kept_actions) - 1).astype(np.int32)
            person, action, rating = person[kept], index[action[kept]], rating[kept]
        starts = _starts(person)
        self._kept_people[person[starts]] = True
        self.dropped["people_left_without_ratings"] += before - len(starts)
        return np.diff(np.append(starts, len(person))), action, rating

    def _repeat_error(self) -> InvalidInput:
        rows = np.concatenate(self._repeats)
        rows = rows[np.argsort(rows["row"], kind="stable")]
        pairs = rows[["person", "action"]]
        same = rows["row"][pairs == pairs[0]]
        n_repeats = len(rows) - len(np.unique(pairs))
        person, action = self._people[int(rows["person"][0])], self._actions[int(rows["action"][0])]
        place = self._source.place
        return InvalidInput(
            f"{place(int(same[1]))}: person {person!r} rated action {action!r} again, first on {place(int(same[0]))} "
            f"({pluralize(n_repeats, 'repeat')} in all); keep one rating per person and action: duplicates='last' "
            "(--duplicates last) keeps the last row, 'mean' the mean"
        )


def as_rows(row: Any, person: Any, action: Any, rating: Any) -> NDArray[Any]:
    """Return columns as an array of `ROW`."""
    rows = np.empty(len(person), dtype=ROW)
    rows["row"], rows["person"], rows["action"], rows["rating"] = row, person, action, rating
    return rows


def stable_order(key: Int32Array, order: IntArray, n_keys: int) -> IntArray:
    """Return `order` stably sorted by key[order], by counting.

    >>> stable_order(np.array([1, 0, 1, 0]), np.arange(4), 2).tolist()
    [1, 3, 0, 2]
    """
    rows = sparse.coo_array((order, (key[order], np.zeros(len(order), dtype=np.int32))), shape=(n_keys, 1))
    rows.has_canonical_format = True  # or equal keys would be added up
    return rows.tocsr().data


def merge_repeats(frame: pl.DataFrame, how: str) -> pl.DataFrame:
    """Keep one rating per person and action: that of the last row, or the mean.

    >>> rows = pl.DataFrame({"row": [0, 1], "person": [7, 7], "action": [2, 2], "rating": [4.0, 5.0]})
    >>> [merge_repeats(rows, how)["rating"].to_list() for how in ("last", "mean")]
    [[5.0], [4.5]]
    """
    if how == "last":
        rows = frame.sort("row", maintain_order=True)
        return rows.unique(["person", "action"], keep="last", maintain_order=True)
    if frame.is_empty():
        return frame
    rows = frame.sort("person", "action", "rating")  # sums from the lowest rating up, whatever the order of the rows
    changed = [pl.col(role) != pl.col(role).shift() for role in ("person", "action")]
    starts = rows.select(pl.any_horizontal(changed).fill_null(True).arg_true()).to_series().cast(pl.Int64).to_numpy()
    counts = np.diff(starts, append=len(rows))
    means = np.add.reduceat(rows["rating"].to_numpy(), starts) / counts
    last = np.maximum.reduceat(rows["row"].to_numpy(), starts)
    return rows[starts].with_columns(row=pl.Series(last), rating=pl.Series(means))


def ranks_to_ratings(frame: pl.DataFrame, n_actions: int) -> pl.DataFrame:
    """Return ratings for ranks: with k actions the first gets k, the last 1. Ties share the mean of their ranks.

    >>> ranks = pl.DataFrame({"person": [1, 1, 1, 2], "action": ["a", "b", "c", "b"], "rating": [1.0, 2.0, 2.0, 1.0]})
    >>> ranks_to_ratings(ranks, 3)["rating"].to_list()
    [3.0, 1.5, 1.5, 3.0]
    """
    return frame.with_columns(rating=n_actions + 1 - pl.col("rating").rank("average").over("person"))


def empty_log(n_ratings: int, source: Source, options: ReadOptions) -> InvalidInput:
    """Return the error for a log without ratings, before or after the minimum counts."""
    if not n_ratings:
        below = "" if source.kind == "frame" else " below its header"
        return InvalidInput(f"{source.name} has no ratings{below}; give at least one row")
    return InvalidInput(
        f"none of the {n_ratings} ratings in {source.name} remain with min_person {options.min_person} and min_action "
        f"{options.min_action}; lower these limits"
    )


def _starts(person: Int32Array) -> IntArray:
    """Return the first row of each person, of rows sorted by person."""
    return np.flatnonzero(np.diff(person, prepend=-1))
