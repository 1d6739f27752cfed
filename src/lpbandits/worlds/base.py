"""What a world is: where people, their states and their mean rewards come from."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Json


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

    >>> model = PreferenceModel([[0, 1], [1, 0]])
    >>> Population(model, np.array([0, 1]), np.array([[2.0, 1.0], [1.0, 3.0]]), Rewards()).means.shape
    (2, 2)
    """

    model: PreferenceModel
    truth: IntArray
    means: FloatArray
    rewards: Rewards
    offered: IntArray = field(default_factory=everything)

    def __post_init__(self) -> None:
        m, k = self.model.n_states, self.model.n_actions
        means = validate.as_floats(self.means, "means", shape=(None, k))
        truth = np.array(self.truth, dtype=np.int64)
        if truth.shape != means.shape[:1]:
            raise InvalidInput(f"truth has shape {truth.shape} for {len(means)} people; give one state per person")
        if len(truth) == 0 or truth.min() < 0 or truth.max() >= m:
            raise InvalidInput(f"truth holds {truth[:5].tolist()} …; every person needs a state from 0 to {m - 1}")
        offered = np.ascontiguousarray(self.offered, dtype=np.int64)
        if offered.ndim != 3 or offered.shape[0] not in (1, len(truth)):
            raise InvalidInput(f"offered has shape {offered.shape}; give people × rounds × actions")
        if offered.shape[2] and (offered[:, :, 0].min() < 0 or offered.max() >= k or not _rising(offered)):
            raise InvalidInput(
                f"offered sets must each name actions from 0 to {k - 1} in rising order, filled up with -1 at the end"
            )
        for name, value in (("means", means), ("truth", truth), ("offered", offered)):
            object.__setattr__(self, name, value)

    def cut(self, part: slice) -> "Population":
        """Return some of the people, without looking at everything again."""
        shared = self.offered.shape[0] == 1
        some = object.__new__(Population)
        fields = {"model": self.model, "truth": self.truth[part], "means": self.means[part], "rewards": self.rewards}
        for name, value in (fields | {"offered": self.offered if shared else self.offered[part]}).items():
            object.__setattr__(some, name, value)
        return some


def _rising(offered: IntArray) -> bool:
    """Whether each set rises until its -1 begin."""
    return bool(np.all((np.diff(offered, axis=2) > 0) | (offered[:, :, 1:] == -1)))


class World(Protocol):
    """Anything that draws people. A world never changes; all randomness is addressed by (seed, draw, person)."""

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people per state; `draw` numbers the independent draws of the orderings."""

    def to_dict(self) -> Json:
        """Return the world's settings as a JSON object."""
