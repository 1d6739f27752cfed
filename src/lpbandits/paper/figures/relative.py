"""Relative feedback (appendix of the paper): duels, and rewards compared in pairs."""

from functools import partial

import numpy as np
import polars as pl

from lpbandits.paper.figures.sweeps import check_case, curves_and_finals, simulate_case
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.simulation import Results, simulate
from lpbandits.views.charts.base import Chart, hstack
from lpbandits.views.charts.lines import regret_chart
from lpbandits.worlds import DuellingWorld, SyntheticWorld

WORLD = SyntheticWorld(states=5, actions=10, scale="different")
DUELS = ("lpb-duel", "double-ts", "double-ts-top")
PAIRED = "lpb-paired"
COMPARISONS = {"rewards": "Noisy rewards compared", "bradley-terry": "Bradley-Terry"}


def _duel_plan(size: Size, draws: int) -> list[Case]:
    run = {"people": size.people, "rounds": size.rounds * 5 // 2, "draws": draws}
    return [Case("duels", comparison, {"comparison": comparison, **run}) for comparison in COMPARISONS]


def _run_duels(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    s = case.settings
    results = simulate_case(case, DuellingWorld(WORLD, s["comparison"]), DUELS, seed, threads)
    table = _curves_and_finals(results, _best_alone(s["people"], s["draws"], seed))
    return table.with_columns(comparison=pl.lit(s["comparison"]))


def _best_alone(people: int, draws: int, seed: int) -> list[bool]:
    """Return whether each person's best action is the best of no other state."""
    out: list[bool] = []
    for draw in range(draws):
        crowd = WORLD.draw(people=people, seed=seed, draw=draw)
        tops = crowd.model.orderings[:, 0]
        out += [bool(np.sum(tops == tops[z]) == 1) for z in crowd.truth]
    return out


def _curves_and_finals(results: Results, alone: list[bool]) -> pl.DataFrame:
    people = results.people().with_columns(pl.Series("alone", alone * len(results.policies)))
    ends = people.group_by("policy", "draw", maintain_order=True).agg(
        pl.col("regret", "true_state").mean(), true_state_alone=pl.col("true_state").filter("alone").mean()
    )
    return curves_and_finals(results, ends)


def _duel_chart(table: pl.DataFrame) -> Chart:
    chart = partial(regret_chart, along="duel", of="cumulative strong regret")
    curves = table.filter(kind="curve")
    return hstack(*(chart(curves.filter(comparison=name), title=title) for name, title in COMPARISONS.items()))


def _pairing_plan(size: Size, draws: int) -> list[Case]:
    run = {"people": size.people, "rounds": 2 * size.rounds, "draws": draws}
    return [Case("pairing", "m = 5, k = 10", run)]


def _run_pairing(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return regret by number of plays; a duel is two plays."""
    s = case.settings
    plays = s["rounds"]
    common = {"people": s["people"], "draws": s["draws"], "seed": seed, "threads": threads}
    single = simulate(WORLD, ["lpbts", PAIRED], rounds=plays, **common)
    duels = simulate(WORLD, ["lpb-duel"], rounds=plays // 2, **common)
    alone = _best_alone(s["people"], s["draws"], seed)
    halves = _curves_and_finals(duels, alone).with_columns(round=2 * pl.col("round"))
    return pl.concat([_curves_and_finals(single, alone), halves], how="diagonal")


def _pairing_chart(table: pl.DataFrame) -> Chart:
    curves = table.filter(pl.col("kind") == "curve")
    return regret_chart(curves, title="Rewards, rewards in pairs, duels: regret by plays", along="play (a duel is two)")


FIGURES = [
    Figure(
        name="duels",
        version=1,
        title="Relative feedback",
        shows="strong regret of lpb-duel and of double Thompson sampling by duel, m = 5, k = 10",
        plan=_duel_plan,
        run=_run_duels,
        chart=_duel_chart,
        draws=14,
        check=partial(check_case, policies=DUELS),
    ),
    Figure(
        name="pairing",
        version=1,
        title="Cost of comparing rewards",
        shows="regret by plays of lpbTS on rewards, on rewards in consecutive pairs, and of lpb-duel, m = 5, k = 10",
        plan=_pairing_plan,
        run=_run_pairing,
        chart=_pairing_chart,
        draws=20,
        check=partial(check_case, policies=("lpbts", PAIRED)),
    ),
]
