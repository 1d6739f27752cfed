"""Saved agents and packed beliefs: round trips and validation."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import FileFormatError, InvalidInput, NotSupported
from lpbandits.io.json import digest
from lpbandits.model import PreferenceModel
from tests.agent.test_agent import MODEL, agent_for
from tests.conftest import CASES, Case, agent_after, model_for


def test_a_belief_of_another_policy_is_an_error() -> None:
    policy = lpb.LpbTS(MODEL)
    other = PreferenceModel([[1, 0, 2], [2, 1, 0]], actions=MODEL.actions)
    for wrong in (lpb.MTS(MODEL), lpb.LpbTS(other), lpb.LpbTS(MODEL, noise=2.0), lpb.LpbDuel(MODEL)):
        with pytest.raises(InvalidInput, match="another model, evidence or noise"):
            Agent(policy, seed=0, belief=wrong.new_belief())
        with pytest.raises(FileFormatError, match="another model, evidence or noise"):
            lpb.Belief.unpack(policy, wrong.new_belief().pack())
    for invalid in (b"abc", "abc", 3):
        with pytest.raises(InvalidInput, match="belief must be a Belief"):
            Agent(policy, seed=0, belief=invalid)  # type: ignore[arg-type] # that is the point
        with pytest.raises(FileFormatError, match="not a packed belief"):
            lpb.Belief.unpack(policy, invalid)


def test_asked_continues_a_random_stream_and_numpy_people_are_saved() -> None:
    policy = lpb.Uniform(PreferenceModel([list(range(40))]))
    agent = Agent(policy, seed=0, person=np.int64(3))  # type: ignore[arg-type] # from an array
    assert Agent.from_json(agent.to_json()).person == 3
    later = Agent(policy, seed=0, person=3, asked=5)
    assert [agent.ask() for _ in range(8)][5:] == [later.ask() for _ in range(3)]


def test_an_agent_saved_without_outcomes_cannot_retract() -> None:
    agent = agent_for()
    agent.tell("rest", 2.0)
    agent.tell("drug B", 1.0)
    text = agent.to_json(outcomes=False)
    assert len(text) < len(agent.to_json())
    restored = Agent.from_json(text)
    np.testing.assert_array_equal(restored.posterior, agent.posterior)
    restored.tell("rest", 3.0)
    for method in (lambda: restored.retract("rest", 3.0), lambda: restored.with_model(MODEL)):
        with pytest.raises(NotSupported, match="2 outcomes"):
            method()
    assert Agent.from_json(restored.to_json()).rounds == 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_packed_beliefs_round_trip_and_damage_is_an_error(case: Case) -> None:
    agent = Agent(case.policy(model_for(case.rewards, m=5, k=12)), seed=3)
    for i in range(40):
        agent.tell(i % 10, float(i % 2))
    data = agent.belief.pack()
    assert len(data) < 1024, "ten tried actions and five states"
    restored = Agent(agent.policy, seed=3, belief=lpb.Belief.unpack(agent.policy, data))
    assert restored.belief.pack() == data
    assert restored.rounds == 40
    for _ in range(5):
        action = agent.ask()
        assert restored.ask() == action
        for one in (agent, restored):
            one.tell(action, 1.0)
    for broken in (b"", data[:10], data[:-1], data + b"x", b"LPB3" + data[4:], data[:33] + b"\1" + data[34:]):
        with pytest.raises(FileFormatError, match="belief"):
            lpb.Belief.unpack(agent.policy, broken)
    with pytest.raises(FileFormatError, match="give a policy with those"):
        lpb.Belief.unpack(case.policy(model_for(case.rewards, m=3, k=6)), data)


def altered(agent: Agent, *, hashed: bool = True, **changes: Any) -> str:
    """Return a saved agent with changed content, and a matching sha256 if `hashed`."""
    content = {**json.loads(agent.to_json()), **changes}
    if hashed:
        content["sha256"] = digest({key: value for key, value in content.items() if key != "sha256"})
    return json.dumps(content)


TRIED = {"action": "rest", "count": 2.0, "sum": 1.0, "spread": 0.0}
BELIEF = {"tried": [TRIED], "states": {"score": [0.0, 0.0], "posterior": [0.5, 0.5]}, "own": []}


def with_belief(belief: Any) -> str:
    """Return an agent saved without outcomes, with another belief."""
    return altered(agent_for(), belief=belief, outcomes=None)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not valid JSON"),
        ('{"format": "lpbandits-ag', "not valid JSON"),
        ("[]", "'format' 'lpbandits-agent'"),
        ('{"format": "lpbandits-model"}', "must have 'format'"),
        (altered(agent_for(), version=2), "version 2.*versions 3 to 4"),
        (altered(agent_for(), hashed=False, seed=1), "altered"),
        (altered(agent_for(), hashed=False, sha256=None), "altered"),
        (agent_for().to_json()[:-1] + ', "seed": 3}', "'seed'"),
        (agent_for().to_json().replace('"asked": 0', '"asked": NaN'), "NaN"),
        (agent_for().to_json().replace('"asked": 0', '"asked": 1e400'), "1e308"),
        (agent_for().to_json().replace('"asked": 0', '"asked": ' + "9" * 5000), "digits"),
        (altered(agent_for(), seed=-1), "invalid: seed.*-1"),
        (altered(agent_for(), asked="x"), "invalid: asked.*'x'"),
        (altered(agent_for(), policy={}), "saved policy is incomplete"),
        (with_belief(None), "JSON object"),
        (with_belief({"tried": [{"action": "drug C"}]}), "unknown action 'drug C'"),
        (with_belief({"tried": [{"action": "rest", "count": 1}]}), "incomplete"),
        (with_belief({"tried": [], "states": {}}), "incomplete"),
        (with_belief({**BELIEF, "tried": [TRIED, TRIED]}), "twice"),
        (with_belief({**BELIEF, "tried": [{**TRIED, "count": 0.0}]}), "impossible"),
        (with_belief({**BELIEF, "tried": [{**TRIED, "count": 1.5}]}), "impossible"),
        (with_belief({**BELIEF, "tried": [{**TRIED, "sum": 1e308}]}), "impossible"),
        (with_belief({**BELIEF, "tried": [{**TRIED, "sum": "x"}]}), "incomplete"),
        (with_belief({**BELIEF, "states": {"score": [0.0], "posterior": [1.0]}}), r"arrays of shapes \(2, 1\)"),
        (with_belief({**BELIEF, "own": [[0, 0, 1.0]]}), "incomplete"),
        (altered(agent_for(), outcomes=[["rest"]]), "incomplete"),
        (altered(agent_for(), outcomes=[["rest", 1e300]]), "invalid: reward.*1e.300"),
        (altered(agent_for(), ids=3), "incomplete"),
        (altered(agent_for(), model=None), "the agent's model is not a preference model"),
    ],
)
def test_an_invalid_saved_agent_is_an_error(text: str, match: str) -> None:
    with pytest.raises(FileFormatError, match=match):
        Agent.from_json(text)


def test_a_saved_agent_needs_its_model() -> None:
    text = agent_for().to_json(with_model=False)
    with pytest.raises(FileFormatError, match="saved without its model"):
        Agent.from_json(text)
    with pytest.raises(FileFormatError, match="saved with another model"):
        Agent.from_json(text, model=PreferenceModel([[0, 1, 2]]))
    with pytest.raises(InvalidInput, match=r"model must .*got 'model.json'"):
        Agent.from_json(text, model="model.json")  # type: ignore[arg-type] # that is the point


@pytest.mark.parametrize("make", [lpb.LpbTS, lpb.MTS, lpb.MUCB, lpb.LpbPaired])
def test_score_and_posterior_are_recomputed(make: Callable[..., lpb.Policy]) -> None:
    agent = agent_after(make(MODEL), [("rest", 1.0), ("drug A", 3.0), ("rest", 0.5), ("drug B", 2.0)])
    belief = json.loads(agent.to_json())["belief"]
    wrong = {"score": [0.0, -50.0], "posterior": [1.0, 0.0]}
    assert belief["states"]["posterior"] != wrong["posterior"]
    for outcomes in (json.loads(agent.to_json())["outcomes"], None):
        restored = Agent.from_json(altered(agent, belief={**belief, "states": wrong}, outcomes=outcomes))
        np.testing.assert_array_equal(restored.belief.states, agent.belief.states)


def test_the_largest_rewards_can_be_saved() -> None:
    agent = agent_after(lpb.LpbTS(MODEL), [("rest", 1e100)] * 12)
    for outcomes in (True, False):
        assert Agent.from_json(agent.to_json(outcomes=outcomes)).rounds == 12


@pytest.mark.parametrize(
    "ids", [[["a", -1, "rest", 1.0]], [["a", 7, "rest", 1.0]], [["a", 0, "rest", 2.0]], [[1.5, 0, "rest", 1.0]]]
)
def test_ids_of_missing_or_other_outcomes_are_errors(ids: Any) -> None:
    with pytest.raises(FileFormatError, match="invalid"):
        Agent.from_json(altered(agent_after(lpb.LpbTS(MODEL), [("rest", 1.0)]), ids=ids))
