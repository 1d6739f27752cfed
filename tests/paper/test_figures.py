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
from lpbandits.fit.estimator import Estimator
from lpbandits.paper.figures import FIGURES, lower_bound, recovery, relative, sweeps
from lpbandits.paper.spec import FULL, Case
from lpbandits.policies import Setting
from lpbandits.policies.baselines import TS
from lpbandits.policies.evidences import Incremental, KnownMeans, Refit, Tally
from lpbandits.policies.latent import MTS, LpbTS
from lpbandits.policies.rules import Sample, Thompson
from lpbandits.simulation import Results, rollout, simulate
from lpbandits.simulation.bounds import bound_world
from lpbandits.simulation.growth import measure_growth
from lpbandits.simulation.run import Build, builders_of
from lpbandits.typing import FloatArray, Json
from lpbandits.worlds import DuellingWorld, SyntheticWorld
from tests import naive_recovery as naive

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


def test_case_names_are_unique() -> None:
    for name, figure in FIGURES.items():
        assert len({case.name for case in figure.cases(FULL)}) == len(figure.cases(FULL))
        assert {case.figure for case in figure.cases(FULL)} == {name}


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


def test_default_world_is_the_papers() -> None:
    for scale, base in (("same", 9.0), ("different", 6.0)):
        world = SyntheticWorld(scale=scale)
        assert (world.states, world.actions, world.base) == (5, 10, base)
        assert (world.gap, world.jitter, world.spread, world.noise) == (0.2, 0.05, 0.4, 1.0)


def test_sizes_of_other_figures() -> None:
    draws = {name: figure.draws for name, figure in FIGURES.items()}
    curves = {**RUN, "draws": draws["regret-curves"]}
    assert full("regret-curves") == [{"scale": s, **curves} for s in ("same", "different")]
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


def test_only_lpbts_starts_with_a_uniform_action() -> None:
    crowd = SyntheticWorld(noise=2.0).draw(people=1, seed=0)
    setting = Setting(crowd.model, crowd.rewards, 200, "prior")
    builders = builders_of({**sweeps.POLICIES, sweeps.NARROW: sweeps.narrow_ts})
    policies = {name: build(setting) for name, build in builders.items()}
    evidences = {"lpbts": Refit, "lpbts-incremental": Incremental, "mts": KnownMeans}
    for name, evidence in evidences.items():
        rule = policies[name].rule
        assert isinstance(rule, Sample)
        assert rule.first == ("prior" if name == "mts" else "uniform")
        assert isinstance(policies[name].evidence, evidence)
    priors = {"ts": (100.0, False), "ts-top": (100.0, True), "ts-narrow": (1.0, False)}
    for name, (sd, top) in priors.items():
        rule = policies[name].rule
        assert isinstance(rule, Thompson)
        assert (rule.prior_mean, rule.prior_sd, rule.top) == (0.0, sd, top)
        assert isinstance(policies[name].evidence, Tally)
    assert set(policies) == {*evidences, *priors}
    for policy in policies.values():
        assert (policy.rewards.sd, policy.rewards.noise_known) == (2.0, True)
    assert set(sweeps.SHOWN) == {"lpbts", "mts", "ts", "ts-top"}


PLAIN: dict[str, Build] = {
    "lpbts": lambda s: LpbTS(s.model, noise=s.rewards.sd, first="uniform"),
    "lpbts-incremental": lambda s: LpbTS(s.model, noise=s.rewards.sd, likelihood="incremental", first="uniform"),
    "mts": lambda s: MTS(s.model, noise=s.rewards.sd, first="prior"),
    "ts": lambda s: TS(s.model, noise=s.rewards.sd, prior_sd=100.0),
    "ts-top": lambda s: TS(s.model, noise=s.rewards.sd, prior_sd=100.0, top=True),
}
NARROW: dict[str, Build] = {"ts-narrow": lambda s: TS(s.model, noise=s.rewards.sd, prior_sd=1.0)}


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
    case = Case("vary-gap", "x", {"scale": scale, "forms": forms, **run, "world": world, "x": 0.5})
    table = FIGURES["vary-gap"].run(case, 7, 1)
    policies = {name: build for name, build in PLAIN.items() if forms or name != sweeps.INCREMENTAL}
    check_ends(table, simulate(SyntheticWorld(scale=scale, **world), policies, seed=7, **run), 2)
    assert set(table["x"]) == {0.5}
    assert set(table["scale"]) == {scale}


@pytest.mark.parametrize("scale", ["same", "different"])
def test_regret_curves_have_5_states_and_10_actions(scale: str) -> None:
    run: Json = {"people": 2, "rounds": 6, "draws": 2}
    table = FIGURES["regret-curves"].run(Case("regret-curves", scale, {"scale": scale, **run}), 7, 1)
    results = simulate(SyntheticWorld(states=5, actions=10, scale=scale), {**PLAIN, **NARROW}, seed=7, **run)
    check_ends(table.filter(kind="final"), results, 2)
    curves = results.curves()
    assert_frame_equal(table.filter(kind="curve").select(curves.columns), curves)
    assert set(table["scale"]) == {scale}


