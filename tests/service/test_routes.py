"""Every route × every key: allowed, 401 or 403. A route without a row fails the test."""

from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from lpbandits.service.store import schema
from tests.service.shared import MODEL, Keyed, make_project

ROLES = ("reader", "recorder", "operator", "admin")
P = "/v1/projects/p"
BODIES: dict[str, Any] = {
    "POST /v1/projects/{project}/people/{person}/decisions": {},
    "POST /v1/projects/{project}/people/{person}/schedule": {"n": 1},
    "POST /v1/projects/{project}/decisions:batch": {"items": [{"person": "ann"}]},
    "POST /v1/projects/{project}/people/{person}/outcomes": {"action": "rest", "reward": 1},
    "POST /v1/projects/{project}/outcomes:batch": {"items": [{"person": "ann", "action": "rest", "reward": 1}]},
    "POST /v1/projects/{project}/outcomes/{outcome}/corrections": {"reward": 2, "reason": "typo"},
    "PUT /v1/projects/{project}/people/{person}": {"prior": [1, 0, 0]},
    "PUT /v1/projects/{project}": {"seed": 0},
    "PUT /v1/projects/{project}/model": MODEL.to_dict(),
    "POST /v1/keys": {"name": "new", "role": "reader"},
}
PUBLIC, WHOLE = "public", "whole service"
NEEDS: dict[str, tuple[str, str]] = {
    # route: the least role, and whether it is about a project, all that a key may read, or the whole service
    "GET /health": (PUBLIC, PUBLIC),
    "GET /ready": (PUBLIC, PUBLIC),
    "GET /openapi.json": (PUBLIC, PUBLIC),
    "GET /metrics": ("reader", WHOLE),
    "GET /v1/keys": ("admin", WHOLE),
    "POST /v1/keys": ("admin", WHOLE),
    "DELETE /v1/keys/{key_id}": ("admin", WHOLE),
    "GET /v1/projects": ("reader", "own"),
    "PUT /v1/projects/{project}": ("operator", "project"),
    "GET /v1/projects/{project}": ("reader", "project"),
    "PUT /v1/projects/{project}/model": ("operator", "project"),
    "GET /v1/projects/{project}/model": ("reader", "project"),
    "GET /v1/projects/{project}/stats": ("reader", "project"),
    "GET /v1/projects/{project}/export": ("reader", "project"),
    "POST /v1/projects/{project}/people/{person}/decisions": ("recorder", "project"),
    "POST /v1/projects/{project}/people/{person}/schedule": ("recorder", "project"),
    "POST /v1/projects/{project}/decisions:batch": ("recorder", "project"),
    "POST /v1/projects/{project}/people/{person}/outcomes": ("recorder", "project"),
    "POST /v1/projects/{project}/outcomes:batch": ("recorder", "project"),
    "POST /v1/projects/{project}/outcomes/{outcome}/corrections": ("recorder", "project"),
    "GET /v1/projects/{project}/people": ("reader", "project"),
    "GET /v1/projects/{project}/people/{person}": ("reader", "project"),
    "GET /v1/projects/{project}/deletions": ("reader", "project"),
    "PUT /v1/projects/{project}/people/{person}": ("recorder", "project"),
    "DELETE /v1/projects/{project}/people/{person}": ("admin", "project"),
}


