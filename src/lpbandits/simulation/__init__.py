"""Simulation: people × rounds × policies → results."""

from lpbandits.simulation.results import Curve, PolicyResult, Results
from lpbandits.simulation.rollout import Trace, roll
from lpbandits.simulation.run import simulate

__all__ = ["Curve", "PolicyResult", "Results", "Trace", "roll", "simulate"]
