"""`Agent`: one person's decisions, its errors, and what it keeps."""

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import FileFormatError, InvalidInput, NotSupported
from lpbandits.files.reading import digest
from lpbandits.model import PreferenceModel
from tests.conftest import CASES, Case, model_for

MODEL = PreferenceModel(
    [[0, 1, 2], [2, 1, 0]],
    actions=["rest", "drug A", "drug B"],
    means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
)


def agent_for(**settings: Any) -> Agent:
    return Agent(lpb.LpbTS(MODEL, **settings), seed=7)


def test_the_issue_in_five_lines() -> None:
    agent = agent_for(noise=1.0)
    action = agent.ask()
    assert action in MODEL.actions
    agent.tell(action, 3.2)
    assert agent.rounds == 1
    np.testing.assert_allclose(agent.posterior, [0.5, 0.5])  # one action tried orders nothing


def test_actions_go_in_and_out_by_label() -> None:
    agent = agent_for()
    assert agent.ask(["drug A"]) == "drug A"
    agent.tell("drug A", 1.0)
    assert list(agent.explain().tried) == ["drug A"]
    with pytest.raises(InvalidInput, match=r"unknown action 1; the 3 actions are 'rest', 'drug A', 'drug B'"):
        agent.tell(1, 1.0)
    with pytest.raises(InvalidInput, match="unknown action 'drug C'"):
        agent.ask(["rest", "drug C"])


def test_numbers_of_any_make_are_rewards() -> None:
    agents = [agent_for() for _ in range(6)]
    rewards: list[Any] = [1.0, 1, np.float64(1.0), np.float32(1.0), np.int64(1), True]
    for agent, reward in zip(agents, rewards, strict=True):
        agent.tell("rest", reward)
    assert len({agent.to_json() for agent in agents}) == 1


def test_labels_of_numpy_make_are_found() -> None:
    agent = Agent(lpb.LpbTS(PreferenceModel([[0, 1]])), seed=0)
    agent.tell(np.int64(1), 1.0)  # type: ignore[arg-type] # a user's index often comes out of an array
    assert agent.explain().tried == {1: (1, 1.0)}


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (float("nan"), "reward is nan; it must be a finite number"),
        (float("inf"), "reward is inf; it must be a finite number"),
        (1e101, r"reward is 1e\+101; it must lie within ±1e\+100: use smaller units"),
        ("3", "reward is '3', which is not a number"),
        (None, "reward is None, which is not a number"),
        (10**400, "reward is"),
        (np.array([1.0, 2.0]), "reward is"),
    ],
    ids=["nan", "inf", "large", "text", "none", "beyond-floats", "array"],
)
def test_a_reward_that_is_no_number_is_refused(reward: Any, message: str) -> None:
    agent = agent_for()
    before = agent.to_json()
    with pytest.raises(InvalidInput, match=message):
        agent.tell("rest", reward)
    assert agent.to_json() == before


def test_allowed_must_be_a_list() -> None:
    agent = agent_for()
    for allowed in (3, "rest", b"rest"):
        with pytest.raises(InvalidInput, match="allowed is"):
            agent.ask(allowed)  # type: ignore[arg-type] # that is the point
    with pytest.raises(InvalidInput, match="allowed is empty; allow at least one action"):
        agent.ask([])
    assert agent.asked == 0


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", None, True, np.array([1, 2])], ids=str)
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(InvalidInput, match="seed is"):
        Agent(lpb.LpbTS(MODEL), seed=seed)


def test_a_person_is_a_number_or_a_name_and_a_policy_a_policy() -> None:
    for person in (-1, 2**32, 1.5, None, True, ("a",), "\ud800"):
        with pytest.raises(InvalidInput, match="person is"):
            Agent(lpb.LpbTS(MODEL), seed=0, person=person)  # type: ignore[arg-type] # that is the point
    with pytest.raises(InvalidInput, match="give a policy such as LpbTS"):
        Agent("lpbts", seed=0)  # type: ignore[arg-type] # that is the point


