"""Sweeps: final regret and active constraints against one parameter of the synthetic world.

The functions that run and summarize simulations are shared by the other simulated figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from lpbandits.paper.spec import Figure, Size
from lpbandits.policies import Policy, Setting, make_policy
from lpbandits.policies.baselines import TS
from lpbandits.simulation import Results, simulate
from lpbandits.simulation.run import Build
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.policies import line_chart
from lpbandits.worlds import SyntheticWorld, World

Policies = Sequence[str] | Mapping[str, str | Build]


def expanded(name: str, setting: Setting) -> Policy:
    """Return a policy with a uniform first action, as in the paper's expanded algorithm of lpbTS."""
    return make_policy(name, replace(setting, first="uniform"))


INCREMENTAL = "lpbts-incremental"

POLICIES: dict[str, str | Build] = {
    "lpbts": partial(expanded, "lpbts"),
    INCREMENTAL: partial(expanded, INCREMENTAL),
    "mts": "mts",
    "ts": "ts",
    "ts-top": "ts-top",
}
"""Policies of the figures; sweeps run the incremental form only with `forms`."""
SHOWN = ("lpbts", "mts", "ts", "ts-top")
"""Policies in the charts."""
NARROW = "ts-narrow"
"""TS with the prior N(0, 1), which locks in on its first action; run for a claim about the regret curves."""
LABELS = {"actions": "actions k", "states": "states m", "gap": "gap Δ", "noise": "noise σ"}
"""Titles of the x axis by the parameter that varies."""


def narrow_ts(setting: Setting) -> Policy:
    """Return TS with a standard normal prior."""
    return TS(setting.model, noise=setting.rewards.noise, prior_sd=1.0)


def simulate_settings(settings: Json, world: World, policies: Policies, seed: int, threads: int | None) -> Results:
    """Simulate policies with the people, rounds and draws of the settings."""
    size = {name: settings[name] for name in ("people", "rounds", "draws")}
    return simulate(world, policies, **size, seed=seed, threads=threads)


def finals(results: Results) -> pl.DataFrame:
    """Return final regret and active constraints: mean and standard deviation over people per policy and draw."""
    active = ("active_all", "active_true", "active_other")
    groups = results.people().group_by("policy", "draw", maintain_order=True)
    return groups.agg(
        pl.col("regret", "best_share", "true_state", *active).mean(),
        pl.col("regret", *active).std().name.suffix("_sd"),
        people=pl.len(),
    )


def points(table: pl.DataFrame, column: str, *by: str) -> pl.DataFrame:
    """Return a column's mean and standard error over draws by group, sorted by the last key.

    With a column of standard deviations over people, their root mean square is `sd`.
    """
    deviation = {"sd": (pl.col(f"{column}_sd") ** 2).mean().sqrt()} if f"{column}_sd" in table.columns else {}
    groups = table.drop_nulls(column).group_by(*by, maintain_order=True)
    values = groups.agg(y=pl.col(column).mean(), **deviation, se=pl.col(column).std() / pl.len().sqrt())
    return values.sort(by[-1], maintain_order=True)


