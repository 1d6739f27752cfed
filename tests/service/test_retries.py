"""Repeated requests: after a deletion, after a withdrawal, after a change of settings, and spelled otherwise."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from lpbandits.service.service import Service
from tests.service.shared import MODEL, dump, make_project

KEY = {"Idempotency-Key": "visit-1"}


def test_a_retry_does_not_enrol_a_deleted_person_again(client: TestClient, service: Service) -> None:
    path = make_project(client)
    ann = f"{path}/people/ann"
    requests: list[tuple[str, dict[str, Any]]] = [
        (f"{ann}/decisions", {}),
        (f"{ann}/outcomes", {"action": "rest", "reward": 1}),
        (f"{path}/decisions:batch", {"items": [{"person": "ann"}]}),
    ]
    for i, (url, body) in enumerate(requests):
        assert client.post(url, json=body, headers={"Idempotency-Key": f"ann-{i}"}).status_code == 201
    assert client.delete(ann).status_code == 200
    rows = dump(service)
    assert "ann" not in str(rows)
    for i, (url, body) in enumerate(requests):
        answer = client.post(url, json=body, headers={"Idempotency-Key": f"ann-{i}"})
        assert (answer.status_code, "was deleted" in answer.json()["detail"]) == (404, True)
    assert dump(service) == rows
    assert client.post(f"{ann}/decisions", headers={"Idempotency-Key": "new"}).status_code == 201


def test_a_repeated_batch_marks_deleted_people_in_their_places(client: TestClient) -> None:
    path = make_project(client)
    items = [{"person": person} for person in ("ann", "bob", "ann", "cal")]
    first = client.post(f"{path}/decisions:batch", json={"items": items}, headers=KEY).json()["decisions"]
    client.delete(f"{path}/people/ann")
    gone = {"deleted": True}
    again = client.post(f"{path}/decisions:batch", json={"items": items}, headers=KEY)
    assert again.json()["decisions"] == [gone, first[1], gone, first[3]]
    for person in ("bob", "cal"):
        client.delete(f"{path}/people/{person}")
    again = client.post(f"{path}/decisions:batch", json={"items": items}, headers=KEY)
    assert again.json()["decisions"] == [gone] * 4


@pytest.mark.parametrize("only_given", [False, True])
def test_a_withdrawn_outcome_comes_back_by_a_correction_only(client: TestClient, only_given: bool) -> None:
    path = make_project(client)
    ann = f"{path}/people/ann"
    decision = client.post(f"{ann}/decisions").json()["decision"]
    if only_given:
        client.post(f"{ann}/outcomes", json={"decision": decision})
    told = {"decision": decision, "reward": 2.5}
    outcome = client.post(f"{ann}/outcomes", json=told).json()["outcome"]
    withdrawal = {"reward": None, "reason": "typo"}
    assert client.post(f"{path}/outcomes/{outcome}/corrections", json=withdrawal).status_code == 201
    for reward in (2.5, 3.0):
        answer = client.post(f"{ann}/outcomes", json={**told, "reward": reward})
        assert answer.status_code == 409
    assert client.get(ann).json()["rounds"] == 0
    named = next(word for word in answer.json()["detail"].replace(",", "").split() if word.startswith("o1-"))
    assert (named == outcome) != only_given
    assert (
        client.post(f"{path}/outcomes/{named}/corrections", json={"reward": 2.5, "reason": "right"}).status_code == 201
    )
    assert client.get(ann).json()["rounds"] == 1


def test_a_repeated_upload_is_answered_whatever_the_settings_are_now(client: TestClient) -> None:
    path = make_project(client)
    new = MODEL.replace(prior=[0.2, 0.3, 0.5], rewards="bernoulli").to_dict()
    client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 1})
    first = client.put(f"{path}/model", json=new, headers=KEY)
    assert (first.status_code, first.json()["carried"]) == (200, 1)
    assert client.put(path, json={"settings": {"rewards": "gaussian"}}).status_code == 200
    assert client.put(f"{path}/model", json=MODEL.to_dict()).status_code == 200
    client.put(path, json={"settings": {"rewards": None}})
    client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 0.5})
    again = client.put(f"{path}/model", json=new, headers=KEY)
    assert (again.status_code, again.headers.get("Idempotent-Replayed")) == (200, "true")
    assert again.json() == first.json()
    assert client.put(f"{path}/model", json=new).status_code == 409


def test_a_repeated_request_may_be_spelled_otherwise(client: TestClient) -> None:
    ann = f"{make_project(client)}/people/ann"
    for body in ({}, {"exclude_seen": False}, {"allowed": None}, {"exclude_seen": False, "action": None}):
        assert client.post(f"{ann}/decisions", json=body, headers=KEY).status_code == 201
    assert client.post(f"{ann}/decisions", json={"exclude_seen": True}, headers=KEY).status_code == 409
    for i, reward in enumerate(("1", "1.0", "1e0", "2")):
        content = f'{{"action": 3, "reward": {reward}}}'
        headers = {"Idempotency-Key": "told", "Content-Type": "application/json"}
        assert client.post(f"{ann}/outcomes", content=content, headers=headers).status_code == (201 if i < 3 else 409)
    assert len(client.get(ann).json()["history"]) == 2


def test_an_item_of_a_refused_batch_is_named(client: TestClient, service: Service) -> None:
    path = make_project(client)
    before = dump(service)
    people = [{"person": person} for person in ("ann", "bob", "cal")]
    asks: list[dict[str, Any]] = [*people[:2], {**people[2], "allowed": ["nothing"]}]
    tells: list[dict[str, Any]] = [{**one, "action": "rest", "reward": 1} for one in people]
    batches: list[tuple[str, list[dict[str, Any]]]] = [
        ("decisions", asks),
        ("outcomes", [*tells[:2], {**tells[2], "action": "nothing"}]),
        ("outcomes", [*tells[:2], {**people[2], "reward": 1}]),
        ("outcomes", [*tells[:2], {**people[2], "decision": "d1-7", "reward": 1}]),
    ]
    for name, items in batches:
        answer = client.post(f"{path}/{name}:batch", json={"items": items})
        assert answer.status_code in (404, 422)
        assert answer.json()["detail"].startswith("items[2] (person 'cal'): ")
    assert dump(service) == before
    answer = client.post(f"{path}/people/ann/outcomes", json={"action": "nothing", "reward": 1})
    assert not answer.json()["detail"].startswith("items")
