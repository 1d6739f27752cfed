"""The commands that a new user types: each ends well, or in one line with a remedy that works."""

import json
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.inspection.inspect import inspect
from tests.cli.invoke import json_output
from tests.fuzz.commands import run

FIT = ("--states", "2", "--no-taste", "--threads", "1")
DISHES = ("tea", "jam", "ale", "milk")


def command(*words: object) -> tuple[str, str]:
    """Run a command that must succeed; return its standard output and standard error."""
    code, out, error = run([str(word) for word in words])
    assert code == 0, error
    return out, error


def refusal(*words: object) -> str:
    """Run a command that must fail in one line, after notes; return the line."""
    code, out, error = run([str(word) for word in words])
    *notes, line = error.splitlines()
    assert (code, out) == (2, ""), error
    assert line.startswith("lpb: ")
    assert all(note.startswith("note: ") for note in notes)
    return line


def recovers(*words: object, remedy: str) -> str:
    """Run a command that fails, then with the remedy that its message recommends; return the output of the second."""
    assert remedy in refusal(*words)
    return command(*words, *shlex.split(remedy))[0]


def ratings(people: int = 30, seed: int = 4) -> pl.DataFrame:
    """Return whole ratings of two groups of people as a wide table."""
    rng = np.random.default_rng(seed)
    means = np.array([[4.5, 3.5, 2.5, 1.5], [1.5, 2.5, 3.5, 4.5]])[np.arange(people) % 2]
    values = np.clip(np.round(rng.normal(means, 0.7)), 1, 5)
    people_of = pl.Series("respondent", [f"p{n}" for n in range(people)])
    return pl.DataFrame(values, schema=list(DISHES)).insert_column(0, people_of)


