"""What a claim and its check are, and how a verdict follows from an effect and its standard error."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from lpbandits.typing import FloatArray

HOLDS = "holds"
FAILS = "does not hold"
UNSETTLED = "not settled: too few draws"

COMPARABLE = 1.5
"""Two regrets are called comparable when their ratio is below this."""

Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Claim:
    """One checked sentence. The verdict is "holds", "does not hold" or "holds only if …"."""

    claim: str
    verdict: str
    effect: float
    se: float | None
    detail: str

    @property
    def effect_text(self) -> str:
        """The effect for people."""
        return f"{self.effect:.2f}" + ("" if self.se is None else f" ± {self.se:.2f}")


@dataclass(frozen=True)
class Check:
    """A claim to be checked: the figures it needs, and how the verdict follows from their tables."""

    needs: tuple[str, ...]
    run: Callable[[Tables], Claim]


def per_draw(table: pl.DataFrame, policy: str, column: str = "regret", **where: float | str) -> FloatArray:
    """Return one number per draw of the orderings for a policy, in the order of the draws."""
    rows = table.filter(pl.col("policy") == policy, **where)
    return rows.sort("draw")[column].to_numpy().astype(np.float64)


def values_of(table: pl.DataFrame) -> list[float]:
    """Return the values of what a figure varies, ascending."""
    return sorted(float(x) for x in table["x"].unique())


def mean_se(values: FloatArray) -> tuple[float, float | None]:
    """Return a mean and its standard error (None for a single value).

    >>> mean_se(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return float(values.mean()), error


def verdict_of(effect: float, error: float | None) -> str:
    """Return the verdict on "the effect is negative": beyond two standard errors either way it is settled.

    >>> verdict_of(-3.0, 1.0), verdict_of(-1.0, 1.0), verdict_of(3.0, 1.0), verdict_of(-3.0, None)
    ('holds', 'not settled: too few draws', 'does not hold', 'not settled: too few draws')
    """
    if error is None or abs(effect) <= 2.0 * error:
        return UNSETTLED
    return HOLDS if effect < 0 else FAILS


def below(claim: str, one: FloatArray, other: FloatArray, detail: str) -> Claim:
    """Return the verdict on "one is less than other", paired by draw."""
    effect, error = mean_se(one - other)
    return Claim(claim, verdict_of(effect, error), effect, error, detail)


def negated(effect: tuple[float, float | None]) -> tuple[float, float | None]:
    """Return the effect with its sign changed, for the verdict on "the effect is positive"."""
    return -effect[0], effect[1]


def above(claim: str, one: FloatArray, other: FloatArray, detail: str) -> Claim:
    """Return the verdict on "one is more than other", paired by draw."""
    effect, error = mean_se(one - other)
    return Claim(claim, verdict_of(-effect, error), effect, error, detail)


def means_text(**values: FloatArray | float) -> str:
    """Return the mean of each named array, in words.

    >>> means_text(lpbTS=np.array([1.0, 2.0]), TS=4.0)
    'lpbTS 1.5, TS 4.0'
    """
    return ", ".join(f"{name.replace('_', ' ')} {np.mean(value):.1f}" for name, value in values.items())


def comparable_to_mts(where: str, ends: dict[str, FloatArray]) -> Claim:
    """Return the verdict on "lpbTS is comparable to mTS", from what lpbTS, mTS and TS lose."""
    lpb, mts, ts = (ends[name] for name in ("lpbTS", "mTS", "TS"))
    ratio, error = mean_se(lpb / mts)
    closed = float(((ts - lpb) / (ts - mts)).mean())
    verdict = f'holds only if "comparable" means closing {closed:.0%} of the gap from TS to mTS'
    claim = f"{where}: lpbTS is comparable to mTS. (effect: lpbTS / mTS; below {COMPARABLE} counts)"
    return Claim(claim, HOLDS if ratio < COMPARABLE else verdict, ratio, error, means_text(**ends))
