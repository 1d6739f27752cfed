"""Facts are never changed: what a whole story sends to the database."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError
from starlette.testclient import TestClient

from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from tests.service.shared import MODEL, make_project

SNAPSHOT = re.compile(r"INSERT INTO snapshots .* ON CONFLICT \(person_id\) DO UPDATE", re.DOTALL)


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Return the statements that are sent to a database from now on."""
    out: list[str] = []

    def keep(_: Any, __: Any, statement: str, *___: Any) -> None:
        out.append(statement)

    event.listen(Engine, "before_cursor_execute", keep)
    yield out
    event.remove(Engine, "before_cursor_execute", keep)


def tell_story(client: TestClient) -> None:
    """Send every kind of write but deletions, some of them twice."""
    path = make_project(client, holdout=0.5)
    for person in ("ann", "bob", "cid"):
        own = f"{path}/people/{person}"
        assert client.put(own, json={"prior": [0.2, 0.2, 0.6]}).status_code == 200
        for i in range(3):
            headers = {"Idempotency-Key": f"{person}-{i}"}
            for _ in range(2):
                decision = client.post(f"{own}/decisions", json={"exclude_seen": True}, headers=headers).json()
            body = {"decision": decision["decision"], "reward": i / 2}
            told = client.post(f"{own}/outcomes", json=body).json()["outcome"]
        client.post(f"{own}/schedule", json={"n": 3})
        for reward in (1.5, None, 0.5):
            answer = client.post(f"{path}/outcomes/{told}/corrections", json={"reward": reward, "reason": "typo"})
            assert answer.status_code == 201
    client.put(path, json={"seed": 3, "reason": "why"})
    client.put(f"{path}/model", json=MODEL.replace(prior=[0.2, 0.3, 0.5]).to_dict())
    client.post(f"{path}/decisions:batch", json={"items": [{"person": "ann"}, {"person": "new"}]})
    client.post(f"{path}/outcomes:batch", json={"items": [{"person": "bob", "action": 3, "reward": 1}]})
    key = client.post("/v1/keys", json={"name": "x", "role": "reader"}).json()
    client.delete(f"/v1/keys/{key['id']}")


def test_only_snapshots_are_updated_and_only_deletions_delete(client: TestClient, statements: list[str]) -> None:
    tell_story(client)
    changing = [one for one in statements if re.search(r"\b(UPDATE|DELETE|REPLACE|TRUNCATE|ALTER|DROP)\b", one)]
    changing = [one for one in changing if not re.fullmatch(r"SELECT .* FOR UPDATE", one, re.DOTALL)]
    assert changing
    assert not [one for one in changing if not SNAPSHOT.match(one)]
    statements.clear()
    assert client.delete("/v1/projects/p/people/ann").json()["deleted"]
    deleted = [one for one in statements if one.startswith("DELETE")]
    assert all(re.search(r"WHERE \w+\.(person_)?id = ", one) for one in deleted)
    assert {one.split()[2] for one in deleted} == {
        *("starts", "decisions", "outcomes", "corrections", "snapshots", "requests", "people")
    }


def test_reads_send_nothing_but_select(client: TestClient, statements: list[str]) -> None:
    tell_story(client)
    statements.clear()
    for path in ("", "/p", "/p/model", "/p/people", "/p/people/ann"):
        assert client.get(f"/v1/projects{path}").status_code == 200
    assert client.get("/ready").status_code == 200
    assert client.get("/v1/keys").status_code == 200
    assert client.put("/v1/projects/p/model?dry_run=true", json=MODEL.to_dict()).status_code == 200
    assert statements
    assert not [one for one in statements if not re.match(r"SELECT|BEGIN$", one)]


def test_connections_that_read_cannot_write(service: Service) -> None:
    with pytest.raises(DBAPIError, match=r"readonly|read-only"), service.store._readers.begin() as sql:
        sql.execute(text("DELETE FROM people"))


def test_connections_that_read_never_checkpoint(sqlite_url: str, opened: Callable[..., Service]) -> None:
    service = opened(sqlite_url)
    with TestClient(create_app(service)) as client:
        tell_story(client)
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    wal = path.with_name("lpb.db-wal").stat().st_size
    main = path.read_bytes()
    assert wal > 0
    with Store(sqlite_url) as other:
        for store in (service.store, other):
            with store.reading() as sql:
                pragmas = [
                    sql.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("query_only", "wal_autocheckpoint")
                ]
                assert pragmas == [1, 0]
                sql.exec_driver_sql("SELECT * FROM decisions").fetchall()
    assert path.with_name("lpb.db-wal").stat().st_size == wal
    assert path.read_bytes() == main
    with service.store.writing() as sql:
        pragmas = [sql.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
        assert pragmas == ["wal", 2]  # FULL


def test_a_store_that_only_reads_leaves_the_file_as_it_is(sqlite_url: str) -> None:
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    before = path.read_bytes()
    with Store(sqlite_url) as store, pytest.raises(Exception, match="reading only"), store.writing():
        pass
    assert path.read_bytes() == before
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