def long(wide: pl.DataFrame) -> pl.DataFrame:
    return wide.unpivot(index="respondent", variable_name="Restaurant", value_name="Rating (1-5)")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Write the model of a long log whose columns have names as surveys have them."""
    long(ratings()).write_csv(tmp_path / "ratings.csv")
    command("fit", tmp_path / "ratings.csv", *FIT, "--out", tmp_path / "model.json")
    return tmp_path / "model.json"


@pytest.fixture
def rankings(tmp_path: Path) -> Path:
    """Write rankings of the same people."""
    wide = ratings()
    orders = [[DISHES[a] for a in np.argsort(-np.array(row[1:]), kind="stable")] for row in wide.rows()]
    columns = {f"rank{i + 1}": [order[i] for order in orders] for i in range(4)}
    pl.DataFrame({"respondent": wide["respondent"], **columns}).write_csv(tmp_path / "rankings.csv")
    return tmp_path / "rankings.csv"


def test_survey_columns(model: Path) -> None:
    fitted = lpb.PreferenceModel.load(model)
    assert set(fitted.actions) == set(DISHES)
    assert set(fitted.best_actions) == {"tea", "milk"}


def test_a_model_of_sliders_decides_alike_everywhere(tmp_path: Path) -> None:
    sliders = long(ratings()).with_columns(pl.col("Rating (1-5)") * 20).rename({"Rating (1-5)": "score (0-100)"})
    sliders.write_csv(tmp_path / "sliders.csv")
    path = tmp_path / "model.json"
    command("fit", tmp_path / "sliders.csv", *FIT, "--out", path)
    model = lpb.PreferenceModel.load(path)
    assert (model.noise or 0.0) > 5
    (tmp_path / "history.csv").write_text("customer,feature,score\nann,tea,60\nann,milk,50\n")
    words = ("decide", "--model", path, tmp_path / "history.csv", "--policy", "lpbts")
    command(*words, "--out", tmp_path / "decisions.csv")
    decision = pl.read_csv(tmp_path / "decisions.csv").row(0, named=True)
    for policy in (lpb.LpbTS(model), lpb.policy(model, "lpbts")):
        agent = lpb.Agent(policy, seed=0, person="ann")
        agent.tell("tea", 60)
        agent.tell("milk", 50)
        assert agent.posterior.min() > 0.05
        assert agent.probabilities()[model.index[decision["action"]]] == decision["probability"]
    _, error = command(*words, "--noise", "1")
    assert error.count("note: noise is 1, but that of the log that the model was fitted to is") == 1
    assert "leave noise out to use the model's" in error
    with pytest.warns(lpb.NoiseWarning, match="noise is 1"):
        lpb.LpbTS(model, rewards=lpb.Rewards(noise=1.0))


def test_a_noise_for_thumbs(tmp_path: Path) -> None:
    thumbs = long(ratings()).with_columns((pl.col("Rating (1-5)") > 3).cast(pl.Int64))
    thumbs.rename({"Rating (1-5)": "thumb"}).write_csv(tmp_path / "thumbs.csv")
    command("fit", tmp_path / "thumbs.csv", *FIT, "--out", tmp_path / "model.json")
    (tmp_path / "history.csv").write_text("customer,feature,thumb\nann,tea,1\nann,milk,0\n")
    words = ("decide", "--model", tmp_path / "model.json", tmp_path / "history.csv", "--policy", "lpbts")
    assert "noise must be left out for bernoulli rewards, got 3" in refusal(*words, "--noise", "3")
    command(*words)


@pytest.mark.parametrize("word", ["", "n/a"])
def test_empty_ratings(word: str, tmp_path: Path) -> None:
    rows = long(ratings()).cast({"Rating (1-5)": pl.String})
    holes = rows.with_columns(pl.when(pl.int_range(pl.len()) % 10 != 3).then("Rating (1-5)").otherwise(pl.lit(word)))
    holes.write_csv(path := tmp_path / "ratings.csv")
    out, error = command("fit", path, *FIT, "--out", tmp_path / "model.json")
    assert "skipped rows without a rating: 12" in out
    assert error == ""
    assert "12 such rows" in refusal("fit", path, *FIT, "--missing", "error")
    evaluation = ("evaluate", path, "--states", "1", "--policies", "lpbts", "--rounds", "1", "--threads", "1")
    assert "skipped rows without a rating: 12" in command(*evaluation)[1]
    replay = ("simulate", "--model", tmp_path / "model.json", "--log", path, "--least", "2", "--policies", "lpbts")
    assert "skipped rows without a rating: 12" in command(*replay)[1]
    assert "12 such rows" in refusal(*replay, "--missing", "error")


@pytest.mark.parametrize("layout", [[], ["--layout", "wide"]], ids=["auto", "wide"])
def test_a_wide_table_with_age_and_sex(layout: list[str], tmp_path: Path) -> None:
    wide, rng = ratings(), np.random.default_rng(3)
    wide = wide.insert_column(1, pl.Series("age", rng.integers(18, 70, len(wide))))
    wide.insert_column(2, pl.Series("sex", rng.integers(0, 2, len(wide)))).write_csv(path := tmp_path / "wide.csv")
    words = ("fit", path, *FIT, *layout, "--out", tmp_path / "model.json")
    recovers(*words, remedy="--ignore age,sex")
    assert set(lpb.PreferenceModel.load(tmp_path / "model.json").actions) == set(DISHES)
    command(*words, "--columns", "tea,jam,ale,milk")
    assert set(lpb.PreferenceModel.load(tmp_path / "model.json").actions) == set(DISHES)
    recovers("decide", "--model", tmp_path / "model.json", path, *layout, remedy="--ignore age,sex")


def test_a_wide_table_with_agreement_among_sliders(tmp_path: Path) -> None:
    wide, rng = ratings(), np.random.default_rng(3)
    wide = wide.with_columns(pl.col(DISHES) * 20).with_columns(trust=pl.Series(rng.integers(1, 6, len(wide))))
    wide.with_columns(anxiety_z=pl.Series(rng.normal(size=len(wide)).round(3))).write_csv(path := tmp_path / "wide.csv")
    words = ("fit", path, *FIT, "--out", tmp_path / "model.json")
    recovers(*words, remedy="--ignore trust,anxiety_z")
    assert set(lpb.PreferenceModel.load(tmp_path / "model.json").actions) == set(DISHES)


def test_simulate_reads_a_log_as_evaluate_does(model: Path, tmp_path: Path) -> None:
    wide = ratings().insert_column(1, pl.Series("age", np.arange(30) % 7 + 30))
    text = wide.write_csv(separator=";").replace(".", ",")
    (tmp_path / "wide.csv").write_text("\ufeff" + text)
    start = ("simulate", "--model", model, "--log")
    rest = ("--least", "2", "--policies", "lpbts", "--rounds", "2", "--decimal-comma")
    replay = (*start, tmp_path / "wide.csv", *rest)
    expected = ("--layout", "wide", "--columns", "tea,jam,ale,milk", "--person", "respondent")
    one, other = recovers(*replay, remedy="--ignore age"), command(*replay, *expected)[0]
    assert one.split("decisions")[0] == other.split("decisions")[0]
    assert "--min-person needs --log" in refusal("simulate", "--min-person", "3")
    assert "lower_is_better must be False" in refusal(*replay, "--ignore", "age", "--lower-is-better")
    long(ratings()).write_csv(path := tmp_path / "long.csv")
    pl.concat([pl.read_csv(path), pl.read_csv(path).head(3)]).write_csv(path)
    recovers(*start, path, *rest[:-1], remedy="--duplicates last")


def test_decide_with_a_wide_history(model: Path, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("respondent,tea,jam,ale,milk\nann,5,,,1\nbo,,,,\n")
    for layout in ([], ["--layout", "wide"]):
        content = json_output("decide", "--model", model, tmp_path / "wide.csv", *layout)
        assert (content["people"], content["without_history"], content["layout"]) == (2, 1, "wide")


def test_decide_with_rankings(rankings: Path, model: Path, tmp_path: Path) -> None:
    _, error = command("fit", rankings, *FIT, "--out", tmp_path / "ranked.json")
    assert "read as rankings" in error
    for other, note in ((model, "holds ranks"), (tmp_path / "ranked.json", "")):
        words = ("decide", "--model", other, rankings, "--layout", "rankings", "--exclude-seen")
        out, error = command(*words, "--json")
        content = json.loads(out)
        assert (content["people"], content["nothing_left"]) == (30, 30)
        assert ("holds ranks" in error) == bool(note)
    (tmp_path / "who.csv").write_text("respondent,best,next\nann,milk,ale\n")
    recovers("decide", "--model", model, tmp_path / "who.csv", remedy="--layout rankings")


def test_decide_with_a_pending_outcome(model: Path, tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("customer,feature,nps\nann,tea,\nann,milk,5\n")
    words = ("decide", "--model", model, tmp_path / "history.csv", "--exclude-seen")
    content = json_output(*words)
    assert (content["people"], content["pending"], content["without_history"]) == (1, 1, 0)
    assert content["chosen"][0]["action"] not in ("tea", "milk")
    assert "pending outcomes (given, but not evidence): 1" in command(*words)[0]


def test_duplicates_with_times(tmp_path: Path) -> None:
    rows = long(ratings()).with_columns(when=pl.lit("2024-05-01T10:00:00+02:00"))
    later = rows.head(3).with_columns(pl.col("Rating (1-5)") - 10, when=pl.lit("2024-05-01T08:30:00Z"))
    pl.concat([later, rows]).write_csv(path := tmp_path / "ratings.csv")
    words = ("fit", path, *FIT, "--out", tmp_path / "model.json")
    assert "the last row counts; --time COLUMN: the latest" in recovers(*words, remedy="--duplicates last")
    first = lpb.PreferenceModel.load(tmp_path / "model.json")
    assert (
        "skipped repeated ratings: 3 (the latest by when counts)"
        in command(*words, "--duplicates", "last", "--time", "when")[0]
    )
    assert lpb.PreferenceModel.load(tmp_path / "model.json").means.min() < first.means.min()  # type: ignore[union-attr]
    out, _ = command(*words, "--duplicates", "mean")
    assert "averaged repeated ratings: 3" in out


def test_a_file_with_three_problems(tmp_path: Path) -> None:
    rows = long(ratings()).cast({"Rating (1-5)": pl.String})
    more = pl.DataFrame(
        [["", "tea", "4"], ["p1", "gin", "good"], ["p0", "tea", "1"]], schema=rows.columns, orient="row"
    )
    pl.concat([rows, more]).write_csv(path := tmp_path / "ratings.csv")
    error = refusal("fit", path, *FIT)
    assert "has 3 problems" in error
    for words in ("line 122: person is missing", "line 123: rating is 'good'", "line 124: person 'p0' rated action"):
        assert words in error


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_a_history_with_three_problems(layout: str, model: Path, tmp_path: Path) -> None:
    rows = {
        "long": "customer,feature,nps\nann,tea,4\nann,gin,5\nbo,jam,good\n,tea,3\nbo,rum,2\n",
        "wide": "customer,tea,jam,gin,rum\nann,4,,5,\nbo,,good,,2\n,3,,,\n",
    }
    (tmp_path / "history.csv").write_text(rows[layout])
    words = ("decide", "--model", model, tmp_path / "history.csv", "--layout", layout)
    error = refusal(*words)
    assert "has 3 problems" in error
    for part in ("person is missing", "is 'good', not a", "action 'gin' of the history", "(2 such rows)"):
        assert part in error
    assert "2 problems" in refusal(*words, "--unknown", "skip")
    (tmp_path / "history.csv").write_text("customer,feature,nps\nann,tea,4\nann,mlik,5\n")
    error = refusal("decide", "--model", model, tmp_path / "history.csv")
    assert "line 3: action 'mlik'" in error
    assert "did you mean 'milk'" in error
    (tmp_path / "history.csv").write_text(rows["long"].replace("good", "1").replace("\n,tea", "\nbo,tea"))
    recovers("decide", "--model", model, tmp_path / "history.csv", remedy="--unknown skip")


def test_pain_scores(tmp_path: Path) -> None:
    pain = long(ratings()).rename({"respondent": "patient_id", "Restaurant": "treatment", "Rating (1-5)": "pain"})
    pain.write_csv(path := tmp_path / "pain.csv")
    model = tmp_path / "model.json"
    assert "Lower is better" in command("fit", path, *FIT, "--lower-is-better", "--out", model)[0]
    assert set(lpb.PreferenceModel.load(model).best_actions) == {"milk", "tea"}
    assert json_output("inspect", model)["lower_is_better"]
    low, high = inspect(lpb.PreferenceModel.load(model)).states[0].means or (0, 0)
    assert 1 <= low < high <= 5
    (tmp_path / "history.csv").write_text("patient_id,treatment,pain\n1,tea,1\n1,milk,5\n2,tea,5\n2,milk,1\n")
    decisions = tmp_path / "decisions.csv"
    command("decide", "--model", model, tmp_path / "history.csv", "--policy", "lpbts", "--out", decisions)
    table = pl.read_csv(decisions)
    assert table["action"].to_list() == ["tea", "milk"]
    assert (table["expected"] < 2).all()
    assert (table["low"] < table["high"]).all()
    text, _ = command("evaluate", path, "--model", model, "--policies", "lpbts", "--rounds", "1", "--threads", "1")
    assert "one standard deviation below" in text
    command("simulate", "--model", model, "--log", path, "--least", "2", "--rounds", "2", "--policies", "lpbts")
    ups = tmp_path / "up.json"
    recovers("fit", path, *FIT, "--out", ups, remedy="--rating pain")
    evaluation = ("evaluate", path, "--model", ups, "--lower-is-better", "--rounds", "1", "--threads", "1")
    assert "lower_is_better must be False" in refusal(*evaluation)
