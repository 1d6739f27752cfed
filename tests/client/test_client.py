"""Calls of the client against the service: the same results as an `Agent`, typed answers and errors."""

import asyncio
import dataclasses
import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.client import (
    AccessDenied,
    AsyncClient,
    AsyncPerson,
    Client,
    ClientError,
    Conflict,
    Decision,
    InvalidRequest,
    NotFound,
    Person,
    Unreachable,
    Upload,
)
from lpbandits.client.values import TellItem
from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from tests.client.conftest import MODEL, Wire, rewards, running
from tests.project.test_docs import DOCS, run_examples


def test_a_person_is_decided_for_as_by_an_agent(client: Client) -> None:
    agent = lpb.Agent(lpb.policy(MODEL, "lpbts"), seed=3, person="ann")
    ann = client.person("ann")
    for reward in (1.0, 3.5, 2.0, 0.5):
        decision = ann.decide()
        expected = agent.decide()
        assert decision.action == expected.action
        assert decision.probabilities == expected.probabilities
        assert decision.probability == expected.probability
        outcome = ann.tell(reward=reward, decision=decision)
        agent.tell(reward=reward, decision=expected)
        assert (outcome.given, outcome.reward, outcome.pending) == (expected.action, reward, False)
        assert datetime.now(UTC) - outcome.at < timedelta(minutes=1)
    assert ann.ask() == agent.ask()
    np.testing.assert_array_equal(ann.posterior(), agent.posterior)
    np.testing.assert_array_equal(list(ann.probabilities().values()), agent.probabilities())
    assert list(ann.probabilities()) == ["rest", "drug A", "drug B"]
    assert ann.explain() == json.loads(json.dumps(agent.explain().to_dict()))
    assert [fact["kind"] for fact in ann.history()] == ["decision", "outcome"] * 4 + ["decision"]
    record = ann.read()
    assert (record.rounds, record.asked, record.model) == (4, 5, MODEL.sha256)


def test_outcomes_are_corrected_and_retracted(client: Client) -> None:
    ann = client.person("ann")
    before = ann.tell("rest", 1.0, at="2026-03-01T09:30:00+01:00")
    assert before.at == datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    correction = ann.correct(before, 2.0, reason="misread", given="drug A")
    assert (correction.outcome, correction.reward, correction.given) == (before.id, 2.0, "drug A")
    assert ann.retract(before, reason="withdrew consent").withdrawn
    assert ann.read().rounds == 0
    with pytest.raises(Conflict, match="withdrawn"):
        ann.retract(str(before.id), reason="again")


def test_schedules_starts_and_deletion(client: Client) -> None:
    ann = client.person("ann")
    ann.start(prior=np.array([0.9, 0.1]))  # type: ignore[arg-type] # an array is a sequence of floats here
    assert ann.read().prior == [0.9, 0.1]
    planned = ann.schedule(3, exclude_seen=True)
    assert sorted(str(one.action) for one in planned) == ["drug A", "drug B", "rest"]
    with pytest.raises(Conflict, match="no action left"):
        ann.ask(exclude_seen=True)
    assert ann.ask(allowed=["rest"]) == "rest"
    assert client.people() == ["ann"]
    assert ann.delete(reason="asked for it")["decisions"] == 4
    assert client.people() == []


def test_an_action_with_a_decision_is_the_one_that_was_given(client: Client) -> None:
    ann = client.person("ann")
    decision = ann.decide(allowed=["drug A"])
    assert ann.tell("rest", decision=decision).reward is None
    outcome = ann.tell("rest", 3.0, decision=decision.id)
    assert (outcome.given, outcome.decision) == ("rest", decision.id)
    with pytest.raises(lpb.InvalidInput, match="given"):
        ann.tell("rest", 3.0, decision=decision, given="drug A")


