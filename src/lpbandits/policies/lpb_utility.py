"""lpb-utility: posterior sampling that knows the states' utilities up to a person's scale, and only nearly."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Utility
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import NEARLY, Entry
from lpbandits.policies.rules import BestExpected
from lpbandits.rewards import Rewards, rewards_with_guess


class LpbUtility(Policy):
    """Draw a state, play the action of which it expects most, with utilities that may be wrong.

    A state's utilities say how much better one action is than another; a person has a level and a scale of their own,
    and departs from the utilities by about as much as these are uncertain (`model.errors`). So it learns the state from
    few rewards, and leaves a state's favourite when its rewards disappoint. A model without errors is read as equally
    spaced ranks.

    Parameters
    ----------
    model
        The states, best with `utilities` and `errors` as a fit writes them.
    noise
        Standard deviation of rewards: a guess worth five rewards, which each person's own correct. By default the guess
        is the spread of all of a person's rewards, on whatever scale they are.
    noise_known
        True: the noise is exactly that.
    rewards
        "gaussian", "bernoulli" or "poisson" (all treated as Gaussian); or `Rewards(…)`, in place of the two above.
    slack
        Variance by which every person departs from the utilities, in units of their spread; from ranks of k actions
        10/k times that.
    isotonic
        The share of lpbTS's isotonic fits in the log-likelihood.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    >>> agent = Agent(LpbUtility(model), seed=7)
    >>> agent.tell(0, 3.0); agent.tell(1, 2.0)
    >>> agent.posterior.round(2).tolist()
    [0.7, 0.3]
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
        explore: float = 0.0,
    ) -> None:
        evidence = Utility(rewards_with_guess(rewards, noise, noise_known), slack=slack, isotonic=isotonic)
        super().__init__(model, evidence, BestExpected(), explore)


ENTRIES = (
    Entry(
        "lpb-utility",
        lambda s: LpbUtility(s.model, rewards=s.rewards.as_guess),
        "lpb-utility",
        NEARLY,
        "a person's means follow a state's utilities, nearly, on any scale",
    ),
)
