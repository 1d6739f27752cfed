"""`World`, the interface of worlds, and `Population`, the people that a world draws and the simulator plays."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.layout import GAUSSIAN, STUDENT
from lpbandits.kernels.outcomes import BRADLEY_TERRY, COMPARED
from lpbandits.model import PreferenceModel, as_model
from lpbandits.policies.base import set_frozen
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, IntArray, Json

COMPARISONS = {"rewards": COMPARED, "bradley-terry": BRADLEY_TERRY}
"""How a duel is decided, with the code in the kernels."""

TAILS = {"normal": GAUSSIAN, "student": STUDENT}
"""Distribution of Gaussian rewards' noise, with the code in the kernels."""


@dataclass(frozen=True, repr=False)
class Population:
    """The people of one draw of a world.

    Parameters
    ----------
    model
        Model that policies are given: the orderings, and the means that mTS uses.
    truth
        State of each person, -1 if unknown; None: all are unknown.
    means
        people×k mean rewards; if `replayed`, the recorded rewards, NaN where there is none.
    rewards
        Family and noise of the rewards.
    offered
        people × rounds × allowed actions in ascending order, padded with -1. A length of 1 for people or rounds applies
        to all of them; otherwise there must be as many rounds as are played. 1×1×0 allows all actions. If `replayed`,
        the default is the actions with a recorded reward.
    without_replacement
        Whether an action is removed once it has been played.
    replayed
        Whether `means` are recorded rewards, to which no noise is added.
    comparison
        How duels are decided: "rewards" compares two noisy rewards, "bradley-terry" draws by the means.
    assumed
        The rewards that policies assume, if not the true ones: of the same family, or Gaussian.
    tails
        Noise of Gaussian rewards: "normal", or "student": Student's t with 4 degrees of freedom, scaled to the same
        standard deviation. Policies assume normal noise.

    Examples
    --------
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
    offered: IntArray = field(default_factory=lambda: np.empty((1, 1, 0), dtype=np.int64))
    without_replacement: bool = False
    replayed: bool = False
    comparison: str = "rewards"
    assumed: Rewards | None = None
    tails: str = "normal"

    def __post_init__(self) -> None:
        m, k = as_model(self.model).n_states, self.model.n_actions
        replayed = validate.as_flag(self.replayed, "replayed")
        means = validate.as_floats(self.means, "means", shape=(None, k), allow_nan=replayed)
        if not len(means):
            raise InvalidInput("means must have at least one row, one per person, got none")
        if replayed:
            check_recorded(as_rewards(self.rewards), means)
        else:
            as_rewards(self.rewards).check_means(means)
        truth = np.full(len(means), -1)
        if self.truth is not None:  # type: ignore[redundant-expr,unused-ignore] # users may give None
            truth = validate.as_states(self.truth, "truth", low=-1, states=m)
        if truth.shape != means.shape[:1]:
            raise InvalidInput(f"truth must have one state for each of the {len(means)} people, got {len(truth)}")
        set_frozen(
            self,
            means=means,
            truth=truth,
            offered=_as_offered(self.offered, means, replayed=replayed),
            without_replacement=validate.as_flag(self.without_replacement, "without_replacement"),
            replayed=replayed,
            comparison=validate.as_choice(self.comparison, "comparison", COMPARISONS),
            tails=validate.as_choice(self.tails, "tails", TAILS),
        )
        family = self.rewards.family
        if self.assumed is not None and as_rewards(self.assumed).family not in (family, "gaussian"):
            raise InvalidInput(f"assumed must be of the family {family} or gaussian, got {self.assumed.family}")
        if self.tails != "normal" and (family != "gaussian" or replayed or self.comparison != "rewards"):
            what = "replayed, Bernoulli and Poisson rewards and bradley-terry duels, which have no Gaussian noise"
            raise validate.invalid("tails", f"'normal' for {what}", self.tails)

    def __len__(self) -> int:
        return len(self.truth)

    def __repr__(self) -> str:
        return f"<Population: {pluralize(len(self), 'person', 'people')} of {self.model!r}>"

    @property
    def assumed_rewards(self) -> Rewards:
        """The rewards that policies assume."""
        return self.rewards if self.assumed is None else self.assumed

    @property
    def reward_sampler(self) -> tuple[int, float]:
        """Code of the reward distribution in the kernels, and its standard deviation."""
        if self.replayed:
            return GAUSSIAN, 0.0
        return (TAILS[self.tails] if self.tails != "normal" else self.rewards.code), self.rewards.sd

    @property
    def set_sizes(self) -> tuple[int, int]:
        """Sizes of the smallest and the largest offered set."""
        sizes = (self.offered >= 0).sum(axis=2)
        return int(sizes.min()) or self.model.n_actions, int(sizes.max()) or self.model.n_actions

    def cut(self, part: slice) -> "Population":
        """Return a slice of the people, without validation."""
        population = object.__new__(Population)
        population.__dict__.update(self.__dict__, truth=self.truth[part], means=self.means[part])
        if self.offered.shape[0] > 1:
            population.__dict__["offered"] = self.offered[part]
        return population


def _as_offered(values: Any, means: FloatArray, *, replayed: bool) -> IntArray:
    """Return validated offered sets; replayed people are offered their recorded actions by default."""
    people, k = means.shape
    offered = validate.as_indices(values, "offered")
    if replayed and offered.shape[2:] == (0,):
        offered = _recorded_actions(means)
    if offered.ndim != 3 or offered.shape[0] not in (1, people) or not offered.shape[1]:
        raise InvalidInput(f"offered must have shape people × rounds × actions, got {offered.shape}")
    ascending = bool(np.all((np.diff(offered, axis=2) > 0) | (offered[:, :, 1:] == -1)))
    if offered.shape[2] and (offered[:, :, 0].min() < 0 or offered.max() >= k or not ascending):
        raise InvalidInput(f"offered sets must hold actions 0 to {k - 1} in ascending order, padded with -1")
    if replayed:
        unrecorded = (offered >= 0) & np.isnan(means[np.arange(people)[:, None, None], offered])
        if unrecorded.any():
            p, t, i = np.argwhere(unrecorded)[0]
            action = np.broadcast_to(offered, unrecorded.shape)[p, t, i]
            raise InvalidInput(f"offered must hold actions with a reward, got {action} for person {p}")
    return offered


def _recorded_actions(means: FloatArray) -> IntArray:
    """Return people × 1 × the actions with a recorded reward, padded with -1."""
    known = ~np.isnan(means)
    counts = known.sum(axis=1)
    if not counts.all():
        raise InvalidInput(f"means must have a reward of each person, got none of person {int(np.argmin(counts))}")
    order = np.argsort(~known, axis=1, kind="stable")[:, : counts.max()]
    return np.where(np.take_along_axis(known, order, axis=1), order, -1)[:, None, :].astype(np.int64)


def check_recorded(rewards: Rewards, recorded: FloatArray) -> None:
    """Raise `InvalidInput` if the family does not allow a recorded reward."""
    wrong = np.abs(recorded) > validate.MAX_ABS_VALUE
    if rewards.family != "gaussian":
        wrong |= (recorded != np.floor(recorded)) & ~np.isnan(recorded)
        wrong |= (recorded < 0) | (recorded > (1 if rewards.family == "bernoulli" else np.inf))
    if wrong.any():
        rewards.check(float(recorded[wrong][0]))


class World(Protocol):
    """Interface of worlds.

    A world is immutable and has no random state. `draw` is a function of its arguments: two calls with equal arguments
    return equal populations, in any process. Draws with the same `seed` and different `draw` are independent. All
    draws have the same number of people and the same actions. Results are saved with `to_dict`, which must be enough
    to repeat a run.
    """

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people per state; `draw` numbers independent draws of the orderings."""

    def to_dict(self) -> Json:
        """Return the settings as a JSON object, with "states" and "actions" if they are known before a draw."""


