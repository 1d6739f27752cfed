"""`lpb decide`: from a file to a file, whatever the size of the pieces, and what it says of what it leaves out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.decisions import history_files
from lpbandits.decisions.choose_policy import choose_policy
from lpbandits.decisions.files import Summary, decide_file
from lpbandits.decisions.history_files import open_history
from lpbandits.decisions.output import Pieces
from lpbandits.io.atomic import UNFINISHED, atomic_file
from tests.conftest import taste_for

MODEL = lpb.PreferenceModel(
    [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]], actions=["tea", "jam", 7, "milk"], prior=[0.5, 0.3, 0.2], noise=0.8
)
NAMED = MODEL.replace(names=["Tea, black", "Jam", "Seven", "Milk"])


def outcomes(people: int = 40, seed: int = 0, text: bool = False) -> pl.DataFrame:
    """Return outcomes of people in turn, with repeats."""
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
    """Return what `lpb.decide` says for the rows of a table."""
    actions = [7 if label == "7" else label for label in frame["action"]]
    past = lpb.Histories.from_arrays(frame["person"].to_list(), actions, frame["reward"].to_list(), model)
    return lpb.decide(choose_policy(model).policy, past, **settings).table()


def decided(folder: Path, frame: pl.DataFrame, model: lpb.PreferenceModel = MODEL, **settings: Any) -> pl.DataFrame:
    """Decide from a file to a file, and return what was written."""
    source = folder / "history.parquet"
    frame.write_parquet(source)
    decide_file(choose_policy(model), source, out=folder / "out.parquet", threads=1, **settings)
    return pl.read_parquet(folder / "out.parquet")


@pytest.mark.parametrize("rows", [1, 3, 17, 1000])
@pytest.mark.parametrize("text", [False, True], ids=["numbers", "text"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in turn", "shuffled"])
def test_pieces_change_neither_a_decision_nor_the_order(tmp_path: Path, rows: int, text: bool, shuffled: bool) -> None:
    frame = outcomes(text=text)
    if shuffled:
        frame = frame.sample(fraction=1.0, shuffle=True, seed=1)
    found = decided(tmp_path, frame, rows=rows)
    wanted = by_library(frame)
    assert found.equals(wanted)
    assert found["person"].to_list() == frame["person"].unique(maintain_order=True).to_list()
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(UNFINISHED)]


def test_rows_that_stand_together_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = {"turn": outcomes(), "rising": outcomes().sort("person"), "apart": pl.concat([outcomes(), outcomes()])}
    for name, frame in frames.items():
        frame.write_parquet(tmp_path / f"{name}.parquet")
        for size in (2, 7, 50):
            with open_history(tmp_path / f"{name}.parquet", {}) as past:
                assert past.stand_together(size) == (name != "apart")
                monkeypatch.setattr(history_files, "MOST_RUNS", 3)
                assert past.stand_together(size) == (name == "rising")
                monkeypatch.undo()


def test_csv_in_and_out_says_the_same(tmp_path: Path) -> None:
    frame = outcomes()
    frame.write_csv(tmp_path / "history.csv")
    decide_file(choose_policy(MODEL), tmp_path / "history.csv", out=tmp_path / "out.csv")
    found = pl.read_csv(tmp_path / "out.csv", schema_overrides={"action": pl.String, "runner_up": pl.String})
    wanted = by_library(frame)
    assert found.columns == wanted.columns
    assert found["action"].to_list() == wanted["action"].to_list()
    np.testing.assert_array_equal(found["probability"], wanted["probability"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_temporary_folder_is_said_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "0.parquet").symlink_to("/dev/full")
    with pytest.raises(lpb.InvalidInput, match=rf"no space for the table in parts in {tmp_path.parent}: .* set TMPDIR"):
        Pieces(tmp_path, 9).add(pl.DataFrame({"person": [1]}))


def test_names_of_actions_stand_beside_them(tmp_path: Path) -> None:
    found = decided(tmp_path, outcomes(), NAMED)
    names = dict(zip(map(str, NAMED.actions), NAMED.names or (), strict=True))
    assert found["action_name"].to_list() == [names[label] for label in found["action"]]
    assert found["runner_up_name"].to_list() == [names[label] for label in found["runner_up"]]
    assert "action_name" not in decided(tmp_path, outcomes()).columns


def test_what_is_had_is_not_given_again_and_who_had_all_is_counted(tmp_path: Path) -> None:
    frame = outcomes()
    every = pl.DataFrame({"person": [1] * 4, "action": ["tea", "jam", "7", "milk"], "reward": [1.0] * 4})
    frame = pl.concat([frame, every])
    source = tmp_path / "history.parquet"
    frame.write_parquet(source)
    summary = decide_file(choose_policy(MODEL), source, out=tmp_path / "out.parquet", exclude_seen=True, rows=9)
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found.equals(by_library(frame, exclude_seen=True))
    nothing = found.filter(pl.col("person") == 1).row(0)
    assert nothing == (1, *[None] * 6)
    assert summary.nothing_left == found["action"].null_count() >= 1
    assert summary.decided == len(found) - summary.nothing_left
    had = frame.join(found, on=["person", "action"])
    assert had.is_empty()


def test_people_are_those_asked_for_and_last_who_has_no_history(tmp_path: Path) -> None:
    frame = outcomes()
    wanted = [900, 8, 901, 6, 8]
    (tmp_path / "people.csv").write_text("person\n" + "\n".join(map(str, wanted)) + "\n")
    frame.write_parquet(tmp_path / "history.parquet")
    for rows in (4, 1000):
        summary = decide_file(
            choose_policy(MODEL),
            tmp_path / "history.parquet",
            out=tmp_path / "out.parquet",
            people=tmp_path / "people.csv",
            rows=rows,
        )
        found = pl.read_parquet(tmp_path / "out.parquet")
        known = [p for p in frame["person"].unique(maintain_order=True).to_list() if p in wanted]
        assert found["person"].to_list() == [*known, 900, 901]
        assert found.head(2).equals(by_library(frame.filter(pl.col("person").is_in(known))))
        assert (summary.people, summary.without_history) == (4, 2)
        assert summary.skipped == {"outcomes": 0, "people": frame["person"].n_unique() - 2}
        fresh = lpb.Histories.from_arrays([], [], [], MODEL, people=[900, 901])
        assert found.tail(2).equals(lpb.decide(choose_policy(MODEL).policy, fresh).table())


def test_people_by_name_meet_a_history_by_number(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("person\n8\nann\n")
    outcomes().write_parquet(tmp_path / "history.parquet")
    decide_file(
        choose_policy(MODEL),
        tmp_path / "history.parquet",
        out=tmp_path / "out.parquet",
        people=tmp_path / "people.csv",
    )
    assert pl.read_parquet(tmp_path / "out.parquet")["person"].to_list() == ["8", "ann"]


def test_allowed_by_words_by_a_table_and_by_person(tmp_path: Path) -> None:
    frame = outcomes()
    some = by_library(frame, allowed=["jam", 7])
    assert decided(tmp_path, frame, allowed="jam, 7", rows=5).equals(some)
    (tmp_path / "allowed.csv").write_text("item\njam\n7\n")
    assert decided(tmp_path, frame, allowed=tmp_path / "allowed.csv", rows=5).equals(some)
    people = frame["person"].unique(maintain_order=True).to_list()
    own = {p: [MODEL.actions[n % 4], MODEL.actions[(n + 1) % 4]] for n, p in enumerate(people) if n % 5}
    rows = [(p, str(label)) for p, labels in own.items() for label in labels]
    pl.DataFrame(rows, schema=["user", "item"], orient="row").write_parquet(tmp_path / "own.parquet")
    found = decided(tmp_path, frame, allowed=tmp_path / "own.parquet", rows=5)
    assert found.equals(by_library(frame, allowed=own))
    assert found["action"].null_count() == len(people) - len(own)


def test_unknown_actions_are_refused_or_skipped(tmp_path: Path) -> None:
    frame = outcomes()
    odd = pl.DataFrame({"person": [5, 6, 999], "action": ["gin", "rum", "gin"], "reward": [1.0, 2.0, 3.0]})
    mixed = pl.concat([odd.head(1), frame, odd.tail(2)])
    with pytest.raises(lpb.InvalidInput, match=r"action 'gin' of the history .* \(3 such rows in all\)"):
        decided(tmp_path, mixed, rows=6)
    for rows in (6, 1000):
        found = decided(tmp_path, mixed, unknown="skip", rows=rows)
        assert sorted(found["person"].to_list()) == sorted({*frame["person"].to_list(), 999})
        wanted = by_library(frame)
        assert found.filter(pl.col("person") != 999).sort("person").equals(wanted.sort("person"))
    summary = decide_file(choose_policy(MODEL), tmp_path / "history.parquet", unknown="skip")
    assert summary.skipped["outcomes"] == 3
    assert summary.without_history == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"allowed": "gin"}, "action 'gin' of --allowed is not among the model's 4"),
        ({"allowed": " , "}, "allows no action"),
        ({"unknown": "maybe"}, "unknown is 'maybe'"),
        ({"out": "out.xlsx"}, "ends in .parquet or .csv"),
        ({"out": "nowhere/out.csv"}, "there is no folder"),
        ({"people": "missing.csv"}, "does not exist"),
        ({"columns": {"person": "who"}}, "no column 'who'"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_is_refused_in_words(tmp_path: Path, settings: Any, message: str) -> None:
    outcomes().write_parquet(tmp_path / "history.parquet")
    with pytest.raises(lpb.InvalidInput, match=message):
        decide_file(choose_policy(MODEL), tmp_path / "history.parquet", **settings)


def test_a_bad_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("person,action,reward\n1,tea,2\n1,jam,much\n")
    with pytest.raises(lpb.InvalidInput, match=r"history.csv, line 3: rating is 'much', not a finite number"):
        decide_file(choose_policy(MODEL), tmp_path / "history.csv")


def test_a_history_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "history.csv").write_text("person,action,reward\n")
    (tmp_path / "people.csv").write_text("person\nann\nbo\n")
    out = tmp_path / "out.parquet"
    summary = decide_file(choose_policy(MODEL), tmp_path / "history.csv", people=tmp_path / "people.csv", out=out)
    assert (summary.people, summary.without_history) == (2, 2)
    found = pl.read_parquet(out)
    assert found["person"].to_list() == ["ann", "bo"]
    assert found["expected"].null_count() == 2
    nobody = decide_file(choose_policy(MODEL), tmp_path / "history.csv", out=out)
    assert nobody.people == 0
    assert pl.read_parquet(out).is_empty()


def test_what_fails_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("old")

    def fail() -> None:
        with atomic_file(tmp_path / "out.csv") as part:
            part.write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.csv", "old")]


@pytest.mark.parametrize(
    ("evaluation", "name", "why"),
    [
        ({"best": "ts-top"}, "ts-top", "found it best"),
        ({"best": "lpb-duel"}, "lpbts", "whose best is 'lpb-duel', no policy for rewards"),
        ({"best": ["x"]}, "lpbts", "whose best is"),
        ({}, "lpbts", "whose best is None"),
        (None, "lpbts", "no evaluation"),
    ],
)
def test_auto_is_what_the_model_speaks_for(evaluation: Any, name: str, why: str) -> None:
    chosen = choose_policy(MODEL.replace(evaluation=evaluation))
    assert chosen.name == name
    assert why in chosen.why


def test_auto_takes_a_taste_if_there_is_one() -> None:
    assert choose_policy(MODEL.replace(taste=taste_for(4))).name == "taste"


def test_the_models_noise_is_a_guess_and_without_one_there_is_no_interval(tmp_path: Path) -> None:
    assert choose_policy(MODEL).policy.rewards == lpb.Rewards(noise=0.8).as_guess
    assert choose_policy(MODEL, noise=2.0).policy.rewards.noise == 2.0
    assert choose_policy(MODEL, "lpbts-incremental").policy.rewards == lpb.Rewards(noise=0.8, weight=5.0)
    bare = MODEL.replace(noise=None)
    for name in ("lpbts", "ts", "lpbts-incremental"):
        source = tmp_path / "history.parquet"
        outcomes().write_parquet(source)
        decide_file(choose_policy(bare, name), source, out=tmp_path / "out.parquet")
        found = pl.read_parquet(tmp_path / "out.parquet")
        assert found["low"].null_count() == len(found)
        decide_file(choose_policy(MODEL, name), source, out=tmp_path / "out.parquet")
        found = pl.read_parquet(tmp_path / "out.parquet").drop_nulls("expected")
        assert found["low"].null_count() == 0
    with pytest.raises(lpb.InvalidInput, match="learns from duels"):
        choose_policy(MODEL, "lpb-duel")


def ran(*words: str) -> tuple[str, str]:
    done = CliRunner().invoke(app, ["decide", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout, done.stderr


def files(folder: Path) -> list[str]:
    MODEL.save(folder / "model.json")
    outcomes().write_csv(folder / "history.csv")
    return ["--model", str(folder / "model.json"), str(folder / "history.csv")]


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    words = files(tmp_path)
    content = json.loads(ran(*words, "--out", str(tmp_path / "o.parquet"), "--json", "--exclude-seen")[0])
    table = pl.read_parquet(tmp_path / "o.parquet")
    assert content["people"] == len(table)
    assert content["policy"] == "lpbts"
    assert content["out"] == str(tmp_path / "o.parquet")
    assert content["chosen"][0]["people"] == table["action"].drop_nulls().value_counts()["count"].max()
    np.testing.assert_allclose(content["mean_probability"], np.nanmean(table["probability"].to_numpy()))
    out, err = ran(*words)
    assert "The first 10 of 40 decisions (--out writes all of them)" in out
    assert "no evaluation" in err
    out, _ = ran(*words, "--out", str(tmp_path / "o.csv"), "--policy", "ts", "--noise", "1")
    assert "40 of 40 people, by ts" in out
    assert str(tmp_path / "o.csv") in out


def test_a_greedy_rule_warns_once_unless_each_action_is_given_once(tmp_path: Path) -> None:
    words = files(tmp_path)
    MODEL.replace(taste=taste_for(4)).save(tmp_path / "model.json")
    assert "'greedy' plays again what" in ran(*words)[1]
    assert "'greedy'" not in ran(*words, "--exclude-seen")[1]
    assert "'greedy'" not in ran(*words, "--explore", "0.05")[1]


def test_a_summary_is_of_everybody() -> None:
    summary = Summary(MODEL, "lpbts", "asked for")
    assert summary.mean_probability is None
    assert summary.chosen == []


def test_categories_of_a_history_are_read_as_their_labels(tmp_path: Path) -> None:
    rows = {"person": ["30", "30", "10"], "action": ["0", "1", "0"], "reward": [1.0, 2.0, 3.0]}
    plain = pl.DataFrame(rows)
    plain.write_parquet(tmp_path / "plain.parquet")
    plain.with_columns(pl.col("person", "action").cast(pl.Categorical)).write_parquet(tmp_path / "kinds.parquet")
    chosen = choose_policy(lpb.PreferenceModel([[0, 1], [1, 0]]), "lpbts")
    tables = []
    for name in ("plain", "kinds"):
        decide_file(chosen, tmp_path / f"{name}.parquet", out=tmp_path / f"{name}.out.parquet")
        tables.append(pl.read_parquet(tmp_path / f"{name}.out.parquet"))
    assert tables[0].equals(tables[1])


def test_a_name_among_numbers_changes_nobodys_luck(tmp_path: Path) -> None:
    people = list(range(40))
    history = pl.DataFrame({"person": people, "action": [0] * 40, "reward": [1.0] * 40})
    history.write_parquet(tmp_path / "history.parquet")
    pl.DataFrame({"person": [*map(str, people), "ann"]}).write_csv(tmp_path / "people.csv")
    chosen = choose_policy(lpb.PreferenceModel([[0, 1, 2], [2, 1, 0], [1, 0, 2]]), "lpbts")
    decide_file(chosen, tmp_path / "history.parquet", out=tmp_path / "one.parquet")
    decide_file(chosen, tmp_path / "history.parquet", people=tmp_path / "people.csv", out=tmp_path / "two.parquet")
    one, two = (pl.read_parquet(tmp_path / f"{name}.parquet")["action"].to_list() for name in ("one", "two"))
    assert len(set(one)) > 1
    assert two[:40] == one


def test_what_evaluations_call_otherwise_is_known(tmp_path: Path) -> None:
    model = lpb.PreferenceModel([[0, 1], [1, 0]])
    assert choose_policy(model, "random").name == "uniform"
    with pytest.raises(lpb.InvalidInput, match="'ease' is a reference of evaluations"):
        choose_policy(model, "ease")
    (tmp_path / "x.soc").write_text("# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 1\n# NUMBER UNIQUE ORDERS: 1\n1: 1,2\n")
    with pytest.raises(lpb.InvalidInput, match=r"x\.soc holds rankings, and a history is one outcome per row"):
        decide_file(choose_policy(model, "lpbts"), tmp_path / "x.soc")
