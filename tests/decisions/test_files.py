"""`decide_file` and `lpb decide`: decisions from a file to a file, whatever the batch size."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.decisions.files import Summary, decide_file
from lpbandits.io.scratch import UNFINISHED
from lpbandits.policies.choose import choose_policy
from tests.conftest import taste_for

MODEL = lpb.PreferenceModel(
    [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]], actions=["tea", "jam", 7, "milk"], prior=[0.5, 0.3, 0.2], noise=0.8
)
NAMED = MODEL.replace(names=["Tea, black", "Jam", "Seven", "Milk"])


def outcomes(people: int = 40, seed: int = 0, text: bool = False) -> pl.DataFrame:
    """Return outcomes grouped by person, with repeated actions."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 8, people)
    who = np.repeat(rng.permutation(people) + 5, lengths)
    person = pl.Series("person", who)
    return pl.DataFrame(
        {
            "person": person.cast(pl.String) + "x" if text else person,
            "action": [str(MODEL.actions[a]) for a in rng.integers(0, 4, len(who))],
            "reward": np.round(rng.normal(2, 1, len(who)), 1),
        }
    )


def by_library(frame: pl.DataFrame, model: lpb.PreferenceModel = MODEL, **settings: Any) -> pl.DataFrame:
    """Return the table of `lpb.decide` for the same rows."""
    actions = [7 if label == "7" else label for label in frame["action"]]
    past = lpb.Histories.from_arrays(frame["person"].to_list(), actions, frame["reward"].to_list(), model)
    return lpb.decide(choose_policy(model).policy, past, **settings).table()


def by_file(
    folder: Path, frame: pl.DataFrame, model: lpb.PreferenceModel = MODEL, policy: str = "auto", **settings: Any
) -> tuple[pl.DataFrame, Summary]:
    """Write the rows to a file, decide, and return the written table and the summary."""
    frame.write_parquet(folder / "history.parquet")
    chosen = choose_policy(model, policy)
    out = folder / "out.parquet"
    summary = decide_file(chosen, folder / "history.parquet", out=out, threads=1, **settings)
    return pl.read_parquet(out), summary


@pytest.mark.parametrize("rows", [1, 17, 1000])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["grouped", "shuffled"])
def test_files_equal_the_library_for_every_batch_size(tmp_path: Path, rows: int, text: bool, shuffled: bool) -> None:
    frame = outcomes(text=text)
    if shuffled:
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    table, _ = by_file(tmp_path, frame, rows=rows)
    assert table.equals(by_library(frame))
    assert table["person"].to_list() == frame["person"].unique(maintain_order=True).to_list()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(UNFINISHED)]


def test_names_of_actions_are_columns(tmp_path: Path) -> None:
    table, _ = by_file(tmp_path, outcomes(), NAMED)
    names = dict(zip(map(str, NAMED.actions), NAMED.names or (), strict=True))
    assert table["action_name"].to_list() == [names[label] for label in table["action"]]
    assert table["runner_up_name"].to_list() == [names[label] for label in table["runner_up"]]
    assert "action_name" not in by_file(tmp_path, outcomes())[0].columns


def test_exclude_seen(tmp_path: Path) -> None:
    all_tried = pl.DataFrame({"person": [1] * 4, "action": ["tea", "jam", "7", "milk"], "reward": [1.0] * 4})
    frame = pl.concat([outcomes(), all_tried])
    table, summary = by_file(tmp_path, frame, exclude_seen=True, rows=9)
    assert table.equals(by_library(frame, exclude_seen=True))
    assert table.filter(pl.col("person") == 1).row(0) == (1, *[None] * 6)
    assert summary.nothing_left == table["action"].null_count() >= 1
    assert summary.decided == len(table) - summary.nothing_left
    assert frame.join(table, on=["person", "action"]).is_empty()


@pytest.mark.parametrize("rows", [4, 1000])
def test_people_limit_the_decisions_and_those_without_a_history_come_last(tmp_path: Path, rows: int) -> None:
    frame = outcomes()
    wanted = [900, 8, 901, 6, 8]
    (tmp_path / "people.csv").write_text("person\n" + "\n".join(map(str, wanted)) + "\n")
    table, summary = by_file(tmp_path, frame, people=tmp_path / "people.csv", rows=rows)
    known = [p for p in frame["person"].unique(maintain_order=True).to_list() if p in wanted]
    assert table["person"].to_list() == [*known, 900, 901]
    assert table.head(2).equals(by_library(frame.filter(pl.col("person").is_in(known))))
    assert (summary.people, summary.without_history) == (4, 2)
    assert summary.skipped == {"outcomes": 0, "people": frame["person"].n_unique() - 2}
    fresh = lpb.Histories.from_arrays([], [], [], MODEL, people=[900, 901])
    assert table.tail(2).equals(lpb.decide(choose_policy(MODEL).policy, fresh).table())