def test_batches_are_split_and_repeatable(client: Client, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.client.calls.MAX_ITEMS", 2)
    decisions = client.decide_many(["ann", "bob", {"person": "eve", "allowed": ["rest"]}], allowed=["drug A"])
    assert [(one.person, one.action) for one in decisions] == [("ann", "drug A"), ("bob", "drug A"), ("eve", "rest")]
    items: list[TellItem] = [{"person": one.person, "reward": 1.0, "decision": one} for one in decisions]
    items += [{"person": "eve", "action": "rest", "reward": 2.0}, {"person": "dan", "action": "reste", "reward": 2.0}]
    with pytest.raises(InvalidRequest, match="reste") as refused:
        client.tell_many(items)
    items[-1]["action"] = "rest"
    outcomes = client.tell_many(items, idempotency_key=refused.value.idempotency_key)
    assert [one.reward for one in outcomes] == [1.0, 1.0, 1.0, 2.0, 2.0]
    assert rewards(client, "eve") == [1.0, 2.0]
    wire.requests.clear()
    assert [*client.decide_many([]), *client.tell_many([]), *wire.requests] == []


def test_projects_models_and_keys(make: Callable[..., Client], tmp_path: Path) -> None:
    client = make()
    assert client.configure(policy="lpbts", holdout=0.5)["holdout"] == 0.5
    MODEL.save(tmp_path / "model.json")
    assert client.upload(tmp_path / "model.json").model == MODEL.sha256
    assert client.model().sha256 == MODEL.sha256
    client.person("ann").tell("drug B", 1.0)
    fewer = lpb.PreferenceModel([[0, 1], [1, 0]], actions=["rest", "drug A"])
    assert client.upload(fewer, dry_run=True) == Upload(fewer.sha256, 0, {"drug B": 1}, 0, dry_run=True)
    assert client.settings()["model"] == MODEL.sha256
    assert [one["project"] for one in client.projects()] == ["demo"]
    made = client.make_key("phone", "recorder", project="demo", expires_at=datetime.now(UTC) + timedelta(days=1))
    phone = make(key=made["key"])
    phone.person("ann").ask()
    with pytest.raises(AccessDenied, match="role") as denied:
        phone.configure(seed=4)
    assert denied.value.status == 403
    client.revoke_key(made["id"])
    assert [one["revoked"] for one in client.list_keys()] == [False, True]
    with pytest.raises(AccessDenied, match="revoked"):
        phone.person("ann").ask()


def test_people_are_listed_over_several_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.client.project.PAGE", 2)
    labels = [f"p{n}" for n in range(5)]
    client.decide_many(labels)
    assert client.people() == labels


@pytest.mark.parametrize("label", ["a/b", "/", "a%2Fb", "..", ".", "a b?c#d", "ä☃", "a+b", "decisions:batch", "%00"])
def test_labels_with_any_characters_name_one_person(client: Client, label: str) -> None:
    person = client.person(label)
    outcome = person.tell(reward=1.0, decision=person.decide())
    assert outcome.person == label
    assert client.people() == [label]
    person.start(prior=[0.5, 0.5])
    assert len(person.history()) == 3
    assert person.correct(outcome, 2.0, reason="why").person == label
    person.delete()
    assert client.people() == []


@pytest.mark.parametrize("path", ["projects%2Fdemo", "projects/de%2Fmo", "projects/demo/people/a%00b", "x%2F"])
def test_quoted_slashes_in_other_places_are_not_found_or_invalid(client: Client, admin: str, path: str) -> None:
    answer = client._http.get(f"v1/{path}", headers={"Authorization": f"Bearer {admin}"})
    assert answer.status_code in (404, 422)


def test_number_labels_stay_numbers(make: Callable[..., Client]) -> None:
    client = make()
    client.configure(policy="lpbts")
    client.upload(lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]]))
    ann = client.person("ann")
    decision = ann.decide()
    assert decision.probabilities is not None
    assert decision.probabilities[decision.action] == decision.probability
    assert list(ann.probabilities()) == [0, 1, 2]
    assert ann.tell(np.int64(1), np.float32(0.5)).given == 1  # type: ignore[arg-type] # as from a table


def test_errors_have_the_words_of_the_service(client: Client) -> None:
    ann = client.person("ann")
    with pytest.raises(lpb.InvalidInput, match=r"did you mean 'rest'") as invalid:
        ann.tell("reste", 1.0)
    assert isinstance(invalid.value, InvalidRequest)
    assert invalid.value.status == 422
    assert invalid.value.idempotency_key
    with pytest.raises(NotFound, match="d99-0"):
        ann.tell(reward=1.0, decision="d99-0")
    with pytest.raises(NotFound, match="'ann'"):
        ann.history()
    client.configure(policy="uniform")
    ann.ask()
    with pytest.raises(lpb.NotSupported, match="posterior"):
        ann.posterior()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda c: c.person(""), "person"),
        (lambda c: c.person(7), "person"),
        (lambda c: c.person("ann").tell("rest", float("nan")), "reward"),
        (lambda c: c.person("ann").tell("rest", 1.0, at=datetime(2026, 1, 1)), "at must be a time with a zone"),
        (lambda c: c.person("ann").ask(idempotency_key="a b"), "idempotency_key"),
        (lambda c: c.person("ann").start(covariates={"age": {1, 2}}), "JSON"),
        (lambda c: c.tell_many([{"person": "ann", "rewrd": 1.0}]), "rewrd"),
        (lambda c: c.decide_many([{"person": "ann", "alowed": ["rest"]}]), "alowed"),
        (lambda c: c.flush(), "queue"),
        (lambda _: Client("localhost:8321"), "url"),
        (lambda _: Client(timeout=0), "timeout"),
        (lambda _: Client(retries=-1), "retries"),
        (lambda _: Client(key="lpb_ö"), "key"),
        (lambda _: Client("http://[::1"), "url"),
        (lambda _: Client().person("ann").ask(), "project"),
    ],
)
def test_invalid_values_are_refused_before_a_request(
    client: Client, wire: Wire, call: Callable[[Any], Any], word: str
) -> None:
    with pytest.raises(lpb.InvalidInput, match=word):
        call(client)
    assert wire.requests == []


