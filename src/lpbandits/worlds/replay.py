"""A world of real people: the rewards they gave, played again."""

from typing import Any, ClassVar, Protocol

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.model import PreferenceModel, as_model
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray, Int32Array, IntArray, Json, Label
from lpbandits.worlds.base import Population, check_given


class Log(Protocol):
    """What `Ratings` has: person n rated action[offsets[n]:offsets[n + 1]] with the ratings beside them."""

    offsets: IntArray
    action: Int32Array
    rating: FloatArray
    actions: tuple[Label, ...]


class ReplayWorld:
    """People of a log, each of whom gets, once, only actions they really rated; the reward is their rating.

    Their true states and mean rewards are not known. Regret is counted from the best action still left.

    Parameters
    ----------
    model
        What policies are told.
    log
        `Ratings` (as `read_ratings` gives), or people×k rewards with NaN where there is none. Ratings of actions that
        the model does not have are left out, and so are people with fewer than `least` others.
    least
        How many actions a person must have: no fewer than the rounds to be played.
    rewards
        What policies are told of the rewards; by default Gaussian with the mean spread of a person's ratings.

    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> world = ReplayWorld(model, [[4.0, np.nan, 2.0], [1.0, 2.0, 5.0]], least=2)
    >>> people = world.draw(people=2, seed=0)
    >>> people.without_replacement, sorted(people.offered.tolist())
    (True, [[[0, 1, 2]], [[0, 2, -1]]])
    """

    name: ClassVar[str] = "replay"

    def __init__(
        self, model: PreferenceModel, log: Log | Any, *, least: int = 20, rewards: Rewards | None = None
    ) -> None:
        self.model = as_model(model)
        self.least = validate.as_count(least, "least")
        given = _matrix(log, model) if _is_log(log) else _rewards(log, model.n_actions)
        enough = np.flatnonzero((~np.isnan(given)).sum(axis=1) >= self.least)
        if not len(enough):
            raise InvalidInput(
                f"nobody rated {self.least} of the model's actions; lower `least`, and play fewer rounds"
            )
        self.given: FloatArray = given[enough]
        if rewards is None:
            rewards = Rewards(noise=max(float(np.nanstd(self.given, axis=1).mean()), 1e-3))
        self.rewards = as_rewards(rewards)
        check_given(self.rewards, self.given)

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people of the log, drawn without replacement; all of them where there are fewer."""
        rng = np.random.default_rng([validate.as_seed(seed), validate.as_count(draw, "draw", low=0)])
        chosen = rng.permutation(len(self.given))[: validate.as_count(people, "people")]
        unknown = np.full(len(chosen), -1)
        return Population(
            self.model, unknown, self.given[chosen], self.rewards, without_replacement=True, replayed=True
        )

    def to_dict(self) -> Json:
        """Return the settings."""
        return {
            "world": self.name,
            "actions": self.model.n_actions,
            "rewards": self.rewards.family,
            "noise": self.rewards.noise,
            "least": self.least,
            "model_sha256": self.model.sha256,
        }


def _matrix(log: Log, model: PreferenceModel) -> FloatArray:
    """Return people × the model's actions."""
    person = np.repeat(np.arange(len(log.offsets) - 1), np.diff(log.offsets))
    action = model.indices_of(log.actions)[log.action]
    people = len(log.offsets) - 1
    check_resources(
        f"to replay {people:,} people with {model.n_actions:,} actions",
        "leave out people with few ratings, or use a model of fewer actions (lpb fit --min-action)",
        size=40 * people * model.n_actions,
    )
    out = np.full((people, model.n_actions), np.nan)
    known = action >= 0
    out[person[known], action[known]] = log.rating[known]
    return out


def _is_log(log: Any) -> bool:
    try:
        return all(hasattr(log, name) for name in Log.__annotations__)
    except validate.CONVERSION_ERRORS:
        return False


def _rewards(values: Any, actions: int) -> FloatArray:
    try:
        array = validate.as_array(values, "log")
        array = array[None, :] if array.ndim == 1 else array
        return validate.as_floats(array, "log", shape=(None, actions), max_abs=validate.MAX_ABS_VALUE, allow_nan=True)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error}; give Ratings, or people × {actions} finite rewards, NaN where there is none"
        ) from None
