"""The paper's sentences as checks: a claim, a verdict, the effect with its standard error, and the numbers."""

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
    own = table.filter(pl.col("policy") == policy)
    for name, value in where.items():
        own = own.filter(pl.col(name) == value)
    return own.sort("draw")[column].to_numpy().astype(np.float64)


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
    """Return the effect turned round, for the verdict on "the effect is positive"."""
    return -effect[0], effect[1]


def above(claim: str, one: FloatArray, other: FloatArray, detail: str) -> Claim:
    """Return the verdict on "one is more than other", paired by draw."""
    effect, error = mean_se(one - other)
    return Claim(claim, verdict_of(-effect, error), effect, error, detail)


def numbers(**values: FloatArray | float) -> str:
    """Return named means in words.

    >>> numbers(lpbTS=np.array([1.0, 2.0]), TS=4.0)
    'lpbTS 1.5, TS 4.0'
    """
    return ", ".join(f"{name.replace('_', ' ')} {np.mean(value):.1f}" for name, value in values.items())
