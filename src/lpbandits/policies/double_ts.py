"""double-ts: double Thompson sampling on duels, without latent states."""

from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import Wins
from lpbandits.policies.policy import Policy
from lpbandits.policies.registry import NOTHING, TOP, Entry
from lpbandits.policies.rules import DoubleThompson


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

    def __init__(self, model: PreferenceModel, *, alpha: float = 0.51, top: bool = False, explore: float = 0.0) -> None:
        super().__init__(model, Wins(), DoubleThompson(alpha, top), explore)


ENTRIES = (
    Entry(
        "double-ts",
        lambda s: DoubleTS(s.model),
        "double TS",
        NOTHING,
        "every pair of actions has its own chance; some action beats most others",
        feedback="duels",
    ),
    Entry(
        "double-ts-top",
        lambda s: DoubleTS(s.model, top=True),
        "double TS, top actions",
        TOP,
        "as double-ts, among those actions",
        feedback="duels",
    ),
)
