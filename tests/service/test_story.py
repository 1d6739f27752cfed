from starlette.testclient import TestClient

from tests.service.shared import Keyed, make_project


def test_a_person_is_asked_and_told(client: TestClient) -> None:
    path = make_project(client)
    decision = client.post(f"{path}/people/ann/decisions").json()
    answer = client.post(f"{path}/people/ann/outcomes", json={"decision": decision["decision"], "reward": 0.5})
    assert answer.status_code == 201
    person = client.get(f"{path}/people/ann").json()
    assert (person["rounds"], person["asked"]) == (1, 1)


def test_a_key_is_needed(keyed: Keyed) -> None:
    assert keyed.client.get("/v1/projects").status_code == 401
    assert keyed.client.get("/v1/projects", headers=keyed.bearer()).json() == {"projects": []}
