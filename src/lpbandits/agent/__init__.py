"""Agents, each deciding for one person: ask, decide, report outcomes, retract, explain, save and restore."""

from lpbandits.agent.agent import Agent
from lpbandits.agent.explain import Explanation
from lpbandits.agent.outcomes import pair_up
from lpbandits.agent.record import Decision, DecisionRecord

__all__ = ["Agent", "Decision", "DecisionRecord", "Explanation", "pair_up"]
