"""Best expected: draw a state, play the action with its largest expected reward. The rule of lpb-utility."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.kernels import layout
from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE_WORK, Arrays
from lpbandits.kernels.random import STATE, uniform
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Rule, expected_rewards
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import draw_state
from lpbandits.typing import FloatArray, IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Draw z ~ posterior, play argmax_a M_z(a)."""
    expected_rewards(b, n, draw_state(b, uniform(seed, person, round_, STATE, 0)), b.work[RULE_WORK])
    return largest(b.work[RULE_WORK], b.ranks.shape[1], offered)


@kernel
def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return the posterior mass of the states with the largest expected reward for an action."""
    out = 0.0
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] > 0.0:
            expected_rewards(b, n, z, b.work[RULE_WORK])
            if largest(b.work[RULE_WORK], b.ranks.shape[1], offered) == action:
                out += b.states[POSTERIOR, z]
    return out


@dataclass(frozen=True)
class BestExpected(Rule):
    """Draw a state from the posterior, play the action with its largest expected reward.

    `Sample` plays the state's first action; this rule abandons it if its rewards are lower than expected.
    """

    kind: ClassVar[str] = "best-expected"
    needs_expectations: ClassVar[bool] = True
    choose = staticmethod(choose)
    probability = staticmethod(probability)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return one row, one column per action."""
        return (1, model.n_actions)

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return the posterior mass of the states with the largest expected reward for each action."""
        allowed = policy.allowed(offered)
        best = allowed[np.argmax(policy.expected(belief)[:, allowed], axis=1)]
        out = np.zeros(policy.model.n_actions)
        np.add.at(out, best, belief.states[layout.POSTERIOR])
        return out
