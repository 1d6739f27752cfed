"""Who may open, read and change a store: files, the address of a server without keys, and the last key of an admin."""

import os
import stat
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpbandits.errors import InvalidInput
from lpbandits.service import access
from lpbandits.service.access import read_keys
from lpbandits.service.api.app import create_app
from lpbandits.service.backup import backup
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from tests.cli.invoke import error_of, json_output, output
from tests.service.shared import Keyed, make_project


@pytest.fixture
def private_url(tmp_path: Path) -> str:
    """Return the URL of a store that does not exist yet."""
    return f"sqlite:///{tmp_path}/new.db"


def test_a_second_server_is_refused_by_any_name_of_the_store(private_url: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.db"
    link.symlink_to(tmp_path / "new.db")
    with Store(private_url, serving=True), pytest.raises(InvalidInput, match="in use by another server"):
        Store(f"sqlite:///{link}", serving=True)
    with Store(f"sqlite:///{link}", serving=True), pytest.raises(InvalidInput, match="in use by another server"):
        Store(private_url, serving=True)
    os.link(tmp_path / "new.db", tmp_path / "folder" / "hard.db")
    for name in ("new.db", "folder/hard.db"):
        with pytest.raises(InvalidInput, match="2 hard links"):
            Store(f"sqlite:///{tmp_path}/{name}", serving=True)


def test_only_the_owner_may_read_the_files(private_url: str, tmp_path: Path, opened: Callable[..., Service]) -> None:
    before = os.umask(0o022)
    try:
        service = opened(private_url)
        with TestClient(create_app(service)) as client:
            make_project(client)
            backup(service.store, tmp_path / "copy.db")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm", "new.db.lock", "copy.db"), 0o600)


def test_a_deleted_label_is_in_no_file(private_url: str, tmp_path: Path, opened: Callable[..., Service]) -> None:
    service = opened(private_url)
    with TestClient(create_app(service)) as client:
        path = make_project(client)
        people = [f"secret-person-{number}" for number in range(3)]
        for person in people:
            assert client.post(f"{path}/people/{person}/decisions").status_code == 201
        assert _has_secret(tmp_path)
        assert client.delete(f"{path}/people/{people[0]}").status_code == 200
        assert client.delete(f"{path}/people/{people[1]}").status_code == 200
        with service.store.reading() as sql:  # somebody reads the log, which stays
            assert len(sql.exec_driver_sql("SELECT * FROM people").fetchall()) == 1
            assert client.delete(f"{path}/people/{people[2]}").status_code == 200
            assert _has_secret(tmp_path)
        assert client.post(f"{path}/people/next/decisions").status_code == 201
    assert not _has_secret(tmp_path)


def _has_secret(folder: Path) -> bool:
    return any(b"secret-person" in path.read_bytes() for path in folder.iterdir())


@pytest.fixture
def local(sqlite_url: str, opened: Callable[..., Service]) -> Iterator[TestClient]:
    """Return a client of a server without keys, at its address."""
    with TestClient(create_app(opened(sqlite_url), only_local=True), base_url="http://127.0.0.1:8321") as client:
        yield client


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8321"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::1"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:8321", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_without_keys_pages_of_others_are_refused(local: TestClient, headers: dict[str, str]) -> None:
    path = make_project(local)
    answer = local.post(f"{path}/people/ann/decisions", headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")
    assert "Host and Origin must name localhost" in answer.json()["detail"]
    assert local.get(f"{path}/people").json()["people"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "LOCALHOST:8321"},
        {"Host": "[::1]:8321"},
        {"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_without_keys_programs_and_pages_of_this_machine_are_answered(
    local: TestClient, headers: dict[str, str]
) -> None:
    assert local.get("/v1/projects", headers=headers).status_code == 200


def test_a_server_with_keys_has_any_name(keyed: Keyed) -> None:
    headers = keyed.bearer() | {"Host": "decisions.example.org", "Origin": "https://ward.example.org"}
    assert keyed.client.get("/v1/projects", headers=headers).status_code == 200


def test_the_last_key_of_an_admin_cannot_be_revoked(keyed: Keyed) -> None:
    def made(role: str, **fields: Any) -> int:
        body = {"name": role, "role": role, **fields}
        answer = keyed.client.post("/v1/keys", json=body, headers=keyed.bearer())
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def revoked(key_id: int) -> Any:
        return keyed.client.delete(f"/v1/keys/{key_id}", headers=keyed.bearer())

    operator, other = made("operator"), made("admin", expires_at="2099-01-01T00:00:00Z")
    assert revoked(other).status_code == 200
    answer = revoked(1)
    assert answer.status_code == 409, answer.text
    assert "the last one of an admin; make another" in answer.json()["detail"]
    assert revoked(operator).status_code == 200
    assert revoked(other).status_code == 200  # again
    assert keyed.client.get("/v1/keys", headers=keyed.bearer()).status_code == 200
    made("admin")
    assert revoked(1).status_code == 200
    assert keyed.client.get("/v1/keys", headers=keyed.bearer()).status_code == 401


def test_a_key_cannot_have_expired(keyed: Keyed) -> None:
    body = {"name": "x", "role": "reader", "expires_at": "2001-01-01T00:00:00Z"}
    answer = keyed.client.post("/v1/keys", json=body, headers=keyed.bearer())
    assert (answer.status_code, "must be in the future, got 2001" in answer.json()["detail"]) == (422, True)


def test_a_repeated_request_makes_another_key(keyed: Keyed) -> None:
    headers = keyed.bearer() | {"Idempotency-Key": "k"}
    made = [keyed.client.post("/v1/keys", json={"name": "x", "role": "reader"}, headers=headers) for _ in range(2)]
    assert len({answer.json()["key"] for answer in made}) == 2
    text = keyed.client.get("/openapi.json").json()["paths"]["/v1/keys"]["post"]["description"]
    assert "`Idempotency-Key` has no effect" in text


def test_a_command_makes_an_admin_key(sqlite_url: str, opened: Callable[..., Service], tmp_path: Path) -> None:
    with Store(sqlite_url, serving=True):
        assert "in use by another server" in str(error_of("store", "key", "--store", sqlite_url))
    text = output("store", "key", "--store", sqlite_url)
    made = json_output("store", "key", "--store", sqlite_url)
    service = opened(sqlite_url, dev=False)
    assert service.first_key() is None
    with TestClient(create_app(service)) as client:
        for token in (text.split()[1], made["key"]):
            keys = client.get("/v1/keys", headers={"Authorization": f"Bearer {token}"}).json()["keys"]
            assert [(key["name"], key["role"]) for key in keys] == [("lpb store key", "admin")] * 2
    assert "existing file" in str(error_of("store", "key", "--store", f"sqlite:///{tmp_path}/none.db"))
    assert not (tmp_path / "none.db").exists()


def test_a_key_that_is_made_while_keys_are_read_is_known_at_once(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    began, made = threading.Event(), threading.Event()
    keys = keyed.service.keys

    def slowly(sql: Any) -> Any:
        out = read_keys(sql)
        began.set()
        assert made.wait(30)
        return out

    with monkeypatch.context() as patch:
        patch.setattr(access, "read_keys", slowly)
        keys.forget()
        reading = threading.Thread(target=keys.refresh)
        reading.start()
        assert began.wait(30)
        token = keyed.service.writer.submit(access.NewKey("x", "reader")).result().body["key"]
        keys.forget()
        made.set()
        reading.join()
    assert keyed.client.get("/v1/projects", headers=keyed.bearer(token)).status_code == 200


def test_a_service_leaves_the_filters_of_warnings_alone(sqlite_url: str) -> None:
    before = list(warnings.filters)
    Service(Store(sqlite_url, serving=True)).close()
    assert list(warnings.filters) == before
