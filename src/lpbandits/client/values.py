"""What the client returns: decisions, outcomes, corrections and what is stored about a person."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self, TypedDict

from lpbandits import validate
from lpbandits.typing import Json, Label


class AskItem(TypedDict, total=False):
    """A person of `decide_many`; all but `person` may be left out."""

    person: str
    allowed: Iterable[Label] | None
    exclude_seen: bool
    action: Label | None


class TellItem(TypedDict, total=False):
    """An outcome of `tell_many`; all but `person` may be left out, as in `tell`."""

    person: str
    action: Label | None
    reward: float | None
    decision: "Decision | str | None"
    given: Label | None
    at: "datetime | str | float | None"


@dataclass(frozen=True)
class Decision:
    """A stored decision.

    Attributes
    ----------
    id
        Id that its outcome refers to.
    action, recommended
        The action to give, and the one that the policy chose; they differ in shadow mode only.
    probability, probabilities
        Probability of the recommended action, and of each allowed one; None if the policy has no exact ones. An action
        that is a number is text if the decision is of an earlier model, and the project's has no such action.
    model
        Hash of the model.
    holdout
        Whether the person belongs to the holdout, which gets the holdout policy.
    at
        When it was stored.
    person
        Label of the person.
    """

    id: str
    action: Label
    recommended: Label
    probability: float | None
    probabilities: dict[Label, float] | None
    model: str
    holdout: bool
    at: datetime
    person: str

    @classmethod
    def from_json(cls, row: Json) -> Self:
        """Return a decision of the API, whose probabilities have the text of actions; see `labelled`."""
        names = ("action", "recommended", "probability", "probabilities", "model", "holdout", "person")
        return cls(id=row["decision"], at=_time(row["at"]), **{name: row[name] for name in names})

    @property
    def may_have_numbers(self) -> bool:
        """Whether the text of an action may be that of a number."""
        return any(str(text).removeprefix("-").isdigit() for text in self.probabilities or ())

    def labelled(self, labels: Mapping[str, Label]) -> Self:
        """Return the decision with probabilities of actions, given by their text."""
        if self.probabilities is None or not labels:
            return self
        return replace(self, probabilities={labels.get(str(text), text): p for text, p in self.probabilities.items()})


@dataclass(frozen=True)
class Outcome:
    """A reported outcome.

    Attributes
    ----------
    id
        Its id; None while it waits in the queue.
    person, decision
        Label of the person, and id of the decision if it is of one.
    given
        The action that was given; None while it waits and is that of the decision.
    reward
        Its reward; None: not known yet.
    at
        When it occurred, or was told if that is not known.
    """

    id: str | None
    person: str
    decision: str | None
    given: Label | None
    reward: float | None
    at: datetime

    @property
    def pending(self) -> bool:
        """Whether it waits in the queue of the client."""
        return self.id is None

    @classmethod
    def from_json(cls, row: Json) -> Self:
        """Return an outcome of the API."""
        same = {name: row[name] for name in ("person", "decision", "given", "reward")}
        return cls(id=row["outcome"], at=_time(row["at"]), **same)

    @classmethod
    def waiting(cls, person: str, item: Json) -> Self:
        """Return an outcome that is kept in the queue."""
        given = item.get("given", item.get("action"))
        at = _time(item["at"]) if "at" in item else datetime.now(UTC)
        return cls(None, person, item.get("decision"), given, item.get("reward"), at)


@dataclass(frozen=True)
class Correction:
    """A correction of an outcome, or its withdrawal."""

    outcome: str
    person: str
    given: Label | None
    reward: float | None
    withdrawn: bool
    reason: str
    at: datetime

    @classmethod
    def from_json(cls, row: Json) -> Self:
        """Return a correction of the API."""
        names = ("outcome", "person", "given", "reward", "withdrawn", "reason")
        return cls(at=_time(row["at"]), **{name: row[name] for name in names})


@dataclass(frozen=True)
class PersonRecord:
    """What is stored about a person, and what follows from it.

    Attributes
    ----------
    rounds, asked
        Number of rewards in force, and of decisions.
    posterior, prior
        Probability of each state, now and before the first outcome; None if the policy has no states.
    probabilities
        Probability of each action to be chosen next; None if the policy has no exact ones.
    explanation
        That of `Agent.explain()`, as a JSON object.
    history
        All facts in the order in which they were stored.
    """

    person: str
    holdout: bool
    model: str
    rounds: int
    asked: int
    posterior: list[float] | None
    prior: list[float] | None
    probabilities: dict[Label, float] | None
    explanation: Json
    history: list[Json]

    @classmethod
    def from_json(cls, row: Json) -> Self:
        """Return a record of the API."""
        names = ("person", "holdout", "model", "rounds", "asked", "posterior", "prior", "explanation", "history")
        probabilities = row["probabilities"]
        if probabilities is not None:
            probabilities = {label: probabilities[str(label)] for label in row["actions"]}
        return cls(probabilities=probabilities, **{name: row[name] for name in names})


@dataclass(frozen=True)
class Upload:
    """What a new model takes over: outcomes carried, and dropped by action, and the number of dropped priors."""

    model: str
    carried: int
    dropped: dict[Label, int]
    dropped_priors: int

    @classmethod
    def from_json(cls, row: Json) -> Self:
        """Return the answer to an upload."""
        dropped = {one["action"]: one["outcomes"] for one in row["dropped"]}
        return cls(row["model"], row["carried"], dropped, row["dropped_priors"])


@dataclass(frozen=True)
class Rejected:
    """A request of the queue that the service refused: its body, and the service's reason."""

    body: Any
    reason: str


@dataclass(frozen=True)
class Flushed:
    """What sending the queue did: the outcomes stored, those refused, and the number of requests that wait."""

    sent: Sequence[Outcome]
    rejected: Sequence[Rejected]
    waiting: int


def time_json(at: datetime | str | float) -> str | float:
    """Return a time as JSON; a datetime must have a zone."""
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise validate.invalid("at", "a time with a zone", at.isoformat(), "such as datetime.now(UTC)")
        return at.astimezone(UTC).isoformat()
    return at if isinstance(at, str) else validate.as_number(at, "at")


def _time(at: str | float) -> datetime:
    return datetime.fromisoformat(at) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)
