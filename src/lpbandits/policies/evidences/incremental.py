"""Incremental: each round adds the newest reward's likelihood at the refitted mean. lpbTS's expanded algorithm."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.isotonic import fitted_means, fitted_one
from lpbandits.kernels.layout import FAMILY, NOISE, REWARDS, SCORE, Arrays
from lpbandits.kernels.likelihood import log_likelihood
from lpbandits.kernels.tally import record
from lpbandits.policies.base import Evidence
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards, as_rewards


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


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """Keep the scores, which depend on the order of rewards, and normalise them."""
    normalise(b)


@dataclass(frozen=True)
class Incremental(Evidence):
    """The expanded algorithm: each round adds the newest reward's log-likelihood at the refitted mean.

    It depends on the order of the rewards.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "incremental"
    fitted: ClassVar[bool] = True
    tell = staticmethod(tell)
    expected_rewards = staticmethod(fitted_means)
    expected_reward = staticmethod(fitted_one)
    update_posterior = staticmethod(update_posterior)

    def __post_init__(self) -> None:
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("likelihood='incremental' needs a known noise; use likelihood='refit' for unknown noise")