def test_a_name_among_numbers_changes_no_decision(tmp_path: Path) -> None:
    history = pl.DataFrame({"person": range(40), "action": [0] * 40, "reward": [1.0] * 40})
    (tmp_path / "people.csv").write_text("person\n" + "\n".join([*map(str, range(40)), "ann"]) + "\n")
    model = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    by_number, _ = by_file(tmp_path, history, model)
    by_name, _ = by_file(tmp_path, history, model, people=tmp_path / "people.csv")
    assert by_number["action"].n_unique() > 1
    assert by_name["action"].to_list()[:40] == by_number["action"].to_list()
    assert by_name["person"].to_list() == [*map(str, range(40)), "ann"]


def test_allowed_actions_by_labels_by_table_and_by_person(tmp_path: Path) -> None:
    frame = outcomes()
    expected = by_library(frame, allowed=["jam", 7])
    assert by_file(tmp_path, frame, allowed="jam, 7", rows=5)[0].equals(expected)
    (tmp_path / "allowed.csv").write_text("item\njam\n7\n")
    assert by_file(tmp_path, frame, allowed=tmp_path / "allowed.csv", rows=5)[0].equals(expected)
    people = frame["person"].unique(maintain_order=True).to_list()
    personal = {p: [MODEL.actions[n % 4], MODEL.actions[(n + 1) % 4]] for n, p in enumerate(people) if n % 5}
    rows = [(p, str(label)) for p, labels in personal.items() for label in labels]
    pl.DataFrame(rows, schema=["user", "item"], orient="row").write_parquet(tmp_path / "allowed.parquet")
    table, _ = by_file(tmp_path, frame, allowed=tmp_path / "allowed.parquet", rows=5)
    assert table.equals(by_library(frame, allowed=personal))
    assert table["action"].null_count() == len(people) - len(personal)


@pytest.mark.parametrize("rows", [6, 1000])
def test_unknown_actions_raise_or_are_skipped(tmp_path: Path, rows: int) -> None:
    frame = outcomes()
    unknown = pl.DataFrame({"person": [5, 6, 999], "action": ["gin", "rum", "gin"], "reward": [1.0, 2.0, 3.0]})
    mixed = pl.concat([unknown.head(1), frame, unknown.tail(2)])
    with pytest.raises(lpb.InvalidInput, match=r"action 'gin'.*3 such rows"):
        by_file(tmp_path, mixed, rows=rows)
    table, summary = by_file(tmp_path, mixed, unknown="skip", rows=rows)
    assert sorted(table["person"].to_list()) == sorted({*frame["person"].to_list(), 999})
    assert table.filter(pl.col("person") != 999).sort("person").equals(by_library(frame).sort("person"))
    assert (summary.skipped["outcomes"], summary.without_history) == (3, 1)


HISTORY = "person,action,reward\n1,tea,2\n"
RANKINGS = "# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 1\n# NUMBER UNIQUE ORDERS: 1\n1: 1,2\n"


@pytest.mark.parametrize(
    ("name", "text", "settings", "message"),
    [
        ("h.csv", HISTORY, {"allowed": "gin"}, "action 'gin' of --allowed"),
        ("h.csv", HISTORY, {"allowed": " , "}, "--allowed"),
        ("h.csv", HISTORY, {"unknown": "maybe"}, "unknown.*'maybe'"),
        ("h.csv", HISTORY, {"out": "out.xlsx"}, r"\.parquet.*out\.xlsx"),
        ("h.csv", HISTORY, {"out": "nowhere/out.csv"}, "nowhere"),
        ("h.csv", HISTORY, {"people": "missing.csv"}, "missing.csv"),
        ("h.csv", HISTORY, {"reading": {"person": "who"}}, "'who'"),
        ("h.csv", HISTORY, {"seed": -1}, "seed.*-1"),
        ("h.csv", HISTORY + "1,jam,much\n", {}, r"h\.csv, line 3.*'much'"),
        ("x.soc", RANKINGS, {}, r"action 2 of the history is not one"),
    ],
)
def test_invalid_files_and_arguments_raise(
    tmp_path: Path, name: str, text: str, settings: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(lpb.InvalidInput, match=message):
        decide_file(choose_policy(MODEL), tmp_path / name, **settings)


def test_an_empty_history(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("person,action,reward\n")
    (tmp_path / "people.csv").write_text("person\nann\nbo\n")
    out = tmp_path / "out.parquet"
    summary = decide_file(choose_policy(MODEL), tmp_path / "history.csv", people=tmp_path / "people.csv", out=out)
    assert (summary.people, summary.without_history) == (2, 2)
    table = pl.read_parquet(out)
    assert table["person"].to_list() == ["ann", "bo"]
    assert table["expected"].null_count() == 2
    summary = decide_file(choose_policy(MODEL), tmp_path / "history.csv", out=out)
    assert (summary.people, summary.mean_probability, summary.chosen) == (0, None, [])
    assert pl.read_parquet(out).is_empty()


def test_categorical_columns_are_read_as_labels(tmp_path: Path) -> None:
    plain = pl.DataFrame({"person": ["30", "30", "10"], "action": ["0", "1", "0"], "reward": [1.0, 2.0, 3.0]})
    model = lpb.PreferenceModel([[0, 1], [1, 0]])
    categorical = plain.with_columns(pl.col("person", "action").cast(pl.Categorical))
    assert by_file(tmp_path, plain, model)[0].equals(by_file(tmp_path, categorical, model)[0])


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        ({"evaluation": {"best": "ts-top"}}, "ts-top", "the best policy of the model's evaluation"),
        ({"evaluation": {"best": "lpb-duel"}}, "lpbts", "names 'lpb-duel'"),
        ({"evaluation": {"best": ["x"]}}, "lpbts", "its evaluation names"),
        ({"evaluation": {}}, "lpbts", "names None"),
        ({"evaluation": None}, "lpbts", "no evaluation"),
        ({"taste": taste_for(4)}, "taste", "has a taste"),
    ],
)
def test_auto_selects_the_policy_that_suits_the_model(changes: dict[str, Any], name: str, why: str) -> None:
    chosen = choose_policy(MODEL.replace(**changes))
    assert chosen.name == name
    assert why in chosen.why


