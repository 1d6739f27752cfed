"""Optimism: play the largest known mean over the possible states. The rule of mUCB."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, Arrays
from lpbandits.policies.base import Rule, deterministic, require
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import favourite
from lpbandits.typing import IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play the action of max over possible states z and allowed actions a of mean_z(a)."""
    action = -1
    largest = -np.inf
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] > 0.0:
            best = favourite(b, z, offered)
            if action < 0 or b.table[z, best] > largest:
                action = best
                largest = b.table[z, best]
    return action


@dataclass(frozen=True)
class Optimism(Rule):
    """Play the largest known mean over the possible states (mUCB)."""

    kind: ClassVar[str] = "optimism"
    choose = staticmethod(choose)
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without known means."""
        known = policy.table.shape == (policy.model.n_states, policy.model.n_actions)
        require(policy, known, "known means", "'known-means' or 'consistency'")
