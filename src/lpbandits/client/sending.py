"""How requests are sent: with what waits in the queue before them, and outcomes into it if the service is away."""

import os
import warnings
from dataclasses import replace

from lpbandits.client.errors import ClientError, Conflict, InvalidRequest, NotFound, QueueWarning
from lpbandits.client.exchange import REPEATED, Call, Retries, Steps, exchange, parsed
from lpbandits.client.queue import Entry, OutcomeQueue
from lpbandits.client.values import Flushed, Outcome, Rejected
from lpbandits.errors import LpbError
from lpbandits.typing import Json

GROUP = 100
"""Number of requests that are removed from the queue at a time."""

POLL = 0.05
"""Seconds between attempts to become the one who sends the queue."""


def request(call: Call, retries: Retries, queue: OutcomeQueue | None) -> Steps[Json]:
    """Send a request; what waits in the queue is sent before it, or after it if that failed."""
    yield from _send_waiting(queue, retries)
    answer = yield from exchange(call, retries)
    yield from _send_waiting(queue, retries)
    return answer


def record(call: Call, retries: Retries, queue: OutcomeQueue | None) -> Steps[Json | None]:
    """Send outcomes, or add them to the queue and return None if the service is away or others wait before them."""
    if queue is None:
        return (yield from exchange(call, retries))
    yield from _send_waiting(queue, retries)
    if queue.is_empty:
        try:
            return (yield from exchange(call, retries))
        except ClientError as error:
            if not error.temporary:
                raise
    queue.append(call)
    return None


def drain(queue: OutcomeQueue, retries: Retries, *, wait: bool) -> Steps[Flushed]:
    """Send what waits, in order, until the queue is empty.

    Only the service refuses an outcome, which is kept aside. Any other error, such as one of the key or of a proxy,
    stops it: the outcomes still wait. With `wait`, another process that sends is waited for.
    """
    while (lock := queue.start_sending()) is None:
        if not wait:
            return Flushed([], [], queue.waiting)
        yield POLL
    sent: list[Outcome] = []
    rejected: list[Rejected] = []
    try:
        while entries := queue.first(GROUP):
            yield from _send_group(queue, entries, retries, sent, rejected)
    finally:
        os.close(lock)
        for one in rejected:
            warnings.warn(
                f"an outcome was refused: {one.reason}; see {queue.rejected_path}", QueueWarning, stacklevel=2
            )
    return Flushed(sent, rejected, queue.waiting)


def _send_group(
    queue: OutcomeQueue, entries: list[Entry], retries: Retries, sent: list[Outcome], rejected: list[Rejected]
) -> Steps[None]:
    """Send entries in order, then remove them, up to one that cannot be sent now."""
    done: list[Entry] = []
    refused: list[tuple[Entry, str]] = []
    try:
        for entry in entries:
            why = ""
            if entry.call is None:
                why = "the line of the queue is not complete"
            else:
                try:
                    answer = yield from exchange(entry.call, retries)
                    sent += parsed(entry.call, answer, outcomes_of)
                except (InvalidRequest, NotFound, Conflict) as error:
                    why = str(error)
            if why:
                refused.append((entry, why))
                rejected.append(Rejected(None if entry.call is None else entry.call.body, why))
            done.append(entry)
    finally:
        queue.settle(done, refused)


def outcomes_of(answer: Json) -> list[Outcome]:
    """Return the outcomes of an answer to one or several."""
    return [Outcome.from_json(row) for row in answer.get("outcomes", [answer])]


def _send_waiting(queue: OutcomeQueue | None, retries: Retries) -> Steps[None]:
    """Send what waits, with one attempt; the request that follows says if the service is away."""
    if queue is None or queue.is_empty:
        return
    try:
        yield from drain(queue, replace(retries, count=0), wait=False)
    except LpbError as error:
        if not isinstance(error, ClientError) or error.status not in (None, *REPEATED):
            warnings.warn(f"outcomes still wait in {queue.path}: {error}", QueueWarning, stacklevel=2)
