"""Columns of a pandas frame as those of polars, without importing pandas: it need not be there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.columns import apart
from lpbandits.errors import InvalidInput
from lpbandits.typing import BoolArray

_NUMBERS = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}
"""By numpy's letter for a kind of type, which pandas' own types have as well."""


def is_pandas(value: object) -> bool:
    """Say whether a value is a pandas frame.

    >>> is_pandas({"person": [1]})
    False
    """
    bases = type(value).__mro__
    return any(f"{base.__module__}".startswith("pandas") and base.__name__ == "DataFrame" for base in bases)


def columns_of(frame: Any, *, wide: bool) -> tuple[list[str], list[Any]]:
    """Return the names and the columns of a pandas frame: first its index, if that has a name.

    In a `wide` table an index of words counts without a name, as `person`.
    """
    try:
        index = frame.index
        levels = [index.get_level_values(i) for i in range(index.nlevels)]
        names = list(index.names)
        if wide and names == [None] and levels[0].dtype.kind == "O":
            names = ["person"]
        own = [(name, level) for name, level in zip(names, levels, strict=True) if name is not None]
        own += [(name, frame.iloc[:, i]) for i, name in enumerate(frame.columns)]
        return apart(_name(name) for name, _ in own), [column for _, column in own]
    except InvalidInput:
        raise
    except validate.CONVERSION_ERRORS as error:
        raise InvalidInput(f"the frame cannot be read: {error}; give plain columns") from None


def as_series(values: Any, name: str) -> pl.Series:
    """Return a column of pandas as one of polars, null where it is missing."""
    try:
        return _series(values, name)
    except InvalidInput:
        raise
    except (*validate.CONVERSION_ERRORS, ImportError, pl.exceptions.PolarsError) as error:
        raise InvalidInput(f"column {name!r} of the frame cannot be read: {error}; give plain values") from None


def _name(label: Any) -> str:
    if isinstance(label, str):
        return validate.as_text(label, "a column")
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return str(int(label))
    raise InvalidInput(
        f"the frame has a column {validate.short_repr(label)}; a name must be text or a whole number: rename it"
    )


def _series(values: Any, name: str) -> pl.Series:
    kind = values.dtype.kind
    if type(values.dtype).__name__ == "CategoricalDtype":
        codes = pl.Series(np.array(values.array.codes, dtype=np.int64))
        return _series(values.array.categories, name).gather(codes.replace(-1, None))
    missing = np.array(values.isna(), dtype=bool)
    if kind in _NUMBERS:
        filled = values.fillna(0) if missing.any() else values
        return _without(pl.Series(np.array(filled, dtype=_NUMBERS[kind])), missing)
    if kind in "mM":
        raise InvalidInput(
            f"column {name!r} of the frame holds {values.dtype} values; labels are text or whole numbers, and ratings "
            "numbers: name another column"
        )
    cells = [None if gone else cell for cell, gone in zip(values.tolist(), missing, strict=True)]
    return _of_objects([cell.item() if isinstance(cell, np.generic) else cell for cell in cells], name)


def _of_objects(cells: Sequence[Any], name: str) -> pl.Series:
    """Return what a file of these cells would give: numbers if all are, otherwise text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return pl.Series([None] * len(cells), dtype=pl.String)
    odd = sorted(kind.__name__ for kind in kinds if kind not in (int, float) and not issubclass(kind, str))
    if odd:
        raise InvalidInput(
            f"column {name!r} of the frame holds {odd[0]} values; labels are text or whole numbers, and ratings numbers"
        )
    if kinds == {int} and all(cell is None or -(2**63) <= cell < 2**63 for cell in cells):
        return pl.Series(cells, dtype=pl.Int64)
    if kinds <= {int, float} and float in kinds:
        return pl.Series(cells, dtype=pl.Float64, strict=False)
    return pl.Series([None if cell is None else str(cell) for cell in cells], dtype=pl.String)


def _without(series: pl.Series, missing: BoolArray) -> pl.Series:
    return series.set(pl.Series(missing), None) if missing.any() else series
