"""What a world is: where people, their states and their rewards come from."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.layout import GAUSSIAN, STUDENT
from lpbandits.kernels.outcomes import BRADLEY_TERRY, COMPARED
from lpbandits.model import PreferenceModel, as_model
from lpbandits.rewards import MIN_NOISE, Rewards, as_rewards
from lpbandits.typing import FloatArray, IntArray, Json

COMPARISONS = {"rewards": COMPARED, "bradley-terry": BRADLEY_TERRY}
"""How a duel is decided, and the kernels' number of it."""

TAILS = {"normal": GAUSSIAN, "student": STUDENT}
"""Where the noise of Gaussian rewards comes from, and the kernels' number of it."""

MAX_STUDENT_NOISE = 1e96
"""Of a noise with Student's tails: rewards lie up to ten thousand times as far out."""


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
        The family and noise of the rewards.
    offered
        people × rounds × allowed actions in rising order, filled up with -1 (1 in the first or second place: the same
        for all people or rounds; otherwise there are no fewer rounds than are played); 1×1×0 allows all. If `replayed`,
        by default what each person gave a reward for.
    without_replacement
        Whether each action is offered only until it was played.
    replayed
        Whether `means` are rewards that were really given: no noise is added.
    comparison
        How duels are decided: "rewards" compares two noisy ones, "bradley-terry" draws by their means.
    assumed
        What policies are told of the rewards, where it is not the truth: of the same family, or Gaussian; None: as
        `rewards`.
    tails
        Of the noise of Gaussian rewards: "normal", or "student": Student's t with 4 degrees of freedom, scaled to the
        same standard deviation. Policies are not told of them.

    >>> model = PreferenceModel([[0, 1], [1, 0]])
    >>> Population(model, [0, 1], [[2.0, 1.0], [1.0, 3.0]], Rewards()).means.shape
    (2, 2)
    >>> people = Population(model, None, [[4.0, np.nan]], Rewards(), replayed=True, without_replacement=True)
    >>> people.truth.tolist(), people.offered.tolist()
    ([-1], [[[0]]])
    """

    model: PreferenceModel
    truth: IntArray
    means: FloatArray
    rewards: Rewards
    offered: IntArray = field(default_factory=everything)
    without_replacement: bool = False
    replayed: bool = False
    comparison: str = "rewards"
    assumed: Rewards | None = None
    tails: str = "normal"

    def __post_init__(self) -> None:
        m, k = as_model(self.model).n_states, self.model.n_actions
        comparison = validate.as_choice(self.comparison, "comparison", COMPARISONS)
        once, replayed = (
            validate.as_flag(self.without_replacement, "without_replacement"),
            validate.as_flag(self.replayed, "replayed"),
        )
        means = validate.as_floats(self.means, "means", shape=(None, k), allow_nan=replayed)
        if replayed:
            check_given(as_rewards(self.rewards), means)
        else:
            as_rewards(self.rewards).check_means(means)
        offered = validate.as_indices(self.offered, "offered")
        offered = _given(means) if replayed and offered.shape[2:] == (0,) else offered
        truth = np.full(len(means), -1)
        if self.truth is not None:  # type: ignore[redundant-expr,unused-ignore] # the attribute is an array; users may give None
            truth = validate.as_states(self.truth, "truth", low=-1, states=m)
        if truth.shape != means.shape[:1]:
            raise InvalidInput(f"truth has shape {truth.shape} for {len(means)} people; give one state per person")
        if not len(means):
            raise InvalidInput("there are no people; give means of at least one person")
        if offered.ndim != 3 or offered.shape[0] not in (1, len(truth)) or not offered.shape[1]:
            raise InvalidInput(f"offered has shape {offered.shape}; give people × rounds × actions")
        if offered.shape[2] and (offered[:, :, 0].min() < 0 or offered.max() >= k or not _rising(offered)):
            raise InvalidInput(
                f"offered sets must each name actions from 0 to {k - 1} in rising order, filled up with -1 at the end"
            )
        if replayed and (odd := _unknown(means, offered)) is not None:
            raise InvalidInput(f"person {odd[0]} is offered action {odd[1]}, for which they gave no reward")
        clean = {"means": means, "truth": truth, "offered": offered, "comparison": comparison}
        for name, value in {**clean, "without_replacement": once, "replayed": replayed}.items():
            object.__setattr__(self, name, value)
        check_assumed(self.rewards, self.assumed)
        object.__setattr__(self, "tails", validate.as_choice(self.tails, "tails", TAILS))
        if self.tails != "normal":
            self._check_tails()

    def __len__(self) -> int:
        return len(self.truth)

    def _check_tails(self) -> None:
        """Refuse tails of a noise that is not there, and those that would reach too far."""
        what = f"{self.rewards.family} rewards" if self.rewards.family != "gaussian" else ""
        what = "replayed rewards" if self.replayed else what
        what = "duels drawn by bradley-terry" if self.comparison == "bradley-terry" else what
        if what:
            raise InvalidInput(f"tails is {self.tails!r}, but {what} have no noise; leave it out")
        validate.as_number(self.rewards.sd, "noise with Student's tails", high=MAX_STUDENT_NOISE)

    @property
    def assumed_rewards(self) -> Rewards:
        """What policies are told of the rewards."""
        return self.rewards if self.assumed is None else self.assumed

    @property
    def reward_sampler(self) -> tuple[int, float]:
        """The kernels' number of what rewards are drawn from, and its standard deviation."""
        if self.replayed:
            return GAUSSIAN, 0.0
        return (TAILS[self.tails] if self.tails != "normal" else self.rewards.code), self.rewards.sd

    @property
    def fewest(self) -> int:
        """The size of the smallest offered set: how many rounds can be played if each action is offered once."""
        if self.offered.shape[2] == 0:
            return self.model.n_actions
        return int((self.offered >= 0).sum(axis=2).min())

    @property
    def most(self) -> int:
        """The size of the largest offered set."""
        if self.offered.shape[2] == 0:
            return self.model.n_actions
        return int((self.offered >= 0).sum(axis=2).max())

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


