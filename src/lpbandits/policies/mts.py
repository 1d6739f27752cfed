"""mTS: posterior sampling that knows every state's mean rewards."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import KnownMeans
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import MEANS, Entry
from lpbandits.policies.rules import Sample
from lpbandits.rewards import Rewards, rewards_of


class MTS(Policy):
    """Thompson sampling for the fully known latent bandit (Hong et al. 2020).

    It weighs states by the likelihood of the rewards at `model.means`, draws one and plays its best action. Hard to
    beat where those means are exact for everyone, and misled where people of one state rate on different scales.
    Parameters as for `LpbTS`.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])
    >>> agent = Agent(MTS(model, noise=1.0), seed=7)
    >>> agent.tell(0, 2.0)
    >>> agent.posterior.round(3).tolist()
    [0.622, 0.378]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool = True,
        rewards: str | Rewards = "gaussian",
        first: str = "prior",
        explore: float = 0.0,
    ) -> None:
        super().__init__(model, KnownMeans(rewards_of(rewards, noise, noise_known)), Sample(first), explore)


ENTRIES = (
    Entry(
        "mts",
        lambda s: MTS(s.model, rewards=s.rewards, first=s.first),
        "mTS",
        MEANS,
        "people of one state share the same means exactly",
    ),
)