def test_the_key_is_not_shown(make: Callable[..., Client], admin: str) -> None:
    client = make()
    assert admin not in repr(client) + repr(client.person("ann")) + str(vars(client))


@pytest.mark.parametrize("content", [b"<html>", b"[1]", b'{"action": "rest"}'])
def test_answers_of_another_service_are_errors(client: Client, wire: Wire, content: bytes) -> None:
    wire.faults = [httpx2.Response(200, content=content)]
    with pytest.raises(ClientError, match=r"lpb serve|cannot be read"):
        client.person("ann").ask()
    wire.faults = [httpx2.Response(301, headers={"Location": "https://elsewhere"}, content=content)]
    with pytest.raises(ClientError, match="301"):
        client.person("ann").ask()


def test_both_clients_have_the_same_methods_and_arguments() -> None:
    def public(kind: type) -> dict[str, list[str]]:
        methods = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
        return {name: list(inspect.signature(m).parameters) for name, m in methods.items() if callable(m)}

    assert public(Client) == public(AsyncClient)
    assert public(Person) == public(AsyncPerson)
    assert all(inspect.getdoc(getattr(kind, name)) for kind in (Client, Person) for name in public(kind))
    assert list(inspect.signature(Client).parameters) == list(inspect.signature(AsyncClient).parameters)
    assert inspect.signature(Person.decide).return_annotation is Decision
    assert inspect.iscoroutinefunction(AsyncPerson.decide)
    fields = {field.name for field in dataclasses.fields(lpb.agent.Decision)}
    assert {"id", "action", "person"} <= fields  # the words of `Agent`


def test_the_asynchronous_client(client: Client, app: Any, admin: str) -> None:
    async def use() -> None:
        transport = httpx2.ASGITransport(app)
        async with AsyncClient("http://testserver", key=admin, project="demo", transport=transport) as served:
            people = [served.person(f"p{n}") for n in range(20)]
            decisions = await asyncio.gather(*(person.decide() for person in people))
            await asyncio.gather(
                *(person.tell(reward=1.0, decision=one) for person, one in zip(people, decisions, strict=True))
            )
            assert len(await served.people()) == 20
            with pytest.raises(lpb.InvalidInput, match="reste"):
                await people[0].tell("reste", 1.0)

    asyncio.run(use())
    assert rewards(client, "p7") == [1.0]


def test_a_real_server(app: Any, admin: str, tmp_path: Path) -> None:
    with running(app) as url, Client(url, key=admin, project="demo", queue=tmp_path / "queue.jsonl") as client:
        client.configure(policy="lpbts")
        client.upload(MODEL)
        for label in ("ann", "a/b", ".."):
            client.person(label).tell(reward=1.0, decision=client.person(label).decide())
        assert client.people() == ["..", "a/b", "ann"]
    stopped = Client(url, project="demo", retries=1, backoff=0.001)
    with stopped, pytest.raises(Unreachable, match="is the service running"):
        stopped.person("ann").ask()


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "client.md").read_text(encoding="utf-8")
    assert "http://127.0.0.1:8321" in text
    with Service(Store("sqlite:///lpb.db", serving=True), dev=True) as service, running(create_app(service)) as url:
        names = run_examples("client.md", text.replace("http://127.0.0.1:8321", url))
    for name in ("client", "away"):
        names[name].close()


def test_the_client_imports_neither_the_server_nor_its_libraries() -> None:
    code = (
        "import sys, json; sys.modules['httpx2'] = None; import lpbandits.client as c\n"
        "print(json.dumps(list(sys.modules)))\n"
        "try: c.Client()\nexcept Exception as error: print(json.dumps(str(error)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, message = map(json.loads, done.stdout.splitlines())
    assert not {"fastapi", "sqlalchemy", "starlette", "numba", "polars", "lpbandits.service"} & set(modules)
    assert "pip install 'lpbandits[client]'" in message
