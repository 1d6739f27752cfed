"""Decisions with an id: what they hold, their outcomes, and how they are saved."""

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent, Decision
from lpbandits.errors import FileFormatError, InvalidInput, LockInWarning, NotSupported
from lpbandits.model import PreferenceModel
from lpbandits.policies import POLICIES, Setting, make_policy
from tests.agent.test_agent import MODEL, agent_for
from tests.agent.test_persistence import altered
from tests.conftest import CASES, Case, model_for

ALLOWED = (None, ["rest", "drug A"], ["drug B"])


def told() -> Agent:
    """Return an agent with a told, a differing and an open decision, and an outcome without a decision."""
    agent = agent_for(noise=1.0)
    first, second, _ = (agent.decide() for _ in range(3))
    agent.tell(reward=2.0, decision=first)
    agent.tell("rest" if second.action != "rest" else "drug A", 1.0, decision=second.id)
    agent.tell("drug A", 0.5, id="visit 1")
    return agent


@pytest.mark.parametrize("case", CASES, ids=str)
def test_decide_draws_as_ask_does(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=6)
    policy = case.policy(model).exploring(0.02)
    one, other = (Agent(policy, seed=3, person="ann") for _ in range(2))
    for i, allowed in enumerate([None, [0, 3, 4], None, [5], [1, 2], None]):
        probabilities = np.minimum(other.probabilities(allowed), 1.0)  # sums are rounded
        decision = one.decide(allowed)
        assert decision.action == other.ask(allowed)
        assert decision.probabilities == {a: probabilities[a] for a in allowed or range(6)}
        assert decision.probability == probabilities[int(str(decision.action))]
        assert decision.allowed == tuple(allowed or range(6))
        assert (decision.asked, decision.rounds, decision.seed, decision.person) == (i, i, 3, "ann")
        assert (decision.policy_sha256, decision.model_sha256) == (policy.sha256, model.sha256)
        for agent in (one, other):
            agent.tell(decision.action, float(i % 2))
    assert [decision.asked for decision in one.pending] == list(range(6))
    assert Agent.from_json(one.to_json()).pending == one.pending


@pytest.mark.parametrize("name", [name for name, entry in POLICIES.items() if entry.feedback == "duels"])
def test_decide_for_duels(name: str) -> None:
    policy = make_policy(name, Setting(MODEL, lpb.Rewards()))
    one, other = (Agent(policy, seed=3) for _ in range(2))
    for _ in range(8):
        decision = one.decide()
        assert decision.action == other.ask_pair()
        assert decision.probability is None
        assert decision.probabilities is None
        one.tell_duel("rest", "drug B", decision=decision)
        other.tell_duel("rest", "drug B")
    assert one.belief.pack() == other.belief.pack()
    assert [(record.given, record.reward) for record in one.decisions] == [(("rest", "drug B"), None)] * 8
    one.retract_duel(id=one.decisions[3].decision.id)
    assert one.pending == [one.decisions[3].decision]
    assert Agent.from_json(one.to_json()).decisions == one.decisions


@pytest.mark.parametrize("prior", [None, [0.2, 0.8]])
def test_a_decision_can_be_repeated_from_its_record(prior: Any) -> None:
    agent = Agent(lpb.LpbTS(MODEL, noise=1.0), seed=7, person="ann", prior=prior)
    rng = np.random.default_rng(1)
    for i in range(12):
        decision = agent.decide(ALLOWED[i % 3])
        if i % 4:
            agent.tell(reward=float(rng.normal()), decision=decision)
    for decision in (Decision.from_dict(json.loads(json.dumps(one.decision.to_dict()))) for one in agent.decisions):
        settings: dict[str, Any] = {name: getattr(decision, name) for name in ("seed", "person", "asked", "prior")}
        again = Agent(agent.policy, **settings)
        for outcome in agent.outcomes[: decision.rounds]:
            again.tell(*outcome)
        assert again.decide(list(decision.allowed)) == decision


def test_only_a_prior_that_is_not_the_models_is_in_the_record() -> None:
    policy = lpb.LpbTS(MODEL, noise=1.0)
    for prior in (None, MODEL.prior):
        decision = Agent(policy, seed=7, prior=prior).decide()
        assert decision.prior is None
        assert "prior" not in decision.to_dict()
    agent = Agent(policy, seed=7, prior=[0.2, 0.8])
    assert agent.decide().prior == (0.2, 0.8)
    assert json.loads(agent.to_json())["decisions"][0]["prior"] == [0.2, 0.8]
    assert Agent.from_json(agent.to_json()).decisions == agent.decisions
    before = json.loads(agent.to_json())["decisions"][0]  # as a version without the field wrote it
    del before["prior"]
    assert Agent.from_json(altered(agent, decisions=[before])).pending[0].prior is None


def test_recommended_given_and_reward_are_kept_apart() -> None:
    agent = told()
    first, second, third = agent.decisions
    assert (first.given, first.reward, first.pending) == (first.decision.action, 2.0, False)
    assert second.given != second.decision.action
    assert (second.reward, second.pending) == (1.0, False)
    assert (third.given, third.reward, third.pending) == (None, None, True)
    assert agent.pending == [third.decision]
    agent.tell(reward=4.0, decision=third.decision.id)
    assert agent.pending == []
    assert agent.rounds == 4


