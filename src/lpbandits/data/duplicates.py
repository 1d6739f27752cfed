"""A person's second rating of the same action: an error that says where, or one of them left."""

import numpy as np
import polars as pl

from lpbandits.data.sources import Source
from lpbandits.errors import InvalidInput
from lpbandits.text import pluralize

DUPLICATES = ("error", "last", "mean")
"""What may be done about it."""


def one_each(frame: pl.DataFrame, how: str) -> tuple[pl.DataFrame, int]:
    """Keep one rating of each action per person, that of the last row or the mean; return how many are gone.

    >>> rows = pl.DataFrame({"row": [0, 1], "person": [7, 7], "action": ["tea", "tea"], "rating": [4.0, 5.0]})
    >>> [one_each(rows, how)[0]["rating"].to_list() for how in ("last", "mean")]
    [[5.0], [4.5]]
    """
    if how == "last":
        rows = frame.sort("row", maintain_order=True)
        left = rows.unique(["person", "action"], keep="last", maintain_order=True)
    else:
        left = _means(frame.sort("person", "action", "rating"))
    return left, len(frame) - len(left)


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the means of sorted rows: summed from the lowest on, whatever order they came in and whoever has them."""
    if rows.is_empty():
        return rows
    other = [pl.col(role) != pl.col(role).shift() for role in ("person", "action")]
    starts = rows.select(pl.any_horizontal(other).fill_null(True).arg_true()).to_series().cast(pl.Int64)
    counts = np.diff(starts.to_numpy(), append=len(rows))
    means = np.add.reduceat(rows["rating"].to_numpy(), starts.to_numpy()) / counts
    last = np.maximum.reduceat(rows["row"].to_numpy(), starts.to_numpy())
    return rows[starts].with_columns(row=pl.Series(last), rating=pl.Series(means))


def repeat_error(frame: pl.DataFrame, source: Source) -> InvalidInput:
    """Return the error for a (person, action) that occurs twice: which, and where."""
    again = frame.sort("row").filter(pl.struct("person", "action").is_duplicated())
    person, action = again.row(0, named=True)["person"], again.row(0, named=True)["action"]
    rows = again.filter((pl.col("person") == person) & (pl.col("action") == action))["row"].to_list()
    repeats = len(again) - again.select("person", "action").n_unique()
    return InvalidInput(
        f"{source.place(rows[1])}: person {person!r} rated action {action!r} again, first on {source.place(rows[0])} "
        f"({pluralize(repeats, 'repeat')} in all); keep one rating per person and action: duplicates='last' "
        "(--duplicates last) keeps the last row, 'mean' the mean"
    )