def test_people_with_names_have_luck_of_their_own_and_keep_it() -> None:
    model = PreferenceModel([list(range(40))])
    asked = {
        name: [Agent(lpb.Uniform(model), seed=0, person=name).ask() for _ in range(2)] for name in ("alice", "bob", "")
    }
    assert all(one == other for one, other in asked.values())
    assert len({one for one, _ in asked.values()}) > 1
    agent = Agent(lpb.Uniform(model), seed=0, person="alice")
    again = Agent.from_json(agent.to_json())
    assert again.person == "alice"
    assert [again.ask() for _ in range(5)] == [agent.ask() for _ in range(5)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_was_never_told_cannot_be_taken_back(case: Case) -> None:
    agent = Agent(case.policy(), seed=0)
    with pytest.raises(InvalidInput, match=r"1 for action 0 was not told \(it got nothing\); take back what was told"):
        agent.retract(0, 1.0)
    agent.tell(0, 1.0)
    agent.tell(1, 0.0)
    before = agent.to_json()
    with pytest.raises(InvalidInput, match=r"1 for action 1 was not told \(it got 0\)"):
        agent.retract(1, 1.0)
    with pytest.raises(InvalidInput, match=r"0 for action 0 was not told \(it got 1\)"):
        agent.retract(0, 0.0)
    with pytest.raises(InvalidInput, match="unknown action 9"):
        agent.retract(9, 1.0)
    with pytest.raises(InvalidInput, match="reward is nan"):
        agent.retract(0, float("nan"))
    assert agent.to_json() == before


def test_a_value_between_those_told_was_not_told() -> None:
    agent = agent_for()
    agent.tell("rest", 1.0)
    agent.tell("rest", 9.0)
    with pytest.raises(InvalidInput, match=r"5 for action 'rest' was not told \(it got 1, 9\)"):
        agent.retract("rest", 5.0)


@pytest.mark.parametrize("slip", [1e16, -1e100, 1e-300])
def test_taking_back_an_outlandish_reward_leaves_the_others_whole(slip: float) -> None:
    for settings in ({}, {"noise_known": False}):
        agent, clean = agent_for(**settings), agent_for(**settings)
        for one in (agent, clean):
            one.tell("rest", 1.0)
        agent.tell("rest", slip)
        agent.retract("rest", slip)
        assert agent.to_json() == clean.to_json()
        assert agent.explain().tried == {"rest": (1, 1.0)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_retracting_everything_gives_a_new_agent_back(case: Case) -> None:
    agent, new = (Agent(case.policy(first="uniform"), seed=3) for _ in range(2))
    history = [(a, float(r)) for a, r in ((0, 1), (4, 0), (2, 1), (0, 0), (5, 1), (4, 0))]
    for action, reward in history:
        agent.tell(action, reward)
    for action, reward in history[::-1]:
        agent.retract(action, reward)
    assert agent.to_json() == new.to_json()
    assert [agent.ask() for _ in range(10)] == [new.ask() for _ in range(10)]


def test_an_outcome_with_an_id_counts_once() -> None:
    agent = agent_for()
    for _ in range(3):
        agent.tell("rest", 2.0, id="visit 12")
    agent.tell("rest", 2.0, id=12)
    agent.tell("rest", 2.0)
    assert agent.rounds == 3
    again = Agent.from_json(agent.to_json())
    again.tell("rest", 2.0, id="visit 12")
    assert again.rounds == 3
    before = agent.to_json()
    with pytest.raises(
        InvalidInput, match="id 'visit 12' was told as 2 for action 'rest', and now as 3 for action 'rest'"
    ):
        agent.tell("rest", 3.0, id="visit 12")
    for odd in (1.5, True, ("a",), b"x"):
        with pytest.raises(InvalidInput, match="id is"):
            agent.tell("rest", 2.0, id=odd)
    assert agent.to_json() == before
    agent.retract("rest", 2.0)  # the one without an id goes first
    agent.tell("rest", 2.0, id="visit 12")
    assert agent.rounds == 2
    with pytest.raises(InvalidInput, match="2 for action 'rest' was not told with id 'visit 13'"):
        agent.retract("rest", 2.0, id="visit 13")
    agent.retract("rest", 2.0, id="visit 12")
    agent.tell("rest", 2.0, id=12)
    assert agent.rounds == 1
    agent.tell("rest", 2.0, id="visit 12")  # taken back, so it may be told again
    assert agent.rounds == 2


def test_a_belief_of_another_policy_is_refused() -> None:
    policy = lpb.LpbTS(MODEL)
    other = PreferenceModel([[1, 0, 2], [2, 1, 0]], actions=MODEL.actions)
    for wrong in (lpb.MTS(MODEL), lpb.LpbTS(other), lpb.LpbTS(MODEL, noise=2.0), lpb.LpbDuel(MODEL)):
        with pytest.raises(InvalidInput, match="of another policy or model"):
            Agent(policy, seed=0, belief=wrong.new_belief())
        with pytest.raises(FileFormatError, match="of another policy or model"):
            lpb.Belief.unpack(policy, wrong.new_belief().pack())
    for odd in (b"abc", "abc", 3):
        with pytest.raises(InvalidInput, match="give a Belief"):
            Agent(policy, seed=0, belief=odd)  # type: ignore[arg-type] # that is the point
        with pytest.raises(FileFormatError, match="not a packed belief"):
            lpb.Belief.unpack(policy, odd)


def test_a_person_of_numpys_make_can_be_saved_and_luck_goes_on_where_it_was() -> None:
    policy = lpb.Uniform(PreferenceModel([list(range(40))]))
    agent = Agent(policy, seed=0, person=np.int64(3))  # type: ignore[arg-type] # as it comes out of an array
    assert Agent.from_json(agent.to_json()).person == 3
    later = Agent(policy, seed=0, person=3, asked=5)
    assert [agent.ask() for _ in range(8)][5:] == [later.ask() for _ in range(3)]


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])  # noqa: S301
@pytest.mark.parametrize("case", [c for c in CASES if c.kind == "gaussian"], ids=str)
def test_a_copy_is_an_agent_of_its_own(case: Case, clone: Any) -> None:
    agent = Agent(case.policy(model_for(case.rewards, m=4, k=30)), seed=3)
    agent.tell(0, 1.0, id="a")
    agent.tell(4, 2.0)
    before = agent.to_json()
    twin = clone(agent)
    assert twin.to_json() == before
    for action in range(30):
        twin.tell(action, 5.0)
    assert agent.to_json() == before
    twin.retract(4, 2.0)
    agent.tell(7, 1.0)
    assert len(agent.explain().tried) == 3
    assert twin.rounds == 31


