"""What callers read when a request is refused."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from lpbandits.service.store.database import parsed
from tests.service.shared import Keyed, make_project


def detail(answer: Any) -> str:
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), answer.text
    text: str = answer.json()["detail"]
    return text


def test_a_body_without_its_type_is_told_which(client: TestClient) -> None:
    path = make_project(client)
    for content_type in ({"Content-Type": ""}, {"Content-Type": "application/x-www-form-urlencoded"}):
        for method, place in (("PUT", path), ("PUT", f"{path}/model"), ("POST", "/v1/keys")):
            answer = client.request(method, place, content=b'{"seed": 1}', headers=content_type)
            assert detail(answer).startswith("Content-Type: must be application/json"), place
        answer = client.post(f"{path}/people/ann/decisions", content=b"{}", headers=content_type)
        assert detail(answer).startswith("Content-Type: must be application/json")


def test_messages_name_fields_and_not_types_of_a_program(client: TestClient) -> None:
    path = make_project(client)
    words = detail(client.post(f"{path}/people/ann/outcomes", json={"action": 3, "reward": "2"}))
    assert words.count("reward: must be a valid number") == 1
    for text in ("reward.", "Input should", "Value error"):
        assert text not in words
    words = detail(client.post(f"{path}/people/ann/outcomes", json={"action": 3, "reward": 1, "at": "yesterday"}))
    assert words.startswith("at: must be an ISO 8601 time")
    words = detail(client.put(f"{path}/people/ann", json={"prior": [1, "x", 0]}))
    assert "prior.1: must be" in words
    assert "[" not in words


def test_an_unknown_project_has_one_sentence_and_names_no_other(keyed: Keyed) -> None:
    make_project(keyed.client, "secret", headers=keyed.bearer())
    places = ("", "/model", "/people", "/people/ann", "/stats", "/export", "/deletions")
    answers = [keyed.client.get(f"/v1/projects/none{place}", headers=keyed.bearer()) for place in places]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    assert "secret" not in answers[0].text


@pytest.mark.parametrize("driver", ["sqlite", "sqlite+aiosqlite", "sqlite+pysqlite"])
def test_a_store_has_one_driver(driver: str) -> None:
    assert parsed(f"{driver}:///x.db").drivername == "sqlite"