def test_an_outcome_of_a_decision_counts_once() -> None:
    agent = told()
    first = agent.decisions[0].decision
    before = agent.to_json()
    agent.tell(reward=2.0, decision=first)
    agent.tell(first.action, 2, decision=first.id)  # type: ignore[arg-type] # not a duel
    agent.tell(first.action, 2.0, id=first.id)  # type: ignore[arg-type] # the id of the outcome
    assert agent.to_json() == before
    other = "drug A" if first.action != "drug A" else "rest"
    for action, reward in ((None, 3.0), (other, 2.0)):
        with pytest.raises(
            InvalidInput, match=rf"id '{first.id}' already belongs to reward 2 .*retract\(id='{first.id}'\)"
        ):
            agent.tell(action, reward, decision=first)
    assert agent.to_json() == before


@pytest.mark.parametrize("by", ["id", "outcome"])
def test_a_retracted_outcome_makes_its_decision_pending(by: str) -> None:
    agent, clean = told(), agent_for(noise=1.0)
    first, second, third = (record.decision for record in agent.decisions)
    if by == "id":
        agent.retract(id=first.id)
        agent.retract(id="visit 1")
    else:
        agent.retract(first.action, 2.0, id=first.id)  # type: ignore[arg-type] # not a duel
        agent.retract("drug A", 0.5)
    for _ in range(3):
        clean.decide()
    clean.tell(agent.decisions[1].given, 1.0, decision=second)  # type: ignore[arg-type] # not a duel
    assert agent.to_json() == clean.to_json()
    assert agent.pending == [first, third]
    agent.tell(reward=5.0, decision=first)
    assert agent.pending == [third]
    before = agent.to_json()
    for unknown in (third.id, "visit 1", 3):
        with pytest.raises(InvalidInput, match="id must be that of a reported outcome"):
            agent.retract(id=unknown)
    with pytest.raises(InvalidInput, match="unknown action None"):
        agent.retract()
    assert agent.to_json() == before


def test_a_decision_of_another_agent_is_refused() -> None:
    agent, other = (Agent(lpb.LpbTS(MODEL, noise=1.0), seed=7, person=person) for person in ("ann", "bob"))
    mine, foreign = agent.decide(), other.decide()
    assert mine.id != foreign.id
    changed: Any = copy.copy(mine)
    object.__setattr__(changed, "action", "drug A")
    before = agent.to_json()
    invalid: list[Any] = [foreign, foreign.id, changed, "", 3, True, ["x"], "0"]
    for wrong in invalid:
        with pytest.raises(InvalidInput, match=r"decision must be one that this agent made"):
            agent.tell("rest", 1.0, decision=wrong)
    with pytest.raises(InvalidInput, match=r"id must be left out with a decision, got 'visit 1'"):
        agent.tell("rest", 1.0, id="visit 1", decision=mine)
    with pytest.raises(InvalidInput, match=r"reward must be .*None"):
        agent.tell(decision=mine)
    with pytest.raises(InvalidInput, match=r"unknown action None"):
        agent.tell(reward=1.0)
    with pytest.raises(NotSupported, match="tell_duel"):
        Agent(lpb.LpbDuel(MODEL), seed=1).tell(reward=1.0, decision="x")
    with pytest.raises(InvalidInput, match="decision must be one"):
        Agent(lpb.LpbDuel(MODEL), seed=1).tell_duel("rest", "drug A", decision="x")
    assert agent.to_json() == before


def test_ids_are_functions_of_policy_seed_person_and_asked() -> None:
    policies = lpb.LpbTS(MODEL), lpb.LpbTS(MODEL).exploring(0.1), lpb.TS(MODEL)
    agents = [Agent(p, seed=seed, person=person) for p in policies for seed in (1, 2) for person in ("7", 7, "ann")]
    ids = [agent.decide().id for agent in agents for _ in range(3)]
    assert len(set(ids)) == 54
    again = [Agent(a.policy, seed=a.seed, person=a.person, asked=i).decide().id for a in agents for i in range(3)]
    assert ids == again


def test_an_id_of_another_policy_is_refused() -> None:
    agent, other = (Agent(policy, seed=7, person="ann") for policy in (lpb.LpbTS(MODEL), lpb.TS(MODEL)))
    agent.decide()
    with pytest.raises(InvalidInput, match="decision must be one that this agent made"):
        agent.tell(reward=1.0, decision=other.decide().id)


@pytest.mark.parametrize(
    "clone",
    [
        copy.copy,
        copy.deepcopy,
        lambda agent: pickle.loads(pickle.dumps(agent)),  # noqa: S301
        lambda agent: Agent.from_json(agent.to_json()),
        lambda agent: Agent.from_json(agent.to_json(outcomes=False)),
        lambda agent: Agent.from_json(agent.to_json(with_model=False), model=agent.policy.model),
        lambda agent: agent.with_model(MODEL)[0],
    ],
)
def test_decisions_are_copied_and_saved(clone: Any) -> None:
    agent = told()
    twin = clone(agent)
    assert twin.decisions == agent.decisions
    assert twin.decide() == agent.decide()
    twin.tell(reward=1.0, decision=twin.pending[0].id)
    twin.tell(reward=2.0, decision=agent.decisions[0].decision)
    assert (len(twin.pending), len(agent.pending)) == (1, 2)


