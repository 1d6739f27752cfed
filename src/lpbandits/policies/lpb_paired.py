"""lpb-paired: posterior sampling on rewards that are only compared in pairs."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Paired
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import ORDERINGS, Entry
from lpbandits.policies.rules import Sample
from lpbandits.rewards import Rewards, rewards_of


class LpbPaired(Policy):
    """Posterior sampling on absolute rewards that are only compared in consecutive pairs (absolute to relative).

    It shows what is lost by comparing rewards instead of using them; it asks and tells single actions, as lpbTS does.

    >>> from lpbandits import Agent
    >>> agent = Agent(LpbPaired(PreferenceModel([[0, 1], [1, 0]])), seed=7)
    >>> agent.tell(0, 1.0); agent.tell(1, 3.0)
    >>> agent.posterior.round(3).tolist()
    [0.333, 0.667]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        margin: float | None = None,
        rewards: str | Rewards = "gaussian",
        first: str = "prior",
        explore: float = 0.0,
    ) -> None:
        super().__init__(model, Paired(margin, rewards_of(rewards)), Sample(first), explore)


ENTRIES = (
    Entry(
        "lpb-paired",
        lambda s: LpbPaired(s.model, rewards=s.rewards.as_known, first=s.first),
        "lpbTS, rewards paired",
        ORDERINGS,
        "as lpbts; only compares each second reward with the one before",
    ),
)
