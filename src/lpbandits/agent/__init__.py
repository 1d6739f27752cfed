"""One person's decisions: ask for an action, report outcomes, retract, explain, store and restore."""

from lpbandits.agent.agent import Agent
from lpbandits.agent.duels import pair_up
from lpbandits.agent.explain import Explanation

__all__ = ["Agent", "Explanation", "pair_up"]