def test_two_agents_never_share_a_belief() -> None:
    policy = lpb.TS(PreferenceModel([list(range(40))]))
    one = Agent(policy, seed=0)
    one.tell(3, 1.0)
    other = Agent(policy, seed=1, belief=one.belief)
    for action in range(40):
        one.tell(action, 1.0)
    assert other.rounds == 1
    assert other.ask() in range(40)
    with pytest.raises(InvalidInput, match="room is 0"):
        policy.new_belief(0)
    odd = policy.new_belief()
    odd.slots = odd.slots[:, :2]
    with pytest.raises(InvalidInput, match="not what its policy made"):
        Agent(policy, seed=0, belief=odd)


def test_taking_back_without_an_id_spares_those_that_have_one() -> None:
    agent = agent_for()
    agent.tell("rest", 2.0)
    agent.tell("rest", 2.0, id="visit 12")
    agent.retract("rest", 2.0)
    agent.tell("rest", 2.0, id="visit 12")
    assert agent.rounds == 1


def test_taking_back_by_id_takes_that_one() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    agent, clean = (Agent(lpb.LpbPaired(model), seed=0) for _ in range(2))
    agent.tell(0, 1.0, id="x")
    for one in (agent, clean):
        for action, reward in ((1, 2.0), (2, 0.5), (0, 1.0)):
            one.tell(action, reward)
    agent.tell(1, 1.0, id="y")
    clean.tell(1, 1.0, id="y")
    agent.retract(0, 1.0, id="x")
    assert agent.to_json() == clean.to_json()


def test_settings_and_ids_of_numpys_make() -> None:
    policy = lpb.TS(MODEL, prior_sd=np.float32(10))  # type: ignore[arg-type] # as it comes out of an array
    assert policy.id == lpb.TS(MODEL, prior_sd=10).id == lpb.TS(MODEL, prior_sd=10.0).id
    agent = Agent(policy, seed=0)
    agent.tell("rest", 1.0, id=np.int64(5))
    assert Agent.from_json(agent.to_json()).policy == agent.policy
    agent.tell("rest", 1.0, id=5)
    assert agent.rounds == 1


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
        with pytest.raises(NotSupported, match=r"2 outcomes were taken in before this agent was restored without them"):
            use()
    assert Agent.from_json(again.to_json()).rounds == 3


@pytest.mark.parametrize("case", CASES, ids=str)
def test_another_model_is_told_what_it_knows(case: Case) -> None:
    agent = Agent(case.policy(), seed=3, person="bo")
    model = agent.policy.model
    assert model.means is not None
    for action, reward in ((0, 1.0), (4, 0.0), (4, 1.0), (2, 1.0)):
        agent.tell(action, reward)
    smaller = PreferenceModel([[0, 1, 2]], actions=[0, 2, "new"], means=[[0.9, 0.5, 0.1]])
    newer, dropped = agent.with_model(smaller)
    assert dropped == {4: 2}
    assert newer.outcomes == [(0, 1.0), (2, 1.0)]
    assert (newer.seed, newer.person, newer.asked) == (agent.seed, "bo", agent.asked)
    assert newer.policy.evidence == agent.policy.evidence
    same, none = agent.with_model(model)
    assert none == {}
    assert same.to_json() == agent.to_json()


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
    with pytest.raises(FileFormatError, match="give the policy it was made with"):
        lpb.Belief.unpack(case.policy(model_for(case.rewards, m=3, k=6)), data)


