"""Definition of a figure: its cases, and the functions that run a case and draw the chart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

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

    `plan(size, draws)` returns its cases, `run(case, seed, threads)` the table of a case, and `chart(table)` the chart
    of the joined tables. A new `version` invalidates stored cases.
    """

    name: str
    version: int
    title: str
    shows: str
    plan: Callable[[Size, int], list[Case]]
    run: Callable[[Case, int, int | None], pl.DataFrame]
    chart: Callable[[pl.DataFrame], Chart]
    draws: int = 5
    """Default number of draws of the orderings, chosen so that the paper's claims are settled."""
    group: Group = "paper"
    """Group of the figure."""
    data: str | None = None
    """MovieLens dataset that the figure needs."""
    check: Callable[[Case], float] = lambda _: 0.0
    """Rejects a case that is too large; returns its approximate number of operations."""

    def cases(self, size: Size) -> list[Case]:
        """Return the cases at a size."""
        return self.plan(size, self.draws if size.draws is None else size.draws)
