"""Sample: draw a state from the posterior, play its best action. The rule of lpbTS and mTS."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.kernels import layout
from lpbandits.kernels.choices import pick, position
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE, Arrays
from lpbandits.kernels.random import FIRST, STATE, uniform
from lpbandits.policies.base import Rule, set_frozen
from lpbandits.policies.belief import Belief
from lpbandits.policies.policy import Policy
from lpbandits.policies.posterior import draw_state, favourite
from lpbandits.typing import FloatArray, IntArray

UNIFORM_FIRST = 0  # the setting: 1 if the first action is uniform


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
    """Draw z ~ posterior, play the best allowed action of z (Algorithm 1, lines 3 and 4)."""
    if n == 0 and b.settings[RULE, UNIFORM_FIRST] > 0.0:
        return pick(b, offered, uniform(seed, person, round_, FIRST, 0))
    return favourite(b, draw_state(b, uniform(seed, person, round_, STATE, 0)), offered)


@kernel
def sampled_state(b: Arrays, n: int, seed: int, person: int, round_: int) -> int:
    """Return the drawn state, -1 if the first action is uniform."""
    if n == 0 and b.settings[RULE, UNIFORM_FIRST] > 0.0:
        return -1
    return draw_state(b, uniform(seed, person, round_, STATE, 0))


@kernel
def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
    """Return the posterior mass of the states whose best allowed action is `action`."""
    if n == 0 and b.settings[RULE, UNIFORM_FIRST] > 0.0:
        if position(offered, action) < 0:
            return 0.0
        return 1.0 / (b.ranks.shape[1] if len(offered) == 0 else len(offered))
    out = 0.0
    for z in range(b.states.shape[1]):
        if favourite(b, z, offered) == action:
            out += b.states[POSTERIOR, z]
    return out


@dataclass(frozen=True)
class Sample(Rule):
    """Draw a state from the posterior, play its best allowed action (Algorithm 1).

    `first="uniform"` plays a uniformly random first action, as the expanded algorithm does.
    """

    first: str = "prior"
    kind: ClassVar[str] = "sample"
    choose = staticmethod(choose)
    probability = staticmethod(probability)
    sampled_state = staticmethod(sampled_state)

    def __post_init__(self) -> None:
        set_frozen(self, first=validate.as_choice(self.first, "first", ("prior", "uniform")))

    def settings(self) -> tuple[float, ...]:
        """Return 1 if the first action is uniform."""
        return (float(self.first == "uniform"),)

    def probabilities(self, policy: Policy, belief: Belief, offered: IntArray) -> FloatArray:
        """Return the posterior mass of the states with each best allowed action."""
        if belief.tried == 0 and self.first == "uniform":
            return policy.equally(policy.allowed(offered))
        out = np.zeros(policy.model.n_actions)
        np.add.at(out, policy.favourites(offered), belief.states[layout.POSTERIOR])
        return out
