"""The loop closes: serve, collect outcomes, fit on them, upload the model, and every history continues."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import lpbandits as lpb
from lpbandits.errors import InvalidInput
from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from lpbandits.service.verify import verify
from tests.cli.invoke import error_of, json_output, output

pytestmark = pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")

N_PEOPLE, N_ACTIONS = 48, 6
LABELS = [f"action {a}" for a in range(N_ACTIONS)]
ORDERS = np.array([range(N_ACTIONS), range(N_ACTIONS)[::-1]])


@pytest.fixture
def client(sqlite_url: str, opened: Callable[..., Service]) -> Iterator[TestClient]:
    """Return a client of a project whose people have two opposite orderings, and were given each action twice."""
    with TestClient(create_app(opened(sqlite_url))) as client:
        first = lpb.PreferenceModel([list(range(N_ACTIONS))], actions=LABELS)
        assert client.put("/v1/projects/p", json={"policy": "lpbts", "seed": 5}).status_code == 200
        assert client.put("/v1/projects/p/model", json=first.to_dict()).status_code == 200
        rng = np.random.default_rng(3)
        for repeat in range(2):
            items = [
                {"person": f"person {n}", "action": LABELS[a], "reward": float(-place + rng.normal(0, 0.3))}
                for n in range(N_PEOPLE)
                for place, a in enumerate(ORDERS[n % 2])
            ]
            headers = {"Idempotency-Key": str(repeat)}
            assert client.post("/v1/projects/p/outcomes:batch", json={"items": items}, headers=headers).is_success
        yield client


def test_fit_on_a_store_then_upload_continues_every_history(
    client: TestClient, sqlite_url: str, tmp_path: Path
) -> None:
    out = tmp_path / "model.json"
    words = ("--store", sqlite_url, "--project", "p", "--states", "2", "--out", out)
    content = json_output("fit", *words)
    assert (content["people"], content["actions"], content["ratings"]) == (N_PEOPLE, N_ACTIONS, N_PEOPLE * N_ACTIONS)
    assert content["dropped"]["averaged_ratings"] == N_PEOPLE * N_ACTIONS
    model = lpb.PreferenceModel.load(out)
    assert {tuple(row) for row in model.orderings.tolist()} == set(map(tuple, ORDERS.tolist()))

    dry = client.put("/v1/projects/p/model", json=model.to_dict(), params={"dry_run": True}).json()
    answer = client.put("/v1/projects/p/model", json=model.to_dict()).json()
    assert (answer["model"], answer["carried"], answer["dropped"]) == (model.sha256, 2 * N_PEOPLE * N_ACTIONS, [])
    assert dry["carried"] == answer["carried"]
    policy = lpb.policy(model, "lpbts")
    for n in range(N_PEOPLE):
        path = f"/v1/projects/p/people/person {n}"
        decision = client.post(f"{path}/decisions").json()
        person = client.get(path).json()
        agent = lpb.Agent(policy, seed=5, person=f"person {n}")
        for fact in person["history"]:
            if fact["kind"] == "outcome":
                agent.tell(fact["given"], fact["reward"])
        assert person["posterior"] == agent.posterior.tolist()
        assert max(person["posterior"]) > 0.9
        fresh = agent.decide()
        assert decision["action"] == fresh.action
        assert decision["probabilities"] == fresh.probabilities
    with Store(sqlite_url) as store:
        assert verify(store).differences == []


@pytest.mark.usefixtures("client")
def test_a_store_and_its_export_give_the_same_model(sqlite_url: str, tmp_path: Path) -> None:
    output("store", "export", "--store", sqlite_url, "--out", tmp_path / "export")
    output("store", "export", "--store", sqlite_url, "--out", tmp_path / "export.zip", "--format", "csv")
    hashes = set()
    sources: list[list[object]] = [["--store", sqlite_url], [tmp_path / "export"], [tmp_path / "export.zip"]]
    for number, source in enumerate(sources):
        text = output("fit", *source, "--states", "2", "--out", tmp_path / f"{number}.json")
        assert f"averaged repeated ratings: {N_PEOPLE * N_ACTIONS:,}" in text
        hashes.add(lpb.PreferenceModel.load(tmp_path / f"{number}.json").sha256)
    assert len(hashes) == 1
    assert "--store sqlite:///" in output("fit", "--store", sqlite_url, "--states", "2", "--out", tmp_path / "m.json")
    last = lpb.read_ratings(tmp_path / "export", duplicates="last", time="time")
    text = output("fit", tmp_path / "export", "--states", "2", "--duplicates", "last", "--time", "time")
    assert f"{len(last):,} ratings" in text
    assert "averaged" not in text


@pytest.mark.usefixtures("client")
def test_evaluate_on_a_store(sqlite_url: str, tmp_path: Path) -> None:
    words = ("--states", "2", "--rounds", "3", "--policies", "lpbts")
    content = json_output("evaluate", "--store", sqlite_url, "--project", "p", *words)
    output("store", "export", "--store", sqlite_url, "--out", tmp_path / "export")
    same = json_output("evaluate", tmp_path / "export", *words)
    for one in (content, same):
        del one["seconds"]
    assert content == same


def test_sources_are_refused(client: TestClient, sqlite_url: str, tmp_path: Path) -> None:
    for words in ([], [tmp_path / "log.csv", "--store", sqlite_url]):
        error = error_of("fit", *words)
        assert isinstance(error, InvalidInput)
        assert "RATINGS" in str(error)
    assert client.put("/v1/projects/new", json={}).is_success
    assert "no outcomes" in str(error_of("fit", "--store", sqlite_url, "--project", "new"))
    assert "new, p" in str(error_of("evaluate", "--store", sqlite_url))
