"""Backups: complete copies of one moment, also while a server writes."""

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lpbandits.errors import FileFormatError, InvalidInput, NotSupported
from lpbandits.service import backup as module
from lpbandits.service.api.app import create_app
from lpbandits.service.backup import backup
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from lpbandits.service.verify import verify
from tests.cli.invoke import error_of, json_output, output
from tests.service.histories import live
from tests.service.postgres import Postgres
from tests.service.shared import dump

pytestmark = pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")


@pytest.fixture
def lived(sqlite_url: str, opened: Callable[..., Service]) -> Service:
    """Return a service with people."""
    service = opened(sqlite_url)
    with TestClient(create_app(service)) as client:
        live(client, rounds=2)
    return service


def test_a_backup_has_everything_and_serves(lived: Service, opened: Callable[..., Service], tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    done = backup(lived.store, out)
    assert done.bytes == out.stat().st_size > 50_000
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(("copy", ".lpb"))] == ["copy.db"]
    restored = opened(f"sqlite:///{out}")
    assert dump(restored) == dump(lived)
    with TestClient(create_app(restored)) as client:
        assert client.post("/v1/projects/p/people/new/decisions").status_code == 201
    assert dump(restored) != dump(lived)


def test_a_server_may_write_meanwhile(lived: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGES", 1)
    stop, started = threading.Event(), threading.Event()
    body = {"items": [{"person": f"{n}", "action": "walk", "reward": 1.0} for n in range(50)]}

    def write() -> int:
        count = 0
        with TestClient(create_app(lived)) as client:
            while not stop.is_set():
                assert client.post("/v1/projects/p/outcomes:batch", json=body).status_code == 201
                count += 1
                started.set()
        return count

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        assert started.wait(30)
        sizes = []
        try:
            for number in range(3):
                done: list[int] = []
                out = tmp_path / f"{number}.db"
                backup(lived.store, out, progress=lambda *call, done=done: done.append(call[1]))
                assert done == sorted(done)  # it never started again
                assert len(done) > 10
                with Store(f"sqlite:///{out}") as store:
                    result = verify(store)
                assert result.differences == []
                sizes.append(result.counts["outcomes"])
        finally:
            stop.set()
        assert writing.result() > 0
    assert sizes == sorted(sizes)
    assert all((size - sizes[0]) % 50 == 0 for size in sizes)  # never half of a batch


def test_an_existing_file_is_kept(lived: Service, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    out.write_text("mine")
    with pytest.raises(InvalidInput, match="exists"):
        backup(lived.store, out)
    assert out.read_text() == "mine"
    backup(lived.store, out, overwrite=True)
    assert out.read_bytes().startswith(b"SQLite format 3")
    assert lived.store.path is not None
    with pytest.raises(InvalidInput, match="itself"):
        backup(lived.store, lived.store.path, overwrite=True)


def test_a_damaged_store_is_not_backed_up(lived: Service, sqlite_url: str, tmp_path: Path) -> None:
    assert lived.store.path is not None
    lived.close()
    with sqlite3.connect(lived.store.path) as sql:
        sql.execute("PRAGMA writable_schema=1")
        (root,) = sql.execute("SELECT rootpage FROM sqlite_master WHERE name = 'outcomes_asked'").fetchone()
        (size,) = sql.execute("PRAGMA page_size").fetchone()
    sql.close()
    with lived.store.path.open("r+b") as raw:
        raw.seek((root - 1) * size + 3)
        raw.write(b"\xff\xff")
    with Store(sqlite_url) as store, pytest.raises(FileFormatError, match="damaged"):
        backup(store, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_postgresql_is_referred_to_pg_dump(postgres: Postgres, opened: Callable[..., Service], tmp_path: Path) -> None:
    service = opened(postgres.new_database())
    with pytest.raises(NotSupported, match=r"pg_dump -Fc -f .*postgresql://"):
        backup(service.store, tmp_path / "copy.dump")


def test_the_command_copies(lived: Service, sqlite_url: str, tmp_path: Path) -> None:
    out = tmp_path / "copy.db"
    words = ("store", "backup", "--store", sqlite_url, "--out", out)
    assert f"Backup: {out}" in output(*words)
    assert isinstance(error_of(*words), InvalidInput)
    assert json_output(*words, "--overwrite")["bytes"] == out.stat().st_size
    assert dump(lived)["people"]
