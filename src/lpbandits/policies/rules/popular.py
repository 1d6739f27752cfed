"""Popular: play the most popular action, whatever the person's rewards. The rule of popular."""

from dataclasses import dataclass
from typing import ClassVar

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.policies.base import Rule, deterministic, require
from lpbandits.policies.policy import Policy
from lpbandits.typing import IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmin_a rank(a); ties go to the first."""
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
    """

    kind: ClassVar[str] = "popular"
    latent: ClassVar[bool] = False
    choose = staticmethod(choose)
    probability = staticmethod(deterministic)

    def check(self, policy: Policy) -> None:
        """Reject an evidence without popularity ranks."""
        require(policy, policy.table.shape == (1, policy.model.n_actions), "popularity ranks", "'standing'")
