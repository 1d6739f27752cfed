"""`lpb fit`, `lpb decide` and `lpb evaluate` with a table of people."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from tests.cli.invoke import error_of, json_output, output

PEOPLE = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a log of two states, a table of people that tells the state, and a model of both."""
    path, rng = tmp_path_factory.mktemp("covariates"), np.random.default_rng(4)
    z, k = np.arange(PEOPLE) % 2, 8
    means = np.where(z[:, None] == 1, np.arange(k), np.arange(k)[::-1]) + 2.0 * rng.normal(size=(PEOPLE, k))
    rows = [(f"p{n}", f"a{a}", round(means[n, a], 2)) for n in range(PEOPLE) for a in range(k)]
    pl.DataFrame(rows, schema=["person", "action", "rating"], orient="row").write_csv(path / "log.csv")
    people = {
        "user": [f"p{n}" for n in range(PEOPLE - 10)] + ["x", "y"],
        "sex": ["m" if n % 2 else "f" for n in range(PEOPLE - 8)],
    }
    names = {"name": [f"name {n}" for n in range(PEOPLE - 8)]}
    pl.DataFrame({**people, **names}).write_csv(path / "people.csv")
    content = json_output(
        "fit", path / "log.csv", "--states", 2, "--people", path / "people.csv", "--out", path / "m.json"
    )
    assert content["covariates"]["people"] == PEOPLE - 10
    assert (content["covariates"]["without"], content["covariates"]["others"]) == (10, 2)
    assert list(content["covariates"]["left_out"]) == ["name"]
    return path


def test_fit_says_whether_covariates_help(folder: Path, tmp_path: Path) -> None:
    model = lpb.PreferenceModel.load(folder / "m.json")
    assert model.covariates is not None
    assert model.covariates.columns == ("sex",)
    assert abs(float(model.prior_for({"sex": "m"})[0] - model.prior_for({"sex": "f"})[0])) > 0.8
    text = output("fit", folder / "log.csv", "--states", 2, "--people", folder / "people.csv")
    assert "Covariates (sex): covariates help" in text
    assert "people of the log without covariates: 10" in text
    assert "column name is not used" in text
    pl.DataFrame({"person": ["p0"], "sex": ["m"]}).write_csv(tmp_path / "one.csv")
    text = output("fit", folder / "log.csv", "--states", 2, "--people", tmp_path / "one.csv")
    assert "no usable column" in text
    assert "Covariates" not in output("fit", folder / "log.csv", "--states", 2)


def test_decide_uses_the_covariates_of_new_people(folder: Path) -> None:
    (folder / "history.csv").write_text("person,action,reward\np0,a0,1\n")
    (folder / "new.csv").write_text("person,sex\nann,m\nbo,f\ncy,\n")
    model = lpb.PreferenceModel.load(folder / "m.json")
    arguments = ["decide", "--model", folder / "m.json", folder / "history.csv", "--people", folder / "new.csv"]
    output(*arguments, "--policy", "lpbts", "--out", folder / "decisions.csv")
    table = pl.read_csv(folder / "decisions.csv")
    for person, covariates in (("ann", {"sex": "m"}), ("bo", {"sex": "f"}), ("cy", {})):
        agent = lpb.Agent(lpb.policy(model, "lpbts"), seed=0, person=person, covariates=covariates)
        row = table.row(by_predicate=pl.col("person") == person, named=True)
        assert row["action"] == agent.ask()
        np.testing.assert_allclose(row["probability"], agent.probabilities()[model.index[row["action"]]], rtol=1e-12)


def test_evaluate_says_whether_covariates_help(folder: Path) -> None:
    arguments = [
        "evaluate",
        folder / "log.csv",
        "--states",
        2,
        "--policies",
        "lpbts",
        "--people",
        folder / "people.csv",
    ]
    text = output(*arguments)
    assert "Covariates help: they change the score of lpbTS by +" in text
    content = json_output(*arguments, "--max-people", 60)
    assert content["people"] == 60
    assert content["covariates"]["policy"] == "lpbts"
    assert content["covariates"]["sentence"].startswith("Covariates")


def test_an_invalid_table_is_an_error_before_the_fit(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n3\n")
    assert "--max-people 500" in str(error_of("evaluate", folder / "log.csv", "--people", 500))
    for command in ("fit", "evaluate"):
        assert "person" in str(error_of(command, folder / "log.csv", "--people", tmp_path / "people.csv"))
