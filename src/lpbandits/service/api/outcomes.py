"""Routes of outcomes and corrections."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from lpbandits.errors import InvalidInput
from lpbandits.service.api import answers
from lpbandits.service.api.bodies import CorrectionBody, OutcomeBatch, OutcomeBody
from lpbandits.service.api.calls import described, received
from lpbandits.service.api.context import write
from lpbandits.service.api.problems import responses
from lpbandits.service.requests.correct import Correct
from lpbandits.service.requests.shared import item_of
from lpbandits.service.requests.tell import Tell, TellItem

router = APIRouter(prefix="/v1/projects/{project}", tags=["outcomes"])

OutcomeId = Annotated[str, Path(max_length=40, description="Id of the outcome, such as o17-3.")]


@router.post(
    "/people/{person}/outcomes",
    status_code=201,
    responses=responses(404, 409, 507, created=answers.Outcome),
    openapi_extra=described(OutcomeBody, person=True),
)
async def tell(request: Request) -> Response:
    """Report what was given to a person, and its reward: of a decision, or of an action without one."""
    call = await received(request, OutcomeBody)
    return await write(request, Tell(*call.origin, "outcome", (_item(call.person, call.body),)))


@router.post(
    "/outcomes:batch",
    status_code=201,
    responses=responses(404, 409, 507, created=answers.Outcomes),
    openapi_extra=described(OutcomeBatch),
)
async def tell_batch(request: Request) -> Response:
    """Report many outcomes; if one item is refused, so is the batch."""
    call = await received(request, OutcomeBatch)
    items = []
    for position, one in enumerate(call.body.items):
        with item_of("outcomes", position, one.person):
            items.append(_item(one.person, one))
    return await write(request, Tell(*call.origin, "outcomes", tuple(items)))


@router.post(
    "/outcomes/{outcome}/corrections",
    status_code=201,
    responses=responses(404, 409, 507, created=answers.Correction),
    openapi_extra=described(CorrectionBody, outcome=OutcomeId),
)
async def correct(request: Request) -> Response:
    """Correct an outcome, or withdraw it, with a reason; the outcome as it was reported is kept."""
    call = await received(request, CorrectionBody)
    reward = None if call.body.reward is None else float(call.body.reward)
    about = (request.path_params["outcome"], reward, call.body.reason, call.body.given)
    return await write(request, Correct(*call.origin, "correction", *about))


def _item(person: str, body: OutcomeBody) -> TellItem:
    """Return an outcome; `action` and `given` say the same, with and without a decision."""
    if body.decision is None and body.action is None:
        raise InvalidInput("decision must be the id of a decision, or action the action that was given; got neither")
    if body.decision is not None and body.action is not None:
        raise InvalidInput("action must be left out with a decision; use given if another action was given")
    if body.action is not None and body.given not in (None, body.action):
        raise InvalidInput(f"given must be the action {body.action!r}, or left out, got {body.given!r}")
    given = body.given if body.action is None else body.action
    reward = None if body.reward is None else float(body.reward)
    return TellItem(person, body.decision, given, reward, body.at)
