"""A service in this process, and clients of it whose connections can fail."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
import uvicorn
from starlette.testclient import TestClient

import lpbandits as lpb
from lpbandits.client import Client
from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store

MODEL = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"])

Fault = str | httpx2.Response
"""What happens to a request: "refused" before the service got it, "lost" answer afterwards, or another answer."""


class Wire(httpx2.BaseTransport):
    """A transport to the service; `faults` happen to the next requests, "pass" is none."""

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self.inner = inner
        self.faults: list[Fault] = []
        self.down = False
        self.requests: list[httpx2.Request] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        fault = self.faults.pop(0) if self.faults else "refused" if self.down else "pass"
        if isinstance(fault, httpx2.Response):
            return fault
        if fault == "refused":
            raise httpx2.ConnectError("refused", request=request)
        response = self.inner.handle_request(request)
        if fault == "lost":
            raise httpx2.ReadTimeout("timed out", request=request)
        return response

    @property
    def keys(self) -> list[str]:
        return [request.headers.get("Idempotency-Key", "") for request in self.requests]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Drop the log of requests, which is about the server."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(Store(f"sqlite:///{tmp_path / 'lpb.db'}", serving=True)) as out:
        yield out


@pytest.fixture
def app(service: Service) -> Any:
    return create_app(service)


@pytest.fixture
def admin(service: Service) -> str:
    key = service.first_key()
    assert key is not None
    return key


@pytest.fixture
def wire(app: Any) -> Wire:
    return Wire(TestClient(app)._transport)


@pytest.fixture
def make(wire: Wire, admin: str) -> Iterator[Callable[..., Client]]:
    """Return a function that makes clients, without long waits."""
    made: list[Client] = []

    def new(**options: Any) -> Client:
        settings: dict[str, Any] = {
            "key": admin,
            "project": "demo",
            "transport": wire,
            "backoff": 0.001,
            "retries": 3,
        } | options
        made.append(Client("http://testserver", **settings))
        return made[-1]

    yield new
    for client in made:
        client.close()


@pytest.fixture
def client(make: Callable[..., Client], wire: Wire) -> Client:
    """Return a client of a project with a model."""
    out = make()
    out.configure(policy="lpbts", seed=3)
    out.upload(MODEL)
    wire.requests.clear()
    return out


@contextmanager
def running(app: Any) -> Iterator[str]:
    """Yield the URL of a server that serves an application on a free port."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def rewards(client: Client, label: str) -> list[float | None]:
    """Return the stored rewards of a person in order."""
    return [fact["reward"] for fact in client.person(label).history() if fact["kind"] == "outcome"]


def failing(status: int, **headers: str) -> httpx2.Response:
    """Return an error of the service."""
    about = {"Content-Type": "application/problem+json"} | headers
    return httpx2.Response(status, headers=about, content=b'{"detail": "later"}')
