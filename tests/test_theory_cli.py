"""`lpb bound` and `lpb simulate --feedback duel`: shapes, files and errors."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.errors import InvalidInput

runner = CliRunner()
SMALL = ["--states", "3", "--actions", "4", "--people", "3"]


def test_bound_json_has_the_promised_shape() -> None:
    done = runner.invoke(app, ["bound", *SMALL, "--json"], catch_exceptions=False)
    content = json.loads(done.stdout)
    assert set(content["bounds"]) == {"plain", "preference", "latent"}
    assert set(content["printed"]) == {"preference", "latent"}
    assert content["largest_gap"] < 1e-4
    assert len(content["people"]) == 3
    people = lpb.SyntheticWorld(states=3, actions=4).draw(people=1, seed=0, draw=2)
    own = lpb.lower_bound(people.model, 0, people.means[0])
    assert content["people"][2]["preference"] == own.value
    assert content["people"][2]["rates"] == own.rates.tolist()


def test_bound_of_a_model_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[3, 2, 1], [1, 2, 3]]).save(path)
    text = runner.invoke(app, ["bound", "--model", str(path)], catch_exceptions=False).stdout
    assert "latent preference bandit" in text
    args = ["bound", "--model", str(path), "--state", "1", "--means", "0,1,2", "--noise", "2", "--json"]
    content = json.loads(runner.invoke(app, args, catch_exceptions=False).stdout)
    assert content["bounds"]["plain"]["mean"] == pytest.approx(12.0)
    assert content["people"][0]["confusing_state"] == 0


def test_bound_writes_charts_and_a_report(tmp_path: Path) -> None:
    out = tmp_path / "bounds"
    measured = ["--policies", "lpbts,ts", "--rounds", "100", "--repeats", "2", "--against", "gap", "--out", str(out)]
    done = runner.invoke(app, ["bound", *SMALL, *measured], catch_exceptions=False)
    assert "lpbTS, measured" in done.stdout
    for name in ("people", "rates", "against-gap", "room-gap", "neighbour"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    table = pl.read_parquet(out / "against-gap.parquet")
    assert set(table["kind"]) == {"bound-plain", "bound-preference", "lpbts", "ts"}
    report = (out / "report.html").read_text()
    assert "The room above the bound" in report
    assert not re.search(r'(src|href)="https?:', report)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--against", "noise"], "against is 'noise'; choose one of: size, states, gap"),
        (["--state", "1"], "--model model.json"),
        (["--model", "missing.json"], "missing.json"),
        (["--model", "m.json", "--policies", "ts"], "random people"),
        (["--policies", "nope"], "policy is 'nope'"),
        (["--people", "0"], "people is 0"),
    ],
)
def test_bound_errors(arguments: list[str], words: str) -> None:
    done = runner.invoke(app, ["bound", *arguments])
    assert isinstance(done.exception, InvalidInput | lpb.FileFormatError)
    assert words in str(done.exception)


def test_simulate_duels_json() -> None:
    args = ["simulate", "--feedback", "duel", *SMALL, "--rounds", "20", "--seed", "3", "--json"]
    content = json.loads(runner.invoke(app, args, catch_exceptions=False).stdout)
    assert list(content["policies"]) == ["lpb-duel", "double-ts"]
    results = lpb.simulate_duels(lpb.SyntheticWorld(states=3, actions=4), people=3, rounds=20, seed=3)
    assert content["policies"] == results.to_dict()["policies"]
    for result in content["policies"].values():
        assert set(result["weak_regret"]) == set(result["regret"]) == {"mean", "sd", "se", "p05", "p50", "p95"}
        assert result["weak_regret"]["mean"] <= result["regret"]["mean"]
        assert len(result["curve"]) == 20


def test_simulate_duels_writes_its_report(tmp_path: Path) -> None:
    args = ["simulate", "--feedback", "duel", "--comparison", "bradley-terry", *SMALL, "--rounds", "20"]
    done = runner.invoke(app, [*args, "--out", str(tmp_path / "duels")], catch_exceptions=False)
    assert "weak regret" in done.stdout
    assert "weak_regret" in pl.read_parquet(tmp_path / "duels" / "people.parquet").columns
    manifest = json.loads((tmp_path / "duels" / "manifest.json").read_text())
    assert manifest["settings"]["comparison"] == "bradley-terry"


def test_the_example_of_the_theory_page_runs() -> None:
    text = (Path(__file__).parent.parent / "docs" / "theory.md").read_text()
    names: dict[str, object] = {}
    exec(compile(text.split("```python\n")[1].split("```")[0], "theory.md", "exec"), names)  # noqa: S102 - ours
    assert isinstance(names["b"], lpb.LowerBound)
