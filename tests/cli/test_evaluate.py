"""`lpb evaluate` and `lpb data example`: what they print, write and refuse."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from tests.logs import log_of

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of planted states, and a model of it."""
    place = tmp_path_factory.mktemp("evaluate")
    log = log_of(90, 12, states=2, noise=0.5, seed=1)
    table = {"user": [log.people[n] for n in log.owner], "item": log.action, "rating": log.rating}
    pl.DataFrame(table).write_csv(place / "log.csv")
    lpb.fit_states(log, lpb.TwoStage(), states=2).model.save(place / "model.json")
    return place


def run(*words: object) -> str:
    done = runner.invoke(app, ["evaluate", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_has_what_scripts_read(folder: Path) -> None:
    told = json.loads(run(folder / "log.csv", "--policies", "lpbts,taste,random,item-knn", "--json"))
    assert set(told["policies"]) == {"popular", "lpbts", "taste", "random", "item-knn"}
    for played in told["policies"].values():
        assert set(played["vs_popularity"]) == {"mean", "low", "high"}
        assert set(played["z"]) == {"5", "6", "10", "20"}
        assert played["z"]["20"] is None
        assert played["se"] > 0
    assert told["people"] == told["log"]["report"] == 31
    assert told["best"] in told["policies"]
    assert told["verdict"].startswith("On 31 of your 90 people")
    assert told["report"] is None
    assert told["model"] is None


def test_a_verdict_goes_into_the_model_and_changes_nothing_else(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    model.write_bytes((folder / "model.json").read_bytes())
    before = lpb.PreferenceModel.load(model)
    said = run(folder / "log.csv", "--model", model, "--policies", "taste,lpbts")
    after = lpb.PreferenceModel.load(model)
    assert after == before
    assert after.evaluation is not None
    assert after.evaluation["verdict"] in " ".join(said.split())
    assert after.evaluation["best"] == "taste"
    chosen = runner.invoke(app, ["decide", "--model", str(model), str(folder / "log.csv"), "--exclude-seen", "--json"])
    assert json.loads(chosen.stdout)["policy"] == "taste"


def test_out_has_a_report_and_a_model_to_decide_with(folder: Path, tmp_path: Path) -> None:
    said = run(folder / "log.csv", "--states", 2, "--policies", "taste", "--rounds", 3, "--out", tmp_path / "verdict")
    names = {file.name for file in (tmp_path / "verdict").iterdir()}
    charts = {f"{chart}.{kind}" for chart in ("gains", "rounds", "groups", "people") for kind in ("png", "svg")}
    assert names == {*charts, "report.html", "manifest.json", "people.parquet", "model.json"}
    people = pl.read_parquet(tmp_path / "verdict" / "people.parquet")
    assert people.columns == ["person", "ratings", "rounds", "state", "popular", "taste"]
    assert people["rounds"].to_list() == [3] * 31
    model = lpb.PreferenceModel.load(tmp_path / "verdict" / "model.json")
    assert model.n_states == 2
    assert model.evaluation is not None
    assert model.evaluation["verdict"] in (tmp_path / "verdict" / "report.html").read_text()
    assert "← best" in said
    assert "Who gains by taste, and who loses?" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policies", "no-such"], "no-such"),
        (["--policies", "lpb-duel"], "learns from duels"),
        (["--states", "many"], "states"),
        (["--scale", "loud"], "scale"),
        (["--rounds", "0"], "rounds"),
        (["--people", "0"], "people"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, words: list[str], said: str) -> None:
    done = runner.invoke(app, ["evaluate", str(folder / "log.csv"), *words])
    assert isinstance(done.exception, lpb.InvalidInput)
    assert said in str(done.exception)


def test_the_example_is_always_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = runner.invoke(app, ["data", "example", "--out", str(tmp_path / name), "--json"], catch_exceptions=False)
        assert json.loads(done.stdout)["files"] == {"ratings.csv": 15799, "titles.csv": 64, "newcomers.csv": 124}
    for file in ("ratings.csv", "titles.csv", "newcomers.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    log = lpb.read_ratings(tmp_path / "one" / "ratings.csv")
    assert (len(log.people), len(log.actions), set(log.rating.tolist())) == (600, 64, {1.0, 2.0, 3.0, 4.0, 5.0})
