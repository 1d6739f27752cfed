"""Definition of a figure: its cases, and the functions that run a case and draw the chart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from lpbandits.datasets.movielens import fingerprint_of
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart

Group = Literal["paper", "beyond"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Groups of figures: of the paper, and beyond it."""


@dataclass(frozen=True)
class Size:
    """Size of a run: people per state, rounds, and draws of the orderings (None: the figure's number)."""

    people: int = 50
    rounds: int = 200
    draws: int | None = None
    quick: bool = False


FULL = Size()
QUICK = Size(people=10, draws=2, quick=True)


@dataclass(frozen=True)
class Case:
    """One setting of a figure; `settings` and the seed determine its numbers."""

    figure: str
    name: str
    settings: Json


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a reproduction.

    `plan(size, draws)` returns the settings of its cases by name, `run(settings, seed, threads)` the table of a case,
    and `chart(table)` the chart of the joined tables. A new `version` invalidates stored cases.
    """

    name: str
    title: str
    shows: str
    plan: Callable[[Size, int], dict[str, Json]]
    run: Callable[[Json, int, int | None], pl.DataFrame]
    chart: Callable[[pl.DataFrame], Chart]
    version: int = 1
    draws: int = 5
    """Default number of draws of the orderings, chosen so that the paper's claims are settled."""
    group: Group = "paper"
    data: str | None = None
    """MovieLens dataset that the figure needs."""

    @property
    def data_hash(self) -> str | None:
        """Hash of the figure's dataset."""
        return None if self.data is None else fingerprint_of(self.data)

    def cases(self, size: Size) -> list[Case]:
        """Return the cases at a size."""
        plan = self.plan(size, self.draws if size.draws is None else size.draws)
        return [Case(self.name, name, settings) for name, settings in plan.items()]
