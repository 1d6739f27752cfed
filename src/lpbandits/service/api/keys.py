"""Routes of access keys."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from sqlalchemy import Connection, select

from lpbandits.service.access import NewKey, RevokeKey, key_json
from lpbandits.service.api import answers
from lpbandits.service.api.bodies import KeyBody
from lpbandits.service.api.context import Admin, CheckedRoute, json_response, read, service_of, write
from lpbandits.service.api.problems import responses
from lpbandits.service.service import Service
from lpbandits.service.store import schema
from lpbandits.typing import Json

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=CheckedRoute)


@router.post("", status_code=201, responses=responses(404, 507, created=answers.NewKey))
async def make(access: Admin, body: KeyBody, request: Request) -> Response:
    """Make a key; the answer is the only place where it is shown.

    An `Idempotency-Key` has no effect, as the answer cannot be stored: a repeated request makes another key. If an
    answer was lost, revoke its key, which the list of keys has.
    """
    operation = NewKey(body.name, body.role, body.project, body.expires_at, access.key_id)
    answer = await write(request, operation)
    service_of(request).keys.forget()
    return answer


@router.get("", responses=responses(ok=answers.Keys))
async def list_keys(_: Admin, request: Request) -> Response:
    """List all keys, without their secrets."""
    return json_response(await read(request, _keys))


@router.delete("/{key_id}", responses=responses(404, 409, 507, ok=answers.Shape))
async def revoke(access: Admin, key_id: Annotated[int, Path(ge=1, lt=2**53)], request: Request) -> Response:
    """Revoke a key; other replicas refuse it within five seconds. The last key of an admin stays valid."""
    answer = await write(request, RevokeKey(key_id, access.key_id), status=200)
    service_of(request).keys.forget()
    return answer


def _keys(sql: Connection, _: Service) -> Json:
    revoked = set(sql.execute(select(schema.revocations.c.key_id)).scalars())
    rows = sql.execute(select(schema.keys).order_by(schema.keys.c.id)).mappings()
    return {"keys": [{"id": row["id"], **key_json(dict(row)), "revoked": row["id"] in revoked} for row in rows]}
