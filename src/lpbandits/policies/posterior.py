"""Normalise scores to a posterior, draw states from it, and find their best actions."""

import numpy as np

from lpbandits.kernels.choices import first_allowed
from lpbandits.kernels.compiler import kernel
from lpbandits.kernels.layout import BEST, POSTERIOR, SCORE, Arrays
from lpbandits.typing import BoolArray, Int32Array, IntArray

NEGLIGIBLE = 1e-3
"""Rules that average over states skip states below this fraction of the largest posterior."""


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
def averaging_threshold(b: Arrays) -> tuple[float, float]:
    """Return the probability below which rules skip a state, and the total probability of the other states."""
    least = 0.0
    for z in range(b.states.shape[1]):
        least = max(least, NEGLIGIBLE * b.states[POSTERIOR, z])
    mass = 0.0
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] >= least:
            mass += b.states[POSTERIOR, z]
    return least, mass


@kernel
def draw_state(b: Arrays, u: float) -> int:
    """Return the state that a uniform number selects from the posterior."""
    state = 0
    for z in range(b.states.shape[1]):
        if b.states[POSTERIOR, z] > 0.0:
            state = z
            u -= b.states[POSTERIOR, z]
            if u < 0.0:
                break
    return state


@kernel
def favourite(b: Arrays, state: int, offered: IntArray) -> int:
    """Return a state's best allowed action; of a tier the first."""
    return int(b.states[BEST, state]) if len(offered) == 0 else first_allowed(b.ranks, state, offered)


@kernel
def play_best(b: Arrays, n: int, state: int, offered: IntArray, seed: int, person: int, round_: int, index: int) -> int:
    """Return the action to play in a state: its best allowed one, or one drawn from the best tier.

    This is the version without tiers. `policies.tiers` has the versions that replace it in a rule with
    `plays_best = True`; they are compiled only for models with tiers. `index` numbers the actions of a round.
    """
    return favourite(b, state, offered)


def best_columns(ranks: IntArray | Int32Array) -> BoolArray:
    """Return, for each row of ranks, which columns have the smallest; several in a tier."""
    return np.asarray(ranks == ranks.min(axis=1, keepdims=True))
