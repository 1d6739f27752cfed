"""Tables of covariates: kinds of columns, missing values, and the same priors as for one person."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.data.columns.cells import BLANKS
from lpbandits.model_parts.covariates import MISSING
from lpbandits.people.covariates import CovariateTable, covariate_priors

SETTINGS: dict[str, Any] = {
    "columns": ["age", "sex", "member"],
    "kinds": ["number", "text", "number"],
    "levels": [[], ["f", "m"], []],
    "means": [40, 0, 0.5],
    "scales": [10, 1, 0.5],
    "intercepts": [0.1, -0.1],
    "coefficients": [[0.5, 0.3, 1.0, -1.0, 0.2, 0.4, 0.1], [-0.5, 0, -1.0, 1.0, 0, -0.4, 0]],
    "factor": 0.8,
}
COVARIATES = lpb.CovariateModel(**SETTINGS)
MODEL = lpb.PreferenceModel([[0, 1], [1, 0]], prior=[0.6, 0.4], covariates=COVARIATES)
PEOPLE: list[dict[str, Any]] = [
    {"person": "ann", "age": 41.0, "sex": "f", "member": True},
    {"person": "bo", "age": None, "sex": "x", "member": False},
    {"person": "cy", "age": 400.0, "sex": None, "member": None},
    {"person": "di", "age": None, "sex": None, "member": None},
]


def test_missing_values_are_the_words_of_a_log() -> None:
    assert MISSING == BLANKS


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_a_table_gives_the_priors_of_its_people_one_by_one(form: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(PEOPLE)
    source: Any = frame
    if form == "csv":
        source = tmp_path / "people.csv"
        text = frame.with_columns(pl.col("member").cast(pl.Int8), age=pl.Series(["41", " n/a", "4e2", ""]))
        text.write_csv(source)
    elif form == "parquet":
        source = tmp_path / "people.parquet"
        frame.with_columns(pl.col("sex").cast(pl.Categorical)).write_parquet(source)
    rows = covariate_priors(source, MODEL).rows
    for p, person in enumerate(PEOPLE):
        covariates = {name: person[name] for name in COVARIATES.columns}
        np.testing.assert_array_equal(rows[p], MODEL.prior_for(covariates))
        agent = lpb.Agent(lpb.LpbTS(MODEL), seed=0, covariates=covariates)
        np.testing.assert_array_equal(agent.posterior, rows[p])
    assert rows[3].tolist() == MODEL.prior.tolist()


def test_columns_that_the_model_lacks_are_ignored_and_those_of_the_table_are_missing() -> None:
    frame = pl.DataFrame({"person": [1], "sex": ["f"], "height": ["tall"]})
    np.testing.assert_array_equal(covariate_priors(frame, MODEL).rows[0], MODEL.prior_for({"sex": "f"}))
    nothing = covariate_priors(pl.DataFrame({"person": [1]}), MODEL)
    assert nothing.rows.tolist() == [MODEL.prior.tolist()]


def test_kinds_are_detected() -> None:
    frame = pl.DataFrame(
        {
            "person": [1, 2, 3],
            "a": ["1", "-", "2.5"],
            "b": ["1", "x", ""],
            "c": [1, None, 3],
            "d": [True, False, None],
            "e": [None, None, None],
            "f": pl.Series([1, 2, 3], dtype=pl.Date),
        }
    )
    table = CovariateTable.read(frame)
    assert dict(table.kinds) == {"a": "number", "b": "text", "c": "number", "d": "number", "e": "number"}
    assert table.values["b"].tolist() == ["1", "x", None]
    np.testing.assert_array_equal(table.values["d"], [1.0, 0.0, np.nan])
    assert "Date" in table.left_out["f"]
    comma = CovariateTable.read(pl.DataFrame({"person": [1], "a": ["1,5"]}), decimal_comma=True)
    assert comma.values["a"].tolist() == [1.5]


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({"person": [1, 2], "age": ["40", "old"]}, r"row 2: 'age' is 'old', not a number"),
        ({"person": [1, 2], "age": ["40", "4,5"]}, r"row 2: 'age' is '4,5', not a number.*--decimal-comma"),
        ({"person": [1, 2], "age": [40.0, float("inf")]}, r"row 2: 'age' is inf, not a number"),
        ({"person": [1, 1], "age": ["40", "41"]}, r"row 2: the person has other values in an earlier row"),
        ({"person": [1, None], "age": ["40", "41"]}, r"row 2: person is missing"),
        ({"age": [40]}, "person"),
    ],
)
def test_an_invalid_table_is_an_error_that_names_the_row(columns: dict[str, Any], match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        covariate_priors(pl.DataFrame(columns), MODEL)


def test_equal_rows_count_once() -> None:
    frame = pl.DataFrame({"person": [1, 1], "age": ["40", "40"]})
    assert len(covariate_priors(frame, MODEL).people) == 1


def test_a_model_without_covariates_is_an_error() -> None:
    bare = MODEL.replace(covariates=None)
    for call in (
        lambda: covariate_priors(pl.DataFrame(PEOPLE), bare),
        lambda: bare.prior_for({"age": 3}),
        lambda: lpb.Agent(lpb.LpbTS(bare), seed=0, covariates={}),
    ):
        with pytest.raises(lpb.InvalidInput, match="must have covariates; fit it with a table of people"):
            call()


def test_a_mistyped_number_is_an_error() -> None:
    ages = [str(20 + n) for n in range(29)] + ["unknown age"]
    with pytest.raises(lpb.InvalidInput, match=r"age.*'unknown age'"):
        CovariateTable.read(pl.DataFrame({"person": range(30), "age": ages}))
