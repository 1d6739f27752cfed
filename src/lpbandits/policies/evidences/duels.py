"""Inversions, paired rewards and wins: what duels say about the states, or about each pair of actions.

The evidences of lpb-duel, lpb-paired and double Thompson sampling.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import EVIDENCE, LOG_PRIOR, REWARDS, SCORE, TIERED, Arrays
from lpbandits.kernels.tally import record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, Feedback, set_frozen, unknown_reward
from lpbandits.policies.posterior import normalise
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray

LOG_FACTOR = 0  # the setting: logarithm of the likelihood factor of an inversion
# rows of `own`
COUNTED = 0  # inversions, per state
WAITING = 1  # for paired rewards: the unpaired action plus 1 (0: none), and its reward

MAX_ACTIONS = 4096
"""Maximum number of actions whose wins are counted, because every pair has a count."""


@kernel
def update_posterior(b: Arrays, n: int) -> None:
    """score_z = log prior_z + inversions_z · log(½ − ρ)."""
    for z in range(b.states.shape[1]):
        b.states[SCORE, z] = b.states[LOG_PRIOR, z] + b.own[COUNTED, z] * b.settings[EVIDENCE, LOG_FACTOR]
    normalise(b)


@kernel
def invert(b: Arrays, n: int, winner: int, loser: int) -> None:
    """Add an inversion to every state that prefers the loser."""
    for z in range(b.states.shape[1]):
        if b.ranks[z, loser] < b.ranks[z, winner]:
            b.own[COUNTED, z] += 1.0
    update_posterior(b, n)


@kernel
def record_duel(b: Arrays, n: int, winner: int, loser: int) -> int:
    """Record the duel as reward 1 for the winner and 0 for the loser; return the number of tried actions."""
    n, _ = record(b, n, winner, 1.0)
    n, _ = record(b, n, loser, 0.0)
    return n


@dataclass(frozen=True)
class Inversions(Evidence):
    """Number of duels that contradict a state's ordering (the paper's note on relative feedback).

    Each multiplies the state's likelihood by ½ − margin, or by ½ if the margin ρ is unknown. A duel of two actions of a
    tier contradicts nothing.
    """

    margin: float | None = None
    kind = "inversions"
    ordered = False
    own_rows = 1
    feedback: ClassVar[Feedback] = "duels"
    update_posterior = staticmethod(update_posterior)

    def __post_init__(self) -> None:
        if self.margin is not None:
            set_frozen(self, margin=validate.as_number(self.margin, "margin", low=0, high=0.499))

    def settings(self) -> tuple[float, ...]:
        """Return the logarithm of an inversion's factor."""
        return (math.log(0.5 - (self.margin or 0.0)),)

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, winner: int, loser: int) -> int:
        """Add a duel (the paper's Eq. 5)."""
        n = record_duel(b, n, winner, loser)
        invert(b, n, winner, loser)
        return n

    @staticmethod
    @kernel
    def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
        """Write the share of other actions that the state ranks below each; an ordering determines no rewards.

        Another action of the same tier counts half.
        """
        k = b.ranks.shape[1]
        unit = 1.0 + b.settings[REWARDS, TIERED]  # with tiers, ranks are doubled
        for action in range(k):
            out[action] = (k - 1.0 - b.ranks[state, action] / unit) / max(k - 1, 1)


@dataclass(frozen=True)
class Paired(Inversions):
    """Rewards turned into duels: every second reward is compared with the one before (absolute to relative feedback).

    It combines with every rule that draws states: `Policy(model, Paired(), Sample())`. Equal rewards are ignored.
    """

    rewards: Rewards = field(default_factory=Rewards)
    kind = "paired"
    feedback = "rewards"
    expected_reward = staticmethod(unknown_reward)

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return the initial number of inversions of every state, and no unpaired reward."""
        return np.zeros((2, max(model.n_states, 2)))

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, action: int, reward: float) -> int:
        """Keep a first reward; when a second arrives, compare the two as a duel."""
        n, _ = record(b, n, action, reward)
        if b.own[WAITING, 0] == 0.0:
            b.own[WAITING, 0] = action + 1.0
            b.own[WAITING, 1] = reward
            return n
        earlier = min(max(int(b.own[WAITING, 0]) - 1, 0), b.ranks.shape[1] - 1)  # a saved belief may be invalid
        if b.own[WAITING, 1] > reward:
            invert(b, n, earlier, action)
        elif b.own[WAITING, 1] < reward:
            invert(b, n, action, earlier)
        b.own[WAITING, 0] = 0.0
        b.own[WAITING, 1] = 0.0
        return n


@dataclass(frozen=True)
class Wins(Evidence):
    """Wins of every action over every other, without latent states."""

    kind = "wins"
    feedback = "duels"
    latent = False
    ordered = False
    probabilistic = False

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return k×k: wins of each action (row) over each other (column)."""
        k = validate.as_count(model.n_actions, "the number of actions", high=MAX_ACTIONS)
        return np.zeros((k, k))

    @staticmethod
    @kernel
    def tell(b: Arrays, n: int, winner: int, loser: int) -> int:
        """own[winner, loser] += 1; a duel of an action with itself is ignored."""
        if winner != loser:
            b.own[winner, loser] += 1.0
        return record_duel(b, n, winner, loser)

    @staticmethod
    @kernel
    def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
        """Write each action's mean probability of beating another: (wins + 1) / (meetings + 2)."""
        k = b.ranks.shape[1]
        for one in range(k):
            total = 0.0
            for other in range(k):
                if other != one:
                    total += (b.own[one, other] + 1.0) / (b.own[one, other] + b.own[other, one] + 2.0)
            out[one] = total / max(k - 1, 1)
