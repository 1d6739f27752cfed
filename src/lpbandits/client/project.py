"""What the calls of a client send and return, once for both clients."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from lpbandits import validate
from lpbandits.client.calls import (
    SLOW,
    Service,
    ask_item,
    batch_item,
    decided,
    in_batches,
    project_path,
    query,
    result,
    tell_item,
    write,
)
from lpbandits.client.exchange import Call, Steps, exchange, new_key, parsed
from lpbandits.client.sending import drain, outcomes_of, record, request
from lpbandits.client.values import AskItem, Decision, Flushed, Outcome, TellItem, Upload, time_json
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.typing import Json, Label

PAGE = 10_000
"""People listed by one request."""


def decide_many(
    client: Service,
    people: Iterable[str | AskItem],
    *,
    allowed: Iterable[Label] | None = None,
    exclude_seen: bool = False,
    idempotency_key: str | None = None,
) -> Steps[list[Decision]]:
    """Return a decision for each person.

    A person is a label, or a dict with `person` and their own `allowed`, `exclude_seen` and `action`.
    """
    shared: Json = {"allowed": None if allowed is None else list(allowed), "exclude_seen": exclude_seen}
    items: list[Json] = []
    for one in people:
        person, given = batch_item(one, AskItem)
        items.append({"person": person, **ask_item(**shared | given)})
    key = new_key() if idempotency_key is None else idempotency_key
    path = f"{project_path(client)}/decisions:batch"
    return (yield from in_batches(path, items, key, lambda call: decided(client, call)))


def tell_many(
    client: Service, outcomes: Iterable[TellItem], *, idempotency_key: str | None = None
) -> Steps[list[Outcome]]:
    """Report outcomes of many people: dicts with `person` and what `tell` takes.

    If one is refused, so are the others of its 10,000; a call that is repeated with the error's `idempotency_key` has
    no second effect.
    """
    key = new_key() if idempotency_key is None else idempotency_key
    items: list[Json] = []
    for one in outcomes:
        person, given = batch_item(one, TellItem)
        names = ("action", "reward", "decision", "given", "at")
        items.append({"person": person, **tell_item(client, key, *(given.get(name) for name in names))})

    def send(call: Call) -> Steps[list[Outcome]]:
        answer = yield from record(call, client.retries, client.queue)
        if answer is None:
            return [Outcome.waiting(item["person"], item) for item in call.body["items"]]
        return parsed(call, answer, outcomes_of)

    return (yield from in_batches(f"{project_path(client)}/outcomes:batch", items, key, send))


def flush(client: Service) -> Steps[Flushed]:
    """Send the outcomes of the queue in order, and return what became of them.

    If the service is unreachable, or refuses the key, they still wait, and this raises.
    """
    if client.queue is None:
        raise InvalidInput("queue must be the path of a file to have outcomes wait, got none")
    return (yield from drain(client.queue, client.retries, wait=True))


def configure(
    client: Service,
    *,
    policy: str | None = None,
    mode: str | None = None,
    holdout: float | None = None,
    holdout_policy: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    reason: str | None = None,
    deviation: bool = False,
    idempotency_key: str | None = None,
) -> Steps[Json]:
    """Make the project, or change the given settings of it, and return them all."""
    given: Json = {"policy": policy, "mode": mode, "holdout": holdout, "holdout_policy": holdout_policy, "seed": seed}
    given |= {"settings": None if settings is None else dict(settings), "reason": reason}
    body = {name: value for name, value in given.items() if value is not None}
    body |= {"deviation": True} if deviation else {}
    call = write("PUT", project_path(client), body, idempotency_key)
    return (yield from request(replace(call, min_timeout=SLOW), client.retries, client.queue))


def upload(
    client: Service,
    model: PreferenceModel | str | Path,
    *,
    dry_run: bool = False,
    reason: str | None = None,
    deviation: bool = False,
    idempotency_key: str | None = None,
) -> Steps[Upload]:
    """Give the project a model, or with `dry_run` only return what it would take over and drop."""
    content = (model if isinstance(model, PreferenceModel) else PreferenceModel.load(model)).to_dict()
    flags = {"dry_run": "true" if dry_run else None, "deviation": "true" if deviation else None}
    call = write("PUT", f"{project_path(client)}/model", content, idempotency_key, query(reason=reason, **flags))
    return (yield from result(client, replace(call, min_timeout=SLOW), Upload.from_json))


def model(client: Service) -> Steps[PreferenceModel]:
    """Return the model of the project."""
    call = Call("GET", f"{project_path(client)}/model", min_timeout=SLOW)
    return PreferenceModel.from_dict((yield from request(call, client.retries, client.queue)))


def settings(client: Service) -> Steps[Json]:
    """Return the settings of the project, and all changes of them."""
    return (yield from request(Call("GET", project_path(client)), client.retries, client.queue))


def projects(client: Service) -> Steps[list[Json]]:
    """Return the projects that the key may read, with their settings."""
    call = Call("GET", "v1/projects")
    return (yield from result(client, call, lambda answer: list(answer["projects"])))


def people(client: Service) -> Steps[list[str]]:
    """Return the labels of all people of the project, in order."""
    out: list[str] = []
    after: str | None = None
    while True:
        call = Call("GET", f"{project_path(client)}/people", query=query(limit=str(PAGE), after=after))
        labels, after = yield from result(client, call, lambda answer: (answer["people"], answer["next"]))
        out += labels
        if after is None:
            return out


def list_keys(client: Service) -> Steps[list[Json]]:
    """Return all access keys, without their secrets."""
    return (yield from result(client, Call("GET", "v1/keys"), lambda answer: list(answer["keys"])))


def make_key(
    client: Service,
    name: str,
    role: str,
    *,
    project: str | None = None,
    expires_at: datetime | str | float | None = None,
) -> Steps[Json]:
    """Make an access key and return it: the only time that its `key` is shown.

    It is not repeated if the answer is lost; `list_keys` then shows whether the key exists.
    """
    body: Json = {"name": name, "role": role, "project": project}
    body["expires_at"] = None if expires_at is None else time_json(expires_at)
    call = Call("POST", "v1/keys", body, repeatable=False)
    return (yield from exchange(call, client.retries))


def revoke_key(client: Service, key_id: int) -> Steps[None]:
    """Revoke an access key."""
    yield from exchange(Call("DELETE", f"v1/keys/{validate.as_count(key_id, 'key_id')}"), client.retries)
