"""Routes of people."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from pydantic import AfterValidator
from sqlalchemy import Connection, select

from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.service.api import answers
from lpbandits.service.api.bodies import MAX_LABEL, PersonBody, storable
from lpbandits.service.api.context import (
    Admin,
    CheckedRoute,
    IdempotencyKey,
    PersonLabel,
    ProjectName,
    Reader,
    Reason,
    Recorder,
    digest_of,
    json_response,
    read,
    write,
)
from lpbandits.service.api.problems import responses
from lpbandits.service.errors import NotFound
from lpbandits.service.history import History, histories, id_of_decision, id_of_outcome, returned_action
from lpbandits.service.requests.ask import decision_json
from lpbandits.service.requests.base import time_text
from lpbandits.service.requests.delete import Delete
from lpbandits.service.requests.start import Start
from lpbandits.service.service import Service
from lpbandits.service.store import schema
from lpbandits.service.unit import Person, Project
from lpbandits.typing import Json

After = Annotated[
    str, Query(max_length=MAX_LABEL, description="The last label of the page before."), AfterValidator(storable)
]

router = APIRouter(prefix="/v1/projects/{project}", tags=["people"], route_class=CheckedRoute)


@router.get("/people", responses=responses(404, ok=answers.People))
async def list_people(
    _: Reader,
    project: ProjectName,
    request: Request,
    after: After | None = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
) -> Response:
    """List the labels of people in order, a page at a time."""
    return json_response(await read(request, _people, project, after, limit))


@router.get("/people/{person}", responses=responses(404, 409, ok=answers.Person))
async def show(_: Reader, project: ProjectName, person: PersonLabel, request: Request) -> Response:
    """Return a person's history, the probability of each state, and those of the next action."""
    return json_response(await read(request, _person, project, person))


@router.put("/people/{person}", responses=responses(404, 409, 507, ok=answers.Start))
async def start(
    access: Recorder,
    project: ProjectName,
    person: PersonLabel,
    body: PersonBody,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Say what is known about a person: covariates, or a prior over the states."""
    if (body.prior is None) == (body.covariates is None):
        raise InvalidInput("prior or covariates must be given, and not both")
    digest = digest_of(request, body)
    operation = Start(project, key, digest, access.key_id, "person", person, body.prior, body.covariates)
    return await write(request, operation, status=200)


@router.delete("/people/{person}", responses=responses(404, 409, 507, ok=answers.Deleted))
async def delete(
    access: Admin,
    project: ProjectName,
    person: PersonLabel,
    request: Request,
    reason: Reason | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Delete all that is stored about a person; only the fact of the deletion is kept."""
    operation = Delete(project, key, digest_of(request, None), access.key_id, "deletion", person, reason)
    return await write(request, operation, status=200)


@router.get("/deletions", responses=responses(404, ok=answers.Deletions))
async def list_deletions(
    _: Reader,
    project: ProjectName,
    request: Request,
    after: Annotated[int, Query(ge=0, lt=2**53, description="The last id of the page before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
) -> Response:
    """List who deleted people, when and why, by the id that the person had in ids of decisions and outcomes."""
    return json_response(await read(request, _deletions, project, after, limit))


def _people(sql: Connection, service: Service, name: str, after: str | None, limit: int) -> Json:
    project, _ = service.project(sql, name)
    table = schema.people
    query = select(table.c.label).where(table.c.project_id == project.id).order_by(table.c.label).limit(limit)
    labels = sql.execute(query if after is None else query.where(table.c.label > after)).scalars().all()
    return {"people": labels, "next": labels[-1] if len(labels) == limit else None}


def _deletions(sql: Connection, service: Service, name: str, after: int, limit: int) -> Json:
    project, _ = service.project(sql, name)
    table = schema.tombstones
    query = select(table).where(table.c.project_id == project.id, table.c.person_id > after)
    rows = sql.execute(query.order_by(table.c.person_id).limit(limit)).mappings().all()
    names = ("person_id", "decisions", "outcomes", "reason")
    deletions = [{**{name: row[name] for name in names}, **_recorded(row)} for row in rows]
    return {"deletions": deletions, "next": rows[-1]["person_id"] if len(rows) == limit else None}


def find_person(sql: Connection, project: Project, label: str) -> Person:
    """Return a person of a project."""
    table = schema.people
    row = sql.execute(select(table).where(table.c.project_id == project.id, table.c.label == label)).first()
    if row is None:
        raise NotFound(f"person {label!r} does not exist in the project {project.name}")
    return Person(row.id, project.id, row.label, row.holdout)


def _person(sql: Connection, service: Service, name: str, label: str) -> Json:
    project, setup = service.project(sql, name)
    person = find_person(sql, project, label)
    history = histories(sql, [person.id])[person.id]
    asked = max((row["asked"] for row in history.decisions), default=-1) + 1
    agent = history.agent(setup, label, holdout=person.holdout, asked=asked)
    latent = agent.policy.evidence.latent
    try:
        probabilities = agent.probabilities()
    except NotSupported:
        probabilities = None
    labels = [str(action) for action in setup.model.actions]
    return {
        "person": label,
        "holdout": person.holdout,
        "model": setup.model.sha256,
        "rounds": agent.rounds,
        "asked": asked,
        "posterior": agent.posterior.tolist() if latent else None,
        "prior": agent.prior.tolist() if latent else None,
        "actions": list(setup.model.actions),
        "probabilities": None if probabilities is None else dict(zip(labels, probabilities.tolist(), strict=True)),
        "explanation": _without_infinities(agent.explain().to_dict()),
        "history": history_json(service, sql, project, person, history),
    }


def history_json(service: Service, sql: Connection, project: Project, person: Person, history: History) -> list[Json]:
    """Return all facts of a person in the order in which they were recorded."""
    out: list[tuple[int, Json]] = []
    for row in history.starts:
        start = {part: None if row[part] is None else json.loads(row[part]) for part in ("prior", "covariates")}
        out.append((row["n"], {"kind": "start", **start, **_recorded(row)}))
    for row in history.decisions:
        setup = service.setups.get(sql, project.id, row["version"])
        made = decision_json(setup, person, row) | _recorded(row)
        out.append(
            (row["n"], {"kind": "decision", **made, "returned": returned_action(row), "version": row["version"]})
        )
    current = {outcome.n: outcome for outcome in history.current()}
    for row in history.outcomes:
        now = current[row["n"]]
        decision = None if row["asked"] is None else id_of_decision(person.id, row["asked"])
        about = {"outcome": id_of_outcome(person.id, row["n"]), "decision": decision}
        reported = {"given": json.loads(row["action"]), "reward": row["reward"], **_recorded(row)}
        occurred = None if row["occurred_at"] is None else time_text(row["occurred_at"])
        standing = {"given": now.action, "reward": now.reward, "withdrawn": now.withdrawn}
        out.append((row["n"], {"kind": "outcome", **about, **reported, "occurred_at": occurred, "current": standing}))
    for row in history.corrections:
        about = {"outcome": id_of_outcome(person.id, row["outcome"]), "reward": row["reward"], "reason": row["reason"]}
        given = None if row["action"] is None else json.loads(row["action"])
        out.append((row["n"], {"kind": "correction", **about, "given": given, **_recorded(row)}))
    return [fact for _, fact in sorted(out, key=lambda entry: entry[0])]


def _recorded(row: Mapping[Any, Any]) -> Json:
    """Return when a fact was recorded, and with which access key."""
    return {"at": time_text(row["at"]), "by": row["key_id"]}


def _without_infinities(value: object) -> object:
    """Return a JSON value with null in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_infinities(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
