"""Test whole fits: model, report, warnings, held-out scores and the choice of the number of states."""

import itertools
import json

import numpy as np
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lpbandits.data import Ratings, read_ratings
from lpbandits.data.blocks import MemoryBlocks
from lpbandits.errors import InvalidInput
from lpbandits.fit import (
    Em,
    TwoStage,
    choose_states,
    cluster_people,
    fit_states,
    match_orderings,
)
from lpbandits.fit.clusters import Scale
from lpbandits.fit.comparisons import compare
from lpbandits.fit.em import slow_note
from lpbandits.fit.estimator import Estimator, log_likelihoods, mixture
from lpbandits.fit.matching import kendall_losses
from lpbandits.fit.selection import split_holdout, split_people
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.typing import BoolArray
from tests import naive_recovery as naive
from tests.data.test_ratings import movielens
from tests.synthetic_recovery import log_from, paper_world, readers

ESTIMATORS: list[Estimator] = [TwoStage(scale="cosine"), Em(scale="cosine", restarts=2)]


def by_name(estimator: Estimator) -> str:
    return estimator.method


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=by_name)
def test_model_and_report(estimator: Estimator) -> None:
    truth, log, _ = paper_world(0, people=200, same_scale=False, rounds=60)
    calls: list[tuple[str, int, int]] = []
    fit = fit_states(log, estimator, states=5, progress=lambda *call: calls.append(call))
    report, model = fit.report, fit.model
    assert match_orderings(truth, model).error < 0.1
    assert (report.people, report.actions, report.ratings, report.states) == (200, 10, len(log), 5)
    np.testing.assert_allclose(model.prior, report.shares)
    np.testing.assert_allclose(sum(report.shares), 1)
    assert report.heldout_log_likelihood is not None
    assert (report.heldout_people, report.heldout_fit_people) == (20, 180)
    assert np.log(0.5) < report.heldout_log_likelihood
    assert np.log(0.5) < report.log_likelihood < 0
    assert report.comparisons == sum(len(h) * (len(h) - 1) / 2 for h in naive.histories(log))
    assert model.utilities is not None
    assert 0 < model.utilities.min() < model.utilities.max() < 1
    along = np.take_along_axis(model.utilities, model.orderings, axis=1)
    assert np.all(np.diff(along, axis=1) <= 0)
    assert json.loads(json.dumps(report.to_dict()))["seconds"].keys() >= {"cluster", "likelihood", "held-out"}
    assert "seconds" not in model.provenance["report"]
    assert model.provenance["data_sha256"] == log.sha256
    assert model.provenance["settings"]["scale"] == "cosine"
    assert {stage for stage, done, total in calls if done == total} == set(report.seconds)
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=by_name)
def test_log_likelihood_is_that_of_the_mixture(estimator: Estimator) -> None:
    _, log, _ = paper_world(1, people=40, same_scale=True, rounds=30, states=2)
    fit = fit_states(log, estimator, states=2, heldout=0, taste=False)
    assert fit.report.heldout_log_likelihood is None
    assert fit.model.utilities is not None
    beta = np.log(fit.model.utilities / (1 - fit.model.utilities))
    total = 0.0
    for history in naive.histories(log):
        parts = [
            np.log(share) + naive.log_likelihood(history, row) for share, row in zip(fit.model.prior, beta, strict=True)
        ]
        total += float(np.logaddexp.reduce(parts))
    np.testing.assert_allclose(fit.report.log_likelihood, total / fit.report.comparisons, rtol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=by_name)
@pytest.mark.parametrize("cap", [None, 20])
def test_same_seed_same_model_on_any_number_of_threads(estimator: Estimator, cap: int | None) -> None:
    _, log, _ = paper_world(2, people=120, same_scale=False, rounds=40)
    fits = [fit_states(log, estimator, states=4, pairs_per_person=cap, threads=count) for count in (1, 2, 3)]
    assert fits[0].model == fits[1].model == fits[2].model


