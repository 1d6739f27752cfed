"""`ReplayWorld`: people of a log, whose recorded ratings are the rewards."""

from typing import Any, ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.data.ratings import Ratings, check_direction
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_memory
from lpbandits.model import PreferenceModel, as_model
from lpbandits.policies.assumed import assumed_rewards
from lpbandits.rewards import Rewards, as_rewards
from lpbandits.typing import FloatArray, Json
from lpbandits.worlds.base import Population, check_recorded


class ReplayWorld:
    """A world in which each person is offered only the actions that they rated, each once.

    The reward of an action is the recorded rating. True states and mean rewards are unknown, and regret is relative to
    the best action that is still available.

    Parameters
    ----------
    model
        The model that policies receive.
    log
        `Ratings`, or rewards as people × actions with NaN where there is none. Ratings of actions that are not in the
        model are ignored.
    least
        Minimum number of rated actions per person, at least the number of rounds; people with fewer are ignored.
    rewards
        The rewards that policies assume; by default the model's, as in `policy(model)`. If the model has neither a
        family nor a noise: Gaussian, with the mean standard deviation of a person's ratings as noise.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> world = ReplayWorld(model, [[4.0, np.nan, 2.0], [1.0, 2.0, 5.0]], least=2)
    >>> people = world.draw(people=2, seed=0)
    >>> people.without_replacement, sorted(people.offered.tolist())
    (True, [[[0, 1, 2]], [[0, 2, -1]]])
    """

    name: ClassVar[str] = "replay"

    def __init__(
        self, model: PreferenceModel, log: Ratings | Any, *, least: int = 20, rewards: Rewards | None = None
    ) -> None:
        self.model = as_model(model)
        self.least = validate.as_count(least, "least")
        if isinstance(log, Ratings):
            recorded = recorded_rewards(align(log, model)[0])
        else:
            recorded = _as_matrix(log, model.n_actions)
        counts = (~np.isnan(recorded)).sum(axis=1)
        most = counts.max(initial=0)
        if most < self.least:
            raise InvalidInput(
                f"least must be at most {most}, the most actions of the model that a person rated, got {self.least}; "
                "lower `least`, and play fewer rounds"
            )
        self.recorded: FloatArray = recorded[counts >= self.least]
        if rewards is None and (model.noise or model.rewards):
            rewards = assumed_rewards(model)
        elif rewards is None:
            rewards = Rewards(noise=max(float(np.nanstd(self.recorded, axis=1).mean()), 1e-3))
        self.rewards = as_rewards(rewards)
        check_recorded(self.rewards, self.recorded)

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return `people` people of the log, drawn without replacement; all of them if there are fewer."""
        rng = np.random.default_rng([validate.as_seed(seed), validate.as_count(draw, "draw", low=0)])
        rows = rng.permutation(len(self.recorded))[: validate.as_count(people, "people")]
        return replay_population(self.model, self.recorded[rows], self.rewards)

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


def recorded_rewards(log: Ratings) -> FloatArray:
    """Return a log as people × actions, NaN where a person did not rate an action.

    >>> recorded_rewards(Ratings.from_arrays([0, 0, 1], [0, 1, 1], [5, 3, 4])).tolist()
    [[5.0, 3.0], [nan, 4.0]]
    """
    people, actions = len(log.people), len(log.actions)
    check_memory(
        f"replaying {people:,} people with {actions:,} actions",
        "replay fewer people (--people), or leave out actions with few ratings (--min-action)",
        40 * people * actions,
    )
    recorded = np.full((people, actions), np.nan)
    recorded[log.owner, log.action] = log.rating
    return recorded


def replay_population(
    model: PreferenceModel,
    recorded: FloatArray,
    rewards: Rewards,
    *,
    once: bool = True,
    priors: FloatArray | None = None,
) -> Population:
    """Return people of unknown state with recorded rewards."""
    truth = np.full(len(recorded), -1)
    return Population(model, truth, recorded, rewards, without_replacement=once, replayed=True, priors=priors)


def align(log: Ratings, model: PreferenceModel) -> tuple[Ratings, int]:
    """Return the log with the model's actions in the model's order, and the number of ratings of other actions.

    >>> log = Ratings.from_arrays([0, 0, 1], ["tea", "jam", "milk"], [5, 3, 4])
    >>> aligned, dropped = align(log, PreferenceModel([[0, 1]], actions=["tea", "jam"]))
    >>> len(aligned), dropped
    (2, 1)
    """
    action = model.indices_of(log.actions)[log.action]
    known = action >= 0
    if not known.any():
        raise InvalidInput(
            f"the log and the model have no action in common: the log has {validate.short_repr(log.actions[0])}, the "
            f"model has {validate.short_repr(model.actions[0])}; give the log that belongs to the model"
        )
    check_direction(log, model)
    rows = log.owner[known], action[known], log.rating[known]
    lower = log.lower_is_better
    kept = Ratings.from_codes(*rows, people=log.people, actions=model.actions, lower_is_better=lower)
    return kept, int((~known).sum())


def _as_matrix(values: Any, actions: int) -> FloatArray:
    try:
        array = validate.as_array(values, "log")
        array = array[None, :] if array.ndim == 1 else array
        return validate.as_floats(array, "log", shape=(None, actions), max_abs=validate.MAX_ABS_VALUE, allow_nan=True)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error}; give Ratings, or people × {actions} finite rewards, NaN where there is none"
        ) from None
