"""Simulation: people × rounds × policies → results."""

from lpbandits.simulation.duels import DuelResult, DuelTrace, roll_duels, simulate_duels
from lpbandits.simulation.results import Curve, PolicyResult, Results
from lpbandits.simulation.run import Trace, roll, simulate

__all__ = [
    "Curve",
    "DuelResult",
    "DuelTrace",
    "PolicyResult",
    "Results",
    "Trace",
    "roll",
    "roll_duels",
    "simulate",
    "simulate_duels",
]
