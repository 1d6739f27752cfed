"""Popular: play the most popular action, whatever the person's rewards. The rule of popular."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.policies.base import Rule, deterministic
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmin_a place(a); ties go to the first."""
    best = 0 if len(offered) == 0 else offered[0]
    for i in range(1, b.ranks.shape[1] if len(offered) == 0 else len(offered)):
        action = i if len(offered) == 0 else offered[i]
        if b.table[0, action] < b.table[0, best]:
            best = action
    return best


@dataclass(frozen=True)
class Popularity(Rule):
    """Play the most popular action; nothing is learned about the person.

    The gain of a policy over this rule is its gain by personalising.

    >>> Popularity().kind
    'popular'
    """

    kind: ClassVar[str] = "popular"
    latent: ClassVar[bool] = False
    choose = staticmethod(choose)
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without popularity ranks."""
        if policy.table.shape != (1, policy.model.n_actions):
            raise InvalidInput(
                f"the rule '{self.kind}' plays what stands highest, which the evidence '{policy.evidence.kind}' does "
                "not tell; combine it with 'standing'"
            )

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return 1 for the action it will play."""
        allowed = policy.allowed(offered)
        return policy.equally(allowed[[int(np.argmin(policy.table[0, allowed]))]])
