"""Upper bound: play the largest upper confidence bound. The rule of UCB."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.kernels import layout
from lpbandits.kernels.choices import pick_untried, position
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import COUNT, NOISE, REWARDS, SUM, Arrays
from lpbandits.kernels.random import FIRST, uniform
from lpbandits.kernels.tally import find
from lpbandits.policies.base import Rule, set_frozen
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.typing import FloatArray, IntArray


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Play the largest ȳ + σ √(2 log t / n) (UCB1); untried actions first, in random order."""
    untried = b.ranks.shape[1] if len(offered) == 0 else len(offered)
    rounds = 1.0
    for slot in range(n):
        rounds += b.slots[COUNT, slot]
    action = -1
    largest = -np.inf
    for i in range(n):
        slot = b.order[1, i]
        tried = b.order[0, slot]
        if position(offered, tried) < 0:
            continue
        untried -= 1
        count = b.slots[COUNT, slot]
        bound = b.slots[SUM, slot] / count + b.settings[REWARDS, NOISE] * np.sqrt(2.0 * np.log(rounds) / count)
        if action < 0 or bound > largest:
            action = tried
            largest = bound
    if untried > 0:
        return pick_untried(b.order, n, offered, untried, uniform(seed, person, round_, FIRST, 0))
    return action


@kernel
def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return equal probabilities for untried actions while there are any, then 1 for the play."""
    untried = b.ranks.shape[1] if len(offered) == 0 else len(offered)
    for slot in range(n):
        if position(offered, b.order[0, slot]) >= 0:
            untried -= 1
    if untried == 0:
        return 1.0 if action == play else 0.0
    return 1.0 / untried if position(offered, action) >= 0 and find(b.order, n, action) < 0 else 0.0


@dataclass(frozen=True)
class UpperBound(Rule):
    """Play the largest upper confidence bound (UCB1); `top`: among the states' best actions."""

    top: bool = False
    kind: ClassVar[str] = "upper-bound"
    latent: ClassVar[bool] = False
    choose = staticmethod(choose)
    probability = staticmethod(probability)

    def __post_init__(self) -> None:
        set_frozen(self, top=validate.as_flag(self.top, "top"))

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return equal probabilities for untried actions while there are any, then 1 for the largest bound."""
        tried, slots, untried = policy.candidates(belief, offered)
        if len(untried):
            return policy.equally(untried)
        counts = belief.slots[layout.COUNT, slots]
        width = np.sqrt(2.0 * np.log(belief.outcomes + 1.0) / counts)
        bound = belief.slots[layout.SUM, slots] / counts + policy.rewards.sd * width
        return policy.equally(tried[[int(np.argmax(bound))]])
