"""How sure a mean over draws is."""

import math

from scipy.special import stdtrit

LEVEL = 0.95


def t_multiplier(draws: int, level: float = LEVEL) -> float:
    """Return how many standard errors an interval reaches to either side, by Student's t; one draw tells nothing.

    >>> round(t_multiplier(3), 2), round(t_multiplier(1000), 2), t_multiplier(1)
    (4.3, 1.96, inf)
    """
    return math.inf if draws < 2 else float(stdtrit(draws - 1, 0.5 + level / 2.0))
