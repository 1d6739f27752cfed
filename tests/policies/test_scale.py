"""Rewards on another scale than the model's log, and the limits of forecasts."""

import warnings

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.policies.best import limits_of
from lpbandits.policies.calls import usual_range
from tests.conftest import taste_for

UP = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0]], actions=["tea", "jam", "ale"], reward_range=(1, 5), noise=0.7, taste=taste_for(3)
)
DOWN = UP.replace(reward_range=(-5, -1), lower_is_better=True)


@pytest.mark.parametrize("model", [UP, DOWN], ids=["up", "down"])
@pytest.mark.parametrize("reward", [80.0, 80, np.float64(7.1), -1.1])
def test_an_agent_warns_of_a_reward_on_another_scale_at_the_line_of_the_caller(
    model: lpb.PreferenceModel, reward: float
) -> None:
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=1)
    with pytest.warns(lpb.ScaleWarning, match=rf"1 outcome .*{reward:g} for 'jam'.*from 1 to 5; convert") as caught:
        agent.tell("jam", reward)
    assert [one.filename for one in caught] == [__file__]
    assert agent.outcomes == [("jam", reward)]


@pytest.mark.parametrize("model", [UP, DOWN], ids=["up", "down"])
def test_rewards_near_the_range_are_usual(model: lpb.PreferenceModel) -> None:
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for reward in (-1.0, 0.0, 3, 6.5, 7.0):
            agent.tell("tea", reward)
        text = agent.to_json()
        lpb.Agent(lpb.LpbTS(model.replace(reward_range=None), noise=1.0), seed=1).tell("tea", 80.0)
        lpb.Agent(lpb.LpbTS(model.replace(reward_range=(3, 3)), noise=1.0), seed=1).tell("tea", 80.0)
        lpb.Agent.from_json(text)
    assert usual_range(model) == ((-7.0, 1.0) if model.lower_is_better else (-1.0, 7.0))


@pytest.mark.parametrize("model", [UP, DOWN], ids=["up", "down"])
def test_decide_counts_rewards_on_another_scale_and_names_one(model: lpb.PreferenceModel) -> None:
    past = lpb.Histories.from_arrays([1, 1, 2, 2], ["tea", "jam", "ale", "jam"], [4, 80, 90, np.nan], model)
    with pytest.warns(lpb.ScaleWarning, match="2 outcomes .*80 for 'jam'.*from 1 to 5") as caught:
        lpb.decide(lpb.LpbTS(model, noise=1.0), past, threads=1)
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.filterwarnings("ignore::lpbandits.errors.ScaleWarning")
@pytest.mark.parametrize("model", [UP, DOWN], ids=["up", "down"])
def test_best_explanations_and_decisions_extend_the_range_to_the_persons_means(model: lpb.PreferenceModel) -> None:
    agent = lpb.Agent(lpb.LpbTS(model, noise=1.0), seed=1)
    told = [("tea", 80.0), ("tea", 80.0), ("jam", 70.0)]
    for action, reward in told:
        agent.tell(action, reward)
    limits = limits_of(agent.policy, agent.belief)
    assert limits == ((-80.0, -1.0) if model.lower_is_better else (1.0, 80.0))
    best = agent.best()
    assert 60 < best.low < best.expected < best.high <= 80
    past = lpb.Histories.from_arrays([1, 1, 1], [a for a, _ in told], [r for _, r in told], model)
    decided = lpb.decide(agent.policy, past, threads=1)
    assert 10 < decided.expected[0] < decided.high[0] <= 80
    fast = lpb.Agent(lpb.policy(model, "taste"), seed=1)
    for action, reward in told:
        fast.tell(action, reward)
    assert max(one.high for one in fast.explain().forecasts.values()) <= 80
