"""`CovariateModel`: its formula, its validation and its JSON."""

import json
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.typing import FloatArray

SETTINGS: dict[str, Any] = {
    "columns": ["age", "sex"],
    "kinds": ["number", "text"],
    "levels": [[], ["f", "m"]],
    "means": [40.0, 0.0],
    "scales": [10.0, 1.0],
    "intercepts": [0.2, -0.1, 0.0],
    "coefficients": [[0.5, 0.1, 1.0, -1.0, 0.3], [-0.5, 0.2, 0.4, 0.1, 0.0], [0.0, 0.0, 0.0, 0.7, 0.0]],
    "factor": 0.7,
}
MODEL = lpb.CovariateModel(**SETTINGS)
PRIOR = np.array([0.5, 0.3, 0.2])


def slow_prior(age: float | None, sex: str | None, settings: dict[str, Any] = SETTINGS) -> FloatArray:
    """The plain twin of `priors` for one person."""
    sex = sex if sex in ("f", "m") else None
    if age is None and sex is None:
        return PRIOR
    scaled = 0.0 if age is None else min(max((age - 40.0) / 10.0, -4.0), 4.0)
    x = [scaled, float(age is None), float(sex == "f"), float(sex == "m"), float(sex is None)]
    score = [
        np.exp(b + np.dot(row, x)) for b, row in zip(settings["intercepts"], settings["coefficients"], strict=True)
    ]
    return np.array((1 - settings["factor"]) * PRIOR + settings["factor"] * np.array(score) / sum(score))


@pytest.mark.parametrize("age", [None, 35.0, 1e9, -1e9])
@pytest.mark.parametrize("sex", [None, "f", "m", "other"])
@pytest.mark.filterwarnings("ignore:levels of covariates:lpbandits.CovariateWarning")
def test_priors_equal_the_plain_twin(age: float | None, sex: str | None) -> None:
    np.testing.assert_allclose(MODEL.prior_for({"age": age, "sex": sex}, PRIOR), slow_prior(age, sex), rtol=1e-13)
    given = {name: value for name, value in (("age", age), ("sex", sex)) if value is not None}
    np.testing.assert_array_equal(MODEL.prior_for(given, PRIOR), MODEL.prior_for({"age": age, "sex": sex}, PRIOR))


def test_a_factor_of_0_gives_the_prior_to_the_last_bit() -> None:
    useless = lpb.CovariateModel(**{**SETTINGS, "factor": 0.0})
    prior = np.random.default_rng(0).dirichlet(np.ones(3))
    np.testing.assert_array_equal(useless.prior_for({"age": 20, "sex": "f"}, prior), prior)


def test_the_prior_of_a_person_does_not_depend_on_other_people() -> None:
    rng = np.random.default_rng(1)
    ages, sexes = (
        rng.normal(40, 10, 333),
        np.array([("f", "m", None)[i] for i in rng.integers(0, 3, 333)], dtype=object),
    )
    together = MODEL.priors({"age": ages, "sex": sexes}, 333, PRIOR)
    for i in range(333):
        np.testing.assert_array_equal(together[i], MODEL.prior_for({"age": ages[i], "sex": sexes[i]}, PRIOR))


@pytest.mark.parametrize(
    ("covariates", "match"),
    [
        ({"agee": 3}, "unknown covariate 'agee'.*age, sex.*did you mean 'age'"),
        ({"age": "40"}, r"covariates\['age'\] must be a number"),
        ({"age": float("inf")}, r"covariates\['age'\].*finite"),
        ({"sex": object()}, r"covariates\['sex'\]"),
        ([1, 2], "covariates must be a dict"),
    ],
)
def test_invalid_covariates_are_errors(covariates: Any, match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        MODEL.prior_for(covariates, PRIOR)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"columns": []}, "columns"),
        ({"columns": ["age", "age"]}, "columns.*distinct"),
        ({"kinds": ["number"]}, "kinds.*2 columns.*1"),
        ({"kinds": ["number", "date"]}, "kinds.*'date'"),
        ({"levels": [["a"], ["f", "m"]]}, "levels must be empty"),
        ({"levels": [[], ["f"]]}, "coefficients.*3×4"),
        ({"scales": [0.0, 1.0]}, r"scales\[0\]"),
        ({"intercepts": [0.0, 0.0]}, "coefficients.*2×5"),
        ({"coefficients": [[np.nan] * 5] * 3}, "coefficients"),
        ({"factor": 1.0}, "factor.*0.98"),
    ],
)
def test_invalid_settings_are_errors(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        lpb.CovariateModel(**{**SETTINGS, **changes})
    with pytest.raises(lpb.FileFormatError, match="covariates"):
        lpb.CovariateModel.from_dict({**MODEL.to_dict(), **changes})


def test_a_model_with_covariates_is_stored_in_version_4() -> None:
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0], [1, 0, 2]], covariates=MODEL)
    content = json.loads(json.dumps(model.to_dict()))
    assert content["version"] == 4
    assert content["covariates"] == SETTINGS
    again = lpb.PreferenceModel.from_dict(content)
    assert again == model
    assert again.covariates == MODEL
    assert hash(again.covariates) == hash(MODEL)
    assert model.replace(covariates=None) != model
    with pytest.raises(lpb.InvalidInput, match=r"covariates must have 2 states.*3"):
        lpb.PreferenceModel([[0, 1], [1, 0]], covariates=MODEL)
    with pytest.raises(lpb.InvalidInput, match="covariates must be a CovariateModel"):
        lpb.PreferenceModel([[0, 1], [1, 0]], covariates=SETTINGS)  # type: ignore[arg-type] # that is the point
    with pytest.raises(lpb.FileFormatError, match="covariates must be an object"):
        lpb.CovariateModel.from_dict({"columns": ["age"]})
