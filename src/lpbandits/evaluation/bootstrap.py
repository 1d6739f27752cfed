"""How sure a mean over people is, and a mean difference: by drawing the people again."""

import numpy as np
from scipy.special import ndtri

from lpbandits.parallel import one_thread
from lpbandits.statistics import t_multiplier
from lpbandits.typing import FloatArray

DRAWS = 4_000
LEVEL = 0.95
FEW = 20
"""With fewer people the interval is no narrower than Student's: a handful of values may all lie on one side."""

ROUNDING = 1e-9
"""Differences of scores below this are those of sums in another order."""

TOGETHER = 500
"""Draws held in memory at once."""


def intervals(values: FloatArray, *, seed: int) -> FloatArray:
    """Return rows×2: the 95 % interval of each row's mean over people, the same people drawn for all rows.

    It lies between percentiles of the means of people drawn with replacement, expanded by √(n/(n − 1)) and by how much
    farther Student's t reaches than the normal distribution: with few people plain percentiles are too narrow
    (Hesterberg 2015, "What teachers should know about the bootstrap").

    >>> gaps = np.random.default_rng(0).normal(0.5, 1.0, (1, 100))
    >>> intervals(gaps, seed=0).round(2).tolist()
    [[0.39, 0.77]]
    """
    rows, people = values.shape
    if people < 2:
        return np.full((rows, 2), np.nan)
    means = values.mean(axis=1)
    away = values - means[:, None]
    rng = np.random.default_rng([seed, 13])
    drawn = []
    with one_thread("blas"):  # so that sums have one order
        for start in range(0, DRAWS, TOGETHER):
            chosen = rng.integers(0, people, (min(TOGETHER, DRAWS - start), people))
            counts = np.stack([np.bincount(one, minlength=people) for one in chosen]).astype(np.float64)
            drawn.append(counts @ away.T / people)
    wide = np.sqrt(people / (people - 1)) * t_multiplier(people, LEVEL) / ndtri(0.5 + LEVEL / 2)
    ends = np.quantile(np.concatenate(drawn), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    found: FloatArray = means[:, None] + wide * ends.T
    if people < FEW:
        reached = t_multiplier(people, LEVEL) * values.std(axis=1, ddof=1) / np.sqrt(people)
        found = np.column_stack([np.minimum(found[:, 0], means - reached), np.maximum(found[:, 1], means + reached)])
    return found


def differences(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return one − other, exactly 0 where they differ by rounding.

    >>> differences(np.array([0.1 + 0.2]), np.array([0.3])).tolist()
    [0.0]
    """
    gaps: FloatArray = one - other
    return np.where(np.abs(gaps) < ROUNDING, 0.0, gaps)
