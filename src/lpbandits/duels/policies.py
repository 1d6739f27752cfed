"""The policies of relative feedback."""

from lpbandits import validate
from lpbandits.duels.parts import DoubleThompson, Inversions, Paired, TwoStates, Wins
from lpbandits.model import PreferenceModel
from lpbandits.policies.base import Policy, rewards_of
from lpbandits.policies.rules import Sample

MOST_ACTIONS = 4096
"""Actions that double Thompson sampling can hold: it counts wins of every pair."""


class LpbDuel(Policy):
    """lpbTS for duels: a posterior over states from counted inversions, and two states drawn from it.

    Parameters
    ----------
    model
        The possible orderings.
    margin
        ρ of the paper: the preferred action of any pair wins with a chance of at least ½ + ρ. None: not known.

    >>> from lpbandits import Agent
    >>> model = PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])
    >>> agent = Agent(LpbDuel(model), seed=7)
    >>> agent.ask_pair()
    ('drug B', 'rest')
    >>> agent.tell_duel("rest", "drug B"); agent.tell_duel("rest", "drug A")
    >>> agent.posterior.round(3).tolist()
    [0.8, 0.2]
    """

    def __init__(self, model: PreferenceModel, *, margin: float | None = None) -> None:
        super().__init__(model, Inversions(margin), TwoStates())


class DoubleTS(Policy):
    """Double Thompson sampling on the unstructured duelling bandit: the baseline that knows no states.

    Parameters
    ----------
    model
        Names the actions; its orderings are not used, unless `top`.
    alpha
        Width of the confidence limits, more than ½.
    top
        Only play actions that are best in some state.

    >>> from lpbandits import Agent
    >>> agent = Agent(DoubleTS(PreferenceModel([[0, 1, 2]])), seed=7)
    >>> first, second = agent.ask_pair()
    >>> agent.tell_duel(first, second); agent.rounds
    1
    """

    def __init__(self, model: PreferenceModel, *, alpha: float = 0.51, top: bool = False) -> None:
        super().__init__(model, Wins(), DoubleThompson(alpha, top))
        validate.as_count(model.n_actions, "the number of actions", high=MOST_ACTIONS)


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
        rewards: str = "gaussian",
        first: str = "prior",
    ) -> None:
        super().__init__(model, Paired(margin, rewards_of(rewards, None, own=False)), Sample(first))
