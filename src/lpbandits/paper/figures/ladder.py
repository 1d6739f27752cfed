"""The ladder: policies that are told less and less, where what they are told is true and where it is not.

A figure per assumption that is broken, on different scales. A row is one policy in one draw: the mean of its people's
regret, and the 95 % and 99 % quantiles, what the worst served lose at least.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from lpbandits.paper.figures.sweeps import check_case, expanded
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.simulation import Results, simulate
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
"""The policies, from the one that is told most to the one that is told nothing; charts compare them with lpbTS."""
MEASURES = {"regret": "Mean", "regret_q95": "95 % quantile", "regret_q99": "99 % quantile"}

SMALL, MIDDLE, LARGE = (f"m = {m}, k = {k}" for m, k in ((5, 10), (10, 20), (20, 20)))
SIZES: dict[str, Json] = {
    SMALL: {"states": 5, "actions": 10},
    MIDDLE: {"states": 10, "actions": 20},
    LARGE: {"states": 20, "actions": 20},
}
FAMILIES = ("paper", "exponential", "cliff", "steps")
TOLD = (0.25, 0.5, 1.0, 2.0, 4.0)
SWAPS = (0.0, 0.1, 0.3)
ERRORS = (0.0, 0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True)
class Broken:
    """One assumption broken: `worlds` are settings of the world by name, for each size; a size is a row of panels.

    The marginal form of lpbTS takes a hundred times as long as the others: a figure that has it meets about as many
    people a draw as 5 states have, whatever the states.
    """

    name: str
    title: str
    shows: str
    label: str
    worlds: Mapping[str, Mapping[str, Json]]
    draws: int = 20
    marginal: bool = False

    def figure(self) -> Figure:
        """Return its figure."""
        return Figure(
            name=self.name,
            version=1,
            title=self.title,
            shows=self.shows,
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
    results = simulate(
        SyntheticWorld(scale="different", **s["world"]),
        _policies(s["marginal"]),
        people=s["people"],
        rounds=s["rounds"],
        draws=s["draws"],
        seed=seed,
        threads=threads,
    )
    return spread_of(results).with_columns(size=pl.lit(s["size"]), setting=pl.lit(s["setting"]))


def spread_of(results: Results) -> pl.DataFrame:
    """Return a row per policy and draw: mean and quantiles of regret over the draw's people."""
    regret = pl.col("regret")
    quantiles = {f"regret_q{q}": regret.quantile(q / 100, "linear") for q in (95, 99)}
    groups = results.people().group_by("policy", "draw", maintain_order=True)
    return groups.agg(regret.mean(), people=pl.len(), **quantiles)


def _policies(marginal: bool) -> dict[str, str | Build]:
    return {name: build for name, build in LADDER.items() if marginal or name != MARGINAL}


def ladder_chart(table: pl.DataFrame, label: str) -> Chart:
    """Return a row of panels per size: mean and quantiles of regret, as ratios to those of lpbTS."""
    found = ratios_of(table)
    ends = (float(np.min(found["value"].to_numpy())) / 1.2, float(np.max(found["value"].to_numpy())) * 1.2)
    panels = [
        ratio_chart(
            found.filter(size=size, measure=measure),
            x=label,
            y="regret / that of lpbTS",
            title=", ".join(filter(None, (words, size))),
            subtitle=f"lpbTS: {_levels(found.filter(size=size, measure=measure, policy=BASE))}; bars: error over draws",
            ends=ends,
        )
        for size in table["size"].unique(maintain_order=True).to_list()
        for measure, words in MEASURES.items()
    ]
    return grid(panels, columns=len(MEASURES))


def _levels(found: pl.DataFrame) -> str:
    """Return what a policy loses from setting to setting, in words."""
    return ", ".join(f"{level:.0f}" for level in found["level"].to_list())


def ratios_of(table: pl.DataFrame) -> pl.DataFrame:
    """Return each measure as a ratio to lpbTS's of the same draw: the geometric mean over draws ± one error.

    Draws in which either is 0 have no ratio. `level` is the measure itself, on average over draws.
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
    found = groups.agg(
        mean=pl.col("log").mean(),
        error=(pl.col("log").std() / pl.len().sqrt()).fill_null(0.0),
        level=pl.col("level").mean(),
    )
    mean, error = pl.col("mean"), pl.col("error")
    return found.with_columns(value=mean.exp(), low=(mean - error).exp(), high=(mean + error).exp())


def _at(size: str, **settings: Mapping[str, object]) -> dict[str, dict[str, Json]]:
    """Return the worlds of one size, one setting of the world varied."""
    ((parameter, values),) = settings.items()
    return {size: {name: {**SIZES[size], parameter: value} for name, value in values.items()}}


_SHOWS = "regret, mean and quantiles, of policies that know more or less than lpbTS, relative to it"

BROKEN = (
    Broken(
        name="ladder-sizes",
        title="The ladder: more states and actions",
        shows=f"{_SHOWS}: three sizes",
        label="states m, actions k",
        worlds={"": {name: dict(world) for name, world in SIZES.items()}},
        draws=10,
        marginal=True,
    ),
    Broken(
        name="ladder-gaps",
        title="The ladder: other gaps between means",
        shows=f"{_SHOWS}: gaps between means that are not the paper's",
        label="gaps",
        worlds=_at(SMALL, gaps={name: name for name in FAMILIES}) | _at(MIDDLE, gaps={name: name for name in FAMILIES}),
        draws=48,
    ),
    Broken(
        name="ladder-assumed-noise",
        title="The ladder: told another noise than there is",
        shows=f"{_SHOWS}: told a quarter to four times the noise",
        label="told noise / true noise",
        worlds=_at(MIDDLE, assumed_noise={f"{told:g}": told for told in TOLD}),
    ),
    Broken(
        name="ladder-swaps",
        title="The ladder: people who leave their state's ordering",
        shows=f"{_SHOWS}: neighbours in a person's own ordering swapped",
        label="chance of a swap",
        worlds=_at(MIDDLE, swap={f"{swap:g}": swap for swap in SWAPS}),
    ),
    Broken(
        name="ladder-errors",
        title="The ladder: told wrong orderings",
        shows=f"{_SHOWS}: told orderings that are not the people's",
        label="error of the orderings, 1 − τ",
        worlds=_at(MIDDLE, model_error={f"{error:g}": error for error in ERRORS}),
    ),
    Broken(
        name="ladder-tails",
        title="The ladder: heavy tails",
        shows=f"{_SHOWS}: noise with Student's tails (4 degrees of freedom) and the same sd",
        label="noise",
        worlds=_at(MIDDLE, noise_family={"normal": "normal", "student": "student"}),
    ),
)
"""Every assumption that is broken, in the order of the report."""

FIGURES = [broken.figure() for broken in BROKEN]
