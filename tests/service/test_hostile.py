"""Requests at the edge of what is valid: each is answered, never with 5xx, and a refused one changes nothing."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from lpbandits.model import PreferenceModel
from lpbandits.service.api.app import create_app
from lpbandits.service.requests.configure import Configure
from lpbandits.service.service import Service
from tests.service.shared import MODEL, Keyed, dump, make_project

ANN = "/v1/projects/p/people/ann"
HUGE = 10**400
REFUSED: list[tuple[str, str, Any, int]] = [
    ("POST", f"{ANN}/decisions", {"allowed": ["nothing"]}, 422),
    ("POST", f"{ANN}/decisions", {"allowed": []}, 422),
    ("POST", f"{ANN}/decisions", {"allowed": ["3"]}, 422),  # the action is the number 3
    ("POST", f"{ANN}/decisions", {"allowed": [True]}, 422),
    ("POST", f"{ANN}/decisions", {"action": "rest"}, 422),  # outside shadow mode
    ("POST", f"{ANN}/decisions", {"unknown": 1}, 422),
    ("POST", f"{ANN}/schedule", {"n": 5, "exclude_seen": True}, 409),  # four actions
    ("POST", f"{ANN}/schedule", {"n": 0}, 422),
    ("POST", f"{ANN}/outcomes", {"action": "rest", "reward": HUGE}, 422),
    ("POST", f"{ANN}/outcomes", {"action": "rest", "reward": "1"}, 422),
    ("POST", f"{ANN}/outcomes", {"action": "rest", "reward": 1, "at": 2**39}, 422),
    ("POST", f"{ANN}/outcomes", {"action": "rest", "reward": 1, "at": "0001-01-01T00:00:00+14:00"}, 422),
    ("POST", f"{ANN}/outcomes", {"action": "rest", "reward": 1, "at": "2026-01-01T00:00:00"}, 422),
    ("POST", f"{ANN}/outcomes", {"action": "rest", "decision": "x-0", "reward": 1}, 422),
    ("POST", f"{ANN}/outcomes", {"decision": "x-0", "reward": 1}, 404),
    ("POST", f"{ANN}/outcomes", {"decision": "x-99999999999999999999", "reward": 1}, 404),
    ("POST", f"{ANN}/outcomes", {"decision": "x-9999999999", "reward": 1}, 404),
    ("POST", f"{ANN}/outcomes", {"reward": 1}, 422),
    ("POST", "/v1/projects/p/outcomes/o1-1/corrections", {"reward": 1, "reason": "x"}, 404),
    ("POST", "/v1/projects/p/outcomes/o999999999999999999-999999999/corrections", {"reward": 1, "reason": "x"}, 404),
    ("PUT", ANN, {"prior": [1, 0]}, 422),
    ("PUT", ANN, {"prior": [0.5, 0.5, HUGE]}, 422),
    ("PUT", ANN, {"prior": [1, 0, 0], "covariates": {}}, 422),
    ("PUT", ANN, {"covariates": {"age": "\ud800"}}, 422),
    ("DELETE", ANN, None, 404),
    ("PUT", "/v1/projects/new", {"deviation": True}, 422),
    ("PUT", "/v1/projects/new", {"policy": "nothing"}, 422),
    ("PUT", "/v1/projects/new", {"policy": "\ud800"}, 422),
    ("PUT", "/v1/projects/p", {"policy": "lpb-duel"}, 422),
    ("PUT", "/v1/projects/p", {"settings": {"explore": 2}}, 422),
    ("PUT", "/v1/projects/p", {"settings": {"unknown": 2}}, 422),
    ("PUT", "/v1/projects/p", {"holdout": 1.5}, 422),
    ("PUT", "/v1/projects/new/model", MODEL.to_dict(), 404),
    ("PUT", "/v1/projects/p/model", {"format": "\ud800"}, 422),
    ("PUT", "/v1/projects/p/model", MODEL.to_dict() | {"sha256": "0" * 64}, 422),
    ("GET", "/v1/projects/new", None, 404),
    ("GET", ANN, None, 404),
    ("GET", "/v1/projects/p/people?limit=0", None, 422),
]


def test_refused_requests_change_nothing(service: Service, client: TestClient) -> None:
    make_project(client)
    before = dump(service)
    for method, path, body, status in REFUSED:
        content = None if body is None else json.dumps(body)
        answer = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
        about = method, path, str(body)[:100], answer.text
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), about
        assert answer.json()["status"] == status, about
        assert dump(service) == before, about


def test_a_refused_project_is_not_made_by_halves(client: TestClient) -> None:
    assert client.put("/v1/projects/new", json={"deviation": True}).status_code == 422
    assert client.put("/v1/projects/new", json={}).status_code == 200


def test_null_characters_are_refused(client: TestClient) -> None:
    path = make_project(client)
    client.post(f"{path}/people/ann/decisions")
    new = MODEL.replace(prior=[0.2, 0.3, 0.5]).to_dict()
    for null in ("%00", "a%00b"):
        assert client.get(f"{path}/people?after={null}").status_code == 422
        assert client.get(f"{path}/people/{null}").status_code == 422
        assert client.delete(f"{path}/people/{null}").status_code == 422
        assert client.delete(f"{path}/people/ann?reason={null}").status_code == 422
        assert client.put(f"{path}/model?reason={null}", json=new).status_code == 422


def test_a_person_with_any_label_can_be_read_and_deleted(client: TestClient) -> None:
    path = make_project(client)
    for label in ("a/b", "/", "a/decisions", "x y", "ü✓", "a%b", "a?b#c", "a\\b", "'; DROP TABLE people", "x" * 1_000):
        made = client.post(f"{path}/decisions:batch", json={"items": [{"person": label}]})
        assert made.status_code == 201
        own = f"{path}/people/{quote(label, safe='')}"
        assert client.get(own).json()["person"] == label
        assert client.post(f"{own}/decisions").json()["person"] == label
        assert client.get(f"{path}/people").json()["people"] == [label]
        assert client.delete(own).json()["decisions"] == 2


def test_actions_that_no_database_can_hold_are_refused(client: TestClient) -> None:
    path = make_project(client, model=None)
    for label in ("\ud800", "a\0b"):
        model = PreferenceModel([[0, 1], [1, 0]], actions=["a", "b"]).to_dict()
        text = json.dumps(model).replace('"a"', json.dumps(label))
        answer = client.put(f"{path}/model", content=text, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422, answer.text


def test_bodies_that_are_not_json_objects_are_refused(client: TestClient) -> None:
    path = make_project(client)
    for content in (b"", b"{", b"[]", b"1", b'"\xff"', b"[" * 100_000, b'{"n": NaN}', b'{"n": 1e999}'):
        headers = {"Content-Type": "application/json"}
        answer = client.post(f"{path}/people/ann/schedule", content=content, headers=headers)
        assert answer.status_code in (400, 422), answer.text


def test_a_decision_has_one_reward_however_it_is_corrected(client: TestClient) -> None:
    path = make_project(client)
    ann = f"{path}/people/ann"
    decision = client.post(f"{ann}/decisions").json()["decision"]
    given = client.post(f"{ann}/outcomes", json={"decision": decision}).json()["outcome"]
    assert client.post(f"{ann}/outcomes", json={"decision": decision, "reward": 0.5}).status_code == 201
    answer = client.post(f"{path}/outcomes/{given}/corrections", json={"reward": 0.7, "reason": "typo"})
    assert answer.status_code == 409
    assert client.get(ann).json()["rounds"] == 1


@pytest.mark.parametrize("how", ["settings", "model"])
def test_a_family_of_rewards_that_contradicts_the_outcomes_is_refused(client: TestClient, how: str) -> None:
    path = make_project(client)
    client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 0.5})
    if how == "model":
        answer = client.put(f"{path}/model", json=MODEL.replace(rewards="bernoulli").to_dict())
    else:
        answer = client.put(path, json={"settings": {"rewards": "bernoulli"}})
    assert answer.status_code == 409
    assert client.get(f"{path}/people/ann").status_code == 200


def test_an_error_inside_the_service_is_a_problem(
    opened: Callable[..., Service], sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = opened(sqlite_url)
    monkeypatch.setattr("lpbandits.service.requests.ask.enrolled", lambda *_: 1 / 0)
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        answer = client.post(f"{make_project(client)}/people/ann/decisions")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ann" not in answer.text


def test_labels_that_are_not_utf8_are_refused(client: TestClient, service: Service) -> None:
    path = make_project(client)
    before = dump(service)
    for label in ("Jos%E9", "Jos%E8", "%ff", "a%2F%E9"):
        answer = client.post(f"{path}/people/{label}/decisions")
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
        assert client.get(f"{path}/people?after={label}").status_code == 400
    assert dump(service) == before
    for label in ("Jos%C3%A9", "Jos%C3%A8"):
        assert client.post(f"{path}/people/{label}/decisions").status_code == 201
    assert client.get(f"{path}/people").json()["people"] == ["Jos\u00e8", "Jos\u00e9"]


def test_a_name_that_comes_twice_is_refused(client: TestClient, service: Service) -> None:
    path = make_project(client)
    before = dump(service)
    bodies = [
        ("POST", f"{path}/people/ann/outcomes", '{"action": "rest", "reward": 1, "reward": 2}'),
        ("POST", f"{path}/outcomes:batch", '{"items": [{"person": "a", "person": "b", "action": 3, "reward": 1}]}'),
        ("PUT", path, '{"seed": 1, "seed": 2}'),
        ("PUT", f"{path}/people/ann", '{"prior": [1, 0, 0], "prior": [0, 1, 0]}'),
        ("PUT", f"{path}/model", '{"actions": [], "actions": []}'),
    ]
    for method, url, content in bodies:
        answer = client.request(method, url, content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, "twice" in answer.json()["detail"]) == (422, True), url
    assert dump(service) == before


def test_a_key_is_checked_before_the_body(keyed: Keyed) -> None:
    make_project(keyed.client, headers=keyed.bearer())
    reader = keyed.bearer(keyed.new_key("reader"))
    routes = [("PUT", ANN), ("PUT", "/v1/projects/p"), ("PUT", "/v1/projects/p/model"), ("POST", "/v1/keys")]
    for method, url in [*routes, ("POST", f"{ANN}/decisions")]:
        for headers, status in (({}, 401), (keyed.bearer("unknown"), 401), (reader, 403), (keyed.bearer(), 422)):
            answer = keyed.client.request(
                method, url, content=b"{", headers={"Content-Type": "application/json", **headers}
            )
            assert answer.status_code == status, (url, answer.text)


def test_a_project_that_is_refused_late_leaves_nothing(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("lpbandits.service.requests.configure.project_json", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            service.writer.submit(Configure("p", None, b"1", None, "configuration", {})).result()
    assert dump(service)["projects"] == []
    assert service.writer.submit(Configure("p", None, b"1", None, "configuration", {})).result().body["version"] == 1
