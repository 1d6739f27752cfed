"""`decide_file` and `lpb decide` with priors and covariates of people."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits.cli import app
from lpbandits.decisions.files import decide_file
from lpbandits.policies.choose import choose_policy
from tests.cli.invoke import error_of, json_output, output
from tests.conftest import taste_for
from tests.decisions.test_files import MODEL, by_file, by_library, outcomes

FRAME = outcomes()
PEOPLE: list[int] = FRAME["person"].unique(maintain_order=True).to_list()
ROWS = np.random.default_rng(2).dirichlet(np.ones(3), len(PEOPLE))
WIDE = pl.DataFrame({"person": PEOPLE, **{str(z): ROWS[:, z] for z in range(3)}})
AGES = lpb.CovariateModel(
    *(["age"], ["number"], [[]], np.array([40.0]), np.array([10.0])),
    intercepts=np.zeros(3),
    coefficients=np.array([[2.0, 0.0], [0.0, 0.0], [-2.0, 0.0]]),
    factor=0.9,
)
OLD = MODEL.replace(covariates=AGES)


@pytest.mark.parametrize("rows", [7, 1000])
@pytest.mark.parametrize("long", [False, True], ids=["wide", "long"])
def test_files_with_priors_equal_the_library_and_agents(tmp_path: Path, rows: int, long: bool) -> None:
    table = WIDE.tail(30)
    others = pl.DataFrame({"person": [900, 901], "0": [1.0, 0.0], "1": [0.0, 0.5], "2": [0.0, 0.5]})
    table = pl.concat([table, others])
    if long:
        table = table.unpivot(index="person", variable_name="state", value_name="probability")
    table.write_csv(tmp_path / "priors.csv")
    decisions, summary = by_file(tmp_path, FRAME, prior=tmp_path / "priors.csv", rows=rows)
    assert (summary.with_prior, summary.unknown_priors) == (30, 2)
    priors = {person: ROWS[n] for n, person in enumerate(PEOPLE) if n >= 10}
    assert decisions.equals(by_library(FRAME, prior=priors))
    assert decisions.equals(by_library(FRAME, prior=table))
    assert decisions.head(10).equals(by_library(FRAME).head(10))
    assert not decisions.equals(by_library(FRAME))


def test_covariates_of_the_people_give_their_priors(tmp_path: Path) -> None:
    people = pl.DataFrame({"user": PEOPLE, "member": [1] * len(PEOPLE), "age": np.linspace(20, 60, len(PEOPLE))})
    people.write_csv(tmp_path / "people.csv")
    decisions, summary = by_file(tmp_path, FRAME, OLD, people=tmp_path / "people.csv")
    assert summary.with_prior == len(PEOPLE)
    priors = {row["user"]: OLD.prior_for({"age": row["age"]}) for row in people.iter_rows(named=True)}
    assert decisions.equals(by_library(FRAME, OLD, prior=priors))
    assert decisions.equals(by_library(FRAME, OLD, people=people))
    first = {PEOPLE[0]: [0.0, 1.0, 0.0]}
    assert by_library(FRAME, OLD, prior=first, people=people).equals(by_library(FRAME, OLD, prior={**priors, **first}))


@pytest.mark.parametrize("model", [MODEL, OLD.replace(covariates=None), OLD])
def test_a_list_of_people_without_covariates_changes_no_decision(tmp_path: Path, model: lpb.PreferenceModel) -> None:
    (tmp_path / "people.csv").write_text("person\n" + "\n".join(map(str, PEOPLE)) + "\n")
    decisions, _ = by_file(tmp_path, FRAME, model, people=tmp_path / "people.csv")
    assert decisions.equals(by_library(FRAME, model))


@pytest.mark.filterwarnings("ignore:the rule 'greedy'")
def test_people_without_covariates_keep_the_policy_and_the_prior_of_the_model(tmp_path: Path) -> None:
    model, history, people = (tmp_path / name for name in ("model.json", "history.csv", "people.csv"))
    OLD.replace(evaluation={"best": "popular"}).save(model)
    FRAME.write_csv(history)
    arguments: list[Any] = ["decide", "--model", model, history, "--people", people]
    for text, policy, n in (("user\n1\n2\n", "popular", 0), ("user,age,town\n1,30,x\n2,,y\n", "lpbts", 1)):
        people.write_text(text)
        content = json_output(*arguments)
        assert (content["policy"], content["with_prior"]) == (policy, n)


def test_renamed_covariates_are_refused_and_missing_ones_named(tmp_path: Path) -> None:
    sites = lpb.CovariateModel(
        *(["age", "site"], ["number", "text"], [[], ["A", "B"]], np.array([40.0, 0.0]), np.array([10.0, 1.0])),
        intercepts=np.zeros(3),
        coefficients=np.tile([[0.1], [0.2], [0.4]], 5),
        factor=0.9,
    )
    model = MODEL.replace(covariates=sites)
    model.save(tmp_path / "model.json")
    FRAME.write_csv(tmp_path / "history.csv")
    renamed = pl.DataFrame({"person": PEOPLE[:2], "Age": [30, 40], "Site": ["A", "B"]})
    renamed.write_csv(tmp_path / "people.csv")
    with pytest.raises(lpb.InvalidInput, match=r"covariates \(age, site\), got 'Age', 'Site' \(did you mean 'age'\?\)"):
        by_library(FRAME, model, people=renamed)
    arguments: list[Any] = ["decide", "--model", tmp_path / "model.json", tmp_path / "history.csv"]
    assert "did you mean 'age'" in str(error_of(*arguments, "--people", tmp_path / "people.csv"))
    with pytest.warns(lpb.CovariateWarning, match="no column 'site'") as caught:
        by_library(FRAME, model, people=renamed.rename({"Age": "age"}).drop("Site"))
    assert len(caught) == 1


@pytest.mark.filterwarnings("ignore:the rule 'greedy'")
def test_policies_without_states_refuse_priors_and_ignore_covariates(tmp_path: Path) -> None:
    model = OLD.replace(taste=taste_for(4))
    WIDE.write_csv(tmp_path / "priors.csv")
    pl.DataFrame({"person": PEOPLE, "age": [30] * len(PEOPLE)}).write_csv(tmp_path / "people.csv")
    FRAME.write_csv(tmp_path / "history.csv")
    chosen = choose_policy(model, "taste")
    with pytest.raises(lpb.NotSupported, match=r"priors.*has none"):
        decide_file(chosen, tmp_path / "history.csv", prior=tmp_path / "priors.csv")
    with_people = decide_file(chosen, tmp_path / "history.csv", people=tmp_path / "people.csv")
    assert with_people.with_prior == 0
    assert with_people.first.equals(decide_file(chosen, tmp_path / "history.csv").first)


def test_the_command_counts_people_with_priors(tmp_path: Path) -> None:
    model, history, priors = (tmp_path / name for name in ("model.json", "history.csv", "priors.csv"))
    MODEL.save(model)
    FRAME.write_csv(history)
    pl.concat([WIDE.head(5), WIDE.tail(1).with_columns(person=pl.lit(900, pl.Int64))]).write_csv(priors)
    arguments: list[Any] = ["decide", "--model", model, history, "--prior", priors]
    text = output(*arguments)
    assert "with a prior of their own: 5" in text
    assert "priors of other people: 1" in text
    content = json_output(*arguments)
    assert (content["with_prior"], content["unknown_priors"]) == (5, 1)


def test_priors_need_a_policy_with_states(tmp_path: Path) -> None:
    """The policy of a fitted model is taste, which has none; the command then chooses one that has."""
    model, history, priors = (tmp_path / name for name in ("model.json", "history.csv", "priors.csv"))
    fitted = MODEL.replace(taste=taste_for(4))
    fitted.save(model)
    FRAME.write_csv(history)
    WIDE.write_csv(priors)
    assert choose_policy(fitted).name == "taste"
    assert choose_policy(fitted, states=True).name == "lpbts"
    content = json_output("decide", "--model", model, history, "--prior", priors)
    assert (content["policy"], content["with_prior"]) == ("lpbts", len(WIDE))


def test_decimal_commas_of_both_tables_follow_the_option(tmp_path: Path) -> None:
    model, history, people, priors = (tmp_path / name for name in ("m.json", "history.csv", "people.csv", "priors.csv"))
    OLD.save(model)
    history.write_text("person;action;reward\n" + f"{PEOPLE[0]};{OLD.actions[0]};1,5\n")
    people.write_text(f"person;age\n{PEOPLE[0]};41,5\n{PEOPLE[1]};30,0\n")
    priors.write_text(f"person;0;1;2\n{PEOPLE[1]};0,25;0,75;0,0\n")
    arguments: list[Any] = ["decide", "--model", model, history, "--policy", "lpbts", "--decimal-comma"]
    output(*arguments, "--people", people, "--prior", priors, "--out", tmp_path / "out.csv")
    found = pl.read_csv(tmp_path / "out.csv")["probability"].to_list()
    starts: list[dict[str, Any]] = [{"covariates": {"age": 41.5}}, {"prior": [0.25, 0.75, 0.0]}]
    for n, start in enumerate(starts):
        agent = lpb.Agent(lpb.policy(OLD, "lpbts"), seed=0, person=PEOPLE[n], asked=1 - n, **start)
        if n == 0:
            agent.tell(OLD.actions[0], 1.5)
        np.testing.assert_allclose(found[n], agent.probabilities()[OLD.index[agent.ask()]], rtol=1e-12)
    history.write_text(f"person;action;reward\n{PEOPLE[0]};{OLD.actions[0]};1\n")
    for option, table, words in (("--people", people, "'age' is '41,5'"), ("--prior", priors, "'0' must be a prob")):
        error = str(error_of(*arguments[:-1], option, table))
        assert words in error
        assert "read decimal commas in all tables (--decimal-comma)" in error


def test_the_command_notes_unknown_levels_once(tmp_path: Path) -> None:
    model, history, people = (tmp_path / name for name in ("m.json", "history.csv", "people.csv"))
    sex = lpb.CovariateModel(["sex"], ["text"], [["f", "m"]], np.zeros(1), np.ones(1), np.zeros(3), np.eye(3), 0.9)
    MODEL.replace(covariates=sex).save(model)
    FRAME.write_csv(history)
    people.write_text("person,sex\n" + "".join(f"{person},{'fmxx'[person % 4]}\n" for person in PEOPLE))
    arguments = ["decide", "--model", model, history, "--people", people]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0
    assert result.stderr.count("count as missing: sex has 'x' (20)") == 1