def with_noise(rewards: Rewards, noise: float) -> Rewards:
    """Return what policies are told of rewards whose noise they are told to be this.

    >>> with_noise(Rewards(noise=1.0), 0.5).sd
    0.5
    """
    validate.as_number(noise, "assumed_noise", low=0, above=True)
    return replace(
        rewards, noise=validate.as_number(noise, "assumed_noise", low=MIN_NOISE, high=validate.MAX_ABS_VALUE)
    )


def check_assumed(rewards: Rewards, assumed: Rewards | None) -> None:
    """Refuse to tell policies of a family that cannot hold the rewards."""
    if assumed is not None and as_rewards(assumed).family not in (rewards.family, "gaussian"):
        raise InvalidInput(
            f"assumed rewards must be {rewards.family} or gaussian, like the rewards, got {assumed.family}"
        )


def check_given(rewards: Rewards, means: FloatArray) -> None:
    """Refuse rewards given that the family cannot have."""
    odd = np.abs(means) > validate.MAX_ABS_VALUE
    if rewards.family != "gaussian":
        odd |= (means != np.floor(means)) & ~np.isnan(means)
        odd |= (means < 0) | (means > (1 if rewards.family == "bernoulli" else np.inf))
    if odd.any():
        rewards.check(float(means[odd][0]))


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


def as_world(world: Any) -> World:
    """Return `world` if it can draw people and say what it is."""
    try:
        fits = all(callable(getattr(world, name, None)) for name in ("draw", "to_dict"))
    except validate.CONVERSION_ERRORS:
        fits = False
    if isinstance(world, type) or not fits:
        raise InvalidInput(
            f"world is {validate.short_repr(world)}; give a world with draw and to_dict, such as "
            "SyntheticWorld(states=5, actions=10)"
        )
    found: World = world
    return found


def world_settings(world: World) -> Json:
    """Return a world's settings, if they are a JSON object: results are kept with them."""
    about: Any = as_world(world).to_dict()
    try:
        content = json.loads(json.dumps(about, allow_nan=False)) if isinstance(about, Mapping) else None
    except validate.CONVERSION_ERRORS as error:
        raise InvalidInput(
            f"to_dict of the world {type(world).__name__} does not return plain JSON values: {validate.short_repr(error)}"
        ) from None
    if not isinstance(content, dict):
        raise InvalidInput(
            f"to_dict of the world {type(world).__name__} returned {validate.short_repr(about)}; it must return a dict of "
            "plain values"
        )
    return content


def draw_population(world: World, *, people: int, seed: int, draw: int) -> Population:
    """Return the people that a world draws, if they are a population."""
    population: Any = world.draw(people=people, seed=seed, draw=draw)
    if not isinstance(population, Population):
        raise InvalidInput(f"the world drew {validate.short_repr(population)}; draw must return a Population")
    return population


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
        object.__setattr__(self, "comparison", validate.as_choice(self.comparison, "comparison", COMPARISONS))
        as_world(self.world)
        if isinstance(self.world, DuellingWorld):
            raise InvalidInput("the world of a DuellingWorld already duels; give the world inside it")

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return the people of the world inside, who duel."""
        return replace(draw_population(self.world, people=people, seed=seed, draw=draw), comparison=self.comparison)

    def to_dict(self) -> Json:
        """Return the settings of the world inside, with how duels are decided."""
        return {**world_settings(self.world), "feedback": "duels", "comparison": self.comparison}
