"""The ladder: policies with decreasing knowledge, in worlds that violate the paper's assumptions.

There is one figure per violated assumption, on different scales. A row of its table is one policy in one draw: the
mean, the 95 % quantile and the 99 % quantile of regret over people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from lpbandits.paper.figures.sweeps import check_case, expanded, simulate_case
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.simulation import Results
from lpbandits.simulation.run import Build
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.ratios import ratio_chart
from lpbandits.worlds import SyntheticWorld

BASE, MARGINAL = "lpbts", "lpbts-marginal"
LADDER: dict[str, str | Build] = {
    "mts": "mts",
    "lpb-utility": "lpb-utility",
    "lpb-ids": "lpb-ids",
    MARGINAL: partial(expanded, MARGINAL),
    BASE: partial(expanded, BASE),
    "ts-top": "ts-top",
    "ts": "ts",
}
"""Policies by decreasing knowledge; charts compare them with lpbTS."""
MEASURES = {"regret": "Mean", "regret_q95": "95 % quantile", "regret_q99": "99 % quantile"}

SMALL, MIDDLE, LARGE = (f"m = {m}, k = {k}" for m, k in ((5, 10), (10, 20), (20, 20)))
SIZES: dict[str, Json] = {
    SMALL: {"states": 5, "actions": 10},
    MIDDLE: {"states": 10, "actions": 20},
    LARGE: {"states": 20, "actions": 20},
}
FAMILIES = ("paper", "exponential", "cliff", "steps")
ASSUMED = (0.25, 0.5, 1.0, 2.0, 4.0)
SWAPS = (0.0, 0.1, 0.3)
ERRORS = (0.0, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True)
class Violation:
    """A figure for one violated assumption: `worlds` holds settings of the world by size and name.

    Each size is a row of panels. The marginal form of lpbTS takes a hundred times as long as the others: with it, the
    number of people per draw is that of 5 states for any number of states.
    """

    name: str
    title: str
    shows: str
    label: str
    worlds: Mapping[str, Mapping[str, Json]]
    draws: int = 20
    marginal: bool = False

    def figure(self) -> Figure:
        """Return the figure."""
        return Figure(
            name=self.name,
            version=1,
            title=f"The ladder: {self.title}",
            shows="mean and quantiles of regret of policies that know more or less than lpbTS, relative to lpbTS: "
            + self.shows,
            plan=self._plan,
            run=run_case,
            chart=partial(ladder_chart, label=self.label),
            draws=self.draws,
            group="beyond",
            check=partial(check_case, policies=_policies(self.marginal)),
        )

    def _plan(self, size: Size, draws: int) -> list[Case]:
        common = {"rounds": size.rounds, "draws": draws, "marginal": self.marginal}
        cases = []
        for row, worlds in self.worlds.items():
            for setting, world in worlds.items():
                people = max(5 * size.people // world["states"], 1) if self.marginal else size.people
                named = {"world": world, "size": row, "setting": setting, "people": people}
                cases.append(Case(self.name, ", ".join(filter(None, (row, setting))), {**named, **common}))
        return cases


def run_case(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Simulate one setting; return a row per policy and draw."""
    s = case.settings
    world = SyntheticWorld(scale="different", **s["world"])
    results = simulate_case(case, world, _policies(s["marginal"]), seed, threads)
    return spread_of(results).with_columns(size=pl.lit(s["size"]), setting=pl.lit(s["setting"]))


def spread_of(results: Results) -> pl.DataFrame:
    """Return the mean and quantiles of regret over people, per policy and draw."""
    regret = pl.col("regret")
    quantiles = {f"regret_q{q}": regret.quantile(q / 100, "linear") for q in (95, 99)}
    groups = results.people().group_by("policy", "draw", maintain_order=True)
    return groups.agg(regret.mean(), people=pl.len(), **quantiles)


def _policies(marginal: bool) -> dict[str, str | Build]:
    return {name: build for name, build in LADDER.items() if marginal or name != MARGINAL}


