"""What a figure of the paper is: its cases, how a case is run, and how the results are drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart

Group = Literal["paper", "beyond"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Names for many figures: those of the paper, and those beyond it."""


@dataclass(frozen=True)
class Size:
    """How large to run: people per state, rounds, and draws of the orderings (None: as many as each figure needs)."""

    people: int = 50
    rounds: int = 200
    draws: int | None = None
    quick: bool = False


FULL = Size()
QUICK = Size(people=10, draws=2, quick=True)


@dataclass(frozen=True)
class Case:
    """One piece of a figure: a name within it, and plain settings that fix it together with the seed."""

    figure: str
    name: str
    settings: Json


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure; its version keeps results that an older specification saved from being taken for its own.

    `plan(size, draws)` returns its cases; `run(case, seed, threads)` a case's table; `chart(table)` draws all cases'
    tables joined together.
    """

    name: str
    version: int
    title: str
    shows: str
    plan: Callable[[Size, int], list[Case]]
    run: Callable[[Case, int, int | None], pl.DataFrame]
    chart: Callable[[pl.DataFrame], Chart]
    draws: int = 5
    """Draws of the orderings, unless a size says otherwise: so many that what the paper says of it settles."""
    group: Group = "paper"
    """Whether it is the paper's, or beyond it."""
    data: str | None = None
    """The MovieLens dataset it needs."""
    check: Callable[[Case], float] = lambda _: 0.0
    """Refuses a case that is too large, before any is run; returns about how many operations it takes."""

    def cases(self, size: Size) -> list[Case]:
        """Return its cases at a size."""
        return self.plan(size, self.draws if size.draws is None else size.draws)
