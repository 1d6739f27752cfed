"""The ladder: policies with decreasing prior knowledge, in few rounds and in worlds that violate the assumptions.

There is one figure for few rounds and one per violated assumption, on different scales. A row of its table is one
policy in one draw: the mean, the 95 % quantile and the 99 % quantile of regret over people.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from lpbandits.paper.figures.sweeps import expanded, simulate_settings
from lpbandits.paper.spec import Figure, Size
from lpbandits.simulation.run import Build
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.policies import ratio_chart
from lpbandits.worlds import SyntheticWorld

BASE, MARGINAL = "lpbts", "lpbts-marginal"
HORIZON = "lpb-horizon"
LADDER: dict[str, str | Build] = {
    "mts": "mts",
    "lpb-utility": "lpb-utility",
    HORIZON: HORIZON,
    "lpb-ids": "lpb-ids",
    MARGINAL: partial(expanded, MARGINAL),
    BASE: partial(expanded, BASE),
    "popular": "popular",
    "ts-top": "ts-top",
    "ts": "ts",
}
"""Policies by decreasing prior knowledge; charts compare them with lpbTS."""
LEARNING = tuple(name for name in LADDER if name not in (HORIZON, MARGINAL, "popular"))
"""Policies of most figures: lpb-horizon is for few rounds, the marginal form is slow, popularity does not learn."""
MEASURES = {"regret": "Mean", "regret_q95": "95 % quantile", "regret_q99": "99 % quantile"}

SIZES: dict[str, Json] = {f"m = {m}, k = {k}": {"states": m, "actions": k} for m, k in ((5, 10), (10, 20), (20, 20))}
SMALL, MIDDLE, LARGE = SIZES
FAMILIES = ("paper", "exponential", "cliff", "steps")
ASSUMED = (0.25, 0.5, 1.0, 2.0, 4.0)
SWAPS = (0.0, 0.1, 0.3)
ERRORS = (0.0, 0.05, 0.1, 0.2, 0.4)
ROUNDS = (5, 10, 20, 30, 200)


def ladder(
    name: str,
    *,
    title: str,
    shows: str,
    label: str,
    worlds: Mapping[str, Mapping[str, Json]],
    draws: int = 20,
    policies: Sequence[str] = LEARNING,
) -> Figure:
    """Return the figure of one violated assumption; `worlds` holds settings of the world by size and name.

    Each size is a row of panels. A setting may have its number of `rounds`, too. The marginal form of lpbTS takes a
    hundred times as long as the others: a figure with it has 5 × `Size.people` people per draw, regardless of the
    number of states.
    """

    def plan(size: Size, number: int) -> dict[str, Json]:
        cases = {}
        for row, by_setting in worlds.items():
            for setting, world in by_setting.items():
                people = max(5 * size.people // world["states"], 1) if MARGINAL in policies else size.people
                rounds = min(world.get("rounds", size.rounds), size.rounds)
                named = {"size": row, "setting": setting, "policies": list(policies)}
                settings = {name: value for name, value in world.items() if name != "rounds"}
                run = {"people": people, "rounds": rounds, "draws": number}
                cases[", ".join(filter(None, (row, setting)))] = {"world": settings, **named, **run}
        return cases

    return Figure(
        name=name,
        title=f"The ladder: {title}",
        shows="mean and quantiles of regret of policies that know more or less than lpbTS, relative to lpbTS: " + shows,
        plan=plan,
        run=run_ladder,
        chart=partial(ladder_chart, label=label),
        draws=draws,
        group="beyond",
    )


def run_ladder(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    """Simulate one setting; return the mean and quantiles of regret over people, per policy and draw."""
    world = SyntheticWorld(scale="different", **settings["world"])
    policies = {name: LADDER[name] for name in settings["policies"]}
    results = simulate_settings(settings, world, policies, seed, threads)
    regret = pl.col("regret")
    quantiles = {f"regret_q{q}": regret.quantile(q / 100, "linear") for q in (95, 99)}
    rows = results.people().group_by("policy", "draw", maintain_order=True)
    table = rows.agg(regret.mean(), people=pl.len(), **quantiles)
    return table.with_columns(size=pl.lit(settings["size"]), setting=pl.lit(settings["setting"]))


def ladder_chart(table: pl.DataFrame, label: str) -> Chart:
    """Return panels of the mean and quantiles of regret, as ratios to lpbTS; each size is a row."""
    ratios = ratios_of(table)
    values = ratios["value"].to_numpy()
    panels = []
    for size in table["size"].unique(maintain_order=True).to_list():
        for measure, words in MEASURES.items():
            shown = ratios.filter(size=size, measure=measure)
            levels = ", ".join(f"{level:.0f}" for level in shown.filter(policy=BASE)["level"].to_list())
            panel = ratio_chart(
                shown,
                x=label,
                y="regret / regret of lpbTS",
                title=", ".join(filter(None, (words, size))),
                subtitle=f"lpbTS: {levels}; bars: standard error",
                ends=(float(values.min()) / 1.2, float(values.max()) * 1.2),
            )
            panels.append(panel)
    return grid(panels, columns=len(MEASURES))


def ratios_of(table: pl.DataFrame) -> pl.DataFrame:
    """Return ratios to lpbTS, paired within draws: geometric means over draws ± one standard error.

    Draws in which either regret is 0 are dropped. `level` is the mean of the measure over draws.
    """
    keys = ["size", "setting", "draw"]
    long = table.unpivot(list(MEASURES), index=[*keys, "policy"], variable_name="measure", value_name="level")
    base = long.filter(policy=BASE).select(*keys, "measure", base="level")
    ratio, log = pl.col("level") / pl.col("base"), pl.col("log")
    logs = long.join(base, on=[*keys, "measure"], maintain_order="left").with_columns(log=ratio.log())
    groups = logs.filter(log.is_finite()).group_by("size", "setting", "measure", "policy", maintain_order=True)
    standard_error = (log.std() / pl.len().sqrt()).fill_null(0.0)
    summary = groups.agg(mean=log.mean(), error=standard_error, level=pl.col("level").mean())
    mean, error = pl.col("mean"), pl.col("error")
    return summary.with_columns(value=mean.exp(), low=(mean - error).exp(), high=(mean + error).exp())


def _at(size: str, parameter: str, values: Sequence[float | str]) -> dict[str, dict[str, Json]]:
    """Return worlds of one size with one varied setting, by its value."""
    named = {value if isinstance(value, str) else f"{value:g}": value for value in values}
    return {size: {name: {**SIZES[size], parameter: value} for name, value in named.items()}}


FIGURES = [
    ladder(
        "ladder-rounds",
        title="few rounds",
        shows="5 to 200 rounds; lpb-horizon is told their number",
        label="rounds T",
        worlds={row: {f"{rounds}": {**SIZES[row], "rounds": rounds} for rounds in ROUNDS} for row in (SMALL, MIDDLE)},
        draws=10,
        policies=(*LEARNING, HORIZON, "popular"),
    ),
    ladder(
        "ladder-sizes",
        title="more states and actions",
        shows="three sizes",
        label="states m, actions k",
        worlds={"": SIZES},
        draws=10,
        policies=(*LEARNING, MARGINAL),
    ),
    ladder(
        "ladder-gaps",
        title="other gaps between means",
        shows="gaps between means that differ from the paper's",
        label="gaps",
        worlds=_at(SMALL, "gaps", FAMILIES) | _at(MIDDLE, "gaps", FAMILIES),
        draws=48,
    ),
    ladder(
        "ladder-assumed-noise",
        title="wrong noise",
        shows="assumed noise of a quarter to four times the true noise",
        label="assumed noise / true noise",
        worlds=_at(MIDDLE, "assumed_noise", ASSUMED),
    ),
    ladder(
        "ladder-swaps",
        title="people who deviate from their state's ordering",
        shows="neighbours in a person's ordering are swapped",
        label="probability of a swap",
        worlds=_at(MIDDLE, "swap", SWAPS),
    ),
    ladder(
        "ladder-errors",
        title="wrong orderings",
        shows="models with wrong orderings",
        label="error of the orderings, 1 − τ",
        worlds=_at(MIDDLE, "model_error", ERRORS),
    ),
    ladder(
        "ladder-tails",
        title="heavy tails",
        shows="Student's t noise (4 degrees of freedom) with the same standard deviation",
        label="noise",
        worlds=_at(MIDDLE, "noise_family", ("normal", "student")),
    ),
]
"""In the order of the report."""
