"""Modes of a project, its holdout, and models of all kinds."""

from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.model import PreferenceModel
from lpbandits.model_parts.covariates import CovariateModel
from lpbandits.service.service import Service
from lpbandits.taste_model import TasteModel
from tests.service.shared import MODEL, dump, make_project

NEW = PreferenceModel([[0, 1, 2], [2, 0, 1]], actions=["rest", "new", "Schläf✓"])
"""Without two actions of MODEL, and with a new one."""


def test_shadow_returns_the_callers_action_and_logs_ours(client: TestClient, service: Service) -> None:
    path = make_project(client, mode="shadow")
    own = f"{path}/people/ann"
    assert client.post(f"{own}/decisions").status_code == 422
    assert client.post(f"{own}/decisions", json={"action": "unknown"}).status_code == 422
    assert client.post(f"{own}/decisions", json={"action": 3, "allowed": ["rest"]}).status_code == 422
    assert client.post(f"{own}/schedule", json={"n": 2}).status_code == 409
    assert dump(service)["people"] == []
    policy = lpb.policy(MODEL, "lpbts")
    agent = Agent(policy, seed=0, person="ann")
    for reward in (0.5, 1.5, -1.0):
        ours = agent.decide()
        decision = client.post(f"{own}/decisions", json={"action": 3}).json()
        assert (decision["action"], decision["recommended"]) == (3, ours.action)
        assert decision["probability"] == ours.probability
        told = client.post(f"{own}/outcomes", json={"decision": decision["decision"], "reward": reward}).json()
        assert told["given"] == 3
        agent.tell(3, reward)
    assert client.get(own).json()["posterior"] == agent.posterior.tolist()
    assert client.put(path, json={"mode": "online"}).status_code == 200
    assert client.post(f"{own}/decisions").json()["action"] == agent.ask()


def test_a_trial_is_frozen_and_deviations_have_reasons(client: TestClient, service: Service) -> None:
    path = make_project(client, mode="trial", seed=5, settings={"explore": 0.1})
    before = dump(service)
    changes: list[dict[str, Any]] = [{"seed": 6}, {"policy": "ts"}, {"holdout": 0.5}, {"settings": {"explore": None}}]
    for change in [*changes, {"mode": "online"}]:
        answer = client.put(path, json=change)
        assert (answer.status_code, "trial" in answer.json()["detail"]) == (409, True)
        assert client.put(path, json={**change, "deviation": True}).status_code == 422
    assert client.put(f"{path}/model", json=NEW.to_dict()).status_code == 409
    assert client.put(f"{path}/model?deviation=true", json=NEW.to_dict()).status_code == 422
    assert client.put(path, json={"seed": 5}).json()["version"] == 2  # no change
    assert client.put(f"{path}/model", json=MODEL.to_dict()).json()["version"] == 2
    assert dump(service) == before
    assert client.put(f"{path}/model?deviation=true&reason=harm", json=NEW.to_dict()).status_code == 200
    assert client.put(path, json={"seed": 6, "deviation": True, "reason": "typo"}).status_code == 200
    versions = client.get(path).json()["versions"]
    assert [(one["changed"], one["deviation"], one["reason"]) for one in versions[2:]] == [
        (["model_sha256"], True, "harm"),
        (["seed"], True, "typo"),
    ]
    assert [one["deviation"] for one in versions[:2]] == [False, False]


def test_the_floor_of_a_trial_holds_for_everybody(client: TestClient) -> None:
    path = make_project(client, mode="trial", holdout=0.5, settings={"explore": 0.1})
    for i in range(6):
        for reward in (5.0, -5.0):
            decision = client.post(f"{path}/people/p{i}/decisions").json()
            assert min(decision["probabilities"].values()) >= 0.1 - 1e-12
            assert sum(decision["probabilities"].values()) == pytest.approx(1)
            client.post(f"{path}/people/p{i}/outcomes", json={"action": decision["action"], "reward": reward})


def test_a_trial_is_frozen_from_its_model_on(client: TestClient) -> None:
    path = make_project(client, model=None, policy="auto", mode="trial")
    assert client.put(path, json={"seed": 6, "settings": {"explore": 0.1}}).status_code == 200
    answer = client.put(path, json={"settings": {"explore": 7}})
    assert (answer.status_code, "explore" in answer.json()["detail"]) == (422, True)
    assert client.put(f"{path}/model", json=MODEL.to_dict()).json()["policy"] == "lpbts"  # what auto means now
    assert client.put(path, json={"policy": "auto", "settings": {}, "seed": 6}).json()["version"] == 3
    answer = client.put(path, json={"seed": 7})
    assert (answer.status_code, '"deviation": true' in answer.json()["detail"]) == (409, True)
    detail = client.put(f"{path}/model", json=NEW.to_dict()).json()["detail"]
    assert "whose model must not change" in detail
    assert "?deviation=true&reason=" in detail


