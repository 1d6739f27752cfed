"""Evidence: how probable is each state, given what this person showed.

Every evidence has a `tell` (and, where that is possible, a `retract`) of one form:

    n = tell(ranks, table, settings, stats, order, states, n, action, reward)

It records the outcome, updates the states' scores and leaves the normalised posterior in `states[POSTERIOR]`. `n` is
the number of tried actions. See `layout` for the arrays. To add an evidence, write its tell here and its settings in
`lpbandits.policies.evidence`.
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
    SPREAD,
    SUM,
    WEIGHT,
)
from lpbandits.kernels.tally import record, remove
from lpbandits.typing import FloatArray, Int32Array


@jit_inline
def normalise(states: FloatArray) -> None:
    """Turn scores into the posterior; subtracting the largest score first keeps the exponentials in range."""
    m = states.shape[1]
    largest = states[SCORE, 0]
    for z in range(1, m):
        largest = max(largest, states[SCORE, z])
    total = 0.0
    for z in range(m):
        states[POSTERIOR, z] = np.exp(states[SCORE, z] - largest)
        total += states[POSTERIOR, z]
    scale = 1.0 / total
    for z in range(m):
        states[POSTERIOR, z] *= scale


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
def unknown_noise_score(settings: FloatArray, squares: float, count: float) -> float:
    """Return the log evidence of a sum of squared residuals when the noise is integrated out.

    The prior on σ² is inverse gamma and worth WEIGHT observations of spread NOISE².
    """
    weight = settings[WEIGHT]
    return -0.5 * (weight + count) * np.log(weight * settings[NOISE] ** 2 + squares)


@jit_inline
def refit_scores(settings: FloatArray, stats: FloatArray, order: Int32Array, states: FloatArray, n: int) -> None:
    """Score every state by the likelihood of all rewards at its own isotonic fit (Eq. `appr_posterior`)."""
    family = int(settings[FAMILY])
    count = 0.0
    total = 0.0
    for slot in range(n):
        count += stats[COUNT, slot]
        total += stats[SUM, slot]
    centre = total / count if n > 0 else 0.0
    precision = 0.5 * settings[NOISE] ** -2
    squares = 0.0  # all rewards about the centre; only unknown noise needs it
    if family == GAUSSIAN_UNKNOWN:
        for slot in range(n):
            own = block_score(family, stats[SUM, slot], stats[COUNT, slot], centre)
            squares += stats[SPREAD, slot] + own
    for z in range(states.shape[1]):
        blocks, _ = pool(stats, order, 1 + z, n, -1)
        score = 0.0
        if family == GAUSSIAN:
            for block in range(blocks):
                score += (stats[BLOCK_SUM, block] - centre * stats[BLOCK_COUNT, block]) ** 2 / stats[BLOCK_COUNT, block]
            score *= precision
        else:
            for block in range(blocks):
                score += block_score(family, stats[BLOCK_SUM, block], stats[BLOCK_COUNT, block], centre)
            if family == GAUSSIAN_UNKNOWN:
                score = unknown_noise_score(settings, max(squares - score, 0.0), count)
        states[SCORE, z] = states[LOG_PRIOR, z] + score
    normalise(states)


@jit_in_place
def refit_tell(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001 - one form for all evidences
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """lpbTS, Algorithm 1: the likelihood of all data at the refitted means."""
    n, _ = record(ranks, stats, order, n, action, reward)
    refit_scores(settings, stats, order, states, n)
    return n


@jit_in_place
def refit_retract(
    ranks: Int32Array,  # noqa: ARG001
    table: FloatArray,  # noqa: ARG001
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take an outcome back: the refit depends only on counts and sums, so the past leaves no trace."""
    n = remove(stats, order, n, action, reward)
    refit_scores(settings, stats, order, states, n)
    return n