def test_two_stage_is_bradley_terry_on_clusters() -> None:
    _, log, _ = paper_world(3, people=60, same_scale=True, rounds=40, states=2)
    labels = cluster_people(log, 2).labels
    model = fit_states(log, TwoStage(prior_sd=0.7, shrink=False), states=2).model
    assert model.utilities is not None
    for z in range(2):
        wins = naive.halves_won(log, (labels == z).astype(float)) / 2
        beta, _ = naive.bradley_terry(wins, 0.7)
        np.testing.assert_allclose(model.utilities[z], 1 / (1 + np.exp(-beta)), atol=1e-6)


@pytest.mark.parametrize("cap", [None, 15])
@pytest.mark.parametrize("seed", range(2))
def test_em_never_decreases_the_log_posterior(seed: int, cap: int | None) -> None:
    _, log, _ = paper_world(seed, people=80, same_scale=False, rounds=15)
    report = fit_states(log, Em(seed=seed, restarts=1), states=4, pairs_per_person=cap, heldout=0, taste=False).report
    assert report.iterations > 2
    assert np.diff(report.history).min() > -1e-9 * abs(report.history[-1])


def test_em_warns_if_it_stops_at_max_steps() -> None:
    _, log, _ = paper_world(5, people=60, same_scale=False, rounds=15)
    report = fit_states(log, Em(restarts=1, max_steps=2), states=4, heldout=0, taste=False).report
    assert any("max_steps=2" in note for note in report.warnings)


def test_em_starts_from_given_labels() -> None:
    truth, log, state = paper_world(6, people=150, same_scale=True, rounds=60)
    model = fit_states(log, Em(start=tuple(state.tolist())), states=5).model
    assert match_orderings(truth, model).error < 0.05
    assert model.provenance["settings"]["start"] == "given"
    with pytest.raises(InvalidInput, match=r"start.*150.*2"):
        fit_states(log, Em(start=(0, 1)), states=5)
    with pytest.raises(InvalidInput, match=r"start.*4"):
        fit_states(log, Em(start=tuple(state.tolist())), states=3)


def _errors(people: int, *, same_scale: bool, draws: int = 6) -> dict[str, float]:
    """Return the mean matching error over draws of the paper's world with 40 rounds per person."""
    errors: dict[str, list[float]] = {}
    for seed in range(draws):
        truth, log, _ = paper_world(seed, people=people, same_scale=same_scale, rounds=40)
        start = cluster_people(log, 5, scale="cosine").labels.tolist()
        models: dict[str, PreferenceModel] = {
            "cosine": fit_states(log, TwoStage(scale="cosine"), states=5, heldout=0, taste=False).model,
            "em": fit_states(log, Em(start=start), states=5, heldout=0, taste=False).model,
        }
        if people > 400 and not same_scale:
            models["raw"] = fit_states(log, TwoStage(scale="raw"), states=5, heldout=0, taste=False).model
        for name, model in models.items():
            errors.setdefault(name, []).append(match_orderings(truth, model).error)
    return {name: float(np.mean(values)) for name, values in errors.items()}


@pytest.mark.parametrize("same_scale", [True, False])
def test_error_falls_with_people_and_em_is_no_worse_from_the_same_start(same_scale: bool) -> None:
    few, some, many = (_errors(people, same_scale=same_scale) for people in (30, 120, 480))
    for name in ("cosine", "em"):
        assert few[name] > some[name] > many[name]
        assert many[name] < 0.02
    # EM from the same start is no worse. Over 40 other draws the difference of one draw had sd 0.016 at 120 people and
    # 0.005 at 480, and a mean within 1.6 standard errors of 0; these are 3 standard errors of a mean of six.
    assert some["em"] <= some["cosine"] + 3 * 0.016 / np.sqrt(6)
    assert many["em"] <= many["cosine"] + 3 * 0.005 / np.sqrt(6)
    if not same_scale:
        assert many["raw"] > 10 * many["cosine"] + 0.1


def test_equal_orderings_are_joined() -> None:
    rows = [(n, a, 10 * (n % 2) + a) for n in range(12) for a in range(3)]  # one taste, two levels
    fit = fit_states(log_from(rows), TwoStage(scale="raw"), states=2)
    assert fit.model.orderings.tolist() == [[2, 1, 0]]
    assert fit.report.states == 1
    assert fit.report.shares == [1.0]
    assert any("states with equal orderings were joined" in note for note in fit.report.warnings)


