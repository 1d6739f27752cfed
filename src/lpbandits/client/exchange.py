"""Requests and their repetition, without I/O: generators that a blocking and an asynchronous client run."""

import json
import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4
from zlib import crc32

from lpbandits.client.errors import ClientError, Unreachable, kind_of
from lpbandits.errors import InvalidInput, reason
from lpbandits.typing import Json

REPEATED = (429, 502, 503, 504)
"""Statuses after which a request is repeated."""

MAX_WAIT = 30.0
"""Seconds; a service that asks for a longer wait is not asked again."""

T = TypeVar("T")


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
    key: str = field(default_factory=lambda: uuid4().hex)
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
    status, content, retry_after
        Of the answer; status 0: there is none.
    fault
        Why there is none.
    arrived
        Whether the service may have received the request.
    """

    status: int = 0
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
        seconds = max(min(self.backoff * 2**attempt, MAX_WAIT) * spread, seconds_of(reply.retry_after))
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
    try:
        detail = json.loads(reply.content)["detail"]
    except (ValueError, LookupError, TypeError):
        detail = (
            f"{call.method} /{call.path} was answered with status {reply.status}, but not by lpb serve; see its URL"
        )
    return kind_of(reply.status)(detail, reply.status, call.key)


def _parsed(call: Call, reply: Reply) -> Json:
    try:
        answer = json.loads(reply.content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ClientError(
            f"{call.method} /{call.path} was not answered with a JSON object; is this the URL of lpb serve?",
            reply.status,
            call.key,
        )
    return answer


def seconds_of(retry_after: str) -> float:
    """Return the seconds of a Retry-After header, which may be a date; 0 if there is none.

    >>> seconds_of("3"), seconds_of(""), seconds_of("soon"), seconds_of("Wed, 21 Oct 2015 07:28:00 GMT")
    (3.0, 0.0, 0.0, 0.0)
    """
    try:
        if retry_after.isascii() and retry_after.isdigit():
            return float(retry_after)
        seconds = (parsedate_to_datetime(retry_after).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


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
