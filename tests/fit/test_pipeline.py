"""Test whole fits: model, report, warnings, held-out scores and the choice of the number of states."""

import json
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import Em, Estimator, Mixture, TwoStage, cluster_people, fit_states, match_orderings
from lpbandits.fit.comparisons import compare
from lpbandits.fit.methods.em import slow_note
from lpbandits.fit.scores import draw_holdout
from lpbandits.typing import BoolArray
from tests import naive_recovery as naive
from tests.synthetic_recovery import arrays_of, log_from, paper_world, quick_fit, readers

METHODS: list[Estimator] = [TwoStage(), Mixture(), Em(restarts=2, max_steps=50)]
all_methods = pytest.mark.parametrize("estimator", METHODS, ids=lambda one: one.method)


@all_methods
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
    utilities, _, _ = arrays_of(fit)
    assert 0 < utilities.min() < utilities.max() < 1
    along = np.take_along_axis(utilities, model.orderings, axis=1)
    assert np.all(np.diff(along, axis=1) <= 0)
    assert json.loads(json.dumps(report.to_dict()))["seconds"].keys() >= {"likelihood", "held-out"}
    assert "seconds" not in model.provenance["report"]
    assert model.provenance["data_sha256"] == log.sha256
    assert model.provenance["settings"]["method"] == estimator.method
    assert {stage for stage, done, total in calls if done == total} == set(report.seconds)
    assert all(0 <= done <= total for _, done, total in calls)


@all_methods
def test_log_likelihood_is_that_of_the_mixture(estimator: Estimator) -> None:
    _, log, _ = paper_world(1, people=40, same_scale=True, rounds=30, states=2)
    fit = quick_fit(log, estimator, states=2)
    assert fit.report.heldout_log_likelihood is None
    _, total = naive.responsibilities(log, logit(arrays_of(fit)[0]), fit.model.prior)
    np.testing.assert_allclose(fit.report.log_likelihood, total / fit.report.comparisons, rtol=1e-9)


@all_methods
@pytest.mark.parametrize("cap", [None, 20])
def test_same_seed_same_model_on_any_number_of_threads(estimator: Estimator, cap: int | None) -> None:
    log, _ = readers(2, people=300, actions=90, states=2)  # enough for several blocks of rows, columns and people
    fits = [fit_states(log, estimator, states=2, pairs_per_person=cap, threads=count) for count in (1, 2, 3)]
    assert fits[0].model == fits[1].model == fits[2].model


def test_two_stage_is_bradley_terry_on_clusters() -> None:
    _, log, _ = paper_world(3, people=60, same_scale=True, rounds=40, states=2)
    labels = cluster_people(log, 2).labels
    utilities, _, _ = arrays_of(quick_fit(log, TwoStage(prior_sd=0.7, shrink=False), states=2))
    for z in range(2):
        beta, _ = naive.bradley_terry(naive.halves_won(log, (labels == z) * 1.0) / 2, 0.7)
        np.testing.assert_allclose(utilities[z], expit(beta), atol=1e-6)


@pytest.mark.parametrize("same_scale", [True, False])
def test_the_error_falls_with_people_and_em_is_no_worse_than_its_start(same_scale: bool) -> None:
    def error(estimator: Estimator, people: int) -> float:
        worlds = (paper_world(seed, people=people, same_scale=same_scale, rounds=40) for seed in range(6))
        return float(np.mean([match_orderings(w[0], quick_fit(w[1], estimator, 5).model).error for w in worlds]))

    estimators = {"cosine": TwoStage(), "em": Em(restarts=1)}
    errors = {name: [error(one, people) for people in (30, 120, 480)] for name, one in estimators.items()}
    for few, some, many in errors.values():
        assert few > some > many
        assert many < 0.02
    # EM starts from the cosine clusters. Over 40 other draws the difference of one draw had sd 0.016 at 120 people and
    # 0.005 at 480, and a mean within 1.6 standard errors of 0; these are 3 standard errors of a mean of six.
    limits = errors["cosine"][1] + 3 * 0.016 / np.sqrt(6), errors["cosine"][2] + 3 * 0.005 / np.sqrt(6)
    np.testing.assert_array_less(errors["em"][1:], limits)
    if not same_scale:
        assert error(TwoStage(scale="raw"), 480) > 10 * errors["cosine"][2] + 0.1


