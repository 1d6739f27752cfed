"""Regret by round: rewards on both scales, the first rounds, duels, and rewards compared in pairs."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from lpbandits.paper.figures import sweeps
from lpbandits.paper.figures.sweeps import simulate_settings
from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation import Results
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.policies import round_chart, top_of
from lpbandits.worlds import DuellingWorld, SyntheticWorld

SCALES = {"same": "Same scale", "different": "Different scales"}
WORLD = SyntheticWorld(states=5, actions=10, scale="different")
DUELS = ("lpb-duel", "double-ts", "double-ts-top")
PAIRED = "lpb-paired"
FEW_ROUNDS = 30
FIRST_ROUNDS = ("lpb-horizon", "lpb-ids", "lpbts", "mts", "popular", "ts-top", "ts")
SIZES = {"m = 5, k = 10": (5, 10), "m = 10, k = 20": (10, 20)}
COMPARISONS = {"rewards": "Noisy rewards compared", "bradley-terry": "Bradley-Terry"}


def _with_curves(results: Results, ends: pl.DataFrame) -> pl.DataFrame:
    """Return curves (kind "curve") and final values per policy and draw (kind "final")."""
    tables = {"curve": results.curves(), "final": ends}
    return pl.concat([table.with_columns(kind=pl.lit(kind)) for kind, table in tables.items()], how="diagonal")


def _plan(size: Size, draws: int, *, parameter: str, values: Iterable[str], halves: int = 2) -> dict[str, Json]:
    """Return a case per value of a parameter, with size.rounds × halves / 2 rounds."""
    run = {"people": size.people, "rounds": size.rounds * halves // 2, "draws": draws}
    return {value: {parameter: value, **run} for value in values}


def _panels(curves: pl.DataFrame, parameter: str, titles: Mapping[str, str], **options: Any) -> Chart:
    parts = {title: curves.filter(pl.col(parameter) == value) for value, title in titles.items()}
    return grid(round_chart(part, title=title, **options) for title, part in parts.items())


def _run_regret(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    world = SyntheticWorld(states=5, actions=10, scale=settings["scale"])
    results = simulate_settings(settings, world, {**sweeps.POLICIES, sweeps.NARROW: sweeps.narrow_ts}, seed, threads)
    return _with_curves(results, sweeps.finals(results)).with_columns(scale=pl.lit(settings["scale"]))


def _regret_chart(table: pl.DataFrame) -> Chart:
    curves = table.filter(pl.col("policy").is_in(sweeps.SHOWN), kind="curve")
    return _panels(curves, "scale", SCALES, limit=top_of(curves))


def _plan_first_rounds(size: Size, draws: int) -> dict[str, Json]:
    run = {"people": size.people, "rounds": min(FEW_ROUNDS, size.rounds), "draws": draws}
    return {name: {"size": name, **run} for name in SIZES}


def _run_first_rounds(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    states, actions = SIZES[settings["size"]]
    world = SyntheticWorld(states=states, actions=actions, scale="different")
    results = simulate_settings(settings, world, FIRST_ROUNDS, seed, threads)
    return _with_curves(results, sweeps.finals(results)).with_columns(size=pl.lit(settings["size"]))


def _first_rounds_chart(table: pl.DataFrame) -> Chart:
    curves = table.filter(kind="curve").drop("regret_sd")  # the bands of seven policies would hide the lines
    panels = []
    for name in SIZES:
        part = curves.filter(size=name)
        limit = 1.04 * float(np.max(part["regret"].to_numpy()))
        panels.append(round_chart(part, title=name, limit=limit))
    return grid(panels)


def _run_duels(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    comparison = settings["comparison"]
    results = simulate_settings(settings, DuellingWorld(WORLD, comparison), DUELS, seed, threads)
    return _with_found_states(results, settings, seed).with_columns(comparison=pl.lit(comparison))


def _with_found_states(results: Results, settings: Json, seed: int) -> pl.DataFrame:
    """Return curves and final values; `true_state_alone` is over people whose best action no other state shares."""
    alone: list[bool] = []
    for draw in range(settings["draws"]):
        crowd = WORLD.draw(people=settings["people"], seed=seed, draw=draw)
        tops = crowd.model.orderings[:, 0]
        alone += [bool(np.sum(tops == tops[z]) == 1) for z in crowd.truth]
    people = results.people().with_columns(pl.Series("alone", alone * len(results.policies)))
    ends = people.group_by("policy", "draw", maintain_order=True).agg(
        pl.col("regret", "true_state").mean(), true_state_alone=pl.col("true_state").filter("alone").mean()
    )
    return _with_curves(results, ends)


def _duel_chart(table: pl.DataFrame) -> Chart:
    options = {"along": "duel", "of": "cumulative strong regret"}
    return _panels(table.filter(kind="curve"), "comparison", COMPARISONS, **options)


def _run_pairing(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    """Return regret by number of plays; a duel is two plays."""
    single = simulate_settings(settings, WORLD, ["lpbts", PAIRED], seed, threads)
    half = {**settings, "rounds": settings["rounds"] // 2}
    duels = simulate_settings(half, WORLD, ["lpb-duel"], seed, threads)
    halves = _with_found_states(duels, settings, seed).with_columns(round=2 * pl.col("round"))
    return pl.concat([_with_found_states(single, settings, seed), halves], how="diagonal")


def _pairing_chart(table: pl.DataFrame) -> Chart:
    title = "Rewards, rewards in pairs, duels: regret by plays"
    return round_chart(table.filter(kind="curve"), title=title, along="play (a duel is two)")


REGRET_CURVES = [
    Figure(
        name="regret-curves",
        version=2,
        title="Cumulative regret",
        shows="cumulative regret of each policy by round, m = 5, k = 10, same and different scales",
        plan=partial(_plan, parameter="scale", values=SCALES),
        run=_run_regret,
        chart=_regret_chart,
        draws=48,
    )
]
FEW = [
    Figure(
        name="first-rounds",
        title="The first 30 rounds",
        shows="cumulative regret of each policy by round on different scales; lpb-horizon is told the number of rounds",
        plan=_plan_first_rounds,
        run=_run_first_rounds,
        chart=_first_rounds_chart,
        draws=20,
        group="beyond",
    )
]
RELATIVE_FEEDBACK = [
    Figure(
        name="duels",
        title="Relative feedback",
        shows="strong regret of lpb-duel and of double Thompson sampling by duel, m = 5, k = 10",
        plan=partial(_plan, parameter="comparison", values=COMPARISONS, halves=5),
        run=_run_duels,
        chart=_duel_chart,
        draws=14,
    ),
    Figure(
        name="pairing",
        title="Cost of comparing rewards",
        shows="regret by plays of lpbTS (on rewards, and on rewards in consecutive pairs) and lpb-duel, m = 5, k = 10",
        plan=lambda size, draws: {"m = 5, k = 10": {"people": size.people, "rounds": 2 * size.rounds, "draws": draws}},
        run=_run_pairing,
        chart=_pairing_chart,
        draws=20,
    ),
]
