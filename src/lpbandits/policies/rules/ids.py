"""Information-directed: the mix of two actions with the smallest regret² / information. The rule of lpb-ids."""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.kernels.choices import position
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import POSTERIOR, RULE, RULE_WORK, Arrays
from lpbandits.kernels.random import STATE, uniform
from lpbandits.policies.base import Rule, expected_rewards, predictive_sd, set_frozen
from lpbandits.policies.posterior import averaging_threshold
from lpbandits.typing import FloatArray, IntArray

HOPE = 0  # the setting
# rows of scratch, per action
GAP = RULE_WORK  # expected regret
INFORMATION = RULE_WORK + 1  # information gain
MEAN = RULE_WORK + 2  # by action, the others by place among the offered
BONUS = RULE_WORK + 3  # h D(a)
STEPS = 64  # limit of the search, which takes two to six


@kernel
def add_state(b: Arrays, offered: IntArray, size: int, p: float, origin: float) -> float:
    """Add one state: GAP += p M(a), INFORMATION += p M(a)²; return max_a (M(a) + h D(a))."""
    top = -np.inf
    for i in range(size):
        a = i if len(offered) == 0 else offered[i]
        mean = b.work[MEAN, a] - origin
        b.work[GAP, i] += p * mean
        b.work[INFORMATION, i] += p * mean * mean
        top = max(top, mean + b.work[BONUS, i])
    return top


@kernel
def cheapest(work: FloatArray, size: int, price: float, current: int) -> int:
    """Return the action with the smallest 2 gap − price · information; `current` unless one is clearly lower."""
    value = 2.0 * work[GAP, current] - price * work[INFORMATION, current]
    margin = 1e-12 * (abs(value) + work[GAP, current])  # beyond rounding
    for i in range(size):
        other = 2.0 * work[GAP, i] - price * work[INFORMATION, i]
        if other < value - margin:
            current = i
            value = other
    return current


@kernel
def best_mix(work: FloatArray, size: int) -> tuple[int, int, float]:
    """Return two actions and the share of the second whose mix has the smallest gap² / information of all mixes.

    Gap²/information = max over λ of (2λ gap − λ² information), which is linear in a mix, so the minimum over all mixes
    is the highest point of the lower envelope of one parabola per action. It lies where a rising and a falling parabola
    cross; an action that is lower at that λ replaces one of them, until there is none.
    """
    first, last = 0, 0
    for i in range(1, size):
        if work[GAP, i] < work[GAP, first]:
            first = i
        if work[INFORMATION, i] > work[INFORMATION, last]:
            last = i
    for _ in range(STEPS):
        gap, more = work[GAP, first], work[GAP, last] - work[GAP, first]
        learned = work[INFORMATION, first]
        gain = work[INFORMATION, last] - learned
        if first == last or gap <= 0.0 or gain <= 0.0:
            return first, first, 0.0
        price = 2.0 * more / gain
        share = (gap - price * learned) / more if more > 0.0 else 1.0
        if share <= 0.0:  # the first parabola peaks before they cross
            share = 0.0
            price = gap / learned
        elif share >= 1.0:
            share = 1.0
            price = work[GAP, last] / work[INFORMATION, last]
        other = cheapest(work, size, price, first if share < 1.0 else last)
        if other in (first, last):
            break
        if work[GAP, other] < price * work[INFORMATION, other]:
            last = other
        else:
            first = other
    return first, last, share


@dataclass(frozen=True)
class InformationDirected(Rule):
    """Play the mix of actions with the smallest (expected regret)² / information (Russo and Van Roy 2018).

    The information of an action is the variance of its expected reward over states. `hope` weights the standard
    deviation within states: it is added to the expected reward of the best action, and its square to the information.
    """

    hope: float = 0.6
    kind = "information-directed"
    work_rows = 4
    needs_expectations = True

    def __post_init__(self) -> None:
        set_frozen(self, hope=validate.as_number(self.hope, "hope", low=0, high=100))

    @staticmethod
    @kernel
    def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> int:
        """Play one of the two actions of the best mix.

        M_z(a) is the expected reward of action a in state z, D(a) its standard deviation, and h the `hope`. The gap of
        an action is Σ p_z max_i (M_z(i) + h D(i)) − Σ p_z M_z(a), its information Var_p M_z(a) + h² D(a)².
        """
        k = b.ranks.shape[1]
        size = k if len(offered) == 0 else len(offered)
        predictive_sd(b, n, b.work[MEAN, :k])
        for i in range(size):
            bonus = b.settings[RULE, HOPE] * b.work[MEAN, i if len(offered) == 0 else offered[i]]
            b.work[GAP, i] = 0.0
            b.work[INFORMATION, i] = bonus * bonus
            b.work[BONUS, i] = bonus
        least, mass = averaging_threshold(b)
        best = 0.0
        origin = np.nan  # rewards are centred, so that the variance keeps its precision
        for z in range(b.states.shape[1]):
            if b.states[POSTERIOR, z] >= least:
                p = b.states[POSTERIOR, z] / mass
                expected_rewards(b, n, z, b.work[MEAN, :k])
                if np.isnan(origin):
                    origin = b.work[MEAN, 0]
                best += p * add_state(b, offered, size, p, origin)
        for i in range(size):
            mean = b.work[GAP, i]
            b.work[INFORMATION, i] = max(b.work[INFORMATION, i] - mean * mean, 0.0)
            b.work[GAP, i] = max(best - mean, 0.0)
        first, last, share = best_mix(b.work, size)
        at = last if share > 0.0 and uniform(seed, person, round_, STATE, 0) < share else first
        return at if len(offered) == 0 else offered[at]

    @staticmethod
    @kernel
    def probability(b: Arrays, n: int, offered: IntArray, play: int, action: int) -> float:
        """Return an action's share of the best mix, from the scratch that `choose` left."""
        first, last, share = best_mix(b.work, b.ranks.shape[1] if len(offered) == 0 else len(offered))
        at = position(offered, action)
        return (1.0 - share if at == first else 0.0) + (share if at == last else 0.0)