def test_equal_orderings_are_merged() -> None:
    rows = [(n, a, 10 * (n % 2) + a) for n in range(12) for a in range(3)]  # one taste, two levels
    fit = fit_states(log_from(rows), TwoStage(scale="raw"), states=2)
    assert fit.model.orderings.tolist() == [[2, 1, 0]]
    assert fit.report.states == 1
    assert fit.report.shares == [1.0]
    assert any("states with equal orderings were merged" in note for note in fit.report.warnings)


def test_never_compared_actions_come_last_and_are_listed() -> None:
    rows = [(n, a, a) for n in range(6) for a in range(3)] + [(9, 4, 5.0)]
    fit = quick_fit(log_from(rows, actions=range(60)))
    assert fit.model.orderings[0].tolist() == [2, 1, 0, *range(3, 60)]
    assert fit.report.never_compared == [{"count": 57, "actions": list(range(3, 23))}]
    assert fit.model.provenance["never_compared"] == [list(range(3, 60))]
    assert any("57 of 60 actions were never compared" in note for note in fit.report.warnings)
    utilities, _, _ = arrays_of(fit)
    np.testing.assert_array_equal(utilities[0, 3:], utilities[0, 0])


def test_warnings_name_small_states_components_and_max_steps() -> None:
    log = log_from((n, a, a if n < 40 else -a) for n in range(43) for a in range(6))
    notes = quick_fit(log, states=2).report.warnings
    assert any(note.startswith("state 1 has only 3 people (7%)") for note in notes)
    assert any(note.startswith("state 1: some of the 5 most preferred actions") for note in notes)
    assert not any(note.startswith("state 0") for note in notes)
    report = quick_fit(log_from((n, a + 2 * (n % 2), a) for n in range(8) for a in range(2))).report
    assert report.components == [2]
    assert any("2 components" in note for note in report.warnings)
    noisy = paper_world(5, people=60, same_scale=False, rounds=15)[1]
    assert any(
        "max_steps=2" in note for note in quick_fit(noisy, Em(restarts=1, max_steps=2), states=4).report.warnings
    )


def test_em_warns_unless_its_last_step_gained_little() -> None:
    log = paper_world(5, people=60, same_scale=False, rounds=15)[1]
    steps = quick_fit(log, Em(restarts=1), states=2).report.iterations
    for max_steps in (steps - 2, steps - 1):
        report = quick_fit(log, Em(restarts=1, max_steps=max_steps), states=2).report
        assert any("max_steps" in note for note in report.warnings) == (max_steps < steps - 1)


def test_em_warns_if_states_explain_activity() -> None:
    rng = np.random.default_rng(0)
    busy = [(n, a, a + rng.normal()) for n in range(20) for a in range(40)]
    idle = [(n, a, -a + rng.normal()) for n in range(20, 60) for a in rng.choice(40, 5, replace=False).tolist()]
    log = Ratings.from_arrays(*zip(*busy, *idle, strict=True))
    for estimator in (Em(scale="raw"), Em()):
        report = quick_fit(log, estimator, states=2).report
        assert report.count_variance_explained > 0.9
        warned = [note for note in report.warnings if "how much people rate" in note]
        assert len(warned) == 1
        assert ("--scale cosine" in warned[0]) == (estimator.scale == "raw")


