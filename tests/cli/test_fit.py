"""`lpb fit` and `lpb inspect`."""

import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.inspection.inspect import inspect
from lpbandits.io.atomic import as_parquet
from tests.cli.invoke import json_output, output
from tests.fuzz.commands import run

TWO = ["--states", "2"]


def test_fit_recovers_the_states(log: Path, tmp_path: Path) -> None:
    content = json_output("fit", log, *TWO, "--out", tmp_path / "model.json")
    keys = "people actions ratings dropped states shares log_likelihood heldout_log_likelihood"
    assert {*keys.split(), "count_variance_explained", "seconds"} <= set(content)
    assert {"read", "mixture: starts"} <= set(content["seconds"])
    assert (content["people"], content["actions"], content["ratings"]) == (40, 4, 160)
    model = lpb.PreferenceModel.load(tmp_path / "model.json")
    assert {tuple(row) for row in model.orderings.tolist()} == {(0, 1, 2, 3), (3, 2, 1, 0)}
    assert model.actions == (10, 11, 12, 13)
    np.testing.assert_allclose(model.prior, [0.5, 0.5])


def test_the_default_method_is_that_of_the_library(log: Path, tmp_path: Path) -> None:
    output("fit", log, *TWO, "--out", tmp_path / "model.json")
    model = lpb.PreferenceModel.load(tmp_path / "model.json")
    assert model.provenance["report"]["method"] == "mixture"
    assert lpb.fit_states(lpb.read_ratings(log), states=2).model == model
    output("fit", log, *TWO, "--method", "two-stage", "--scale", "raw", "--out", tmp_path / "model.json")
    assert lpb.PreferenceModel.load(tmp_path / "model.json").provenance["settings"]["scale"] == "raw"


@pytest.mark.parametrize("method", ["two-stage", "em"])
def test_fit_and_inspect_show_how_states_were_chosen(log: Path, method: str, tmp_path: Path) -> None:
    path, out = tmp_path / "model.json", tmp_path / "out"
    text = output("fit", log, "--states", "auto", "--method", method, "--out", path)
    for words in ("160 ratings by 40 people of 4 actions", "How many states?", "the fewest states"):
        assert words in text
    assert [line.split()[0] for line in text.splitlines() if "← chosen" in line] == ["2"]
    assert f"2 states, by {method}" in text
    assert "(fitted to 36 people, scored on 4 others)" in text
    output("inspect", path, "--out", out)
    assert (out / "how-many-states.png").read_bytes().startswith(b"\x89PNG")
    assert "How many states?" in (out / "report.html").read_text()


def test_fit_reports_uncertainty_and_shrinks_by_default(log: Path, tmp_path: Path) -> None:
    models = {}
    for word in ("--shrink", "--no-shrink"):
        assert "pairs right" in output("fit", log, *TWO, word, "--out", tmp_path / "model.json")
        models[word] = lpb.PreferenceModel.load(tmp_path / "model.json")
    for model in models.values():
        assert model.errors is not None
        assert 0 < model.errors.min() <= model.errors.max() < 1
    assert models["--shrink"].provenance["settings"]["shrink"]
    assert models["--shrink"] != models["--no-shrink"]


def test_fit_names_actions_and_writes_assignments(log: Path, tmp_path: Path) -> None:
    names, people, out = tmp_path / "titles.csv", tmp_path / "people.csv", tmp_path / "model.json"
    names.write_text("movieId,title\n10,Heat\n11,Ran\n13,M\n")
    args = ["fit", log, "--states", "2", "--names", names, "--assignments", people, "--out", out]
    text = output(*args)
    assert "Heat · Ran · 12 · M" in text
    assert "Names: 3 of 4 actions" in text
    assert f"States of the people: {people}" in text
    rows = [line.split()[:3] for line in text.splitlines() if "50%" in line]
    assert rows == [["0", "50%", "20"], ["1", "50%", "20"]]
    assert lpb.PreferenceModel.load(out).names == ("Heat", "Ran", "12", "M")
    header, *lines = people.read_text().splitlines()
    assert header == "person,state,probability,ratings,left_out"
    assert len(lines) == 40
    assert len({line.split(",")[1] for line in lines[::2]}) == 1  # people alternate between states
    assert lines[0].split(",")[1] != lines[1].split(",")[1]
    content = json_output(*args)
    assert (content["named"], content["state_people"], content["assignments"]) == (3, [20, 20], str(people))


