"""From the scores of states to a posterior, and from a posterior to a state and its favourite."""

import numpy as np

from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BEST, POSTERIOR, SCORE, Arrays
from lpbandits.typing import Int32Array, IntArray


@kernel
def normalise(b: Arrays) -> None:
    """Write p_z ∝ exp(score_z); subtracting the largest score first keeps the exponentials in range."""
    states = b.states
    m = states.shape[1]
    largest = states[SCORE, 0]
    for z in range(1, m):
        largest = max(largest, states[SCORE, z])
    total = 0.0
    for z in range(m):
        states[POSTERIOR, z] = np.exp(states[SCORE, z] - largest)
        total += states[POSTERIOR, z]
    scale = 1.0 / total
    for z in range(m):
        states[POSTERIOR, z] *= scale


@kernel
def draw_state(b: Arrays, u: float) -> int:
    """Return the state of the posterior that a uniform number points at."""
    state = 0
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] > 0.0:
            state = z
            u -= b.states[POSTERIOR, z]
            if u < 0.0:
                break
    return state


@kernel
def first_allowed(ranks: Int32Array, state: int, offered: IntArray) -> int:
    """Return the allowed action that a state prefers."""
    action = offered[0]
    for i in range(1, len(offered)):
        if ranks[state, offered[i]] < ranks[state, action]:
            action = offered[i]
    return action


@kernel
def favourite(b: Arrays, state: int, offered: IntArray) -> int:
    """Return a state's best allowed action."""
    return int(b.states[BEST, state]) if len(offered) == 0 else first_allowed(b.ranks, state, offered)
