"""One person's decisions: ask for an action, report outcomes, retract, explain, store and restore."""

from lpbandits.agent.agent import Agent

__all__ = ["Agent"]
