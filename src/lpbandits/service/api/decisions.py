"""Routes of decisions."""

from fastapi import APIRouter, Request, Response

from lpbandits.service.api import answers
from lpbandits.service.api.bodies import DecisionBatch, DecisionBody, ScheduleBody
from lpbandits.service.api.context import IdempotencyKey, PersonLabel, ProjectName, Recorder, digest_of, write
from lpbandits.service.api.problems import responses
from lpbandits.service.requests.ask import Ask, AskItem

router = APIRouter(prefix="/v1/projects/{project}", tags=["decisions"])


@router.post(
    "/people/{person}/decisions", status_code=201, responses=responses(404, 409, 507, created=answers.Decision)
)
async def decide(
    access: Recorder,
    project: ProjectName,
    person: PersonLabel,
    request: Request,
    body: DecisionBody | None = None,
    key: IdempotencyKey = None,
) -> Response:
    """Decide for a person: the next action, with the probability of each allowed one."""
    body = body or DecisionBody.model_validate({})
    item = AskItem(person, _tuple(body.allowed), body.exclude_seen, body.action)
    return await write(request, Ask(project, key, digest_of(request, body), access.key_id, "decision", (item,)))


@router.post(
    "/people/{person}/schedule", status_code=201, responses=responses(404, 409, 507, created=answers.Decisions)
)
async def schedule(
    access: Recorder,
    project: ProjectName,
    person: PersonLabel,
    body: ScheduleBody,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Decide several times now, for a caller who goes offline; all decisions use today's knowledge."""
    item = AskItem(person, _tuple(body.allowed), body.exclude_seen, None, body.n)
    return await write(request, Ask(project, key, digest_of(request, body), access.key_id, "schedule", (item,)))


@router.post("/decisions:batch", status_code=201, responses=responses(404, 409, 507, created=answers.Decisions))
async def decide_batch(
    access: Recorder,
    project: ProjectName,
    body: DecisionBatch,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Decide for many people; if one item is refused, so is the batch."""
    items = tuple(AskItem(one.person, _tuple(one.allowed), one.exclude_seen, one.action) for one in body.items)
    return await write(request, Ask(project, key, digest_of(request, body), access.key_id, "decisions", items))


def _tuple(labels: list[str | int] | None) -> tuple[str | int, ...] | None:
    return None if labels is None else tuple(labels)
