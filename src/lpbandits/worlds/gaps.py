"""How much lower each next action is: families of gaps, and what they are on average."""

import numpy as np

from lpbandits.typing import FloatArray
from lpbandits.worlds import kernels as synthetic

GAPS = {
    "paper": synthetic.PAPER,
    "exponential": synthetic.EXPONENTIAL,
    "cliff": synthetic.CLIFF,
    "steps": synthetic.STEPS,
}
"""Families of gaps, and the kernels' number of each."""


def expected_descent(gaps: str, actions: int, *, gap: float, jitter: float) -> FloatArray:
    """Return by how much each place of an ordering is expected to be lower than the first.

    >>> expected_descent("cliff", 4, gap=0.2, jitter=0.05).tolist()
    [0.0, 0.05, 2.05, 2.1]
    """
    places = np.arange(actions, dtype=np.float64)
    if gaps == "cliff":
        return synthetic.LEDGE * places + (synthetic.CLIFF_GAP - synthetic.LEDGE) * (places >= max(actions // 2, 1))
    chance = synthetic.STEP_CHANCE
    mean = {
        "paper": gap + jitter / 2.0,
        "exponential": synthetic.EXPONENTIAL_GAP,
        "steps": chance * synthetic.STEP_GAP + (1.0 - chance) * synthetic.LEVEL,
    }[gaps]
    return np.asarray(mean * places, dtype=np.float64)
