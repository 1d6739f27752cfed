"""Results of a simulation: recomputed from its people and rounds, as JSON and as files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.policies import Setting, make_policy
from lpbandits.simulation import Results, rollout, simulate
from lpbandits.typing import FloatArray
from lpbandits.views.tables import comparison, comparison_note, described
from lpbandits.worlds import SyntheticWorld
from tests.conftest import ANYWHERE

WORLD = SyntheticWorld(states=3, actions=5, scale="different")
ROUNDS = 25


@pytest.fixture(scope="module", params=[1, 4], ids=["one-draw", "four-draws"])
def results(request: pytest.FixtureRequest) -> Results:
    return simulate(WORLD, ANYWHERE, people=6, rounds=ROUNDS, draws=request.param, seed=1)


def last_regret(results: Results, name: str) -> FloatArray:
    return results.people().filter(pl.col("policy") == name)["regret"].to_numpy()


def standard_error(results: Results, values: FloatArray) -> float:
    """Return the standard error over people; over draws if there are several, as their people share orderings."""
    draws = results.settings["draws"]
    units = values if draws == 1 else values.reshape(draws, -1).mean(axis=1)
    return float(units.std(ddof=1) / np.sqrt(len(units)))


def strict(content: Any) -> Any:
    """Return the content after a round trip through JSON without NaN."""
    return json.loads(json.dumps(content, allow_nan=False))


def test_json_content(results: Results) -> None:
    content = strict(results.to_dict())
    assert set(content) == {"settings", "policies", "differences", "seconds"}
    assert content["seconds"] > 0
    assert list(content["policies"]) == ANYWHERE
    for summary in content["policies"].values():
        assert set(summary) >= {"regret", "curve", "best_share", "true_state", "active"}
        assert set(summary["regret"]) == {"mean", "sd", "se", "p05", "p50", "p95"}
        assert set(summary["active"]) == {"all", "true", "other"}
        assert len(summary["curve"]) == ROUNDS
        assert summary["curve"][-1] == summary["regret"]["mean"]
        assert np.all(np.diff(summary["curve"]) >= 0)
        assert 0 <= summary["best_share"] <= 1


def test_summaries_equal_those_of_the_table(results: Results) -> None:
    for name in ANYWHERE:
        regret = last_regret(results, name)
        summary = results[name].to_dict()["regret"]
        np.testing.assert_allclose(summary["mean"], np.mean(regret))
        np.testing.assert_allclose(summary["sd"], np.std(regret, ddof=1))
        np.testing.assert_allclose(summary["se"], standard_error(results, regret))
        for key, share in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95)):
            np.testing.assert_allclose(summary[key], np.quantile(regret, share))


def test_difference_is_paired_by_person(results: Results) -> None:
    gap = last_regret(results, "lpbts") - last_regret(results, "ts")
    error = standard_error(results, gap)
    np.testing.assert_allclose(results.difference("lpbts", "ts"), (gap.mean(), error))
    np.testing.assert_allclose(results.difference("ts", "lpbts"), (-gap.mean(), error))


def test_differences_have_t_intervals_over_draws_or_people(results: Results) -> None:
    gap = last_regret(results, "ts") - last_regret(results, ANYWHERE[0])
    several = results.settings["draws"] > 1
    units = gap.reshape(results.settings["draws"], -1).mean(axis=1) if several else gap
    freedom = np.count_nonzero(units) - 1  # people without a difference do not tell how large it is
    half = stats.t.ppf(0.975, freedom) * units.std(ddof=1) / np.sqrt(len(units))
    found = results.differences()["ts"]
    wanted = [gap.mean(), gap.mean() - half, gap.mean() + half]
    np.testing.assert_allclose([found.mean, found.low or 0.0, found.high or 0.0], wanted)
    content = strict(results.to_dict()["differences"])
    assert (content["reference"], content["over"]) == (ANYWHERE[0], "draws" if several else "people")
    assert list(content["regret"]) == ANYWHERE[1:]
    assert content["regret"]["ts"] == {"mean": found.mean, "low": found.low, "high": found.high}
    swapped = results.differences("ts")[ANYWHERE[0]]
    np.testing.assert_allclose([swapped.mean, swapped.high or 0.0], [-found.mean, -(found.low or 0.0)])
    with pytest.raises(InvalidInput, match="'nope'"):
        results.differences("nope")


def test_one_person_has_a_difference_without_an_interval() -> None:
    results = simulate(SyntheticWorld(states=1, actions=3), ["ts", "uniform"], people=1, rounds=9)
    gap = results.differences()["uniform"]
    assert (gap.low, gap.high) == (None, None)
    assert comparison(results)[1][-1][4] in (f"{gap:+.1f}", "")


@pytest.mark.parametrize(
    ("draws", "policies", "words"),
    [
        (1, ["ts", "uniform"], ["− TS", "people of one draw", "--draws 10"]),
        (4, ["ts", "uniform"], ["− TS", "over 4 draws"]),
        (1, ["ts"], ["± se is over people of one draw"]),
    ],
)
def test_the_note_says_over_what_intervals_are(draws: int, policies: list[str], words: list[str]) -> None:
    results = simulate(SyntheticWorld(states=2, actions=3), policies, people=2, rounds=3, draws=draws)
    note = comparison_note(results)
    assert all(word in note for word in words)
    assert ("− TS [95 %]" in comparison(results)[0]) == (len(policies) > 1)
    model = lpb.PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])
    fixed = comparison_note(simulate(lpb.MeansWorld(model), policies, people=2, rounds=3))
    assert "--draws" not in fixed
    assert fixed.endswith("over people.")


@pytest.mark.parametrize(("policies", "optimistic"), [(["lpbts", "mts"], True), (["mts"], False)])
def test_the_note_says_which_probability_the_true_state_has(policies: list[str], optimistic: bool) -> None:
    note = comparison_note(simulate(SyntheticWorld(states=2, actions=3), policies, people=2, rounds=3, draws=2))
    assert "by the policy's own posterior" in note
    assert "not P(best)" in note
    assert ("optimistic for lpbTS" in note) == optimistic


@pytest.mark.parametrize("name", ANYWHERE)
def test_results_equal_those_of_a_rollout(name: str) -> None:
    results = simulate(WORLD, [name], people=4, rounds=ROUNDS, seed=3)
    population = WORLD.draw(people=4, seed=3)
    policy = make_policy(name, Setting(population.model, population.rewards, ROUNDS))
    trace = rollout(policy, population, rounds=ROUNDS, seed=3)
    chosen = np.take_along_axis(population.means, trace.actions.astype(np.int64), axis=1)
    best = population.means.max(axis=1, keepdims=True)
    np.testing.assert_allclose(results[name].regret.mean, np.cumsum(best - chosen, axis=1).mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(results[name].reward, trace.rewards.mean(axis=0))
    hit = trace.actions == population.means.argmax(axis=1)[:, None]
    np.testing.assert_allclose(results[name].best_share, hit.mean(axis=0))
    summary = results[name].to_dict()
    np.testing.assert_allclose(summary["best_share"], hit.mean())
    np.testing.assert_allclose(summary["reward"], trace.rewards.mean())
    if policy.evidence.probabilistic:
        np.testing.assert_allclose(summary["true_state"], trace.mass[:, -1].mean())
        np.testing.assert_allclose(results[name].true_state, trace.mass.mean(axis=0))
    else:
        assert summary["true_state"] is None
    ordered = policy.evidence.ordered
    expected = trace.active.mean(axis=0).tolist() if ordered else [None] * 3
    got = [summary["active"][part] for part in ("all", "true", "other")]
    assert got == (pytest.approx(expected) if ordered else expected)


def test_one_state_one_person_and_one_action() -> None:
    content = strict(simulate(SyntheticWorld(states=1, actions=3), ["lpbts"], people=1, rounds=5).to_dict())
    summary = content["policies"]["lpbts"]
    assert (summary["active"]["other"], summary["true_state"]) == (None, 1.0)
    assert (summary["regret"]["sd"], summary["regret"]["se"]) == (None, None)
    results = simulate(SyntheticWorld(states=1, actions=1), ANYWHERE, people=1, rounds=1)
    for name in ANYWHERE:
        summary = results[name].to_dict()
        assert (summary["regret"]["mean"], summary["best_share"]) == (0.0, 1.0)
    with pytest.raises(InvalidInput, match=r"policy must be one of .*ts.*, got 'nope'"):
        results["nope"]


def test_saved_files(results: Results, tmp_path: Path) -> None:
    folder = results.save(tmp_path / "a" / "b")
    assert {path.name for path in folder.iterdir()} == {"curves.parquet", "people.parquet", "manifest.json"}
    curves = pl.read_parquet(folder / "curves.parquet")
    assert curves.equals(results.curves(), null_equal=True)
    assert len(curves) == len(ANYWHERE) * ROUNDS
    assert curves.filter(pl.col("policy") == "ts")["round"].to_list() == list(range(1, ROUNDS + 1))
    people = pl.read_parquet(folder / "people.parquet")
    assert people.equals(results.people(), null_equal=True)
    assert len(people) == len(ANYWHERE) * 3 * 6 * results.settings["draws"]
    assert people["draw"].n_unique() == results.settings["draws"]
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == "lpbandits-simulation"
    assert {"lpbandits", "numpy", "numba", "python"} <= set(manifest["versions"])
    assert {key: manifest[key] for key in ("settings", "policies", "differences", "seconds")} == strict(
        results.to_dict()
    )
    (tmp_path / "taken").write_text("")
    with pytest.raises(InvalidInput, match=r"cannot write to .*taken: it is a file, not a folder; choose another name"):
        results.save(tmp_path / "taken")


def test_the_assumed_noise_is_described_where_it_differs() -> None:
    model = lpb.PreferenceModel([[0, 1]], means=[[2.0, 1.0]], noise=0.894358)
    for assumed, words in ((None, "noise 0.8944 (from the model), 1 person"), (2.0, "assumed noise 2")):
        world = lpb.MeansWorld(model, assumed_noise=assumed)
        assert words in described(simulate(world, ["ts"], people=1, rounds=1))
