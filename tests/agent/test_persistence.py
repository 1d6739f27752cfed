"""Saved agents and packed beliefs: whole, checked, and never believed where they can be worked out."""

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


def test_a_belief_of_another_policy_is_refused() -> None:
    policy = lpb.LpbTS(MODEL)
    other = PreferenceModel([[1, 0, 2], [2, 1, 0]], actions=MODEL.actions)
    for wrong in (lpb.MTS(MODEL), lpb.LpbTS(other), lpb.LpbTS(MODEL, noise=2.0), lpb.LpbDuel(MODEL)):
        with pytest.raises(InvalidInput, match="another policy or model"):
            Agent(policy, seed=0, belief=wrong.new_belief())
        with pytest.raises(FileFormatError, match="another policy or model"):
            lpb.Belief.unpack(policy, wrong.new_belief().pack())
    for odd in (b"abc", "abc", 3):
        with pytest.raises(InvalidInput, match="belief must be a Belief"):
            Agent(policy, seed=0, belief=odd)  # type: ignore[arg-type] # that is the point
        with pytest.raises(FileFormatError, match="not a packed belief"):
            lpb.Belief.unpack(policy, odd)


def test_a_person_of_numpys_make_can_be_saved_and_luck_goes_on_where_it_was() -> None:
    policy = lpb.Uniform(PreferenceModel([list(range(40))]))
    agent = Agent(policy, seed=0, person=np.int64(3))  # type: ignore[arg-type] # as it comes out of an array
    assert Agent.from_json(agent.to_json()).person == 3
    later = Agent(policy, seed=0, person=3, asked=5)
    assert [agent.ask() for _ in range(8)][5:] == [later.ask() for _ in range(3)]


def test_an_agent_saved_without_its_outcomes_takes_none_back() -> None:
    agent = agent_for()
    agent.tell("rest", 2.0)
    agent.tell("drug B", 1.0)
    text = agent.to_json(outcomes=False)
    assert len(text) < len(agent.to_json())
    again = Agent.from_json(text)
    np.testing.assert_array_equal(again.posterior, agent.posterior)
    again.tell("rest", 3.0)
    for use in (lambda: again.retract("rest", 3.0), lambda: again.with_model(MODEL)):
        with pytest.raises(NotSupported, match="2 outcomes were not saved"):
            use()
    assert Agent.from_json(again.to_json()).rounds == 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_belief_packs_itself(case: Case) -> None:
    agent = Agent(case.policy(model_for(case.rewards, m=5, k=12)), seed=3)
    for i in range(40):
        agent.tell(i % 10, float(i % 2))
    data = agent.belief.pack()
    assert len(data) < 1024, "ten tried actions and five states"
    again = Agent(agent.policy, seed=3, belief=lpb.Belief.unpack(agent.policy, data))
    assert again.belief.pack() == data
    assert again.rounds == 40
    for _ in range(5):
        action = agent.ask()
        assert again.ask() == action
        for one in (agent, again):
            one.tell(action, 1.0)
    for broken in (b"", data[:10], data[:-1], data + b"x", b"LPB2" + data[4:], data[:33] + b"\0" + data[34:]):
        with pytest.raises(FileFormatError, match="belief"):
            lpb.Belief.unpack(agent.policy, broken)
    with pytest.raises(FileFormatError, match="give the policy that created it"):
        lpb.Belief.unpack(case.policy(model_for(case.rewards, m=3, k=6)), data)


def altered(agent: Agent, *, hashed: bool = True, **changes: Any) -> str:
    """Return a saved agent with other content, and as if that had been saved (`hashed`)."""
    content = {**json.loads(agent.to_json()), **changes}
    if hashed:
        content["sha256"] = digest({key: value for key, value in content.items() if key != "sha256"})
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ('{"format": "lpbandits-ag', "not valid JSON"),
        ("[]", "'format' 'lpbandits-agent'"),
        ('{"format": "lpbandits-model"}', "must have 'format'"),
        (altered(agent_for(), version=2), "version 2; this lpbandits reads version 3: install the lpbandits that"),
        (altered(agent_for(), hashed=False, seed=1), "altered"),
        (altered(agent_for(), hashed=False, sha256=None), "altered"),
        (agent_for().to_json()[:-1] + ', "seed": 3}', "has the key 'seed' twice"),
        (agent_for().to_json().replace('"asked": 0', '"asked": NaN'), "holds NaN; every number must be finite"),
        (agent_for().to_json().replace('"asked": 0', '"asked": 1e400'), "holds a number beyond 1e308"),
        (agent_for().to_json().replace('"asked": 0', '"asked": ' + "9" * 5000), "thousands of digits"),
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
def test_a_saved_agent_that_is_not_whole_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        Agent.from_json(text)


