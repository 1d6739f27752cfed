"""Numbers of projects: they are those of the export."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from starlette.testclient import TestClient

from lpbandits.service.api.app import create_app
from lpbandits.service.export import export_folder
from lpbandits.service.service import Service
from tests.cli.invoke import error_of, json_output, output
from tests.service.histories import live
from tests.service.shared import make_project

pytestmark = pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")


def test_numbers_are_those_of_the_export(service: Service, client: TestClient, tmp_path: Path) -> None:
    path = live(client, people=9)
    live(client, "other", seed=1)
    about = client.get(f"{path}/stats").json()
    export_folder(service.store, tmp_path, project="p")
    names = ("people", "decisions", "outcomes", "corrections", "ratings")
    people, decisions, outcomes, corrections, ratings = (
        pl.read_parquet(tmp_path / f"{name}.parquet") for name in names
    )
    assert (about["people"], about["decisions"]) == (len(people), len(decisions))
    assert (about["outcomes"], about["corrections"]) == (len(outcomes), len(corrections))
    assert about["withdrawn"] == outcomes["withdrawn"].sum() == 1
    assert about["deleted"] == 1
    answered = set(outcomes.filter(pl.col("current_reward").is_not_null())["decision"]) - {None}
    assert about["waiting"] == len(decisions) - len(answered) > 0
    standing = outcomes.filter(~pl.col("withdrawn"))
    for row in about["actions"]:
        label = str(row["action"])
        rewards = ratings.filter(pl.col("action") == label)["rating"]
        assert row["recommended"] == (decisions["recommended"] == label).sum()
        assert row["given"] == _given(standing.filter(pl.col("current_given") == label))
        assert row["rewards"] == len(rewards)
        assert row["mean_reward"] == pytest.approx(rewards.mean(), rel=1e-12)
    assert sum(row["recommended"] for row in about["actions"]) == len(decisions)
    held = set(people.filter("holdout")["person"])
    assert held
    for arm, in_arm in zip(about["arms"], (~pl.col("person").is_in(held), pl.col("person").is_in(held)), strict=True):
        rewards = ratings.filter(in_arm)["rating"]
        assert arm["people"] == len(people.filter(in_arm))
        assert arm["recommended"] == len(decisions.filter(in_arm))
        assert arm["given"] == _given(standing.filter(in_arm))
        assert (arm["rewards"], arm["mean_reward"]) == (len(rewards), pytest.approx(rewards.mean(), rel=1e-12))
    times = pl.concat([people["at"], decisions["at"], outcomes["at"]])
    shown = times.sort().dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    assert [about["first"], about["last"]] == [shown[0], shown[-1]]


def _given(outcomes: pl.DataFrame) -> int:
    """Return how often actions were given: once for each decision."""
    decisions = outcomes["decision"]
    return decisions.null_count() + decisions.drop_nulls().n_unique()


def test_an_action_of_a_decision_is_given_once(client: TestClient) -> None:
    path = make_project(client)
    people = ("rewarded later", "withdrawn", "not rewarded", "corrected")
    told = {}
    for person in people:
        own = f"{path}/people/{person}"
        decision = client.post(f"{own}/decisions", json={"allowed": ["walk"]}).json()["decision"]
        assert client.post(f"{own}/outcomes", json={"decision": decision}).status_code == 201
        if person != "not rewarded":
            told[person] = client.post(f"{own}/outcomes", json={"decision": decision, "reward": 3}).json()["outcome"]
    for person, change in (("withdrawn", {"reward": None}), ("corrected", {"reward": 2, "given": "rest"})):
        body = {**change, "reason": "typing error"}
        assert client.post(f"{path}/outcomes/{told[person]}/corrections", json=body).status_code == 201
    about = client.get(f"{path}/stats").json()
    counts = {row["action"]: (row["given"], row["rewards"]) for row in about["actions"]}
    assert counts == {"walk": (3, 1), "rest": (1, 1)}
    assert (about["arms"][0]["given"], about["outcomes"], about["withdrawn"]) == (4, 7, 1)


def test_an_empty_project_has_numbers(client: TestClient) -> None:
    about = client.get(f"{make_project(client)}/stats").json()
    assert (about["people"], about["waiting"], about["first"], about["actions"]) == (0, 0, None, [])
    assert about["arms"][0] == {
        "arm": "policy",
        "people": 0,
        "recommended": 0,
        "given": 0,
        "rewards": 0,
        "mean_reward": None,
    }


def test_the_command_shows_all_projects(sqlite_url: str, opened: Callable[..., Service]) -> None:
    with TestClient(create_app(opened(sqlite_url))) as client:
        path = live(client, rounds=2)
        make_project(client, "q")
        about = client.get(f"{path}/stats").json()
    content = json_output("store", "stats", "--store", sqlite_url)
    assert [one["project"] for one in content["projects"]] == ["p", "q"]
    assert content["projects"][0] == about
    assert content["bytes"] > 50_000
    text = output("store", "stats", "--store", sqlite_url, "--project", "p")
    assert "Project p: people 5" in text
    assert "holdout" in text
    assert "Project q" not in text
    assert "p, q" in str(error_of("store", "stats", "--store", sqlite_url, "--project", "r"))
