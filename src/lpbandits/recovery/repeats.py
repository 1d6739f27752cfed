"""A person's second rating of the same action: an error that says where, or one of them left."""

import polars as pl

from lpbandits.errors import InvalidInput
from lpbandits.recovery.rating_files import Source
from lpbandits.recovery.report import counted

DUPLICATES = ("error", "last", "mean")
"""What may be done about it."""


def one_each(frame: pl.DataFrame, how: str) -> tuple[pl.DataFrame, int]:
    """Keep one rating of each action per person, that of the last row or the mean; return how many are gone.

    >>> rows = pl.DataFrame({"row": [0, 1], "person": [7, 7], "action": ["tea", "tea"], "rating": [4.0, 5.0]})
    >>> [one_each(rows, how)[0]["rating"].to_list() for how in ("last", "mean")]
    [[5.0], [4.5]]
    """
    rows = frame.sort("row", maintain_order=True)
    if how == "last":
        left = rows.unique(["person", "action"], keep="last", maintain_order=True)
    else:
        mean = (pl.col("row").last(), pl.col("rating").mean())
        left = rows.group_by("person", "action", maintain_order=True).agg(*mean).select(frame.columns)
    return left, len(frame) - len(left)


def repeat_error(frame: pl.DataFrame, source: Source) -> InvalidInput:
    """Return the error for a (person, action) that occurs twice: which, and where."""
    again = frame.sort("row").filter(pl.struct("person", "action").is_duplicated())
    person, action = again.row(0, named=True)["person"], again.row(0, named=True)["action"]
    rows = again.filter((pl.col("person") == person) & (pl.col("action") == action))["row"].to_list()
    repeats = len(again) - again.select("person", "action").n_unique()
    return InvalidInput(
        f"{source.place(rows[1])}: person {person!r} rated action {action!r} again, first on {source.place(rows[0])} "
        f"({counted(repeats, 'repeat')} in all); keep one rating per person and action: duplicates='last' "
        "(--duplicates last) keeps the last row, 'mean' the mean"
    )