@pytest.mark.parametrize("comparison", ["rewards", "bradley-terry"])
def test_duels_equal_a_simulation(comparison: str) -> None:
    run: Json = {"people": 2, "rounds": 6, "draws": 2}
    table = FIGURES["duels"].run(Case("duels", comparison, {"comparison": comparison, **run}), 7, 1)
    inside = SyntheticWorld(states=5, actions=10, scale="different")
    results = simulate(DuellingWorld(inside, comparison), ["lpb-duel", "double-ts", "double-ts-top"], seed=7, **run)
    curves = results.curves()
    assert_frame_equal(table.filter(kind="curve").select(curves.columns), curves)
    assert tuple(results.policies) == relative.DUELS
    for row in table.filter(kind="final").iter_rows(named=True):
        people = results.policies[row["policy"]].people
        tops = inside.draw(people=2, seed=7, draw=row["draw"]).model.orderings[:, 0].tolist()
        alone = np.array([tops.count(tops[int(z)]) == 1 for z in people["state"]]) & (people["draw"] == row["draw"])
        np.testing.assert_allclose(row["regret"], people["regret"][people["draw"] == row["draw"]].mean())
        np.testing.assert_allclose(row["true_state_alone"], people["true_state"][alone].mean())


def test_duel_counts_as_two_plays() -> None:
    table = FIGURES["pairing"].run(Case("pairing", "", {"people": 2, "rounds": 8, "draws": 2}), 7, 1)
    world = SyntheticWorld(states=5, actions=10, scale="different")
    single = simulate(world, ["lpbts", "lpb-paired"], people=2, rounds=8, draws=2, seed=7)
    duels = simulate(world, ["lpb-duel"], people=2, rounds=4, draws=2, seed=7)
    curves = table.filter(kind="curve")
    for results, name, rounds in ((single, "lpbts", 8), (single, "lpb-paired", 8), (duels, "lpb-duel", 4)):
        curve = curves.filter(policy=name)
        assert curve["round"].to_list() == list(range(8 // rounds, 9, 8 // rounds))
        np.testing.assert_array_equal(curve["regret"], results.policies[name].regret.mean)


@pytest.mark.parametrize(("axis", "x"), [("size", 4), ("states", 3), ("gap", 0.5)])
def test_bounds_equal_those_of_the_world(axis: str, x: float) -> None:
    run: Json = {"people": 3, "rounds": 40, "repeats": 2}
    table = FIGURES[f"bound-{axis}"].run(Case(f"bound-{axis}", "", {"axis": axis, "x": x, **run}), 7, 1)
    changed: Json = {"size": {"states": 4, "actions": 4}, "states": {"states": 3}, "gap": {"gap": 0.5}}
    settings: Json = {"states": 20, "actions": 20, "scale": "same", **changed[axis]}
    world = SyntheticWorld(**settings)
    people = bound_world(world, seed=7, policies=lower_bound.POLICIES, threads=1, **run).people
    expected = {
        "bound-plain": [person.plain for person in people],
        "bound-preference": [person.preference.value for person in people],
        **{name: [person.growth[name] for person in people] for name in ("lpbts", "ts-top", "ts")},
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
    case = Case("recovery", "", {"log": log, "scale": "different", "people": 8, "draws": 1})
    table = FIGURES["recovery"].run(case, 7, 1)
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
    regret = next(row for row in rows if row.get("policy") == "lpbTS" or "sd" in row)
    assert (regret["y"], regret["sd"]) == (3.0, 65.0**0.5)
    np.testing.assert_allclose(regret["se"], 2.0)
    parts = {
        row["policy"]: (row["y"], row["se"]) for row in rows if str(row.get("policy")).endswith(("state", "states"))
    }
    assert set(parts) == {"other states", "all states", "true state"}
    np.testing.assert_allclose(list(parts.values()), [(2.0, 1.0)] * 3)


def test_numbers_of_draws() -> None:
    draws = {name: figure.draws for name, figure in FIGURES.items() if figure.data is None and name != "simplex"}
    assert draws == {
        "regret-curves": 48,
        "vary-both": 10,
        "vary-both-same": 3,
        "vary-states": 10,
        "vary-states-same": 3,
        "vary-gap": 10,
        "vary-gap-same": 5,
        "vary-gap-wide": 10,
        "vary-actions": 10,
        "vary-actions-same": 5,
        "vary-noise": 10,
        "bound-size": 16,
        "bound-states": 8,
        "bound-gap": 8,
        "duels": 14,
        "pairing": 20,
        "recovery": 4,
        "looseness": 10,
        "ladder-sizes": 10,
        "ladder-gaps": 48,
        "ladder-assumed-noise": 20,
        "ladder-swaps": 20,
        "ladder-errors": 20,
        "ladder-tails": 20,
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
