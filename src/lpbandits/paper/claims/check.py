"""Claims, and the statistical standard of their verdicts.

A claim states that an effect (for example a difference or a ratio of two policies' regrets) lies in a range. Each draw
of the orderings gives one value, with policies paired within the draw, and the mean has a 95 % interval by Student's t:
ratios on the log scale (geometric mean), shares by the exact binomial interval. The claim holds if the interval lies
inside the range, does not hold if it lies outside, and is not settled otherwise.

A claim about several settings holds if it holds in each, and does not hold if it fails in one, with Bonferroni's
correction. Settings are never pooled or selected by their result. Words such as "comparable" have a stated range; see
the constants.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from lpbandits.paper.claims.numbers import means_text
from lpbandits.statistics import LEVEL, t_multiplier
from lpbandits.typing import FloatArray

Verdict = Literal["holds", "does not hold", "not settled"]
Kind = Literal["difference", "ratio", "share"]

COMPARABLE = 1.5
"""A regret is comparable to another if their ratio is below this factor."""
VASTLY = 0.5
"""A regret is vastly better than another if it is below this share of it."""
CONSTANT = 1.25
"""A regret is fairly constant, or stable, if it stays within this factor of where it began."""
ALIKE = 1.1
"""Regrets are flat, or about the same, if they stay within this factor."""
MIN_DRAWS = 3
"""Minimum number of draws for a verdict."""

Tables = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Part:
    """Effect, deciding interval with its level, and verdict of one setting.

    The interval is the 95 % interval where the claim holds, and has Bonferroni's correction elsewhere. It is None for a
    single draw. The effect is None where it is undefined, such as a ratio to a regret of 0.
    """

    where: str
    effect: float | None
    low: float | None
    high: float | None
    level: float
    draws: int
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A checked claim.

    Attributes
    ----------
    claim
        The sentence; `source` is the paper or beyond it.
    verdict
        "holds", "does not hold" or "not settled".
    measure, standard
        The measured effect, and the range in which the claim holds, as text.
    above, below
        Limits of the range; None is unbounded.
    parts
        All settings; the first one decides.
    detail
        Supporting numbers.
    figures
        Figures that the claim needs; it is shown at the first.
    headline
        Whether the summary includes it.
    """

    claim: str
    verdict: Verdict
    measure: str
    standard: str
    above: float | None
    below: float | None
    parts: tuple[Part, ...]
    detail: str
    source: Literal["paper", "beyond"] = "paper"
    figures: tuple[str, ...] = field(default=())
    headline: bool = False

    @property
    def effect_text(self) -> str:
        """The deciding effect with its interval, such as "−2.50 [−3.46, −1.54]"."""
        part = self.parts[0]
        text = "–" if part.effect is None else _number(part.effect)
        return text if part.low is None or part.high is None else f"{text} [{_number(part.low)}, {_number(part.high)}]"

    @property
    def where_text(self) -> str:
        """The deciding setting; empty for a claim without settings."""
        count = len(self.parts)
        if count == 1:
            return self.parts[0].where
        inside = sum(part.verdict == "holds" for part in self.parts)
        return f"{self.parts[0].where}; holds in {inside} of {count}"


@dataclass(frozen=True)
class Check:
    """A claim to check: the figures that it needs, and the function that judges it."""

    needs: tuple[str, ...]
    run: Callable[[Tables], Claim]
    headline: bool = False


