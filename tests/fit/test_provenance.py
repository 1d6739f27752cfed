"""Test the assignment of people to states, and the provenance of a model."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.data import Ratings
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.fit import Em, TwoStage, fit_states, match_orderings
from lpbandits.fit.assign import states_of
from lpbandits.fit.estimator import Estimator
from lpbandits.fit.provenance import Provenance, sketch
from lpbandits.model import PreferenceModel
from tests import naive_recovery as naive
from tests.synthetic_recovery import log_from, paper_world, raters


def test_people_are_assigned_to_their_states_in_and_out_of_the_fit() -> None:
    truth, log, state = paper_world(0, people=200, same_scale=False, rounds=60, states=3)
    fit = fit_states(log.subset(np.arange(100)), TwoStage(), states=3, heldout=0, taste=False)
    table = states_of(fit.model, log)
    assert table.columns == ["person", "state", "probability", "ratings", "left_out"]
    assert table["person"].to_list() == list(log.people)
    true = np.argsort(match_orderings(truth, fit.model).assignment)[table["state"].to_numpy()]
    for part in (slice(0, 100), slice(100, 200)):
        assert np.mean(true[part] == state[part]) > 0.95
    assert lpb.states_of(fit.model, log, threads=2).equals(table)


def test_probabilities_are_those_of_the_mixture_with_n_minus_1_comparisons() -> None:
    _, log, _ = raters(1, people=30, actions=7, rated=4, states=2)
    model = fit_states(log, TwoStage(), states=2, heldout=0, taste=False).model
    assert model.utilities is not None
    beta = np.log(model.utilities / (1 - model.utilities))
    table = lpb.states_of(model, log)
    for history, row in zip(naive.histories(log), table.iter_rows(named=True), strict=True):
        scores = [
            np.log(share) + naive.log_likelihood(history, own) * 2 / len(history)
            for share, own in zip(model.prior, beta, strict=True)
        ]
        chance = np.exp(scores - np.logaddexp.reduce(scores))
        assert row["state"] == int(np.argmax(chance))
        assert row["probability"] == pytest.approx(chance.max())


def test_probabilities_are_calibrated_if_the_model_is_true() -> None:
    _, log, state = raters(2, people=4000, actions=12, rated=6, states=2)
    fit = fit_states(log, Em(restarts=1), states=2, heldout=0, taste=False)
    table = states_of(fit.model, log)
    assigned, probability = table["state"].to_numpy(), table["probability"].to_numpy()
    right = max((assigned == state).mean(), (assigned != state).mean())
    # 0.84 and 0.85, with a standard error of 0.006; with n(n − 1)/2 comparisons the mean probability would be 0.94
    assert probability.mean() == pytest.approx(right, abs=0.03)


def test_other_actions_are_left_out_and_counted() -> None:
    model = PreferenceModel(
        [[0, 1], [1, 0]], actions=["tea", "jam"], prior=[0.3, 0.7], utilities=[[0.9, 0.1], [0.2, 0.8]]
    )
    rows = [("ann", "tea", 5), ("ann", "jam", 1), ("ann", "rum", 9), ("bo", "rum", 2), ("cy", "tea", 3)]
    table = lpb.states_of(model, log_from(rows))
    assert table["state"].to_list() == [0, 1, 1]
    assert table["ratings"].to_list() == [2, 0, 1]
    assert table["left_out"].to_list() == [1, 1, 0]
    np.testing.assert_allclose(table["probability"][1:], 0.7)  # the prior
    with pytest.raises(InvalidInput, match=r"actions.*'tea'.*'gin'"):
        lpb.states_of(model, Ratings.from_arrays(["ann"], ["gin"], [1]))
    with pytest.raises(InvalidInput, match="utilities"):
        lpb.states_of(PreferenceModel([[0, 1]]), Ratings.from_arrays([0, 0], [0, 1], [1, 2]))


def test_assignments_do_not_depend_on_blocks_or_the_order_of_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, log, _ = raters(1, people=60, actions=7, rated=4, states=2)
    model = fit_states(log, TwoStage(), states=2, heldout=0, taste=False).model
    assert model.utilities is not None
    table = lpb.states_of(model, log)
    order = [4, 1, 6, 0, 2, 5, 3]
    other = PreferenceModel(
        np.argsort(order)[model.orderings],
        actions=[model.actions[a] for a in order],
        prior=model.prior,
        utilities=model.utilities[:, order],
    )
    reordered = lpb.states_of(other, log)
    assert reordered.drop("probability").equals(table.drop("probability"))
    np.testing.assert_allclose(reordered["probability"], table["probability"], rtol=1e-12)
    larger = Ratings.from_arrays(
        [*log.owner, *range(60, 100)],
        [*(log.actions[a] for a in log.action), *[99] * 40],
        [*log.rating, *range(40)],
    )
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", 20)  # the last blocks have no action of the model
    assigned = lpb.states_of(model, larger)
    assert assigned[: len(table)].drop("left_out", "person").equals(table.drop("left_out", "person"))
    assert assigned["probability"][len(table) :].to_list() == [model.prior.max()] * 40
    assert assigned["ratings"][len(table) :].to_list() == [0] * 40


def test_people_with_labels_of_mixed_types_are_assigned() -> None:
    model = PreferenceModel([[0, 1], [1, 0]], utilities=[[0.9, 0.1], [0.2, 0.8]])
    people: list[Any] = ["ann", 7, 2**70]
    log = Ratings.from_codes(
        np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1]), np.array([1.0, 2, 3, 4]), people=tuple(people), actions=(0, 1)
    )
    assert lpb.states_of(model, log)["person"].to_list() == ["ann", "7", str(2**70)]


def fitted_to(people: int) -> Provenance:
    """Return the provenance of a fit to people 0, 1, …."""
    return Provenance(people_sketch=sketch(range(people)))


@pytest.mark.parametrize("people", [40, 1023, 1024, 20_000])
def test_people_of_the_training_data_are_recognized(people: int) -> None:
    provenance = fitted_to(people)
    others = range(people, 2 * people)
    assert provenance.none_in_training(range(people)) is False
    assert provenance.none_in_training([str(n) for n in range(people)]) is False  # labels are hashed as text
    assert provenance.none_in_training([*others, *range(people // 4)]) is False
    assert provenance.none_in_training(others) is True


def test_too_few_people_in_the_range_of_a_full_sketch_decide_nothing() -> None:
    large = fitted_to(100_000)
    last = (large.people_sketch or ())[-1]
    beyond = next(n for n in range(100) if sketch([n])[0] > last)
    assert large.none_in_training([beyond]) is None  # although in the fit
    within = [n for n in range(10**5, 2 * 10**5) if sketch([n])[0] <= last][:100]
    assert large.none_in_training(within[:99]) is None
    assert large.none_in_training(within) is True
    assert fitted_to(40).none_in_training([]) is None
    assert Provenance.of(PreferenceModel([[0, 1]])).none_in_training(["ann"]) is None


def test_the_sketch_of_a_fit_has_no_labels() -> None:
    _, log, _ = paper_world(1, people=60, same_scale=True, rounds=20, states=2)
    named = Ratings(log.offsets, log.action, log.rating, tuple(f"person {n}" for n in range(60)), log.actions)
    model = fit_states(named.subset(np.arange(40)), TwoStage(), states=2, heldout=0, taste=False).model
    assert "person 3" not in json.dumps(model.to_dict())
    assert Provenance.of(model).none_in_training(named.people[:1]) is False
    assert Provenance.of(model).none_in_training(named.people[40:]) is True


ESTIMATORS: list[Estimator] = [
    TwoStage(scale="raw", prior_sd=2.0, restarts=3, seed=5, shrink=False),
    Em(restarts=2, tolerance=1e-5, max_steps=30, seed=2),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.method)
def test_a_model_can_be_refitted_from_its_provenance(estimator: Estimator, tmp_path: Path) -> None:
    _, log, _ = paper_world(2, people=60, same_scale=True, rounds=20, states=2)
    options: dict[str, Any] = {"pairs_per_person": 20, "heldout": 0.2, "taste": False}
    for states, most in ((2, None), ("auto", 3)):
        model = fit_states(log, estimator, states=states, max_states=most, **options).model  # type: ignore[arg-type] # "auto"
        model.save(tmp_path / "model.json")
        settings = Provenance.of(PreferenceModel.load(tmp_path / "model.json")).refit_settings()
        assert settings == (estimator, states, {**options, "max_states": most})
        assert fit_states(log, settings[0], states=settings[1], **settings[2]).model == model


def test_refit_settings_are_none_without_settings_of_a_known_method() -> None:
    _, log, _ = paper_world(2, people=20, same_scale=True, rounds=20, states=2)
    given = fit_states(log, Em(start=(0, 1) * 10), states=2, heldout=0, taste=False).model
    assert Provenance.of(given).refit_settings() is None
    for settings in (None, "x", {"method": "magic"}, {"method": ["em"]}):
        model = PreferenceModel([[0, 1]], provenance={"settings": settings})
        assert Provenance.of(model).refit_settings() is None


def test_older_models_have_their_method_in_the_report() -> None:
    content = {"settings": {"states": 3, "scale": "raw", "seed": 4}, "report": {"method": "em"}}
    settings = Provenance.from_dict(content, 1, 2).refit_settings()
    assert settings is not None
    assert settings[:2] == (Em(scale="raw", seed=4), 3)


INVALID_SETTINGS: list[tuple[str, Any]] = [
    ("states", "many"),
    ("states", None),
    ("scale", "odd"),
    ("seed", -1),
    ("prior_sd", "1"),
    ("taste", "yes"),
    ("heldout", 3),
    ("pairs_per_person", 1.5),
    ("max_states", []),
]


@pytest.mark.parametrize(("name", "value"), INVALID_SETTINGS)
def test_invalid_settings_are_refused(name: str, value: Any) -> None:
    content = {"settings": {"method": "two-stage", "states": 2} | {name: value}}
    with pytest.raises(FileFormatError, match=name):
        Provenance.from_dict(content, 1, 2).refit_settings()


def test_provenance_repeats_the_report_of_the_fit() -> None:
    _, log, _ = paper_world(2, people=60, same_scale=True, rounds=20, states=2)
    fit = fit_states(log, TwoStage(), states=2, taste=False)
    provenance, report = Provenance.of(fit.model), fit.report
    assert provenance.to_dict() == fit.model.provenance
    assert provenance.people == sum(provenance.state_people) == 60
    np.testing.assert_allclose(np.array(provenance.state_people) / 60, fit.model.prior)
    assert (provenance.heldout, provenance.heldout_people) == (report.heldout_log_likelihood, 6)
    assert provenance.ties == report.ties == 0.0
    bare = Provenance.of(PreferenceModel([[0, 1]]))
    assert (bare.people, bare.state_people, bare.heldout, bare.ties, bare.curve) == (None, (), None, None, ())


BAD_CURVES: list[Any] = ["x", ["x"], [{}], [{"states": 1, "score": "x"}]]
BAD_LISTS: list[Any] = ["x", [], [1], ["zz"], ["0" * 16] * 1100]
INVALID: list[tuple[str, dict[str, Any]]] = [
    *(("people_sketch", {"people_sketch": one}) for one in BAD_LISTS),
    *(("never_compared", {"never_compared": one}) for one in ("x", [[0]], [[0], [5]], [[0], ["1"]])),
    *(("versions", {"versions": one}) for one in ("x", {"numpy": 2})),
    ("report", {"report": "x"}),
    *(("report.people", {"report": {"people": one}}) for one in ("x", -1)),
    *(("state_people", {"report": {"state_people": one}}) for one in ([1], [1, 2, 3], [1, "2"])),
    ("report.heldout_log_likelihood", {"report": {"heldout_log_likelihood": "x"}}),
    ("report.heldout_people", {"report": {"heldout_people": 0.5}}),
    *(("report.ties", {"report": {"ties": one}}) for one in (2, True)),
    *(("report.warnings", {"report": {"warnings": one}}) for one in ("x", [3])),
    *(("report.curve", {"report": {"curve": one}}) for one in BAD_CURVES),
]


@pytest.mark.parametrize(("name", "content"), INVALID)
def test_invalid_provenance_is_refused(name: str, content: dict[str, Any]) -> None:
    with pytest.raises(FileFormatError, match=re.escape(name)):
        Provenance.of(PreferenceModel([[0, 1], [1, 0]], provenance=content))


def tied_log(share: float, people: int = 40) -> Ratings:
    """Return a log of ties, except for a share of the people."""
    rows = [(n, a, 3.0 + (a if n < share * people else 0)) for n in range(people) for a in range(2)]
    return log_from(rows)


def test_ties_are_counted_with_a_warning_if_there_is_little_else() -> None:
    rows = [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 2), (1, 0, 5), (1, 1, 5), (2, 0, 1)]
    log = log_from(rows)
    assert fit_states(log, TwoStage(), states=1, heldout=0).report.ties == pytest.approx(4 / 7)
    for share, words in ((0.0, "all comparisons are ties"), (0.025, "97.5% of comparisons are ties"), (0.1, None)):
        report = fit_states(tied_log(share), TwoStage(), states=1, heldout=0).report
        assert report.ties == pytest.approx(1 - share)
        notes = [note for note in report.warnings if "comparisons are ties" in note]
        assert [note.startswith(words or "") for note in notes] == ([True] if words else [])


def test_choosing_the_largest_candidate_gives_a_warning() -> None:
    _, log, _ = paper_world(7, people=240, same_scale=False, rounds=80, states=4)
    few = fit_states(log, TwoStage(), states="auto", max_states=2, taste=False).report
    assert [row["states"] for row in few.curve] == [1, 2]
    assert few.states == 2
    assert any(note.startswith("2 states, the most that were tried, did best") for note in few.warnings)
    more = fit_states(log, TwoStage(), states="auto", max_states=7, taste=False).report
    assert [row["states"] for row in more.curve] == [1, 2, 3, 4, 5, 6, 7]
    assert more.states == 4
    assert not any("most that were tried" in note for note in more.warnings)
    with pytest.raises(InvalidInput, match=r"max_states.*7.*states=2"):
        fit_states(log, TwoStage(), states=2, max_states=7)
    with pytest.raises(InvalidInput, match=r"max_states.*0"):
        fit_states(log, TwoStage(), states="auto", max_states=0)


def test_names_are_kept_and_counted() -> None:
    rows = [(n, a, a - 10.0) for n in range(12) for a in (10, 20, 30)]
    log = log_from(rows)
    fit = fit_states(log, TwoStage(), states=1, heldout=0, names={"10": "Heat", "30": "Ran", "77": "M"})
    assert fit.model.names == ("Heat", "20", "Ran")
    assert fit.report.named == 2
    assert not any("name" in note for note in fit.report.warnings)
    none = fit_states(log, TwoStage(), states=1, heldout=0, names={"tt10": "Heat"})
    assert none.model.names is None
    assert none.report.named == 0
    (note,) = [note for note in none.report.warnings if "name" in note]
    assert "'tt10'" in note
    assert "'10'" in note
    assert fit_states(log, TwoStage(), states=1, heldout=0).report.named is None
    for wrong in ("x", {"10": 3}, {1.5: "x"}, [("10", "Heat")]):
        with pytest.raises(InvalidInput, match="name"):
            fit_states(log, TwoStage(), states=1, names=wrong)  # type: ignore[arg-type] # invalid values


def test_a_taste_on_an_extreme_scale_is_left_out_with_a_warning() -> None:
    rng = np.random.default_rng(0)
    person, action = np.divmod(np.arange(240), 6)
    log = Ratings.from_arrays(person, action, rng.normal(size=240) * 1e90)
    fit = fit_states(log, TwoStage(), states=2, heldout=0)
    assert fit.model.taste is None
    assert any(note.startswith("no taste was fitted: log_scale") for note in fit.report.warnings)
    assert fit.model.noise is not None
    assert math.log10(fit.model.noise) == pytest.approx(90, abs=0.3)
