"""Sweeps: final regret and active constraints against one parameter of the synthetic world."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import polars as pl

from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.policies import Policy, Setting, make_policy
from lpbandits.policies.baselines import TS
from lpbandits.simulation import Results, simulate
from lpbandits.simulation.run import Build, builders_of
from lpbandits.simulation.size import check_run
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, hstack
from lpbandits.views.charts.lines import line_chart
from lpbandits.worlds import SyntheticWorld, World


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
"""Policies of the figures; the incremental form runs only with `Sweep.forms`."""
SHOWN = ("lpbts", "mts", "ts", "ts-top")
"""Policies in the charts."""
NARROW = "ts-narrow"
"""TS with the prior N(0, 1), which locks onto its first action; it is run for a claim on the regret curves."""


def narrow_ts(setting: Setting) -> Policy:
    """Return TS with a standard normal prior."""
    return TS(setting.model, noise=setting.rewards.noise, prior_sd=1.0)


@dataclass(frozen=True)
class Sweep:
    """A sweep of one parameter of the synthetic world; `values` are world settings, one per case.

    There is one figure per scale; the name on the same scale ends in "-same". The title may contain {scale}.
    """

    name: str
    title: str
    shows: str
    parameter: str
    label: str
    values: Sequence[Json]
    scales: tuple[str, ...] = ("different", "same")
    draws: int = 10
    same_draws: int = 5
    costly: Mapping[float, int] = field(default_factory=dict)
    """Number of draws of costly values on different scales, unless the size sets one."""
    forms: bool = False
    """Whether to run both forms of lpbTS (on different scales)."""

    def figures(self) -> list[Figure]:
        """Return a figure per scale."""
        return [
            Figure(
                name=name,
                version=2,
                title=self.title.format(scale=words),
                shows=self.shows,
                plan=partial(self._plan, figure=name, scale=scale),
                run=run_case,
                chart=partial(sweep_chart, label=self.label),
                draws=self.draws if scale == "different" else self.same_draws,
                check=check_case,
            )
            for scale, name, words in (
                ("different", self.name, "different scales"),
                ("same", f"{self.name}-same", "same scale"),
            )
            if scale in self.scales
        ]

    def _plan(self, size: Size, draws: int, figure: str, scale: str) -> list[Case]:
        common = {"scale": scale, "people": size.people, "rounds": size.rounds, "draws": draws}
        common["forms"] = self.forms and scale == "different"
        worlds = [self.values[i] for i in (0, len(self.values) // 2, -1)] if size.quick else self.values
        few = self.costly if size.draws is None and scale == "different" else {}
        return [
            Case(figure, f"{self.parameter}={x:g}", {**common, "draws": few.get(x, draws), "world": world, "x": x})
            for x, world in ((world[self.parameter], world) for world in worlds)
        ]


def check_case(case: Case, policies: Sequence[str] | Mapping[str, str | Build] = POLICIES) -> int:
    """Reject a case that is too large; return its approximate number of operations.

    A case without world settings has 5 states and 10 actions.
    """
    s = case.settings
    world = {"states": 5, "actions": 10, **s.get("world", {})}
    return check_run(
        builders_of(policies),
        states=world["states"],
        actions=world["actions"],
        people=s["people"] * world["states"],
        rounds=s["rounds"],
        draws=s["draws"],
    )


def simulate_case(
    case: Case, world: World, policies: Sequence[str] | Mapping[str, str | Build], seed: int, threads: int | None
) -> Results:
    """Simulate policies with the people, rounds and draws of a case."""
    size = {name: case.settings[name] for name in ("people", "rounds", "draws")}
    return simulate(world, policies, **size, seed=seed, threads=threads)


def run_case(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Simulate one value of the parameter; return a row per policy and draw."""
    s = case.settings
    world = SyntheticWorld(scale=s["scale"], **s["world"])
    policies = {name: build for name, build in POLICIES.items() if s["forms"] or name != INCREMENTAL}
    results = simulate_case(case, world, policies, seed, threads)
    return finals(results).with_columns(x=pl.lit(float(s["x"])), scale=pl.lit(s["scale"]))


