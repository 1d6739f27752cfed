"""What happens around every request: a limit of its size, security headers, a log line and metrics."""

import asyncio
import time
import traceback
from typing import Any
from urllib.parse import urlsplit

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lpbandits.service.api.context import keep_quoted_slashes
from lpbandits.service.api.problems import problem
from lpbandits.service.errors import STOPPING

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Names of this machine."""

HEADERS = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


NOT_LOCAL = (
    "without keys (--dev) the server answers programs and pages of this machine only: the headers Host and Origin must "
    "name localhost, 127.0.0.1 or [::1]"
)
NOT_UTF8 = "the path and the query must be UTF-8, with each byte quoted: %C3%A9 for é"


def is_local(scope: Scope) -> bool:
    """Return whether a request was sent to a name of this machine, and not by a web page of another one.

    A page of another machine can send requests to this one through the browser of who reads it, by its address or by a
    name that the page's owner lets point to it.
    """
    headers = Headers(scope=scope)
    places = [f"http://{one}" for one in headers.getlist("host")] + headers.getlist("origin")
    if headers.get("sec-fetch-site") == "cross-site":
        return False
    return bool(headers.getlist("host")) and all(_hostname(place) in LOOPBACK for place in places)


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


class Metrics:
    """Counts and times of requests, in a registry of their own."""

    def __init__(self, service: Any) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("lpb_requests", "Requests.", labels, registry=self.registry)
        buckets = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
        self.seconds = Histogram(
            "lpb_request_seconds", "Time of requests.", ("route",), buckets=buckets, registry=self.registry
        )
        self.decisions = Counter("lpb_decisions", "Decisions.", registry=self.registry)
        self.outcomes = Counter("lpb_outcomes", "Outcomes.", registry=self.registry)
        waiting = Gauge("lpb_waiting_writes", "Writes that wait for the writer.", registry=self.registry)
        waiting.set_function(lambda: service.writer.waiting)


class Middleware:
    """An ASGI application around the API."""

    def __init__(self, app: ASGIApp, *, max_body: int, metrics: Metrics, only_local: bool = False) -> None:
        self.app, self.max_body, self.metrics, self.only_local = app, max_body, metrics, only_local
        self._too_large = f"the limit of a request is {max_body:,} bytes; send smaller batches"
        self.log = structlog.get_logger("lpbandits.service")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, started = time.perf_counter(), 500, False

        async def sending(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                started = True
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in HEADERS if one[0] not in own)]
            await send(message)

        length = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        try:
            if not _is_utf8(scope):
                await problem(400, NOT_UTF8)(scope, receive, sending)
            elif not length.isdigit() or int(length) > self.max_body:
                await problem(413, self._too_large)(scope, receive, sending)
            elif self.only_local and not is_local(scope):
                await problem(403, NOT_LOCAL)(scope, receive, sending)
            else:
                await self.app(scope, self._limited(receive), sending)
        except asyncio.CancelledError:  # the server has waited for it long enough
            if not started:
                await problem(503, STOPPING)(scope, receive, sending)
        except Exception as error:
            # the message may name a person, so that only the place is logged
            self.log.error("bug", error=type(error).__name__, trace=traceback.format_tb(error.__traceback__))
            detail = f"unexpected {type(error).__name__}; this is a bug in lpbandits, the server's log has details"
            await problem(500, detail)(scope, receive, sending)
        finally:
            self._record(scope, status, time.perf_counter() - start)

    def _limited(self, receive: Receive) -> Receive:
        """Return a function that receives at most `max_body` bytes."""
        size = 0

        async def receiving() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.max_body:
                raise HTTPException(413, self._too_large)
            return message

        return receiving

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request and log it, without labels of people: the route has their place only."""
        route = scope["route"].path_format if "route" in scope else "unknown"
        self.metrics.requests.labels(scope["method"], route, status).inc()
        self.metrics.seconds.labels(route).observe(seconds)
        facts = scope.get("lpb.facts", {})
        about = {"method": scope["method"], "route": route, "status": status, "ms": round(seconds * 1e3, 2)}
        if "project" in scope.get("path_params", {}):
            about["project"] = scope["path_params"]["project"]
        if "lpb.key" in scope:
            about["key"] = scope["lpb.key"]
        for name, counter in (("decision", self.metrics.decisions), ("outcome", self.metrics.outcomes)):
            ids = facts.get(name, ())
            counter.inc(len(ids))
            if ids:
                about |= {name: ids[0]} if len(ids) == 1 else {f"{name}s": len(ids)}
        self.log.info("request", **about)


def _is_utf8(scope: Scope) -> bool:
    """Set the path of a request, and return whether it can be read."""
    try:
        keep_quoted_slashes(scope)
    except UnicodeDecodeError:
        return False
    return True
