"""What the calls of a person send and return, once for both clients."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from lpbandits import validate
from lpbandits.client.calls import (
    Someone,
    ask_item,
    decided,
    person_path,
    project_path,
    query,
    quoted,
    result,
    tell_item,
    write,
)
from lpbandits.client.exchange import Call, Steps, new_key, parsed
from lpbandits.client.sending import record, request
from lpbandits.client.values import Correction, Decision, Outcome, PersonRecord
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.typing import Json, Label

T = TypeVar("T")


def ask(
    person: Someone,
    *,
    allowed: Iterable[Label] | None = None,
    exclude_seen: bool = False,
    idempotency_key: str | None = None,
) -> Steps[Label]:
    """Return the next action, among `allowed` if given, without those that the person already had if `exclude_seen`.

    The decision is stored; `decide` returns it with its id, to which an outcome can refer.
    """
    made = yield from decide(person, allowed=allowed, exclude_seen=exclude_seen, idempotency_key=idempotency_key)
    return made.action


def decide(
    person: Someone,
    *,
    allowed: Iterable[Label] | None = None,
    exclude_seen: bool = False,
    action: Label | None = None,
    idempotency_key: str | None = None,
) -> Steps[Decision]:
    """Return the next decision; `action` is the caller's own, for a project in shadow mode."""
    body = ask_item(allowed=allowed, exclude_seen=exclude_seen, action=action)
    call = write("POST", person_path(person, "/decisions"), body, idempotency_key)
    return (yield from decided(person.client, call))[0]


def schedule(
    person: Someone,
    n: int,
    *,
    allowed: Iterable[Label] | None = None,
    exclude_seen: bool = False,
    idempotency_key: str | None = None,
) -> Steps[list[Decision]]:
    """Return the next `n` decisions, all made now, for use without a connection."""
    body = {"n": validate.as_count(n, "n", high=1_000), **ask_item(allowed=allowed, exclude_seen=exclude_seen)}
    call = write("POST", person_path(person, "/schedule"), body, idempotency_key)
    return (yield from decided(person.client, call))


def tell(
    person: Someone,
    action: Label | None = None,
    reward: float | None = None,
    *,
    decision: Decision | str | None = None,
    given: Label | None = None,
    at: datetime | str | float | None = None,
    idempotency_key: str | None = None,
) -> Steps[Outcome]:
    """Report the reward of an action, or of a decision, whose action is by default the one given.

    Without a reward, the outcome says what was given, and a later one of the same decision its reward. `at` is when it
    occurred: a datetime or ISO 8601 text with a zone, or seconds since 1970; by default now. With an `idempotency_key`
    of your own no time is sent, since a repetition must say the same, so give `at` too. With a queue, an outcome that
    the service cannot take now is kept in it, and is `pending`.
    """
    key = new_key() if idempotency_key is None else idempotency_key
    item = tell_item(person.client, key, action, reward, decision, given, at)
    call = write("POST", person_path(person, "/outcomes"), item, key)
    answer = yield from record(call, person.client.retries, person.client.queue)
    return Outcome.waiting(person.label, item) if answer is None else parsed(call, answer, Outcome.from_json)


def retract(
    person: Someone, outcome: Outcome | str, *, reason: str, idempotency_key: str | None = None
) -> Steps[Correction]:
    """Withdraw an outcome; what was reported is kept with the reason."""
    return (yield from correct(person, outcome, None, reason=reason, idempotency_key=idempotency_key))


def correct(
    person: Someone,
    outcome: Outcome | str,
    reward: float | None,
    *,
    reason: str,
    given: Label | None = None,
    idempotency_key: str | None = None,
) -> Steps[Correction]:
    """Correct the reward of an outcome, and the action if it was another; what was reported is kept."""
    outcome_id = outcome.id if isinstance(outcome, Outcome) else validate.as_text(outcome, "outcome")
    if outcome_id is None:
        raise InvalidInput("outcome must have an id, but it waits in the queue; flush it, and use the one it returns")
    body = {"reward": None if reward is None else validate.as_number(reward, "reward"), "reason": reason}
    body |= {} if given is None else {"given": validate.as_label(given, "given")}
    path = f"{project_path(person.client)}/outcomes/{quoted(outcome_id)}/corrections"
    return (yield from result(person.client, write("POST", path, body, idempotency_key), Correction.from_json))


def start(
    person: Someone,
    *,
    prior: Sequence[float] | Mapping[str, float] | None = None,
    covariates: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
) -> Steps[None]:
    """Say what is known about the person before the first outcome: a prior over the states, or covariates."""
    body: Json = {}
    if prior is not None:
        body["prior"] = dict(prior) if isinstance(prior, Mapping) else [float(p) for p in prior]
    if covariates is not None:
        body["covariates"] = dict(covariates)
    call = write("PUT", person_path(person), body, idempotency_key)
    yield from request(call, person.client.retries, person.client.queue)


def delete(person: Someone, *, reason: str | None = None, idempotency_key: str | None = None) -> Steps[Json]:
    """Delete all that is stored about the person, and return how much it was."""
    call = write("DELETE", person_path(person), None, idempotency_key, query(reason=reason))
    return (yield from request(call, person.client.retries, person.client.queue))


def read(person: Someone) -> Steps[PersonRecord]:
    """Return what is stored about the person, and what follows from it."""
    return (yield from result(person.client, Call("GET", person_path(person)), PersonRecord.from_json))


def posterior(person: Someone) -> Steps[list[float]]:
    """Return the probability of each state; `read` returns all of a person in one request."""
    return _known((yield from read(person)).posterior, "latent states, so it has no posterior")


def probabilities(person: Someone) -> Steps[dict[Label, float]]:
    """Return the probability of each action to be chosen next."""
    return _known((yield from read(person)).probabilities, "exact probabilities")


def explain(person: Someone) -> Steps[Json]:
    """Return why the next action is likely what it is, as `Agent.explain().to_dict()` does."""
    return (yield from read(person)).explanation


def history(person: Someone) -> Steps[list[Json]]:
    """Return all facts about the person in the order in which they were stored."""
    return (yield from read(person)).history


def _known(value: T | None, what: str) -> T:
    if value is None:
        raise NotSupported(f"the policy of the project has no {what}")
    return value
