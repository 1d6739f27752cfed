"""Two states: a duel between the best actions of two drawn states. The rule of lpb-duel."""

from dataclasses import dataclass
from typing import ClassVar

from lpbandits.kernels.compiler import jit_in_place, kernel
from lpbandits.kernels.layout import COUNT, POSTERIOR, Arrays
from lpbandits.kernels.random import STATE, uniform
from lpbandits.policies.base import Feedback, Rule
from lpbandits.policies.posterior import draw_state, favourite
from lpbandits.typing import FloatArray, Int32Array, IntArray

SAME = 1e-12  # posterior masses closer than this count as equal, so that rounding decides nothing


@jit_in_place
def challenger(ranks: Int32Array, states: FloatArray, offered: IntArray, action: int) -> int:
    """Return the action with the most uncertain duel against `action`: the posterior is most divided about the winner.

    Ties go to the largest mean rank distance from `action`, for which a duel is most informative.
    """
    m, k = ranks.shape
    chosen = action
    largest_variance = -1.0
    farthest = -1.0
    for i in range(k if len(offered) == 0 else len(offered)):
        other = i if len(offered) == 0 else offered[i]
        if other == action:
            continue
        above = 0.0
        distance = 0.0
        for z in range(m):
            difference = ranks[z, other] - ranks[z, action]
            distance += states[POSTERIOR, z] * abs(difference)
            if difference < 0:
                above += states[POSTERIOR, z]
        variance = above * (1.0 - above)
        if variance > largest_variance + SAME or (variance > largest_variance - SAME and distance > farthest + SAME):
            chosen = other
            largest_variance = variance
            farthest = distance
    return chosen


@kernel
def choose(b: Arrays, n: int, offered: IntArray, seed: int, person: int, round_: int) -> tuple[int, int]:
    """Draw two states; their best actions form the duel.

    If both have the same best action, its opponent is the most informative challenger as long as the posterior mass of
    states with another best action exceeds 1/(t + 2) in round t. Below that it duels itself, which costs nothing if it
    is the best; as t grows the threshold falls, so that no pair is played for ever.
    """
    first = favourite(b, draw_state(b, uniform(seed, person, round_, STATE, 0)), offered)
    second = favourite(b, draw_state(b, uniform(seed, person, round_, STATE, 1)), offered)
    if first != second:
        return first, second
    other_best = 0.0
    for z in range(b.states.shape[1]):
        if favourite(b, z, offered) != first:
            other_best += b.states[POSTERIOR, z]
    patience = 3.0
    for slot in range(n):
        patience += 0.5 * b.slots[COUNT, slot]  # a duel counts for both
    if other_best * patience > 1.0 + SAME * patience:
        second = challenger(b.ranks, b.states, offered, first)
    return first, second


@dataclass(frozen=True)
class TwoStates(Rule):
    """Play the best actions of two drawn states; if these agree, the most informative challenger replaces one."""

    kind: ClassVar[str] = "two-states"
    feedback: ClassVar[Feedback] = "duels"
    choose = staticmethod(choose)
