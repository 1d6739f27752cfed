"""`lpb fit` and `lpb inspect`."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.inspection.inspect import inspect_model
from tests.fuzz.commands import run

runner = CliRunner()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Forty people of two opposite states who rate four actions on their own scales."""
    rng = np.random.default_rng(5)
    lines = ["userId,movieId,rating"]
    for person in range(40):
        order = (0, 1, 2, 3) if person % 2 else (3, 2, 1, 0)
        scale, level = rng.uniform(0.5, 2.0), rng.uniform(-3, 3)
        lines += [f"{person},{10 + action},{level - scale * place:.3f}" for place, action in enumerate(order)]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_fit_json_has_the_promised_shape_and_the_right_answer(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    args = ["fit", str(log), "--states", "2", "--scale", "cosine", "--out", str(out), "--json"]
    done = runner.invoke(app, args, catch_exceptions=False)
    content = json.loads(done.stdout)
    promised = ["people", "actions", "ratings", "dropped", "states", "shares", "log_likelihood"]
    promised += ["heldout_log_likelihood", "count_variance_explained", "seconds"]
    assert set(promised) <= set(content)
    assert {"read", "cluster"} <= set(content["seconds"])
    assert (content["people"], content["actions"], content["ratings"]) == (40, 4, 160)
    model = lpb.PreferenceModel.load(out)
    assert {tuple(row) for row in model.orderings.tolist()} == {(0, 1, 2, 3), (3, 2, 1, 0)}
    assert model.actions == (10, 11, 12, 13)
    np.testing.assert_allclose(model.prior, [0.5, 0.5])


@pytest.mark.parametrize("method", ["two-stage", "em"])
def test_fit_summary_reads_well(log: Path, method: str) -> None:
    args = ["fit", str(log), "--states", "auto", "--method", method, "--scale", "cosine"]
    done = runner.invoke(app, args, catch_exceptions=False)
    assert done.exit_code == 0
    assert "160 ratings by 40 people of 4 actions" in done.stdout
    assert "How many states?" in done.stdout
    chosen = [line for line in done.stdout.splitlines() if "← chosen" in line]
    assert [line.split()[0] for line in chosen] == ["2"]
    assert "the fewest states" in done.stdout
    assert f"2 states, by {method}" in done.stdout
    assert "(fitted to 32 people, scored on 8 others)" in done.stdout.replace("\n", " ")


def test_fit_says_how_sure_it_is_and_shrinks_unless_told_not_to(log: Path, tmp_path: Path) -> None:
    models = {}
    for word in ("--shrink", "--no-shrink"):
        args = ["fit", str(log), "--states", "2", "--scale", "cosine", word, "--out", str(tmp_path / "model.json")]
        assert "pairs right" in runner.invoke(app, args, catch_exceptions=False).stdout
        models[word] = lpb.PreferenceModel.load(tmp_path / "model.json")
    for model in models.values():
        assert model.errors is not None
        assert 0 < model.errors.min() <= model.errors.max() < 1
    assert models["--shrink"].provenance["settings"]["shrink"]
    assert models["--shrink"] != models["--no-shrink"]


def test_fit_names_actions_and_says_who_is_in_which_state(log: Path, tmp_path: Path) -> None:
    names, people, out = tmp_path / "titles.csv", tmp_path / "people.csv", tmp_path / "model.json"
    names.write_text("movieId,title\n10,Heat\n11,Ran\n13,M\n")
    args = ["fit", str(log), "--states", "2", "--names", str(names), "--assignments", str(people), "--out", str(out)]
    done = runner.invoke(app, args, catch_exceptions=False).stdout
    assert "Heat · Ran · 12 · M" in done
    assert "Names: 3 of 4 actions" in done
    assert f"States of the people: {people}" in done.replace("\n", "")
    rows = [line.split()[:3] for line in done.splitlines() if "50%" in line]
    assert rows == [["0", "50%", "20"], ["1", "50%", "20"]]
    assert lpb.PreferenceModel.load(out).names == ("Heat", "Ran", "12", "M")
    header, *lines = people.read_text().splitlines()
    assert header == "person,state,probability,ratings,left_out"
    assert len(lines) == 40
    assert len({line.split(",")[1] for line in lines[::2]}) == 1  # those of one state are together
    assert lines[0].split(",")[1] != lines[1].split(",")[1]
    told = json.loads(runner.invoke(app, [*args, "--json"], catch_exceptions=False).stdout)
    assert (told["named"], told["state_people"], told["assignments"]) == (3, [20, 20], str(people))


def test_fit_says_so_when_no_name_fits(log: Path, tmp_path: Path) -> None:
    names = tmp_path / "titles.csv"
    names.write_text("movieId,title\ntt10,Heat\n")
    done = runner.invoke(app, ["fit", str(log), "--states", "2", "--names", str(names)], catch_exceptions=False).stdout
    assert "'10'" in " ".join(done.split())
    assert "Names:" not in done


def test_a_fit_goes_on_to_simulate_and_bound(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.json"
    runner.invoke(app, ["fit", str(log), "--states", "2", "--out", str(out)], catch_exceptions=False)
    noise = lpb.PreferenceModel.load(out).noise
    assert noise is not None
    args = ["simulate", "--model", str(out), "--people", "2", "--rounds", "5"]
    done = runner.invoke(app, args, catch_exceptions=False).stdout
    assert f"noise {noise:.4g} (from the model)" in done
    assert "mTS" in done
    for more, wanted in (([], noise), (["--rewards", "gaussian"], noise), (["--noise", "2"], 2.0)):
        told = json.loads(runner.invoke(app, [*args, *more, "--json"], catch_exceptions=False).stdout)["settings"]
        assert told["noise"] == wanted
        assert told["noise_of_model"] == (wanted == noise)
    for more, wanted in (([], noise), (["--noise", "2"], 2.0)):
        told = json.loads(runner.invoke(app, ["bound", "--model", str(out), *more, "--json"]).stdout)["settings"]
        assert told["noise"] == wanted
    shown = runner.invoke(app, ["bound", "--model", str(out)], catch_exceptions=False).stdout
    assert f"noise {noise:.4g} (from the model)" in shown


def test_zeros_and_ones_go_on_as_bernoulli_rewards(tmp_path: Path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "model.json"
    rng = np.random.default_rng(0)
    likes = [f"{n},{a},{int(rng.random() < (0.9 if (a + n) % 2 else 0.1))}" for n in range(40) for a in range(6)]
    log.write_text("\n".join(["person,action,rating", *likes]) + "\n")
    runner.invoke(app, ["fit", str(log), "--states", "2", "--out", str(out)], catch_exceptions=False)
    args = ["simulate", "--model", str(out), "--rewards", "bernoulli", "--people", "2", "--rounds", "5", "--json"]
    told = json.loads(runner.invoke(app, args, catch_exceptions=False).stdout)
    assert (told["settings"]["rewards"], told["settings"]["noise"]) == ("bernoulli", 0.5)
    assert "mts" in told["policies"]


def test_inspect_shows_where_first_actions_may_stand(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel(
        [[0, 1, 2], [2, 1, 0]],
        actions=list("abc"),
        utilities=[[0.9, 0.5, 0.48], [0.1, 0.5, 0.9]],
        errors=[[0.1] * 3] * 2,
    ).save(path)
    seen = json.loads(runner.invoke(app, ["inspect", str(path), "--json"]).stdout)
    certainty = [state["certainty"] for state in seen["states"]]
    assert certainty[0]["places"] == [[1, 1], [2, 3], [2, 3]]
    assert certainty[1]["places"] == [[1, 1], [2, 2], [3, 3]]
    # logit(.5) − logit(.48) = .080 is .566 of the difference's sd: Φ = .714; the other two pairs are certain.
    assert certainty[0]["pairs_right"] == pytest.approx((2 + 0.714) / 3, abs=1e-3)
    assert certainty[0]["first_above_second"] == pytest.approx(1)
    done = runner.invoke(app, ["inspect", str(path), "--out", str(tmp_path / "out")], catch_exceptions=False).stdout
    assert "a: 1 · b: 2–3 · c: 2–3" in done
    assert (tmp_path / "out" / "places.png").read_bytes().startswith(b"\x89PNG")
    assert "How sure are the first places?" in (tmp_path / "out" / "report.html").read_text()


def test_fit_reports_what_the_filters_left_out(log: Path) -> None:
    log.write_text(log.read_text() + "99,10,1.0\n")
    done = runner.invoke(app, ["fit", str(log), "--states", "2", "--scale", "cosine", "--min-person", "2"])
    assert "dropped: 1 people below min person" in done.stdout


def test_fit_reads_what_it_is_told_to(tmp_path: Path) -> None:
    rows = [(n, a, (a if n % 2 else 3 - a) + 0.5) for n in range(8) for a in range(4)]
    comma = [f"p{n};a{a};{x}".replace(".", ",") for n, a, x in [*rows, rows[-1]]]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["who;what;how", *comma]))
    names = ["--person", "who", "--action", "what", "--no-taste", "--states", "1", "--json"]
    args = ["fit", str(path), *names, "--decimal-comma", "--duplicates", "last"]
    content = json.loads(runner.invoke(app, [*args, "--rating", "how"], catch_exceptions=False).stdout)
    assert (content["ratings"], content["people"], content["dropped"]["repeated_ratings"]) == (32, 8, 1)
    out = tmp_path / "model.json"
    orders = {}
    path.write_text("\n".join(["who,what,how", *(f"{n},a{a},{a + 1}" for n in range(8) for a in range(4))]))
    for word in ("--rating", "--rank"):
        runner.invoke(app, ["fit", str(path), *names, word, "how", "--out", str(out)], catch_exceptions=False)
        orders[word] = lpb.PreferenceModel.load(out).orderings[0].tolist()
    assert orders == {"--rating": [3, 2, 1, 0], "--rank": [0, 1, 2, 3]}


def test_fit_says_which_layout_it_took_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,tea,jam\n" + "".join(f"{n},{n % 3},2\n" for n in range(6)))
    args = ["fit", str(path), "--no-taste", "--states", "1", "--json"]
    done = runner.invoke(app, args, catch_exceptions=False)
    assert done.stderr == "note: read as wide: a column per action (see --layout)\n"
    assert json.loads(done.stdout)["ratings"] == 12
    assert runner.invoke(app, [*args, "--layout", "wide"], catch_exceptions=False).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--states", "many"], ["states must", "got 'many'"]),
        (["--states", "0"], ["states must", "got 0"]),
        (["--method", "magic"], ["'magic'", "two-stage, em"]),
        (["--scale", "odd"], ["'odd'", "raw, centered, standardized, cosine"]),
        (["--person", "who"], ["'who'", "userId"]),
        (["--person", "usrId"], ["did you mean 'userId'?"]),
        (["--layout", "tall"], ["layout must", "got 'tall'"]),
        (["--duplicates", "first"], ["duplicates must", "got 'first'"]),
        (["--rank", "place"], ["no column 'place' for the rank"]),
        (["--min-person", "100"], ["min_person 100", "lower"]),
        (["--out", "nowhere/model.json"], ["nowhere", "nowhere"]),
        (["--out", "."], ["cannot write .: it is a folder", "model.json"]),
        (["--prior-sd", "0"], ["prior_sd must", "got 0"]),
        (["--assignments", "people.xlsx"], ["people.xlsx", ".parquet or .csv"]),
        (["--names", "nowhere.csv"], ["nowhere.csv", "name a file"]),
        (["--max-states", "3"], ["max_states", "--states auto"]),
        (["--states", "auto", "--max-states", "0"], ["max_states must", "got 0"]),
    ],
)
def test_fit_errors_are_one_line(log: Path, arguments: list[str], words: list[str]) -> None:
    code, out, error = run(["fit", str(log), *arguments])
    assert (code, out, error.count("\n")) == (2, "", 1)
    for word in words:
        assert word in error


