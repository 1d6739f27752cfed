"""Values per draw from the tables of figures, and their text."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray


def per_draw(table: pl.DataFrame, policy: str, column: str = "regret", **where: float | str) -> FloatArray:
    """Return one value per draw for a policy, in the order of the draws."""
    rows = table.filter(pl.col("policy") == policy, **where).sort("draw")
    if rows["draw"].to_list() != list(range(rows.height)):
        raise InvalidInput(f"the draws of {policy} must be 0 to {rows.height - 1}; run the figure again")
    return rows[column].to_numpy().astype(np.float64)


def values_of(table: pl.DataFrame) -> list[float]:
    """Return the values of the varied parameter, ascending."""
    return sorted(float(x) for x in table["x"].unique())


def steps(
    along: Mapping[float, FloatArray], symbol: str, title: str = "", *, ratio: bool = False
) -> dict[str, FloatArray]:
    """Return the differences, or ratios, between consecutive values of the parameter, per draw that both have.

    >>> steps({1.0: np.array([1.0, 2.0, 9.0]), 5.0: np.array([4.0, 4.0])}, "k")
    {'k 1 → 5': array([3., 2.])}
    """
    before = f"{title}, " if title else ""
    change = np.divide if ratio else np.subtract
    return {f"{before}{symbol} {a:g} → {b:g}": change(*both(along[b], along[a])) for a, b in pairwise(along)}


def from_first(along: Mapping[float, FloatArray], symbol: str, title: str = "") -> dict[str, FloatArray]:
    """Return the ratios to the first value of the parameter, per draw.

    >>> from_first({1.0: np.array([1.0, 2.0]), 5.0: np.array([4.0, 4.0])}, "k")
    {'k 5 / k 1': array([4., 2.])}
    """
    first, *others = along
    before = f"{title}, " if title else ""
    return {f"{before}{symbol} {x:g} / {symbol} {first:g}": np.divide(*both(along[x], along[first])) for x in others}


def both(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Truncate two arrays to the draws that both have.

    >>> both(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0]))
    (array([1., 2.]), array([4., 5.]))
    """
    draws = min(len(one), len(other))
    return one[:draws], other[:draws]


def means_text(values: Mapping[str, FloatArray]) -> str:
    """Return the mean of each named array as text.

    >>> means_text({"lpbTS": np.array([1.0, 2.0]), "TS": np.array([4.0])})
    'lpbTS 1.5, TS 4.0'
    """
    return ", ".join(f"{name} {value.mean():.1f}" for name, value in values.items())


def along_text(along: Mapping[float, FloatArray], symbol: str, places: int = 1) -> str:
    """Return the mean at each value of the parameter as text.

    >>> along_text({5.0: np.array([1.0, 2.0]), 10.0: np.array([4.0])}, "k")
    'k=5: 1.5, k=10: 4.0'
    """
    return ", ".join(f"{symbol}={x:g}: {np.mean(values):.{places}f}" for x, values in along.items())
