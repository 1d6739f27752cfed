"""Requests and their repetition, without I/O: generators that a blocking and an asynchronous client run."""

import json
import re
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4
from zlib import crc32

from lpbandits.client.errors import ClientError, Unreachable, kind_of
from lpbandits.errors import InvalidInput, reason
from lpbandits.typing import Json

PROBLEM = "application/problem+json"
"""Type of an error of the service; an error of another type is of a proxy, or of another service."""

REPEATED = (429, 502, 503, 504)
"""Statuses after which a request is repeated."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

MAX_WAIT = 30.0
"""Seconds; a service that asks for a longer wait is not asked again."""

T = TypeVar("T")


def new_key() -> str:
    """Return a new Idempotency-Key; it holds the time, so that a repetition with it has the same."""
    return f"at{time.time_ns() // 1_000:013x}-{uuid4().hex[:16]}"


def time_of(key: str) -> datetime | None:
    """Return when `new_key` made a key; None for a key of the caller.

    >>> time_of("at6440d9c4f8000-0123456789abcdef").isoformat(), time_of("visit-12")
    ('2025-11-20T21:45:07.983360+00:00', None)
    """
    match = re.fullmatch(r"at([0-9a-f]{13})-[0-9a-f]{16}", key)
    return None if match is None else EPOCH + timedelta(microseconds=int(match[1], 16))


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes
    ----------
    key
        The Idempotency-Key of all attempts.
    min_timeout
        Seconds to wait for the answer, if the client's timeout is shorter.
    repeatable
        Whether a repetition has no second effect. If not, it is repeated only if it surely had none.
    """

    method: str
    path: str
    body: Any = None
    key: str = field(default_factory=new_key)
    query: tuple[tuple[str, str], ...] = ()
    min_timeout: float = 0.0
    repeatable: bool = True

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        try:
            return None if self.body is None else json.dumps(self.body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"the request must be JSON: {reason(error)}") from None


@dataclass(frozen=True)
class Reply:
    """The answer to a request, or why there is none.

    Attributes
    ----------
    status, kind, content, retry_after
        Of the answer, and its Content-Type; status 0: there is none.
    fault
        Why there is none.
    arrived
        Whether the service may have received the request.
    """

    status: int = 0
    kind: str = ""
    content: bytes = b""
    retry_after: str = ""
    fault: str = ""
    arrived: bool = True


Steps: TypeAlias = Generator[Call | float, Reply | None, T]
"""Requests to send and seconds to wait, up to a result; each request is answered with its `Reply`."""


@dataclass(frozen=True)
class Retries:
    """When a request is repeated.

    Attributes
    ----------
    count
        Maximum number of repetitions.
    backoff
        Seconds before the first; they double each time.
    """

    count: int
    backoff: float

    def wait(self, call: Call, reply: Reply, attempt: int) -> float | None:
        """Return the seconds to wait before the next attempt, None to give up."""
        again = reply.status in REPEATED if reply.status else True
        if not call.repeatable:
            again = reply.status == 429 or (not reply.status and not reply.arrived)
        if not again or attempt >= self.count:
            return None
        spread = 0.5 + crc32(call.key.encode()) % 1024 / 1024  # clients do not return all at once
        asked = float(reply.retry_after) if re.fullmatch("[0-9]+", reply.retry_after) else 0.0
        seconds = max(min(self.backoff * 2**attempt, MAX_WAIT) * spread, asked)
        return seconds if seconds <= 2 * MAX_WAIT else None


def exchange(call: Call, retries: Retries) -> Steps[Json]:
    """Send a request, repeat it as needed, and return the JSON object of the answer."""
    attempt = 0
    while True:
        reply = yield call
        assert reply is not None  # noqa: S101 - what runs the steps answers each request
        if 200 <= reply.status < 300:
            return _parsed(call, reply)
        wait = retries.wait(call, reply, attempt)
        if wait is None:
            raise error_of(call, reply)
        yield wait
        attempt += 1


def error_of(call: Call, reply: Reply) -> ClientError:
    """Return the error that an answer says."""
    if not reply.status:
        message = f"no answer to {call.method} /{call.path}: {reply.fault}; is the service running?"
        return Unreachable(message, None, call.key)
    if reply.kind.partition(";")[0].strip().lower() == PROBLEM and (problem := _object(reply)) is not None:
        return kind_of(reply.status)(problem.get("detail"), reply.status, call.key)
    return _of_another(call, reply)


def _parsed(call: Call, reply: Reply) -> Json:
    answer = _object(reply)
    if answer is None:
        raise _of_another(call, reply)
    return answer


def _object(reply: Reply) -> Json | None:
    try:
        answer = json.loads(reply.content)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _of_another(call: Call, reply: Reply) -> ClientError:
    """Return the error for an answer of a proxy, or of another service: it says nothing about the request."""
    kind = kind_of(reply.status)
    message = f"{call.method} /{call.path} was answered with status {reply.status}, but not by lpb serve"
    return (kind if kind.temporary else Unreachable)(f"{message}; check the URL and proxies", reply.status, call.key)


def parsed(call: Call, answer: Json, parse: Callable[[Json], T]) -> T:
    """Return what `parse` makes of an answer; one of another form is an error."""
    try:
        return parse(answer)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ClientError(
            f"the answer to {call.method} /{call.path} cannot be read: {reason(error)}; use one version of client and"
            " service",
            200,
            call.key,
        ) from error