def finals(results: Results) -> pl.DataFrame:
    """Return final regret and active constraints: mean and standard deviation over people per policy and draw."""
    active = ("active_all", "active_true", "active_other")
    groups = results.people().group_by("policy", "draw", maintain_order=True)
    return groups.agg(
        pl.col("regret", "best_share", "true_state", *active).mean(),
        pl.col("regret", *active).std().name.suffix("_sd"),
        people=pl.len(),
    )


def curves_and_finals(results: Results, ends: pl.DataFrame) -> pl.DataFrame:
    """Return curves (kind "curve") and final values per policy and draw (kind "final")."""
    tables = {"curve": results.curves(), "final": ends}
    return pl.concat([table.with_columns(kind=pl.lit(kind)) for kind, table in tables.items()], how="diagonal")


def sweep_chart(table: pl.DataFrame, label: str) -> Chart:
    """Return regret and active constraints of lpbTS side by side, with both spreads."""
    shown = table.filter(pl.col("policy").is_in(SHOWN))
    lpbts = table.filter(pl.col("policy") == "lpbts")
    parts = [
        _points(lpbts, f"active_{part}").with_columns(policy=pl.lit(name))
        for part, name in (("other", "other states"), ("all", "all states"), ("true", "true state"))
    ]
    chart = partial(line_chart, x=label, subtitle="bands: sd over people; bars: standard error over draws")
    return hstack(
        chart(_points(shown, "regret"), y="regret at the last round", title="Regret"),
        chart(pl.concat(parts), y="active constraints of lpbTS", title="Active constraints"),
    )


def _points(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return a column's mean, standard deviation over people and standard error over draws at each value."""
    groups = table.drop_nulls(column).group_by("policy", "x", maintain_order=True)
    return groups.agg(
        y=pl.col(column).mean(),
        sd=(pl.col(f"{column}_sd") ** 2).mean().sqrt(),
        se=pl.col(column).std() / pl.len().sqrt(),
    ).sort("x", maintain_order=True)


_SIZES = (5, 10, 20, 30, 40, 50)
_GAPS = (0.1, 0.2, 0.5, 1.0)

SWEEPS = (
    Sweep(
        name="vary-both",
        title="States and actions grow together, {scale}",
        shows="regret and active constraints for k = m = 5 to 50",
        parameter="actions",
        label="actions k = states m",
        values=[{"states": k, "actions": k} for k in _SIZES],
        same_draws=3,
    ),
    Sweep(
        name="vary-states",
        title="More states, 20 actions, {scale}",
        shows="regret and active constraints for m = 5 to 100 states, k = 20",
        parameter="states",
        label="states m",
        values=[{"states": m, "actions": 20} for m in (5, 10, 20, 50, 100)],
        same_draws=3,
        costly={50: 4, 100: 4},
    ),
    Sweep(
        name="vary-gap",
        title="Wider gaps, {scale}",
        shows="regret and active constraints for Δ = 0.1 to 1, k = 20, m = 10",
        parameter="gap",
        label="gap Δ",
        values=[{"states": 10, "actions": 20, "gap": gap} for gap in _GAPS],
    ),
    # The paper explains the rise of mTS by levels that spread with the gap but prints the fixed width γk. Both are run:
    # as printed above, and here with the width 2Δk (equal at Δ = 0.2).
    Sweep(
        name="vary-gap-wide",
        title="Wider gaps, and levels that spread with them",
        shows="as vary-gap, with people's levels drawn from an interval of width 2Δk instead of 0.4k",
        parameter="gap",
        label="gap Δ",
        values=[{"states": 10, "actions": 20, "gap": gap, "spread": 2 * gap} for gap in _GAPS],
        scales=("different",),
    ),
    Sweep(
        name="vary-actions",
        title="More actions, 10 states, {scale}",
        shows="regret and active constraints for k = 5 to 50 actions, m = 10",
        parameter="actions",
        label="actions k",
        values=[{"states": 10, "actions": k} for k in _SIZES],
        forms=True,
    ),
    Sweep(
        name="vary-noise",
        title="More noise, {scale}",
        shows="regret and active constraints for σ = 0.5 to 5, k = 20, m = 10",
        parameter="noise",
        label="noise σ",
        values=[{"states": 10, "actions": 20, "noise": noise} for noise in (0.5, 1.0, 2.0, 5.0)],
        scales=("different",),
    ),
)
"""All sweeps, in the order of the report."""

FIGURES = [figure for sweep in SWEEPS for figure in sweep.figures()]