def as_world(world: Any) -> World:
    """Return `world`; raise `InvalidInput` if it lacks a method of `World`."""
    if isinstance(world, type) or not all(callable(getattr(world, name, None)) for name in ("draw", "to_dict")):
        raise validate.invalid(
            "world", "a world with draw and to_dict, such as SyntheticWorld(states=5, actions=10)", world
        )
    checked: World = world
    return checked


def world_settings(world: World) -> Json:
    """Return a world's settings, as plain JSON values."""
    return validate.as_json(as_world(world).to_dict(), f"to_dict() of {type(world).__name__}")


def draw_population(world: World, *, people: int, seed: int, draw: int) -> Population:
    """Return a draw of a world; raise `InvalidInput` if it is not a `Population`."""
    population: Any = world.draw(people=people, seed=seed, draw=draw)
    if not isinstance(population, Population):
        raise validate.invalid(f"draw() of {type(world).__name__}", "a Population", population)
    return population


@dataclass(frozen=True)
class DuellingWorld:
    """A world whose people compare two actions.

    Other worlds decide duels by "rewards"; only another comparison needs this class.

    Parameters
    ----------
    world
        World that people and their means come from.
    comparison
        "rewards": both actions get a noisy reward, and the larger one wins (ties are broken at random).
        "bradley-terry": an action wins with probability 1 / (1 + exp(−(μ − μ') / noise)).

    Examples
    --------
    >>> from lpbandits import SyntheticWorld
    >>> DuellingWorld(SyntheticWorld(states=2, actions=3), comparison="bradley-terry").to_dict()["comparison"]
    'bradley-terry'
    """

    world: World
    comparison: str = "rewards"
    name: ClassVar[str] = "duelling"

    def __post_init__(self) -> None:
        set_frozen(self, comparison=validate.as_choice(self.comparison, "comparison", COMPARISONS))
        if isinstance(as_world(self.world), DuellingWorld):
            raise InvalidInput("world must not be a DuellingWorld; give the world inside it")

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return people of the inner world, with this comparison."""
        return replace(draw_population(self.world, people=people, seed=seed, draw=draw), comparison=self.comparison)

    def to_dict(self) -> Json:
        """Return the inner world's settings and the comparison."""
        return {**world_settings(self.world), "feedback": "duels", "comparison": self.comparison}
