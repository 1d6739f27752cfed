"""What a claim is, and the one standard by which a verdict follows from numbers.

A claim says that some number (a difference or a ratio of two policies, say) lies in some range. Every draw of the
orderings gives one such number, policies paired within it, and their mean has a 95 % interval by Student's t. The claim
holds if the interval lies in the range, does not hold if it lies outside, and is not settled if it straddles an end.

A claim about several settings is one claim per setting: it holds if each holds, and does not hold if one of them does
not, there with Bonferroni's correction, since one of many may fail by chance. Settings are never pooled, and none is
chosen by its result. Words such as "comparable" have a stated range; see the constants.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl
from scipy import stats

from lpbandits.typing import FloatArray

Verdict = Literal["holds", "does not hold", "not settled"]

COMPARABLE = 1.5
"""A regret is comparable to another if it is below so many times it."""
VASTLY = 0.5
"""A regret is vastly better than another if it is below this share of it."""
CONSTANT = 1.25
"""A regret is fairly constant, or stable, if it stays within this factor of where it began."""
ALIKE = 1.1
"""Regrets are flat, or about the same, if they stay within this factor."""
LEAST_DRAWS = 3
"""Fewer draws settle nothing."""
LEVEL = 0.95

Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Part:
    """What one setting says: the mean over draws, its interval (None for a single draw), and the verdict there."""

    where: str
    effect: float
    low: float | None
    high: float | None
    draws: int
    verdict: Verdict


@dataclass(frozen=True)
class Claim:
    """One checked sentence.

    Attributes
    ----------
    claim
        The sentence; `source` says whether it is the paper's or ours, beyond it.
    verdict
        "holds", "does not hold" or "not settled".
    measure, standard
        What is measured, and the range in which the claim holds, in words.
    parts
        Every setting it is about. The first is the one that decides.
    detail
        The numbers behind it.
    figures
        The figures it is checked on; it is shown beside the first.
    """

    claim: str
    verdict: Verdict
    measure: str
    standard: str
    parts: tuple[Part, ...]
    detail: str
    source: Literal["paper", "beyond"] = "paper"
    figures: tuple[str, ...] = field(default=())

    @property
    def effect_text(self) -> str:
        """The deciding effect with its interval, for people: "−2.50 [−3.46, −1.54]"."""
        part = self.parts[0]
        text = _number(part.effect)
        return text if part.low is None or part.high is None else f"{text} [{_number(part.low)}, {_number(part.high)}]"

    @property
    def where_text(self) -> str:
        """Which of several settings decides, for people; empty for a claim about one."""
        count = len(self.parts)
        if count == 1:
            return self.parts[0].where
        inside = sum(part.verdict == "holds" for part in self.parts)
        return f"{self.parts[0].where}; holds in {inside} of {count}"


@dataclass(frozen=True)
class Check:
    """A claim to be checked: the figures it needs, the one it is shown beside first, and how it is judged."""

    needs: tuple[str, ...]
    run: Callable[[Tables], Claim]


def judge(
    claim: str,
    parts: Mapping[str, FloatArray] | FloatArray,
    *,
    measure: str,
    above: float = -math.inf,
    below: float = math.inf,
    detail: str = "",
    beyond: bool = False,
) -> Claim:
    """Return the verdict on "the measure lies between `above` and `below`", from one number per draw and setting.

    >>> ours = np.array([-3.0, -2.5, -2.0, -2.5])
    >>> made = judge("A loses less than B.", ours, measure="A − B", below=0)
    >>> made.verdict, made.standard, made.effect_text
    ('holds', 'below 0', '−2.50 [−3.15, −1.85]')
    >>> judge("A loses less than B.", {"x = 1": ours, "x = 2": -ours}, measure="A − B", below=0).where_text
    'x = 2; holds in 1 of 2'
    >>> judge("A loses less than B.", ours[:2], measure="A − B", below=0).verdict
    'not settled'
    """
    named = parts if isinstance(parts, Mapping) else {"": parts}
    judged = [_part(where, values, above, below, len(named)) for where, values in named.items()]
    verdict = next(word for word in _ORDER if any(part.verdict == word for part in judged))
    judged.sort(key=lambda part: (_ORDER.index(part.verdict), _room(part, above, below)))
    source: Literal["paper", "beyond"] = "beyond" if beyond else "paper"
    return Claim(claim, verdict, measure, _range(above, below), tuple(judged), detail, source)


_ORDER: tuple[Verdict, ...] = ("does not hold", "not settled", "holds")


def _part(where: str, values: FloatArray, above: float, below: float, among: int) -> Part:
    draws = len(values)
    mean = float(values.mean())
    if draws < 2:
        return Part(where, mean, None, None, draws, "not settled")
    low, high = interval(values)
    verdict: Verdict = "not settled"
    if draws >= LEAST_DRAWS:
        wide_low, wide_high = interval(values, 1.0 - (1.0 - LEVEL) / among)
        if above < low and high < below:
            verdict = "holds"
        elif wide_high < above or wide_low > below:
            verdict = "does not hold"
    return Part(where, mean, low, high, draws, verdict)


def interval(values: FloatArray, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a mean by Student's t, from at least two values.

    >>> low, high = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    reach = float(stats.t.ppf(0.5 + level / 2.0, len(values) - 1)) * error
    return mean - reach, mean + reach


def _room(part: Part, above: float, below: float) -> float:
    """Return how far inside the range an interval lies; negative outside."""
    if part.low is None or part.high is None:
        return -math.inf
    return min(part.low - above, below - part.high)


def _range(above: float, below: float) -> str:
    """Return a range in words.

    >>> _range(-math.inf, 0.0), _range(0.8, 1.25)
    ('below 0', 'between 0.8 and 1.25')
    """
    if math.isinf(above):
        return f"below {below:g}"
    return f"above {above:g}" if math.isinf(below) else f"between {above:.3g} and {below:g}"


def _number(value: float) -> str:
    text = f"{value:.3f}" if abs(value) < 0.1 else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−")


def per_draw(table: pl.DataFrame, policy: str, column: str = "regret", **where: float | str) -> FloatArray:
    """Return one number per draw of the orderings for a policy, in the order of the draws."""
    rows = table.filter(pl.col("policy") == policy, **where)
    return rows.sort("draw")[column].to_numpy().astype(np.float64)


def values_of(table: pl.DataFrame) -> list[float]:
    """Return the values of what a figure varies, ascending."""
    return sorted(float(x) for x in table["x"].unique())


def steps(along: Mapping[float, FloatArray], symbol: str, title: str = "") -> dict[str, FloatArray]:
    """Return the change from each value of what is varied to the next, draw by draw.

    >>> steps({1.0: np.array([1.0, 2.0]), 5.0: np.array([4.0, 4.0])}, "k")
    {'k 1 → 5': array([3., 2.])}
    """
    places = list(along)
    before = f"{title}, " if title else ""
    return {f"{before}{symbol} {a:g} → {b:g}": along[b] - along[a] for a, b in pairwise(places)}


def from_first(along: Mapping[float, FloatArray], symbol: str, title: str = "") -> dict[str, FloatArray]:
    """Return the ratio of each value's numbers to the first's, draw by draw.

    >>> from_first({1.0: np.array([1.0, 2.0]), 5.0: np.array([4.0, 4.0])}, "k")
    {'k 5 / k 1': array([4., 2.])}
    """
    first, *others = along
    before = f"{title}, " if title else ""
    return {f"{before}{symbol} {x:g} / {symbol} {first:g}": along[x] / along[first] for x in others}


def means_text(values: Mapping[str, FloatArray]) -> str:
    """Return the mean of each named array, in words.

    >>> means_text({"lpbTS": np.array([1.0, 2.0]), "TS": np.array([4.0])})
    'lpbTS 1.5, TS 4.0'
    """
    return ", ".join(f"{name} {value.mean():.1f}" for name, value in values.items())


def along_text(along: Mapping[float, FloatArray], symbol: str, places: int = 1) -> str:
    """Return the mean at each value of what is varied, in words.

    >>> along_text({5.0: np.array([1.0, 2.0]), 10.0: np.array([4.0])}, "k")
    'k=5: 1.5, k=10: 4.0'
    """
    return ", ".join(f"{symbol}={x:g}: {np.mean(values):.{places}f}" for x, values in along.items())


def joined(parts: Iterable[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    """Return the settings of several mappings together."""
    return {where: values for part in parts for where, values in part.items()}
