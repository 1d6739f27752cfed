"""Routes of outcomes and corrections."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from lpbandits.errors import InvalidInput
from lpbandits.service.api import answers
from lpbandits.service.api.bodies import CorrectionBody, OutcomeBatch, OutcomeBody
from lpbandits.service.api.context import IdempotencyKey, PersonLabel, ProjectName, Recorder, digest_of, write
from lpbandits.service.api.problems import responses
from lpbandits.service.requests.correct import Correct
from lpbandits.service.requests.tell import Tell, TellItem

router = APIRouter(prefix="/v1/projects/{project}", tags=["outcomes"])

OutcomeId = Annotated[str, Path(max_length=40, description="Id of the outcome, such as o17-3.")]


@router.post("/people/{person}/outcomes", status_code=201, responses=responses(404, 409, 507, created=answers.Outcome))
async def tell(
    access: Recorder,
    project: ProjectName,
    person: PersonLabel,
    body: OutcomeBody,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Report what was given to a person, and its reward: of a decision, or of an action without one."""
    item = _item(person, body)
    return await write(request, Tell(project, key, digest_of(request, body), access.key_id, "outcome", (item,)))


@router.post("/outcomes:batch", status_code=201, responses=responses(404, 409, 507, created=answers.Outcomes))
async def tell_batch(
    access: Recorder,
    project: ProjectName,
    body: OutcomeBatch,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Report many outcomes; if one item is refused, so is the batch."""
    items = tuple(_item(one.person, one) for one in body.items)
    return await write(request, Tell(project, key, digest_of(request, body), access.key_id, "outcomes", items))


@router.post(
    "/outcomes/{outcome}/corrections", status_code=201, responses=responses(404, 409, 507, created=answers.Correction)
)
async def correct(
    access: Recorder,
    project: ProjectName,
    outcome: OutcomeId,
    body: CorrectionBody,
    request: Request,
    key: IdempotencyKey = None,
) -> Response:
    """Correct an outcome, or withdraw it, with a reason; the outcome as it was reported is kept."""
    digest = digest_of(request, body)
    reward = None if body.reward is None else float(body.reward)
    operation = Correct(project, key, digest, access.key_id, "correction", outcome, reward, body.reason, body.given)
    return await write(request, operation)


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
