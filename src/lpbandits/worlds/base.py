"""What a world is: where people, their states and their rewards come from."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.outcomes import BRADLEY_TERRY, COMPARED
from lpbandits.model import PreferenceModel
from lpbandits.rewards import Rewards
from lpbandits.typing import FloatArray, IntArray, Json

COMPARISONS = {"rewards": COMPARED, "bradley-terry": BRADLEY_TERRY}
"""How a duel is decided, and the kernels' number of it."""


def everything() -> IntArray:
    """Return the offered sets of a world in which all actions are always allowed."""
    return np.empty((1, 1, 0), dtype=np.int64)


@dataclass(frozen=True)
class Population:
    """The people of one draw of a world.

    Attributes
    ----------
    model
        What policies are told: the orderings, and the means that mTS may use.
    truth
        The state of each person, -1 where it is not known; None: nobody's is.
    means
        people×k: each person's mean rewards; if `replayed`, the very rewards they gave, NaN where they gave none.
    rewards
        The family and noise of the rewards, as policies are told.
    offered
        people × rounds × allowed actions in rising order, filled up with -1 (1 in the first or second place: the same
        for all people or rounds); 1×1×0 allows all. If `replayed`, by default what each person gave a reward for.
    once
        Whether each action is offered only until it was played.
    replayed
        Whether `means` are rewards that were really given: no noise is added.
    comparison
        How duels are decided: "rewards" compares two noisy ones, "bradley-terry" draws by their means.

    >>> model = PreferenceModel([[0, 1], [1, 0]])
    >>> Population(model, [0, 1], [[2.0, 1.0], [1.0, 3.0]], Rewards()).means.shape
    (2, 2)
    >>> people = Population(model, None, [[4.0, np.nan]], Rewards(), replayed=True, once=True)
    >>> people.truth.tolist(), people.offered.tolist()
    ([-1], [[[0]]])
    """

    model: PreferenceModel
    truth: IntArray
    means: FloatArray
    rewards: Rewards
    offered: IntArray = field(default_factory=everything)
    once: bool = False
    replayed: bool = False
    comparison: str = "rewards"

    def __post_init__(self) -> None:
        m, k = self.model.n_states, self.model.n_actions
        validate.as_choice(self.comparison, "comparison", COMPARISONS)
        means, offered = self.means, np.ascontiguousarray(self.offered, dtype=np.int64)
        if self.replayed:
            given = np.array(means, dtype=np.float64, ndmin=2)
            validate.as_floats(np.nan_to_num(given, nan=0.0, posinf=np.inf, neginf=-np.inf), "means", shape=(None, k))
            means = np.ascontiguousarray(given)
            offered = _given(means) if offered.shape[2:] == (0,) else offered
        else:
            means = validate.as_floats(means, "means", shape=(None, k))
        unknown = self.truth is None  # type: ignore[redundant-expr,unused-ignore] # the attribute is an array; users may give None
        truth = np.full(len(means), -1) if unknown else np.array(self.truth, dtype=np.int64)
        if truth.shape != means.shape[:1]:
            raise InvalidInput(f"truth has shape {truth.shape} for {len(means)} people; give one state per person")
        if len(truth) == 0 or truth.min() < -1 or truth.max() >= m:
            raise InvalidInput(
                f"truth holds {truth[:5].tolist()} …; every person needs a state from 0 to {m - 1}, or -1 for unknown"
            )
        if offered.ndim != 3 or offered.shape[0] not in (1, len(truth)):
            raise InvalidInput(f"offered has shape {offered.shape}; give people × rounds × actions")
        if offered.shape[2] and (offered[:, :, 0].min() < 0 or offered.max() >= k or not _rising(offered)):
            raise InvalidInput(
                f"offered sets must each name actions from 0 to {k - 1} in rising order, filled up with -1 at the end"
            )
        if self.replayed and (odd := _unknown(means, offered)) is not None:
            raise InvalidInput(f"person {odd[0]} is offered action {odd[1]}, for which they gave no reward")
        for name, value in (("means", means), ("truth", truth), ("offered", offered)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def fewest(self) -> int:
        """The size of the smallest offered set: how many rounds can be played if each action is offered once."""
        if self.offered.shape[2] == 0:
            return self.model.n_actions
        return int((self.offered >= 0).sum(axis=2).min())

    def cut(self, part: slice) -> "Population":
        """Return some of the people, without looking at everything again."""
        some = object.__new__(Population)
        some.__dict__.update(self.__dict__, truth=self.truth[part], means=self.means[part])
        if self.offered.shape[0] > 1:
            some.__dict__["offered"] = self.offered[part]
        return some


def _rising(offered: IntArray) -> bool:
    """Whether each set rises until its -1 begin."""
    return bool(np.all((np.diff(offered, axis=2) > 0) | (offered[:, :, 1:] == -1)))


def _given(means: FloatArray) -> IntArray:
    """Return, for each person, the actions they gave a reward for."""
    known = ~np.isnan(means)
    if not known.any(axis=1).all():
        raise InvalidInput(f"person {int(np.argmin(known.any(axis=1)))} gave no rewards; leave such people out")
    width = int(known.sum(axis=1).max())
    order = np.argsort(~known, axis=1, kind="stable")[:, :width]
    return np.where(np.take_along_axis(known, order, axis=1), order, -1)[:, None, :].astype(np.int64)


def _unknown(means: FloatArray, offered: IntArray) -> tuple[int, int] | None:
    """Return a person and an offered action of unknown reward, if there is one."""
    sets = np.broadcast_to(offered, (len(means), *offered.shape[1:]))
    for p, rounds in enumerate(sets):
        actions = np.unique(rounds[rounds >= 0])
        odd = actions[np.isnan(means[p, actions])]
        if len(odd):
            return p, int(odd[0])
    return None


class World(Protocol):
    """Anything that draws people. A world never changes; all randomness is addressed by (seed, draw, person)."""

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people per state; `draw` numbers the independent draws of the orderings."""

    def to_dict(self) -> Json:
        """Return the world's settings as a JSON object."""


@dataclass(frozen=True)
class DuellingWorld:
    """People who say which of two actions was better.

    Parameters
    ----------
    world
        Where people and their means come from.
    comparison
        "rewards": each action gets a noisy reward, the larger wins (a coin decides between equal ones).
        "bradley-terry": an action wins with chance 1 / (1 + exp(−(μ − μ') / noise)).

    Any other world decides duels by "rewards", so only another comparison needs this one.

    >>> from lpbandits import SyntheticWorld
    >>> DuellingWorld(SyntheticWorld(states=2, actions=3), comparison="bradley-terry").to_dict()["comparison"]
    'bradley-terry'
    """

    world: World
    comparison: str = "rewards"
    name: ClassVar[str] = "duelling"

    def __post_init__(self) -> None:
        validate.as_choice(self.comparison, "comparison", COMPARISONS)
        if isinstance(self.world, DuellingWorld):
            raise InvalidInput("the world of a DuellingWorld already duels; give the world inside it")

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return the people of the world inside, who duel."""
        return replace(self.world.draw(people=people, seed=seed, draw=draw), comparison=self.comparison)

    def to_dict(self) -> Json:
        """Return the settings of the world inside, with how duels are decided."""
        return {**self.world.to_dict(), "feedback": "duels", "comparison": self.comparison}
