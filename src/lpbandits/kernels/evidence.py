"""Evidence: how probable is each state, given what this person showed.

Every evidence has a `tell` (and, where that is possible, a `retract`) of one form:

    n = tell(ranks, table, numbers, order, n, action, reward)

It records the outcome, updates the states' scores and leaves the normalised posterior in row POSTERIOR of `numbers`.
`n` is the number of tried actions. See `layout` for the arrays. To add an evidence, write its tell here and its
settings in `lpbandits.policies.evidence`.
"""

import numpy as np

from lpbandits.kernels.compiler import jit_in_place, jit_inline
from lpbandits.kernels.isotonic import pool
from lpbandits.kernels.layout import (
    BERNOULLI,
    BLOCK_COUNT,
    BLOCK_SUM,
    COUNT,
    EXTRA,
    EXTRA_TOO,
    FAMILY,
    GAUSSIAN,
    GAUSSIAN_UNKNOWN,
    LOG_HORIZON,
    LOG_PRIOR,
    MARGIN,
    NOISE,
    POSTERIOR,
    SCORE,
    SETTINGS,
    SPREAD,
    SUM,
    WEIGHT,
)
from lpbandits.kernels.tally import record, remove
from lpbandits.typing import FloatArray, Int32Array, SlotArray


@jit_inline
def normalise(numbers: FloatArray, m: int) -> None:
    """Turn scores into the posterior; subtracting the largest score first keeps the exponentials in range."""
    largest = numbers[SCORE, 0]
    for z in range(1, m):
        largest = max(largest, numbers[SCORE, z])
    total = 0.0
    for z in range(m):
        numbers[POSTERIOR, z] = np.exp(numbers[SCORE, z] - largest)
        total += numbers[POSTERIOR, z]
    scale = 1.0 / total
    for z in range(m):
        numbers[POSTERIOR, z] *= scale


@jit_inline
def log_likelihood(family: int, reward: float, mean: float, noise: float) -> float:
    """Return log p(reward | mean), up to a term that does not depend on the mean."""
    if family <= GAUSSIAN_UNKNOWN:
        return -((reward - mean) ** 2) / (2.0 * noise * noise)
    if family == BERNOULLI:
        return np.log(mean) if reward > 0.0 else np.log1p(-mean)
    return (reward * np.log(mean) if reward > 0.0 else 0.0) - mean


@jit_inline
def block_score(family: int, total: float, count: float, centre: float) -> float:
    """Return a block's part of the log-likelihood at its own mean total/count, up to a constant of the data.

    Gaussian (to be divided by 2σ²): S²/N, about `centre` so that a common offset of all rewards cancels first.
    """
    if family <= GAUSSIAN_UNKNOWN:
        return (total - centre * count) ** 2 / count
    score = total * np.log(total / count) if total > 0.0 else 0.0
    if family == BERNOULLI and total < count:
        score += (count - total) * np.log1p(-total / count)
    return score


@jit_in_place
def unknown_noise_score(numbers: FloatArray, squares: float, count: float) -> float:
    """Return the log evidence of a sum of squared residuals when the noise is integrated out.

    The prior on σ² is inverse gamma and worth WEIGHT observations of spread NOISE².
    """
    weight = numbers[SETTINGS, WEIGHT]
    return -0.5 * (weight + count) * np.log(weight * numbers[SETTINGS, NOISE] ** 2 + squares)


@jit_inline
def refit_scores(numbers: FloatArray, order: SlotArray, m: int, n: int) -> None:
    """Score every state by the likelihood of all rewards at its own isotonic fit (Eq. `appr_posterior`)."""
    family = int(numbers[SETTINGS, FAMILY])
    count = 0.0
    total = 0.0
    for slot in range(n):
        count += numbers[COUNT, slot]
        total += numbers[SUM, slot]
    centre = total / count if n > 0 else 0.0
    precision = 0.5 * numbers[SETTINGS, NOISE] ** -2
    squares = 0.0  # all rewards about the centre; only unknown noise needs it
    if family == GAUSSIAN_UNKNOWN:
        for slot in range(n):
            own = block_score(family, numbers[SUM, slot], numbers[COUNT, slot], centre)
            squares += numbers[SPREAD, slot] + own
    for z in range(m):
        blocks, _ = pool(numbers, order, 1 + z, n, -1)
        score = 0.0
        if family == GAUSSIAN:
            for block in range(blocks):
                score += (numbers[BLOCK_SUM, block] - centre * numbers[BLOCK_COUNT, block]) ** 2 / numbers[
                    BLOCK_COUNT, block
                ]
            score *= precision
        else:
            for block in range(blocks):
                score += block_score(family, numbers[BLOCK_SUM, block], numbers[BLOCK_COUNT, block], centre)
            if family == GAUSSIAN_UNKNOWN:
                score = unknown_noise_score(numbers, max(squares - score, 0.0), count)
        numbers[SCORE, z] = numbers[LOG_PRIOR, z] + score
    normalise(numbers, m)


