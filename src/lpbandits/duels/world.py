"""A world of duels: people of another world who compare two actions instead of rating one."""

from dataclasses import dataclass

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.duel_rollout import BRADLEY_TERRY, COMPARED
from lpbandits.typing import Json
from lpbandits.worlds import Population, World

COMPARISONS = {"rewards": COMPARED, "bradley-terry": BRADLEY_TERRY}
"""How a duel is decided, and the kernels' number of it."""


@dataclass(frozen=True)
class DuellingWorld:
    """People who say which of two actions was better.

    Parameters
    ----------
    world
        Where people and their means come from.
    comparison
        "rewards": each action gets a noisy reward, the larger wins (a coin decides between equal ones).
        "bradley-terry": an action wins with chance 1 / (1 + exp(−(μ − μ') / noise)).

    >>> from lpbandits import SyntheticWorld
    >>> DuellingWorld(SyntheticWorld(states=2, actions=3), comparison="bradley-terry").to_dict()["comparison"]
    'bradley-terry'
    """

    world: World
    comparison: str = "rewards"

    def __post_init__(self) -> None:
        validate.as_choice(self.comparison, "comparison", COMPARISONS)
        if isinstance(self.world, DuellingWorld):
            raise InvalidInput("the world of a DuellingWorld already duels; give the world inside it")

    def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:
        """Return the people of the world inside."""
        return self.world.draw(people=people, seed=seed, draw=draw)

    def to_dict(self) -> Json:
        """Return the settings of the world inside, with the feedback."""
        return {**self.world.to_dict(), "feedback": "duel", "comparison": self.comparison}
