"""Requests at the same time: in threads of one server, in one group of the writer, and at two replicas."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from starlette.testclient import TestClient

from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput, LpbError
from lpbandits.policies.choose import policy
from lpbandits.service.api.app import create_app
from lpbandits.service.errors import Conflict
from lpbandits.service.requests.ask import Ask, AskItem
from lpbandits.service.requests.configure import Configure
from lpbandits.service.requests.delete import Delete
from lpbandits.service.requests.tell import Tell, TellItem
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from lpbandits.service.unit import Unit
from tests.service.shared import MODEL, dump, make_project

N = 8


def ask(person: str = "ann", key: str | None = None) -> Ask:
    return Ask("p", key, b"ask" + person.encode(), None, "decision", (AskItem(person),))


def tell(person: str = "ann", key: str | None = None, **fields: Any) -> Tell:
    return Tell("p", key, b"tell" + person.encode(), None, "outcome", (TellItem(person, **fields),))


def start(service: Service) -> None:
    """Make the project p."""
    service.writer.submit(Configure("p", None, b"1", None, "configuration", {"policy": "lpbts"})).result()
    service.writer.submit(Configure("p", None, b"2", None, "model", {}, MODEL)).result()


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Call functions at the same time, and return what they return."""
    barrier = threading.Barrier(len(calls))

    def call(function: Callable[[], Any]) -> Any:
        barrier.wait()
        return function()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def sending(service: Service, *requests: Any) -> Callable[[], Any]:
    """Return a function that sends requests one after another, and returns the last answer."""
    return lambda: [service.writer.submit(request).result().body for request in requests][-1]


def at_once(services: Sequence[Service], request: Any) -> list[Any]:
    """Send a request to several services at the same time."""
    return together(*(sending(service, request) for service in services))


def grouped(service: Service, requests: Sequence[Any]) -> list[Any]:
    """Answer requests in one group of the writer; an error is an answer."""
    entered, leave = threading.Event(), threading.Event()

    class Wait:
        project, key, labels, asked = "p", None, (), ()

        def run(self, _: object) -> None:
            entered.set()
            leave.wait(10)

    service.writer.submit(Wait())
    entered.wait(10)
    futures = [service.writer.submit(request) for request in requests]
    leave.set()
    return [future.exception() or future.result().body for future in futures]


@pytest.fixture
def replicas(postgres_url: str, opened: Callable[..., Service]) -> list[Service]:
    """Return two services over one database."""
    out = [opened(postgres_url), opened(postgres_url)]
    start(out[0])
    return out


def check(service: Service) -> None:
    """Check that the facts of each person have the numbers 1, 2, …, and that snapshots know all of them."""
    rows = dump(service)
    numbers: dict[int, list[int]] = {row[0]: [] for row in rows["people"]}
    for table in ("starts", "decisions", "outcomes", "corrections"):
        for row in rows[table]:
            numbers[row[0]].append(row[1])
    for person_id, own in numbers.items():
        assert sorted(own) == list(range(1, len(own) + 1)), rows
        asked = sum(row[0] == person_id for row in rows["decisions"])
        assert [row[1:3] for row in rows["snapshots"] if row[0] == person_id] == [(len(own), asked)]


def test_a_key_sent_by_many_threads_is_one_fact(client: TestClient, service: Service) -> None:
    path = make_project(client)
    send = lambda: client.post(f"{path}/people/ann/decisions", headers={"Idempotency-Key": "k"}).json()  # noqa: E731
    answers = together(*[send] * N)
    assert answers == [answers[0]] * N
    body = {"decision": answers[0]["decision"], "reward": 0.25}
    tells = together(*[lambda: client.post(f"{path}/people/ann/outcomes", json=body).json()] * N)
    assert tells == [tells[0]] * N
    rows = dump(service)
    assert (len(rows["decisions"]), len(rows["outcomes"]), len(rows["requests"])) == (1, 1, 1)
    check(service)


def test_people_of_many_threads_are_kept_apart(service: Service) -> None:
    start(service)
    together(*(sending(service, ask(f"p{i % 3}")) for i in range(3 * N)))
    assert len(dump(service)["decisions"]) == 3 * N
    check(service)


@pytest.mark.parametrize("between", ["delete", "configure"])
def test_a_write_in_the_middle_of_a_group_hides_nothing(service: Service, between: str) -> None:
    start(service)
    first = service.writer.submit(ask()).result().body["decision"]
    service.writer.submit(ask("zed")).result()
    other: Any = Delete("p", None, b"3", None, "deletion", "zed")
    if between == "configure":
        other = Configure("p", None, b"3", None, "configuration", {"holdout": 0.5})
    second = first.replace("-0", "-1")
    outcome = {"decision": first, "reward": 0.5}
    answers = grouped(
        service, [ask(), tell(**outcome), other, tell(**outcome), tell(decision=second, reward=1.0), ask("new"), ask()]
    )
    assert not [answer for answer in answers if isinstance(answer, BaseException)]
    assert answers[1] == answers[3]
    rows = dump(service)
    assert len(rows["outcomes"]) == 2
    assert not {row[0] for row in rows["tombstones"]} & {row[0] for row in rows["people"]}
    check(service)


