"""UCB: upper confidence bounds without latent states."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Tally
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import NOTHING, TOP, Entry
from lpbandits.policies.rules import UpperBound
from lpbandits.rewards import Rewards, rewards_of


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
        rewards: str | Rewards = "gaussian",
        top: bool = False,
        explore: float = 0.0,
    ) -> None:
        super().__init__(model, Tally(rewards_of(rewards, noise, noise_of_all=True)), UpperBound(top), explore)


ENTRIES = (
    Entry("ucb", lambda s: UCB(s.model, rewards=s.rewards.as_known), "UCB", NOTHING, "every action has its own mean"),
    Entry(
        "ucb-top",
        lambda s: UCB(s.model, rewards=s.rewards.as_known, top=True),
        "UCB, top actions",
        TOP,
        "as ucb, among those actions",
    ),
)