def test_never_compared_actions_come_last_and_are_listed() -> None:
    rows = [(n, a, a) for n in range(6) for a in range(3)] + [(9, 4, 5.0)]
    fit = fit_states(log_from(rows, actions=range(60)), TwoStage(), states=1, heldout=0, taste=False)
    assert fit.model.orderings[0].tolist() == [2, 1, 0, *range(3, 60)]
    assert fit.report.never_compared == [{"count": 57, "actions": list(range(3, 23))}]
    assert fit.model.provenance["never_compared"] == [list(range(3, 60))]
    assert any("57 of 60 actions were never compared" in note for note in fit.report.warnings)
    assert fit.model.utilities is not None
    np.testing.assert_array_equal(fit.model.utilities[0, 3:], fit.model.utilities[0, 0])


def test_warnings_name_small_states_and_uncertain_first_ranks() -> None:
    rows = [(n, a, a if n < 40 else -a) for n in range(43) for a in range(6)]
    log = log_from(rows)
    notes = fit_states(log, TwoStage(scale="cosine"), states=2, heldout=0, taste=False).report.warnings
    assert any(note.startswith("state 1 has only 3 people (7%)") for note in notes)
    assert any(note.startswith("state 1: some of the 5 most preferred actions") for note in notes)
    assert not any(note.startswith("state 0") for note in notes)


def test_em_warns_if_states_explain_activity() -> None:
    rng = np.random.default_rng(0)
    busy = [(n, a, a + rng.normal()) for n in range(20) for a in range(40)]
    idle = [(n, a, -a + rng.normal()) for n in range(20, 60) for a in rng.choice(40, 5, replace=False).tolist()]
    log = Ratings.from_arrays(*zip(*busy, *idle, strict=True))
    for estimator in (Em(scale="raw"), Em()):
        report = fit_states(log, estimator, states=2, heldout=0, taste=False).report
        assert report.count_variance_explained > 0.9
        warned = [note for note in report.warnings if "how much people rate" in note]
        assert len(warned) == 1
        assert ("--scale cosine" in warned[0]) == (estimator.scale == "raw")


def test_em_with_a_very_weak_prior_ends_with_a_warning() -> None:
    rows = [(n, a, a) for n in range(20) for a in range(80)]
    log = log_from(rows)
    fit = fit_states(log, Em(prior_sd=1e5, shrink=False), states=2, heldout=0, taste=False)
    assert fit.model.orderings.tolist() == [list(range(79, -1, -1))]
    shrunk = fit_states(log, Em(prior_sd=1e5), states=2, heldout=0, taste=False).model
    assert shrunk.errors is not None
    assert shrunk.errors.max() <= 100
    assert any("use a smaller prior_sd" in note for note in fit.report.warnings)


def test_em_has_a_note_for_very_many_actions() -> None:
    few, many = (Ratings.from_arrays([0, 0], [0, 1], [1, 2], actions=range(n)) for n in (10, 9_724))
    assert slow_note(few) is None
    assert "9,724 actions" in str(slow_note(many))
    assert "--min-action" in str(slow_note(many))


def test_components_of_the_comparison_graph_are_reported() -> None:
    rows = [(n, a, a) for n in range(4) for a in (0, 1)] + [(n, a, a) for n in range(4, 8) for a in (2, 3)]
    fit = fit_states(log_from(rows), TwoStage(), states=1, heldout=0, taste=False)
    assert fit.report.components == [2]
    assert any("2 components" in note for note in fit.report.warnings)


def test_a_cap_on_pairs_changes_little() -> None:
    log, _ = readers(0, people=300, actions=60, states=2)
    full = fit_states(log, TwoStage(scale="cosine"), states=2, heldout=0, taste=False).model
    capped = fit_states(log, TwoStage(scale="cosine"), states=2, pairs_per_person=40, heldout=0, taste=False).model
    assert match_orderings(full, capped).error < 0.15
    assert kendall_losses(full.orderings[:1], full.ranks[1:])[0, 0] > 0.5


