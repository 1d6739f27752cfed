"""Cumulative regret by round, on both scales (5 states, 10 actions)."""

import polars as pl

from lpbandits.paper.figures.sweeps import NARROW, POLICIES, SHOWN, check_case, finals, narrow_ts
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.simulation import simulate
from lpbandits.views.charts.base import Chart, hstack
from lpbandits.views.charts.lines import regret_chart, top_of
from lpbandits.worlds import SyntheticWorld

_TITLES = {"same": "Same scale", "different": "Different scales"}


def _plan(size: Size, draws: int) -> list[Case]:
    common = {"people": size.people, "rounds": size.rounds, "draws": draws}
    return [Case("regret-curves", scale, {"scale": scale, **common}) for scale in ("same", "different")]


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return curves (kind "curve") and final values per policy and draw (kind "final")."""
    s = case.settings
    results = simulate(
        SyntheticWorld(states=5, actions=10, scale=s["scale"]),
        {**POLICIES, NARROW: narrow_ts},
        people=s["people"],
        rounds=s["rounds"],
        draws=s["draws"],
        seed=seed,
        threads=threads,
    )
    curves = results.curves().with_columns(kind=pl.lit("curve"))
    ends = finals(results).with_columns(kind=pl.lit("final"))
    return pl.concat([curves, ends], how="diagonal").with_columns(scale=pl.lit(s["scale"]))


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
