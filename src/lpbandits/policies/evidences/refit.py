"""Refit and incremental: the likelihood of rewards at each state's isotonic fit. The evidences of lpbTS."""

from dataclasses import dataclass, field

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import block_squares, fitted_means, fitted_one, pool
from lpbandits.kernels.layout import FAMILY, GAUSSIAN, GAUSSIAN_UNKNOWN, LOG_PRIOR, NOISE, REWARDS, SCORE, Arrays
from lpbandits.kernels.likelihood import fit_likelihood, guessed_square, log_likelihood, squares_about, unknown_noise
from lpbandits.kernels.tally import record, totals
from lpbandits.policies.base import Evidence
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards, as_rewards


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + Σ_blocks log p(block | its own mean), the blocks of z's isotonic fit of all rewards."""
    family = int(b.settings[REWARDS, FAMILY])
    count, total = totals(b, n)
    centre = total / count  # subtracted first, so that a common offset of all rewards cancels
    precision = 0.5 * b.settings[REWARDS, NOISE] ** -2 if family == GAUSSIAN else 0.0
    unknown = family == GAUSSIAN_UNKNOWN
    guess = guessed_square(b, n) if unknown else 0.0
    squares = squares_about(b, n, centre) if unknown else 0.0
    for z in range(b.states.shape[1]):
        blocks = pool(b, 1 + z, n)
        if family == GAUSSIAN:
            score = precision * block_squares(b, blocks, centre)
        elif unknown:
            score = unknown_noise(b, max(squares - block_squares(b, blocks, centre), 0.0), count, guess)
        else:
            score = fit_likelihood(b, blocks, family)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + score
    normalise(b)


@dataclass(frozen=True)
class Refit(Evidence):
    """The likelihood of all rewards at the state's isotonic fit (the paper's Eq. 4).

    It depends only on counts, sums and spreads: outcomes may be late and in any order.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind = "refit"
    certainty = "optimistic"  # the likelihood at the best fit
    gaussian_noise = True
    fitted = True
    batchable = True
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)
    update_posterior = staticmethod(update_posterior)

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Record the reward and update the posterior."""
        n, _ = record(b, n, action, reward)
        update_posterior(b, n)
        return n


@dataclass(frozen=True)
class Incremental(Evidence):
    """The expanded algorithm: each round adds the newest reward's log-likelihood at the refitted mean.

    It depends on the order of the rewards.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind = "incremental"
    certainty = "optimistic"
    gaussian_noise = True
    fitted = True
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)

    def __post_init__(self) -> None:
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("likelihood='incremental' needs a known noise; use likelihood='refit' for unknown noise")

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """score_z += log p(reward | the mean of `action` in z's isotonic fit of all rewards, this one included)."""
        n, _ = record(b, n, action, reward)
        family = int(b.settings[REWARDS, FAMILY])
        m = b.states.shape[1]
        largest = -np.inf
        for z in range(m):
            mean = fitted_one(b, n, z, action)
            b.states[SCORE, z] += log_likelihood(family, reward, mean, b.settings[REWARDS, NOISE])
            largest = max(largest, b.states[SCORE, z])
        for z in range(m):
            b.states[SCORE, z] -= largest
        normalise(b)
        return n

    @staticmethod
    @kernel
    def update_posterior(b: Arrays, n: int) -> None:
        """Keep the scores, which depend on the order of rewards, and normalise them."""
        normalise(b)
