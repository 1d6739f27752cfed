"""Worlds: where people and their rewards come from. A new one is one file and one line in WORLDS."""

from lpbandits.worlds.base import Population, World
from lpbandits.worlds.means import MeansWorld
from lpbandits.worlds.synthetic import SyntheticWorld

__all__ = ["WORLDS", "MeansWorld", "Population", "SyntheticWorld", "World"]

WORLDS = {"synthetic": SyntheticWorld, "means": MeansWorld}
"""Every world by name."""
