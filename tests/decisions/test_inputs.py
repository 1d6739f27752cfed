"""Histories as people have them: pending outcomes, wide tables, rankings, times, and numbers of which low is good."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.data import open_ratings
from lpbandits.decisions.files import Summary, decide_file
from lpbandits.fit import fit_states
from lpbandits.policies.choose import choose_policy
from tests.conftest import taste_for
from tests.workbooks import workbook

ORDERINGS = list(itertools.islice(itertools.permutations(range(4)), 0, 24, 5))
UTILITIES = np.array([[0.8 - 0.2 * order.index(a) for a in range(4)] for order in ORDERINGS])
MODEL = lpb.PreferenceModel(
    ORDERINGS,
    actions=["tea", "jam", "ale", "milk"],
    means=5 * UTILITIES,
    utilities=UTILITIES,
    taste=taste_for(4),
    noise=0.8,
)
POLICIES = ("lpbts", "lpbts-incremental", "ts", "ucb", "mts", "mucb", "lpb-utility", "taste", "popular")


def history(people: int = 30, seed: int = 2) -> pl.DataFrame:
    """Return outcomes of which a third are pending; the first person has pending ones only."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, people)
    who = np.repeat(np.arange(people), lengths)
    reward = np.round(rng.normal(2, 1, len(who)), 1)
    pending = (rng.random(len(who)) < 0.3) | (who == 0)
    action = [MODEL.actions[a] for a in rng.integers(0, 4, len(who))]
    frame = pl.DataFrame({"person": who, "action": action, "reward": reward})
    return frame.with_columns(reward=pl.when(~pl.Series(pending)).then("reward"))


def past_of(frame: pl.DataFrame, model: lpb.PreferenceModel, **settings: Any) -> lpb.Histories:
    """Return the rows as histories."""
    person, action, reward = (frame[column].to_list() for column in ("person", "action", "reward"))
    return lpb.Histories.from_arrays(person, action, reward, model, **settings)


def by_file(path: Path, model: lpb.PreferenceModel, policy: str = "lpbts", **settings: Any) -> tuple[Any, Summary]:
    out = path.parent / "out.parquet"
    summary = decide_file(choose_policy(model, policy), path, out=out, threads=1, **settings)
    return pl.read_parquet(out), summary


@pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")
@pytest.mark.parametrize("once", [False, True], ids=["repeats", "once"])
@pytest.mark.parametrize("name", POLICIES)
def test_a_pending_outcome_is_given_but_no_evidence(name: str, once: bool) -> None:
    frame = history()
    policy = choose_policy(MODEL, name).policy
    past = past_of(frame, MODEL)
    assert past.pending == frame["reward"].null_count() > 5
    table = lpb.decide(policy, past, exclude_seen=once, seed=7, threads=1).table()
    for (person,), rows in frame.group_by("person", maintain_order=True):
        agent = Agent(policy, seed=7, person=person, asked=len(rows))
        for _, action, reward in rows.drop_nulls().rows():
            agent.tell(action, reward)
        left = [action for action in MODEL.actions if not once or action not in rows["action"]]
        row = table.row(by_predicate=pl.col("person") == person, named=True)
        assert row["action"] == (agent.ask(left) if left else None)
        if left and name != "ts":
            np.testing.assert_allclose(row["probability"], agent.probabilities(left)[MODEL.index[row["action"]]])


@pytest.mark.parametrize("rows", [1, 7, 1000])
@pytest.mark.parametrize("kind", ["parquet", "csv", "xlsx", "words"])
@pytest.mark.parametrize("once", [False, True], ids=["repeats", "once"])
def test_pending_rows_of_a_file_equal_the_library(tmp_path: Path, rows: int, kind: str, once: bool) -> None:
    frame, path = history(), tmp_path / f"history.{kind}"
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "xlsx":
        pytest.importorskip("fastexcel")
        workbook(path, [frame.columns, *map(list, frame.rows())])
    else:
        frame.write_csv(path, null_value="" if kind == "csv" else "n/a")
    table, summary = by_file(path, MODEL, exclude_seen=once, rows=rows)
    past = past_of(frame, MODEL)
    assert table.equals(lpb.decide(choose_policy(MODEL, "lpbts").policy, past, exclude_seen=once).table())
    assert (summary.pending, summary.without_history) == (past.pending, 0)
    assert "pending" in repr(past)


