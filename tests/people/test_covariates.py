"""Tables of covariates: kinds of columns, missing values, and the same priors as for one person."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.data.columns.cells import BLANKS
from lpbandits.model_parts.covariates import MISSING
from lpbandits.people.covariates import MAX_COVARIATES, CovariateTable, covariate_priors

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
    {"person": "bo", "age": None, "sex": "m", "member": False},
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


def test_unknown_levels_are_missing_with_one_warning() -> None:
    frame = pl.DataFrame({"person": range(5), "sex": ["f", "M", "M", "x", None], "member": ["1", "0", "", "", ""]})
    frame = frame.with_columns(age=pl.lit(None))
    with pytest.warns(lpb.CovariateWarning) as caught:
        rows = covariate_priors(frame, MODEL).rows
    assert len(caught) == 1
    for words in ("count as missing", "sex has 'M' (2), 'x' (1) (did you mean 'm'?)", "correct them"):
        assert words in str(caught[0].message)
    known = covariate_priors(frame.with_columns(sex=pl.Series(["f", None, None, None, None])), MODEL).rows
    np.testing.assert_array_equal(rows, known)
    np.testing.assert_array_equal(rows[3], MODEL.prior)
    with pytest.warns(lpb.CovariateWarning, match=r"sex has 'x' \(1\)") as caught:
        agent = lpb.Agent(lpb.LpbTS(MODEL), seed=0, covariates={"sex": "x"})
    np.testing.assert_array_equal(agent.prior, MODEL.prior)
    many = pl.DataFrame({"person": range(6), "sex": list("abbcde"), "age": [30] * 6, "member": [1] * 6})
    with pytest.warns(lpb.CovariateWarning, match=r"'b' \(2\), 'a' \(1\), 'c' \(1\) and 2 more"):
        covariate_priors(many, MODEL)
    unused = MODEL.replace(covariates=lpb.CovariateModel(**{**SETTINGS, "factor": 0.0}))
    many = many.drop("age")
    assert covariate_priors(many, unused).rows.tolist() == [MODEL.prior.tolist()] * 6  # no warning


def test_dates_are_left_out_by_name(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(
        "person,born,seen,visit,born_year,note\n"
        "ann,1980-01-02,2.1.80,2024-05-01T12:00Z,1980,1-2 pills\n"
        "bo,,31/12/1999,2024-05-01 09:30,1999,2.5.1\n"
    )
    table = CovariateTable.read(path)
    assert dict(table.kinds) == {"born_year": "number", "note": "text"}
    assert set(table.left_out) == {"born", "seen", "visit"}
    assert all("dates; give an age" in why for why in table.left_out.values())


@pytest.mark.filterwarnings("ignore:the table of people has no column")
def test_too_many_columns_are_an_error() -> None:
    frame = pl.DataFrame({"person": [1], **{f"x{i}": [0] for i in range(MAX_COVARIATES + 1)}})
    with pytest.raises(lpb.InvalidInput, match=r"at most 100 columns of covariates, got 101; keep"):
        CovariateTable.read(frame)
    CovariateTable.read(frame.drop("x0"))
    covariate_priors(frame.rename({"x0": "age"}), MODEL)  # only the columns of the model are read


@pytest.mark.filterwarnings("ignore:the table of people has no column")
@pytest.mark.parametrize("ages", [["41,5", "38,25"], ["41,5", "38"], ["1.041,5", "38,0"], ["41.5", "38,5"]])
def test_decimal_commas_are_an_error_with_a_remedy_that_works(ages: list[str], tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("person;age\n" + "".join(f"{n};{age}\n" for n, age in enumerate(ages)))
    first = next(age for age in ages if "," in age)
    plain = first.replace(".", "").replace(",", ".")
    words = (
        rf"'age' is '{first}', not a number .*write {plain}, or read decimal commas in all tables \(--decimal-comma\)"
    )
    for call in (CovariateTable.read, lambda path: covariate_priors(path, MODEL)):
        with pytest.raises(lpb.InvalidInput, match=words):
            call(tmp_path / "people.csv")
    if "41.5" not in ages:
        table = CovariateTable.read(tmp_path / "people.csv", decimal_comma=True)
        assert dict(table.kinds) == {"age": "number"}
        assert len(covariate_priors(tmp_path / "people.csv", MODEL, decimal_comma=True).rows) == 2


def test_columns_that_the_model_lacks_are_ignored_and_those_of_the_table_are_missing() -> None:
    frame = pl.DataFrame({"person": [1], "sex": ["f"], "height": ["tall"]})
    with pytest.warns(lpb.CovariateWarning, match="no column 'age', 'member'; these covariates of the model count"):
        priors = covariate_priors(frame, MODEL)
    np.testing.assert_array_equal(priors.rows[0], MODEL.prior_for({"sex": "f"}))
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


@pytest.mark.filterwarnings("ignore:the table of people has no column")
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
