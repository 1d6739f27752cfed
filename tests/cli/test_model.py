"""`lpb model new`."""

import json
from pathlib import Path

import pytest

import lpbandits as lpb
from tests.cli.invoke import error_of, json_output, output

TABLE = "expert,share,ordering\nann,2,tea > jam = egg\nbo,1,egg > tea > jam\ncy,1,tea > egg = jam\n"


@pytest.fixture
def experts(tmp_path: Path) -> Path:
    path = tmp_path / "experts.csv"
    path.write_text(TABLE)
    return path


def test_a_model_from_experts_is_that_of_the_library(experts: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    content = json_output("model", "new", "--from", experts, "--out", out)
    model = lpb.PreferenceModel.load(out)
    assert model == lpb.model_from_experts(experts)
    assert content == {
        "actions": ["tea", "jam", "egg"],
        "states": [
            {"state": 0, "name": "ann, cy", "share": 0.75, "ordering": [["tea"], ["jam", "egg"]]},
            {"state": 1, "name": "bo", "share": 0.25, "ordering": [["egg"], ["tea"], ["jam"]]},
        ],
        "experts": 3,
        "layout": "text",
        "sum_of_shares": 4.0,
        "unranked": {},
        "out": str(out),
    }
    assert json.loads(out.read_text())["version"] == 4


def test_the_states_are_shown_with_tiers_shares_and_the_next_command(experts: Path, tmp_path: Path) -> None:
    text = output("model", "new", "--from", experts, "--out", tmp_path / "model.json")
    for words in ("3 experts", "tea > {jam, egg}", "egg > tea > jam", "ann, cy", "75%", "sum, 4.00", "lpb inspect"):
        assert words in text
    assert "not saved" in output("model", "new", "--from", experts)


def test_unranked_actions_and_missing_shares_are_stated(experts: Path) -> None:
    experts.write_text("expert,rank1,rank2\nann,tea,jam\nbo,tea,\n")
    text = output("model", "new", "--from", experts, "--unranked", "last")
    for words in ("Not ranked by bo, so in the last tier: jam", "same share", "All experts agree"):
        assert words in text
    assert "bo does not rank 'jam'" in str(error_of("model", "new", "--from", experts))


def test_long_orderings_and_many_states_are_shortened(experts: Path) -> None:
    labels = [f"action-{i:02}" for i in range(20)]
    rows = [">".join([*labels[i:], *labels[:i]]) for i in range(20)] + [">".join(labels[::-1]), "=".join(labels)]
    experts.write_text("ordering\n" + "\n".join(rows))
    text = output("model", "new", "--from", experts)
    assert "action-00 > action-01 > action-02 > action-03 > action-04 > action-05" in " ".join(text.split())
    assert "> … >" in " ".join(text.split())
    assert len(json_output("model", "new", "--from", experts)["states"]) == 22
