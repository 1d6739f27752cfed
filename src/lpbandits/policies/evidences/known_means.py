"""Known means: the likelihood of all rewards at each state's known means. The evidence of mTS."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import (
    BERNOULLI,
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
from lpbandits.kernels.likelihood import unknown_noise
from lpbandits.kernels.posterior import normalise
from lpbandits.kernels.tally import record
from lpbandits.model import PreferenceModel
from lpbandits.policies.parts import Evidence
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray


@kernel
def tell(b: Arrays, n: int, action: int, reward: float) -> int:
    """score_z = log prior_z + log p(all rewards | z's known means), from counts and sums alone."""
    n, _ = record(b, n, action, reward)
    family = int(b.settings[REWARDS, FAMILY])
    precision = 0.5 * b.settings[REWARDS, NOISE] ** -2
    count = 0.0
    spread = 0.0
    for slot in range(n):
        count += b.slots[COUNT, slot]
        spread += b.slots[SPREAD, slot]
    for z in range(b.states.shape[1]):
        score = 0.0
        for slot in range(n):
            own = b.slots[COUNT, slot]
            total = b.slots[SUM, slot]
            mean = b.table[z, b.order[0, slot]]
            if family <= GAUSSIAN_UNKNOWN:
                score += (total - own * mean) ** 2 / own
            elif family == BERNOULLI:
                score += total * np.log(mean) + (own - total) * np.log1p(-mean)
            else:
                score += total * np.log(mean) - own * mean
        if family == GAUSSIAN:
            score *= -precision
        elif family == GAUSSIAN_UNKNOWN:
            score = unknown_noise(b, spread + score, count)
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + score
    normalise(b)
    return n


@kernel
def expect(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write the known means."""
    for action in range(len(out)):
        out[action] = b.table[state, action]


@dataclass(frozen=True)
class KnownMeans(Evidence):
    """The likelihood of all rewards at the state's known means: the full latent bandit of Hong et al. (2020).

    >>> KnownMeans().table(PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])).shape
    (2, 2)
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "known-means"
    tell = staticmethod(tell)
    expect = staticmethod(expect)

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means."""
        return means_of(model, self.rewards.family, "mts")


def means_of(model: PreferenceModel, family: str, user: str) -> FloatArray:
    """Return the model's means if it has them and such rewards can have them."""
    if model.means is None:
        raise InvalidInput(
            f"{user} needs to know the mean rewards; give the model `means`, or use lpbts, which does not"
        )
    low, high = {"bernoulli": (0.0, 1.0), "poisson": (0.0, math.inf)}.get(family, (-math.inf, math.inf))
    bad = np.argwhere((model.means <= low) | (model.means >= high))
    if len(bad):
        z, a = (int(i) for i in bad[0])
        raise InvalidInput(f"means[{z}, {a}] is {model.means[z, a]:g}; a {family} mean lies in ({low:g}, {high:g})")
    validate.as_number(float(np.abs(model.means).max()), "the largest mean", high=validate.LARGEST)
    return model.means