def test_em_with_a_very_weak_prior_ends_with_a_warning() -> None:
    log = log_from((n, a, a) for n in range(20) for a in range(40))
    fit = quick_fit(log, Em(prior_sd=1e5, shrink=False), states=2)
    assert fit.model.orderings.tolist() == [list(range(39, -1, -1))]
    assert arrays_of(quick_fit(log, Em(prior_sd=1e5), states=2))[1].max() <= 100
    assert any("use a smaller prior_sd" in note for note in fit.report.warnings)


def test_em_has_a_note_for_very_many_actions() -> None:
    few, many = (Ratings.from_arrays([0, 0], [0, 1], [1, 2], actions=range(n)) for n in (10, 9_724))
    assert slow_note(few) is None
    assert "9,724 actions" in str(slow_note(many))
    assert "--min-action" in str(slow_note(many))


def test_auto_reports_the_people_it_fitted_of_a_sampled_log(monkeypatch: pytest.MonkeyPatch) -> None:
    _, log, _ = paper_world(7, people=100, same_scale=False, rounds=20, states=2)
    monkeypatch.setattr("lpbandits.fit.methods.clusters.MAX_EXACT_RATINGS", len(log) - 1)  # about half of the people
    report = fit_states(log, TwoStage(), states="auto", max_states=2, taste=False).report
    assert report.people == 100
    assert 40 <= report.heldout_people + report.heldout_fit_people <= 60


def test_the_heldout_score_of_a_huge_log_excludes_held_out_people(monkeypatch: pytest.MonkeyPatch) -> None:
    _, log, _ = paper_world(8, people=50, same_scale=True, rounds=8, states=2)
    labels = cluster_people(log, 2, scale="raw").labels
    used, unused = draw_holdout(50, 0.2, 0)
    without = np.isin(np.arange(50), used)

    def score(people: BoolArray) -> float:
        betas = [naive.bradley_terry(naive.halves_won(log, (people & (labels == z)) * 1.0) / 2, 1.0)[0] for z in (0, 1)]
        shares = np.array([np.mean(labels[people] == z) for z in (0, 1)])
        heldout = log.subset(unused)
        return naive.responsibilities(heldout, np.stack(betas), shares)[1] / float(compare(heldout).pairs.sum())

    plain = fit_states(log, TwoStage(scale="raw", shrink=False), states=2, heldout=0.2)
    monkeypatch.setattr("lpbandits.fit.pipeline.SLOW_KMEANS_RATINGS", 0)
    fit = fit_states(log, TwoStage(scale="raw", shrink=False), states=2, heldout=0.2)
    shrunk = fit_states(log, TwoStage(scale="raw"), states=2, heldout=0.2).report.heldout_log_likelihood
    assert shrunk is not None
    assert shrunk > score(without) + 0.01  # shrinkage improves predictions
    assert fit.report.heldout_log_likelihood == pytest.approx(score(without), abs=1e-5)
    assert abs(score(np.ones(50, dtype=np.bool_)) - score(without)) > 1e-3  # including them would show
    assert (fit.report.heldout_people, fit.report.heldout_fit_people) == (10, 40)
    assert fit.model.provenance["report"]["heldout_fit_people"] == 40
    np.testing.assert_array_equal(fit.model.utilities, plain.model.utilities)
    np.testing.assert_array_equal(fit.model.prior, plain.model.prior)


