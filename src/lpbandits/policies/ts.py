"""TS: Gaussian Thompson sampling without latent states."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Tally
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import NOTHING, TOP, Entry
from lpbandits.policies.rules import Thompson
from lpbandits.rewards import Rewards, rewards_of


class TS(Policy):
    """Thompson sampling with an independent normal prior per action, blind to latent states.

    Parameters
    ----------
    model
        Names the actions; its orderings are not used, unless `top`.
    noise
        Standard deviation of rewards (of any family; 0.5 always holds for Bernoulli).
    prior_mean, prior_sd
        The normal prior of every action's mean. It decides everything: a prior much narrower than the rewards' level
        locks onto the first action tried. The default is weak.
    top
        Only play actions that are best in some state (the paper's top-action subset, Proposition 1).

    >>> from lpbandits import Agent
    >>> agent = Agent(TS(PreferenceModel([[0, 1]])), seed=7)
    >>> agent.tell(0, 1.0); agent.tell(1, 2.0)
    >>> agent.probabilities().round(4).tolist()
    [0.2398, 0.7602]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str | Rewards = "gaussian",
        prior_mean: float = 0.0,
        prior_sd: float = 100.0,
        top: bool = False,
        explore: float = 0.0,
    ) -> None:
        family = rewards_of(rewards, noise, noise_of_all=True)
        super().__init__(model, Tally(family), Thompson(prior_mean, prior_sd, top), explore)


ENTRIES = (
    Entry(
        "ts",
        lambda s: TS(s.model, rewards=s.rewards.as_known),
        "TS",
        NOTHING,
        "every action has its own mean, with a weak normal prior",
    ),
    Entry(
        "ts-top",
        lambda s: TS(s.model, rewards=s.rewards.as_known, top=True),
        "TS, top actions",
        TOP,
        "as ts, among those actions",
    ),
)
