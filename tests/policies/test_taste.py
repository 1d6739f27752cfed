"""Taste: the posterior against dense conditioning of a Gaussian, invariances, and validation of taste models."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.errors import FileFormatError, InvalidInput
from lpbandits.kernels import taste as kernels
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief
from lpbandits.taste_model import TasteModel
from tests import naive
from tests.conftest import REWARDS, Outcome, agent_after, taste_for


@st.composite
def tastes(draw: st.DrawFn, max_actions: int = 6) -> TasteModel:
    k, d = draw(st.integers(1, max_actions)), draw(st.integers(0, 7))
    number = st.floats(-2, 2)
    return TasteModel(
        np.array(draw(st.lists(number, min_size=k, max_size=k))),
        np.array(draw(st.lists(number, min_size=k * d, max_size=k * d))).reshape(k, d),
        np.array(draw(st.lists(st.floats(0.05, 2), min_size=k, max_size=k))),
        offset=draw(st.floats(0, 2)),
        level=draw(st.floats(-5, 5)),
        log_scale=draw(st.floats(-1, 1)),
        log_scale_sd=draw(st.floats(0, 0.8)),
        lasting=draw(st.floats(0, 0.95)),
        calibration=draw(st.floats(0.5, 2)),
    )


def model_of(taste: TasteModel) -> PreferenceModel:
    return PreferenceModel([np.arange(taste.n_actions)], taste=taste)


def outcomes(k: int, max_size: int = 12) -> st.SearchStrategy[list[Outcome]]:
    return st.lists(st.tuples(st.integers(0, k - 1), st.floats(-8, 8)), max_size=max_size)


@pytest.mark.jitless
@settings(max_examples=60)
@given(data=st.data())
def test_forecasts_equal_dense_conditioning(data: st.DataObject) -> None:
    taste = data.draw(tastes())
    history: list[Outcome] = data.draw(outcomes(taste.n_actions))
    lasting = data.draw(st.none() | st.floats(0, 0.95))
    policy = lpb.Taste(model_of(taste), lasting=lasting)
    agent = agent_after(policy, history)
    mean, sd, weights = naive.taste_of(policy, history)
    np.testing.assert_allclose(policy.expected(agent.belief)[0], mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(policy.predictive_sd(agent.belief), sd, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(agent.belief.own[kernels.WEIGHT, :9], weights, rtol=1e-5, atol=1e-6)


@given(data=st.data())
def test_a_packed_belief_has_the_same_forecasts(data: st.DataObject) -> None:
    taste = data.draw(tastes())
    policy = lpb.Taste(model_of(taste))
    agent = agent_after(policy, data.draw(outcomes(taste.n_actions)))
    packed = agent.belief.pack()
    restored = Belief.unpack(policy, packed)
    assert restored.pack() == packed
    np.testing.assert_allclose(policy.expected(restored), policy.expected(agent.belief), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(policy.predictive_sd(restored), policy.predictive_sd(agent.belief), rtol=1e-7, atol=1e-7)
    text = agent.to_json(outcomes=False)
    assert json.loads(text)["belief"]["own"] == []
    restored = lpb.Agent.from_json(text).belief
    np.testing.assert_allclose(policy.expected(restored), policy.expected(agent.belief), rtol=1e-7, atol=1e-7)


def test_many_rewards_of_one_action_leave_finite_numbers() -> None:
    policy = lpb.Taste(model_of(taste_for(5)))
    agent = agent_after(policy, [(0, 1.0 + 0.1 * (i % 7)) for i in range(5000)] + [(1, 1e100), (2, -1e100)])
    assert np.isfinite(policy.expected(agent.belief)).all()
    assert np.isfinite(policy.predictive_sd(agent.belief)).all()


def test_explanations_have_forecasts() -> None:
    model = PreferenceModel([[0, 1, 2]], actions=["tea", "jam", "rum"], taste=taste_for(3))
    agent = agent_after(lpb.Taste(model), [("jam", 4.0)])
    explanation = agent.explain()
    policy = agent.policy
    mean, sd = policy.expected(agent.belief)[0], policy.predictive_sd(agent.belief)
    assert list(explanation.forecasts) == [model.actions[a] for a in np.argsort(-mean)]
    for a, label in enumerate(model.actions):
        forecast = explanation.forecasts[label]
        np.testing.assert_allclose([forecast.mean, forecast.high - forecast.mean], [mean[a], 1.2815515655 * sd[a]])
        np.testing.assert_allclose(forecast.mean - forecast.low, forecast.high - forecast.mean)
    assert "80% within" in str(explanation)
    assert explanation.to_dict()["forecasts"][0]["action"] == agent.ask()
    assert agent.probabilities()[model.index[agent.ask()]] == 1.0


def test_greedy_averages_over_states() -> None:
    model = PreferenceModel([[0, 1, 2], [2, 1, 0]], prior=[0.4, 0.6], means=[[5.0, 3.0, 1.0], [1.0, 3.0, 4.0]])
    policy = lpb.Policy(model, lpb.evidences.KnownMeans(), lpb.rules.Greedy())
    assert lpb.Agent(policy, seed=0).ask() == 1  # 2.6, 3 and 2.8


def test_repeated_actions_give_one_lock_in_warning() -> None:
    model = model_of(taste_for(4))
    world = lpb.MeansWorld(model, [[1.0, 2.0, 3.0, 4.0]], rewards=REWARDS["gaussian"])
    with pytest.warns(lpb.errors.LockInWarning, match="'greedy'"):
        lpb.simulation.rollout(lpb.Taste(model), world.draw(people=2, seed=0), rounds=3, seed=0)
    with pytest.warns(lpb.errors.LockInWarning, match="'greedy'") as caught:
        lpb.simulate(world, ["taste"], people=2, rounds=3)
    assert len(caught) == 1


def test_replayed_people_give_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    world = lpb.ReplayWorld(model_of(taste_for(4)), [[1.0, 2.0, 3.0, 4.0]], least=3)
    lpb.simulate(world, ["taste"], people=1, rounds=3)
    assert not [warning for warning in recwarn if warning.category is lpb.errors.LockInWarning]


VALID: dict[str, Any] = {"means": [0.5, -0.5], "factors": [[1.0], [2.0]], "variances": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"means": []}, "means|shape"),
        ({"means": [0.5, np.nan]}, "means"),
        ({"means": np.zeros((2, 2))}, "means"),
        ({"factors": [[1.0]]}, "factors"),
        ({"variances": [0.5, 0.0]}, r"variances.*0.0001.*0"),
        ({"offset": -0.1}, "offset .*-0.1"),
        ({"lasting": 1.0}, "lasting .*1"),
        ({"calibration": 0.0}, "calibration .*0"),
        ({"log_scale_sd": -1.0}, "log_scale_sd .*-1"),
        ({"about": [1]}, "about must .*JSON object"),
    ],
)
def test_invalid_taste_models_are_errors(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        TasteModel(**{**VALID, **settings})


def test_a_taste_model_is_saved_with_the_model() -> None:
    taste = TasteModel(**VALID, offset=0.25, level=3.5, about={"factors": 1})
    model = PreferenceModel([[0, 1]], taste=taste)
    restored = PreferenceModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert restored == model
    assert restored.taste == taste == model.replace(actions=["a", "b"]).taste
    flat = TasteModel(np.array([0.5, -0.5]), np.zeros((2, 0)), np.full(2, 0.5))
    assert TasteModel.from_dict(json.loads(json.dumps(flat.to_dict()))) == flat
    with pytest.raises(InvalidInput, match=r"taste must have 3 actions.*got 2"):
        PreferenceModel([[0, 1, 2]], taste=taste)
    with pytest.raises(InvalidInput, match=r"taste must .*got 'x'"):
        PreferenceModel([[0, 1]], taste="x")  # type: ignore[arg-type] # that is the point
    several = {"means": [[0.5, -0.5], [0.0, 1.0]], "prior": [0.25, 0.75]}  # states of an older release
    for changes in ({"offset": -1.0}, {"means": "x"}, several):
        with pytest.raises(FileFormatError, match="taste"):
            TasteModel.from_dict({**taste.to_dict(), **changes})


def test_a_saved_taste_model_is_small() -> None:
    rng = np.random.default_rng(0)
    taste = TasteModel(rng.normal(size=1132), rng.normal(size=(1132, 50)), np.ones(1132))
    assert len(json.dumps(taste.to_dict())) < 1e6