@pytest.mark.parametrize("case", [c for c in CASES if not c.policy().evidence.latent], ids=str)
def test_policies_without_states_have_no_posterior(case: Case) -> None:
    agent = Agent(case.policy(), seed=0)
    with pytest.raises(NotSupported, match=f"{type(agent.policy).__name__} has no latent states"):
        agent.posterior  # noqa: B018 - reading it is the test
    assert agent.explain().states == ()


def test_posterior_is_a_copy() -> None:
    agent = agent_for()
    agent.posterior[:] = 0.0
    np.testing.assert_allclose(agent.posterior, [0.5, 0.5])


def test_explanation_for_people_and_machines() -> None:
    agent = agent_for(noise=1.0)
    assert "tried: nothing" in str(agent.explain())
    for action, reward in (("rest", 1.0), ("drug B", 3.0), ("rest", 2.0)):
        agent.tell(action, reward)
    explanation = agent.explain()
    assert explanation.tried == {"rest": (2, 1.5), "drug B": (1, 3.0)}
    likely, unlikely = explanation.states
    assert (likely.state, likely.active) == (1, 0)
    assert likely.blocks == (("drug B",), ("rest",))
    assert likely.means == {"drug B": 3.0, "drug A": 2.25, "rest": 1.5}, "untried: halfway between its neighbours"
    assert likely.intervals == {"drug A": (1.5, 3.0)}
    assert unlikely.blocks == (("rest", "drug B"),)
    assert unlikely.means == {"rest": 2.0, "drug A": 2.0, "drug B": 2.0}
    assert unlikely.active == 1
    np.testing.assert_allclose(likely.probability, 1 / (1 + np.exp(-0.75)))  # residuals 2·½² + 1² over 2σ²
    assert str(explanation).startswith("tried: rest 1.5 (×2), drug B 3 (×1)\nstate 1: 67.9%  drug B 3 > rest 1.5")
    again = json.loads(json.dumps(explanation.to_dict()))
    assert again["tried"] == [
        {"action": "rest", "count": 2, "mean": 1.5},
        {"action": "drug B", "count": 1, "mean": 3.0},
    ]
    assert again["states"][0]["intervals"] == [{"action": "drug A", "low": 1.5, "high": 3.0}]


def test_known_means_are_explained_by_themselves() -> None:
    agent = Agent(lpb.MTS(MODEL), seed=0)
    agent.tell("drug A", 2.0)
    state = agent.explain().states[0]
    assert list(state.means.values()) == [3.0, 2.0, 1.0]
    assert (state.blocks, state.active) == ((("drug A",),), 0)


def altered(agent: Agent, *, hashed: bool = True, **changes: Any) -> str:
    """Return a saved agent with other content, and as if that had been saved (`hashed`)."""
    content = {**json.loads(agent.to_json()), **changes}
    if hashed:
        content["sha256"] = digest({key: value for key, value in content.items() if key != "sha256"})
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not whole JSON"),
        ('{"format": "lpbandits-ag', "not whole JSON"),
        ("[]", "not a saved agent: its 'format' is not 'lpbandits-agent'"),
        ('{"format": "lpbandits-model"}', "not a saved agent"),
        (altered(agent_for(), version=2), "version 2; this lpbandits reads version 3: install the lpbandits that"),
        (altered(agent_for(), hashed=False, seed=1), "altered after it was written"),
        (altered(agent_for(), hashed=False, sha256=None), "altered after it was written"),
        (agent_for().to_json()[:-1] + ', "seed": 3}', "has the key 'seed' twice"),
        (agent_for().to_json().replace('"asked": 0', '"asked": NaN'), "holds NaN; every number must be finite"),
        (agent_for().to_json().replace('"asked": 0', '"asked": 1e400'), "holds a number beyond 1e308"),
        (agent_for().to_json().replace('"asked": 0', '"asked": ' + "9" * 5000), "thousands of digits"),
        (altered(agent_for(), seed=-1), "not usable: seed is -1"),
        (altered(agent_for(), asked="x"), "not usable: asked is 'x'"),
        (altered(agent_for(), policy={}), "saved policy is not whole"),
        (altered(agent_for(), belief={"tried": [{"action": "drug C"}]}), "unknown action 'drug C'"),
        (altered(agent_for(), belief={"tried": [{"action": "rest", "count": 1}]}), "not whole"),
        (altered(agent_for(), belief={"tried": [], "states": {}}), "not whole"),
        (altered(agent_for(), belief=None), "not whole"),
        (altered(agent_for(), outcomes=[["rest", 1.0]]), "belief is not what its outcomes lead to"),
        (altered(agent_for(), outcomes=[["rest"]]), "not whole"),
        (altered(agent_for(), outcomes=[["rest", 1e300]]), "not usable: reward is 1e.300"),
        (altered(agent_for(), ids=3), "not whole"),
        (altered(agent_for(), model=None), "the agent's model is not a preference model"),
    ],
)
def test_a_saved_agent_that_is_not_whole_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        Agent.from_json(text)


