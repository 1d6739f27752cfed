"""The offline queue: no outcome is lost, none counts twice, and refused ones are kept and reported."""

import asyncio
import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

import lpbandits as lpb
from lpbandits.client import AccessDenied, AsyncClient, Client, InvalidRequest, QueueWarning, ServerError, Unreachable
from lpbandits.client.exchange import Call
from lpbandits.client.queue import OutcomeQueue
from lpbandits.client.values import TellItem
from tests.client.conftest import Wire, failing, rewards


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outcomes.jsonl"


@pytest.fixture
def queued(client: Client, make: Callable[..., Client], path: Path) -> Client:
    """Return a client with a queue; `client` has none."""
    assert client.queue is None
    return make(queue=path, retries=1)


def test_outcomes_wait_while_the_service_is_away_and_are_sent_in_order(
    queued: Client, client: Client, wire: Wire, path: Path
) -> None:
    ann = queued.person("ann")
    decision = ann.decide()
    wire.down = True
    begin = datetime.now(UTC)
    first = ann.tell(reward=1.0, decision=decision)
    assert (first.pending, first.id, first.decision, first.given, first.reward) == (True, None, decision.id, None, 1.0)
    assert begin <= first.at <= datetime.now(UTC)
    assert ann.tell("rest", 2.0, at="2026-03-01T09:30:00Z").given == "rest"
    assert queued.tell_many([{"person": "bob", "action": "rest", "reward": 3.0}])[0].pending
    assert queued.waiting == len(path.read_text().splitlines()) == 3
    with pytest.raises(Unreachable):
        queued.flush()
    with pytest.raises(lpb.InvalidInput, match="waits in the queue"):
        ann.retract(first, reason="why")
    wire.down = False
    done = queued.flush()
    assert ([one.reward for one in done.sent], done.rejected, done.waiting) == ([1.0, 2.0, 3.0], [], 0)
    assert done.sent[0].at == first.at
    assert done.sent[1].at == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert rewards(client, "ann") == [1.0, 2.0]
    assert ann.retract(done.sent[0], reason="why").withdrawn
    assert queued.flush().sent == []


def test_every_later_call_sends_what_waits_before_it(queued: Client, client: Client, wire: Wire) -> None:
    ann = queued.person("ann")
    calls: list[Callable[[], Any]] = [ann.ask, lambda: ann.tell("rest", 9.0), queued.people, ann.read]
    for call in calls:
        wire.down = True
        ann.tell("rest", 1.0)
        wire.down = False
        wire.requests.clear()
        call()
        assert wire.requests[0].url.path.endswith("/outcomes")
        assert queued.waiting == 0
    assert rewards(client, "ann") == [1.0, 1.0, 9.0, 1.0, 1.0]


def test_an_outcome_waits_behind_others(queued: Client, client: Client, wire: Wire) -> None:
    ann = queued.person("ann")
    wire.faults = ["refused", "refused", "refused"]
    assert ann.tell("rest", 1.0).pending
    attempts = len(wire.requests)
    assert ann.tell("rest", 2.0).pending, "the one before it could not be sent"
    assert len(wire.requests) == attempts + 1, "a service that is away is tried once"
    assert not ann.tell("rest", 3.0).pending
    assert rewards(client, "ann") == [1.0, 2.0, 3.0]


def test_a_lost_answer_and_the_queue_count_once(queued: Client, client: Client, wire: Wire) -> None:
    wire.faults = ["lost", "lost"]
    assert queued.person("ann").tell("rest", 1.0).pending
    wire.faults = ["lost"]
    queued.flush()
    assert queued.waiting == 0
    assert len(set(wire.keys)) == 1
    assert rewards(client, "ann") == [1.0]


@pytest.mark.parametrize("fault", [failing(507), failing(500), failing(429)])
def test_outcomes_wait_while_the_service_cannot_store_them(
    queued: Client, client: Client, wire: Wire, fault: Any
) -> None:
    wire.faults = [fault] * 2
    assert queued.person("ann").tell("rest", 1.0).pending
    wire.faults = [fault] * 2
    with pytest.raises(lpb.LpbError, match="later"):
        queued.flush()
    wire.faults.clear()
    queued.flush()
    assert rewards(client, "ann") == [1.0]


def test_a_stuck_queue_is_reported_by_other_calls(queued: Client, wire: Wire) -> None:
    wire.faults = [failing(500)]
    assert queued.person("ann").tell("rest", 1.0).pending
    wire.faults = [failing(500), httpx2.Response(200, json={"people": [], "next": None}), failing(500)]
    with pytest.warns(QueueWarning, match="still wait"):
        assert queued.people() == []
    wire.faults = [failing(500)]
    with pytest.raises(ServerError):
        queued.flush()