def test_a_refused_request_leaves_its_group_alone(service: Service) -> None:
    start(service)
    items = [TellItem(person, given="walk", reward=1.0) for person in ("ann", "bob")]
    refused = Tell("p", "k", b"", None, "outcomes", (*items, TellItem("ann", given="nothing", reward=1.0)))
    too_many = Ask("p", "k", b"", None, "schedule", (AskItem("ann", exclude_seen=True, count=9),))
    answers = grouped(service, [refused, ask(), too_many, refused, ask(), tell("bob", given="nothing", reward=1.0)])
    assert [isinstance(answer, LpbError) for answer in answers] == [True, False, True, True, False, True]
    rows = dump(service)
    assert (len(rows["people"]), len(rows["decisions"]), len(rows["outcomes"]), rows["requests"]) == (1, 2, 0, [])
    check(service)


def test_a_commit_that_fails_leaves_no_configuration_behind(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    start(service)
    engine = service.store._engine
    assert engine is not None
    with monkeypatch.context() as patch:

        def full(_: object) -> None:
            raise RuntimeError("the disk is full")

        patch.setattr(engine.dialect, "do_commit", full)
        changed = Configure("p", None, b"3", None, "configuration", {"seed": 1})
        with pytest.raises(RuntimeError):
            service.writer.submit(changed).result()
    changed = Configure("p", None, b"3", None, "configuration", {"seed": 2})
    assert service.writer.submit(changed).result().body["seed"] == 2
    decision = service.writer.submit(ask("cal")).result().body
    first, second = (Agent(policy(MODEL, "lpbts"), seed=seed, person="cal").ask() for seed in (1, 2))
    assert first != second == decision["action"]


def test_two_replicas_answer_the_same_request_alike(replicas: list[Service]) -> None:
    for i in range(5):
        asks = at_once(replicas * 2, ask(f"person {i}", f"a{i}"))
        assert asks == [asks[0]] * 4
        tells = at_once(replicas * 2, tell(f"person {i}", decision=asks[0]["decision"], reward=0.5))
        assert tells == [tells[0]] * 4
    rows = dump(replicas[0])
    assert (len(rows["decisions"]), len(rows["outcomes"]), len(rows["requests"])) == (5, 5, 5)
    check(replicas[0])


def test_two_replicas_number_the_facts_of_a_person_together(replicas: list[Service]) -> None:
    a, b = replicas
    sending(a, ask())()
    together(sending(a, *[ask()] * 15), sending(b, *[tell(given="walk", reward=0.5)] * 15))
    check(a)
    rows = dump(b)
    assert (len(rows["decisions"]), len(rows["outcomes"])) == (16, 15)


def test_two_replicas_change_a_project_one_after_another(replicas: list[Service]) -> None:
    changes = [Configure("p", None, b"4", None, "configuration", {"seed": seed}) for seed in range(10, 16)]
    answers = together(*map(sending, replicas * 3, changes))
    assert sorted(answer["version"] for answer in answers) == list(range(3, 9))
    last = max(answers, key=lambda answer: answer["version"])
    for one in replicas:
        with one.store.reading() as sql:
            assert one.project(sql, "p")[1].seed == last["seed"]


def test_a_decision_is_made_under_the_settings_of_its_place(
    replicas: list[Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = replicas
    sending(a, ask())()
    load = Unit.load_people
    between: list[Any] = []

    def slow(unit: Unit, *about: Any) -> None:  # b would change the project after a has read its version
        if threading.current_thread() is a.writer._thread and not between:
            changed = Configure("p", None, b"4", None, "configuration", {"seed": 4})
            between.extend([b.writer.submit(changed), b.writer.submit(ask())])
            wait(between, 1)
        load(unit, *about)

    monkeypatch.setattr(Unit, "load_people", slow)
    sending(a, ask())()
    assert between[0].result(10).body["version"] == 3
    between[1].result(10)
    versions = [row[3] for row in sorted(dump(a)["decisions"], key=lambda row: row[1])]
    assert versions == [2, 2, 3]
    check(a)


def test_two_replicas_make_one_project(replicas: list[Service]) -> None:
    answers = at_once(replicas * 2, Configure("q", "k", b"5", None, "configuration", {"seed": 5}))
    assert answers == [answers[0]] * 4


def test_a_person_deleted_at_one_replica_is_new_at_the_other(replicas: list[Service]) -> None:
    a, b = replicas
    for _ in range(10):
        sending(a, ask())()
        together(sending(a, Delete("p", None, b"6", None, "deletion", "ann")), sending(b, ask()))
        check(a)


def test_a_second_server_on_a_file_is_refused_with_the_reason(sqlite_url: str, opened: Callable[..., Service]) -> None:
    first = opened(sqlite_url)
    with pytest.raises(InvalidInput, match="in use by another server"):
        Store(sqlite_url, serving=True)
    start(first)
    first.close()
    with TestClient(create_app(opened(sqlite_url))) as client:
        assert client.get("/v1/projects/p").json()["model"] == MODEL.sha256


def test_a_stopped_writer_refuses_and_loses_nothing(service: Service) -> None:
    start(service)
    futures = [service.writer.submit(ask()) for _ in range(20)]
    service.writer.stop()
    assert all(future.result().body["decision"] for future in futures)
    with pytest.raises(LpbError, match="stopping"):
        service.writer.submit(ask())
    assert len(dump(service)["decisions"]) == 20


def test_a_second_reward_is_a_conflict_in_the_same_group(service: Service) -> None:
    start(service)
    first = service.writer.submit(ask()).result().body["decision"]
    answers = grouped(service, [tell(decision=first, reward=0.5), tell(decision=first, reward=0.75)])
    assert isinstance(answers[1], Conflict)
    check(service)
