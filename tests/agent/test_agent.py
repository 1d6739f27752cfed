"""`Agent`: decisions of one person, errors, retraction, copies and explanations."""

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.model import PreferenceModel
from tests.conftest import CASES, Case, agent_after, model_for, with_taste

MODEL = PreferenceModel(
    [[0, 1, 2], [2, 1, 0]],
    actions=["rest", "drug A", "drug B"],
    means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]],
)


def agent_for(**settings: Any) -> Agent:
    return Agent(lpb.LpbTS(MODEL, **settings), seed=7)


def test_actions_are_labels() -> None:
    agent = agent_for()
    assert agent.ask(["drug A"]) == "drug A"
    agent.tell("drug A", 1.0)
    agent.posterior[:] = 0.0  # a copy
    np.testing.assert_allclose(agent.posterior, [0.5, 0.5])  # one tried action says nothing about the order
    assert list(agent.explain().tried) == ["drug A"]
    with pytest.raises(InvalidInput, match=r"unknown action 1; .*'rest', 'drug A', 'drug B'"):
        agent.tell(1, 1.0)
    with pytest.raises(InvalidInput, match="unknown action 'drug C'"):
        agent.ask(["rest", "drug C"])


def test_rewards_and_labels_may_be_numpy_numbers() -> None:
    agents = [agent_for() for _ in range(6)]
    rewards: list[Any] = [1.0, 1, np.float64(1.0), np.float32(1.0), np.int64(1), True]
    for agent, reward in zip(agents, rewards, strict=True):
        agent.tell("rest", reward)
    assert len({agent.to_json() for agent in agents}) == 1
    agent = Agent(lpb.LpbTS(PreferenceModel([[0, 1]])), seed=0)
    agent.tell(np.int64(1), 1.0)  # type: ignore[arg-type] # an index from an array
    assert agent.explain().tried == {1: (1, 1.0)}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("policy", ["lpbts", None]),
        ("seed", [-1, 2**63, 1.5, "7", None, True, np.array([1, 2])]),
        ("person", [1.5, None, True, ("a",), "\ud800", 10**101]),
        ("asked", [-1, 2**32, 0.5]),
        ("belief", ["x", b"x"]),
    ],
)
def test_an_invalid_argument_is_an_error(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(InvalidInput, match=f"{name} must"):
            Agent(**{"policy": lpb.LpbTS(MODEL), "seed": 0, name: value})


def test_people_have_different_random_streams_which_are_saved() -> None:
    policy = lpb.Uniform(PreferenceModel([list(range(40))]))
    actions = set()
    for person in ("alice", "bob", " é", -1, 2**32, 10**30):
        agent, twin = (Agent(policy, seed=0, person=label) for label in (person, str(person)))
        restored = Agent.from_json(agent.to_json())
        assert restored.person == person
        plays = [[copy.ask() for _ in range(5)] for copy in (agent, twin, restored)]
        assert plays[0] == plays[1] == plays[2]
        actions.add(tuple(plays[0]))
    assert len(actions) == 6


@pytest.mark.parametrize("case", CASES, ids=str)
def test_only_reported_outcomes_can_be_retracted(case: Case) -> None:
    agent = Agent(case.policy(), seed=0)
    with pytest.raises(InvalidInput, match=r"retract reward 1 for 0.*none"):
        agent.retract(0, 1.0)
    agent.tell(0, 1.0)
    agent.tell(1, 0.0)
    before = agent.to_json()
    with pytest.raises(InvalidInput, match=r"retract reward 1 for 1.*reward 0 for 1"):
        agent.retract(1, 1.0)
    with pytest.raises(InvalidInput, match=r"retract reward 0 for 0.*reward 1 for 0"):
        agent.retract(0, 0.0)
    with pytest.raises(InvalidInput, match="unknown action 9"):
        agent.retract(9, 1.0)
    with pytest.raises(InvalidInput, match=r"reward.*nan"):
        agent.retract(0, float("nan"))
    assert agent.to_json() == before


def test_an_outcome_with_an_id_counts_once() -> None:
    agent = agent_for()
    for _ in range(3):
        agent.tell("rest", 2.0, id="visit 12")
    agent.tell("rest", 2.0, id=12)
    agent.tell("rest", 2.0)
    assert agent.rounds == 3
    restored = Agent.from_json(agent.to_json())
    restored.tell("rest", 2.0, id="visit 12")
    assert restored.rounds == 3
    before = agent.to_json()
    with pytest.raises(InvalidInput, match=r"id 'visit 12'.*reward 2 for 'rest'.*reward 3 for 'rest'"):
        agent.tell("rest", 3.0, id="visit 12")
    for invalid in (1.5, True, ("a",), b"x"):
        with pytest.raises(InvalidInput, match="id must be"):
            agent.tell("rest", 2.0, id=invalid)
    assert agent.to_json() == before
    agent.retract("rest", 2.0)  # the outcome without an id
    agent.tell("rest", 2.0, id="visit 12")
    assert agent.rounds == 2
    with pytest.raises(InvalidInput, match="retract reward 2 for 'rest' with id 'visit 13'"):
        agent.retract("rest", 2.0, id="visit 13")
    agent.retract("rest", 2.0, id="visit 12")
    agent.tell("rest", 2.0, id=12)
    assert agent.rounds == 1
    agent.tell("rest", 2.0, id="visit 12")  # it was retracted, so its id is free
    assert agent.rounds == 2


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])  # noqa: S301
@pytest.mark.parametrize("case", [c for c in CASES if c.kind == "gaussian"], ids=str)
def test_a_copy_is_independent(case: Case, clone: Any) -> None:
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


