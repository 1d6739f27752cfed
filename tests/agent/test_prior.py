"""An agent's own prior: given, from covariates, saved, and moved to another model."""

import copy
import json
import pickle
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.policies import Policy
from tests.agent.test_persistence import altered
from tests.conftest import CASES, Case, model_for, personal_priors


def covariates(columns: list[str], kinds: list[str], levels: Any, coefficients: Any) -> lpb.CovariateModel:
    """Return covariates of two states, centred at 40 in units of 10."""
    n = len(columns)
    means, scales = np.full(n, 40.0), np.full(n, 10.0)
    return lpb.CovariateModel(columns, kinds, levels, means, scales, np.zeros(2), coefficients, 0.9)


SEX = covariates(["sex"], ["text"], [["f", "m"]], [[2.0, 0, 0], [0, 2.0, 0]])
MODEL = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0]], actions=["rest", "drug A", "drug B"], state_names=["calm", "busy"], covariates=SEX
)
PRIOR = [0.9, 0.1]
OUTCOMES = [("rest", 1.0), ("drug B", 2.0), ("drug A", 0.5)]


def told(policy: Policy, **settings: Any) -> Agent:
    agent = Agent(policy, seed=7, person="ann", **settings)
    for action, reward in OUTCOMES:
        agent.tell(action, reward)
    return agent


LATENT = [case for case in CASES if case.policy().evidence.latent]


@pytest.mark.parametrize("case", LATENT, ids=str)
def test_a_prior_equals_that_of_a_model_which_has_it(case: Case) -> None:
    """Constants of an evidence may depend on the model's prior, so it is compared where they do not."""
    model = model_for(case.rewards, m=4, k=6)
    prior = personal_priors(3, 4)[2]
    own = Agent(case.policy(model), seed=3, prior=prior)
    other = Agent(case.policy(model.replace(prior=prior)), seed=3)
    assert own.policy.model.sha256 != other.policy.model.sha256
    for i in range(8):
        np.testing.assert_array_equal(own.posterior, other.posterior)
        action = own.ask()
        assert action == other.ask()
        for agent in (own, other):
            agent.tell(action, float(i % 2))
    np.testing.assert_array_equal(own.probabilities(), other.probabilities())


def test_a_prior_is_a_list_or_a_dict_by_name_or_index() -> None:
    policy = lpb.LpbTS(MODEL)
    for prior in (PRIOR, np.array(PRIOR), {"calm": 0.9, "busy": 0.1}, {0: 0.9, 1: 0.1}, {"0": 0.9, 1: 0.1}):
        agent = Agent(policy, seed=0, prior=prior)
        assert agent.posterior.tolist() == agent.prior.tolist() == PRIOR
    assert Agent(policy, seed=0, prior={"busy": 1}).prior.tolist() == [0.0, 1.0]
    assert Agent(policy, seed=0).prior.tolist() == MODEL.prior.tolist()


