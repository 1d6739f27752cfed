"""What a figure of the paper is: its cases, how a case is run, and how the results are drawn."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from lpbandits.typing import Json
from lpbandits.views.charts import Chart


@dataclass(frozen=True)
class Size:
    """How large to run: people per state, rounds, and draws of the orderings."""

    people: int = 50
    rounds: int = 200
    draws: int = 3
    quick: bool = False


FULL = Size()
QUICK = Size(people=10, draws=2, quick=True)


@dataclass(frozen=True)
class Case:
    """One piece of a figure: a name within it, and plain settings that fix it together with the seed."""

    figure: str
    name: str
    settings: Json


@dataclass(frozen=True)
class Figure:
    """A figure; its version keeps results that an older specification saved from being taken for its own.

    `run(case, seed, threads)` returns a table; `chart(table)` draws all cases' tables joined together.
    """

    name: str
    version: int
    title: str
    shows: str
    cases: Callable[[Size], list[Case]]
    run: Callable[[Case, int, int | None], pl.DataFrame]
    chart: Callable[[pl.DataFrame], Chart]
    data: str | None = None
    """The MovieLens dataset it needs."""
    check: Callable[[Case], None] | None = None
    """Refuses a case that is too large, before any is run."""
