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
        with pytest.raises(InvalidInput, match="another policy or model"):
            Agent(policy, seed=0, belief=wrong.new_belief())
        with pytest.raises(FileFormatError, match="another policy or model"):
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
    for broken in (b"", data[:10], data[:-1], data + b"x", b"LPB2" + data[4:], data[:33] + b"\0" + data[34:]):
        with pytest.raises(FileFormatError, match="belief"):
            lpb.Belief.unpack(agent.policy, broken)
    with pytest.raises(FileFormatError, match="give the policy that created it"):
        lpb.Belief.unpack(case.policy(model_for(case.rewards, m=3, k=6)), data)


def altered(agent: Agent, *, hashed: bool = True, **changes: Any) -> str:
    """Return a saved agent with changed content, and a matching sha256 if `hashed`."""
    content = {**json.loads(agent.to_json()), **changes}
    if hashed:
        content["sha256"] = digest({key: value for key, value in content.items() if key != "sha256"})
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not valid JSON"),
        ('{"format": "lpbandits-ag', "not valid JSON"),
        ("[]", "'format' 'lpbandits-agent'"),
        ('{"format": "lpbandits-model"}', "must have 'format'"),
        (altered(agent_for(), version=2), "version 2.*version 3"),
        (altered(agent_for(), hashed=False, seed=1), "altered"),
        (altered(agent_for(), hashed=False, sha256=None), "altered"),
        (agent_for().to_json()[:-1] + ', "seed": 3}', "'seed'"),
        (agent_for().to_json().replace('"asked": 0', '"asked": NaN'), "NaN"),
        (agent_for().to_json().replace('"asked": 0', '"asked": 1e400'), "1e308"),
        (agent_for().to_json().replace('"asked": 0', '"asked": ' + "9" * 5000), "digits"),
        (altered(agent_for(), seed=-1), "invalid: seed.*-1"),
        (altered(agent_for(), asked="x"), "invalid: asked.*'x'"),
        (altered(agent_for(), policy={}), "saved policy is incomplete"),
        (altered(agent_for(), belief={"tried": [{"action": "drug C"}]}), "unknown action 'drug C'"),
        (altered(agent_for(), belief={"tried": [{"action": "rest", "count": 1}]}), "incomplete"),
        (altered(agent_for(), belief={"tried": [], "states": {}}), "incomplete"),
        (altered(agent_for(), belief=None), "JSON object"),
        (altered(agent_for(), outcomes=[["rest", 1.0]]), "does not follow from its outcomes"),
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


TRIED = {"action": "rest", "count": 2.0, "sum": 1.0, "spread": 0.0}


def check_belief(policy: lpb.Policy, match: str, **changes: Any) -> None:
    """Check that restoring an agent with a changed belief is an error."""
    agent = Agent(policy, seed=0)
    belief = {**json.loads(agent.to_json())["belief"], "tried": [TRIED], "own": [], **changes}
    with pytest.raises(FileFormatError, match=match):
        Agent.from_json(altered(agent, belief=belief, outcomes=None))


@pytest.mark.parametrize(
    "states",
    [
        {"score": [0.0, 0.0], "posterior": [5.0, -4.0]},
        {"score": [0.0], "posterior": [1.0]},
        {"score": [None, 0.0], "posterior": [0.5, 0.5]},
    ],
)
def test_impossible_scores_and_posteriors_are_errors(states: Any) -> None:
    check_belief(lpb.LpbTS(MODEL), "saved belief", states=states)