def routes(client: TestClient) -> set[str]:
    """Return all routes of the OpenAPI document, and the document itself."""
    paths = client.get("/openapi.json").json()["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods} | {"GET /openapi.json"}


def call(client: TestClient, route: str, headers: Any, **places: str) -> Any:
    method, path = route.split(" ")
    places = {"project": "p", "person": "ann", "outcome": "o1-1", "key_id": "99999"} | places
    return client.request(method, path.format(**places), json=BODIES.get(route), headers=headers)


def test_each_route_has_a_row(client: TestClient) -> None:
    assert routes(client) == set(NEEDS)
    assert {route for route in NEEDS if route.split(" ")[0] in ("PUT", "POST")} == set(BODIES)


def test_each_key_is_allowed_what_its_role_allows(keyed: Keyed) -> None:
    client, admin = keyed.client, keyed.bearer()
    for name in ("p", "other"):
        make_project(client, name, headers=admin)
        made = client.post(f"/v1/projects/{name}/people/ann/outcomes", json={"action": 3, "reward": 1}, headers=admin)
        assert made.status_code == 201
    expired = keyed.new_key("operator", "p", expires_at="2099-01-01T00:00:00Z")
    with keyed.service.store.writing() as sql:
        sql.execute(update(schema.keys).where(schema.keys.c.expires_at.is_not(None)).values(expires_at=1))
    keyed.service.keys.forget()
    revoked = client.post("/v1/keys", json={"name": "x", "role": "admin"}, headers=admin).json()
    assert client.get("/metrics", headers=keyed.bearer(revoked["key"])).status_code == 200
    assert client.delete(f"/v1/keys/{revoked['id']}", headers=admin).json()["revoked"]
    refused: dict[str, Any] = {
        "no key": {},
        "wrong": keyed.bearer("lpb_" + "x" * 43),
        "empty": {"Authorization": "Bearer "},
        "no token": {"Authorization": "Bearer"},
        "other scheme": {"Authorization": f"Basic {keyed.admin}"},
        "expired": keyed.bearer(expired),
        "revoked": keyed.bearer(revoked["key"]),
        "other letters": {"Authorization": "Bearer \u00fc".encode("latin-1")},
    }
    scoped = {role: keyed.bearer(keyed.new_key(role, "p")) for role in ROLES if role != "admin"}
    foreign = {role: keyed.bearer(keyed.new_key(role, "other")) for role in ROLES if role != "admin"}
    of_all = {role: keyed.bearer(keyed.new_key(role)) for role in ROLES}
    for route, (role, about) in sorted(NEEDS.items(), key=lambda row: row[0].startswith("DELETE")):
        for name, headers in refused.items():
            answer = call(client, route, headers)
            assert answer.status_code == (200 if about == PUBLIC else 401), (route, name, answer.text)
            assert about == PUBLIC or answer.headers["WWW-Authenticate"] == "Bearer"
        if about == PUBLIC:
            continue
        for keys, reach in ((scoped, ("project", "own")), (foreign, ("own",)), (of_all, ("project", "own", WHOLE))):
            for own, headers in keys.items():
                allowed = about in reach and ROLES.index(own) >= ROLES.index(role)
                answer = call(client, route, headers)
                if allowed:
                    assert answer.status_code in (200, 201, 404), (route, own, reach, answer.text)
                    assert answer.status_code != 404 or route.startswith("DELETE"), (route, answer.text)
                else:
                    assert answer.status_code == 403, (route, own, reach, answer.text)
                    assert answer.headers["content-type"] == "application/problem+json"


def test_no_answer_has_data_of_another_project(keyed: Keyed) -> None:
    client, admin = keyed.client, keyed.bearer()
    make_project(client, "p", headers=admin)
    secret = make_project(client, "secret", MODEL.replace(actions=["secret a", "b", "c", "d"]), headers=admin)
    told = client.post(f"{secret}/people/secret/outcomes", json={"action": "b", "reward": 1}, headers=admin).json()
    asked = client.post(f"{secret}/people/secret/decisions", headers=admin).json()["decision"]
    headers = keyed.bearer(keyed.new_key("operator", "p"))
    for route, (role, _) in NEEDS.items():
        if role not in (PUBLIC, "admin"):
            answer = call(client, route, headers, person="ann", outcome=told["outcome"])
            assert "secret" not in answer.text, (route, answer.text)
            assert answer.status_code == (404 if "{outcome}" in route else answer.status_code)
    body = {"decision": asked, "reward": 1}
    assert client.post("/v1/projects/p/people/ann/outcomes", json=body, headers=headers).status_code == 404
    assert client.get(f"{P}/people/secret", headers=headers).status_code == 404
    assert len(client.get(f"{secret}/people/secret", headers=admin).json()["history"]) == 2
    assert client.get("/v1/projects", headers=headers).json()["projects"][0]["project"] == "p"


def test_a_key_expires_and_is_revoked_at_once(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    token = keyed.new_key("reader", expires_at="2099-01-01T00:00:00Z")
    assert keyed.client.get("/v1/projects", headers=keyed.bearer(token)).status_code == 200
    monkeypatch.setattr(keyed.service.keys, "_clock", lambda: 4_200_000_000.0)
    assert keyed.client.get("/v1/projects", headers=keyed.bearer(token)).status_code == 401


def test_the_first_key_is_made_once_and_secrets_are_not_stored(keyed: Keyed) -> None:
    assert keyed.service.first_key() is None
    token = keyed.new_key("reader")
    listed = keyed.client.get("/v1/keys", headers=keyed.bearer())
    assert [key["role"] for key in listed.json()["keys"]] == ["admin", "reader"]
    with keyed.service.store.reading() as sql:
        rows = repr(sql.exec_driver_sql("SELECT * FROM keys").fetchall())
    for text in (listed.text, rows):
        assert token not in text
        assert token[4:] not in text


def test_an_admin_has_all_projects_and_roles_have_names(keyed: Keyed) -> None:
    make_project(keyed.client, headers=keyed.bearer())
    for body, status in (
        ({"role": "admin", "project": "p"}, 422),
        ({"role": "owner"}, 422),
        ({"role": "reader", "project": "unknown"}, 404),
    ):
        answer = keyed.client.post("/v1/keys", json={"name": "x", **body}, headers=keyed.bearer())
        assert answer.status_code == status, answer.text