def test_a_policy_that_locks_in_counts_pending_actions() -> None:
    past = lpb.Histories.from_arrays(["ann"] * 4, list(MODEL.actions), [None] * 4, MODEL)
    with pytest.warns(lpb.errors.LockInWarning, match="1 people"):
        lpb.decide(choose_policy(MODEL, "taste").policy, past)
    assert lpb.decide(choose_policy(MODEL, "taste").policy, past, exclude_seen=True).action.tolist() == [-1]


WIDE = "person,tea,jam,ale,milk\nbo,5,1,,\nann,,,2,4\ncy,,,,\n"


def test_a_wide_history_equals_a_long_one(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(WIDE)
    table, summary = by_file(path, MODEL)
    assert (summary.layout, summary.pending, summary.without_history) == ("wide", 0, 1)
    rows = [("bo", "tea", 5.0), ("bo", "jam", 1.0), ("ann", "ale", 2.0), ("ann", "milk", 4.0)]
    frame = pl.DataFrame(rows, schema=["person", "action", "reward"], orient="row")
    past = past_of(frame, MODEL, people=["bo", "ann", "cy"])
    assert table.equals(lpb.decide(choose_policy(MODEL, "lpbts").policy, past).table())
    assert by_file(path, MODEL, reading={"layout": "wide"})[0].equals(table)


def test_facts_in_a_wide_history_are_ignored_by_name(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(WIDE.replace("person,", "person,age,sex,").replace("bo,", "bo,33,1,").replace("ann,", "ann,,0,"))
    with pytest.raises(lpb.InvalidInput, match="--ignore age,sex"):
        by_file(path, MODEL, reading={"layout": "wide"})
    reading = {"layout": "wide", "ignore": ["age", "sex"]}
    plain = tmp_path / "plain.csv"
    plain.write_text(WIDE)
    assert by_file(path, MODEL, reading=reading)[0].equals(by_file(plain, MODEL)[0])
    known = MODEL.replace(actions=["tea", "jam", "age", "sex"])  # a model may have any action
    path.write_text("person,tea,age,sex\nbo,5,40,1\nann,4,20,0\n")
    assert by_file(path, known)[1].layout == "wide"


def test_rankings_become_rewards_on_the_scale_of_the_model(tmp_path: Path) -> None:
    path, ranks, preflib = tmp_path / "rankings.csv", tmp_path / "ranks.csv", tmp_path / "h.toi"
    path.write_text("person,rank1,rank2,rank3\n1,milk,tea,jam\n2,ale,,\n")
    ranks.write_text("person,action,rank\n1,jam,9\n1,milk,1\n2,ale,1\n1,tea,5\n")
    preflib.write_text(
        "# NUMBER ALTERNATIVES: 4\n# NUMBER VOTERS: 2\n# NUMBER UNIQUE ORDERS: 2\n# ALTERNATIVE NAME 1: tea\n"
        "# ALTERNATIVE NAME 2: jam\n# ALTERNATIVE NAME 3: ale\n# ALTERNATIVE NAME 4: milk\n1: 4,1,2\n1: 3\n"
    )
    past = lpb.Histories.from_arrays([1, 1, 1, 2], ["milk", "tea", "jam", "ale"], [4.0, 3.0, 2.0, 4.0], MODEL)
    expected = lpb.decide(choose_policy(MODEL, "lpbts").policy, past).table()
    for rows in (1, 1000):
        assert by_file(path, MODEL, reading={"layout": "rankings"}, rows=rows)[0].equals(expected)
        assert by_file(path, MODEL, rows=rows)[1].layout == "rankings"
        assert by_file(ranks, MODEL, reading={"rank": "rank"}, rows=rows)[0].equals(expected)
        assert by_file(preflib, MODEL, rows=rows)[0].equals(expected)


@pytest.mark.parametrize("rows", [1, 1000])
def test_outcomes_are_in_the_order_of_time(tmp_path: Path, rows: int) -> None:
    frame = history(seed=5).with_columns(when=pl.format("2024-01-{}", pl.int_range(pl.len()).over("person") + 10))
    path, shuffled = tmp_path / "in_order.csv", tmp_path / "shuffled.csv"
    frame.write_csv(path)
    frame.sample(fraction=1.0, shuffle=True, seed=3).write_csv(shuffled)
    expected, _ = by_file(path, MODEL, "lpbts-incremental")
    table, _ = by_file(shuffled, MODEL, "lpbts-incremental", reading={"time": "when"}, rows=rows)
    assert table.sort("person").equals(expected.sort("person"))
    assert not by_file(shuffled, MODEL, "lpbts-incremental")[0].sort("person").equals(expected.sort("person"))
    shuffled.write_text("person,action,reward,when\n1,tea,3,noon\n")
    with pytest.raises(lpb.InvalidInput, match=r"line 2: time is 'noon'"):
        by_file(shuffled, MODEL, reading={"time": "when"})


@pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")
@pytest.mark.parametrize("name", POLICIES)
def test_decisions_are_on_the_scale_where_lower_is_better(name: str, tmp_path: Path) -> None:
    frame = history()
    turned = MODEL.replace(lower_is_better=True)
    negated = frame.with_columns(reward=-pl.col("reward"))
    tables = {}
    for model, rows in ((MODEL, frame), (turned, negated)):
        rows.write_parquet(tmp_path / "h.parquet")
        tables[model.lower_is_better], _ = by_file(tmp_path / "h.parquet", model, name)
        past = past_of(rows, model)
        assert lpb.decide(choose_policy(model, name).policy, past).table().equals(tables[model.lower_is_better])
    up, down = tables[False], tables[True]
    assert down.select("person", "action", "runner_up", "probability").equals(
        up.select("person", "action", "runner_up", "probability")
    )
    for column, other in (("expected", "expected"), ("low", "high"), ("high", "low")):
        np.testing.assert_array_equal(down[column].to_numpy(), -up[other].to_numpy())


def test_a_log_as_history_keeps_its_own_numbers() -> None:
    turned = MODEL.replace(lower_is_better=True)
    policy = choose_policy(turned, "lpbts").policy
    rows = ["ann", "ann", "bo"], ["tea", "jam", "milk"], [3.0, 1.0, 2.0]
    frame = pl.DataFrame(dict(zip(("person", "action", "reward"), rows, strict=True)))
    expected = lpb.decide(policy, past_of(frame, turned)).table()
    for lower in (False, True):
        log = lpb.Ratings.from_arrays(*rows, actions=turned.actions, lower_is_better=lower)
        assert lpb.decide(policy, log).table().equals(expected)


@pytest.mark.parametrize("files", [False, True], ids=["memory", "files"])
def test_ranks_for_a_model_of_ratings_are_noted(tmp_path: Path, files: bool) -> None:
    logs = {"rankings": "person,rank1,rank2,rank3\n", "rank": "person,action,rank\n", "wide": "person,tea,jam,ale\n"}
    for n in range(12):
        best = ["tea", "jam", "ale"] if n % 2 else ["ale", "jam", "tea"]
        logs["rankings"] += f"p{n},{','.join(best)}\n"
        logs["rank"] += "".join(f"p{n},{action},{rank}\n" for rank, action in enumerate(best, start=1))
        logs["wide"] += f"p{n},{','.join(str(3 - best.index(action)) for action in ('tea', 'jam', 'ale'))}\n"
    models = {}
    for name, text in logs.items():
        (tmp_path / f"{name}.csv").write_text(text)
        options: dict[str, Any] = {"rank": "rank"} if name == "rank" else {}
        with open_ratings(tmp_path / f"{name}.csv", files=files, **options) as log:
            models[name] = fit_states(log, lpb.TwoStage(), states=2, taste=False, threads=1).model
    (tmp_path / "r.csv").write_text("person,rank1,rank2\n1,ale,tea\n")
    assert by_file(tmp_path / "r.csv", models["rankings"])[0].equals(by_file(tmp_path / "r.csv", models["rank"])[0])
    with pytest.warns(lpb.ScaleWarning, match=r"holds ranks.*from 1 to 3.*lpb fit --layout rankings"):
        by_file(tmp_path / "r.csv", models["wide"])
    experts = lpb.model_from_experts({"ann": ["tea", "jam", "ale"], "bo": ["ale", "jam", "tea"]})
    assert by_file(tmp_path / "r.csv", experts)[1].layout == "rankings"


def test_ranks_contradict_a_model_where_lower_is_better(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("person,rank1,rank2\n1,milk,tea\n")
    with pytest.raises(lpb.InvalidInput, match=r"holds ranks.*low ones are good; give"):
        by_file(tmp_path / "r.csv", MODEL.replace(lower_is_better=True))