@pytest.mark.parametrize(
    ("policy", "row", "match"),
    [
        (lpb.LpbTS(MODEL, rewards="bernoulli"), {"sum": 50.0}, "sum 50.*bernoulli"),
        (lpb.LpbTS(MODEL, rewards="bernoulli"), {"sum": 0.5}, "sum 0.5.*bernoulli"),
        (lpb.LpbTS(MODEL, rewards="poisson"), {"sum": -1.0}, "sum -1.*poisson"),
        (lpb.LpbTS(MODEL), {"sum": 1e308}, r"sum 1e\+308.*gaussian"),
        (lpb.LpbTS(MODEL), {"count": 0.0}, "count 0"),
        (lpb.LpbTS(MODEL), {"count": 1.5}, "count 1.5"),
        (lpb.LpbTS(MODEL), {"spread": 1.0}, "spread 1.*noise"),
        (lpb.LpbTS(MODEL, noise_known=False), {"spread": 1e300}, r"spread 1e\+300"),
        (lpb.LpbTS(MODEL), {"sum": "1"}, "tried must .*got text"),
        (lpb.LpbDuel(MODEL), {"sum": 3.0}, "sum 3"),
    ],
)
def test_impossible_counts_and_sums_are_errors(policy: lpb.Policy, row: Any, match: str) -> None:
    check_belief(policy, match, tried=[{**TRIED, **row}])


@pytest.mark.parametrize("make", [lpb.LpbTS, lpb.MTS, lpb.MUCB, lpb.LpbPaired])
def test_score_and_posterior_are_recomputed(make: Callable[..., lpb.Policy]) -> None:
    agent = agent_after(make(MODEL), [("rest", 1.0), ("drug A", 3.0), ("rest", 0.5), ("drug B", 2.0)])
    belief = json.loads(agent.to_json())["belief"]
    wrong = {"score": [0.0, -50.0], "posterior": [1.0, 0.0]}
    assert belief["states"]["posterior"] != wrong["posterior"]
    for outcomes in (json.loads(agent.to_json())["outcomes"], None):
        restored = Agent.from_json(altered(agent, belief={**belief, "states": wrong}, outcomes=outcomes))
        np.testing.assert_array_equal(restored.belief.states, agent.belief.states)


@pytest.mark.parametrize(
    ("policy", "own", "match"),
    [
        (lpb.MTS(MODEL), [[0, 0, -1.0]], "misfits .*-1"),
        (lpb.MTS(MODEL), [[0, 0, 1e300]], r"misfits .*1e\+300"),
        (lpb.MUCB(MODEL), [[0, 0, 7.0]], "sum to 2"),
        (lpb.MUCB(MODEL), [[0, 0, 2.0], [1, 0, 1e300]], "shortfall"),
        (lpb.LpbPaired(MODEL), [[0, 0, 2.0]], "inversions .*2"),
        (lpb.LpbPaired(MODEL), [[1, 0, 400.0]], "399"),
        (lpb.DoubleTS(MODEL), [[0, 0, 1.0]], "wins must be"),
        (lpb.LpbDuel(MODEL), [[0, 0, 0.5]], "inversions .*0.5"),
        (lpb.LpbDuel(MODEL), [[5, 5, 2.0]], "incomplete"),
        (lpb.LpbTS(MODEL), [[0, 0, 1.0]], "incomplete"),
        (lpb.LpbTS(MODEL), 3, "incomplete"),
    ],
)
def test_an_impossible_own_array_is_an_error(policy: lpb.Policy, own: Any, match: str) -> None:
    check_belief(policy, match, own=own)


def test_the_largest_rewards_can_be_saved() -> None:
    agent = Agent(lpb.LpbTS(MODEL), seed=1)
    for _ in range(12):
        agent.tell("rest", 1e100)
    assert Agent.from_json(agent.to_json()).rounds == 12
    assert Agent.from_json(agent.to_json(outcomes=False)).rounds == 12


@pytest.mark.parametrize(
    "ids",
    [
        [["never", -1, "rest", 1.0]],
        [["a", 0, "rest", 1.0], ["a", 1, "rest", 1.0]],
        [["a", 0, "rest", 1.0], ["b", 0, "rest", 1.0]],
        [["a", 7, "rest", 1.0]],
    ],
)
def test_ids_of_missing_or_shared_outcomes_are_errors(ids: Any) -> None:
    agent = Agent(lpb.LpbTS(MODEL), seed=1)
    agent.tell("rest", 1.0)
    agent.tell("rest", 1.0)
    with pytest.raises(FileFormatError, match="invalid"):
        Agent.from_json(altered(agent, ids=ids))
