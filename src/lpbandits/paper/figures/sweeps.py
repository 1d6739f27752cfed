"""Sweeps: regret at the end, and active constraints, against one parameter of the synthetic world."""

from typing import Any

import polars as pl

from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.policies import TS, Policy, Setting
from lpbandits.simulation import Results, simulate
from lpbandits.views.charts import Chart, beside, line_chart
from lpbandits.worlds import SyntheticWorld

POLICIES = ("lpbts", "lpbts-incremental", "mts", "ts", "ts-top")
"""Every figure runs these; charts show all but the incremental form, which the claims compare."""
SHOWN = ("lpbts", "mts", "ts", "ts-top")
NARROW = "ts-narrow"
"""TS with the prior N(0, 1), which locks onto its first action; in the table of the regret curves only."""


def narrow_ts(setting: Setting) -> Policy:
    """Return TS with a standard normal prior."""
    return TS(setting.model, noise=setting.rewards.noise, prior_sd=1.0)


def sweep(
    name: str, *, title: str, shows: str, parameter: str, label: str, values: list[dict[str, Any]], scale: str
) -> Figure:
    """Return the figure that varies one parameter of the synthetic world; `values` are world settings, one per case."""

    def cases(size: Size) -> list[Case]:
        some = [values[0], values[len(values) // 2], values[-1]] if size.quick else values
        common = {"scale": scale, "people": size.people, "rounds": size.rounds, "draws": size.draws}
        return [
            Case(name, f"{parameter}={own[parameter]:g}", {**common, "world": own, "x": own[parameter]}) for own in some
        ]

    return Figure(name, 1, title, shows, cases, run_case, lambda table: sweep_chart(table, label))


def run_case(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Simulate one value of the parameter; return a row per policy and draw."""
    s = case.settings
    world = SyntheticWorld(scale=s["scale"], **s["world"])
    results = simulate(
        world,
        list(POLICIES),
        people=s["people"],
        rounds=s["rounds"],
        draws=s["draws"],
        seed=seed,
        first="uniform",
        threads=threads,
    )
    return finals(results).with_columns(x=pl.lit(float(s["x"])), scale=pl.lit(s["scale"]))


def finals(results: Results) -> pl.DataFrame:
    """Return the end of a run, a row per policy and draw: mean and sd of regret over people, active constraints."""
    measures = [pl.col(name).mean() for name in ("regret", "best_share", "true_state")]
    measures += [pl.col(f"active_{part}").mean() for part in ("all", "true", "other")]
    spread = [pl.col("regret").std().alias("regret_sd"), pl.len().alias("people")]
    return results.people().group_by("policy", "draw", maintain_order=True).agg(*measures, *spread)


def sweep_chart(table: pl.DataFrame, label: str) -> Chart:
    """Return regret and active constraints of lpbTS, side by side, with ± one standard error over draws."""
    shown = table.filter(pl.col("policy").is_in(SHOWN))
    regret = (
        shown.group_by("policy", "x", maintain_order=True)
        .agg(
            y=pl.col("regret").mean(),
            sd=pl.col("regret_sd").mean(),
            se=pl.col("regret").std() / pl.len().sqrt(),
        )
        .sort("x")
    )
    own = table.filter(pl.col("policy") == "lpbts").sort("x")
    parts = pl.concat(
        [
            own.group_by("x", maintain_order=True)
            .agg(y=pl.col(f"active_{part}").mean(), se=pl.col(f"active_{part}").std() / pl.len().sqrt())
            .with_columns(policy=pl.lit(name))
            for part, name in (("other", "other states"), ("all", "all states"), ("true", "true state"))
        ]
    ).drop_nulls("y")
    return beside(
        line_chart(regret, x=label, y="regret at the last round", title="Regret"),
        line_chart(parts, x=label, y="active constraints of lpbTS", title="Active constraints"),
    )
