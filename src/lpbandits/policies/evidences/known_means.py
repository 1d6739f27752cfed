"""Known means: the likelihood of all rewards at each state's known means. The evidence of mTS."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import (
    COUNT,
    FAMILY,
    GAUSSIAN,
    GAUSSIAN_UNKNOWN,
    LOG_PRIOR,
    NOISE,
    REWARDS,
    SCORE,
    Arrays,
)
from lpbandits.kernels.likelihood import guessed_square, log_likelihood, unknown_noise
from lpbandits.kernels.tally import record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray

MISFIT = 0  # the row of `own`, a column per state: sum of squared residuals, or negative log-likelihood


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z − misfit_z / 2σ²."""
    family = int(b.settings[REWARDS, FAMILY])
    scale = 0.5 * b.settings[REWARDS, NOISE] ** -2 if family == GAUSSIAN else 1.0
    count = 0.0
    guess = 0.0
    if family == GAUSSIAN_UNKNOWN:
        guess = guessed_square(b, n)
        for slot in range(n):
            count += b.slots[COUNT, slot]
    for z in range(b.states.shape[1]):
        fit = -scale * b.own[MISFIT, z]
        if family == GAUSSIAN_UNKNOWN:
            fit = unknown_noise(b, b.own[MISFIT, z], count, guess)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + fit
    normalise(b)


@kernel
def tell(b: Arrays, n: int, action: int, reward: float) -> int:
    """misfit_z += (reward − mean_z(action))², or −log p(reward | mean)."""
    n, _ = record(b, n, action, reward)
    family = int(b.settings[REWARDS, FAMILY])
    for z in range(b.states.shape[1]):
        mean = b.table[z, action]
        if family <= GAUSSIAN_UNKNOWN:
            b.own[MISFIT, z] += (reward - mean) ** 2
        else:
            b.own[MISFIT, z] -= log_likelihood(family, reward, mean, b.settings[REWARDS, NOISE])
    update_posterior(b, n)
    return n


@kernel
def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write the known means."""
    for action in range(len(out)):
        out[action] = b.table[state, action]


@kernel
def expected_reward(b: Arrays, n: int, state: int, action: int) -> float:
    """Return the known mean of one action."""
    return float(b.table[state, action])


@dataclass(frozen=True)
class KnownMeans(Evidence):
    """The likelihood of all rewards at the state's known means: the full latent bandit of Hong et al. (2020).

    >>> KnownMeans().table(PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])).shape
    (2, 2)
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "known-means"
    ordered: ClassVar[bool] = False
    tell = staticmethod(tell)
    expected_rewards = staticmethod(expected_rewards)
    expected_reward = staticmethod(expected_reward)
    update_posterior = staticmethod(update_posterior)

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means."""
        return means_of(model, self.rewards.family, "mts")

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the misfit of every state."""
        return np.zeros((1, model.n_states))

    def check_own(self, model: PreferenceModel, own: FloatArray, outcomes: int) -> None:
        """Reject an impossible misfit."""
        most = (2.0 * validate.MAX_ABS_VALUE) ** 2 * max(outcomes, 1)
        least = 0.0 if self.rewards.family == "gaussian" else -most
        if np.any(own < least) or np.any(own > most):
            raise InvalidInput(f"misfits must lie in [{least:g}, {most:g}], got {own.min():g} to {own.max():g}")


def means_of(model: PreferenceModel, family: str, user: str) -> FloatArray:
    """Return the model's means; raise `InvalidInput` if it has none or they do not suit the rewards."""
    if model.means is None:
        raise InvalidInput(f"{user} needs a model with means; give `means`, or use lpbts, which does not need them")
    low, high = {"bernoulli": (0.0, 1.0), "poisson": (0.0, math.inf)}.get(family, (-math.inf, math.inf))
    bad = np.argwhere((model.means <= low) | (model.means >= high))
    if len(bad):
        z, a = (int(i) for i in bad[0])
        raise InvalidInput(f"means[{z}, {a}] must lie in ({low:g}, {high:g}) ({family}), got {model.means[z, a]:g}")
    validate.as_number(float(np.abs(model.means).max()), "the largest mean", high=validate.MAX_ABS_VALUE)
    return model.means
