"""Settings of all figures (people, rounds, draws, grids, worlds, policies), and the tables of their cases."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from lpbandits.data import Ratings
from lpbandits.fit import Em, TwoStage, fit_states, match_orderings
from lpbandits.fit.methods.estimator import Estimator
from lpbandits.paper.figures import FIGURES, curves, lower_bound, recovery, sweeps
from lpbandits.paper.spec import FULL
from lpbandits.policies import Setting
from lpbandits.policies.baselines import TS
from lpbandits.policies.rules import Thompson
from lpbandits.simulation import Results, rollout, simulate
from lpbandits.simulation.bounds import bound_world, measure_growth
from lpbandits.simulation.run import builders_of
from lpbandits.typing import FloatArray, Json
from lpbandits.worlds import DuellingWorld, SyntheticWorld
from tests import naive_recovery as naive
from tests.paper.conftest import plain

RUN = {"people": 50, "rounds": 200}
SIZES = (5, 10, 20, 30, 40, 50)
GAPS = (0.1, 0.2, 0.5, 1.0)
GRIDS: dict[str, list[dict[str, float]]] = {
    "vary-both": [{"states": k, "actions": k} for k in SIZES],
    "vary-states": [{"states": m, "actions": 20} for m in (5, 10, 20, 50, 100)],
    "vary-gap": [{"states": 10, "actions": 20, "gap": gap} for gap in GAPS],
    "vary-actions": [{"states": 10, "actions": k} for k in SIZES],
}
ONE_SCALE: dict[str, list[dict[str, float]]] = {
    "vary-gap-wide": [{"states": 10, "actions": 20, "gap": gap, "spread": 2 * gap} for gap in GAPS],
    "vary-noise": [{"states": 10, "actions": 20, "noise": noise} for noise in (0.5, 1.0, 2.0, 5.0)],
}


def full(name: str) -> list[dict[str, Any]]:
    return [dict(case.settings) for case in FIGURES[name].cases(FULL)]


@pytest.mark.parametrize("scale", ["different", "same"])
def test_sweeps_have_the_papers_grids(scale: str) -> None:
    grids = GRIDS | ONE_SCALE if scale == "different" else GRIDS
    for name, worlds in grids.items():
        figure = name if scale == "different" else f"{name}-same"
        cases = full(figure)
        assert [case["world"] for case in cases] == worlds
        parameter = {"vary-both": "actions", "vary-gap-wide": "gap"}.get(name, name.removeprefix("vary-"))
        assert [case["x"] for case in cases] == [world[parameter] for world in worlds]
        assert all({**case, "scale": scale, **RUN} == case for case in cases)
    assert {name for name in FIGURES if name.startswith("vary")} == {*GRIDS, *(f"{n}-same" for n in GRIDS), *ONE_SCALE}


@pytest.mark.parametrize(("scale", "base"), [("same", 9.0), ("different", 6.0)])
def test_default_world_is_the_papers(scale: str, base: float) -> None:
    world = SyntheticWorld(scale=scale)
    assert (world.states, world.actions, world.base) == (5, 10, base)
    assert (world.gap, world.jitter, world.spread, world.noise) == (0.2, 0.05, 0.4, 1.0)


def test_sizes_of_other_figures() -> None:
    draws = {name: figure.draws for name, figure in FIGURES.items()}
    run = {**RUN, "draws": draws["regret-curves"]}
    assert full("regret-curves") == [{"scale": s, **run} for s in ("same", "different")]
    duels = {"people": 50, "rounds": 500, "draws": draws["duels"]}
    assert full("duels") == [{"comparison": c, **duels} for c in ("rewards", "bradley-terry")]
    assert full("pairing") == [{"people": 50, "rounds": 400, "draws": draws["pairing"]}]
    for axis, values in (("size", (5, 10, 20, 30, 50)), ("states", (5, 10, 20, 50)), ("gap", GAPS)):
        run = {"people": draws[f"bound-{axis}"], "rounds": 20_000, "repeats": 5}
        assert full(f"bound-{axis}") == [{"axis": axis, "x": x, **run} for x in values]
    assert full("recovery") == [
        {"log": log, "scale": scale, "people": people, "draws": draws["recovery"]}
        for log in ("complete", "incomplete")
        for scale in ("same", "different")
        for people in (10, 40, 160)
    ]
    assert recovery.LOGS == {"complete": 10, "incomplete": 6}
    assert (recovery.ACTIONS, recovery.STATES) == (10, 5)


SWEPT = ("lpbts", "lpbts-incremental", "mts", "ts", "ts-top")


def check_ends(table: pl.DataFrame, results: Results, draws: int) -> None:
    """Check that each policy and draw has a row with the means and standard deviations over the people of the draw."""
    assert table.select("policy", "draw").rows() == [(name, d) for name in results.policies for d in range(draws)]
    for row in table.iter_rows(named=True):
        people = results.policies[row["policy"]].people
        of_draw = people["draw"] == row["draw"]
        assert row["people"] == of_draw.sum()
        for column in ("regret", "best_share", "true_state", "active_all", "active_true", "active_other"):
            np.testing.assert_allclose(row[column], people[column][of_draw].mean(), err_msg=column)
        np.testing.assert_allclose(row["regret_sd"], people["regret"][of_draw].std(ddof=1))
        np.testing.assert_allclose(row["active_all_sd"], people["active_all"][of_draw].std(ddof=1))


@pytest.mark.parametrize(
    ("scale", "forms", "world"),
    [
        ("same", False, {"states": 2, "actions": 3, "noise": 2.0}),
        ("different", True, {"states": 3, "actions": 4, "gap": 0.5, "spread": 1.0}),
        ("different", False, {"states": 2, "actions": 3, "noise": 2.0}),
    ],
)
def test_sweep_equals_a_simulation(scale: str, forms: bool, world: dict[str, Any]) -> None:
    run: Json = {"people": 3, "rounds": 8, "draws": 2}
    table = FIGURES["vary-gap"].run({"scale": scale, "forms": forms, **run, "world": world, "x": 0.5}, 7, 1)
    policies = plain(*(name for name in SWEPT if forms or name != "lpbts-incremental"))
    check_ends(table, simulate(SyntheticWorld(scale=scale, **world), policies, seed=7, **run), 2)
    assert set(table["x"]) == {0.5}
    assert set(table["scale"]) == {scale}


@pytest.mark.parametrize("scale", ["same", "different"])
def test_regret_curves_have_5_states_and_10_actions(scale: str) -> None:
    run: Json = {"people": 2, "rounds": 6, "draws": 2}
    table = FIGURES["regret-curves"].run({"scale": scale, **run}, 7, 1)
    results = simulate(SyntheticWorld(states=5, actions=10, scale=scale), plain(*SWEPT, "ts-narrow"), seed=7, **run)
    check_ends(table.filter(kind="final"), results, 2)
    by_round = results.curves()
    assert_frame_equal(table.filter(kind="curve").select(by_round.columns), by_round)
    assert set(table["scale"]) == {scale}


@pytest.mark.parametrize("comparison", ["rewards", "bradley-terry"])
def test_duels_equal_a_simulation(comparison: str) -> None:
    run: Json = {"people": 2, "rounds": 6, "draws": 2}
    table = FIGURES["duels"].run({"comparison": comparison, **run}, 7, 1)
    inside = SyntheticWorld(states=5, actions=10, scale="different")
    results = simulate(DuellingWorld(inside, comparison), ["lpb-duel", "double-ts", "double-ts-top"], seed=7, **run)
    by_round = results.curves()
    assert_frame_equal(table.filter(kind="curve").select(by_round.columns), by_round)
    assert tuple(results.policies) == curves.DUELS
    for row in table.filter(kind="final").iter_rows(named=True):
        people = results.policies[row["policy"]].people
        tops = inside.draw(people=2, seed=7, draw=row["draw"]).model.orderings[:, 0].tolist()
        alone = np.array([tops.count(tops[int(z)]) == 1 for z in people["state"]]) & (people["draw"] == row["draw"])
        np.testing.assert_allclose(row["regret"], people["regret"][people["draw"] == row["draw"]].mean())
        np.testing.assert_allclose(row["true_state_alone"], people["true_state"][alone].mean())


def test_duel_counts_as_two_plays() -> None:
    table = FIGURES["pairing"].run({"people": 2, "rounds": 8, "draws": 2}, 7, 1)
    world = SyntheticWorld(states=5, actions=10, scale="different")
    single = simulate(world, ["lpbts", "lpb-paired"], people=2, rounds=8, draws=2, seed=7)
    duels = simulate(world, ["lpb-duel"], people=2, rounds=4, draws=2, seed=7)
    for results, name, rounds in ((single, "lpbts", 8), (single, "lpb-paired", 8), (duels, "lpb-duel", 4)):
        curve = table.filter(kind="curve", policy=name)
        assert curve["round"].to_list() == list(range(8 // rounds, 9, 8 // rounds))
        np.testing.assert_array_equal(curve["regret"], results.policies[name].regret.mean)


@pytest.mark.parametrize(("axis", "x"), [("size", 4), ("states", 3), ("gap", 0.5)])
def test_bounds_equal_those_of_the_world(axis: str, x: float) -> None:
    run: Json = {"people": 3, "rounds": 40, "repeats": 2}
    table = FIGURES[f"bound-{axis}"].run({"axis": axis, "x": x, **run}, 7, 1)
    changed: Json = {"size": {"states": 4, "actions": 4}, "states": {"states": 3}, "gap": {"gap": 0.5}}
    settings: Json = {"states": 20, "actions": 20, "scale": "same", **changed[axis]}
    world = SyntheticWorld(**settings)
    bounds = bound_world(world, seed=7, policies=lower_bound.POLICIES, threads=1, **run)
    expected = {
        "bound-plain": bounds.column("plain"),
        "bound-preference": [person.preference.value for person in bounds.people],
        **{name: bounds.growth[name] for name in ("lpbts", "ts-top", "ts")},
    }
    assert set(table["policy"]) == set(expected)
    for name, values in expected.items():
        rows = table.filter(policy=name)
        assert rows["draw"].to_list() == [0, 1, 2]
        np.testing.assert_array_equal(rows["value"], values)
    assert set(table["x"]) == {float(x)}


@pytest.mark.parametrize(("log", "rated"), [("complete", 10), ("incomplete", 6)])
def test_recovery_compares_three_methods_on_the_same_log(log: str, rated: int, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = []
    original = recovery._log

    def spy(means: FloatArray, *args: Any) -> Ratings:
        logs.append((means, original(means, *args)))
        return logs[-1][1]

    monkeypatch.setattr(recovery, "_log", spy)
    table = FIGURES["recovery"].run({"log": log, "scale": "different", "people": 8, "draws": 1}, 7, 1)
    crowd = SyntheticWorld(states=5, actions=10, scale="different").draw(people=8, seed=7)
    ((means, ratings),) = logs
    np.testing.assert_array_equal(means, crowd.means)
    assert ratings.counts.tolist() == [rated] * 40
    noise = ratings.rating - means[ratings.owner, ratings.action]
    assert np.var(noise) == pytest.approx(1.0, abs=4 * np.sqrt(2 / len(noise)))  # 4 se
    estimators: dict[str, Estimator] = {
        "two-stage": TwoStage(scale="raw", shrink=False, seed=7),
        "two-stage-cosine": TwoStage(scale="cosine", shrink=False, seed=7),
        "em": Em(scale="raw", shrink=False, seed=7),
    }
    assert table["method"].to_list() == list(estimators)
    for (method, estimator), row in zip(estimators.items(), table.iter_rows(named=True), strict=True):
        model = fit_states(ratings, estimator, states=5, heldout=0, taste=False).model
        order = match_orderings(crowd.model, model).assignment
        pairs = zip(crowd.model.orderings, model.orderings[order], strict=True)
        error = np.mean([naive.kendall_loss(one, other) for one, other in pairs])
        np.testing.assert_allclose(row["error"], error, err_msg=method)
        assert (row["people"], row["log"], row["scale"], row["draw"]) == (40, log, "different", 0)


def test_priors_of_thompson_sampling() -> None:
    crowd = SyntheticWorld(noise=2.0).draw(people=1, seed=0)
    builders = builders_of({**sweeps.POLICIES, sweeps.NARROW: sweeps.narrow_ts})
    for name, (sd, top) in {"ts": (100.0, False), "ts-top": (100.0, True), "ts-narrow": (1.0, False)}.items():
        policy = builders[name](Setting(crowd.model, crowd.rewards))
        assert isinstance(policy.rule, Thompson)
        assert (policy.rule.prior_mean, policy.rule.prior_sd, policy.rule.top) == (0.0, sd, top)
        assert policy.rewards.sd == 2.0


def test_growth_is_measured_from_a_tenth_of_the_rounds() -> None:
    crowds = [SyntheticWorld(states=2, actions=3).draw(people=2, seed=7, draw=draw) for draw in range(2)]
    growth = measure_growth(crowds, ["ts"], rounds=100, seed=7)["ts"]
    for i, crowd in enumerate(crowds):
        total = rollout(TS(crowd.model, noise=1.0), crowd, rounds=100, seed=7, first_person=4 * i).regret.sum(axis=1)
        early = rollout(TS(crowd.model, noise=1.0), crowd, rounds=10, seed=7, first_person=4 * i).regret.sum(axis=1)
        np.testing.assert_allclose(growth[i], (total - early).mean() / np.log(10))


def test_chart_of_a_sweep_has_standard_errors_over_draws() -> None:
    active = {f"active_{part}": [1.0, 3.0] for part in ("all", "true", "other")}
    active |= {f"{name}_sd": [0.5, 0.5] for name in active}
    table = pl.DataFrame({"policy": "lpbts", "x": 5.0, "regret": [1.0, 5.0], "regret_sd": [7.0, 9.0], **active})
    rows = [row for data in sweeps.sweep_chart(table, "k").to_dict()["datasets"].values() for row in data]
    regret = next(row for row in rows if row["name"] == "lpbTS")
    assert (regret["y"], regret["band"]) == (3.0, 65.0**0.5)
    np.testing.assert_allclose(regret["se"], 2.0)
    parts = {row["name"]: (row["y"], row["se"]) for row in rows if "state" in row["name"] and "se" in row}
    assert set(parts) == {"other states", "all states", "true state"}
    np.testing.assert_allclose(list(parts.values()), [(2.0, 1.0)] * 3)


def test_numbers_of_draws() -> None:
    named: dict[int, set[str]] = {}
    for name, figure in FIGURES.items():
        named.setdefault(figure.draws, set()).add(name)
    assert named == {
        3: {"vary-both-same", "vary-states-same"},
        4: {"recovery"},
        5: {"simplex", "vary-gap-same", "vary-actions-same"},
        8: {"bound-states", "bound-gap"},
        10: {*GRIDS, *ONE_SCALE, "looseness", "ladder-sizes", "ladder-rounds"},
        14: {"duels"},
        16: {"bound-size"},
        20: {
            *("pairing", "first-rounds"),
            *(f"ladder-{what}" for what in ("assumed-noise", "swaps", "errors", "tails")),
        },
        28: {f"movielens-{dataset}" for dataset in ("1m", "20m", "32m")},
        48: {"regret-curves", "ladder-gaps"},
    }
    states = [(case.settings["x"], case.settings["draws"]) for case in FIGURES["vary-states"].cases(FULL)]
    assert states == [(5, 10), (10, 10), (20, 10), (50, 4), (100, 4)]
    assert {case.settings["draws"] for case in FIGURES["vary-states"].cases(replace(FULL, draws=7))} == {7}


def test_documents_state_the_numbers_of_draws() -> None:
    cases = [case.settings for figure in FIGURES.values() for case in figure.cases(FULL)]
    draws = [case["draws"] for case in cases if "draws" in case]
    words = f"{min(draws)} to {max(draws)}"
    root = Path(__file__).parents[2]
    pages = ("docs/reproduction.md", "docs/adr/0015-verdicts.md", "docs/commands/reproduce.md")
    for page in (*pages, "src/lpbandits/cli/reproduce.py"):
        assert words in (root / page).read_text(), page
    movielens = FIGURES["movielens-1m"]
    learned = sum(case.settings["recovered"] for case in movielens.cases(FULL))
    assert f"{movielens.draws} splits, models recovered in the first {learned}" in (root / pages[0]).read_text()
