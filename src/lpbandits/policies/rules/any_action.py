"""Any action: each allowed one with equal probability. The rule of uniform."""

from dataclasses import dataclass
from typing import ClassVar

from lpbandits.kernels.choices import pick, position
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import Arrays
from lpbandits.kernels.random import FIRST, uniform
from lpbandits.policies.base import Rule
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play any allowed action, each with equal probability."""
    return pick(b, offered, uniform(seed, person, round_, FIRST, 0))


@kernel
def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return the same probability for every allowed action."""
    if position(offered, action) < 0:
        return 0.0
    return 1.0 / (b.ranks.shape[1] if len(offered) == 0 else len(offered))


@dataclass(frozen=True)
class AnyAction(Rule):
    """Play any allowed action, each with equal probability."""

    kind: ClassVar[str] = "any"
    latent: ClassVar[bool] = False
    choose = staticmethod(choose)
    probability = staticmethod(probability)

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return equal probabilities."""
        return policy.equally(policy.allowed(offered))
