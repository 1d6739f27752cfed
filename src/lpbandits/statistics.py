"""Confidence intervals of means."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from lpbandits.typing import FloatArray

LEVEL = 0.95
"""Default confidence level."""


def t_multiplier(draws: int, level: float = LEVEL) -> float:
    """Return the half-width of Student's t confidence interval, in standard errors; infinite for one draw.

    >>> round(t_multiplier(3), 2), round(t_multiplier(1000), 2), t_multiplier(1)
    (4.3, 1.96, inf)
    """
    return math.inf if draws < 2 else float(stdtrit(draws - 1, 0.5 + level / 2.0))


def half_width(differences: FloatArray, level: float = LEVEL, *, widen: float = 1.0) -> float:
    """Return the half-width of the confidence interval of a mean of differences, many of which may be exactly 0.

    Only differences other than 0 tell how large a difference is, so Student's t has one degree of freedom fewer than
    their number. Without any the half-width is 0, with one it is infinite. `widen` multiplies it.

    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 2), round(half_width(np.array([0.0, 0.0, 1.0, 2.0])), 2)
    (2.48, 6.08)
    """
    differing = int(np.count_nonzero(differences))
    if differing == 0:
        return 0.0
    if differing == 1:
        return math.inf
    return widen * t_multiplier(differing, level) * float(differences.std(ddof=1)) / math.sqrt(len(differences))


def gaps_to_best(scores: FloatArray, total: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return how far each row of scores per person is below the best row, summed over people, and its standard error.

    Both are divided by `total`.
    """
    people = scores.shape[1]
    gaps = (scores[scores.sum(axis=1).argmax()] - scores) / total
    # The sum over n people of independent differences has n times the variance of one.
    return gaps.sum(axis=1), gaps.std(axis=1, ddof=min(1, people - 1)) * np.sqrt(people)


@dataclass(frozen=True)
class Difference:
    """A mean difference over people and its 95 % interval; the interval is None with too few people."""

    mean: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, differences: FloatArray, *, widen: float = 1.0) -> "Difference":
        """Return the mean of differences by person, with its interval; `widen` multiplies its width."""
        mean, half = float(differences.mean()), half_width(differences, widen=widen)
        return cls(mean, mean - half, mean + half) if math.isfinite(half) else cls(mean, None, None)

    @property
    def sign(self) -> int:
        """1 if the interval lies above 0, −1 if below, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0.0) - int(self.high < 0.0)

    def __format__(self, form: str) -> str:
        """Format the mean and the interval; a rounded zero is not negative.

        >>> f"{Difference(0.059, 0.044, 0.073):+.3f}", f"{Difference(-0.0003, None, None):+.3f}"
        ('+0.059 [+0.044, +0.073]', '+0.000')
        """
        form = form[:1] + "z" + form[1:] if form.startswith("+") else "z" + form
        mean = f"{self.mean:{form}}"
        return mean if self.low is None or self.high is None else f"{mean} [{self.low:{form}}, {self.high:{form}}]"
