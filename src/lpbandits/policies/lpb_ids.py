"""lpb-ids: information-directed choice among states whose utilities are known nearly, up to a person's scale."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Utility
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import NEARLY, Entry
from lpbandits.policies.rules import InformationDirected
from lpbandits.rewards import Rewards, rewards_with_guess


class LpbIDS(Policy):
    """Play what loses least for what it teaches about the person's state.

    Its evidence is that of `LpbUtility`; its rule tries an action on which the states disagree when that is worth its
    cost.

    Parameters
    ----------
    hope
        How much of the doubt about an action counts, as promise and as what a try may teach; 0 trusts the utilities.

    The other parameters are those of `LpbUtility`.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> agent = Agent(LpbIDS(model), seed=7)
    >>> agent.tell(0, 3.0); agent.tell(1, 2.0)
    >>> agent.probabilities().round(2).tolist()
    [0.72, 0.0, 0.28]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool = False,
        rewards: str | Rewards = "gaussian",
        slack: float = 0.02,
        isotonic: float = 0.5,
        hope: float = 0.6,
        explore: float = 0.0,
    ) -> None:
        evidence = Utility(rewards_with_guess(rewards, noise, noise_known), slack=slack, isotonic=isotonic)
        super().__init__(model, evidence, InformationDirected(hope), explore)


ENTRIES = (
    Entry(
        "lpb-ids",
        lambda s: LpbIDS(s.model, rewards=s.rewards.as_guess),
        "lpb-ids",
        NEARLY,
        "as lpb-utility; tries what tells states apart",
    ),
)
