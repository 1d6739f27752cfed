"""A project with all that can happen to people: what the operations on a store are tried on."""

from typing import Any

import numpy as np
from starlette.testclient import TestClient

from lpbandits.model import PreferenceModel
from tests.service.shared import ACTIONS, make_project

OTHER = PreferenceModel(
    [[2, 0, 1], [1, 0, 2]], actions=["rest", "walk", "run"], means=[[0.5, 0.2, 0.9], [0.4, 0.8, 0.1]]
)
"""A second model, without two actions of the first, and with a new one."""


def live(client: TestClient, name: str = "p", *, people: int = 6, rounds: int = 5, seed: int = 0) -> str:
    """Fill a new project, and return its path."""
    rng = np.random.default_rng(seed)
    path = make_project(client, name, holdout=0.3, seed=seed)
    labels = [f"person {i}" for i in range(people)]
    _sent(client.put(f"{path}/people/{labels[0]}", json={"prior": [0.2, 0.5, 0.3]}))
    for number in range(rounds):
        for label in labels:
            _round(client, path, label, rng, ACTIONS)
        _batch(client, path, labels, rng, key=f"{name}-{number}")
    outcomes = _history(client, path, labels[1], "outcome")
    _correct(client, path, outcomes[0]["outcome"], reward=7.5)
    _correct(client, path, outcomes[1]["outcome"], reward=None)
    outcomes = _history(client, path, labels[2], "outcome")
    _correct(client, path, outcomes[-1]["outcome"], reward=1.25, given="walk")
    _correct(client, path, outcomes[-1]["outcome"], reward=1.5)
    _sent(client.post(f"{path}/people/{labels[2]}/schedule", json={"n": 3, "exclude_seen": False}))
    _sent(client.post(f"{path}/people/{labels[3]}/outcomes", json={"action": "rest"}))
    _sent(client.put(f"{path}/model", json=OTHER.to_dict()))
    _sent(client.post(f"{path}/people/{labels[4]}/outcomes", json={"action": "Schläf✓", "reward": 2.0}))
    for label in labels[:3]:
        _round(client, path, label, rng, OTHER.actions)
    _sent(client.put(path, json={"settings": {"explore": 0.05}, "policy": "mts"}))
    for label in labels[2:4]:
        _round(client, path, label, rng, OTHER.actions)
    _sent(client.delete(f"{path}/people/{labels[5]}", params={"reason": "asked for it"}))
    return path


def shadow(client: TestClient, name: str = "shadow") -> str:
    """Fill a project whose callers choose, and return its path."""
    path = make_project(client, name, mode="shadow")
    for action in ("walk", "rest", 3):
        decision = _sent(client.post(f"{path}/people/ann/decisions", json={"action": action}))
        _sent(client.post(f"{path}/people/ann/outcomes", json={"decision": decision["decision"], "reward": 1.0}))
    return path


def _round(client: TestClient, path: str, label: str, rng: np.random.Generator, actions: Any) -> None:
    """Ask, with some restrictions, and usually report the outcome."""
    body = [{}, {"allowed": [actions[0], actions[2]]}, {}][int(rng.integers(3))]
    decision = _sent(client.post(f"{path}/people/{label}/decisions", json=body, headers=_key(rng)))
    reward = float(rng.normal())
    told = [
        {"decision": decision["decision"], "reward": reward},
        {"decision": decision["decision"], "given": actions[1], "reward": reward},
        {"action": actions[0], "reward": reward, "at": "2026-03-01T09:30:00Z"},
        {"decision": decision["decision"]},
    ][int(rng.integers(4))]
    _sent(client.post(f"{path}/people/{label}/outcomes", json=told, headers=_key(rng)))


def _batch(client: TestClient, path: str, labels: list[str], rng: np.random.Generator, *, key: str) -> None:
    body = {"items": [{"person": label} for label in labels]}
    decisions = _sent(client.post(f"{path}/decisions:batch", json=body, headers={"Idempotency-Key": f"{key}-ask"}))
    items = [
        {"person": one["person"], "decision": one["decision"], "reward": float(rng.normal())}
        for one in decisions["decisions"]
    ]
    _sent(client.post(f"{path}/outcomes:batch", json={"items": items}, headers={"Idempotency-Key": f"{key}-tell"}))


def _correct(client: TestClient, path: str, outcome: str, **fields: Any) -> None:
    body = {"reason": "typing error", **fields}
    _sent(
        client.post(
            f"{path}/outcomes/{outcome}/corrections",
            json=body,
            headers={"Idempotency-Key": f"{outcome}-{fields}".replace(" ", "")},
        )
    )


def _history(client: TestClient, path: str, label: str, kind: str) -> list[Any]:
    facts = _sent(client.get(f"{path}/people/{label}"))["history"]
    return [fact for fact in facts if fact["kind"] == kind]


def _key(rng: np.random.Generator) -> dict[str, str]:
    return {"Idempotency-Key": rng.bytes(8).hex()}


def _sent(answer: Any) -> Any:
    assert answer.status_code in (200, 201), answer.text
    return answer.json()
