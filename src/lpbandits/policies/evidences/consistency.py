"""Consistency: the states consistent with the rewards. The evidence of mUCB."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import EVIDENCE, LOG_PRIOR, NOISE, POSTERIOR, REWARDS, SCORE, Arrays
from lpbandits.kernels.tally import record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, set_frozen
from lpbandits.policies.evidences.known_means import expected_reward, expected_rewards, means_of
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray

# settings
LOG_HORIZON = 0
SLACK = 1
# rows of `own`, a column per state
CHARGED = 0  # N(s): number of rounds in which s was the optimistic state
SHORT = 1  # G(s): sum of its means minus the rewards of these rounds


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """Mark the states s that are consistent: G(s) ≤ σ √(6 N(s) log T). The score is that bound − G.

    The posterior is uniform over the consistent states; if there are none, it is 1 for the state that exceeds its
    bound least.
    """
    m = b.states.shape[1]
    consistent = 0.0
    least = -1
    for z in range(m):
        bound = b.settings[REWARDS, NOISE] * np.sqrt(6.0 * b.own[CHARGED, z] * b.settings[EVIDENCE, LOG_HORIZON])
        b.states[SCORE, z] = bound - b.own[SHORT, z]
        if b.states[LOG_PRIOR, z] == -np.inf:
            continue
        if b.states[SCORE, z] >= 0.0:
            consistent += 1.0
        if least < 0 or b.states[SCORE, z] > b.states[SCORE, least]:
            least = z
    for z in range(m):
        if b.states[LOG_PRIOR, z] == -np.inf:
            b.states[POSTERIOR, z] = 0.0
        elif consistent == 0.0:
            b.states[POSTERIOR, z] = 1.0 if z == least else 0.0
        else:
            b.states[POSTERIOR, z] = 1.0 / consistent if b.states[SCORE, z] >= 0.0 else 0.0


@kernel
def tell(b: Arrays, n: int, action: int, reward: float) -> int:
    """G(s) += mean − ε − reward for the optimistic state s, the consistent one with the largest mean of the action."""
    n, _ = record(b, n, action, reward)
    m = b.states.shape[1]
    charged = -1
    for z in range(m):
        if b.states[POSTERIOR, z] > 0.0 and (charged < 0 or b.table[z, action] > b.table[charged, action]):
            charged = z
    b.own[CHARGED, charged] += 1.0
    b.own[SHORT, charged] += b.table[charged, action] - b.settings[EVIDENCE, SLACK] - reward
    update_posterior(b, n)
    return n


@dataclass(frozen=True)
class Consistency(Evidence):
    """The states consistent with the rewards, as in mUCB (Hong et al. 2020).

    `slack` is the largest error of the known means (ε of the paper).
    """

    rewards: Rewards = field(default_factory=Rewards)
    horizon: int = 200
    slack: float = 0.0
    kind: ClassVar[str] = "consistency"
    ordered: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False
    tell = staticmethod(tell)
    expected_rewards = staticmethod(expected_rewards)
    expected_reward = staticmethod(expected_reward)
    update_posterior = staticmethod(update_posterior)

    def __post_init__(self) -> None:
        slack = validate.as_number(self.slack, "slack", low=0, high=validate.MAX_ABS_VALUE)
        set_frozen(self, horizon=validate.as_count(self.horizon, "horizon"), slack=slack)
        if not as_rewards(self.rewards).noise_known:
            raise InvalidInput("mucb needs a known noise; give noise, or use mts with noise_known=False")

    def table(self, model: PreferenceModel) -> FloatArray:
        """Return the model's means; rewards of any family are treated as Gaussian."""
        return means_of(model, "gaussian", "mucb")

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the number of charged rounds and the shortfall of every state."""
        return np.zeros((2, model.n_states))

    def check_own(self, model: PreferenceModel, own: FloatArray, outcomes: int) -> None:
        """Reject charges that are not one per round, and impossible shortfalls."""
        counts, short = own[CHARGED], np.abs(own[SHORT])
        if np.any(counts < 0) or np.any(counts != np.floor(counts)) or counts.sum() != outcomes:
            raise InvalidInput(f"charged rounds must sum to {outcomes}, got {counts.tolist()!s:.60}")
        if np.any(short > (2.0 * validate.MAX_ABS_VALUE + self.slack) * counts):
            raise InvalidInput(f"a shortfall is {short.max():g}, which is impossible after {outcomes} rewards")

    def settings(self) -> tuple[float, ...]:
        """Return log T and the slack ε."""
        return (math.log(max(self.horizon, 2)), self.slack)
