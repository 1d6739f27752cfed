"""The requests of calls: paths, Idempotency-Keys, batches and items."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from lpbandits import validate
from lpbandits.client.errors import ClientError
from lpbandits.client.exchange import Call, Retries, Steps, exchange, parsed, time_of
from lpbandits.client.queue import OutcomeQueue
from lpbandits.client.sending import request
from lpbandits.client.values import Decision, time_json
from lpbandits.errors import InvalidInput
from lpbandits.typing import Json, Label

MAX_ITEMS = 10_000
"""Items of a batch; more are sent in several."""

SLOW = 60.0
"""Seconds that batches and models may take at least, whatever the timeout."""

MAX_KEY = 190
"""Characters of an Idempotency-Key; those of batches get a few more."""

T = TypeVar("T")


class Service(Protocol):
    """What calls need of a client."""

    project: str | None
    retries: Retries
    queue: OutcomeQueue | None
    labels: dict[str, dict[str, Label]]
    """Actions of models by their text, by hash of the model."""


class Someone(Protocol):
    """What calls need of a person."""

    label: str

    @property
    def client(self) -> Service:
        """The client."""


def is_token(text: str) -> bool:
    """Return whether a text can be sent in a header as one word."""
    return text != "" and all("!" <= letter <= "~" for letter in text)


def as_person(label: object) -> str:
    """Return the label of a person."""
    return str(validate.as_label(validate.as_text(label, "person"), "person"))


def quoted(segment: str) -> str:
    """Return a segment of a path; `.` and `..` would be taken for folders.

    >>> quoted("a/b c"), quoted("..")
    ('a%2Fb%20c', '%2E%2E')
    """
    return segment.replace(".", "%2E") if segment in (".", "..") else quote(segment, safe="")


def project_path(client: Service) -> str:
    """Return the path of a client's project."""
    if client.project is None:
        raise InvalidInput("project must be the name of a project, got none; give it to the client")
    return f"v1/projects/{quoted(client.project)}"


def person_path(person: Someone, rest: str = "") -> str:
    """Return the path of a person."""
    return f"{project_path(person.client)}/people/{quoted(person.label)}{rest}"


def write(method: str, path: str, body: Any, key: str | None, query: tuple[tuple[str, str], ...] = ()) -> Call:
    """Return a request that writes, with a new Idempotency-Key unless one is given."""
    if key is None:
        return Call(method, path, body, query=query)
    if len(key) > MAX_KEY or not is_token(key):
        raise validate.invalid("idempotency_key", f"1 to {MAX_KEY} ASCII characters without spaces", key)
    return Call(method, path, body, key, query)


def in_batches(path: str, items: Sequence[Json], key: str, send: Callable[[Call], Steps[list[T]]]) -> Steps[list[T]]:
    """Send items in batches; all keys follow from one, so that the whole can be repeated."""
    out: list[T] = []
    for number, first in enumerate(range(0, len(items), MAX_ITEMS)):
        call = write("POST", path, {"items": items[first : first + MAX_ITEMS]}, f"{key}.{number}" if number else key)
        try:
            out += yield from send(replace(call, min_timeout=SLOW))
        except ClientError as error:
            error.idempotency_key = key
            raise
    return out


def batch_item(one: object, kind: type) -> tuple[str, Json]:
    """Return the person of an item of a batch, and its other fields."""
    names = ", ".join(kind.__annotations__)
    item = {"person": one} if isinstance(one, str) else one
    if not isinstance(item, Mapping):
        raise validate.invalid("item", f"a dict of {names}", item)
    if unknown := [name for name in item if name not in kind.__annotations__]:
        raise validate.invalid("item", f"a dict of {names}", unknown, "check the spelling")
    return as_person(item.get("person")), {name: value for name, value in item.items() if name != "person"}


def result(client: Service, call: Call, parse: Callable[[Json], T]) -> Steps[T]:
    """Send a request, and return what `parse` makes of the answer."""
    answer = yield from request(call, client.retries, client.queue)
    return parsed(call, answer, parse)


def query(**values: str | None) -> tuple[tuple[str, str], ...]:
    """Return the given parameters of a URL."""
    return tuple((name, value) for name, value in values.items() if value is not None)


def decided(client: Service, call: Call) -> Steps[list[Decision]]:
    """Send a request for decisions.

    The API has actions as text where it says their probabilities. If some may be numbers, they are looked up in the
    model of the project, once for each model.
    """
    made = yield from result(
        client, call, lambda answer: list(map(Decision.from_json, answer.get("decisions", [answer])))
    )
    current: dict[str, Label] = {}
    if any(one.model not in client.labels and one.may_have_numbers for one in made):
        model_call = Call("GET", f"{project_path(client)}/model", min_timeout=SLOW)
        try:
            model = yield from exchange(model_call, client.retries)
            current = parsed(model_call, model, lambda answer: {str(label): label for label in answer["actions"]})
            client.labels[parsed(model_call, model, lambda answer: str(answer["sha256"]))] = current
        except ClientError as error:
            error.idempotency_key = call.key  # the decisions are stored
            raise
    return [one.labelled(client.labels.get(one.model, current)) for one in made]


def ask_item(
    *, allowed: Iterable[Label] | None = None, exclude_seen: bool = False, action: Label | None = None
) -> Json:
    """Return a request for a decision."""
    item: Json = {}
    if allowed is not None:
        item["allowed"] = [validate.as_label(label, "allowed") for label in allowed]
    if exclude_seen:
        item["exclude_seen"] = True
    if action is not None:
        item["action"] = validate.as_label(action, "action")
    return item


def tell_item(
    client: Service,
    key: str,
    action: Label | None,
    reward: float | None,
    decision: Decision | str | None,
    given: Label | None,
    at: datetime | str | float | None,
) -> Json:
    """Return an outcome. One that may have to wait has the time of its key, so that a key has one content."""
    if decision is not None and action is not None:
        if given is not None:
            raise InvalidInput(f"given must be left out with action, which says the same, got {given!r}")
        given, action = action, None
    item: Json = {}
    if decision is not None:
        item["decision"] = decision.id if isinstance(decision, Decision) else validate.as_text(decision, "decision")
    for name, label in (("action", action), ("given", given)):
        if label is not None:
            item[name] = validate.as_label(label, name)
    if reward is not None:
        item["reward"] = validate.as_number(reward, "reward")
    if at is None and client.queue is not None:
        at = time_of(key)
    if at is not None:
        item["at"] = time_json(at)
    return item
