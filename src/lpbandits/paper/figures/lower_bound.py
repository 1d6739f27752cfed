"""Lower bounds on regret (Theorem 1), and the measured growth of the policies' regret."""

from functools import partial

import numpy as np
import polars as pl

from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation.bounds import AXES, bound_world, world_at
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart
from lpbandits.views.charts.bounds import against_chart

POLICIES = ("lpbts", "ts-top", "ts")
_RANGES = {"size": "k = m = 5 to 50", "states": "m = 5 to 50 at k = 20", "gap": "gaps Δ = 0.1 to 1 at k = m = 20"}


def _plan(size: Size, draws: int, axis: str) -> dict[str, Json]:
    """Return a case per value of the axis; a draw is a person with a new model."""
    run = {"people": draws, "rounds": 100 * size.rounds, "repeats": 2 if size.quick else 5}
    return {f"{axis} {x:g}": {"axis": axis, "x": x, **run} for x in AXES[axis][1]}


def _run(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    """Return a row per person and quantity: a bound, or the measured growth of a policy."""
    world = world_at(settings["axis"], settings["x"])
    run = {name: settings[name] for name in ("people", "rounds", "repeats")}
    kinds = bound_world(world, **run, policies=POLICIES, seed=seed, threads=threads).by_kind()
    return pl.concat(
        pl.DataFrame({"policy": [kind] * len(values), "draw": np.arange(len(values)), "value": values})
        for kind, values in kinds.items()
    ).with_columns(x=pl.lit(float(settings["x"])))


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
        shows=f"the bound of Theorem 1 and the measured growth of regret for {_RANGES[axis]}",
        plan=partial(_plan, axis=axis),
        run=_run,
        chart=partial(_chart, axis),
        draws=16 if axis == "size" else 8,
    )
    for axis in AXES
]