@pytest.mark.parametrize(("estimator", "cap"), [(Em(restarts=1), None), (TwoStage(), 20)])
def test_em_and_capped_fits_have_a_second_fit_for_the_heldout_score(
    estimator: Estimator, cap: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log, _ = paper_world(2, people=60, same_scale=False, rounds=20, states=2)
    plain = fit_states(log, estimator, states=2, pairs_per_person=cap)
    monkeypatch.setattr("lpbandits.fit.pipeline.SLOW_KMEANS_RATINGS", 0)
    assert fit_states(log, estimator, states=2, pairs_per_person=cap).model == plain.model


INVALID: list[tuple[str, Estimator, dict[str, Any]]] = [
    (r"states.*2.*3", TwoStage(), {"states": 3}),
    (r"states.*'many'", Em(), {"states": "many"}),
    (r"states='auto'.*2", Em(), {"states": "auto"}),
    (r"max_states.*7.*states=2", TwoStage(), {"states": 2, "max_states": 7}),
    (r"max_states.*0", TwoStage(), {"states": "auto", "max_states": 0}),
    (r"heldout.*2", TwoStage(), {"heldout": 2}),
    (r"pairs_per_person.* 0", TwoStage(), {"pairs_per_person": 0}),
    (r"start.*2.*3", Em(start=(0, 1, 0)), {}),
    (r"start.*4", Em(start=(0, 4)), {}),
    *(("name", TwoStage(), {"names": names}) for names in ("x", {"0": 3}, {1.5: "x"}, [("0", "Heat")])),
]


@pytest.mark.parametrize(("message", "estimator", "options"), INVALID)
def test_invalid_arguments_are_refused(message: str, estimator: Estimator, options: dict[str, Any]) -> None:
    log = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [1, 2, 3, 1])
    with pytest.raises(InvalidInput, match=message):
        fit_states(log, estimator, **{"states": 2, **options})


SHARED: list[tuple[str, Any]] = [("prior_sd", -1), ("restarts", 2**31), ("seed", -1)]
SETTINGS = {Mixture: SHARED, TwoStage: [*SHARED, ("scale", "x")], Em: [*SHARED, ("scale", "x"), ("max_steps", 0)]}


@pytest.mark.parametrize(("method", "name", "value"), [(one, *row) for one, rows in SETTINGS.items() for row in rows])
def test_invalid_settings_are_refused(method: Any, name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=rf"{name}.*{value}"):
        method(**{name: value})


def test_a_log_without_comparisons_is_refused() -> None:
    with pytest.raises(InvalidInput, match="two rated actions"):
        fit_states(Ratings.from_arrays([0, 1, 2], [0, 1, 0], [1, 2, 3]), TwoStage(), states=1)


def test_people_with_one_rating_do_not_change_utilities() -> None:
    rows = [(n, a, a) for n in range(4) for a in range(3)]
    alone = [*rows, (7, 0, 3)]
    few, more = (arrays_of(quick_fit(log_from(each)))[0] for each in (rows, alone))
    np.testing.assert_array_equal(few, more)


def test_warnings_name_predictions_no_better_than_a_coin_toss() -> None:
    rng = np.random.default_rng(0)
    person, action = np.divmod(np.arange(400), 2)
    noise = Ratings.from_arrays(person, action, rng.integers(1, 6, 400))
    clear = Ratings.from_arrays(person, action, action + 0.3 * rng.normal(size=400))
    warnings = [fit_states(log, TwoStage(), states=2).report.warnings for log in (noise, clear)]
    assert [any("no better than by chance" in note for note in notes) for notes in warnings] == [True, False]


def test_results_do_not_depend_on_threads_of_linear_algebra() -> None:
    """With many states, products of matrices are large enough for two threads of linear algebra."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(1200), 20)
    action = np.concatenate([rng.choice(200, 20, replace=False) for _ in range(1200)])
    rating = np.round(rng.normal(size=(100, 200))[person % 100, action] + rng.normal(size=len(person)), 1)
    log, models = Ratings.from_arrays(person, action, rating), set()
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            models.add(quick_fit(log, TwoStage(restarts=1), states=100, threads=1).model.sha256)
    assert len(models) == 1


def test_covariances_beyond_the_memory_limit_are_refused_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    _, log, _ = paper_world(8, people=50, same_scale=True, rounds=8, states=2)
    monkeypatch.setattr("lpbandits.fit.pipeline.BYTES_PER_TASTE_PAIR", 10**9)
    with pytest.raises(InvalidInput, match="max_memory is 4GB, but the covariances of the taste model"):
        fit_states(log, TwoStage(), states=2, max_memory="4GB")
    fit_states(log, TwoStage(), states=2, max_memory="4GB", taste=False, heldout=0)
