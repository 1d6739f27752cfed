"""mUCB: optimism over the states that are still consistent with the rewards."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Consistency
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import MEANS, Entry
from lpbandits.policies.rules import Optimism
from lpbandits.rewards import Rewards, rewards_of


class MUCB(Policy):
    """Upper confidence bounds for the fully known latent bandit (Hong et al. 2020).

    Among the states still consistent with the rewards it plays the action with the largest known mean. A state is
    dropped when the rewards of the rounds in which it was the optimistic one fall short of its means by more than
    σ √(6 N log T). Nothing is random.

    Parameters
    ----------
    model
        The orderings and `means`.
    noise
        Standard deviation of rewards (of any family; 0.5 always holds for Bernoulli).
    horizon
        The number T of rounds planned for.
    slack
        How wrong the known means may be (ε).

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[9.0, 1.0], [1.0, 8.0]])
    >>> agent = Agent(MUCB(model, noise=1.0), seed=7)
    >>> agent.ask()
    0
    >>> agent.tell(0, 1.0)
    >>> agent.ask()
    1
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        rewards: str | Rewards = "gaussian",
        horizon: int = 200,
        slack: float = 0.0,
        explore: float = 0.0,
    ) -> None:
        family = rewards_of(rewards, noise, noise_of_all=True)
        super().__init__(model, Consistency(family, horizon=horizon, slack=slack), Optimism(), explore)


ENTRIES = (
    Entry(
        "mucb",
        lambda s: MUCB(s.model, rewards=s.rewards.as_known, horizon=s.rounds),
        "mUCB",
        MEANS,
        "as mts; plays the optimist's action, nothing is random",
    ),
)