def test_an_agent_without_decisions_is_saved_in_the_old_format() -> None:
    agent = agent_for()
    agent.tell("rest", 1.0, id="x")
    content = json.loads(agent.to_json())
    assert content["version"] == 3
    assert "decisions" not in content
    content = json.loads(told().to_json())
    assert content["version"] == 4
    assert [entry["allowed"] for entry in content["decisions"]] == [None] * 3
    assert Agent.from_json(altered(agent, version=4)).decisions == []


def test_a_model_without_the_action_drops_the_decision_with_its_outcome() -> None:
    agent = told()
    (first, second, third), given = (r.decision for r in agent.decisions), [r.given for r in agent.decisions]
    kept = [str(action) for action in MODEL.actions if action != given[0]]
    newer, dropped = agent.with_model(PreferenceModel([kept, kept[::-1]]))
    assert given[0] in dropped
    left = {record.decision.id for record in newer.decisions}
    assert first.id not in left
    assert third.id in left
    assert third in newer.pending
    assert (second.id in left) == (given[1] != given[0])
    assert [record.decision for record in Agent.from_json(newer.to_json()).decisions] == [
        record.decision for record in newer.decisions
    ]


def test_a_decision_as_json() -> None:
    decision = agent_for(noise=1.0).decide(["drug B", "rest"])
    content = json.loads(json.dumps(decision.to_dict()))
    assert Decision.from_dict(content) == decision
    assert content["allowed"] == ["rest", "drug B"]
    assert content["probabilities"] == [["rest", 0.5], ["drug B", 0.5]]
    assert content["probability"] == 0.5
    assert content["policy"] == "refit × sample"
    with pytest.raises(AttributeError):
        decision.action = "rest"  # type: ignore[misc] # that is the point


def saved(**changes: Any) -> str:
    agent = told()
    decisions = json.loads(agent.to_json())["decisions"]
    return altered(agent, decisions=[{**decisions[0], **changes}])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (altered(told(), decisions=3), "incomplete"),
        (altered(told(), decisions=[3]), "incomplete"),
        (altered(told(), decisions=[{"id": "x"}]), "incomplete"),
        (saved(id="x"), "id must be"),
        (saved(seed=8), "id must be"),
        (saved(asked=1), "id must be"),
        (saved(asked=-1), "asked must be"),
        (saved(action="tea"), "action must be one of the allowed"),
        (saved(action=["rest"]), "invalid|incomplete"),
        (saved(action={}), "action must be"),
        (saved(allowed=["rest", "rest"]), "labels must differ"),
        (saved(allowed=7), "allowed must be"),
        (saved(probabilities=[["tea", 0.5]]), "action must be"),
        (saved(probabilities=[["rest", 1.5]]), "probability must be"),
        (saved(probabilities=[["rest"]]), "incomplete|invalid"),
        (saved(rounds=-1), "rounds must be"),
        (saved(prior=[0.5, 0.4]), "prior must sum to 1"),
        (saved(prior=["x", 1]), "prior must|incomplete|invalid"),
        (saved(prior=0.5), "incomplete"),
        (saved(policy=3), "policy must be"),
        (saved(model_sha256=None), "model_sha256 must be"),
        (altered(told(), asked=2), "another agent"),
        (altered(told(), person="bob"), "another agent"),
        (altered(told(), version=5), "version 5"),
    ],
)
def test_invalid_saved_decisions_are_errors(text: str, match: str) -> None:
    with pytest.raises(FileFormatError, match=match):
        Agent.from_json(text)


def test_decide_warns_of_a_rule_that_locks_in() -> None:
    agent = Agent(lpb.Taste(model_for(lpb.Rewards(), m=3, k=5)), seed=1)
    first = agent.decide()
    agent.tell(reward=100.0, decision=first)
    with pytest.warns(LockInWarning, match=f"plays {first.action!r} again") as caught:
        assert agent.decide().action == first.action
    assert caught[0].filename == __file__


def test_a_policy_without_exact_probabilities_decides_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_for(noise=1.0)

    def refuse(*_: Any) -> None:
        raise NotSupported("none")

    monkeypatch.setattr(lpb.Policy, "_probabilities", refuse)
    decision = agent.decide()
    assert decision.action in MODEL.actions
    assert decision.probability is None
    assert decision.probabilities is None
    assert Decision.from_dict(decision.to_dict()) == decision


def test_a_rounded_probability_above_one_is_saved_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_for(noise=1.0)
    monkeypatch.setattr(lpb.Policy, "_probabilities", lambda *_: np.array([np.nextafter(1.0, 2.0)] * 3))
    assert agent.decide().probability == 1.0
    assert Agent.from_json(agent.to_json()).decisions == agent.decisions
