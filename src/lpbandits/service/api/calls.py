"""Requests of recorders, which come by the thousand: the access is checked before a body is read.

FastAPI analyses the parameters of a route anew for each request, which takes longer than a decision; these routes take
the request alone, and `described` tells OpenAPI the rest.
"""

from typing import Any, Generic, NamedTuple, TypeVar

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import models_json_schema

from lpbandits.service.access import Access
from lpbandits.service.api import bodies
from lpbandits.service.api.context import (
    IdempotencyKey,
    PersonLabel,
    ProjectName,
    Role,
    digest_of,
    refuse_repeated_names,
)
from lpbandits.typing import Json

B = TypeVar("B", bound=BaseModel)

RECORDER = Role("recorder")
BODIES = (
    *(bodies.DecisionBody, bodies.ScheduleBody, bodies.DecisionBatch),
    *(bodies.OutcomeBody, bodies.OutcomeBatch, bodies.CorrectionBody),
)
REF = "#/components/schemas/{model}"


class Place(BaseModel):
    """Where a request writes."""

    project: ProjectName
    key: IdempotencyKey = None


class PersonPlace(Place):
    """The person of whom a request writes."""

    person: PersonLabel


class Call(NamedTuple, Generic[B]):
    """A request that may be carried out, and its content."""

    place: Place
    access: Access
    body: B
    digest: bytes

    @property
    def origin(self) -> tuple[str, str | None, bytes, int | None]:
        """The first arguments of a `Write`: project, Idempotency-Key, digest and access key."""
        return self.place.project, self.place.key, self.digest, self.access.key_id

    @property
    def person(self) -> str:
        """Label of the person."""
        label: str = getattr(self.place, "person", "")
        return label


async def received(request: Request, shape: type[B]) -> Call[B]:
    """Return the content of a request; no body is an empty object."""
    access = await RECORDER(request)
    kind = PersonPlace if "person" in request.path_params else Place
    place = _validated(kind, "path", request.path_params | _key(request))
    content = await request.body()
    if content and not request.headers.get("content-type", "").startswith("application/json"):
        raise RequestValidationError([{"loc": ("header", "Content-Type"), "msg": "must be application/json"}])
    refuse_repeated_names(content)
    try:
        body = shape.model_validate_json(content or b"{}")
    except ValidationError as error:
        raise _invalid(error, "body") from None
    return Call(place, access, body, digest_of(request, body))


def described(shape: type[BaseModel], *, person: bool = False, **path: Any) -> Json:
    """Return the parameters and the body of a route for OpenAPI; `path` has further parameters with their types."""
    fields = {
        name: field.rebuild_annotation() for name, field in (PersonPlace if person else Place).model_fields.items()
    }
    parameters = []
    for name, kind in (fields | path).items():
        schema = TypeAdapter(kind).json_schema()
        about = {"name": "Idempotency-Key", "in": "header"} if name == "key" else {"name": name, "in": "path"}
        parameters.append(about | {"required": name != "key", "schema": schema})
    content = {"application/json": {"schema": {"$ref": REF.format(model=shape.__name__)}}}
    required = any(field.is_required() for field in shape.model_fields.values())
    body = {"required": required, "content": content}
    return {"parameters": parameters, "requestBody": body, "security": [{RECORDER.scheme_name: []}]}


def body_schemas() -> Json:
    """Return the schemas of the bodies, to which `described` refers."""
    _, definitions = models_json_schema([(shape, "validation") for shape in BODIES], ref_template=REF)
    schemas: Json = definitions["$defs"]
    return schemas


def _key(request: Request) -> Json:
    key = request.headers.get("idempotency-key")
    return {} if key is None else {"Idempotency-Key": key}


def _validated(shape: type[Place], part: str, content: Any) -> Place:
    try:
        return shape.model_validate(content)
    except ValidationError as error:
        raise _invalid(error, part) from None


def _invalid(error: ValidationError, part: str) -> RequestValidationError:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return RequestValidationError([{**fault, "loc": (part, *fault["loc"])} for fault in faults])
