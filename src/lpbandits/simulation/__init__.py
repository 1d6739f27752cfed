"""Simulation of policies: people × rounds × policies → results."""

from lpbandits.simulation.kernels import Trace
from lpbandits.simulation.results import Curve, PolicyResult, Results
from lpbandits.simulation.rollout import rollout
from lpbandits.simulation.run import simulate

__all__ = ["Curve", "PolicyResult", "Results", "Trace", "rollout", "simulate"]
