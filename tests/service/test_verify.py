"""`lpb store verify`: it replays everyone, and names what was altered."""

import itertools
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from lpbandits.errors import FileFormatError
from lpbandits.policies import Belief
from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store import queries
from lpbandits.service.store.database import Store
from lpbandits.service.verify import Verified, verify
from tests.cli.invoke import error_of, json_output, output
from tests.service.histories import live, shadow
from tests.service.shared import make_project

pytestmark = pytest.mark.filterwarnings("ignore::lpbandits.errors.LockInWarning")


def verified(service: Service, **options: Any) -> Verified:
    with Store(service.store.url.render_as_string(hide_password=False)) as store:
        return verify(store, **options)


def alter(service: Service, statement: str, **values: Any) -> None:
    """Put a fault into the store; exactly one row changes."""
    with service.store.writing() as sql:
        assert sql.execute(text(statement), values).rowcount == 1


def only_difference(service: Service) -> str:
    out = verified(service)
    assert out.n_differences == len(out.differences) == 1, out.differences
    return out.differences[0]


def test_everything_is_replayed_and_equal(service: Service, client: TestClient) -> None:
    live(client)
    shadow(client)
    live(client, "q", seed=1, people=6, rounds=2)
    out = verified(service)
    assert out.differences == []
    with service.store.reading() as sql:
        for name in ("people", "decisions", "outcomes", "corrections", "starts", "configurations"):
            assert out.counts[name] == sql.execute(text(f"SELECT COUNT(*) FROM {name}")).scalar_one() > 0, name  # noqa: S608
        assert out.counts["deleted"] == 2
        assert out.counts["requests"] == sql.execute(text("SELECT COUNT(*) FROM requests")).scalar_one()
    one = verified(service, project="q")
    assert (one.differences, one.counts["people"]) == ([], 5)


