"""Log-likelihoods of the families of rewards, each up to a constant that is equal for all states."""

import numpy as np

from lpbandits.kernels import layout
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BERNOULLI, COUNT, FAMILY, GAUSSIAN_UNKNOWN, NOISE, REWARDS, SPREAD, SUM, Arrays
from lpbandits.kernels.tally import totals

ROUNDING = 1e-18  # relative rounding error of a sum of squares


@kernel
def log_likelihood(family: int, reward: float, mean: float, noise: float) -> float:
    """Return log p(reward | mean)."""
    if family <= GAUSSIAN_UNKNOWN:
        return -((reward - mean) ** 2) / (2.0 * noise * noise)
    if family == BERNOULLI:
        return np.log(mean) if reward > 0.0 else np.log1p(-mean)
    return (reward * np.log(mean) if reward > 0.0 else 0.0) - mean


@kernel
def fit_likelihood(b: Arrays, blocks: int, family: int) -> float:
    """Return the log-likelihood of Bernoulli or Poisson rewards at the latest fit of `pool`: each block's own mean."""
    score = 0.0
    for i in range(blocks):
        count, total = b.work[layout.BLOCK_COUNT, i], b.work[layout.BLOCK_SUM, i]
        part = total * np.log(total / count) if total > 0.0 else 0.0
        if family == BERNOULLI and total < count:
            part += (count - total) * np.log1p(-total / count)
        score += part
    return score


@kernel
def squares_about(b: Arrays, n: int, centre: float) -> float:
    """Return the sum of squares of all rewards about `centre`, if the noise is unknown."""
    squares = 0.0
    for slot in range(n):
        count = b.slots[COUNT, slot]
        squares += b.slots[SPREAD, slot] + (b.slots[SUM, slot] - centre * count) ** 2 / count
    return squares


@kernel
def guessed_square(b: Arrays, n: int) -> float:
    """Return σ₀²: the guess, or without one the variance of all rewards.

    If all rewards are equal up to rounding, it is 1.
    """
    noise = b.settings[REWARDS, NOISE]
    if noise > 0.0:
        return noise * noise
    count, total = totals(b, n)
    squares = squares_about(b, n, total / count)
    if squares <= ROUNDING * total * total / count:
        return 1.0
    return squares / (count - 1.0)


@kernel
def unknown_noise(b: Arrays, squares: float, count: float, guess: float) -> float:
    """Return the log evidence of a sum of squared residuals when the noise is integrated out.

    −½ (w + n) log(w σ₀² + squares): the prior on σ² is inverse gamma, equivalent to w observations with variance σ₀²,
    the `guess`.
    """
    weight = b.settings[REWARDS, layout.GUESS_WEIGHT]
    return -0.5 * (weight + count) * np.log(weight * guess + squares)


@kernel
def noise_of(b: Arrays, n: int) -> float:
    """Return the noise: known, or √((w σ₀² + Σ spread) / (w + Σ (count − 1))) with a guess σ₀ worth w rewards.

    Only the spread within actions counts, so it does not depend on the state.
    """
    if b.settings[REWARDS, FAMILY] != GAUSSIAN_UNKNOWN:
        return b.settings[REWARDS, NOISE]
    weight = b.settings[REWARDS, layout.GUESS_WEIGHT]
    squares = weight * guessed_square(b, n)
    for slot in range(n):
        squares += b.slots[SPREAD, slot]
        weight += b.slots[COUNT, slot] - 1.0
    return np.sqrt(squares / weight)
