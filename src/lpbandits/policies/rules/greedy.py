"""Greedy: play the action with the largest expected reward. The rule of taste."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE_WORK, Arrays
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Rule, deterministic, expected_rewards
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import counted_states
from lpbandits.typing import FloatArray, IntArray

# rows of scratch, per action
MEAN = RULE_WORK
TOTAL = RULE_WORK + 1


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmax_a M(a), with M(a) = Σ p_z M_z(a) if there are states."""
    k = b.ranks.shape[1]
    if b.states.shape[1] == 0:
        expected_rewards(b, n, 0, b.work[TOTAL])
    else:
        for a in range(k):
            b.work[TOTAL, a] = 0.0
        least, mass = counted_states(b)
        for z in range(b.states.shape[1]):
            p = b.states[POSTERIOR, z] / mass
            if b.states[POSTERIOR, z] >= least:
                expected_rewards(b, n, z, b.work[MEAN])
                for a in range(k):
                    b.work[TOTAL, a] += p * b.work[MEAN, a]
    return largest(b.work[TOTAL], k, offered)


@dataclass(frozen=True)
class Greedy(Rule):
    """Play the action with the largest expected reward. The rule is deterministic.

    For actions that each person gets once, such as films: there it beats sampling by far. Where actions repeat it locks
    in on one that is good enough and never learns that another is better; a warning says so.

    Examples
    --------
    >>> Greedy().handles_repeats
    False
    """

    kind: ClassVar[str] = "greedy"
    latent: ClassVar[bool | None] = None
    needs_expectations: ClassVar[bool] = True
    handles_repeats: ClassVar[bool] = False
    choose = staticmethod(choose)
    probability = staticmethod(deterministic)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return two rows, one column per action."""
        return (2, model.n_actions)

    def check(self, policy: Policy) -> None:
        """Refuse an evidence without expected rewards of untried actions."""
        if not policy.evidence.latent and not policy.evidence.predictive:
            raise InvalidInput(
                f"'{policy.evidence.kind}' has no expected reward for untried actions, so there is no greedy choice; "
                "combine the rule 'greedy' with 'taste' or 'utility'"
            )

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return 1 for the action it will play."""
        return policy.equally(np.array([policy.choice(belief, offered)]))
