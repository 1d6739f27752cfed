"""Errors as problem details (RFC 9457): the message of the library, and the request's id."""

import json
import re
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from lpbandits.errors import FileFormatError, InvalidInput, LpbError, NotSupported, ResourceError
from lpbandits.service.errors import ServiceError

MAX_LISTED = 20
"""Maximum number of invalid fields in one message."""

BRANCH = re.compile(r"float|int|str|bool|constrained-(str|int)|(list|dict|function-\w+|nullable|union)\[.*\]")
"""What Pydantic adds to the place of a field that has several types: the name of one."""

TITLES = {
    400: "Bad request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    422: "Invalid input",
    429: "Too many requests",
    500: "Internal error",
    503: "Unavailable",
    507: "Storage is full",
}

SCHEMA = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail"],
}


def responses(
    *statuses: int, ok: type[BaseModel] | None = None, created: type[BaseModel] | None = None
) -> dict[int | str, dict[str, Any]]:
    """Return the description of a route's answers for OpenAPI; errors of every route are included."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"description": TITLES[status], "content": {"application/problem+json": {"schema": SCHEMA}}}
        for status in sorted({400, 401, 403, 413, 422, 429, 503, *statuses})
    }
    return {status: {"model": shape} for status, shape in ((200, ok), (201, created)) if shape} | errors


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return a response with a problem."""
    content = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    extra = dict(headers or {})
    if status == 401:
        extra["WWW-Authenticate"] = "Bearer"
    elif status in (429, 503):
        extra["Retry-After"] = "1"
    return Response(json.dumps(content, ensure_ascii=False), status, extra, "application/problem+json")


def status_of(error: LpbError) -> int:
    """Return the HTTP status of an error of the library."""
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, InvalidInput | FileFormatError | NotSupported):
        return 422
    return 503 if isinstance(error, ResourceError) else 500


def install(app: FastAPI) -> None:
    """Answer errors with problems."""

    @app.exception_handler(LpbError)
    async def of_library(_: Request, error: LpbError) -> Response:
        return problem(status_of(error), str(error))

    @app.exception_handler(RequestValidationError)
    async def of_body(request: Request, error: RequestValidationError) -> Response:
        is_json = request.headers.get("content-type", "").startswith("application/json")
        if not is_json and any(fault["loc"] == ("body",) for fault in error.errors()):
            return problem(422, "Content-Type: must be application/json, and the body a JSON object")
        faults = _faults(error.errors())
        more = len(faults) - MAX_LISTED
        del faults[MAX_LISTED:]
        detail = "; ".join([*faults, *([f"and {more} more"] if more > 0 else [])])
        return problem(422, detail.encode("utf-8", "replace").decode())

    @app.exception_handler(HTTPException)
    async def of_framework(_: Request, error: HTTPException) -> Response:
        return problem(error.status_code, str(error.detail), dict(error.headers or {}))


def _faults(errors: Sequence[Any]) -> list[str]:
    """Return what is wrong with each field; of a field with several types, what each of them needs."""
    out: dict[str, list[str]] = {}
    for fault in errors:
        words = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        place = _place(tuple(part for part in fault["loc"] if not BRANCH.fullmatch(str(part))))
        out.setdefault(place, []).append(words)
    return [f"{place}: {', or '.join(dict.fromkeys(words))}" for place, words in out.items()]


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(map(str, location[1:])) or str(location[0])
