"""lpb-duel: lpbTS for duels."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Inversions
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import ORDERINGS, Entry
from lpbandits.policies.rules import TwoStates


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

    def __init__(self, model: PreferenceModel, *, margin: float | None = None, explore: float = 0.0) -> None:
        super().__init__(model, Inversions(margin), TwoStates(), explore)


ENTRIES = (
    Entry(
        "lpb-duel",
        lambda s: LpbDuel(s.model),
        "lpb-duel",
        ORDERINGS,
        "the action that a person's state prefers wins more often than not",
        feedback="duels",
    ),
)