def test_refused_outcomes_are_kept_aside_and_reported(queued: Client, client: Client, wire: Wire, path: Path) -> None:
    wire.down = True
    queued.person("ann").tell("rest", 1.0)
    queued.person("ann").tell("rset", 2.0)
    queued.person("ann").tell("rest", 3.0)
    wire.down = False
    with pytest.warns(QueueWarning, match="did you mean 'rest'"):
        done = queued.flush()
    assert [one.reward for one in done.sent] == [1.0, 3.0]
    assert [one.body["reward"] for one in done.rejected] == [2.0]
    assert rewards(client, "ann") == [1.0, 3.0]
    (kept,) = map(json.loads, (path.parent / "outcomes.rejected.jsonl").read_text().splitlines())
    assert kept["body"]["action"] == "rset"
    assert "did you mean" in kept["reason"]
    with pytest.raises(InvalidRequest):
        queued.person("ann").tell("rset", 2.0)
    assert queued.waiting == 0, "an outcome that is refused at once is the caller's"


def test_warnings_as_errors_lose_nothing(queued: Client, client: Client, wire: Wire) -> None:
    wire.down = True
    queued.person("ann").tell("rset", 1.0)
    queued.person("ann").tell("rest", 2.0)
    wire.down = False
    with pytest.raises(QueueWarning):  # warnings are errors in tests
        queued.flush()
    assert rewards(client, "ann") == [2.0]
    assert queued.flush().rejected == []


def test_a_refused_key_refuses_no_outcome(
    queued: Client, client: Client, make: Callable[..., Client], wire: Wire, path: Path
) -> None:
    wire.down = True
    queued.person("ann").tell("rest", 1.0)
    wire.down = False
    stranger = make(key="lpb_unknown", queue=path)
    with pytest.raises(AccessDenied):
        stranger.flush()
    with pytest.warns(QueueWarning, match="key"), pytest.raises(AccessDenied):
        stranger.people()
    assert stranger.waiting == 1
    queued.flush()
    assert rewards(client, "ann") == [1.0]


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b"<html>"), *((s, b'{"detail": "no"}') for s in (302, 400, 401, 403, 404, 405, 413, 422, 502))],
)
def test_only_the_service_refuses_outcomes(
    queued: Client, client: Client, wire: Wire, status: int, content: bytes
) -> None:
    proxy = httpx2.Response(status, headers={"Content-Type": "application/json"}, content=content)
    wire.faults = [proxy] * 2
    with pytest.raises(Unreachable, match=f"{status}, but not by lpb serve"):
        queued.people()
    wire.faults = [proxy] * 2
    assert queued.person("ann").tell("rest", 1.0).pending
    wire.faults = [proxy] * 2
    with pytest.raises(Unreachable):
        queued.flush()
    assert queued.waiting == 1
    wire.faults.clear()
    done = queued.flush()
    assert ([one.reward for one in done.sent], done.rejected) == ([1.0], [])
    assert rewards(client, "ann") == [1.0]


def test_outcomes_that_wait_for_a_proxy_are_reported_by_other_calls(queued: Client, wire: Wire) -> None:
    wire.faults = [httpx2.Response(413)]
    assert queued.person("ann").tell("rest", 1.0).pending
    wire.faults = [httpx2.Response(413), "pass", httpx2.Response(413)]
    with pytest.warns(QueueWarning, match="413"):
        assert queued.people() == []
    queued.flush()


@pytest.mark.parametrize("away", [False, True])
def test_a_key_of_the_caller_has_one_content(queued: Client, client: Client, wire: Wire, away: bool) -> None:
    ann = queued.person("ann")

    def tell() -> list[Any]:
        several = queued.tell_many([{"person": "bob", "action": "rest", "reward": 2.0}], idempotency_key="visit-2")
        return [ann.tell("rest", 1.0, idempotency_key="visit-1"), *several]

    wire.down = away
    first = tell()
    assert [one.pending for one in first] == [away] * 2
    assert all(timedelta(0) <= datetime.now(UTC) - one.at < timedelta(minutes=1) for one in first)
    wire.down = False
    assert [one.pending for one in tell() + tell()] == [False] * 4
    assert (rewards(client, "ann"), rewards(client, "bob")) == ([1.0], [2.0])
    assert not list(queued.queue.path.parent.glob("*.rejected.jsonl"))  # type: ignore[union-attr] # it has a queue


