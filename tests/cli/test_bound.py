"""`lpb bound`: output and files."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import lpbandits as lpb
from tests.cli.invoke import json_output, output

SMALL = ["--states", "3", "--actions", "4", "--people", "3"]


def test_bound_json_equals_the_library() -> None:
    content = json_output("bound", *SMALL)
    assert set(content["bounds"]) == {"plain", "preference", "latent"}
    assert set(content["printed"]) == {"preference", "latent"}
    assert content["largest_gap"] < 1e-4
    assert len(content["people"]) == 3
    people = lpb.SyntheticWorld(states=3, actions=4).draw(people=1, seed=0, draw=2)
    bound = lpb.theory.lower_bound(people.model, 0, people.means[0])
    assert content["people"][2]["preference"] == bound.value
    assert content["people"][2]["rates"] == bound.rates.tolist()


def test_bound_of_a_model_file(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[3, 2, 1], [1, 2, 3]]).save(path)
    assert "latent preference bandit" in output("bound", "--model", path)
    content = json_output("bound", "--model", path, "--state", "1", "--means", "0,1,2", "--noise", "2")
    assert content["bounds"]["plain"]["mean"] == pytest.approx(12.0)
    assert content["people"][0]["confusing_state"] == 0


def test_unknown_and_infinite_bounds_differ(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel([[0, 1, 2], [1, 0, 2]], actions=["rest", "walk", "swim"]).save(path)
    args = ["bound", "--model", path, "--state", "0", "--means", "3,2,1"]
    text = output(*args, "--out", tmp_path / "out")
    latent = next(line for line in text.splitlines() if "latent bandit" in line)
    assert "infinite" not in latent
    assert "infinite" in next(line for line in text.splitlines() if "latent preference bandit" in line)
    content = json_output(*args)
    assert content["printed"]["preference"]["infinite"] == 1
    assert content["printed"]["latent"]["infinite"] == 0
    assert content["people"][0]["printed"] == {"preference": None, "latent": None}
    table = pl.read_parquet(tmp_path / "out" / "people.parquet")
    assert table["printed"].is_infinite().all()
    assert table["latent_printed"].is_nan().all()
    rates = (tmp_path / "out" / "rates.svg").read_text()
    assert "walk" in rates
    assert "the best action, rest, is played without limit" in rates
    assert "1 of 1 infinite" in (tmp_path / "out" / "people.svg").read_text()


def test_bound_writes_charts_and_a_report(tmp_path: Path) -> None:
    out = tmp_path / "bounds"
    measured = ["--policies", "lpbts,ts", "--rounds", "100", "--repeats", "2", "--against", "gap", "--out", out]
    assert "lpbTS, measured" in output("bound", *SMALL, *measured)
    for name in ("people", "rates", "against-gap", "room-gap", "neighbour"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert pl.read_parquet(out / "people.parquet").columns[-2:] == ["growth_lpbts", "growth_ts"]
    manifest = json.loads((out / "manifest.json").read_text(), parse_constant=pytest.fail)
    assert manifest["format"] == "lpbandits-bounds"
    assert [row["value"] for row in manifest["against"]["gap"]] == [0.1, 0.2, 0.5, 1.0]
    table = pl.read_parquet(out / "against-gap.parquet")
    assert set(table["kind"]) == {"bound-plain", "bound-preference", "lpbts", "ts"}
    report = (out / "report.html").read_text()
    assert "Growth of regret over the bound" in report
    assert not re.search(r'(src|href)="https?:', report)
