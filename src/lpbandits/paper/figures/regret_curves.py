"""Cumulative regret by round, on both scales (5 states, 10 actions)."""

import polars as pl

from lpbandits.paper.figures.sweeps import (
    NARROW,
    POLICIES,
    SHOWN,
    check_case,
    curves_and_finals,
    finals,
    narrow_ts,
    simulate_case,
)
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.views.charts.base import Chart, hstack
from lpbandits.views.charts.lines import regret_chart, top_of
from lpbandits.worlds import SyntheticWorld

_TITLES = {"same": "Same scale", "different": "Different scales"}


def _plan(size: Size, draws: int) -> list[Case]:
    common = {"people": size.people, "rounds": size.rounds, "draws": draws}
    return [Case("regret-curves", scale, {"scale": scale, **common}) for scale in ("same", "different")]


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return curves (kind "curve") and final values per policy and draw (kind "final")."""
    scale = case.settings["scale"]
    world = SyntheticWorld(states=5, actions=10, scale=scale)
    results = simulate_case(case, world, {**POLICIES, NARROW: narrow_ts}, seed, threads)
    return curves_and_finals(results, finals(results)).with_columns(scale=pl.lit(scale))


def _chart(table: pl.DataFrame) -> Chart:
    curves = table.filter((pl.col("kind") == "curve") & pl.col("policy").is_in(SHOWN))
    limit = top_of(curves)
    charts = [
        regret_chart(curves.filter(pl.col("scale") == scale), title=title, limit=limit)
        for scale, title in _TITLES.items()
    ]
    return hstack(*charts)


FIGURES = [
    Figure(
        name="regret-curves",
        version=2,
        title="Cumulative regret",
        shows="cumulative regret of each policy by round, m = 5, k = 10, same and different scales",
        plan=_plan,
        run=_run,
        chart=_chart,
        draws=48,
        check=check_case,
    )
]
