"""`Writer`: the thread that answers all writes. Requests that wait are answered in one transaction and one flush."""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from sqlalchemy.exc import DBAPIError, IntegrityError

from lpbandits.service.configuration import Setups
from lpbandits.service.errors import STOPPING, Unavailable
from lpbandits.service.store.database import Store, fault_of
from lpbandits.service.unit import Needs, Unit

MAX_GROUP = 64
"""Maximum number of requests in one transaction."""

TRIES = 5
"""Attempts at a request that meets another replica."""


class WriteRequest(Needs, Protocol):
    """A request that adds to the store."""

    def run(self, unit: Unit) -> Any:
        """Add facts and return the answer; an `LpbError` refuses the request."""


_Future = Future[Any] | asyncio.Future[Any]
_Entry = tuple[WriteRequest, _Future]


class Writer:
    """Answers write requests one after another, in groups.

    Examples
    --------
    `writer.submit(request).result()` is the answer of a request, once it is on disk.
    """

    def __init__(self, store: Store, setups: Setups, clock: Callable[[], float] = time.time) -> None:
        self._store, self._setups, self._clock = store, setups, clock
        self._queue: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="lpb-writer", daemon=True)
        self._accepts = True
        self._lock = threading.Lock()
        self._thread.start()

    def submit(self, request: WriteRequest) -> "Future[Any]":
        """Return the future answer of a request."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # a caller that goes away cannot cancel it
        self._put(request, future)
        return future

    async def answer(self, request: WriteRequest) -> Any:
        """Return the answer of a request to a coroutine; a cancelled coroutine does not cancel the request."""
        future = asyncio.get_running_loop().create_future()
        self._put(request, future)
        return await future

    def _put(self, request: WriteRequest, future: "_Future") -> None:
        with self._lock:
            if not self._accepts:
                raise Unavailable(STOPPING)
            self._queue.put((request, future))

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return self._queue.qsize()

    def stop(self) -> None:
        """Answer the waiting requests, then stop."""
        with self._lock:
            self._accepts = False
            self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        waiting = self._queue.get()
        while waiting is not None:
            waiting = self._next(waiting)

    def _next(self, first: "_Entry") -> "_Entry | None":
        """Answer a request together with those that wait; return the next one, None to stop."""
        group, keys = [first], {(first[0].project, first[0].key)}
        while len(group) < MAX_GROUP:
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                break
            key = None if entry is None else (entry[0].project, entry[0].key)
            if key is None or (key[1] is not None and key in keys):  # it repeats a request that is not stored yet
                self._answer(group)
                return entry
            keys.add(key)
            group.append(entry)  # type: ignore[arg-type] # not None
        self._answer(group)
        return self._queue.get()

    def _answer(self, group: Sequence[_Entry]) -> None:
        requests = [request for request, _ in group]
        try:
            answers = self._transaction(requests)
        except DBAPIError as error:
            if may_repeat(error):
                answers = [self._alone(request) for request in requests]
            else:
                answers = [fault_of(error, "writing to the store")] * len(group)
        except BaseException as error:  # the thread goes on; the error is the answer
            answers = [error] * len(group)
        waiting: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
        for (_, future), answer in zip(group, answers, strict=True):
            if isinstance(future, asyncio.Future):
                waiting.setdefault(future.get_loop(), []).append((future, answer))
            else:
                _settle([(future, answer)])
        for loop, entries in waiting.items():  # waking a loop once for a group is cheaper than for each request
            with contextlib.suppress(RuntimeError):  # the loop is closed: its callers are gone
                loop.call_soon_threadsafe(_settle, entries)

    def _alone(self, request: WriteRequest) -> Any:
        """Answer a request in a transaction of its own, repeated while other replicas are faster."""
        for attempt in range(TRIES):
            try:
                return self._transaction([request])[0]
            except DBAPIError as error:
                if attempt == TRIES - 1 or not may_repeat(error):
                    return fault_of(error, "writing to the store")
                time.sleep(0.01 * 2**attempt)
            except BaseException as error:
                return error
        raise AssertionError

    def _transaction(self, requests: Sequence[WriteRequest]) -> list[Any]:
        """Return the answers of requests, or their errors; all is on disk when it returns."""
        answers: list[Any] = []
        try:
            with self._store.writing() as sql:
                unit = Unit(sql, self._setups, int(self._clock() * 1e6))
                unit.load(requests)
                for request in requests:
                    try:
                        with unit.one_request():
                            answers.append(request.run(unit))
                    except DBAPIError:
                        raise
                    except Exception as error:
                        answers.append(error)
                unit.flush()
                if unit.erases:
                    self._store.erase_deleted()
        except BaseException:
            self._setups.clear()
            raise
        return answers


def _settle(entries: "Sequence[tuple[_Future, Any]]") -> None:
    """Give answers to those who wait for them, unless they were cancelled."""
    for future, answer in entries:
        if future.cancelled():
            continue
        if isinstance(answer, BaseException):
            future.set_exception(answer)
        else:
            future.set_result(answer)


def may_repeat(error: DBAPIError) -> bool:
    """Return whether a transaction was certainly undone because of another one: a conflict or a deadlock."""
    return isinstance(error, IntegrityError) or str(getattr(error.orig, "sqlstate", "")).startswith("40")
