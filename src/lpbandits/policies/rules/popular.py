"""Popular: play the action that stands highest on average over the states, whatever the person said."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import LOG_PRIOR, RULE_WORK, Arrays
from lpbandits.model import PreferenceModel
from lpbandits.policies.belief import Belief
from lpbandits.policies.parts import Rule, surely
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray

PLACE = RULE_WORK  # the row of scratch, per allowed action


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmin_a Σ prior_z rank_z(a)."""
    size = b.ranks.shape[1] if len(offered) == 0 else len(offered)
    for i in range(size):
        b.work[PLACE, i] = 0.0
    for z in range(b.ranks.shape[0]):
        share = np.exp(b.states[LOG_PRIOR, z])
        for i in range(size):
            b.work[PLACE, i] += share * b.ranks[z, i if len(offered) == 0 else offered[i]]
    best = 0
    for i in range(1, size):
        if b.work[PLACE, i] < b.work[PLACE, best]:
            best = i
    return best if len(offered) == 0 else offered[best]


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
    chance = staticmethod(surely)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return a row, as long as there are actions."""
        return (1, model.n_actions)

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:  # noqa: ARG002
        """Return 1 for the action it will play."""
        allowed = policy.allowed(offered)
        places = np.zeros(len(allowed))
        for share, ranks in zip(np.exp(policy.start_states[LOG_PRIOR]), policy.ranks, strict=True):
            places += share * ranks[allowed]
        return policy.equally(allowed[[int(np.argmin(places))]])