@jit_in_place
def refit_tell(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """lpbTS, Algorithm 1: the likelihood of all data at the refitted means."""
    n, _ = record(ranks, numbers, order, n, action, reward)
    refit_scores(numbers, order, ranks.shape[0], n)
    return n


@jit_in_place
def refit_retract(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take an outcome back: the refit depends only on counts and sums, so the past leaves no trace."""
    n = remove(numbers, order, n, action, reward)
    refit_scores(numbers, order, ranks.shape[0], n)
    return n


@jit_in_place
def incremental_tell(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """lpbTS, expanded algorithm: refit, then add only the newest reward's log-likelihood to the running score."""
    family = int(numbers[SETTINGS, FAMILY])
    m = ranks.shape[0]
    n, slot = record(ranks, numbers, order, n, action, reward)
    largest = -np.inf
    for z in range(m):
        _, block = pool(numbers, order, 1 + z, n, slot)
        mean = numbers[BLOCK_SUM, block] / numbers[BLOCK_COUNT, block]
        numbers[SCORE, z] += log_likelihood(family, reward, mean, numbers[SETTINGS, NOISE])
        largest = max(largest, numbers[SCORE, z])
    for z in range(m):
        numbers[SCORE, z] -= largest
    normalise(numbers, m)
    return n


@jit_inline
def known_scores(table: FloatArray, numbers: FloatArray, order: SlotArray, m: int, n: int) -> None:
    """Score every state by the likelihood of all rewards at its known means, from counts and sums alone.

    Terms that are equal for all states are left out, so that an outlandish reward that is taken back leaves no trace.
    """
    family = int(numbers[SETTINGS, FAMILY])
    precision = 0.5 * numbers[SETTINGS, NOISE] ** -2
    count = 0.0
    spread = 0.0
    for slot in range(n):
        count += numbers[COUNT, slot]
        spread += numbers[SPREAD, slot]
    for z in range(m):
        score = 0.0
        for slot in range(n):
            own = numbers[COUNT, slot]
            total = numbers[SUM, slot]
            mean = table[z, order[0, slot]]
            if family <= GAUSSIAN_UNKNOWN:
                score += (total - own * mean) ** 2 / own
            elif family == BERNOULLI:
                score += total * np.log(mean) + (own - total) * np.log1p(-mean)
            else:
                score += total * np.log(mean) - own * mean
        if family == GAUSSIAN:
            score *= -precision
        elif family == GAUSSIAN_UNKNOWN:
            score = unknown_noise_score(numbers, spread + score, count)
        numbers[SCORE, z] = numbers[LOG_PRIOR, z] + score
    normalise(numbers, m)


@jit_in_place
def known_tell(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """MTS (Hong et al. 2020): the likelihood of all rewards at the state's known means."""
    n, _ = record(ranks, numbers, order, n, action, reward)
    known_scores(table, numbers, order, ranks.shape[0], n)
    return n


@jit_in_place
def known_retract(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take an outcome back: the scores depend only on counts and sums, so the past leaves no trace."""
    n = remove(numbers, order, n, action, reward)
    known_scores(table, numbers, order, ranks.shape[0], n)
    return n


@jit_in_place
def consistency_tell(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """MUCB (Hong et al. 2020): charge the optimistic state with what the reward fell short of its known mean.

    EXTRA counts the rounds N(s) in which s was the optimistic state, EXTRA_TOO sums mean − margin − reward over them.
    A state stays consistent while that sum is at most σ √(6 N log T). The optimistic state of the round is the
    consistent one that promises most for the action played. POSTERIOR is uniform over the consistent states; where
    none is left, the state that exceeds its bound least stands alone. SCORE is bound − sum, at least 0 if consistent.
    """
    n, _ = record(ranks, numbers, order, n, action, reward)
    m = ranks.shape[0]
    charged = -1
    for z in range(m):
        if numbers[POSTERIOR, z] > 0.0 and (charged < 0 or table[z, action] > table[charged, action]):
            charged = z
    numbers[EXTRA, charged] += 1.0
    numbers[EXTRA_TOO, charged] += table[charged, action] - numbers[SETTINGS, MARGIN] - reward
    for z in range(m):
        bound = numbers[SETTINGS, NOISE] * np.sqrt(6.0 * numbers[EXTRA, z] * numbers[SETTINGS, LOG_HORIZON])
        numbers[SCORE, z] = bound - numbers[EXTRA_TOO, z]
    consistent = 0.0
    least = -1
    for z in range(m):
        if numbers[LOG_PRIOR, z] == -np.inf:
            continue
        if numbers[SCORE, z] >= 0.0:
            consistent += 1.0
        if least < 0 or numbers[SCORE, z] > numbers[SCORE, least]:
            least = z
    for z in range(m):
        if numbers[LOG_PRIOR, z] == -np.inf:
            numbers[POSTERIOR, z] = 0.0
        elif consistent == 0.0:
            numbers[POSTERIOR, z] = 1.0 if z == least else 0.0
        else:
            numbers[POSTERIOR, z] = 1.0 / consistent if numbers[SCORE, z] >= 0.0 else 0.0
    return n


@jit_in_place
def tally_tell(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Keep counts and sums alone: for policies without latent states."""
    n, _ = record(ranks, numbers, order, n, action, reward)
    return n


@jit_in_place
def tally_retract(
    ranks: Int32Array,
    table: FloatArray,
    numbers: FloatArray,
    order: SlotArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take an outcome back."""
    return remove(numbers, order, n, action, reward)
