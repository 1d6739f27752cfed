"""Worlds, which draw people and their rewards. A new world is one file and one entry of `WORLDS`."""

from typing import Any

from lpbandits.worlds.base import COMPARISONS, DuellingWorld, Population, World, draw_population, world_settings
from lpbandits.worlds.means import MeansWorld
from lpbandits.worlds.replay import ReplayWorld
from lpbandits.worlds.synthetic import SyntheticWorld

__all__ = [
    "COMPARISONS",
    "WORLDS",
    "DuellingWorld",
    "MeansWorld",
    "Population",
    "ReplayWorld",
    "SyntheticWorld",
    "World",
    "draw_population",
    "world_settings",
]

WORLDS: dict[str, type[Any]] = {world.name: world for world in (SyntheticWorld, MeansWorld, ReplayWorld)}
"""Worlds that `lpb simulate --world` accepts; `lpbandits.register` adds others."""