def test_a_saved_agent_needs_its_own_model() -> None:
    text = agent_for().to_json(with_model=False)
    with pytest.raises(FileFormatError, match="saved without its model"):
        Agent.from_json(text)
    with pytest.raises(FileFormatError, match="saved with another model"):
        Agent.from_json(text, model=PreferenceModel([[0, 1, 2]]))


TRIED = {"action": "rest", "count": 2.0, "sum": 1.0, "spread": 0.0}


@pytest.mark.parametrize(
    ("policy", "row", "message"),
    [
        (lpb.LpbTS(MODEL, rewards="bernoulli"), {"sum": 50.0}, "sum 50 .* a bernoulli reward is 0 to 1"),
        (lpb.LpbTS(MODEL, rewards="bernoulli"), {"sum": 0.5}, "bernoulli rewards are whole"),
        (lpb.LpbTS(MODEL, rewards="poisson"), {"sum": -1.0}, "a poisson reward is 0 to"),
        (lpb.LpbTS(MODEL), {"sum": 1e308}, r"sum 1e\+308 .* a gaussian reward is -1e\+100 to 1e\+100"),
        (lpb.LpbTS(MODEL), {"count": 0.0}, "counts are whole and at least 1"),
        (lpb.LpbTS(MODEL), {"count": 1.5}, "counts are whole and at least 1"),
        (lpb.LpbTS(MODEL), {"spread": 1.0}, "only where the noise is unknown"),
        (lpb.LpbTS(MODEL, noise_known=False), {"spread": 1e300}, "a spread is that of such rewards"),
        (lpb.LpbTS(MODEL), {"sum": "1"}, "tried must .*got text"),
        (lpb.LpbDuel(MODEL), {"sum": 3.0}, "a bernoulli reward is 0 to 1"),
    ],
)
def test_a_belief_that_no_outcomes_lead_to_is_refused(policy: lpb.Policy, row: Any, message: str) -> None:
    agent = Agent(policy, seed=0)
    states = json.loads(agent.to_json())["belief"]["states"]
    belief = {"tried": [{**TRIED, **row}], "states": states, "own": []}
    with pytest.raises(FileFormatError, match=message):
        Agent.from_json(altered(agent, belief=belief, outcomes=None))


@pytest.mark.parametrize("make", [lpb.LpbTS, lpb.MTS, lpb.MUCB, lpb.LpbPaired])
def test_score_and_posterior_are_worked_out_not_believed(make: Callable[..., lpb.Policy]) -> None:
    agent = agent_after(make(MODEL), [("rest", 1.0), ("drug A", 3.0), ("rest", 0.5), ("drug B", 2.0)])
    belief = json.loads(agent.to_json())["belief"]
    lie = {"score": [0.0, -50.0], "posterior": [1.0, 0.0]}
    assert belief["states"]["posterior"] != lie["posterior"]
    for outcomes in (json.loads(agent.to_json())["outcomes"], None):
        told = Agent.from_json(altered(agent, belief={**belief, "states": lie}, outcomes=outcomes))
        np.testing.assert_array_equal(told.posterior, agent.posterior)
        np.testing.assert_array_equal(told.belief.states, agent.belief.states)


@pytest.mark.parametrize(
    ("policy", "own", "message"),
    [
        (lpb.MTS(MODEL), [[0, 0, -1.0]], "misfits are -1"),
        (lpb.MTS(MODEL), [[0, 0, 1e300]], "misfits are"),
        (lpb.MUCB(MODEL), [[0, 0, 7.0]], "sum to 2"),
        (lpb.MUCB(MODEL), [[0, 0, 2.0], [1, 0, 1e300]], "a shortfall is"),
        (lpb.LpbPaired(MODEL), [[0, 0, 2.0]], "inversions are"),
        (lpb.LpbPaired(MODEL), [[1, 0, 400.0]], "action 399 waits"),
        (lpb.DoubleTS(MODEL), [[0, 0, 1.0]], "wins must be"),
        (lpb.LpbDuel(MODEL), [[0, 0, 0.5]], "inversions are"),
        (lpb.LpbTS(MODEL), [[0, 0, 1.0]], "incomplete"),
    ],
)
def test_an_own_part_that_no_outcomes_lead_to_is_refused(policy: lpb.Policy, own: Any, message: str) -> None:
    agent = Agent(policy, seed=0)
    states = json.loads(agent.to_json())["belief"]["states"]
    belief = {"tried": [TRIED], "states": states, "own": own}
    with pytest.raises(FileFormatError, match=message):
        Agent.from_json(altered(agent, belief=belief, outcomes=None))


def test_the_largest_rewards_survive_saving() -> None:
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
def test_ids_of_no_outcome_or_of_the_same_one_are_refused(ids: Any) -> None:
    agent = Agent(lpb.LpbTS(MODEL), seed=1)
    agent.tell("rest", 1.0)
    agent.tell("rest", 1.0)
    with pytest.raises(FileFormatError, match="invalid"):
        Agent.from_json(altered(agent, ids=ids))
