"""Simulation: people × rounds × policies → results."""

from lpbandits.simulation.results import Curve, PolicyResult, Results
from lpbandits.simulation.run import Trace, roll, simulate

__all__ = ["Curve", "PolicyResult", "Results", "Trace", "roll", "simulate"]
