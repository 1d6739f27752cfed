"""Bootstrap intervals of means over people."""

import numpy as np
from scipy.special import ndtri

from lpbandits.parallel import one_thread
from lpbandits.statistics import LEVEL, t_multiplier
from lpbandits.typing import FloatArray

DRAWS = 4_000
SMALL_SAMPLE = 20
"""With fewer people the interval is at least as wide as Student's t interval."""

ROUNDING = 1e-9
"""Differences of scores below this are rounding errors."""

CHUNK = 500
"""Draws held in memory at once."""


def intervals(values: FloatArray, *, seed: int) -> FloatArray:
    """Return rows × 2: the 95 % interval of each row's mean, with the same resampled people for all rows.

    Notes
    -----
    The percentiles of the bootstrap means are expanded by √(n/(n − 1)) and by the ratio of Student's t quantile to the
    normal one, since plain percentile intervals are too narrow for few people (Hesterberg 2015, "What teachers should
    know about the bootstrap").

    Examples
    --------
    >>> gains = np.random.default_rng(0).normal(0.5, 1.0, (1, 100))
    >>> intervals(gains, seed=0).round(2).tolist()
    [[0.39, 0.77]]
    """
    rows, people = values.shape
    if people < 2:
        return np.full((rows, 2), np.nan)
    means = values.mean(axis=1)
    centered = values - means[:, None]
    rng = np.random.default_rng([seed, 13])
    draws = []
    with one_thread("blas"):  # a fixed order of summation
        for start in range(0, DRAWS, CHUNK):
            sample = rng.integers(0, people, (min(CHUNK, DRAWS - start), people))
            counts = np.stack([np.bincount(one, minlength=people) for one in sample]).astype(np.float64)
            draws.append(counts @ centered.T / people)
    expansion = np.sqrt(people / (people - 1)) * t_multiplier(people) / ndtri(0.5 + LEVEL / 2)
    ends = np.quantile(np.concatenate(draws), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    bounds: FloatArray = means[:, None] + expansion * ends.T
    if people < SMALL_SAMPLE:
        half = t_multiplier(people) * values.std(axis=1, ddof=1) / np.sqrt(people)
        bounds = np.column_stack([np.minimum(bounds[:, 0], means - half), np.maximum(bounds[:, 1], means + half)])
    return bounds


def differences(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return one − other, exactly 0 where they differ by rounding.

    >>> differences(np.array([0.1 + 0.2]), np.array([0.3])).tolist()
    [0.0]
    """
    gaps: FloatArray = one - other
    return np.where(np.abs(gaps) < ROUNDING, 0.0, gaps)
