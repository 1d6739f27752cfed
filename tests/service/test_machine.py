"""A machine that sends requests in any order; after each, beliefs equal those of a new `Agent` that knows the facts."""

import itertools
import os
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from starlette.testclient import TestClient

from lpbandits.model import PreferenceModel
from lpbandits.service.api.app import create_app
from lpbandits.service.service import Service
from lpbandits.service.store.database import Store
from tests.service.postgres import Postgres
from tests.service.shared import ACTIONS, MODEL, dump
from tests.service.twin import Twin, TwinOutcome

FUZZ = int(os.environ.get("LPB_FUZZ_SERVICE", "0"))
"""Number of requests of `make fuzz-service`; 0 otherwise."""

MODELS = (
    MODEL,
    MODEL.replace(prior=[0.1, 0.1, 0.8]),
    PreferenceModel([[0, 1, 2], [2, 0, 1]], actions=["rest", "Schläf✓", "new"], noise=0.5),
    PreferenceModel([[0, 1, 2, 3], [1, 0, 3, 2]], actions=["walk", "rest", "Schläf✓", 3], tiers=[[2, 2], [1, 1, 1, 1]]),
)
PEOPLE = ("ann", "Zoë/1", "3")
LABELS = st.sampled_from(PEOPLE)
REWARDS = st.integers(-6, 6).map(lambda x: x / 4) | st.floats(-3, 3)
ALL_ACTIONS: list[Any] = [*ACTIONS, "new"]
SETTINGS: list[dict[str, Any]] = [
    {"policy": "ts"},
    {"policy": "lpbts", "settings": {}},
    {"policy": "lpbts", "settings": {"explore": 0.1}},
    {"policy": "popular"},
    {"policy": "ucb", "settings": {"noise": 0.5, "noise_known": True}},
    {"seed": 1},
    {"seed": 2**62},
    {"holdout": 1.0},
    {"holdout": 0.0},
    {"holdout_policy": "uniform"},
]


