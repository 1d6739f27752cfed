"""Simulation of policies: people × rounds × policies → results."""

from lpbandits.simulation.results import Curve, PolicyResult, Results
from lpbandits.simulation.run import simulate
from lpbandits.simulation.trace import Trace, rollout

__all__ = ["Curve", "PolicyResult", "Results", "Trace", "rollout", "simulate"]