def test_fit_reports_names_that_match_no_action(log: Path, tmp_path: Path) -> None:
    names = tmp_path / "titles.csv"
    names.write_text("movieId,title\ntt10,Heat\n")
    text = output("fit", log, "--states", "2", "--names", names)
    assert "'10'" in text
    assert "Names:" not in text


def test_simulate_and_bound_use_the_noise_of_the_fit(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    output("fit", log, "--states", "2", "--out", out)
    noise = lpb.PreferenceModel.load(out).noise
    assert noise is not None
    for args in (["simulate", "--model", out, "--people", "2", "--rounds", "5"], ["bound", "--model", out]):
        assert f"noise {noise:.4g} (from the model)" in output(*args)
        assert json_output(*args)["settings"]["noise"] == noise
        assert json_output(*args, "--noise", "2")["settings"]["noise"] == 2.0
    for more, expected in ((["--rewards", "gaussian"], noise), (["--noise", "2"], 2.0)):
        settings = json_output("simulate", "--model", out, "--people", "2", "--rounds", "5", *more)["settings"]
        assert (settings["noise"], settings["noise_of_model"]) == (expected, expected == noise)


def test_binary_ratings_are_simulated_as_bernoulli_rewards(tmp_path: Path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "model.json"
    rng = np.random.default_rng(0)
    likes = [f"{n},{a},{int(rng.random() < (0.9 if (a + n) % 2 else 0.1))}" for n in range(40) for a in range(6)]
    log.write_text("\n".join(["person,action,rating", *likes]) + "\n")
    output("fit", log, "--states", "2", "--out", out)
    content = json_output("simulate", "--model", out, "--rewards", "bernoulli", "--people", "2", "--rounds", "5")
    settings = content["settings"]
    assert (settings["world"], settings["rewards"], settings["noise"]) == ("means", "bernoulli", 0.5)
    assert "mts" in content["policies"]


def test_inspect_shows_intervals_of_first_places(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel(
        [[0, 1, 2], [2, 1, 0]],
        actions=list("abc"),
        utilities=[[0.9, 0.5, 0.48], [0.1, 0.5, 0.9]],
        errors=[[0.1] * 3] * 2,
    ).save(path)
    seen = json_output("inspect", path)
    certainty = [state["certainty"] for state in seen["states"]]
    assert certainty[0]["places"] == [[1, 1], [2, 3], [2, 3]]
    assert certainty[1]["places"] == [[1, 1], [2, 2], [3, 3]]
    # logit(.5) − logit(.48) = .080 is .566 of the difference's sd: Φ = .714; the other two pairs are certain.
    assert certainty[0]["pairs_right"] == pytest.approx((2 + 0.714) / 3, abs=1e-3)
    assert certainty[0]["first_above_second"] == pytest.approx(1)
    assert "a: 1 · b: 2–3 · c: 2–3" in output("inspect", path, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "places.png").read_bytes().startswith(b"\x89PNG")
    assert "How sure are the first places?" in (tmp_path / "out" / "report.html").read_text()


def test_fit_reports_filtered_people(log: Path) -> None:
    log.write_text(log.read_text() + "99,10,1.0\n")
    assert "dropped people below --min-person: 1" in output("fit", log, *TWO, "--min-person", "2")


def test_fit_options_of_reading(tmp_path: Path) -> None:
    path, out = tmp_path / "log.csv", tmp_path / "model.json"
    rows = [(n, a, (a if n % 2 else 3 - a) + 0.5) for n in range(8) for a in range(4)]
    lines = [f"p{n};a{a};{x}".replace(".", ",") for n, a, x in [*rows, rows[-1]]]
    path.write_text("\n".join(["who;what;how", *lines]))
    args = ["fit", path, "--person", "who", "--action", "what", "--no-taste", "--states", "1"]
    content = json_output(*args, "--decimal-comma", "--duplicates", "last", "--rating", "how")
    assert (content["ratings"], content["people"], content["dropped"]["repeated_ratings"]) == (32, 8, 1)
    path.write_text("\n".join(["who,what,how", *(f"{n},a{a},{a + 1}" for n in range(8) for a in range(4))]))
    for option, ordering in (("--rating", [3, 2, 1, 0]), ("--rank", [0, 1, 2, 3])):
        output(*args, option, "how", "--out", out)
        assert lpb.PreferenceModel.load(out).orderings[0].tolist() == ordering


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 there")
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "folder"])
def test_names_that_are_not_utf8(log: Path, tmp_path: Path, kind: str) -> None:
    source = place = tmp_path / os.fsdecode(b"a\xff")
    place.mkdir()
    table = pl.read_csv(log)
    if kind == "folder":
        for part, rows in enumerate((table[:80], table[80:])):
            (place / f"{part}.parquet").write_bytes(as_parquet(rows))
    else:
        source = place / os.fsdecode(b"log\xfe." + kind.encode())
        content = as_parquet(table) if kind == "parquet" else log.read_bytes()
        source.write_bytes(gzip.compress(content) if kind == "csv.gz" else content)
    model, people, decisions = (place / name for name in ("m.json", "people.csv", "decisions.parquet"))
    fitted = json_output("fit", source, *TWO, "--out", model, "--assignments", people)
    assert (fitted["people"], fitted["out"]) == (40, str(model))
    assert len(people.read_text().splitlines()) == 41
    assert json_output("decide", source, "--model", model, "--out", decisions)["decided"] == 40
    assert pl.read_parquet(decisions.read_bytes()).height == 40
    assert r"a\udcff/report/report.html" in output("inspect", model, "--out", place / "report")


def test_detected_layout_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,tea,jam\n" + "".join(f"{n},{n % 3},2\n" for n in range(6)))
    args = ["fit", str(path), "--no-taste", "--states", "1", "--json"]
    code, text, error = run(args)
    assert (code, error) == (
        0,
        "note: read as wide: a column per action; the people are in column user (see --layout, --person)\n",
    )
    assert json.loads(text)["ratings"] == 12
    assert run([*args, "--layout", "wide"])[2] == error
    assert run([*args, "--layout", "wide", "--person", "user"])[2] == ""


def test_inspect_shows_states_distances_and_disagreements(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"], prior=[0.25, 0.75])
    model.save(path)
    text = output("inspect", path, "--out", tmp_path / "out")
    assert "75%" in text
    assert "100%" in text
    for name in ("shares", "kendall", "disagreements"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "drug B" in (tmp_path / "out" / "report.html").read_text()
    content = json_output("inspect", path)
    assert content == json.loads(json.dumps(inspect(model).to_dict()))
    assert content["kendall"][0][1] == 1.0
    assert content["disagreements"][0] == {"action": "rest", "ranks": [1, 3], "spread": 1.0}


def test_unknown_places_are_excluded_from_lists_and_distances(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    orderings = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [4, 0, 1, 2, 3]]
    provenance = {"never_compared": [[3, 4], [], [0, 1, 2, 3]]}
    lpb.PreferenceModel(orderings, actions=list("abcde"), prior=[0.6, 0.396, 0.004], provenance=provenance).save(path)
    seen = json_output("inspect", path, "--top", "2")
    assert [s["unknown"] for s in seen["states"]] == [2, 0, 4]
    assert [s["bottom"] for s in seen["states"]] == [["c"], ["d", "e"], []]
    assert seen["states"][2]["top"] == ["e"]
    # States 0 and 1 both know a, b and c, and one of the three pairs differs; states 0 and 2 share no known action.
    np.testing.assert_allclose(seen["kendall"][0][1], 1 / 3)
    assert seen["kendall"][0][2] is None
    assert seen["disagreements"][0] == {"action": "e", "ranks": [None, 5, 1], "spread": 1.0}
    assert seen["disagreements"][1]["action"] == "b"
    assert [s["certainty"] for s in seen["states"]] == [None] * 3
    shown = output("inspect", path, "--out", tmp_path / "out")
    assert "2 unknown" in shown
    assert "<1%" in shown
    assert (tmp_path / "out" / "kendall.png").is_file()
