"""Optimism over orderings: the largest upper confidence bound of the best actions. The rule of lpb-order-ucb."""

from dataclasses import dataclass

import numpy as np

from lpbandits.kernels.choices import first_allowed
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import LOG_PRIOR, POSTERIOR, Arrays
from lpbandits.kernels.tally import confidence_width, find, mean_reward, totals
from lpbandits.policies.base import Rule, deterministic, require
from lpbandits.policies.policy import Policy
from lpbandits.typing import IntArray


@kernel
def candidate(b: Arrays, state: int, offered: IntArray, best: int, i: int) -> int:
    """Return entry i of a state's ordering or of `offered`: -1 unless it is allowed and shares the rank of `best`."""
    action = int(b.table[state, i]) if len(offered) == 0 else offered[i]
    return action if b.ranks[state, action] == b.ranks[state, best] else -1


@dataclass(frozen=True)
class OrderOptimism(Rule):
    """Play the largest upper confidence bound among the best allowed actions of the possible states."""

    kind = "order-optimism"
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence whose table does not hold the orderings."""
        require(policy, policy.evidence.kind == "order-bounds", "the orderings as its table", "'order-bounds'")

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play max U_a over the first allowed tiers; untried actions have U = ∞, and ties go to the larger prior."""
        count, _ = totals(b, n)
        log_rounds = np.log(1.0 + count)
        action = -1
        largest = -np.inf
        prior = -np.inf
        for z in range(b.states.shape[1]):
            if b.states[POSTERIOR, z] == 0.0:
                continue
            best = int(b.table[z, 0]) if len(offered) == 0 else first_allowed(b.ranks, z, offered)
            for i in range(b.ranks.shape[1] if len(offered) == 0 else len(offered)):
                a = candidate(b, z, offered, best, i)
                if a < 0:
                    if len(offered) == 0:
                        break
                    continue
                slot = find(b.order, n, a)
                bound = np.inf if slot < 0 else mean_reward(b, slot) + confidence_width(b, slot, log_rounds)
                if action < 0 or bound > largest or (bound == largest and b.states[LOG_PRIOR, z] > prior):
                    action = a
                    largest = bound
                    prior = b.states[LOG_PRIOR, z]
        return action
