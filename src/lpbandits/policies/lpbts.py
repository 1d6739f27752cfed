"""lpbTS: posterior sampling that knows only the possible preference orderings."""

from collections.abc import Callable

from lpbandits import validate
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Evidence
from lpbandits.policies.evidences import Incremental, Marginal, Refit
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import ORDERINGS, Entry
from lpbandits.policies.rules import Sample
from lpbandits.rewards import Rewards, rewards_of

LIKELIHOODS: dict[str, Callable[[Rewards], Evidence]] = {
    "refit": Refit,
    "incremental": Incremental,
    "marginal": Marginal,
}


class LpbTS(Policy):
    """Thompson sampling for latent preference bandits (the paper's Algorithm 1).

    Per state it fits the rewards seen so far under the state's ordering (isotonic regression), turns the fits into a
    posterior over states, draws a state and plays its best action. It knows the orderings and nothing of the rewards'
    level or scale, so people of one state may rate quite differently.

    Parameters
    ----------
    model
        The possible orderings.
    noise
        Standard deviation of Gaussian rewards, 1 by default.
    noise_known
        False: `noise` is a guess, which each person's own rewards correct.
    rewards
        "gaussian", "bernoulli" or "poisson"; or `Rewards(…)`, in place of `noise` and `noise_known`.
    likelihood
        "refit" scores a state by all data at its refitted means, which bounds its marginal likelihood from above;
        "incremental" adds only the newest reward's term each round, as in the paper's expanded algorithm; "marginal" is
        the marginal likelihood itself, which loses about a fifth less and takes some hundred times as long.
    first
        "prior" draws the first state from the prior, "uniform" plays any action first. In the paper's synthetic world
        the uniform first action loses 1 to 2 % less, because it may tell states apart that favourites do not.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbTS(model, noise=1.0), seed=7)
    >>> agent.tell("rest", 3.2); agent.tell("drug B", 1.0)
    >>> agent.posterior.round(3).tolist()
    [0.77, 0.23]
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        noise: float | None = None,
        noise_known: bool = True,
        rewards: str | Rewards = "gaussian",
        likelihood: str = "refit",
        first: str = "prior",
        explore: float = 0.0,
    ) -> None:
        evidence = LIKELIHOODS[validate.as_choice(likelihood, "likelihood", LIKELIHOODS)]
        super().__init__(model, evidence(rewards_of(rewards, noise, noise_known)), Sample(first), explore)


ENTRIES = (
    Entry(
        "lpbts",
        lambda s: LpbTS(s.model, rewards=s.rewards, first=s.first),
        "lpbTS",
        ORDERINGS,
        "a person's mean rewards follow one of the orderings, on any scale",
    ),
    Entry(
        "lpbts-incremental",
        lambda s: LpbTS(s.model, rewards=s.rewards.as_known, likelihood="incremental", first=s.first),
        "lpbTS, incremental",
        ORDERINGS,
        "as lpbts; each round adds only the newest reward's likelihood",
    ),
    Entry(
        "lpbts-marginal",
        lambda s: LpbTS(s.model, rewards=s.rewards, likelihood="marginal", first=s.first),
        "lpbTS, marginal",
        ORDERINGS,
        "as lpbts; the exact posterior where lpbts takes a bound",
    ),
)
