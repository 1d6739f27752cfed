"""Values per draw from the tables of figures, and their text."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from lpbandits.typing import FloatArray

Along = dict[float, FloatArray]
"""Values per draw at each value of the parameter that a figure varies."""

TITLES = {
    "lpbts": "lpbTS",
    "lpbts-marginal": "lpbTS marginal",
    "lpb-paired": "lpbTS on pairs",
    "mts": "mTS",
    "ts": "TS",
    "ts-top": "TS top actions",
    "ts-narrow": "TS with N(0, 1)",
    "double-ts": "double TS",
    "double-ts-top": "double TS top actions",
}
"""Titles of policies in claims; other policies have their name."""


def per_draw(table: pl.DataFrame, policy: str, column: str = "regret", **where: float | str) -> FloatArray:
    """Return one value per draw for a policy, in the order of the draws."""
    rows = table.filter(pl.col("policy") == policy, **where).sort("draw")
    return rows[column].to_numpy().astype(np.float64)


def by_policy(
    table: pl.DataFrame, *policies: str, column: str = "regret", **where: float | str
) -> dict[str, FloatArray]:
    """Return the values per draw of several policies, by their titles."""
    return {TITLES.get(policy, policy): per_draw(table, policy, column, **where) for policy in policies}


def along(table: pl.DataFrame, policy: str, column: str = "regret") -> Along:
    """Return a policy's values per draw at each value of the parameter, ascending."""
    return {x: per_draw(table, policy, column, x=x) for x in sorted(table["x"].unique().to_list())}


def steps(values: Along, symbol: str, title: str = "", *, ratio: bool = False) -> dict[str, FloatArray]:
    """Return the differences, or ratios, between consecutive values of the parameter, per draw that both have.

    >>> steps({1.0: np.array([1.0, 2.0, 9.0]), 5.0: np.array([4.0, 4.0])}, "k")
    {'k 1 → 5': array([3., 2.])}
    """
    before = f"{title}, " if title else ""
    change = np.divide if ratio else np.subtract
    return {f"{before}{symbol} {a:g} → {b:g}": change(*both(values[b], values[a])) for a, b in pairwise(values)}


def from_first(values: Along, symbol: str, title: str = "") -> dict[str, FloatArray]:
    """Return the ratios to the first value of the parameter, per draw that both have."""
    first, *others = values
    before = f"{title}, " if title else ""
    return {f"{before}{symbol} {x:g} / {symbol} {first:g}": np.divide(*both(values[x], values[first])) for x in others}


def both(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Truncate two arrays to the draws that both have."""
    draws = min(len(one), len(other))
    return one[:draws], other[:draws]


def means_text(values: Mapping[str, FloatArray]) -> str:
    """Return the mean of each named array as text, such as "lpbTS 1.5, TS 4.0"."""
    return ", ".join(f"{name} {value.mean():.1f}" for name, value in values.items())


def along_text(values: Mapping[float, FloatArray], symbol: str, places: int = 1) -> str:
    """Return the mean at each value of the parameter as text, such as "k=5: 1.5, k=10: 4.0"."""
    return ", ".join(f"{symbol}={x:g}: {np.mean(value):.{places}f}" for x, value in values.items())
