"""UCB: upper confidence bounds without latent states."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Policy, rewards_of
from lpbandits.policies.evidence import Tally
from lpbandits.policies.rules import UpperBound


class UCB(Policy):
    """UCB1: play the largest ȳ + σ √(2 log t / n), untried actions first; blind to latent states.

    Parameters as for `TS`, without its prior.

    >>> from lpbandits import Agent
    >>> agent = Agent(UCB(PreferenceModel([[0, 1]])), seed=7)
    >>> agent.tell(0, 1.0); agent.tell(1, 2.0)
    >>> agent.ask()
    1
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str = "gaussian",
        top: bool = False,
    ) -> None:
        super().__init__(model, Tally(rewards_of(rewards, noise, own=False)), UpperBound(top))