def test_the_policy_has_the_named_rule_and_the_noise_of_the_model_as_a_prior_guess() -> None:
    assert choose_policy(MODEL, "random").name == "uniform"  # its name in evaluations
    for name in ("ease", "lpb-duel"):
        with pytest.raises(lpb.InvalidInput, match=name):
            choose_policy(MODEL, name)
    assert choose_policy(MODEL).policy.rewards == lpb.Rewards(noise=0.8).as_guess
    assert choose_policy(MODEL, noise=2.0).policy.rewards.noise == 2.0
    assert choose_policy(MODEL, "lpbts-incremental").policy.rewards == lpb.Rewards(noise=0.8, weight=5.0)
    with pytest.raises(lpb.InvalidInput, match=r"rounds.*lpb-horizon.*None"):
        choose_policy(MODEL, "lpb-horizon")
    assert choose_policy(MODEL, "lpb-horizon", rounds=7).policy.rule == lpb.rules.KnowledgeGradient(rounds=7)


@pytest.mark.parametrize("policy", ["lpbts", "ts", "lpbts-incremental"])
def test_there_is_no_interval_without_a_noise(tmp_path: Path, policy: str) -> None:
    table, _ = by_file(tmp_path, outcomes(), MODEL.replace(noise=None), policy)
    assert table["low"].null_count() == len(table)
    table, _ = by_file(tmp_path, outcomes(), MODEL, policy)
    assert table.drop_nulls("expected")["low"].null_count() == 0


def run(*words: str) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["decide", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout, result.stderr


def files(folder: Path, model: lpb.PreferenceModel = MODEL) -> list[str]:
    model.save(folder / "model.json")
    outcomes().write_csv(folder / "history.csv")
    return ["--model", str(folder / "model.json"), str(folder / "history.csv")]


def test_command_output(tmp_path: Path) -> None:
    words = files(tmp_path)
    content = json.loads(run(*words, "--out", str(tmp_path / "o.parquet"), "--json", "--exclude-seen")[0])
    table = pl.read_parquet(tmp_path / "o.parquet")
    assert (content["people"], content["policy"]) == (len(table), "lpbts")
    assert content["out"] == str(tmp_path / "o.parquet")
    assert content["chosen"][0]["people"] == table["action"].drop_nulls().value_counts()["count"].max()
    np.testing.assert_allclose(content["mean_probability"], np.nanmean(table["probability"].to_numpy()))
    out, err = run(*words)
    assert "First 10 of 40 decisions" in out
    assert "no evaluation" in err
    out, _ = run(*words, "--out", str(tmp_path / "o.csv"), "--policy", "ts", "--noise", "1")
    assert "40 of 40 people, by ts" in out
    assert str(tmp_path / "o.csv") in out


@pytest.mark.parametrize("options", [[], ["--escape-formulas"]], ids=["plain", "escaped"])
def test_commands_escape_formulas_on_request(tmp_path: Path, options: list[str]) -> None:
    log, model, out = (str(tmp_path / name) for name in ("log.csv", "model.json", "out.csv"))
    rows = [f"={n},a{a},{(n * a) % 5}\n" for n in range(6) for a in range(4)]
    Path(log).write_text("user,item,rating\n" + "".join(rows))
    fit = ["fit", log, "--states", "1", "--no-taste", "--out", model, "--assignments", out]
    for words in (fit, ["decide", "--model", model, log, "--out", out]):
        CliRunner().invoke(app, [*words, *options], catch_exceptions=False)
        people = {f"={n}" for n in range(6)}
        assert set(pl.read_csv(out)["person"]) == ({f"'{label}" for label in people} if options else people)
        Path(out).unlink()


def test_the_command_warns_of_a_rule_that_locks_in(tmp_path: Path) -> None:
    words = files(tmp_path, MODEL.replace(taste=taste_for(4)))
    assert "'greedy'" in run(*words)[1]
    assert "'greedy'" not in run(*words, "--exclude-seen")[1]
    assert "'greedy'" not in run(*words, "--explore", "0.05")[1]
