"""Bodies of requests, with strict types: "1" is not 1."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)

from lpbandits.validate import MAX_ABS_VALUE

MAX_LABEL = 1_000
"""Characters of a label, as everywhere in lpbandits."""


FIRST, LAST = -62_135_596_800, 253_402_300_799
"""Beginning of year 1 and end of year 9999, in seconds since 1970."""


def storable(text: str) -> str:
    """Refuse text that a database cannot hold."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("must not have null characters or unpaired surrogates")
    return text


def _label(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return storable(text)


def _finite(number: float) -> float:
    if not abs(number) <= MAX_ABS_VALUE:  # NaN neither
        raise ValueError(f"must be a finite number within ±{MAX_ABS_VALUE:g}")
    return number


def _microseconds(value: Any) -> Any:
    """Return a time as microseconds since 1970: an ISO 8601 text with a zone, or seconds since 1970."""
    if isinstance(value, bool):
        raise ValueError("must be a time, got a bool")
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                raise ValueError("must have a time zone, such as 2026-03-01T09:30:00Z")
            value = moment.timestamp()
        if isinstance(value, int | float) and FIRST <= value <= LAST:
            return round(value * 1e6)
    except (OverflowError, ValueError) as error:
        raise ValueError(f"must be an ISO 8601 time with a zone: {error}") from None
    raise ValueError(
        "must be an ISO 8601 time such as 2026-03-01T09:30:00Z, or seconds since 1970, in the years 1 to 9999"
    )


Text = Annotated[StrictStr, Field(min_length=1, max_length=MAX_LABEL), AfterValidator(_label)]
Label = (
    Annotated[StrictStr, Field(min_length=1, max_length=MAX_LABEL), AfterValidator(_label)]
    | Annotated[StrictInt, Field(ge=-(2**53), le=2**53)]
)
Number = Annotated[StrictFloat | StrictInt, AfterValidator(_finite)]
Time = Annotated[
    int,
    BeforeValidator(_microseconds),
    WithJsonSchema({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}),
]


class Body(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DecisionBody(Body):
    """A request for a decision."""

    allowed: Annotated[list[Label], Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="Actions that are available now; by default all actions of the model."
    )
    exclude_seen: StrictBool = Field(
        False, description="Exclude actions that were given, or recommended and not yet reported."
    )
    action: Label | None = Field(
        None, description="The caller's own action; required in shadow mode, refused otherwise."
    )


class ScheduleBody(Body):
    """A request for the next few decisions, made now."""

    n: Annotated[StrictInt, Field(ge=1, le=1_000)] = Field(description="Number of decisions.")
    allowed: Annotated[list[Label], Field(min_length=1, max_length=100_000)] | None = None
    exclude_seen: StrictBool = False


class DecisionItem(DecisionBody):
    """One person of a batch."""

    person: Text


class OutcomeBody(Body):
    """What was given, and its reward."""

    decision: Text | None = Field(None, description="Id of the decision.")
    action: Label | None = Field(None, description="The action, if there is no decision.")
    given: Label | None = Field(None, description="The action that was given; by default the one of the decision.")
    reward: Number | None = Field(None, description="The reward; null or left out: not known yet.")
    at: Time | None = Field(None, description="When it occurred: ISO 8601 with a zone, or seconds since 1970.")


class OutcomeItem(OutcomeBody):
    """One outcome of a batch."""

    person: Text


class CorrectionBody(Body):
    """A correction of an outcome."""

    reward: Number | None = Field(description="The right reward; null withdraws the outcome.")
    reason: Text
    given: Label | None = Field(None, description="The action that was really given; by default as before.")


class PersonBody(Body):
    """What is known about a person before the first outcome: a prior or covariates."""

    prior: list[Number] | dict[Text, Number] | None = None
    covariates: dict[Text, StrictStr | StrictBool | Number | None] | None = None


class ProjectBody(Body):
    """Settings of a project; those left out stay as they are."""

    policy: Text = "auto"
    mode: Text = "online"
    holdout: Number = 0.0
    holdout_policy: Text = "popular"
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] = 0
    settings: dict[Text, StrictStr | StrictBool | Number | None] = Field(
        default_factory=dict, description="Settings of the policy that change; null removes one."
    )
    reason: Text | None = Field(None, description="Why the project changes.")
    deviation: StrictBool = Field(False, description="Record a change of a trial as a deviation from its protocol.")


class KeyBody(Body):
    """A new access key."""

    name: Text
    role: Text
    project: Text | None = None
    expires_at: Time | None = None


class DecisionBatch(Body):
    """Requests for decisions about many people."""

    items: Annotated[list[DecisionItem], Field(min_length=1, max_length=10_000)]


class OutcomeBatch(Body):
    """Outcomes of many people."""

    items: Annotated[list[OutcomeItem], Field(min_length=1, max_length=10_000)]
