"""Greedy: play the action with the largest expected reward. The rule of taste."""

from dataclasses import dataclass
from typing import ClassVar

from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE_WORK, Arrays
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Rule, deterministic, expected_rewards, require
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import counted_states
from lpbandits.typing import IntArray

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

    It is for actions that each person gets once, such as films, where it beats sampling by far. If actions repeat, it
    locks in on one that is good enough and may never find a better one; `LockInWarning` reports this.
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
        """Reject an evidence without expected rewards of untried actions."""
        known = policy.evidence.latent or policy.evidence.predictive
        require(policy, known, "expected rewards of untried actions", "'taste' or 'utility'")