@pytest.mark.parametrize(
    ("prior", "match"),
    [
        ([0.5, 0.4], "prior must sum to 1.*0.9"),
        ([0.5, 0.25, 0.25], "prior must be of shape 2"),
        ([1.5, -0.5], r"prior\[1\].*-0.5"),
        ("calm", "prior"),
        (0.5, "prior"),
        ({"clam": 1.0}, "unknown state 'clam'.*did you mean 'calm'"),
        ({"calm": 0.5, 0: 0.5}, "each state once"),
        ({"calm": "x"}, r"prior\[0\].*'x'"),
        ({2: 1.0}, "unknown state 2"),
    ],
)
def test_an_invalid_prior_is_an_error(prior: Any, match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        Agent(lpb.LpbTS(MODEL), seed=0, prior=prior)


def test_a_state_name_that_two_states_have_is_an_error() -> None:
    twins = MODEL.replace(state_names=["calm", "calm"])
    with pytest.raises(lpb.InvalidInput, match="several states have the name 'calm'"):
        Agent(lpb.LpbTS(twins), seed=0, prior={"calm": 1.0})
    assert Agent(lpb.LpbTS(twins), seed=0, prior={1: 1.0}).prior.tolist() == [0.0, 1.0]


def test_policies_without_states_and_given_beliefs_take_no_prior() -> None:
    refused: list[dict[str, Any]] = [{"prior": PRIOR}, {"covariates": {"sex": "f"}}]
    for settings in refused:
        with pytest.raises(lpb.NotSupported, match=f"{next(iter(settings))}.*TS has none"):
            Agent(lpb.TS(MODEL), seed=0, **settings)
    policy = lpb.LpbTS(MODEL)
    with pytest.raises(lpb.InvalidInput, match=r"prior.*belief"):
        Agent(policy, seed=0, prior=PRIOR, belief=policy.new_belief())
    with pytest.raises(lpb.InvalidInput, match=r"prior.*covariates"):
        Agent(policy, seed=0, prior=PRIOR, covariates={"sex": "f"})


@pytest.mark.parametrize("settings", [{"prior": PRIOR}, {"covariates": {"sex": "m"}}], ids=["prior", "covariates"])
def test_a_prior_survives_saving_copies_and_retraction(settings: dict[str, Any]) -> None:
    policy = lpb.LpbTS(MODEL, noise=1.0)
    agent = told(policy, **settings)
    data = agent.belief.pack()
    restored = [
        Agent.from_json(agent.to_json()),
        Agent.from_json(agent.to_json(outcomes=False)),
        copy.copy(agent),
        copy.deepcopy(agent),
        pickle.loads(pickle.dumps(agent)),  # noqa: S301 - our own bytes
        Agent(policy, seed=7, person="ann", asked=agent.asked, belief=lpb.Belief.unpack(policy, data)),
    ]
    for one in restored:
        np.testing.assert_array_equal(one.prior, agent.prior)
        np.testing.assert_array_equal(one.belief.states, agent.belief.states)
        assert one.belief.pack() == data
        assert one.ask() == copy.copy(agent).ask()
        if one is not restored[-1]:  # a belief has no covariates
            assert one.covariates == settings.get("covariates")
    agent.retract("drug B", 2.0)
    agent.tell("drug B", 2.0)
    again = Agent(policy, seed=7, person="ann", **settings)
    for action, reward in (OUTCOMES[0], OUTCOMES[2], OUTCOMES[1]):
        again.tell(action, reward)
    np.testing.assert_array_equal(agent.belief.states, again.belief.states)


def test_missing_covariates_are_saved_as_null() -> None:
    for missing in (None, float("nan"), "n/a", np.str_("-")):
        agent = Agent(lpb.LpbTS(MODEL), seed=0, covariates={"sex": missing})
        assert json.loads(agent.to_json())["covariates"] == {"sex": None}
        assert Agent.from_json(agent.to_json()).covariates == agent.covariates


def test_an_agent_without_a_prior_is_saved_as_before() -> None:
    content = json.loads(told(lpb.LpbTS(MODEL)).to_json())
    assert content["version"] == 3
    assert "prior" not in content["belief"]
    assert json.loads(told(lpb.LpbTS(MODEL), prior=PRIOR).to_json())["version"] == 4


def test_a_damaged_prior_is_an_error() -> None:
    policy = lpb.LpbTS(MODEL)
    agent = told(policy, prior=PRIOR)
    for outcomes in (True, False):
        belief = json.loads(agent.to_json())["belief"] | {"prior": [0.9, 0.2]}
        changed: dict[str, Any] = {} if outcomes else {"outcomes": None}
        with pytest.raises(lpb.FileFormatError, match="prior must sum to 1"):
            Agent.from_json(altered(agent, belief=belief, **changed))
    data, plain = agent.belief.pack(), told(policy).belief.pack()
    for broken in (b"LPB2" + data[4:], b"LPP2" + plain[4:], data[:-8], data[:-1] + b"x"):
        with pytest.raises(lpb.FileFormatError, match="truncated or damaged"):
            lpb.Belief.unpack(policy, broken)


def test_an_invalid_prior_with_a_valid_checksum_is_an_error() -> None:
    policy = lpb.LpbTS(MODEL)
    data = told(policy, prior=PRIOR).belief.pack()  # its last 16 bytes are the prior
    for prior in ([0.9, 0.2], [-0.1, 1.1], [float("nan"), 1.0]):
        rest = data[8:-16] + struct.pack("<2d", *prior)
        with pytest.raises(lpb.FileFormatError, match="saved belief is invalid: prior"):
            lpb.Belief.unpack(policy, data[:4] + struct.pack("<I", zlib.crc32(rest)) + rest)


def test_with_model_keeps_a_prior_over_the_same_states_only() -> None:
    agent = told(lpb.LpbTS(MODEL), prior=PRIOR)
    newer, _ = agent.with_model(MODEL.replace(prior=[0.3, 0.7], covariates=None))
    assert newer.prior.tolist() == PRIOR
    swapped = MODEL.replace(orderings=[[2, 1, 0], [0, 1, 2]])
    with pytest.raises(lpb.InvalidInput, match="prior must be given for the 2 states"):
        agent.with_model(swapped)
    assert agent.with_model(swapped, prior=[0.2, 0.8])[0].prior.tolist() == [0.2, 0.8]
    assert agent.with_model(swapped, prior=swapped.prior)[0].prior.tolist() == [0.5, 0.5]


def test_with_model_uses_the_covariates_of_the_new_model() -> None:
    agent = told(lpb.LpbTS(MODEL), covariates={"sex": "m"})
    np.testing.assert_array_equal(agent.prior, MODEL.prior_for({"sex": "m"}))
    other = MODEL.replace(
        orderings=[[2, 1, 0], [0, 1, 2]],
        covariates=covariates(["age"], ["number"], [[]], np.zeros((2, 2))),
    )
    newer, _ = agent.with_model(other)
    assert newer.covariates == {}
    assert newer.prior.tolist() == [0.5, 0.5]
    with pytest.raises(lpb.InvalidInput, match="prior must be given"):
        agent.with_model(other.replace(covariates=None))
