"""Labels of a column and their places among all labels."""

import numpy as np
import polars as pl

from lpbandits.typing import IntArray, Label

SPARE, SMALL = 16, 10**6
"""Whole numbers are looked up in a table of all numbers between them, if it has at most so many cells for each of them,
and so many in any case: four bytes each, a part of `memory.PERSON`. Others are searched for."""


class Codes:
    """The sorted labels of a column; tells the place of any of them.

    >>> codes = Codes(pl.Series("action", ["tea", "jam", "tea"]))
    >>> codes.labels, codes.of(pl.Series("action", ["tea", "rum"])).tolist()
    (('jam', 'tea'), [1, -1])
    """

    def __init__(self, column: pl.Series) -> None:
        self._sorted = column.unique().sort()
        self.labels: tuple[Label, ...] = tuple(self._sorted.to_list())
        self._low, self._table = 0, np.empty(0, dtype=np.int32)
        if column.dtype == pl.Int64 and self.labels:
            low, high = int(self._sorted[0]), int(self._sorted[-1])
            if high - low < SPARE * len(self.labels) + SMALL:
                self._low, self._table = low, np.full(high - low + 1, -1, dtype=np.int32)
                self._table[self._sorted.to_numpy() - low] = np.arange(len(self.labels))

    def of(self, column: pl.Series) -> IntArray:
        """Return the place of each label of a column of the same kind; −1 for one that is unknown."""
        if len(self._table):
            place = column.to_numpy() - self._low
            known = (place >= 0) & (place < len(self._table))
            found: IntArray = self._table[place if known.all() else np.where(known, place, 0)].astype(np.int64)
            return found if known.all() else np.where(known, found, -1)
        if column.dtype == pl.Int64 and self.labels:
            return self._searched(column.to_numpy())
        name = self._sorted.name
        places = self._sorted.to_frame().with_row_index("code")
        joined = column.alias(name).to_frame().join(places, on=name, how="left", maintain_order="left")
        codes: IntArray = joined["code"].cast(pl.Int64).fill_null(-1).to_numpy()
        return codes

    def _searched(self, values: IntArray) -> IntArray:
        """Search for whole numbers in rising order, which takes half the time of any other."""
        order, every = np.argsort(values), self._sorted.to_numpy()
        places = np.empty(len(values), dtype=np.int64)
        places[order] = np.minimum(np.searchsorted(every, values[order]), len(every) - 1)
        return np.where(every[places] == values, places, -1)
