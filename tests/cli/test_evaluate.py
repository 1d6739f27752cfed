"""`lpb evaluate` and `lpb data example`: output, files and errors."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.evaluation import Evaluation
from lpbandits.typing import Json
from tests.cli.invoke import error_of, json_output, output
from tests.fuzz.commands import run
from tests.logs import log_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold a log with two states, and its model."""
    place = tmp_path_factory.mktemp("evaluate")
    log = log_of(90, 12, states=2, noise=0.3, seed=1)
    table = {"user": [log.people[n] for n in log.owner], "item": log.action, "rating": log.rating}
    pl.DataFrame(table).write_csv(place / "log.csv")
    lpb.fit_states(log, lpb.TwoStage(), states=2).model.save(place / "model.json")
    return place


def test_json_output(folder: Path) -> None:
    content = json_output("evaluate", folder / "log.csv", "--policies", "lpbts,taste,random,item-knn")
    assert set(content["policies"]) == {"popular", "lpbts", "taste", "random", "item-knn"}
    for score in content["policies"].values():
        assert set(score["vs_popularity"]) == {"mean", "low", "high"}
        assert set(score["z"]) == {"5", "6", "10", "20"}
        assert score["z"]["20"] is None
        assert score["se"] > 0
    assert content["people"] == content["log"]["report"] == 90
    assert content["best"] in content["policies"]
    assert content["verdict"].startswith("On 90 people (of 90), each held out in 2 of 6 splits")
    assert (content["report"], content["model"]) == (None, None)


def test_verdict_is_written_into_the_model(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes((folder / "model.json").read_bytes())
    before = lpb.PreferenceModel.load(path)
    text = output("evaluate", folder / "log.csv", "--model", path, "--policies", "taste,lpbts")
    after = lpb.PreferenceModel.load(path)
    assert after == before
    assert after.evaluation is not None
    assert after.evaluation["verdict"] in text.splitlines()
    assert re.search(r"^\d+% of the people would .*by chance\.\)$", text, re.M), "not wrapped without a terminal"
    assert after.evaluation["best"] == "taste"
    assert json_output("decide", "--model", path, folder / "log.csv", "--exclude-seen")["policy"] == "taste"


@pytest.mark.parametrize("change", ["another model", "another verdict", "removed", "damaged"])
def test_a_model_that_changed_meanwhile_is_kept_and_the_result_is_printed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = tmp_path / "model.json"
    path.write_bytes((folder / "model.json").read_bytes())
    original = Evaluation.note

    def note(self: Evaluation) -> Json:
        model = lpb.PreferenceModel.load(path)
        if change == "another model":
            model.replace(prior=[0.25, 0.75]).save(path)
        elif change == "another verdict":
            model.replace(evaluation={"best": "popular"}).save(path)
        else:
            path.unlink() if change == "removed" else path.write_text("{")
        changed.append(path.read_bytes() if path.exists() else None)
        return original(self)

    changed: list[bytes | None] = []
    monkeypatch.setattr(Evaluation, "note", note)
    out = tmp_path / "verdict"
    words = ["--model", str(path), "--policies", "taste", "--rounds", "3", "--out", str(out), "--json"]
    code, text, error = run(["evaluate", str(folder / "log.csv"), *words])
    assert (code, error.count("\n")) == (2, 1)
    assert "verdict" in error
    assert str(path) in error
    assert [path.read_bytes() if path.exists() else None] == changed
    content = json.loads(text)
    assert (content["best"], content["model"]) == ("taste", None)
    assert (out / "manifest.json").is_file()


def test_a_folder_without_its_model_has_no_manifest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(Evaluation, "refit", killed)
    words = ("--states", 2, "--policies", "taste", "--rounds", 3, "--out", tmp_path)
    assert "killed" in str(error_of("evaluate", folder / "log.csv", *words))
    assert list(tmp_path.iterdir()) == []


def test_report_and_model_are_written(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "verdict"
    text = output("evaluate", folder / "log.csv", "--states", 2, "--policies", "taste", "--rounds", 3, "--out", out)
    charts = {f"{chart}.{kind}" for chart in ("gains", "rounds", "groups", "people") for kind in ("png", "svg")}
    names = {file.name for file in out.iterdir()}
    assert names == {*charts, "report.html", "manifest.json", "people.parquet", "model.json"}
    assert {*json.loads((out / "manifest.json").read_text())["files"], "manifest.json"} == names
    people = pl.read_parquet(out / "people.parquet")
    assert people.columns == ["person", "ratings", "rounds", "state", "popular", "taste"]
    assert people["rounds"].to_list() == [3] * 90
    model = lpb.PreferenceModel.load(out / "model.json")
    assert model.n_states == 2
    assert model.evaluation is not None
    assert model.evaluation["verdict"] in (out / "report.html").read_text()
    assert "← best" in text
    assert "Gain of taste by group" in text


def test_example_is_deterministic(tmp_path: Path) -> None:
    for name in ("one", "two"):
        files = json_output("data", "example", "--out", tmp_path / name)["files"]
        assert files == {"ratings.csv": 15799, "titles.csv": 64, "newcomers.csv": 124}
    for file in ("ratings.csv", "titles.csv", "newcomers.csv"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    log = lpb.read_ratings(tmp_path / "one" / "ratings.csv")
    assert (len(log.people), len(log.actions), set(log.rating.tolist())) == (600, 64, {1.0, 2.0, 3.0, 4.0, 5.0})