def test_settings_are_changed_one_by_one(client: TestClient) -> None:
    path = make_project(client, settings={"explore": 0.1})
    change = client.put(path, json={"settings": {"noise": 2.0}}).json()
    assert change["settings"] == {"explore": 0.1, "noise": 2.0}
    assert client.put(path, json={"settings": {"explore": None}}).json()["settings"] == {"noise": 2.0}
    unchanged = [client.put(path, json={"settings": settings}).json() for settings in ({}, {"rounds": None})]
    assert [one["version"] for one in unchanged] == [change["version"] + 1] * 2
    assert client.put(path, json={"settings": {"unknown": None}}).status_code == 422


@pytest.mark.parametrize("policy", ["popular", "uniform"])
def test_the_holdout_has_its_share_and_is_fixed(client: TestClient, policy: str) -> None:
    path = make_project(client, holdout=0.3, holdout_policy=policy, seed=1)
    items = [{"person": f"person {i}"} for i in range(600)]
    first = client.post(f"{path}/decisions:batch", json={"items": items}).json()["decisions"]
    share = np.mean([one["holdout"] for one in first])
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 600)  # four standard errors
    for one in first:
        if one["holdout"]:
            expected = {"uniform": [0.25] * 4, "popular": [1.0, 0.0, 0.0, 0.0]}[policy]
            assert sorted(one["probabilities"].values(), reverse=True) == expected
    for one in (next(one for one in first if one["holdout"] is holdout) for holdout in (True, False)):
        answer = client.post(f"{path}/people/{one['person']}/outcomes", json={"decision": one["decision"], "reward": 1})
        assert answer.json()["decision"] == one["decision"]
    assert client.put(path, json={"holdout": 0.9, "seed": 2}).status_code == 200
    second = client.post(f"{path}/decisions:batch", json={"items": items}).json()["decisions"]
    assert [one["holdout"] for one in second] == [one["holdout"] for one in first]


def test_a_dry_run_says_what_happens(client: TestClient, service: Service) -> None:
    path = make_project(client)
    ann, bob = f"{path}/people/ann", f"{path}/people/bob"
    told = [
        client.post(f"{ann}/outcomes", json={"action": action, "reward": 1}).json()["outcome"]
        for action in ("rest", "walk", "walk", 3, "Schläf✓")
    ]
    client.put(bob, json={"prior": [0.2, 0.2, 0.6]})
    client.post(f"{bob}/outcomes", json={"action": 3})
    client.post(f"{path}/outcomes/{told[1]}/corrections", json={"reward": None, "reason": "x"})
    client.post(f"{path}/outcomes/{told[3]}/corrections", json={"reward": 2, "given": "rest", "reason": "x"})
    before = dump(service)
    dry = client.put(f"{path}/model", params={"dry_run": True}, json=NEW.to_dict()).json()
    assert dump(service) == before
    done = client.put(f"{path}/model", json=NEW.to_dict()).json()
    assert {name: done[name] for name in dry if name != "dry_run"} | {"dry_run": True} == dry
    assert (done["carried"], done["dropped"]) == (3, [{"action": "walk", "outcomes": 1}])
    assert done["dropped_priors"] == 1
    agent = Agent(lpb.policy(MODEL, "lpbts"), seed=0, person="ann")
    for action, reward in (("rest", 1), ("walk", 1), (3, 2), ("Schläf✓", 1)):
        agent.tell("rest" if action == 3 else action, reward)
    assert client.get(ann).json()["posterior"] == agent.with_model(NEW)[0].posterior.tolist()


def test_late_outcomes_of_dropped_actions_are_kept_for_the_next_model(client: TestClient) -> None:
    path = make_project(client)
    ann = f"{path}/people/ann"
    decisions = [client.post(f"{ann}/decisions", json={"allowed": ["walk"]}).json()["decision"] for _ in range(2)]
    client.put(f"{path}/model", json=NEW.to_dict())
    assert client.post(f"{ann}/decisions", json={"allowed": ["walk"]}).status_code == 422
    for decision, reward in zip(decisions, (1.0, -1.0), strict=True):
        told = client.post(f"{ann}/outcomes", json={"decision": decision, "reward": reward})
        assert (told.status_code, told.json()["given"], told.json()["decision"]) == (201, "walk", decision)
    assert client.get(ann).json()["rounds"] == 0
    client.put(f"{path}/model", json=MODEL.to_dict())
    agent = Agent(lpb.policy(MODEL, "lpbts"), seed=0, person="ann")
    agent.tell("walk", 1.0)
    agent.tell("walk", -1.0)
    assert client.get(ann).json()["posterior"] == agent.posterior.tolist()


TASTE = TasteModel(
    np.array([0.5, -0.5, 0.2, 0.1]), np.array([[1.0], [-1.0], [0.5], [0.0]]), np.full(4, 0.5), offset=0.2, level=3.0
)