def test_ranges_and_processes_change_nothing(
    service: Service, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(client, people=8, rounds=2)
    whole = verified(service)
    monkeypatch.setattr(queries, "MAX_ROWS", 30)
    with service.store.reading() as sql:
        ranges = queries.id_ranges(sql)
    assert len(ranges) > 2
    assert sum(n for _, n in ranges) == whole.counts["people"] == 7
    assert [within.first for within, _ in ranges[1:]] == [within.last + 1 for within, _ in ranges[:-1]]
    done: list[tuple[int, int]] = []
    parts = verified(service, jobs=2, progress=lambda _, n, total: done.append((n, total)))
    assert (parts.counts, parts.differences) == (whole.counts, [])
    assert done[-1] == (7, 7)


FAULTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "probability": (
        'UPDATE decisions SET positive = \'[["rest", 0.5000000000000001], ["Schläf\\u2713", 0.3], ["walk", 0.2]]\' '
        "WHERE person_id = {0} AND asked = 0",
        ("person 0", "decision 2", "probability of 'rest'", "0.5000000000000001"),
    ),
    "action": (
        "UPDATE decisions SET action = '\"elsewhere\"' WHERE person_id = {1} AND asked = 1",
        ("person 1", "action is 'elsewhere'"),
    ),
    "lost decision": ("DELETE FROM decisions WHERE person_id = {2} AND asked = 2", ("person 2", "is missing")),
    "reward": (
        "UPDATE outcomes SET reward = reward + 0.001 WHERE person_id = {3} AND n = "
        "(SELECT MIN(n) FROM outcomes WHERE person_id = {3} AND reward IS NOT NULL)",
        ("person 3",),
    ),
    "lost outcome": (
        "DELETE FROM outcomes WHERE person_id = {3} AND n = (SELECT MAX(n) FROM outcomes WHERE person_id = {3})",
        ("person 3",),
    ),
    "correction": ("UPDATE corrections SET outcome = 1 WHERE reward = 7.5", ("person 1", "corrects fact 1")),
    "snapshot": ("UPDATE snapshots SET n = n + 1 WHERE person_id = {0}", ("person 0", "snapshot: n is")),
    "asked": ("UPDATE snapshots SET asked = 0 WHERE person_id = {1}", ("person 1", "snapshot: asked is 0")),
    "lost snapshot": ("DELETE FROM snapshots WHERE person_id = {1}", ("person 1", "snapshot is missing")),
    "holdout": ("UPDATE people SET holdout = NOT holdout WHERE id = {3}", ("person 3",)),
    "label": ("UPDATE people SET label = 'else' WHERE id = {3}", ("person 'else'",)),
    "prior": ("UPDATE starts SET prior = '[0.5, 0.2, 0.3]' WHERE person_id = {0}", ("person 0", "decision 2")),
    "damaged": ("UPDATE starts SET prior = '[0.5,' WHERE person_id = {0}", ("person 0", "decision 2")),
    "version": ("UPDATE decisions SET version = 99 WHERE person_id = {2} AND asked = 0", ("person 2", "version 99")),
    "request": (
        "UPDATE requests SET facts = '[[{0},999]]' WHERE person_id = {0} AND key = "
        "(SELECT MIN(key) FROM requests WHERE person_id = {0})",
        ("person 0", "fact 999", "missing"),
    ),
    "batch": ("UPDATE requests SET facts = '[[{0},998],[{1},2]]' WHERE key = 'p-0-ask'", ("'p-0-ask'", "-998")),
    "deleted": (
        "INSERT INTO snapshots (person_id, n, asked, version) VALUES ({5}, 1, 0, 0)",
        ("who was deleted", "snapshots"),
    ),
    "stranger": (
        "INSERT INTO snapshots (person_id, n, asked, version) VALUES (77, 1, 0, 0)",
        ("person 77, who does not exist", "snapshots"),
    ),
}


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(service: Service, client: TestClient, fault: str) -> None:
    live(client, rounds=2)
    statement, words = FAULTS[fault]
    with service.store.reading() as sql:
        people = text("SELECT id FROM people UNION SELECT person_id FROM tombstones ORDER BY id")
        for number, person_id in enumerate(sql.execute(people).scalars()):
            statement = statement.replace(f"{{{number}}}", str(person_id))
    alter(service, statement)
    difference = only_difference(service)
    for word in words:
        assert word in difference, difference


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_one_bit_of_a_belief_is_named(service: Service, client: TestClient) -> None:
    live(client, rounds=2)
    with service.store.reading() as sql:
        belief = bytes(sql.execute(text("SELECT belief FROM snapshots WHERE person_id = 1")).scalar_one())
    for place in (9, len(belief) - 1):
        altered = bytes([*belief[:place], belief[place] ^ 1, *belief[place + 1 :]])
        alter(service, "UPDATE snapshots SET belief = :belief WHERE person_id = 1", belief=altered)
        assert "'person 0' of project p: snapshot" in only_difference(service)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_valid_belief_of_other_outcomes_is_named(service: Service, client: TestClient) -> None:
    path = make_project(client)
    for label, reward in (("ann", 0.5), ("bob", 0.75)):
        client.post(f"{path}/people/{label}/outcomes", json={"action": "walk", "reward": reward})
    with service.store.reading() as sql:
        beliefs = [bytes(row.belief) for row in sql.execute(text("SELECT belief FROM snapshots ORDER BY person_id"))]
        policy = service.project(sql, "p")[1].policy
    Belief.unpack(policy, beliefs[1])
    alter(service, "UPDATE snapshots SET belief = :belief WHERE person_id = 1", belief=beliefs[1])
    assert "person 'ann' of project p: snapshot: the belief" in only_difference(service)


