"""Greedy: play the action of which most is expected, over all states. The rule of taste."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.choices import largest
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE, RULE_WORK, Arrays
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Rule, deterministic, expected_rewards, no_shift, set_frozen, sway
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import counted_states
from lpbandits.typing import FloatArray, IntArray

LOOKAHEAD = 0  # the setting
CANDIDATES = 8  # of which most is expected: more are not looked at
# Gauss–Hermite, from the middle: E f(Z) ≈ Σ weight f(node), Z ~ N(0, 1)
NODES = (0.0, -1.355626179974266, 1.355626179974266, -2.8569700138728056, 2.8569700138728056)
WEIGHTS = (0.5333333333333333, 0.22207592200561266, 0.22207592200561266, 0.011257411327720693, 0.011257411327720693)
# rows of scratch, per action
MEAN = RULE_WORK
TOTAL = RULE_WORK + 1
LEFT = RULE_WORK + 2  # what is expected of actions not yet looked at
SWAY = RULE_WORK + 3


@kernel
def growth(means: FloatArray, moves: FloatArray, k: int, offered: IntArray, action: int) -> float:
    """Return E max_b (M_b + c_b Z) − max_b M_b over the allowed b but the action: what its outcome, c_b, is worth."""
    size = k if len(offered) == 0 else len(offered)
    if size == 1:
        return 0.0
    out = 0.0
    top = 0.0
    for j in range(len(NODES)):
        best = -np.inf
        for i in range(size):
            b = i if len(offered) == 0 else offered[i]
            if b != action:
                best = max(best, means[b] + NODES[j] * moves[b])
        if j == 0:
            top = best
        out += WEIGHTS[j] * (best - top)
    return out


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play argmax_a M(a) + lookahead · growth(a), with M(a) = Σ p_z M_z(a) where there are states."""
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
    best = largest(b.work[TOTAL], k, offered)
    if b.settings[RULE, LOOKAHEAD] == 0.0:
        return best
    for a in range(k):
        b.work[LEFT, a] = b.work[TOTAL, a]
    most = -np.inf
    candidate = best
    for _ in range(min(CANDIDATES, k if len(offered) == 0 else len(offered))):
        sway(b, n, candidate, b.work[SWAY])
        ahead = growth(b.work[TOTAL], b.work[SWAY], k, offered, candidate)
        value = b.work[TOTAL, candidate] + b.settings[RULE, LOOKAHEAD] * ahead
        if value > most:
            best = candidate
            most = value
        b.work[LEFT, candidate] = -np.inf
        candidate = largest(b.work[LEFT], k, offered)
    return best


@dataclass(frozen=True)
class Greedy(Rule):
    """Play the action of which most is expected. Nothing is random.

    For actions that each person gets once, such as films to watch: there it beats sampling by far. Where actions
    repeat it locks in on one that is good enough, and never learns that another is better; a warning says so.

    Parameters
    ----------
    lookahead
        How much it counts what an action teaches: by so many times what the largest expected reward of the others would
        grow by learning its outcome. Of the eight actions of which most is expected it is worked out, for an evidence
        that tells its `sway`, such as `TasteEvidence`. 0, the default, did best on real people (docs/taste.md).

    >>> Greedy().repeats, Greedy().lookahead
    (False, 0.0)
    """

    lookahead: float = 0.0
    kind: ClassVar[str] = "greedy"
    latent: ClassVar[bool | None] = None
    needs_expectations: ClassVar[bool] = True
    handles_repeats: ClassVar[bool] = False
    choose = staticmethod(choose)
    probability = staticmethod(deterministic)

    def __post_init__(self) -> None:
        set_frozen(self, lookahead=validate.as_number(self.lookahead, "lookahead", low=0, high=1000))

    def settings(self) -> tuple[float, ...]:
        """Return the lookahead."""
        return (self.lookahead,)

    def work(self, model: PreferenceModel) -> tuple[int, int]:
        """Return two rows, and two more to look ahead, as long as there are actions."""
        return (4 if self.lookahead else 2, model.n_actions)

    def check(self, policy: Policy) -> None:
        """Refuse an evidence that expects nothing of untried actions, or does not tell what it would learn."""
        if not policy.evidence.latent and not policy.evidence.predictive:
            raise InvalidInput(
                f"'{policy.evidence.kind}' expects nothing of untried actions, so there is none to be greedy for; "
                "combine the rule 'greedy' with 'taste' or 'utility'"
            )
        if self.lookahead and policy.evidence.sway is no_shift:
            raise InvalidInput(
                f"lookahead is {self.lookahead:g}, but '{policy.evidence.kind}' does not tell what an outcome would "
                "teach (it has no sway); leave it at 0, or combine the rule 'greedy' with 'taste'"
            )

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return 1 for the action it will play."""
        return policy.equally(np.array([policy.choice(belief, offered)]))
