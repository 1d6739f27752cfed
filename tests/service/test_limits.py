"""Limits, headers of all answers, what logs hold, repeated requests."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from starlette.testclient import TestClient

from lpbandits.service.api.app import create_app
from lpbandits.service.service import Limits, Service
from tests.service.shared import MODEL, Keyed, dump, make_project

SECURE = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
EMPTY: dict[str, Any] = {}


@pytest.fixture
def small(sqlite_url: str, opened: Callable[..., Service]) -> Iterator[TestClient]:
    """Return a client of a service that takes 5,000 bytes."""
    with TestClient(create_app(opened(sqlite_url, limits=Limits(body=5_000)))) as client:
        yield client


def test_a_body_above_the_limit_is_refused_with_and_without_its_length(small: TestClient) -> None:
    path = make_project(small)
    body = b'{"n": 1' + b" " * 5_000 + b"}"
    headers = {"Content-Type": "application/json"}
    for content in (body, (body[i : i + 1_000] for i in range(0, len(body), 1_000))):
        answer = small.post(f"{path}/people/ann/schedule", content=content, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json"), answer.text
        assert "5,000 bytes" in answer.json()["detail"]
    for length in ("x", "-1", "99999999999999999999"):
        answer = small.post(f"{path}/people/ann/schedule", content=b"{}", headers=headers | {"Content-Length": length})
        assert answer.status_code in (400, 413)


def test_batches_and_labels_above_their_limits_are_refused(client: TestClient) -> None:
    path = make_project(client)
    item = {"person": "ann", "action": "rest", "reward": 1}
    assert client.post(f"{path}/outcomes:batch", json={"items": [item] * 10_001}).status_code == 422
    assert client.post(f"{path}/decisions:batch", json={"items": [{"person": "a"}] * 10_001}).status_code == 422
    assert client.post(f"{path}/decisions:batch", json={"items": []}).status_code == 422
    assert client.post(f"{path}/people/{'x' * 1_001}/decisions").status_code == 422
    assert client.post(f"{path}/people/ann/schedule", json={"n": 1_001}).status_code == 422
    key = {"Idempotency-Key": "x" * 201}
    assert client.post(f"{path}/people/ann/decisions", headers=key).status_code == 422
    assert client.put(f"/v1/projects/{'x' * 101}", json={}).status_code == 422
    assert client.post(f"{path}/people/{'x' * 1_000}/decisions").status_code == 201


def test_a_full_batch_is_answered(client: TestClient, service: Service) -> None:
    path = make_project(client)
    items = [{"person": f"p{i % 50}", "action": "rest", "reward": i % 7} for i in range(10_000)]
    answer = client.post(f"{path}/outcomes:batch", json={"items": items})
    assert answer.status_code == 201
    assert len({one["outcome"] for one in answer.json()["outcomes"]}) == 10_000
    assert len(dump(service)["outcomes"]) == 10_000


def test_requests_above_the_rate_are_told_when_to_come_again(sqlite_url: str, opened: Callable[..., Service]) -> None:
    service = opened(sqlite_url, dev=False, limits=Limits(rate=5))
    keyed = Keyed(service, TestClient(create_app(service)), service.first_key() or "")
    answers = [keyed.client.get("/v1/projects", headers=keyed.bearer()) for _ in range(20)]
    late = [answer for answer in answers if answer.status_code == 429]
    assert len(late) >= 5
    assert {answer.headers["Retry-After"] for answer in late} == {"1"}
    assert answers[0].status_code == 200


def test_all_answers_have_the_security_headers(client: TestClient) -> None:
    path = make_project(client)
    answers = [
        client.get("/health"),
        client.get("/openapi.json"),
        client.get("/metrics"),
        client.get("/nothing"),
        client.request("PATCH", path),
        client.request("OPTIONS", path),
        client.request("HEAD", "/health"),
        client.post(f"{path}/people/ann/decisions"),
        client.post(f"{path}/people/ann/schedule", content=b"{"),
    ]
    for answer in answers:
        assert SECURE.items() <= dict(answer.headers).items(), answer.url
        assert answer.status_code < 400 or answer.headers["content-type"] == "application/problem+json"
    assert answers[3].json()["title"] == "Not found"


def test_logs_have_no_people_no_keys_and_no_bodies(
    keyed: Keyed, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = keyed.bearer() | {"Idempotency-Key": "secret-idempotency"}
    with structlog.testing.capture_logs() as logged:
        path = make_project(keyed.client, headers=keyed.bearer())
        own = f"{path}/people/secret-person"
        made = keyed.client.post(f"{own}/decisions", headers=headers).json()
        body = {"decision": made["decision"], "reward": 0.123454321}
        told = keyed.client.post(f"{own}/outcomes", json=body, headers=keyed.bearer()).json()
        keyed.client.post(f"{own}/outcomes", json={**body, "reward": 0.5}, headers=keyed.bearer())
        keyed.client.get(own, headers=keyed.bearer())
        keyed.client.get(f"{path}/people?after=secret-person", headers=keyed.bearer())
        keyed.client.get(own, headers=keyed.bearer("lpb_secret-key"))
        keyed.client.get("/secret-person")
        keyed.client.post(f"{own}/schedule", content=b'{"n": "secret-body"}', headers=keyed.bearer())
        new = keyed.new_key("reader", name="secret-name")
        monkeypatch.setattr("lpbandits.service.requests.ask.Ask.add", lambda *_: EMPTY[made["person"]])
        assert keyed.client.post(f"{own}/decisions", headers=keyed.bearer()).status_code == 500
    others = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    text = repr(logged) + repr(others) + "".join(capfd.readouterr())
    for word in ("secret", keyed.admin, new, "0.123454321"):
        assert word not in text, text
    requests = [one for one in logged if one["event"] == "request"]
    assert (made["decision"], "p", 1) in {(one.get("decision"), one.get("project"), one.get("key")) for one in requests}
    assert told["outcome"] in {one.get("outcome") for one in requests}
    (bug,) = [one for one in logged if one["event"] == "bug"]
    assert (bug["error"], bug["log_level"]) == ("KeyError", "error")
    assert requests[-1]["status"] == 500


def test_messages_of_the_library_reach_the_caller(client: TestClient) -> None:
    path = make_project(client)
    answer = client.post(f"{path}/people/ann/outcomes", json={"action": "wolk", "reward": 1})
    assert answer.json()["title"] == "Invalid input"
    assert "did you mean" in answer.json()["detail"]
    answer = client.put(path, json={"policy": "lpbst"})
    assert "lpbts" in answer.json()["detail"]


WRITES: list[tuple[str, str, Any, Any]] = [
    ("POST", "/people/ann/decisions", {"allowed": ["rest", 3]}, {"allowed": ["rest"]}),
    ("POST", "/people/ann/schedule", {"n": 2}, {"n": 3}),
    ("POST", "/decisions:batch", {"items": [{"person": "ann"}, {"person": "bob"}]}, {"items": [{"person": "ann"}]}),
    ("POST", "/people/ann/outcomes", {"action": 3, "reward": 1}, {"action": 3, "reward": 2}),
    ("POST", "/outcomes:batch", {"items": [{"person": "ann", "action": 3, "reward": 1}] * 2}, {"items": []}),
    ("POST", "/outcomes/o1-1/corrections", {"reward": 2, "reason": "x"}, {"reward": 2, "reason": "y"}),
    ("PUT", "/people/ann", {"prior": [1, 0, 0]}, {"prior": [0, 1, 0]}),
    ("PUT", "", {"seed": 1}, {"seed": 2}),
    ("PUT", "/model?reason=a", MODEL.replace(prior=[0.2, 0.3, 0.5]).to_dict(), MODEL.to_dict()),
    ("DELETE", "/people/ann?reason=a", None, None),
]


def test_each_write_is_done_once_for_a_key(client: TestClient, service: Service) -> None:
    path = make_project(client)
    client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 1})
    for i, (method, place, body, other) in enumerate(WRITES):
        headers = {"Idempotency-Key": f"key-{i}"}
        first = client.request(method, path + place, json=body, headers=headers)
        assert first.status_code in (200, 201), first.text
        assert "Idempotent-Replayed" not in first.headers
        before = dump(service)
        again = client.request(method, path + place, json=body, headers=headers)
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["Idempotent-Replayed"] == "true"
        if other is not None:
            assert client.request(method, path + place, json=other, headers=headers).status_code in (409, 422)
        if "?" in place:
            assert client.request(method, f"{path}{place}b", json=body, headers=headers).status_code == 409
        assert dump(service) == before


def test_a_deleted_person_is_forgotten_with_their_keys(client: TestClient, service: Service) -> None:
    path = make_project(client)
    headers = {"Idempotency-Key": "key-of-ann"}
    client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 1}, headers=headers)
    items = [{"person": "ann"}, {"person": "bob"}]
    both = client.post(f"{path}/decisions:batch", json={"items": items}, headers={"Idempotency-Key": "both"}).json()
    assert client.delete(f"{path}/people/ann", params={"reason": "asked to"}).json()["outcomes"] == 1
    assert "ann" not in repr({name: rows for name, rows in dump(service).items() if name != "models"})
    again = client.post(f"{path}/decisions:batch", json={"items": items}, headers={"Idempotency-Key": "both"})
    assert again.json()["decisions"] == [{"deleted": True}, *both["decisions"][1:]]
    assert client.get(f"{path}/people/ann").status_code == 404
    assert client.post(f"{path}/people/ann/decisions").status_code == 201