def ladder_chart(table: pl.DataFrame, label: str) -> Chart:
    """Return panels of the mean and quantiles of regret, as ratios to lpbTS; each size is a row."""
    ratios = ratios_of(table)
    ends = (float(np.min(ratios["value"].to_numpy())) / 1.2, float(np.max(ratios["value"].to_numpy())) * 1.2)
    panels = [
        ratio_chart(
            ratios.filter(size=size, measure=measure),
            x=label,
            y="regret / regret of lpbTS",
            title=", ".join(filter(None, (words, size))),
            subtitle=f"lpbTS: {_levels(ratios.filter(size=size, measure=measure))}; bars: standard error",
            ends=ends,
        )
        for size in table["size"].unique(maintain_order=True).to_list()
        for measure, words in MEASURES.items()
    ]
    return grid(panels, columns=len(MEASURES))


def _levels(ratios: pl.DataFrame) -> str:
    """Return the regret of lpbTS in each setting as text."""
    return ", ".join(f"{level:.0f}" for level in ratios.filter(policy=BASE)["level"].to_list())


def ratios_of(table: pl.DataFrame) -> pl.DataFrame:
    """Return ratios to lpbTS, paired within draws: geometric means over draws ± one standard error.

    Draws in which either regret is 0 are dropped. `level` is the mean of the measure over draws.
    """
    keys = ["size", "setting", "draw"]
    long = table.unpivot(list(MEASURES), index=[*keys, "policy"], variable_name="measure", value_name="level")
    base = long.filter(policy=BASE).select(*keys, "measure", base="level")
    logs = long.join(base, on=[*keys, "measure"], maintain_order="left").with_columns(
        log=(pl.col("level") / pl.col("base")).log()
    )
    groups = logs.filter(pl.col("log").is_finite()).group_by(
        "size", "setting", "measure", "policy", maintain_order=True
    )
    summary = groups.agg(
        mean=pl.col("log").mean(),
        error=(pl.col("log").std() / pl.len().sqrt()).fill_null(0.0),
        level=pl.col("level").mean(),
    )
    mean, error = pl.col("mean"), pl.col("error")
    return summary.with_columns(value=mean.exp(), low=(mean - error).exp(), high=(mean + error).exp())


def _at(size: str, **settings: Mapping[str, object]) -> dict[str, dict[str, Json]]:
    """Return worlds of one size with one varied setting."""
    ((parameter, values),) = settings.items()
    return {size: {name: {**SIZES[size], parameter: value} for name, value in values.items()}}


_GAPS = {name: name for name in FAMILIES}

VIOLATIONS = (
    Violation(
        name="ladder-sizes",
        title="more states and actions",
        shows="three sizes",
        label="states m, actions k",
        worlds={"": SIZES},
        draws=10,
        marginal=True,
    ),
    Violation(
        name="ladder-gaps",
        title="other gaps between means",
        shows="gaps between means that are not the paper's",
        label="gaps",
        worlds=_at(SMALL, gaps=_GAPS) | _at(MIDDLE, gaps=_GAPS),
        draws=48,
    ),
    Violation(
        name="ladder-assumed-noise",
        title="wrong noise",
        shows="assumed noise of a quarter to four times the true noise",
        label="assumed noise / true noise",
        worlds=_at(MIDDLE, assumed_noise={f"{noise:g}": noise for noise in ASSUMED}),
    ),
    Violation(
        name="ladder-swaps",
        title="people who deviate from their state's ordering",
        shows="neighbours in a person's own ordering swapped",
        label="probability of a swap",
        worlds=_at(MIDDLE, swap={f"{swap:g}": swap for swap in SWAPS}),
    ),
    Violation(
        name="ladder-errors",
        title="wrong orderings",
        shows="models with wrong orderings",
        label="error of the orderings, 1 − τ",
        worlds=_at(MIDDLE, model_error={f"{error:g}": error for error in ERRORS}),
    ),
    Violation(
        name="ladder-tails",
        title="heavy tails",
        shows="Student's t noise (4 degrees of freedom) with the same standard deviation",
        label="noise",
        worlds=_at(MIDDLE, noise_family={"normal": "normal", "student": "student"}),
    ),
)
"""Figures of the ladder, in the order of the report."""

FIGURES = [violation.figure() for violation in VIOLATIONS]
