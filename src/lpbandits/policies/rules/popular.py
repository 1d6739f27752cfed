"""Popular: play the action that stands highest on average over the states, whatever the person said."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import LOG_PRIOR, Arrays
from lpbandits.policies.belief import Belief
from lpbandits.policies.parts import Rule
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmin_a Σ prior_z rank_z(a)."""
    action = -1
    least = np.inf
    for i in range(b.ranks.shape[1] if len(offered) == 0 else len(offered)):
        a = i if len(offered) == 0 else offered[i]
        place = 0.0
        for z in range(b.ranks.shape[0]):
            place += np.exp(b.states[LOG_PRIOR, z]) * b.ranks[z, a]
        if place < least:
            action = a
            least = place
    return action


@dataclass(frozen=True)
class Popularity(Rule):
    """Play the action that stands highest on average over the states: popularity, which learns nothing of a person.

    With a model of one state it plays that state's ordering. What a policy gains over it is what it gains by
    personalising.

    >>> Popularity().kind
    'popular'
    """

    kind: ClassVar[str] = "popular"
    choose = staticmethod(choose)

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:  # noqa: ARG002
        """Return 1 for the action it will play."""
        allowed = policy.allowed(offered)
        places = np.zeros(len(allowed))
        for share, ranks in zip(np.exp(policy.start_states[LOG_PRIOR]), policy.ranks, strict=True):
            places += share * ranks[allowed]
        return policy.equally(allowed[[int(np.argmin(places))]])
