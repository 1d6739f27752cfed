"""Wins: the number of wins of each action over each other. The evidence of double Thompson sampling."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.kernels.tally import record
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence, Feedback
from lpbandits.typing import FloatArray

MAX_ACTIONS = 4096
"""Maximum number of actions, because wins of every pair are counted."""


@kernel
def tell(b: Arrays, n: int, winner: int, loser: int) -> int:
    """own[winner, loser] += 1; a duel of an action with itself is ignored."""
    n, _ = record(b, n, winner, 1.0)
    n, _ = record(b, n, loser, 0.0)
    if winner != loser:
        b.own[winner, loser] += 1.0
    return n


@kernel
def expected_rewards(b: Arrays, n: int, state: int, out: FloatArray) -> None:
    """Write each action's mean probability to beat another, (wins + 1) / (meetings + 2) averaged over the others."""
    k = len(out)
    for one in range(k):
        total = 0.0
        for other in range(k):
            if other != one:
                total += (b.own[one, other] + 1.0) / (b.own[one, other] + b.own[other, one] + 2.0)
        out[one] = total / max(k - 1, 1)


@dataclass(frozen=True)
class Wins(Evidence):
    """Wins of every action over every other, without latent states.

    >>> Wins().own(PreferenceModel([[0, 1, 2]])).shape
    (3, 3)
    """

    kind: ClassVar[str] = "wins"
    feedback: ClassVar[Feedback] = "duels"
    latent: ClassVar[bool] = False
    ordered: ClassVar[bool] = False
    probabilistic: ClassVar[bool] = False
    tell = staticmethod(tell)
    expected_rewards = staticmethod(expected_rewards)

    def own(self, model: PreferenceModel) -> FloatArray:
        """Return k×k: wins of each action (row) over each other (column)."""
        k = validate.as_count(model.n_actions, "the number of actions", high=MAX_ACTIONS)
        return np.zeros((k, k))

    def check_own(self, model: PreferenceModel, own: FloatArray, outcomes: int) -> None:
        """Reject wins that are impossible after this number of duels."""
        if np.any(own < 0) or np.any(own != np.floor(own)) or np.any(np.diag(own)) or own.sum() > outcomes:
            raise InvalidInput(
                f"wins must be whole numbers, at most one per duel ({outcomes}), got a sum of {own.sum():g}"
            )
