"""Tables for other libraries."""

from typing import Any

import polars as pl

from lpbandits.errors import NotSupported


def to_pandas(frame: pl.DataFrame) -> Any:
    """Return a polars frame as a pandas frame; unlike polars' own function it does not need pyarrow.

    Missing numbers are NaN, other missing values None.

    >>> to_pandas(pl.DataFrame({"policy": ["ts", None], "regret": [1.5, None]})).shape
    (2, 2)
    """
    try:
        import pandas as pd  # type: ignore[import-untyped] # noqa: PLC0415 - optional, without stubs
    except ImportError:
        raise NotSupported("to_pandas needs pandas, which is not installed: pip install pandas") from None
    columns: dict[str, Any] = {}
    for series in frame:
        numeric = series.dtype.is_numeric() or (series.dtype == pl.Boolean and not series.null_count())
        columns[series.name] = series.to_numpy() if numeric else pd.Series(series.to_list(), dtype=object)
    return pd.DataFrame(columns)