def sweep(
    name: str,
    *,
    title: str,
    shows: str,
    parameter: str,
    worlds: Sequence[Json],
    draws: Mapping[str, int],
    costly: Mapping[float, int] | None = None,
    forms: bool = False,
    label: str = "",
) -> list[Figure]:
    """Return the figures of a sweep: one per scale of `draws`; the name on the same scale ends in "-same".

    `worlds` holds the settings of each case's world, in which `parameter` varies. The title may contain {scale}. On
    different scales, `costly` gives the number of draws of costly values, unless the size sets one, and `forms` runs
    both forms of lpbTS.
    """

    def plan(size: Size, number: int, scale: str) -> dict[str, Json]:
        different = scale == "different"
        few = (costly or {}) if size.draws is None and different else {}
        common = {"scale": scale, "people": size.people, "rounds": size.rounds, "forms": forms and different}
        chosen = [worlds[i] for i in (0, len(worlds) // 2, -1)] if size.quick else worlds
        return {
            f"{parameter}={x:g}": {**common, "draws": few.get(x, number), "world": world, "x": x}
            for x, world in ((world[parameter], world) for world in chosen)
        }

    return [
        Figure(
            name=f"{name}-same" if scale == "same" else name,
            version=2,
            title=title.format(scale="same scale" if scale == "same" else "different scales"),
            shows=shows,
            plan=partial(plan, scale=scale),
            run=run_sweep,
            chart=partial(sweep_chart, label=label or LABELS[parameter]),
            draws=number,
        )
        for scale, number in draws.items()
    ]


def run_sweep(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    """Simulate one value of the parameter; return a row per policy and draw."""
    world = SyntheticWorld(scale=settings["scale"], **settings["world"])
    policies = {name: build for name, build in POLICIES.items() if settings["forms"] or name != INCREMENTAL}
    results = simulate_settings(settings, world, policies, seed, threads)
    return finals(results).with_columns(x=pl.lit(float(settings["x"])), scale=pl.lit(settings["scale"]))


def sweep_chart(table: pl.DataFrame, label: str) -> Chart:
    """Return regret and active constraints of lpbTS, with standard deviations over people and errors over draws."""
    shown = table.filter(pl.col("policy").is_in(SHOWN))
    lpbts = table.filter(pl.col("policy") == "lpbts")
    active = [
        points(lpbts, f"active_{part}", "policy", "x").with_columns(policy=pl.lit(name))
        for part, name in (("other", "other states"), ("all", "all states"), ("true", "true state"))
    ]
    chart = partial(line_chart, x=label, subtitle="bands: sd over people; bars: standard error over draws")
    regret = chart(points(shown, "regret", "policy", "x"), y="regret at the last round", title="Regret")
    return grid([regret, chart(pl.concat(active), y="active constraints of lpbTS", title="Active constraints")])


_SIZES = (5, 10, 20, 30, 40, 50)
_GAPS = (0.1, 0.2, 0.5, 1.0)

FIGURES = [
    *sweep(
        "vary-both",
        title="States and actions grow together, {scale}",
        shows="regret and active constraints for k = m = 5 to 50",
        parameter="actions",
        label="actions k = states m",
        worlds=[{"states": k, "actions": k} for k in _SIZES],
        draws={"different": 10, "same": 3},
    ),
    *sweep(
        "vary-states",
        title="More states, 20 actions, {scale}",
        shows="regret and active constraints for m = 5 to 100 states, k = 20",
        parameter="states",
        worlds=[{"states": m, "actions": 20} for m in (5, 10, 20, 50, 100)],
        draws={"different": 10, "same": 3},
        costly={50: 4, 100: 4},
    ),
    *sweep(
        "vary-gap",
        title="Wider gaps, {scale}",
        shows="regret and active constraints for Δ = 0.1 to 1, k = 20, m = 10",
        parameter="gap",
        worlds=[{"states": 10, "actions": 20, "gap": gap} for gap in _GAPS],
        draws={"different": 10, "same": 5},
    ),
    # The paper explains the rise of mTS by an interval of levels that widens with the gap, but prints the fixed width
    # γk. Both are run: as printed above, and here with the width 2Δk (equal at Δ = 0.2).
    *sweep(
        "vary-gap-wide",
        title="Wider gaps, and a wider interval of levels",
        shows="as vary-gap, with people's levels drawn from an interval of width 2Δk instead of 0.4k",
        parameter="gap",
        worlds=[{"states": 10, "actions": 20, "gap": gap, "spread": 2 * gap} for gap in _GAPS],
        draws={"different": 10},
    ),
    *sweep(
        "vary-actions",
        title="More actions, 10 states, {scale}",
        shows="regret and active constraints for k = 5 to 50 actions, m = 10",
        parameter="actions",
        worlds=[{"states": 10, "actions": k} for k in _SIZES],
        draws={"different": 10, "same": 5},
        forms=True,
    ),
    *sweep(
        "vary-noise",
        title="More noise, {scale}",
        shows="regret and active constraints for σ = 0.5 to 5, k = 20, m = 10",
        parameter="noise",
        worlds=[{"states": 10, "actions": 20, "noise": noise} for noise in (0.5, 1.0, 2.0, 5.0)],
        draws={"different": 10},
    ),
]
"""All sweeps, in the order of the report."""
