"""Routes of decisions."""

from fastapi import APIRouter, Request, Response

from lpbandits.service.api import answers
from lpbandits.service.api.bodies import DecisionBatch, DecisionBody, ScheduleBody
from lpbandits.service.api.calls import described, received
from lpbandits.service.api.context import write
from lpbandits.service.api.problems import responses
from lpbandits.service.requests.ask import Ask, AskItem

router = APIRouter(prefix="/v1/projects/{project}", tags=["decisions"])


@router.post(
    "/people/{person}/decisions",
    status_code=201,
    responses=responses(404, 409, 507, created=answers.Decision),
    openapi_extra=described(DecisionBody, person=True),
)
async def decide(request: Request) -> Response:
    """Decide for a person: the next action, with the probability of each allowed one."""
    call = await received(request, DecisionBody)
    item = AskItem(call.person, _tuple(call.body.allowed), call.body.exclude_seen, call.body.action)
    return await write(request, Ask(*call.origin, "decision", (item,)))


@router.post(
    "/people/{person}/schedule",
    status_code=201,
    responses=responses(404, 409, 507, created=answers.Decisions),
    openapi_extra=described(ScheduleBody, person=True),
)
async def schedule(request: Request) -> Response:
    """Decide several times now, for a caller who goes offline; all decisions use today's knowledge."""
    call = await received(request, ScheduleBody)
    item = AskItem(call.person, _tuple(call.body.allowed), call.body.exclude_seen, None, call.body.n)
    return await write(request, Ask(*call.origin, "schedule", (item,)))


@router.post(
    "/decisions:batch",
    status_code=201,
    responses=responses(404, 409, 507, created=answers.Decisions),
    openapi_extra=described(DecisionBatch),
)
async def decide_batch(request: Request) -> Response:
    """Decide for many people; if one item is refused, so is the batch."""
    call = await received(request, DecisionBatch)
    items = tuple(AskItem(one.person, _tuple(one.allowed), one.exclude_seen, one.action) for one in call.body.items)
    return await write(request, Ask(*call.origin, "decisions", items))


def _tuple(labels: list[str | int] | None) -> tuple[str | int, ...] | None:
    return None if labels is None else tuple(labels)