def test_a_saved_agent_needs_its_own_model() -> None:
    text = agent_for().to_json(with_model=False)
    with pytest.raises(FileFormatError, match=r"saved without its model; give it: Agent.from_json\(text, model"):
        Agent.from_json(text)
    with pytest.raises(FileFormatError, match="saved with another model"):
        Agent.from_json(text, model=PreferenceModel([[0, 1, 2]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": 0.0}, "noise is 0.0; it must be greater than 0"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"noise": "1"}, "noise is '1', which is not a number"),
        ({"rewards": "binary"}, "rewards is 'binary'; choose one of: gaussian, bernoulli, poisson"),
        ({"rewards": "poisson", "noise": 1.0}, "poisson rewards have no noise of their own; leave it out"),
        ({"rewards": "bernoulli", "noise_known": False}, "noise_known=False has no meaning for bernoulli"),
        ({"likelihood": "full"}, "likelihood is 'full'; choose one of: refit, incremental"),
        ({"likelihood": "incremental", "noise_known": False}, "needs a known noise"),
        ({"first": "best"}, "first is 'best'; choose one of: prior, uniform"),
    ],
)
def test_bad_settings_of_a_policy_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.LpbTS(MODEL, **settings)


def test_a_policy_needs_a_model_and_parts_that_fit() -> None:
    from lpbandits.policies.evidences import Refit, Tally
    from lpbandits.policies.rules import Sample, Thompson

    with pytest.raises(InvalidInput, match="give a PreferenceModel"):
        lpb.LpbTS([[0, 1]])  # type: ignore[arg-type] # that is the point
    with pytest.raises(InvalidInput, match="the rule 'sample' needs states, which 'tally' does not weigh"):
        lpb.Policy(MODEL, Tally(), Sample())
    with pytest.raises(InvalidInput, match="'thompson' uses no states, so 'refit' would be wasted"):
        lpb.Policy(MODEL, Refit(), Thompson())


def test_a_noise_too_small_to_square_leaves_a_distribution_or_is_refused() -> None:
    try:
        agent = agent_for(noise=1e-200)
    except InvalidInput as error:
        assert "noise is 1e-200" in str(error)  # noqa: PT017 - either answer is right
    else:
        agent.tell("rest", 1.0)
        agent.tell("drug A", 2.0)
        np.testing.assert_allclose(agent.posterior.sum(), 1.0)


def test_probabilities_of_thompson_far_from_zero() -> None:
    agent = Agent(lpb.TS(MODEL, noise=1.0), seed=0)
    for action in MODEL.actions:
        agent.tell(action, 1e18)
    np.testing.assert_allclose(agent.probabilities().sum(), 1.0)


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
        (lpb.LpbTS(MODEL), {"sum": "1"}, "tried is not an array of numbers: it holds text"),
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
    agent = Agent(make(MODEL), seed=0)
    for action, reward in [("rest", 1.0), ("drug A", 3.0), ("rest", 0.5), ("drug B", 2.0)]:
        agent.tell(action, reward)
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
        (lpb.MUCB(MODEL), [[0, 0, 7.0]], "not 2 rounds"),
        (lpb.MUCB(MODEL), [[0, 0, 2.0], [1, 0, 1e300]], "a shortfall is"),
        (lpb.LpbPaired(MODEL), [[0, 0, 2.0]], "inversions are"),
        (lpb.LpbPaired(MODEL), [[1, 0, 400.0]], "action 399 waits"),
        (lpb.DoubleTS(MODEL), [[0, 0, 1.0]], "wins add up to"),
        (lpb.LpbDuel(MODEL), [[0, 0, 0.5]], "inversions are"),
        (lpb.LpbTS(MODEL), [[0, 0, 1.0]], "not whole"),
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
    with pytest.raises(FileFormatError, match="not usable"):
        Agent.from_json(altered(agent, ids=ids))
