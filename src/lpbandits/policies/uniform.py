"""Uniform: every action with equal chance, the yardstick that any policy must beat."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Policy, rewards_of
from lpbandits.policies.evidence import Tally
from lpbandits.policies.rules import AnyAction


class Uniform(Policy):
    """Play any allowed action with equal chance, whatever the rewards.

    >>> from lpbandits import Agent
    >>> Agent(Uniform(PreferenceModel([[0, 1, 2, 3]])), seed=7).probabilities().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, model: PreferenceModel, *, rewards: str = "gaussian") -> None:
        super().__init__(model, Tally(rewards_of(rewards, None)), AnyAction())
