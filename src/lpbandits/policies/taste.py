"""taste: what a person will like best, from how tastes vary in a log."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import TasteEvidence
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import TASTES, Entry
from lpbandits.policies.rules import Greedy
from lpbandits.rewards import Rewards, rewards_of


class Taste(Policy):
    """Play the action of which most is expected for this person's taste, level and scale.

    For real people with a log, and actions that each of them gets once (films, books, exercises). It uses
    `model.taste`, not the orderings: tastes that vary continuously, learned from the ratings of others by `lpb fit`.
    `agent.explain()` gives an interval for every action. Where actions repeat it locks in; tell `ask` what is allowed.

    Parameters
    ----------
    model
        With a `taste`, as a fit from a log writes it.
    rewards
        "gaussian", "bernoulli" or "poisson" (all treated as Gaussian); or `Rewards(…)`, whose noise is not used.
    lasting
        How much of what the tastes do not explain is a lasting liking of one action, not noise; see `TasteEvidence`.
    lookahead
        How much it counts what an action would teach; see `Greedy`.

    >>> from lpbandits import Agent, TasteModel
    >>> tastes = TasteModel([0.2, 0.0, 0.0], [[0.9], [0.9], [-0.9]], [0.3, 0.3, 0.3], level=3.0)
    >>> agent = Agent(Taste(PreferenceModel([[0, 1, 2]], taste=tastes)), seed=7)
    >>> agent.ask()
    0
    >>> agent.tell(0, 1.0)
    >>> agent.ask(allowed=[1, 2])
    2
    """

    def __init__(
        self,
        model: PreferenceModel,
        *,
        rewards: str | Rewards = "gaussian",
        lasting: float | None = None,
        lookahead: float = 0.0,
        explore: float = 0.0,
    ) -> None:
        super().__init__(model, TasteEvidence(rewards_of(rewards), lasting), Greedy(lookahead), explore)


ENTRIES = (
    Entry(
        "taste",
        lambda s: Taste(s.model, rewards=s.rewards),
        "taste",
        TASTES,
        "people's tastes vary as those of the log did, and each action is given once",
    ),
)
