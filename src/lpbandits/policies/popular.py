"""popular: what everybody together likes most, the yardstick of all that is personal."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Standing
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import ORDERINGS, Entry
from lpbandits.policies.rules import Popularity
from lpbandits.rewards import Rewards, rewards_of


class Popular(Policy):
    """Play what everybody together likes most, whatever the person's rewards.

    That is `model.popular`, as a fit to a log finds it; where the model has none, the action whose place is best on
    average over the states.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.4, 0.6])
    >>> Agent(Popular(model), seed=7).ask(allowed=[0, 2])
    2
    >>> Agent(Popular(model.replace(popular=[1, 0, 2])), seed=7).ask(allowed=[0, 2])
    0
    """

    def __init__(self, model: PreferenceModel, *, rewards: str | Rewards = "gaussian", explore: float = 0.0) -> None:
        super().__init__(model, Standing(rewards_of(rewards)), Popularity(), explore)


ENTRIES = (
    Entry(
        "popular",
        lambda s: Popular(s.model, rewards=s.rewards),
        "popular",
        ORDERINGS,
        "that people hardly differ; learns nothing of a person",
    ),
)