def test_a_damaged_belief_is_derived_again_as_documented(service: Service, client: TestClient) -> None:
    path = make_project(client)
    for person in ("ann", "bob"):
        for reward in (0.5, 0.75):
            client.post(f"{path}/people/{person}/outcomes", json={"action": "walk", "reward": reward})
    alter(service, "UPDATE snapshots SET belief = :belief WHERE person_id = 1", belief=b"damaged")
    assert "person 'ann'" in only_difference(service)
    page = (Path(__file__).parents[2] / "docs" / "commands" / "store.md").read_text()
    (statement,) = re.findall(r"^    (UPDATE snapshots .*)$", page, re.MULTILINE)
    alter(service, statement.removesuffix(";").replace("guest 13", "ann").replace("'example'", "'p'"))
    assert verified(service).differences == []
    answer = client.post(f"{path}/people/ann/decisions")
    assert answer.status_code == 201, answer.text
    assert client.get(f"{path}/people/ann").json()["rounds"] == 2
    assert verified(service).differences == []


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_model_that_was_altered_is_named(service: Service, client: TestClient) -> None:
    make_project(client)
    alter(service, "UPDATE models SET content = REPLACE(content, '0.9', '0.8')")
    assert "project p, version 2 of the configuration" in only_difference(service)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_another_version_of_the_library_is_named(service: Service, client: TestClient) -> None:
    path = make_project(client)
    client.post(f"{path}/people/ann/decisions")
    alter(service, "UPDATE decisions SET action = '\"x\"', library = '0.2.9'")
    assert "recorded by lpbandits 0.2.9" in only_difference(service)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_an_outcome_that_only_an_earlier_model_knows_keeps_the_snapshot_true(
    service: Service, client: TestClient
) -> None:
    path = live(client, rounds=2)
    client.post(f"{path}/people/person 1/outcomes", json={"action": 3, "reward": 1.0})
    assert verified(service).differences == []


@pytest.mark.parametrize("policy", ["auto", "lpbts", "mts", "lpb-ids", "ts", "popular", "lpbts-marginal"])
def test_policies_are_replayed(sqlite_url: str, opened: Callable[..., Service], policy: str) -> None:
    service = opened(sqlite_url)
    with TestClient(create_app(service)) as client:
        make_project(client, policy=policy)
        for number in range(6):
            decision = client.post("/v1/projects/p/people/ann/decisions").json()
            told = {"decision": decision["decision"], "reward": 0.3 * number}
            assert client.post("/v1/projects/p/people/ann/outcomes", json=told).status_code == 201
    assert verified(service).differences == []


def test_a_server_may_write_meanwhile(service: Service, client: TestClient) -> None:
    path = live(client, rounds=2)
    stop = threading.Event()

    def write() -> None:
        for number in itertools.takewhile(lambda _: not stop.is_set(), itertools.count()):
            live(client, f"more-{number}", rounds=1, people=6, seed=number)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for _ in range(5):
                client.post(f"{path}/people/person 1/outcomes", json={"action": "rest", "reward": 1.0})
                assert verified(service).differences == []
        finally:
            stop.set()
        writing.result()


def test_the_command_reports_and_fails(sqlite_url: str, opened: Callable[..., Service]) -> None:
    service = opened(sqlite_url)
    with TestClient(create_app(service)) as client:
        live(client, rounds=2)
    words = output("store", "verify", "--store", sqlite_url)
    assert "All that can be replayed is as recorded" in words
    assert "Times, reasons, keys and the callers' own actions" in words
    for altered in ("outcomes SET at = 1 WHERE person_id = 1", "configurations SET reason = 'x', key_id = 7"):
        with service.store.writing() as sql:
            assert sql.execute(text(f"UPDATE {altered}")).rowcount
    assert output("store", "verify", "--store", sqlite_url).splitlines()[1:] == words.splitlines()[1:]
    content = json_output("store", "verify", "--store", sqlite_url, "--project", "p")
    assert (content["people"], content["n_differences"], content["differences"]) == (5, 0, [])
    alter(service, "UPDATE people SET label = 'else' WHERE id = 4")
    error = error_of("store", "verify", "--store", sqlite_url)
    assert isinstance(error, FileFormatError)
    assert "person 'else'" in str(error)
