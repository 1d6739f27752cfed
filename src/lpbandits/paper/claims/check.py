"""Claims, and the statistical standard of their verdicts.

A claim states that an effect (for example a difference or a ratio of two policies' regrets) lies in a range. Each draw
of the orderings gives one value, with policies paired within the draw, and the mean has a 95 % interval by Student's t:
ratios on the log scale (geometric mean), shares by the exact binomial interval. The claim holds if the interval lies
inside the range, does not hold if it lies outside, and is not settled otherwise.

A claim about several settings holds if it holds in each, and does not hold if it fails in one, with Bonferroni's
correction. Settings are never pooled or selected by their result. The constants define words such as
"comparable".
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
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
"""A regret is fairly constant, or stable, if it stays within this factor of its first value."""
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

    @property
    def effect_text(self) -> str:
        """The effect with its interval, such as "−2.50 [−3.46, −1.54]"."""
        text = "–" if self.effect is None else _number(self.effect)
        return text if self.low is None or self.high is None else f"{text} [{_number(self.low)}, {_number(self.high)}]"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A checked claim: its sentence, the verdict, the measured effect and the range in which it holds.

    `above` and `below` are the limits of the range (None is unbounded), and `standard` states it in words. The first of
    the `parts` decides. The claim is shown at the first of its `figures`, and in the summary if it is a `headline`.
    `source` is the paper or beyond it, and `detail` has supporting numbers.
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
    figures: tuple[str, ...] = ()
    headline: bool = False

    @property
    def effect_text(self) -> str:
        """The deciding effect with its interval."""
        return self.parts[0].effect_text

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
    """Claims that need the same figures, and the function that judges them from the tables of these figures."""

    needs: tuple[str, ...]
    judge: Callable[..., Iterable[Claim]]

    def run(self, tables: Tables) -> list[Claim]:
        """Judge the claims."""
        return [replace(claim, figures=self.needs) for claim in self.judge(*(tables[name] for name in self.needs))]


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
    headline: bool = False,
) -> Claim:
    """Judge whether a measure lies between `above` and `below`, from one value per draw and setting.

    >>> ours = np.array([-3.0, -2.5, -2.0, -2.5])
    >>> claim = judge("A has less regret than B.", ours, measure="A − B", below=0)
    >>> claim.verdict, claim.standard, claim.effect_text
    ('holds', 'below 0', '−2.50 [−3.15, −1.85]')
    >>> judge("A has less regret than B.", {"x = 1": ours, "x = 2": -ours}, measure="A − B", below=0).where_text
    'x = 2; holds in 1 of 2'
    >>> judge("A has less regret than B.", ours[:2], measure="A − B", below=0).verdict
    'not settled'
    """
    named = parts if isinstance(parts, Mapping) else {"": parts}
    judged = [_part(where, values, kind, above, below, len(named)) for where, values in named.items()]

    def order(part: Part) -> tuple[int, float]:
        """Sort by verdict, then by how far inside the range the interval lies (negative outside)."""
        inside = -math.inf if part.low is None or part.high is None else min(part.low - above, below - part.high)
        return ("does not hold", "not settled", "holds").index(part.verdict), inside

    judged.sort(key=order)
    return Claim(
        claim=claim,
        verdict=judged[0].verdict,
        measure=measure,
        standard=_range(above, below),
        above=None if math.isinf(above) else above,
        below=None if math.isinf(below) else below,
        parts=tuple(judged),
        detail=detail,
        source="beyond" if beyond else "paper",
        headline=headline,
    )


def compare(
    claim: str, values: Mapping[str, Mapping[str, FloatArray]], *, measure: str = "", note: str = "", **options: Any
) -> Claim:
    """Judge the difference, or the ratio, of the first two policies in each setting; `options` are those of `judge`.

    `values` holds one value per draw by setting and policy. The detail has the means of all policies, then the note.

    >>> regret = {"A": np.array([1.0, 2.0]), "B": np.array([2.0, 4.0]), "C": np.array([5.0, 5.0])}
    >>> claim = compare("A has less regret than B.", {"x = 1": regret}, kind="ratio", below=1)
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


def _part(where: str, values: FloatArray, kind: Kind, above: float, below: float, among: int) -> Part:
    """Judge one setting `among` several."""
    draws = len(values)
    wide = 1.0 - (1.0 - LEVEL) / among
    if not np.all(np.isfinite(values)) or (kind == "ratio" and values.min() <= 0):
        return Part(where, None, None, None, wide, draws, "not settled")
    effect = float(np.exp(np.log(values).mean()) if kind == "ratio" else values.mean())
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


def interval(values: FloatArray, level: float = LEVEL, kind: Kind = "difference") -> tuple[float, float]:
    """Return the confidence interval of a mean of at least two values: Student's t, or exact for shares."""
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


def _range(above: float, below: float) -> str:
    """Return a range in words, such as "between 0.8 and 1.25"."""
    if math.isinf(above):
        return f"below {below:g}"
    return f"above {above:g}" if math.isinf(below) else f"between {above:.3g} and {below:g}"


def _number(value: float) -> str:
    digits = 3 if abs(value) < 0.1 else 2 if abs(value) < 100 else 0
    return f"{value:.{digits}f}".replace("-", "−")
