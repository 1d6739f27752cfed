"""Shapes of answers, for the OpenAPI document; answers are rendered from facts and are not validated again."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Action = str | int


class Shape(BaseModel):
    """A JSON object with at least these fields."""

    model_config = ConfigDict(extra="allow")


class Decision(Shape):
    """A decision."""

    decision: str = Field(description="Id of the decision.")
    person: str
    action: Action = Field(description="The action for the person; in shadow mode the caller's own.")
    recommended: Action = Field(description="What the policy recommends.")
    probability: float | None = Field(description="Probability with which `recommended` was played.")
    probabilities: dict[str, float] | None = Field(description="That of every allowed action; null: not known exactly.")
    model: str = Field(description="Hash of the model.")
    holdout: bool = Field(description="Whether the person is in the holdout.")
    at: str


class Gone(Shape):
    """In place of a fact of a person who was deleted since, in the answer of a repeated batch."""

    deleted: Literal[True]


class Decisions(Shape):
    """Several decisions, in the order of the request."""

    decisions: list[Decision | Gone]


class Outcome(Shape):
    """An outcome as it was reported."""

    outcome: str = Field(description="Id of the outcome.")
    person: str
    decision: str | None
    given: Action
    reward: float | None
    at: str


class Outcomes(Shape):
    """Several outcomes, in the order of the request."""

    outcomes: list[Outcome | Gone]


class Correction(Shape):
    """A correction of an outcome."""

    outcome: str
    person: str
    given: Action | None
    reward: float | None
    withdrawn: bool
    reason: str
    at: str


class Configured(Shape):
    """Settings of a project."""

    project: str
    version: int
    policy: str
    mode: Literal["online", "shadow", "trial"]
    holdout: float
    holdout_policy: str
    seed: int
    settings: dict[str, Any]
    model: str | None


class Projects(Shape):
    """Projects."""

    projects: list[Configured]


class Carried(Shape):
    """What a model takes over and drops."""

    model: str
    carried: int = Field(description="Number of outcomes that the model takes over.")
    dropped: list[dict[str, Any]] = Field(description="Actions that it lacks, with their number of outcomes.")
    dropped_priors: int = Field(description="Number of people whose prior is about other states.")


class Start(Shape):
    """What is known about a person before the first outcome."""

    person: str
    prior: list[float] | dict[str, float] | None
    covariates: dict[str, Any] | None
    at: str


class Person(Shape):
    """A person's history and what follows from it."""

    person: str
    holdout: bool
    model: str
    rounds: int = Field(description="Number of rewards in the belief.")
    asked: int = Field(description="Number of decisions.")
    posterior: list[float] | None = Field(description="Probability of each state, by the policy's evidence.")
    prior: list[float] | None
    probabilities: dict[str, float] | None = Field(description="Probability of each action to be played next.")
    explanation: dict[str, Any]
    history: list[dict[str, Any]]


class People(Shape):
    """Labels of people."""

    people: list[str]
    next: str | None = Field(description="The value of `after` for the next page; null: this is the last.")


class Deleted(Shape):
    """What remains of a deleted person."""

    deleted: bool
    decisions: int
    outcomes: int
    at: str


class Deletion(Shape):
    """The deletion of a person."""

    person_id: int = Field(description="Number of the person in the ids of their decisions and outcomes.")
    decisions: int
    outcomes: int
    reason: str | None
    at: str
    by: int | None = Field(description="Id of the access key.")


class Deletions(Shape):
    """Deletions of people."""

    deletions: list[Deletion]
    next: int | None = Field(description="The value of `after` for the next page; null: this is the last.")


class Key(Shape):
    """An access key without its secret."""

    id: int
    name: str
    role: str
    project: str | None
    expires_at: str | None
    at: str


class NewKey(Key):
    """A new access key: the only answer with its secret."""

    key: str


class Keys(Shape):
    """All keys."""

    keys: list[Key]


class Status(Shape):
    """State of the service."""

    status: str
    version: str
