"""What routes share: the service, access by role, and the submission of writes."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Coroutine, MutableMapping
from contextlib import suppress
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.exceptions import HTTPException
from fastapi.openapi.models import HTTPBearer
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from pydantic import AfterValidator, BaseModel, BeforeValidator

from lpbandits.service.access import EVERYTHING, Access
from lpbandits.service.api.bodies import MAX_LABEL, ProjectBody, _label, storable
from lpbandits.service.service import Service
from lpbandits.service.writer import WriteRequest
from lpbandits.typing import Json
from lpbandits.validate import short_repr

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_sorted = json.JSONEncoder(sort_keys=True).encode

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

ProjectName = Annotated[str, Path(pattern=NAME, description="Name of the project: letters, digits, '.', '_' and '-'.")]
QUOTED = re.compile("%(25|2f)", re.IGNORECASE)
"""A quoted percent sign or slash."""


def keep_quoted_slashes(scope: MutableMapping[str, Any]) -> None:
    """Set the path of a request so that quoted slashes, and percent signs, stay quoted.

    Servers decode a path before it is split into segments, so that a label with a slash would be two. Raises
    `UnicodeDecodeError` unless the path and the query are UTF-8: others would be read as U+FFFD, the same for all.
    """
    raw = scope.get("raw_path") or b""
    if b"%" in raw:
        scope["path"] = unquote(QUOTED.sub(r"%25\1", raw.decode("ascii")), errors="strict")
    query = scope["query_string"]
    if b"%" in query:
        unquote(query.decode("ascii"), errors="strict")


def _unquoted(segment: str) -> str:
    """Return a segment of such a path without quoted characters."""
    return QUOTED.sub(lambda match: unquote(match[0]), segment)


PersonLabel = Annotated[
    str,
    Path(min_length=1, max_length=MAX_LABEL, description="Label of the person."),
    BeforeValidator(_unquoted),
    AfterValidator(_label),
]
Reason = Annotated[str, Query(max_length=MAX_LABEL, description="Why."), AfterValidator(storable)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x21-\x7e]+$",
        description="Text that the caller makes for each request; a repeated request returns the stored answer.",
    ),
]


def service_of(request: Request) -> Service:
    """Return the service of the app."""
    service: Service = request.app.state.service
    return service


class Role(SecurityBase):
    """The dependency that checks the role, and the project: that of the route, or with `any_project` none."""

    scheme_name = "key"
    model = HTTPBearer(description="An access key: Authorization: Bearer KEY.")

    def __init__(self, role: str, *, any_project: bool = False) -> None:
        self.role, self.any_project = role, any_project

    async def __call__(self, request: Request) -> Access:
        """Return the access of the request's key."""
        service = service_of(request)
        if service.dev:
            return EVERYTHING
        known: tuple[Role, Access] | None = request.scope.get("lpb.access")
        if known is not None and known[0] is self:
            return known[1]
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        sent = token.strip() if scheme.lower() == "bearer" and token else None
        if service.keys.must_refresh(sent):
            await asyncio.to_thread(service.keys.refresh)
        access = service.keys.access(sent)
        request.scope["lpb.key"] = access.key_id  # for the log
        access.check(self.role, access.project if self.any_project else request.path_params.get("project"))
        return access


class CheckedRoute(APIRoute):
    """A route whose body FastAPI parses: the access is checked before, and no name may come twice in an object."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handler = super().get_route_handler()
        role = next(one.call for one in self.dependant.dependencies if isinstance(one.call, Role))

        async def checked(request: Request) -> Response:
            request.scope["lpb.access"] = role, await role(request)
            return await handler(_Strict(request.scope, request.receive))

        return checked


class _Strict(Request):
    async def json(self) -> Any:
        """Return the content of the body."""
        return json.loads(await self.body(), object_pairs_hook=_object)


def refuse_repeated_names(content: bytes) -> None:
    """Raise if a name comes twice in an object of a JSON text; other faults are left to the reader of the text."""
    with suppress(ValueError, RecursionError):
        json.loads(content, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> Json:
    out = dict(pairs)
    if len(out) < len(pairs):
        name = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise HTTPException(422, f"the body has the name {short_repr(name)} twice in one object; keep one of them")
    return out


Reader = Annotated[Access, Depends(Role("reader"))]
ReaderOfAny = Annotated[Access, Depends(Role("reader", any_project=True))]
"""For routes that leave out what the key may not read."""
Recorder = Annotated[Access, Depends(Role("recorder"))]
Operator = Annotated[Access, Depends(Role("operator"))]
Admin = Annotated[Access, Depends(Role("admin"))]


def digest_of(request: Request, body: BaseModel | None) -> bytes:
    """Return a hash of a request's route and content, by value: whatever the order and spelling of its JSON.

    A field that is left out has its default; only in the settings of a project does it stay as it is.
    """
    whole = isinstance(body, ProjectBody)
    content = None
    if body is not None:
        content = _by_value(body.model_dump(mode="json", exclude_unset=whole, exclude_defaults=not whole))
    query = request.scope["query_string"].decode("latin-1")
    text = _sorted([request.method, request.scope["path"], query, content])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _by_value(content: Any) -> Any:
    """Return a JSON value in which whole numbers are int: 1.0 is 1."""
    if isinstance(content, dict):
        return {name: _by_value(part) for name, part in content.items()}
    if isinstance(content, list):
        return [_by_value(part) for part in content]
    return int(content) if isinstance(content, float) and content.is_integer() else content


async def write(request: Request, operation: WriteRequest, *, status: int = 201) -> Response:
    """Return the answer of a write, once it is on disk."""
    answer = await service_of(request).writer.answer(operation)
    out = json_response(answer.body, status)
    if answer.repeated:
        out.headers["Idempotent-Replayed"] = "true"
    if not answer.repeated:
        request.scope["lpb.facts"] = facts_of(answer.body)
    return out


def facts_of(body: Json) -> dict[str, list[str]]:
    """Return the ids of the decisions and outcomes of an answer, for the log and the metrics."""
    out: dict[str, list[str]] = {}
    for name, kind in (("decision", "recommended"), ("outcome", "decision")):
        several = body.get(f"{name}s")
        rows = several if isinstance(several, list) else [body] if name in body and kind in body else []
        out[name] = [row[name] for row in rows]
    return out


async def read(request: Request, query: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function that reads the store in a thread; its first argument is the connection."""
    service = service_of(request)

    def run() -> Any:
        with service.store.reading() as sql:
            return query(sql, service, *arguments)

    return await asyncio.to_thread(run)


def json_response(body: Any, status: int = 200) -> Response:
    """Return a response with a JSON document."""
    return Response(_compact(body), status, media_type="application/json")
