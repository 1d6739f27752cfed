"""popular: what stands highest on average over the states, the yardstick of all that is personal."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Refit
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import ORDERINGS, Entry
from lpbandits.policies.rules import Popularity
from lpbandits.rewards import Rewards, rewards_of


class Popular(Policy):
    """Play the action that stands highest on average over the states, whatever the rewards.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.4, 0.6])
    >>> Agent(Popular(model), seed=7).ask(allowed=[0, 2])
    2
    """

    def __init__(self, model: PreferenceModel, *, rewards: str | Rewards = "gaussian", explore: float = 0.0) -> None:
        super().__init__(model, Refit(rewards_of(rewards)), Popularity(), explore)


ENTRIES = (
    Entry(
        "popular",
        lambda s: Popular(s.model, rewards=s.rewards),
        "popular",
        ORDERINGS,
        "that people hardly differ; learns nothing of a person",
    ),
)
