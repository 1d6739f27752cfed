"""Routes of projects and their models."""

import asyncio
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request, Response
from sqlalchemy import Connection, func, select

from lpbandits.errors import LpbError
from lpbandits.model import PreferenceModel
from lpbandits.service.api import answers
from lpbandits.service.api.bodies import ProjectBody
from lpbandits.service.api.context import (
    CheckedRoute,
    IdempotencyKey,
    Operator,
    ProjectName,
    Reader,
    ReaderOfAny,
    Reason,
    digest_of,
    json_response,
    read,
    write,
)
from lpbandits.service.api.problems import responses
from lpbandits.service.carry import carried_by
from lpbandits.service.configuration import Configuration, Setup
from lpbandits.service.requests.base import time_text
from lpbandits.service.requests.configure import Configure, project_json
from lpbandits.service.service import Service
from lpbandits.service.stats import project_stats
from lpbandits.service.store import schema
from lpbandits.typing import Json

router = APIRouter(prefix="/v1/projects", tags=["projects"], route_class=CheckedRoute)


@router.get("", responses=responses(ok=answers.Projects))
async def list_projects(access: ReaderOfAny, request: Request) -> Response:
    """List the projects that the key may read."""
    return json_response(await read(request, _projects, access.project))


@router.put("/{project}", responses=responses(404, 409, 507, ok=answers.Configured))
async def configure(
    access: Operator,
    project: ProjectName,
    body: ProjectBody,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Make a project, or change the given settings of one; every change is kept with its time, author and reason."""
    given = body.model_dump(exclude_unset=True)
    reason, deviation = given.pop("reason", None), given.pop("deviation", False)
    digest = digest_of(request, body)
    operation = Configure(project, key, digest, access.key_id, "configuration", given, None, reason, deviation)
    return await write(request, operation, status=200)


@router.get("/{project}", responses=responses(404, ok=answers.Configured))
async def show(_: Reader, project: ProjectName, request: Request) -> Response:
    """Return the settings of a project, and all their versions."""
    return json_response(await read(request, _project, project))


@router.put("/{project}/model", responses=responses(404, 409, 507, ok=answers.Carried))
async def upload(
    access: Operator,
    project: ProjectName,
    request: Request,
    content: Annotated[dict[str, Any], Body(description="A model file, as `lpb fit` writes it.")],
    dry_run: Annotated[bool, Query(description="Only say what the model would take over and drop.")] = False,
    reason: Reason | None = None,
    deviation: Annotated[bool, Query(description="Record the change of a trial's model as a deviation.")] = False,
    key: IdempotencyKey = None,
) -> Response:
    """Give a project a new model; it takes over with the history of each person."""
    model = await asyncio.to_thread(PreferenceModel.from_dict, content)
    if dry_run:
        about = await read(request, _carried, project, model)
        return json_response({"model": model.sha256, **about, "dry_run": True})
    with suppress(LpbError):  # a repeated request has an answer, whatever the settings are now
        await read(request, _warm_up, project, model)
    digest = digest_of(request, None) + bytes.fromhex(model.sha256)[:8]
    operation = Configure(project, key, digest, access.key_id, "model", {}, model, reason, deviation)
    return await write(request, operation, status=200)


@router.get("/{project}/model", responses=responses(404, 409, ok=answers.Shape))
async def download(_: Reader, project: ProjectName, request: Request) -> Response:
    """Return the model of a project, as a model file."""
    return json_response(await read(request, _model, project))


@router.get("/{project}/stats", responses=responses(404))
async def stats(_: Reader, project: ProjectName, request: Request) -> Response:
    """Return numbers of a project: people, decisions, outcomes, and the mean reward of each action and arm."""
    return json_response(await read(request, _stats, project))


def _stats(sql: Connection, service: Service, name: str) -> Json:
    service.project(sql, name)
    return project_stats(sql, name)


def _projects(sql: Connection, service: Service, only: str | None) -> Json:
    table = schema.projects
    query = select(table.c.name).order_by(table.c.name)
    names = sql.execute(query if only is None else query.where(table.c.name == only)).scalars()
    return {"projects": [project_json(*service.project(sql, name)) for name in names]}


def _project(sql: Connection, service: Service, name: str) -> Json:
    project, setup = service.project(sql, name)
    table = schema.configurations
    rows = sql.execute(select(table).where(table.c.project_id == project.id).order_by(table.c.version)).mappings().all()
    versions = []
    before = Configuration()
    for row in rows:
        after = Configuration.from_json(row["content"], row["version"])
        about = {"version": row["version"], "changed": after.changes(before), "reason": row["reason"]}
        versions.append(about | {"deviation": row["deviation"], "by": row["key_id"], "at": time_text(row["at"])})
        before = after
    people = sql.execute(select(func.count()).where(schema.people.c.project_id == project.id)).scalar_one()
    return project_json(project, setup) | {"people": people, "versions": versions}


def _carried(sql: Connection, service: Service, name: str, model: PreferenceModel) -> Json:
    project, setup = service.project(sql, name)
    return carried_by(sql, project.id, Setup(setup.configuration, model)).to_dict()


def _warm_up(sql: Connection, service: Service, name: str, model: PreferenceModel) -> None:
    """Compile what the first decision with a model would wait for."""
    _, setup = service.project(sql, name)
    Setup(setup.configuration, model).warm_up()


def _model(sql: Connection, service: Service, name: str) -> Json:
    return service.project(sql, name)[1].model.to_dict()
