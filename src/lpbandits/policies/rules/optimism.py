"""Optimism: play the largest known mean over the possible states. The rule of mUCB."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels import layout
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, Arrays
from lpbandits.policies.base import Rule, deterministic
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import favourite
from lpbandits.typing import FloatArray, IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play the action of max over possible states z and allowed actions a of mean_z(a)."""
    action = -1
    promise = -np.inf
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] > 0.0:
            best = favourite(b, z, offered)
            if action < 0 or b.table[z, best] > promise:
                action = best
                promise = b.table[z, best]
    return action


@dataclass(frozen=True)
class Optimism(Rule):
    """Play the largest known mean over the possible states (mUCB).

    >>> Optimism().kind
    'optimism'
    """

    kind: ClassVar[str] = "optimism"
    choose = staticmethod(choose)
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without known means."""
        if policy.table.shape != (policy.model.n_states, policy.model.n_actions):
            raise InvalidInput(
                f"the rule '{self.kind}' plays known means, which the evidence '{policy.evidence.kind}' has not; "
                "combine it with 'known-means' or 'consistency'"
            )

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return 1 for the action it will play."""
        best = policy.favourites(offered)
        possible = belief.states[layout.POSTERIOR] > 0
        promise = np.where(possible, policy.table[np.arange(len(best)), best], -np.inf)
        return policy.equally(best[[int(np.argmax(promise))]])
