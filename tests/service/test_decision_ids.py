"""Ids of decisions, which are unique in the store."""

from starlette.testclient import TestClient

from tests.service.shared import make_project


def test_an_id_belongs_to_one_person_of_one_project(client: TestClient) -> None:
    paths = [f"{make_project(client, name)}/people/{person}" for name in ("p", "q") for person in ("ann", "bob")]
    ids = [client.post(f"{path}/decisions").json()["decision"] for path in paths]
    assert len(set(ids)) == len(paths)
    for path, own in zip(paths, ids, strict=True):
        for other in ids:
            answer = client.post(f"{path}/outcomes", json={"decision": other, "reward": 1})
            assert answer.status_code == (201 if other == own else 404)
        assert client.post(f"{path}/outcomes", json={"decision": own.replace("-0", "-00")}).status_code == 404


def test_an_id_of_a_deleted_person_does_not_come_back(client: TestClient) -> None:
    ann = f"{make_project(client)}/people/ann"
    before = client.post(f"{ann}/decisions").json()["decision"]
    assert client.delete(ann).status_code == 200
    assert client.post(f"{ann}/decisions").json()["decision"] != before
    assert client.post(f"{ann}/outcomes", json={"decision": before, "reward": 1}).status_code == 404
