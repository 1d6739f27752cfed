"""Greedy: play the action of which most is expected, over all states. The rule of taste."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE_WORK, Arrays
from lpbandits.model import PreferenceModel
from lpbandits.policies.belief import Belief
from lpbandits.policies.parts import NEGLIGIBLE, Rule, expect
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray

# rows of scratch, per action
MEAN = RULE_WORK
TOTAL = RULE_WORK + 1


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmax_a Σ p_z M_z(a), or without states argmax_a M(a)."""
    k = b.ranks.shape[1]
    if b.states.shape[1] == 0:
        expect(b, n, 0, b.work[TOTAL])
        return largest(b.work[TOTAL], k, offered)
    for a in range(k):
        b.work[TOTAL, a] = 0.0
    for z in range(b.states.shape[1]):
        p = b.states[POSTERIOR, z]
        if p >= NEGLIGIBLE:
            expect(b, n, z, b.work[MEAN])
            for a in range(k):
                b.work[TOTAL, a] += p * b.work[MEAN, a]
    return largest(b.work[TOTAL], k, offered)


@dataclass(frozen=True)
class Greedy(Rule):
    """Play the action of which most is expected. Nothing is random.

    For actions that each person gets once, such as films to watch: there it beats sampling by far. Where actions
    repeat it locks in on one that is good enough, and never learns that another is better; a warning says so.

    >>> Greedy().repeats
    False
    """

    kind: ClassVar[str] = "greedy"
    latent: ClassVar[bool | None] = None
    asks: ClassVar[bool] = True
    repeats: ClassVar[bool] = False
    choose = staticmethod(choose)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return two rows, as long as there are actions."""
        return (2, model.n_actions)

    def check(self, policy: Policy) -> None:
        """Refuse an evidence that expects nothing of actions that were not tried."""
        if not policy.evidence.latent and not policy.evidence.foresees:
            raise InvalidInput(
                f"'{policy.evidence.kind}' expects nothing of untried actions, so there is none to be greedy for; "
                "combine the rule 'greedy' with 'taste' or 'utility'"
            )

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return 1 for the action it will play."""
        allowed = policy.allowed(offered)
        p = belief.states[POSTERIOR] if policy.evidence.latent else np.ones(1)
        kept = p >= NEGLIGIBLE
        return policy.equally(allowed[[int(np.argmax(p[kept] @ policy.expected(belief)[kept][:, allowed]))]])