def test_agents_do_not_share_a_belief() -> None:
    policy = lpb.TS(PreferenceModel([list(range(40))]))
    one = Agent(policy, seed=0)
    one.tell(3, 1.0)
    other = Agent(policy, seed=1, belief=one.belief)
    for action in range(40):
        one.tell(action, 1.0)
    assert other.rounds == 1
    assert other.ask() in range(40)
    with pytest.raises(InvalidInput, match=r"room.*0"):
        policy.new_belief(0)


def test_retracting_by_id_removes_that_outcome() -> None:
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


def test_settings_and_ids_may_be_numpy_numbers() -> None:
    policy = lpb.TS(MODEL, prior_sd=np.float32(10))  # type: ignore[arg-type] # from an array
    assert policy.id == lpb.TS(MODEL, prior_sd=10).id == lpb.TS(MODEL, prior_sd=10.0).id
    agent = Agent(policy, seed=0)
    agent.tell("rest", 1.0, id=np.int64(5))
    assert Agent.from_json(agent.to_json()).policy == agent.policy
    agent.tell("rest", 1.0, id=5)
    assert agent.rounds == 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_with_model_keeps_the_outcomes_of_known_actions(case: Case) -> None:
    agent = Agent(case.policy(), seed=3, person="bo")
    model = agent.policy.model
    assert model.means is not None
    for action, reward in ((0, 1.0), (4, 0.0), (4, 1.0), (2, 1.0)):
        agent.tell(action, reward)
    smaller = with_taste(PreferenceModel([[0, 1, 2]], actions=[0, 2, "new"], means=[[0.9, 0.5, 0.1]]))
    newer, dropped = agent.with_model(smaller)
    assert dropped == {4: 2}
    assert newer.outcomes == [(0, 1.0), (2, 1.0)]
    assert (newer.seed, newer.person, newer.asked) == (agent.seed, "bo", agent.asked)
    assert newer.policy.evidence == agent.policy.evidence
    same, none = agent.with_model(model)
    assert none == {}
    assert same.to_json() == agent.to_json()


@pytest.mark.parametrize("case", [c for c in CASES if not c.policy().evidence.latent], ids=str)
def test_a_policy_without_states_has_no_posterior(case: Case) -> None:
    agent = Agent(case.policy(), seed=0)
    with pytest.raises(NotSupported, match=f"{type(agent.policy).__name__} has no latent states"):
        agent.posterior  # noqa: B018 - reading it is the test
    assert agent.explain().states == ()


def test_explanations_as_values_text_and_json() -> None:
    agent = agent_for(noise=1.0)
    assert "tried: nothing" in str(agent.explain())
    for action, reward in (("rest", 1.0), ("drug B", 3.0), ("rest", 2.0)):
        agent.tell(action, reward)
    explanation = agent.explain()
    assert explanation.tried == {"rest": (2, 1.5), "drug B": (1, 3.0)}
    likely, unlikely = explanation.states
    assert (likely.state, likely.active) == (1, 0)
    assert likely.blocks == (("drug B",), ("rest",))
    assert likely.means == {"drug B": 3.0, "drug A": 2.25, "rest": 1.5}, "an untried action is interpolated"
    assert likely.intervals == {"drug A": (1.5, 3.0)}
    assert unlikely.blocks == (("rest", "drug B"),)
    assert unlikely.means == {"rest": 2.0, "drug A": 2.0, "drug B": 2.0}
    assert unlikely.active == 1
    np.testing.assert_allclose(likely.probability, 1 / (1 + np.exp(-0.75)))  # residuals 2·½² + 1² over 2σ²
    assert str(explanation).startswith("tried: rest 1.5 (×2), drug B 3 (×1)\nprobability of each state (optimistic):\n")
    assert "\nstate 1: 67.9%  drug B 3 > rest 1.5\n" in str(explanation)
    content = json.loads(json.dumps(explanation.to_dict()))
    assert content["tried"] == [
        {"action": "rest", "count": 2, "mean": 1.5},
        {"action": "drug B", "count": 1, "mean": 3.0},
    ]
    assert content["states"][0]["intervals"] == [{"action": "drug A", "low": 1.5, "high": 3.0}]


def test_explanations_of_known_means() -> None:
    state = agent_after(lpb.MTS(MODEL), [("drug A", 2.0)]).explain().states[0]
    assert list(state.means.values()) == [3.0, 2.0, 1.0]
    assert (state.blocks, state.active) == ((("drug A",),), 0)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"noise": 0.0}, "noise.*0.0"),
        ({"noise": 1e-200}, "noise.*1e-200"),
        ({"rewards": "binary"}, "rewards.*'binary'"),
        ({"rewards": "poisson", "noise": 1.0}, "noise.*poisson"),
        ({"rewards": "bernoulli", "noise_known": False}, "noise_known.*bernoulli"),
        ({"likelihood": "full"}, "likelihood.*'full'"),
        ({"likelihood": "incremental", "noise_known": False}, "needs a known noise"),
        ({"first": "best"}, "first.*'best'"),
    ],
)
def test_invalid_settings_of_a_policy_are_errors(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        lpb.LpbTS(MODEL, **settings)


def test_probabilities_of_thompson_far_from_zero() -> None:
    agent = agent_after(lpb.TS(MODEL, noise=1.0), [(action, 1e18) for action in MODEL.actions])
    np.testing.assert_allclose(agent.probabilities().sum(), 1.0)
