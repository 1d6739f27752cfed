"""Test the provenance of a model."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpbandits.data import Ratings
from lpbandits.errors import FileFormatError
from lpbandits.fit import Em, Mixture, TwoStage, fit_states
from lpbandits.fit.methods.estimator import Estimator
from lpbandits.fit.provenance import Provenance
from lpbandits.model import PreferenceModel
from tests.synthetic_recovery import log_from, paper_world, quick_fit


def test_a_model_reveals_no_label_of_a_person() -> None:
    """Labels are enumerable, so neither they nor hashes of them may be in the file; equal ratings give equal files."""
    log = log_from((n, a, (7 * n + a) % 5) for n in range(40) for a in range(6))
    named = Ratings(log.offsets, log.action, log.rating, tuple(f"person {n}" for n in range(40)), log.actions)
    stored = [quick_fit(one, states=2, taste=True).model.to_dict() for one in (log, named)]
    assert "person 3" not in json.dumps(stored[1])
    for content in stored:
        del content["sha256"], content["provenance"]["data_sha256"]  # of all labels and ratings together
    assert stored[0] == stored[1]


ESTIMATORS: list[Estimator] = [
    TwoStage(scale="raw", prior_sd=2.0, restarts=3, seed=5, shrink=False),
    Mixture(restarts=2, tolerance=1e-5, max_steps=30, seed=2),
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
    given = quick_fit(log, Em(start=(0, 1) * 10), states=2).model
    assert Provenance.of(given).refit_settings() is None
    for settings in (None, "x", {"method": "magic"}, {"method": ["em"]}):
        model = PreferenceModel([[0, 1]], provenance={"settings": settings})
        assert Provenance.of(model).refit_settings() is None


def read(content: dict[str, Any]) -> Provenance:
    return Provenance.of(PreferenceModel([[0, 1], [1, 0]], provenance=content))


def test_older_models_have_their_method_in_the_report() -> None:
    content = {"settings": {"states": 3, "scale": "raw", "seed": 4}, "report": {"method": "em"}}
    settings = read(content).refit_settings()
    assert settings is not None
    assert settings[:2] == (Em(scale="raw", seed=4), 3)


def test_provenance_repeats_the_report_of_the_fit() -> None:
    _, log, _ = paper_world(2, people=60, same_scale=True, rounds=20, states=2)
    fit = quick_fit(log, states=2, heldout=0.1)
    provenance = Provenance.of(fit.model)
    for name in ("method", "people", "heldout_log_likelihood", "heldout_people", "ties"):
        assert getattr(provenance, name) == getattr(fit.report, name)
    assert list(provenance.state_people) == fit.report.state_people
    np.testing.assert_allclose(np.array(provenance.state_people) / 60, fit.model.prior)
    assert Provenance.of(PreferenceModel([[0, 1]])) == Provenance(settings=None)


INVALID: dict[str, list[Any]] = {
    "never_compared": ["x", [[0]], [[0], [5]], [[0], ["1"]]],
    "versions": ["x"],
    "report": ["x"],
    "report.people": ["x", -1],
    "report.state_people": [[1], [1, 2, 3], [1, "2"]],
    "report.heldout_log_likelihood": ["x"],
    "report.heldout_people": [0.5],
    "report.ties": [2, True],
    "report.warnings": ["x", [3]],
    "report.curve": ["x", ["x"], [{}], [{"states": 1, "score": "x"}]],
    "settings.states": ["many", None],
    "settings.scale": ["odd"],
    "settings.seed": [-1],
    "settings.prior_sd": ["1"],
    "settings.taste": ["yes"],
    "settings.heldout": [3],
    "settings.pairs_per_person": [1.5],
    "settings.max_states": [[]],
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_provenance_is_refused(name: str) -> None:
    parent, _, key = name.rpartition(".")
    others = {"settings": {"method": "two-stage", "states": 2}}.get(parent, {})
    for value in INVALID[name]:
        with pytest.raises(FileFormatError, match=name.replace(".", ".*")):
            read({parent: {**others, key: value}} if parent else {key: value}).refit_settings()


def test_ties_are_counted_with_a_warning_if_there_is_little_else() -> None:
    rows = [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 2), (1, 0, 5), (1, 1, 5), (2, 0, 1)]
    assert quick_fit(log_from(rows)).report.ties == pytest.approx(4 / 7)
    for share, words in ((0.0, "all comparisons are ties"), (0.025, "97.5% of comparisons are ties"), (0.1, None)):
        log = log_from((n, a, 3.0 + (a if n < share * 40 else 0)) for n in range(40) for a in range(2))
        report = quick_fit(log).report
        assert report.ties == pytest.approx(1 - share)
        notes = [note for note in report.warnings if "comparisons are ties" in note]
        assert [note.startswith(words or "") for note in notes] == ([True] if words else [])


def test_choosing_the_largest_candidate_gives_a_warning() -> None:
    _, log, _ = paper_world(7, people=240, same_scale=False, rounds=80, states=4)
    report = fit_states(log, TwoStage(), states="auto", max_states=2, taste=False).report
    assert [row["states"] for row in report.curve] == [1, 2]
    assert report.states == 2
    assert any(note.startswith("2 states, the most that were tried") for note in report.warnings)


def test_names_are_kept_and_counted() -> None:
    log = log_from((n, a, a - 10.0) for n in range(12) for a in (10, 20, 30))
    fit = quick_fit(log, names={"10": "Heat", "30": "Ran", "77": "M"})
    assert fit.model.names == ("Heat", "20", "Ran")
    assert fit.report.named == 2
    assert not any("name" in note for note in fit.report.warnings)
    none = quick_fit(log, names={"tt10": "Heat"})
    assert none.model.names is None
    assert none.report.named == 0
    (note,) = [note for note in none.report.warnings if "name" in note]
    assert "'tt10'" in note
    assert "'10'" in note
    assert quick_fit(log).report.named is None


def test_a_taste_on_an_extreme_scale_is_left_out_with_a_warning() -> None:
    rng = np.random.default_rng(0)
    person, action = np.divmod(np.arange(240), 6)
    log = Ratings.from_arrays(person, action, rng.normal(size=240) * 1e90)
    fit = quick_fit(log, states=2, taste=True)
    assert fit.model.taste is None
    assert any(note.startswith("no taste model was fitted: log_scale") for note in fit.report.warnings)
    assert fit.model.noise is not None
    assert math.log10(fit.model.noise) == pytest.approx(90, abs=0.3)
