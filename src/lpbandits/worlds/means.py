"""World of people with given mean rewards."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel, as_model
from lpbandits.policies.assumed import assumed_rewards
from lpbandits.rewards import MIN_NOISE, Rewards, as_noise, as_rewards
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.worlds.base import Population


class MeansWorld:
    """People with given mean rewards.

    Parameters
    ----------
    model
        Model that policies are given.
    means
        m×k: one row per state, shared by all its people; or people×k with `truth`. By default the model's means.
    truth
        State of each person, if `means` has one row per person.
    rewards
        Family and noise of the rewards; by default the model's, else Gaussian with noise 1.
    assumed_noise
        Noise that policies assume. By default that of given `rewards`; else the model's noise as a first guess, as in
        `policy(model)`.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[0.9, 0.2], [0.3, 0.6]])
    >>> MeansWorld(model, rewards=Rewards("bernoulli")).draw(people=2, seed=0).means.tolist()
    [[0.9, 0.2], [0.9, 0.2], [0.3, 0.6], [0.3, 0.6]]
    """

    name: ClassVar[str] = "means"

    def __init__(
        self,
        model: PreferenceModel,
        means: object = None,
        *,
        truth: object = None,
        rewards: Rewards | None = None,
        assumed_noise: float | None = None,
    ) -> None:
        self.model = as_model(model)
        self.rewards = model_rewards(model) if rewards is None else as_rewards(rewards)
        self.assumed = assumed_rewards(model) if rewards is None and model.noise else None
        if assumed_noise is not None:
            self.assumed = replace(self.rewards, noise=as_noise(assumed_noise, "assumed_noise"))
        means = model.means if means is None else means
        if means is None:
            raise InvalidInput(
                "means must be given, because the model has none: one row per state or person; or fit the model to a "
                "log (lpb fit), or replay one (ReplayWorld; lpb simulate --world replay --log ratings.csv)"
            )
        self.truth: IntArray | None = None
        if truth is not None:
            self.truth = validate.as_states(truth, "truth", low=0, states=model.n_states)
        rows = model.n_states if self.truth is None else len(self.truth)
        self.means: FloatArray = validate.as_floats(means, "means", shape=(rows, model.n_actions))
        self.rewards.check_means(self.means)

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:  # noqa: ARG002 - nothing is random
        """Return `people` people per row of the means."""
        rows = np.repeat(np.arange(len(self.means)), validate.as_count(people, "people"))
        truth = rows if self.truth is None else self.truth[rows]
        return Population(self.model, truth, np.ascontiguousarray(self.means[rows]), self.rewards, assumed=self.assumed)

    def to_dict(self) -> Json:
        """Return the settings."""
        return {
            "world": self.name,
            "states": self.model.n_states,
            "actions": self.model.n_actions,
            "rewards": self.rewards.family,
            "noise": self.rewards.noise,
            "noise_of_model": self.rewards.noise == self.model.noise,
            "assumed_noise": None if self.assumed is None else self.assumed.noise,
            "model_sha256": self.model.sha256,
        }


def model_rewards(model: PreferenceModel, family: str | None = None) -> Rewards:
    """Return rewards with the model's noise; with the family's default for Bernoulli, or if the model has none.

    >>> model = PreferenceModel([[0, 1]], noise=0.9)
    >>> model_rewards(model).noise, model_rewards(model, "bernoulli").noise
    (0.9, 0.5)
    """
    family = family or model.rewards or "gaussian"
    noise = None if family == "bernoulli" or model.noise is None else max(model.noise, MIN_NOISE)
    return Rewards(family, noise)  # type: ignore[arg-type] # Rewards validates the family