@pytest.mark.parametrize("states", [1, 3])
def test_auto_finds_the_number_of_states(states: int) -> None:
    _, log, _ = paper_world(7, people=240, same_scale=False, rounds=80, states=states)
    curve = choose_states(log, candidates=(1, 2, 3, 4, 5), seed=3)
    assert curve.states == states
    assert curve.people == 48
    assert [row["states"] for row in curve.rows()] == [1, 2, 3, 4, 5]
    assert [row["states"] for row in curve.rows() if row["chosen"]] == [states]
    fit = fit_states(log, TwoStage(scale="cosine"), states="auto")
    assert fit.report.states == states
    assert (fit.report.heldout_people, fit.report.heldout_fit_people) == (48, 192)
    assert len(fit.report.curve) == 9


def huge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.fit.pipeline.HUGE", 0)


def test_the_heldout_score_of_a_huge_log_excludes_held_out_people_from_its_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, log, _ = paper_world(8, people=50, same_scale=True, rounds=8, states=2)
    labels = cluster_people(log, 2, scale="raw").labels
    used, unused = split_people(50, 0.2, 0)
    without = np.isin(np.arange(50), used)
    histories = naive.histories(log)

    def score(people: BoolArray) -> float:
        betas = [naive.bradley_terry(naive.halves_won(log, (people & (labels == z)) * 1.0) / 2, 1.0)[0] for z in (0, 1)]
        shares = [float(np.mean(labels[people] == z)) for z in (0, 1)]
        total = pairs = 0.0
        for n in unused.tolist():
            parts = [
                np.log(w) + naive.log_likelihood(histories[n], beta) for w, beta in zip(shares, betas, strict=True)
            ]
            total += float(np.logaddexp.reduce(parts))
            pairs += len(histories[n]) * (len(histories[n]) - 1) / 2
        return total / pairs

    plain = fit_states(log, TwoStage(scale="raw", shrink=False), states=2, heldout=0.2)
    huge(monkeypatch)
    fit = fit_states(log, TwoStage(scale="raw", shrink=False), states=2, heldout=0.2)
    shrunk = fit_states(log, TwoStage(scale="raw"), states=2, heldout=0.2).report.heldout_log_likelihood
    assert shrunk is not None
    assert shrunk > score(without) + 0.01  # shrinkage improves predictions
    assert fit.report.heldout_log_likelihood is not None
    np.testing.assert_allclose(fit.report.heldout_log_likelihood, score(without), atol=1e-5)
    assert abs(score(np.ones(50, dtype=np.bool_)) - score(without)) > 1e-3  # including them would show
    assert (fit.report.heldout_people, fit.report.heldout_fit_people) == (10, 40)
    assert fit.model.provenance["report"]["heldout_fit_people"] == 40
    np.testing.assert_array_equal(fit.model.utilities, plain.model.utilities)
    np.testing.assert_array_equal(fit.model.prior, plain.model.prior)


