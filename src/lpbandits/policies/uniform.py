"""Uniform: every action with equal chance, the yardstick that any policy must beat."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Tally
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import NOTHING, Entry
from lpbandits.policies.rules import AnyAction
from lpbandits.rewards import Rewards, rewards_of


class Uniform(Policy):
    """Play any allowed action with equal chance, whatever the rewards.

    >>> from lpbandits import Agent
    >>> Agent(Uniform(PreferenceModel([[0, 1, 2, 3]])), seed=7).probabilities().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(self, model: PreferenceModel, *, rewards: str | Rewards = "gaussian", explore: float = 0.0) -> None:
        super().__init__(model, Tally(rewards_of(rewards)), AnyAction(), explore)


ENTRIES = (
    Entry(
        "uniform",
        lambda s: Uniform(s.model, rewards=s.rewards.as_known),
        "uniform",
        NOTHING,
        "nothing; plays at random",
    ),
)
