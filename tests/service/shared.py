"""What tests of the service share: a small model, projects, and a copy of all tables."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from starlette.testclient import TestClient

from lpbandits.model import PreferenceModel
from lpbandits.service.service import Service
from lpbandits.service.store import schema

ACTIONS: list[str | int] = ["rest", "walk", 3, "Schläf✓"]
"""Texts, a whole number, and letters outside ASCII."""

MODEL = PreferenceModel(
    [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]],
    actions=ACTIONS,
    prior=[0.5, 0.3, 0.2],
    means=[[0.9, 0.6, 0.4, 0.1], [0.2, 0.3, 0.5, 0.8], [0.5, 0.9, 0.2, 0.7]],
)
"""Three states over four actions."""

Rows = dict[str, list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Keyed:
    """A client of a service with keys."""

    service: Service
    client: TestClient
    admin: str

    def bearer(self, token: str | None = None) -> dict[str, str]:
        """Return the header with a key, by default the first one."""
        return {"Authorization": f"Bearer {self.admin if token is None else token}"}

    def new_key(self, role: str, project: str | None = None, **fields: Any) -> str:
        """Make a key and return it."""
        body = {"name": f"a {role}", "role": role, "project": project, **fields}
        answer = self.client.post("/v1/keys", json=body, headers=self.bearer())
        assert answer.status_code == 201, answer.text
        token: str = answer.json()["key"]
        return token


def make_project(
    client: TestClient,
    name: str = "p",
    model: PreferenceModel | None = MODEL,
    *,
    headers: dict[str, str] | None = None,
    **settings: Any,
) -> str:
    """Make a project with a model, and return its path."""
    answer = client.put(f"/v1/projects/{name}", json={"policy": "lpbts", **settings}, headers=headers)
    assert answer.status_code == 200, answer.text
    if model is not None:
        answer = client.put(f"/v1/projects/{name}/model", json=model.to_dict(), headers=headers)
        assert answer.status_code == 200, answer.text
    return f"/v1/projects/{name}"


def dump(service: Service) -> Rows:
    """Return all rows of all tables."""
    with service.store.reading() as sql:
        return {
            table.name: sorted((tuple(row) for row in sql.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
        }