@pytest.mark.parametrize("scale", ["raw", "cosine"])
def test_the_heldout_score_of_a_huge_log_is_near_that_of_a_second_fit(
    scale: Scale, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, _ = readers(3, people=1500, actions=40, states=3)  # many people per action, as in a huge log
    huge(monkeypatch)
    gaps = []
    for seed in range(5):
        estimator = TwoStage(scale=scale, seed=seed)
        quick = fit_states(log, estimator, states=3).report.heldout_log_likelihood
        with Threads(1) as threads:
            parts = split_holdout(MemoryBlocks(log, threads), 0.1, seed=seed, pairs_per_person=None)
            assert parts is not None
            second = parts.fit(estimator, 3)
        others = compare(log.subset(split_people(1500, 0.1, seed)[1]))
        each, _ = mixture(log_likelihoods(others, second.utilities), second.shares)
        value = each.sum() / others.pairs.sum()
        error = np.sqrt(np.sum((each - value * others.pairs) ** 2)) / others.pairs.sum()
        gaps.append((quick - value) / error)
    assert np.abs(gaps).max() < 1  # in standard errors over the 150 held-out people


@pytest.mark.parametrize(("estimator", "cap"), [(Em(scale="cosine", restarts=1), None), (TwoStage(), 20)])
def test_em_and_capped_fits_have_a_second_fit_for_the_heldout_score(
    estimator: Estimator, cap: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log, _ = paper_world(2, people=60, same_scale=False, rounds=20, states=2)
    plain = fit_states(log, estimator, states=2, pairs_per_person=cap)
    huge(monkeypatch)
    assert fit_states(log, estimator, states=2, pairs_per_person=cap).model == plain.model


def test_invalid_arguments_are_refused() -> None:
    log = Ratings.from_arrays([0, 1, 2], [0, 1, 0], [1, 2, 3])
    with pytest.raises(InvalidInput, match="two rated actions"):
        fit_states(log, TwoStage(), states=1)
    pairs = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 3, 1])
    with pytest.raises(InvalidInput, match=r"states.*2.*3"):
        fit_states(pairs, TwoStage(), states=3)
    with pytest.raises(InvalidInput, match=r"states.*'many'"):
        fit_states(pairs, Em(), states="many")  # type: ignore[arg-type]  # invalid value
    with pytest.raises(InvalidInput, match=r"states='auto'.*2"):
        fit_states(pairs, Em(), states="auto")
    with pytest.raises(InvalidInput, match=r"heldout.*2"):
        fit_states(pairs, TwoStage(), states=2, heldout=2)
    for name, value in (("prior_sd", -1), ("scale", "x"), ("restarts", 2**31), ("seed", -1)):
        with pytest.raises(InvalidInput, match=rf"{name}.*{value}"):
            TwoStage(**{name: value})  # type: ignore[arg-type] # invalid values


def test_people_with_one_rating_do_not_change_utilities() -> None:
    rows = [(n, a, a) for n in range(4) for a in range(3)]
    alone = [*rows, (7, 0, 3)]
    few, more = (fit_states(log_from(r), TwoStage(), states=1).model for r in (rows, alone))
    assert few.utilities is not None
    assert more.utilities is not None
    np.testing.assert_array_equal(few.utilities, more.utilities)


@pytest.mark.parametrize("estimator", [TwoStage(scale="raw"), TwoStage()], ids=["raw", "cosine"])
def test_movielens_1m(estimator: Estimator) -> None:
    log = read_ratings(movielens("ml-1m"), min_person=200, min_action=200)
    fit = fit_states(log, estimator, states=5)
    assert fit.report.states == 5
    assert max(fit.report.passes) <= 30
    assert sum(fit.report.seconds.values()) < 30
    warned = any("how much people rate" in note for note in fit.report.warnings)
    assert warned == (fit.report.count_variance_explained >= 0.5)
    if estimator.settings()["scale"] == "cosine":  # raw clusters sort by activity and have similar orderings
        assert all(fit.model.kendall[y, z] > 0.05 for y, z in itertools.combinations(range(5), 2))


def test_warnings_name_predictions_no_better_than_a_coin_toss() -> None:
    rng = np.random.default_rng(0)
    person, action = np.divmod(np.arange(400), 2)
    noise = Ratings.from_arrays(person, action, rng.integers(1, 6, 400))
    clear = Ratings.from_arrays(person, action, action + 0.3 * rng.normal(size=400))
    warnings = [fit_states(log, TwoStage(scale="cosine"), states=2).report.warnings for log in (noise, clear)]
    assert [any("no better than by a coin" in note for note in notes) for notes in warnings] == [True, False]


def test_results_do_not_depend_on_threads_of_linear_algebra() -> None:
    """With many states, products of matrices are large enough for two threads of linear algebra."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(1200), 20)
    action = np.concatenate([rng.choice(200, 20, replace=False) for _ in range(1200)])
    rating = np.round(rng.normal(size=(100, 200))[person % 100, action] + rng.normal(size=len(person)), 1)
    log, models = Ratings.from_arrays(person, action, rating), set()
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            fit = fit_states(log, TwoStage(restarts=1), states=100, taste=False, heldout=0, threads=1)
        models.add(fit.model.sha256)
    assert len(models) == 1
