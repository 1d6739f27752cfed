"""Refit: the likelihood of all rewards at each state's isotonic fit. The evidence of lpbTS."""

from dataclasses import dataclass, field
from typing import ClassVar

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import fitted_means, fitted_one, pool
from lpbandits.kernels.layout import (
    BLOCK_COUNT,
    BLOCK_SUM,
    COUNT,
    FAMILY,
    GAUSSIAN,
    GAUSSIAN_UNKNOWN,
    LOG_PRIOR,
    NOISE,
    REWARDS,
    SCORE,
    SPREAD,
    SUM,
    Arrays,
)
from lpbandits.kernels.likelihood import guessed_square, own_mean_likelihood, unknown_noise
from lpbandits.kernels.tally import record
from lpbandits.policies.base import Evidence
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + Σ_blocks log p(block | its own mean), the blocks of z's isotonic fit of all rewards."""
    family = int(b.settings[REWARDS, FAMILY])
    count = 0.0
    total = 0.0
    for slot in range(n):
        count += b.slots[COUNT, slot]
        total += b.slots[SUM, slot]
    centre = total / count
    precision = 0.5 * b.settings[REWARDS, NOISE] ** -2 if family == GAUSSIAN else 0.0
    squares = 0.0  # of all rewards about the centre; only for unknown noise, as is the guess
    guess = 0.0
    if family == GAUSSIAN_UNKNOWN:
        guess = guessed_square(b, n)
        for slot in range(n):
            about = own_mean_likelihood(family, b.slots[SUM, slot], b.slots[COUNT, slot], centre)
            squares += b.slots[SPREAD, slot] + about
    for z in range(b.states.shape[1]):
        blocks = pool(b, 1 + z, n)
        score = 0.0
        if family == GAUSSIAN:
            for i in range(blocks):
                score += (b.work[BLOCK_SUM, i] - centre * b.work[BLOCK_COUNT, i]) ** 2 / b.work[BLOCK_COUNT, i]
            score *= precision
        else:
            for i in range(blocks):
                score += own_mean_likelihood(family, b.work[BLOCK_SUM, i], b.work[BLOCK_COUNT, i], centre)
            if family == GAUSSIAN_UNKNOWN:
                score = unknown_noise(b, max(squares - score, 0.0), count, guess)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + score
    normalise(b)


@kernel
def tell(b: Arrays, n: int, action: int, reward: float) -> int:
    """Record the reward and update the posterior."""
    n, _ = record(b, n, action, reward)
    update_posterior(b, n)
    return n


@dataclass(frozen=True)
class Refit(Evidence):
    """The likelihood of all rewards at the state's isotonic fit (Eq. `appr_posterior`).

    It depends only on counts, sums and spreads: outcomes may be late and in any order.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "refit"
    fitted: ClassVar[bool] = True
    batchable: ClassVar[bool] = True
    tell = staticmethod(tell)
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)
    update_posterior = staticmethod(update_posterior)
