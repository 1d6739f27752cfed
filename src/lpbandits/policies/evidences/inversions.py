"""Inversions: the number of duels that contradict each state's ordering. The evidence of lpb-duel and lpb-paired."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import EVIDENCE, LOG_PRIOR, SCORE, Arrays
from lpbandits.kernels.tally import record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, Feedback, set_frozen, unknown_reward
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray

LOG_FACTOR = 0  # the setting: logarithm of the likelihood factor of an inversion
# rows of `own`
COUNTED = 0  # inversions, per state
WAITING = 1  # for paired rewards: the unpaired action plus 1 (0: none), and its reward


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + inversions_z · log(½ − ρ)."""
    for z in range(b.states.shape[1]):
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + b.own[COUNTED, z] * b.settings[EVIDENCE, LOG_FACTOR]
    normalise(b)


@kernel
def invert(b: Arrays, n: int, winner: int, loser: int) -> None:
    """Charge every state that prefers the loser."""
    for z in range(b.states.shape[1]):
        if b.ranks[z, loser] < b.ranks[z, winner]:
            b.own[COUNTED, z] += 1.0
    update_posterior(b, n)


@kernel
def tell(b: Arrays, n: int, winner: int, loser: int) -> int:
    """Add a duel (Eq. `rel_lik_bound`). A slot counts appearances; its sum counts wins."""
    n, _ = record(b, n, winner, 1.0)
    n, _ = record(b, n, loser, 0.0)
    invert(b, n, winner, loser)
    return n


@kernel
def tell_paired(b: Arrays, n: int, action: int, reward: float) -> int:
    """Add a reward as half a duel: every second one is compared with the one before (absolute to relative)."""
    n, _ = record(b, n, action, reward)
    if b.own[WAITING, 0] == 0.0:
        b.own[WAITING, 0] = action + 1.0
        b.own[WAITING, 1] = reward
        return n
    earlier = int(b.own[WAITING, 0]) - 1
    if b.own[WAITING, 1] > reward:
        invert(b, n, earlier, action)
    elif b.own[WAITING, 1] < reward:
        invert(b, n, action, earlier)
    b.own[WAITING, 0] = 0.0
    b.own[WAITING, 1] = 0.0
    return n


@kernel
def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write the share of the other actions that the state ranks below each; an ordering gives no rewards."""
    k = len(out)
    for action in range(k):
        out[action] = (k - 1.0 - b.ranks[state, action]) / max(k - 1, 1)


def _check_counted(counted: FloatArray, most: int) -> None:
    if np.any(counted < 0) or np.any(counted > most) or np.any(counted != np.floor(counted)):
        raise InvalidInput(f"inversions must be whole numbers from 0 to {most}, got {counted.tolist()!s:.60}")


@dataclass(frozen=True)
class Inversions(Evidence):
    """Number of duels that contradict a state's ordering (the paper's note on relative feedback).

    Each multiplies the state's likelihood by ½ − margin, or by ½ if the margin ρ is unknown.

    >>> Inversions(0.25).settings()[0] == math.log(0.25)
    True
    """

    margin: float | None = None
    kind: ClassVar[str] = "inversions"
    ordered: ClassVar[bool] = False
    feedback: ClassVar[Feedback] = "duels"
    tell = staticmethod(tell)
    expected_rewards = staticmethod(expected_rewards)
    update_posterior = staticmethod(update_posterior)

    def __post_init__(self) -> None:
        if self.margin is not None:
            set_frozen(self, margin=validate.as_number(self.margin, "margin", low=0, high=0.499))

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the number of inversions of every state."""
        return np.zeros((1, model.n_states))

    def check_own(self, model: PreferenceModel, own: FloatArray, outcomes: int) -> None:
        """Reject counts that are impossible after this number of duels."""
        _check_counted(own[COUNTED], outcomes)

    def settings(self) -> tuple[float, ...]:
        """Return the logarithm of an inversion's factor."""
        return (math.log(0.5 - (self.margin or 0.0)),)


@dataclass(frozen=True)
class Paired(Evidence):
    """Rewards turned into duels: every second reward is compared with the one before (absolute to relative feedback).

    It combines with every rule that draws states: `Policy(model, Paired(), Sample())`. Equal rewards are ignored.
    """

    margin: float | None = None
    rewards: Rewards = field(default_factory=Rewards)
    kind: ClassVar[str] = "paired"
    ordered: ClassVar[bool] = False
    tell = staticmethod(tell_paired)
    expected_rewards = staticmethod(expected_rewards)
    expected_reward = staticmethod(unknown_reward)
    update_posterior = staticmethod(update_posterior)

    def __post_init__(self) -> None:
        set_frozen(self, margin=Inversions(self.margin).margin, rewards=as_rewards(self.rewards))

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the number of inversions of every state, and the unpaired reward."""
        return np.zeros((2, max(model.n_states, 2)))

    def check_own(self, model: PreferenceModel, own: FloatArray, outcomes: int) -> None:
        """Reject counts that are impossible after this number of rewards, and an invalid unpaired reward."""
        _check_counted(own[COUNTED], outcomes // 2)
        waiting, reward = own[WAITING, :2].tolist()
        valid = waiting == math.floor(waiting) and 0 <= waiting <= model.n_actions and not np.any(own[WAITING, 2:])
        if not valid or (waiting > 0) != (outcomes % 2 == 1):
            raise InvalidInput(f"the unpaired action cannot be {waiting - 1:g} after {outcomes} rewards")
        if waiting:
            self.rewards.check(reward)

    def settings(self) -> tuple[float, ...]:
        """Return the logarithm of an inversion's factor."""
        return Inversions(self.margin).settings()