def covariates(kind: str, levels: list[str]) -> CovariateModel:
    """Return a model of one covariate, for two states."""
    weights = np.zeros((2, max(len(levels), 1) + 1))
    weights[0, 0] = weights[1, -2] = 1.0
    return CovariateModel(["sex"], [kind], [levels], np.zeros(1), np.ones(1), np.zeros(2), weights, 0.5)


SEX = covariates("text", ["f", "m"])
pytestmark = pytest.mark.filterwarnings("ignore:levels of covariates")  # as in a running service
KINDS: dict[str, tuple[PreferenceModel, str, dict[str, Any], list[float]]] = {
    "lower": (MODEL.replace(lower_is_better=True), "lpbts", {}, [3.0, 5.0, 1.0]),
    "bernoulli": (MODEL.replace(rewards="bernoulli"), "lpbts", {}, [1, 0, 1]),
    "poisson": (MODEL.replace(rewards="poisson"), "lpbts", {}, [4, 0, 1]),
    "tiers": (MODEL.replace(tiers=[[2, 2], [1, 1, 2], [4]], means=None), "lpbts", {}, [0.5, 1.5, 0.0]),
    "taste": (MODEL.replace(taste=TASTE), "taste", {}, [3.0, 4.5, 1.0]),
    "auto": (MODEL.replace(taste=TASTE), "auto", {}, [3.0, 4.5, 1.0]),
    "lpb-ids": (MODEL, "lpb-ids", {}, [0.5, 1.5, 0.0]),
    "lpb-horizon": (MODEL, "lpb-horizon", {"rounds": 5}, [0.5, 1.5, 0.0]),
    "ts": (MODEL, "ts", {"noise": 1.0, "noise_known": True}, [0.5, 1.5, 0.0]),
    "numbers": (MODEL.replace(actions=[10, -2, 3, 2**53]), "lpbts", {"first": "uniform"}, [0.5, 1.5, 0.0]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_models_and_policies_of_all_kinds(client: TestClient, service: Service, kind: str) -> None:
    model, name, given, rewards = KINDS[kind]
    path = make_project(client, model=model, policy=name, settings=given, seed=3)
    agent = Agent(lpb.policy(model, name, **given), seed=3, person="ann")
    own = f"{path}/people/ann"
    for reward in rewards:
        expected = agent.decide()
        decision = client.post(f"{own}/decisions").json()
        assert decision["action"] == expected.action
        assert decision["probability"] == expected.probability
        told = client.post(f"{own}/outcomes", json={"decision": decision["decision"], "reward": reward})
        assert told.json()["reward"] == reward
        agent.tell(decision["action"], reward)
    known = client.get(own)
    assert known.status_code == 200, known.text
    assert known.json()["posterior"] == (agent.posterior.tolist() if agent.policy.evidence.latent else None)
    assert dump(service)["snapshots"][0][4] == agent.belief.pack()
    assert client.get(f"{path}/model").json() == model.to_dict()


def test_rewards_of_another_family_are_refused(client: TestClient) -> None:
    path = make_project(client, model=MODEL.replace(rewards="bernoulli"))
    answer = client.post(f"{path}/people/ann/outcomes", json={"action": "rest", "reward": 0.5})
    assert answer.status_code == 422


def test_covariates_give_a_prior_and_follow_the_model(client: TestClient) -> None:
    model = PreferenceModel([[0, 1], [1, 0]], covariates=SEX)
    path = make_project(client, model=model)
    own = f"{path}/people/ann"
    for refused in ({"sex": True}, {"age": 3}):
        assert client.put(own, json={"covariates": refused}).status_code == 422
    assert client.put(own, json={"covariates": {"sex": "f"}}).status_code == 200
    expected = model.prior_for({"sex": "f"}).tolist()
    assert client.get(own).json()["posterior"] == expected
    assert client.post(f"{own}/decisions").status_code == 201
    plain = PreferenceModel([[0, 1], [1, 0]])
    client.put(f"{path}/model", json=plain.to_dict())
    assert client.get(own).json()["posterior"] == [0.5, 0.5]
    assert client.post(f"{own}/decisions").status_code == 201
    client.put(f"{path}/model", json=model.to_dict())
    assert client.get(own).json()["posterior"] == expected


@pytest.mark.parametrize("kind", ["number", "text"])
def test_covariates_that_a_new_model_does_not_know_are_left_out(client: TestClient, kind: str) -> None:
    path = make_project(client, model=PreferenceModel([[0, 1], [1, 0]], covariates=SEX))
    own = f"{path}/people/ann"
    client.put(own, json={"covariates": {"sex": "f"}})
    other = covariates(kind, ["x", "y"] if kind == "text" else [])
    answer = client.put(f"{path}/model", json=PreferenceModel([[0, 1], [1, 0]], covariates=other).to_dict())
    assert answer.status_code == 200, answer.text
    assert client.get(own).status_code == 200
    assert client.post(f"{own}/decisions").status_code == 201
    assert client.post(f"{own}/outcomes", json={"action": 0, "reward": 1}).status_code == 201
