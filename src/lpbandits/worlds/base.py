"""What a world is: where people, their states and their mean rewards come from."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from lpbandits.kernels import layout
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Json

FAMILIES = {"gaussian": layout.GAUSSIAN, "bernoulli": layout.BERNOULLI, "poisson": layout.POISSON}
"""The kernels' numbers of the reward families."""


def everything() -> IntArray:
    """Return the offered sets of a world in which all actions are always allowed."""
    return np.empty((1, 1, 0), dtype=np.int64)


@dataclass(frozen=True)
class Population:
    """The people of one draw of a world.

    Attributes
    ----------
    model
        What policies are told: the true orderings, and the means that mTS may use.
    truth
        The state of each person.
    means
        people×k: each person's own mean rewards.
    rewards
        The family and noise of the rewards.
    offered
        people × rounds × allowed actions in rising order (1 in the first place: the same for all); 1×1×0 allows all.
    """

    model: PreferenceModel
    truth: IntArray
    means: FloatArray
    rewards: Rewards
    offered: IntArray = field(default_factory=everything)


class World(Protocol):
    """Anything that draws people. A world never changes; all randomness is addressed by (seed, draw, person)."""

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people per state; `draw` numbers the independent draws of the orderings."""

    def to_dict(self) -> Json:
        """Return the world's settings as a JSON object."""