def judge(
    claim: str,
    parts: Mapping[str, FloatArray] | FloatArray,
    *,
    measure: str,
    kind: Kind = "difference",
    above: float = -math.inf,
    below: float = math.inf,
    detail: str = "",
    beyond: bool = False,
) -> Claim:
    """Judge whether a measure lies between `above` and `below`, from one value per draw and setting.

    >>> ours = np.array([-3.0, -2.5, -2.0, -2.5])
    >>> claim = judge("A loses less than B.", ours, measure="A − B", below=0)
    >>> claim.verdict, claim.standard, claim.effect_text
    ('holds', 'below 0', '−2.50 [−3.15, −1.85]')
    >>> judge("A loses less than B.", {"x = 1": ours, "x = 2": -ours}, measure="A − B", below=0).where_text
    'x = 2; holds in 1 of 2'
    >>> judge("A loses less than B.", ours[:2], measure="A − B", below=0).verdict
    'not settled'
    """
    named = parts if isinstance(parts, Mapping) else {"": parts}
    judged = [_part(where, values, kind, (above, below), len(named)) for where, values in named.items()]
    verdict = next(word for word in _ORDER if any(part.verdict == word for part in judged))
    judged.sort(key=lambda part: (_ORDER.index(part.verdict), _room(part, above, below)))
    return Claim(
        claim=claim,
        verdict=verdict,
        measure=measure,
        standard=_range(above, below),
        above=None if math.isinf(above) else above,
        below=None if math.isinf(below) else below,
        parts=tuple(judged),
        detail=detail,
        source="beyond" if beyond else "paper",
    )


def compare(
    claim: str, values: Mapping[str, Mapping[str, FloatArray]], *, measure: str = "", note: str = "", **options: Any
) -> Claim:
    """Judge the difference, or the ratio, of the first two policies in each setting; `options` are those of `judge`.

    `values` holds one value per draw by setting and policy. The detail has the means of all policies, then the note.

    >>> regret = {"A": np.array([1.0, 2.0]), "B": np.array([2.0, 4.0]), "C": np.array([5.0, 5.0])}
    >>> claim = compare("A loses less than B.", {"x = 1": regret}, kind="ratio", below=1)
    >>> claim.measure, claim.effect_text[:4], claim.detail
    ('A / B', '0.50', 'x = 1: A 1.5, B 3.0, C 5.0')
    """
    ratio = options.get("kind") == "ratio"
    pairs = {where: tuple(policies.values())[:2] for where, policies in values.items()}
    effects = {where: one / other if ratio else one - other for where, (one, other) in pairs.items()}
    first, second = tuple(next(iter(values.values())))[:2]
    detail = "; ".join(f"{where}: " * bool(where) + means_text(policies) for where, policies in values.items())
    measure = measure or f"{first} {'/' if ratio else '−'} {second}"
    return judge(claim, effects, measure=measure, detail=detail + note, **options)


_ORDER: tuple[Verdict, ...] = ("does not hold", "not settled", "holds")


def _part(where: str, values: FloatArray, kind: Kind, ends: tuple[float, float], among: int) -> Part:
    above, below = ends
    draws = len(values)
    wide = 1.0 - (1.0 - LEVEL) / among
    if not np.all(np.isfinite(values)) or (kind == "ratio" and values.min() <= 0):
        return Part(where, None, None, None, wide, draws, "not settled")
    effect = _mean(values, kind)
    if draws < 2:
        return Part(where, effect, None, None, wide, draws, "not settled")
    low, high = interval(values, LEVEL, kind)
    wide_low, wide_high = interval(values, wide, kind)
    if draws >= MIN_DRAWS and wide_low < wide_high:  # equal values have no standard error
        if above < low and high < below:
            return Part(where, effect, low, high, LEVEL, draws, "holds")
        if wide_high < above or wide_low > below:
            return Part(where, effect, wide_low, wide_high, wide, draws, "does not hold")
    return Part(where, effect, wide_low, wide_high, wide, draws, "not settled")


def _mean(values: FloatArray, kind: Kind) -> float:
    return float(np.exp(np.log(values).mean()) if kind == "ratio" else values.mean())


def interval(values: FloatArray, level: float = LEVEL, kind: Kind = "difference") -> tuple[float, float]:
    """Return the confidence interval of a mean of at least two values: Student's t, or exact for shares.

    >>> low, high = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    >>> low, high = interval(np.array([1.0, 1.0, 1.0]), kind="share")
    >>> round(low, 3), high
    (0.292, 1.0)
    """
    if kind == "share":
        from scipy.stats import binomtest  # noqa: PLC0415 - slow to import, and rarely needed

        exact = binomtest(int(values.sum()), len(values)).proportion_ci(level)
        return float(exact.low), float(exact.high)
    if kind == "ratio":
        low, high = interval(np.log(values), level)
        return math.exp(low), math.exp(high)
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    away = t_multiplier(len(values), level) * error
    return mean - away, mean + away


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
