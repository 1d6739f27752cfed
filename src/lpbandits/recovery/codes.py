"""Labels of a column and their places among all labels."""

import numpy as np
import polars as pl

from lpbandits.typing import IntArray, Label


class Codes:
    """The sorted labels of a column; tells the place of any of them.

    >>> codes = Codes(pl.Series("action", ["tea", "jam", "tea"]))
    >>> codes.labels, codes.of(pl.Series("action", ["tea", "rum"])).tolist()
    (('jam', 'tea'), [1, -1])
    """

    def __init__(self, column: pl.Series, rows: int | None = None) -> None:
        labels = column.unique().sort()
        self.labels: tuple[Label, ...] = tuple(labels.to_list())
        self._low, self._table = 0, np.empty(0, dtype=np.int64)
        self._places = labels.to_frame().with_row_index("code")
        if column.dtype == pl.Int64 and len(labels):
            low, high = int(labels[0]), int(labels[-1])
            if high - low < 2 * (rows or len(column)) + 1_000_000:  # a table of all whole numbers between is small
                self._low, self._table = low, np.full(high - low + 1, -1, dtype=np.int64)
                self._table[labels.to_numpy() - low] = np.arange(len(labels))

    def of(self, column: pl.Series) -> IntArray:
        """Return the place of each label of a column of the same kind; −1 for one that is unknown."""
        if len(self._table):
            place = column.to_numpy() - self._low
            known = (place >= 0) & (place < len(self._table))
            if known.all():
                found: IntArray = self._table[place]
                return found
            return np.where(known, self._table[np.where(known, place, 0)], -1)
        name = self._places.columns[1]
        joined = column.alias(name).to_frame().join(self._places, on=name, how="left", maintain_order="left")
        places: IntArray = joined["code"].cast(pl.Int64).fill_null(-1).to_numpy()
        return places
