"""Agents, each deciding for one person: ask for an action, report outcomes, retract, explain, save and restore."""

from lpbandits.agent.agent import Agent
from lpbandits.agent.explain import Explanation
from lpbandits.agent.outcomes import pair_up

__all__ = ["Agent", "Explanation", "pair_up"]
