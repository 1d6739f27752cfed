"""Repeated requests: answers that were lost, and services that are busy."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

import lpbandits as lpb
from lpbandits.client import AsyncClient, Client, InvalidRequest, ServerError, TooManyRequests, Unreachable
from lpbandits.client.exchange import Call, Reply, Retries
from tests.client.conftest import Wire, failing, rewards


def test_a_lost_answer_is_asked_for_again_and_nothing_happens_twice(client: Client, wire: Wire) -> None:
    ann = client.person("ann")
    wire.faults = ["lost", "lost"]
    decision = ann.decide()
    assert len(set(wire.keys)) == 1
    assert len(wire.keys) == 3
    wire.faults = ["lost"]
    outcome = ann.tell("rest", 1.0)
    wire.faults = ["lost"]
    ann.correct(outcome, 2.0, reason="misread")
    wire.faults = ["lost"]
    client.tell_many([{"person": "ann", "action": "rest", "reward": 3.0}])
    kinds = [fact["kind"] for fact in ann.history()]
    assert kinds == ["decision", "outcome", "correction", "outcome"]
    assert ann.history()[0]["decision"] == decision.id


def test_each_call_has_a_key_of_its_own(client: Client, wire: Wire) -> None:
    ann = client.person("ann")
    assert ann.tell("rest", 1.0).id != ann.tell("rest", 1.0).id
    assert len(set(wire.keys)) == 2
    assert all(len(key) == 32 for key in wire.keys)
    assert ann.decide(idempotency_key="visit-1") == ann.decide(idempotency_key="visit-1")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_service_is_asked_again(client: Client, wire: Wire, status: int) -> None:
    wire.faults = [failing(status), "refused"]
    client.person("ann").ask()
    assert len(wire.requests) == 3


@pytest.mark.parametrize(
    ("fault", "kind", "attempts"),
    [
        (failing(500), ServerError, 1),
        (failing(507), ServerError, 1),
        (failing(422), InvalidRequest, 1),
        (failing(429, **{"Retry-After": "3600"}), TooManyRequests, 1),
        (failing(429), TooManyRequests, 4),
        (failing(503), Unreachable, 4),
        ("refused", Unreachable, 4),
        ("lost", Unreachable, 4),
    ],
)
def test_errors_after_the_last_attempt(
    client: Client, wire: Wire, fault: Any, kind: type[lpb.LpbError], attempts: int
) -> None:
    wire.faults = [fault] * 9
    with pytest.raises(kind):
        client.person("ann").ask()
    assert len(wire.requests) == attempts


def test_a_new_key_is_not_made_twice(client: Client, wire: Wire) -> None:
    wire.faults = ["lost"]
    with pytest.raises(Unreachable):
        client.make_key("phone", "recorder")
    wire.faults = ["refused", failing(429)]
    client.make_key("tablet", "recorder")
    assert [one["name"] for one in client.list_keys()] == ["first", "phone", "tablet"]


def test_waits_double_and_heed_retry_after() -> None:
    retries, call = Retries(10, 0.25), Call("GET", "v1", key="x")
    busy = Reply(503)
    waits = [retries.wait(call, busy, attempt) for attempt in range(4)]
    assert all(0.5 * 0.25 * 2**n <= (wait or 0) <= 1.5 * 0.25 * 2**n for n, wait in enumerate(waits))
    assert [(wait or 0) / (waits[0] or 1) for wait in waits] == [1, 2, 4, 8]
    assert retries.wait(call, Reply(503, retry_after="7"), 0) == 7
    assert retries.wait(call, busy, 10) is None
    assert len({retries.wait(Call("GET", "v1"), busy, 0) for _ in range(20)}) > 10  # clients spread


@pytest.mark.usefixtures("client")
def test_requests_wait_between_attempts(make: Callable[..., Client], wire: Wire) -> None:
    slow = make(backoff=0.1)
    wire.faults = ["refused", "refused"]
    begin = time.monotonic()
    slow.person("ann").ask()
    assert time.monotonic() - begin >= 0.5 * (0.1 + 0.2)


@pytest.mark.usefixtures("client")
def test_timeouts_are_set_and_longer_for_batches(make: Callable[..., Client], wire: Wire) -> None:
    other = make(timeout=2.5)
    other.person("ann").ask()
    other.decide_many(["ann"])
    assert [request.extensions["timeout"]["read"] for request in wire.requests] == [2.5, 60.0]


def test_the_asynchronous_client_repeats_too(client: Client, app: Any, admin: str) -> None:
    class Losing(httpx2.ASGITransport):
        left = 2

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await super().handle_async_request(request)
            self.left -= 1
            if self.left >= 0:
                raise httpx2.ReadTimeout("timed out", request=request)
            return response

    async def use() -> None:
        options: dict[str, Any] = {"key": admin, "project": "demo", "backoff": 0.001}
        async with AsyncClient("http://testserver", transport=Losing(app), **options) as served:
            await served.person("ann").tell("rest", 1.0)

    asyncio.run(use())
    assert rewards(client, "ann") == [1.0]