class Machine(RuleBasedStateMachine):
    """A service, and its twin."""

    url: ClassVar[Any]
    """Function that returns the URL of a new store."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store_url = type(self).url(Path(self.folder.name))
        self.keys = itertools.count()
        self.answered: list[tuple[str, str, Any, str, Any, set[str]]] = []
        self.twin = Twin(MODEL)
        self.open()
        assert self.client.put("/v1/projects/p", json={"policy": "lpbts"}).status_code == 200
        assert self.client.put("/v1/projects/p/model", json=MODEL.to_dict()).status_code == 200

    def open(self) -> None:
        self.service = Service(Store(self.store_url, serving=True), dev=True)
        self.client = TestClient(create_app(self.service))

    def teardown(self) -> None:
        self.agree_on(PEOPLE)
        self.service.close()
        self.folder.cleanup()

    def send(self, method: str, path: str, body: Any, about: set[str]) -> Any:
        """Send a write with a new key, and return its answer; a refused one changes nothing."""
        key = f"k{next(self.keys)}"
        before = dump(self.service)
        answer = self.client.request(method, f"/v1/projects/p{path}", json=body, headers={"Idempotency-Key": key})
        assert answer.status_code < 500, answer.text
        if answer.status_code >= 400:
            assert dump(self.service) == before
            return answer.status_code
        self.answered.append((method, path, body, key, answer.json(), about))
        return answer.json()

    def agree_on(self, labels: Any) -> None:
        for label in labels:
            answer = self.client.get(f"/v1/projects/p/people/{label.replace('/', '%2F')}")
            if label not in self.twin.people:
                assert answer.status_code == 404
                continue
            known, agent = answer.json(), self.twin.agent(label)
            latent = agent.policy.evidence.latent
            assert known["posterior"] == (agent.posterior.tolist() if latent else None)
            assert known["prior"] == (agent.prior.tolist() if latent else None)
            assert list(known["probabilities"].values()) == agent.probabilities().tolist()
            assert (known["rounds"], known["asked"]) == (agent.rounds, agent.asked)
            rows = dump(self.service)
            (person_id,) = (row[0] for row in rows["people"] if row[2] == label)
            (snapshot,) = (row for row in rows["snapshots"] if row[0] == person_id)
            assert snapshot[2] == agent.asked
            assert snapshot[3] < len(rows["configurations"]) or snapshot[4] == agent.belief.pack()

    def kept(self, label: str, decisions: list[Any], answers: Any) -> None:
        """Compare decisions with their answers."""
        for expected, got in zip(decisions, answers, strict=True):
            assert (expected.action, expected.probability) == (got["action"], got["probability"])
            assert {str(a): p for a, p in expected.probabilities.items()} == got["probabilities"]
            assert got["holdout"] == self.twin.person(label).holdout
        self.twin.keep(label, decisions, [got["decision"] for got in answers])

    @rule(label=LABELS, allowed=st.none() | st.sets(st.sampled_from(ALL_ACTIONS), min_size=1), exclude=st.booleans())
    def ask(self, label: str, allowed: set[Any] | None, exclude: bool) -> None:
        sent = None if allowed is None else sorted(allowed, key=str)
        body = {"allowed": sent, "exclude_seen": exclude}
        if sent is not None and not set(sent) <= set(self.twin.model.actions):
            assert self.send("POST", f"/people/{path_of(label)}/decisions", body, {label}) == 422
            return
        expected = self.twin.decide(label, sent, exclude_seen=exclude)
        got = self.send("POST", f"/people/{path_of(label)}/decisions", body, {label})
        if expected:
            self.kept(label, expected, [got])
        else:
            assert got == 409

    @rule(label=LABELS, n=st.integers(1, 5), exclude=st.booleans())
    def schedule(self, label: str, n: int, exclude: bool) -> None:
        expected = self.twin.decide(label, None, exclude_seen=exclude, n=n)
        got = self.send("POST", f"/people/{path_of(label)}/schedule", {"n": n, "exclude_seen": exclude}, {label})
        if expected:
            self.kept(label, expected, got["decisions"])
        else:
            assert got == 409

    @rule(labels=st.lists(LABELS, min_size=1, max_size=4), refused=st.booleans())
    def ask_many(self, labels: list[str], refused: bool) -> None:
        items: list[Any] = [{"person": label} for label in labels]
        if refused:
            refused_items = [*items, {"person": "new person", "allowed": ["nothing"]}]
            assert self.send("POST", "/decisions:batch", {"items": refused_items}, set()) == 422
            return
        got = self.send("POST", "/decisions:batch", {"items": items}, set(labels))["decisions"]
        for label, answer in zip(labels, got, strict=True):
            self.kept(label, self.twin.decide(label, None, exclude_seen=False), [answer])

    def tell_twin(self, item: dict[str, Any]) -> tuple[int, TwinOutcome | None]:
        """Return the expected status of an outcome, and the outcome if it is stored already."""
        person = self.twin.people.get(item["person"])
        given: Any = item.get("given", item.get("action"))
        if "decision" in item:
            assert person is not None
            before = person.of(item["decision"])
            given = given or (before[-1].given if before else person.decisions[item["decision"]])
            same = [one for one in before if (one.reward, one.given) == (item["reward"], given)]
            if same:
                return 201, same[0]
            withdrawn = any(one.withdrawn and one.decision == item["decision"] for one in person.outcomes)
            if withdrawn or any(one.reward is not None or one.given != given for one in before):
                return 409, None
        if given not in self.given:
            return 422, None
        self.twin.person(item["person"]).outcomes.append(TwinOutcome("", item.get("decision"), given, item["reward"]))
        return 201, None

    @property
    def given(self) -> set[Any]:
        """Actions that a model of the project had."""
        return {action for model in self.models for action in model.actions}

    @property
    def models(self) -> list[PreferenceModel]:
        sent = [body for _, path, body, *_ in self.answered if path == "/model"]
        return [MODEL, *(model for model in MODELS if model.to_dict() in sent)]

    def told(self, item: dict[str, Any], status: int, same: TwinOutcome | None, got: Any) -> None:
        if status != 201:
            assert got == status
            return
        outcome = same or self.twin.people[item["person"]].outcomes[-1]
        assert got["given"] == outcome.given
        assert got["reward"] == outcome.reward
        assert outcome.id in ("", got["outcome"])
        outcome.id = got["outcome"]

    @precondition(lambda self: any(person.decisions for person in self.twin.people.values()))
    @rule(data=st.data(), reward=st.none() | REWARDS, given=st.none() | st.sampled_from(ALL_ACTIONS))
    def tell_of_decision(self, data: st.DataObject, reward: float | None, given: Any) -> None:
        label = data.draw(st.sampled_from([one for one, person in self.twin.people.items() if person.decisions]))
        decision = data.draw(st.sampled_from(list(self.twin.people[label].decisions)))
        item = {"person": label, "decision": decision, "reward": reward} | ({} if given is None else {"given": given})
        status, same = self.tell_twin(item)
        body = {name: value for name, value in item.items() if name != "person"}
        self.told(item, status, same, self.send("POST", f"/people/{path_of(label)}/outcomes", body, {label}))

    @rule(label=LABELS, action=st.sampled_from(ALL_ACTIONS), reward=st.none() | REWARDS)
    def tell_of_action(self, label: str, action: Any, reward: float | None) -> None:
        item = {"person": label, "action": action, "reward": reward}
        status, same = self.tell_twin(item)
        body = {"action": action, "reward": reward, "at": "2020-02-29T00:00:00Z"}
        self.told(item, status, same, self.send("POST", f"/people/{path_of(label)}/outcomes", body, {label}))

    @rule(items=st.lists(st.tuples(LABELS, st.sampled_from(ACTIONS), REWARDS), min_size=1, max_size=4))
    def tell_many(self, items: list[tuple[str, Any, float]]) -> None:
        sent = [{"person": label, "action": action, "reward": reward} for label, action, reward in items]
        expected = [self.tell_twin(item) for item in sent]
        assert {status for status, _ in expected} == {201}
        got = self.send("POST", "/outcomes:batch", {"items": sent}, {label for label, _, _ in items})["outcomes"]
        own = [(item["person"], answer) for item, answer in zip(sent, got, strict=True)]
        for label, answer in own:
            outcome = next(one for one in self.twin.people[label].outcomes if not one.id)
            outcome.id = answer["outcome"]

    @precondition(lambda self: any(person.outcomes for person in self.twin.people.values()))
    @rule(data=st.data(), reward=st.none() | REWARDS, given=st.none() | st.sampled_from(ALL_ACTIONS))
    def correct(self, data: st.DataObject, reward: float | None, given: Any) -> None:
        label = data.draw(st.sampled_from([one for one, person in self.twin.people.items() if person.outcomes]))
        person = self.twin.people[label]
        outcome = data.draw(st.sampled_from(person.outcomes))
        body = {"reward": reward, "reason": "typo"} | ({} if given is None else {"given": given})
        got = self.send("POST", f"/outcomes/{outcome.id}/corrections", body, {label})
        others = [one for one in person.outcomes if one is not outcome and one.decision and not one.withdrawn]
        if reward is None and (outcome.withdrawn or given is not None):
            assert got == (409 if outcome.withdrawn else 422)
        elif reward is not None and given is not None and given not in self.given:
            assert got == 422
        elif reward is not None and outcome.reward is None and any(o.decision == outcome.decision for o in others):
            assert got == 409
        else:
            assert got["withdrawn"] == (reward is None)
            outcome.withdrawn, outcome.reward = reward is None, reward
            outcome.given = outcome.given if given is None else given

    @rule(label=LABELS, weights=st.lists(st.integers(1, 9), min_size=2, max_size=3))
    def start(self, label: str, weights: list[int]) -> None:
        prior = [weight / sum(weights) for weight in weights]
        got = self.send("PUT", f"/people/{path_of(label)}", {"prior": prior}, {label})
        latent = self.twin.policy.startswith("lpb")
        if len(prior) == self.twin.model.n_states and latent:
            self.twin.person(label).prior = (self.twin.model.orderings.tolist(), prior)
            assert got["prior"] == prior
        else:
            assert got == 422

    @rule(model=st.sampled_from(MODELS))
    def upload(self, model: PreferenceModel) -> None:
        told = [one for person in self.twin.people.values() for one in person.outcomes if one.reward is not None]
        kept = [one for one in told if one.given in model.index]
        before = dump(self.service)
        dry = self.client.put("/v1/projects/p/model?dry_run=true", json=model.to_dict()).json()
        assert dump(self.service) == before
        got = self.send("PUT", "/model", model.to_dict(), set())
        assert dry.pop("dry_run")
        assert {name: got[name] for name in dry} == dry
        assert got["carried"] == len(kept)
        assert sum(one["outcomes"] for one in got["dropped"]) == len(told) - len(kept)
        self.twin.model = model

    @rule(change=st.sampled_from(SETTINGS))
    def configure(self, change: dict[str, Any]) -> None:
        got = self.send("PUT", "", change, set())
        for name, value in change.items():
            setattr(self.twin, name, value)
            assert got[name] == value

    @precondition(lambda self: self.answered)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        method, path, body, key, answer, _ = data.draw(st.sampled_from(self.answered))
        before = dump(self.service)
        headers = {"Idempotency-Key": key}
        again = self.client.request(method, f"/v1/projects/p{path}", json=body, headers=headers)
        assert (again.json(), again.headers.get("Idempotent-Replayed")) == (answer, "true")
        other = self.client.post("/v1/projects/p/people/eve/schedule", json={"n": 7}, headers=headers)
        assert other.status_code == 409
        assert dump(self.service) == before

    @precondition(lambda self: self.twin.people)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        label = data.draw(st.sampled_from(list(self.twin.people)))
        got = self.send("DELETE", f"/people/{path_of(label)}", None, set())
        person = self.twin.people.pop(label)
        assert (got["decisions"], got["outcomes"]) == (person.asked, len(person.outcomes))
        self.answered = [one for one in self.answered if label not in one[5]]

    @rule()
    def restart(self) -> None:
        self.service.close()
        self.open()

    @invariant()
    def agree(self) -> None:
        self.agree_on(PEOPLE)


def path_of(label: str) -> str:
    return label.replace("/", "%2F")


@pytest.mark.slow
@pytest.mark.parametrize(("database", "examples"), [("sqlite", 5), ("postgres", 2)])
def test_beliefs_follow_from_the_facts_in_any_order(
    database: str, examples: int, request: pytest.FixtureRequest
) -> None:
    if database == "sqlite":
        url = lambda folder: f"sqlite:///{folder}/lpb.db"  # noqa: E731
    else:
        server: Postgres = request.getfixturevalue("postgres")
        template = request.getfixturevalue("postgres_template")
        url = lambda _: server.new_database(template)  # noqa: E731
    own = type(f"Machine_{database}", (Machine,), {"url": staticmethod(url)})
    count = FUZZ // 100 or examples
    chosen = settings(max_examples=count, stateful_step_count=30, derandomize=not FUZZ, print_blob=True)
    run_state_machine_as_test(own, settings=settings(chosen, suppress_health_check=list(HealthCheck)))
