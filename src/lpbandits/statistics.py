"""Confidence intervals of means."""

import math

from scipy.special import stdtrit

LEVEL = 0.95
"""Default confidence level."""


def t_multiplier(draws: int, level: float = LEVEL) -> float:
    """Return the half-width of Student's t confidence interval, in standard errors; infinite for one draw.

    >>> round(t_multiplier(3), 2), round(t_multiplier(1000), 2), t_multiplier(1)
    (4.3, 1.96, inf)
    """
    return math.inf if draws < 2 else float(stdtrit(draws - 1, 0.5 + level / 2.0))