def test_inspect_shows_states_distances_and_disagreements(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"], prior=[0.25, 0.75])
    model.save(path)
    done = runner.invoke(app, ["inspect", str(path), "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert "75%" in done.stdout
    assert "100%" in done.stdout
    for name in ("shares", "kendall", "disagreements"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "drug B" in (tmp_path / "out" / "report.html").read_text()
    content = json.loads(runner.invoke(app, ["inspect", str(path), "--json"]).stdout)
    assert content == json.loads(json.dumps(inspect_model(model).to_dict()))
    assert content["kendall"][0][1] == 1.0
    assert content["disagreements"][0] == {"action": "rest", "ranks": [1, 3], "spread": 1.0}


def test_inspect_shows_names_for_labels(tmp_path: Path) -> None:
    path, names = tmp_path / "model.json", tmp_path / "names.csv"
    lpb.PreferenceModel([[0, 1], [1, 0]], actions=[10, 20]).save(path)
    names.write_text('movieId,title\n10,"Heat, The"\n')
    done = runner.invoke(app, ["inspect", str(path), "--names", str(names), "--json"], catch_exceptions=False)
    assert json.loads(done.stdout)["states"][0]["top"] == ["Heat, The", 20]


def test_unknown_places_are_neither_dislikes_nor_disagreements(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    orderings = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [4, 0, 1, 2, 3]]
    told = {"never_compared": [[3, 4], [], [0, 1, 2, 3]]}
    lpb.PreferenceModel(orderings, actions=list("abcde"), prior=[0.6, 0.396, 0.004], provenance=told).save(path)
    seen = json.loads(runner.invoke(app, ["inspect", str(path), "--top", "2", "--json"]).stdout)
    assert [s["unknown"] for s in seen["states"]] == [2, 0, 4]
    assert [s["bottom"] for s in seen["states"]] == [["c"], ["d", "e"], []]
    assert seen["states"][2]["top"] == ["e"]
    # Known in 0 and 1 are a, b, c, one of whose three pairs differs; states 0 and 2 share no known action.
    np.testing.assert_allclose(seen["kendall"][0][1], 1 / 3)
    assert seen["kendall"][0][2] is None
    assert seen["disagreements"][0] == {"action": "e", "ranks": [None, 5, 1], "spread": 1.0}
    assert seen["disagreements"][1]["action"] == "b"
    assert [s["certainty"] for s in seen["states"]] == [None] * 3
    shown = runner.invoke(app, ["inspect", str(path), "--out", str(tmp_path / "out")], catch_exceptions=False).stdout
    assert "2 unknown" in shown
    assert "<1%" in shown
    assert (tmp_path / "out" / "kendall.png").is_file()


def test_one_state_is_singular(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    lpb.PreferenceModel([[0, 1]]).save(path)
    assert "model.json: 1 state, 2 actions" in runner.invoke(app, ["inspect", str(path)]).stdout.replace("\n", " ")


def test_the_curve_is_drawn(log: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "model.json", tmp_path / "out"
    args = ["fit", str(log), "--states", "auto", "--scale", "cosine", "--out", str(path)]
    runner.invoke(app, args, catch_exceptions=False)
    runner.invoke(app, ["inspect", str(path), "--out", str(out)], catch_exceptions=False)
    assert (out / "how-many-states.png").read_bytes().startswith(b"\x89PNG")
    assert "How many states?" in (out / "report.html").read_text()


def test_saving_to_a_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(
        lpb.errors.InvalidInput, match=r"cannot write .*: Is a directory; it is a folder: name a file in it"
    ):
        lpb.PreferenceModel([[0, 1]]).save(tmp_path)


def test_inspect_of_states_where_nothing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    told = {"never_compared": [[0, 1]]}
    lpb.PreferenceModel([[0, 1]], utilities=[[0.6, 0.4]], errors=[[1.0, 1.0]], provenance=told).save(path)
    done = runner.invoke(app, ["inspect", str(path), "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert "How sure" not in done.stdout
    assert not (tmp_path / "out" / "places.png").exists()