def test_the_key_of_an_error_has_the_time_of_the_first_call(
    queued: Client, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpbandits.client.calls.MAX_ITEMS", 1)
    items: list[TellItem] = [{"person": "ann", "action": "rest"}, {"person": "ann", "action": "rset"}]
    with pytest.raises(InvalidRequest) as refused:
        queued.tell_many(items)
    items[1]["action"] = "rest"
    begin = datetime.now(UTC)
    first, second = queued.tell_many(items, idempotency_key=refused.value.idempotency_key)
    assert first.at == second.at < begin
    assert len(rewards(client, "ann")) == 2


def test_a_line_that_a_crash_cut_is_kept_aside(queued: Client, client: Client, wire: Wire, path: Path) -> None:
    wire.down = True
    queued.person("ann").tell("rest", 1.0)
    with path.open("ab") as raw:
        raw.write(b'{"key": "cut')
    queued.person("ann").tell("rest", 2.0)
    wire.down = False
    with pytest.warns(QueueWarning, match="not complete"):
        queued.flush()
    assert rewards(client, "ann") == [1.0, 2.0]
    assert "cut" in (path.parent / "outcomes.rejected.jsonl").read_text()


def test_an_interrupted_flush_is_continued(
    queued: Client, client: Client, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.down = True
    for reward in range(5):
        queued.person("ann").tell("rest", float(reward))
    wire.down = False
    sent, real = 0, wire.inner.handle_request

    def interrupted(request: httpx2.Request) -> httpx2.Response:
        nonlocal sent
        sent += 1
        response = real(request)
        if sent == 3:
            raise KeyboardInterrupt
        return response

    monkeypatch.setattr(wire.inner, "handle_request", interrupted)
    with pytest.raises(KeyboardInterrupt):
        queued.flush()
    assert queued.waiting == 3
    assert len(queued.flush().sent) == 3
    assert rewards(client, "ann") == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_an_outcome_that_cannot_be_kept_raises_and_leaves_the_file(
    queued: Client, wire: Wire, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.down = True
    queued.person("ann").tell("rest", 1.0)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(lpb.ResourceError, match="No space"):
        queued.person("ann").tell("rest", 2.0)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["missing/outcomes.jsonl", ".", "a\0b"])
def test_a_queue_that_cannot_be_written_is_refused_at_once(name: str, tmp_path: Path) -> None:
    with pytest.raises(lpb.InvalidInput, match=r"cannot write|null byte"):
        Client(queue=tmp_path / name)


def test_a_full_disk_of_the_client_fails_no_other_call(
    queued: Client, client: Client, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.down = True
    queued.person("ann").tell("rest", 1.0)
    wire.down = False

    def full(*_: object) -> None:
        raise lpb.InvalidInput("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("lpbandits.client.queue.write_bytes", full)
        with pytest.warns(QueueWarning, match="No space"):
            assert queued.people() == ["ann"]
    queued.flush()
    assert rewards(client, "ann") == [1.0]


def test_an_outcome_is_flushed_to_disk_before_it_is_pending(
    queued: Client, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    real = os.fsync

    def counted(handle: int) -> None:
        flushed.append(os.fstat(handle).st_size)
        real(handle)

    monkeypatch.setattr("os.fsync", counted)
    wire.down = True
    queued.person("ann").tell("rest", 1.0)
    assert queued.queue is not None
    assert flushed[0] == queued.queue.path.stat().st_size, "the file"
    assert len(flushed) == 2, "and its folder"


def test_threads_that_flush_together_send_each_outcome_once(
    queued: Client, make: Callable[..., Client], client: Client, wire: Wire, path: Path
) -> None:
    wire.down = True
    for reward in range(30):
        queued.person("ann").tell("rest", float(reward))
    wire.down = False
    wire.requests.clear()
    others = [make(queue=path) for _ in range(4)]
    sent: list[float | None] = []
    threads = [
        threading.Thread(target=lambda one=one: sent.extend(o.reward for o in one.flush().sent)) for one in others
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sent) == [float(reward) for reward in range(30)]  # type: ignore[type-var] # all are numbers
    assert len(wire.requests) == 30
    assert rewards(client, "ann") == [float(reward) for reward in range(30)]


def add_and_take(path: Path, first: int, out: Any) -> None:
    """Add 50 requests to a queue, and take requests from it as one who sends does."""
    queue, taken = OutcomeQueue(path), []
    for number in range(first, first + 50):
        queue.append(Call("POST", "v1", {"number": number}))
        if (lock := queue.start_sending()) is not None:
            entries = queue.first(3)
            taken += [entry.call.body["number"] for entry in entries if entry.call is not None]
            queue.settle(entries, [])
            os.close(lock)
    out.put(taken)


@pytest.mark.slow
def test_processes_that_share_a_queue_lose_nothing_and_take_nothing_twice(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    processes = [context.Process(target=add_and_take, args=(path, first, results)) for first in (0, 50)]
    for process in processes:
        process.start()
    taken = [number for _ in processes for number in results.get(timeout=60)]
    for process in processes:
        process.join()
    left = [entry.call.body["number"] for entry in OutcomeQueue(path).first(1_000) if entry.call is not None]
    assert sorted(taken + left) == list(range(100))


def test_the_asynchronous_client_has_the_queue_too(client: Client, app: Any, admin: str, path: Path) -> None:
    class Away(httpx2.ASGITransport):
        down = True

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if self.down:
                raise httpx2.ConnectError("refused", request=request)
            return await super().handle_async_request(request)

    async def use() -> None:
        options: dict[str, Any] = {"key": admin, "project": "demo", "backoff": 0.001, "queue": path}
        away = Away(app)
        async with AsyncClient("http://testserver", transport=away, **options) as served:
            ann = served.person("ann")
            told = await asyncio.gather(*(ann.tell("rest", float(n)) for n in range(5)))
            assert all(outcome.pending for outcome in told)
            away.down = False
            done = await asyncio.gather(served.flush(), served.flush(), served.people())
            assert len(done[0].sent) + len(done[1].sent) == 5
            assert (await ann.tell("rest", 5.0)).at - told[0].at < timedelta(minutes=1)

    asyncio.run(use())
    assert sorted(rewards(client, "ann")) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]  # type: ignore[type-var] # all are numbers