@jit_in_place
def incremental_tell(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """lpbTS, expanded algorithm: refit, then add only the newest reward's log-likelihood to the running score."""
    family = int(settings[FAMILY])
    n, slot = record(ranks, stats, order, n, action, reward)
    largest = -np.inf
    for z in range(states.shape[1]):
        _, block = pool(stats, order, 1 + z, n, slot)
        mean = stats[BLOCK_SUM, block] / stats[BLOCK_COUNT, block]
        states[SCORE, z] += log_likelihood(family, reward, mean, settings[NOISE])
        largest = max(largest, states[SCORE, z])
    for z in range(states.shape[1]):
        states[SCORE, z] -= largest
    normalise(states)
    return n


@jit_inline
def known_scores(
    table: FloatArray,
    settings: FloatArray,
    stats: FloatArray,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
    sign: float,
) -> None:
    """Add (sign 1) or take back (sign -1) one reward's log-likelihood at each state's known mean."""
    family = int(settings[FAMILY])
    count = 0.0
    for slot in range(n):
        count += stats[COUNT, slot]
    for z in range(states.shape[1]):
        if family == GAUSSIAN_UNKNOWN:
            states[EXTRA, z] = max(states[EXTRA, z] + sign * (reward - table[z, action]) ** 2, 0.0)
            states[SCORE, z] = states[LOG_PRIOR, z] + unknown_noise_score(settings, states[EXTRA, z], count)
        else:
            states[EXTRA, z] += sign * log_likelihood(family, reward, table[z, action], settings[NOISE])
            states[SCORE, z] = states[LOG_PRIOR, z] + states[EXTRA, z]
    normalise(states)


@jit_in_place
def known_tell(
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """mTS (Hong et al. 2020): the likelihood of all rewards at the state's known means."""
    n, _ = record(ranks, stats, order, n, action, reward)
    known_scores(table, settings, stats, states, n, action, reward, 1.0)
    return n


@jit_in_place
def known_retract(
    ranks: Int32Array,  # noqa: ARG001
    table: FloatArray,
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take an outcome back; with none left, the scores start from the prior exactly."""
    n = remove(stats, order, n, action, reward)
    if n == 0:
        for z in range(states.shape[1]):
            states[EXTRA, z] = 0.0
            states[SCORE, z] = states[LOG_PRIOR, z]
        normalise(states)
    else:
        known_scores(table, settings, stats, states, n, action, reward, -1.0)
    return n


@jit_in_place
def consistency_tell(
    ranks: Int32Array,
    table: FloatArray,
    settings: FloatArray,
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,
    n: int,
    action: int,
    reward: float,
) -> int:
    """mUCB (Hong et al. 2020): charge the optimistic state with what the reward fell short of its known mean.

    EXTRA counts the rounds N(s) in which s was the optimistic state, EXTRA_TOO sums mean − margin − reward over them.
    A state stays consistent while that sum is at most σ √(6 N log T). The optimistic state of the round is the
    consistent one that promises most for the action played. POSTERIOR is uniform over the consistent states; where
    none is left, the state that exceeds its bound least stands alone. SCORE is bound − sum, at least 0 if consistent.
    """
    n, _ = record(ranks, stats, order, n, action, reward)
    m = states.shape[1]
    charged = -1
    for z in range(m):
        if states[POSTERIOR, z] > 0.0 and (charged < 0 or table[z, action] > table[charged, action]):
            charged = z
    states[EXTRA, charged] += 1.0
    states[EXTRA_TOO, charged] += table[charged, action] - settings[MARGIN] - reward
    for z in range(m):
        bound = settings[NOISE] * np.sqrt(6.0 * states[EXTRA, z] * settings[LOG_HORIZON])
        states[SCORE, z] = bound - states[EXTRA_TOO, z]
    consistent = 0.0
    least = -1
    for z in range(m):
        if states[LOG_PRIOR, z] == -np.inf:
            continue
        if states[SCORE, z] >= 0.0:
            consistent += 1.0
        if least < 0 or states[SCORE, z] > states[SCORE, least]:
            least = z
    for z in range(m):
        if states[LOG_PRIOR, z] == -np.inf:
            states[POSTERIOR, z] = 0.0
        elif consistent == 0.0:
            states[POSTERIOR, z] = 1.0 if z == least else 0.0
        else:
            states[POSTERIOR, z] = 1.0 / consistent if states[SCORE, z] >= 0.0 else 0.0
    return n


@jit_in_place
def tally_tell(
    ranks: Int32Array,
    table: FloatArray,  # noqa: ARG001
    settings: FloatArray,  # noqa: ARG001
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,  # noqa: ARG001
    n: int,
    action: int,
    reward: float,
) -> int:
    """Keep counts and sums alone: for policies without latent states."""
    n, _ = record(ranks, stats, order, n, action, reward)
    return n


@jit_in_place
def tally_retract(
    ranks: Int32Array,  # noqa: ARG001
    table: FloatArray,  # noqa: ARG001
    settings: FloatArray,  # noqa: ARG001
    stats: FloatArray,
    order: Int32Array,
    states: FloatArray,  # noqa: ARG001
    n: int,
    action: int,
    reward: float,
) -> int:
    """Take an outcome back."""
    return remove(stats, order, n, action, reward)
