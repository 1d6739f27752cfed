"""Lower bounds on regret (Theorem 1), and the measured growth of the policies' regret."""

from functools import partial

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.simulation.bounds import AXES, MAX_PEOPLE, bound_world, world_at
from lpbandits.simulation.size import check_bounds
from lpbandits.views.charts.base import Chart
from lpbandits.views.charts.bounds import against_chart

POLICIES = ("lpbts", "ts-top", "ts")
_RANGES = {"size": "k = m = 5 to 50", "states": "m = 5 to 50 at k = 20", "gap": "gaps Δ = 0.1 to 1 at k = m = 20"}


def _plan(size: Size, draws: int, axis: str) -> list[Case]:
    """Return a case per value of the axis; a draw is a person with a new model."""
    run = {"people": draws, "rounds": 100 * size.rounds, "repeats": 2 if size.quick else 5}
    return [Case(f"bound-{axis}", f"{axis} {x:g}", {"axis": axis, "x": x, **run}) for x in AXES[axis][1]]


def _check(case: Case) -> int:
    s = case.settings
    world = world_at(s["axis"], s["x"])
    validate.as_count(s["people"], "draws", high=MAX_PEOPLE)
    return check_bounds([world], people=s["people"], policies=POLICIES, rounds=s["rounds"], repeats=s["repeats"])


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return a row per person and quantity: a bound, or the measured growth of a policy."""
    s = case.settings
    bounds = bound_world(
        world_at(s["axis"], s["x"]),
        people=s["people"],
        seed=seed,
        policies=POLICIES,
        rounds=s["rounds"],
        repeats=s["repeats"],
        threads=threads,
    )
    return pl.concat(
        [
            pl.DataFrame({"policy": [kind] * len(values), "draw": np.arange(len(values)), "value": values})
            for kind, values in bounds.by_kind().items()
        ]
    ).with_columns(x=pl.lit(float(s["x"])))


def _chart(axis: str, table: pl.DataFrame) -> Chart:
    frame = table.group_by("x", "policy", maintain_order=True).agg(
        mean=pl.col("value").mean(), sd=pl.col("value").std(), se=pl.col("value").std() / pl.len().sqrt()
    )
    return against_chart(frame.rename({"policy": "kind"}).fill_null(0.0), axis)


FIGURES = [
    Figure(
        name=f"bound-{axis}",
        version=2,
        title=f"Lower bounds on regret against {AXES[axis][0]}",
        shows=f"the bound of Theorem 1 and measured growth of regret for {_RANGES[axis]}",
        plan=partial(_plan, axis=axis),
        run=_run,
        chart=partial(_chart, axis),
        draws=16 if axis == "size" else 8,
        check=_check,
    )
    for axis in AXES
]
