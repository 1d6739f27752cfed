"""The contract of every registered policy. A new one is covered by being registered."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import POLICIES, Setting, make_policy
from lpbandits.rewards import Rewards
from lpbandits.simulation import rollout, simulate
from lpbandits.worlds import MeansWorld
from tests.conftest import (
    ANYWHERE,
    CASES,
    EXAMPLE_WORLDS,
    FROM_A_LOG,
    ON_REWARDS,
    Case,
    Outcome,
    agent_after,
    model_for,
    models,
    population_for,
    rewards_like,
)

BAD_REWARDS: dict[str, list[object]] = {
    "gaussian": [np.nan, np.inf, -np.inf, 1e101, -1e101, 2**400, "1.0", b"1", None, [1.0], 1j],
    "bernoulli": [2, 0.5, -1, np.nan, np.inf, "1", None],
    "poisson": [0.5, -1, np.nan, np.inf, 1e101, "1", None],
}
BAD_ACTIONS: list[object] = [6, -1, "0", 0.5, True, np.True_, None, [0], np.nan]
BAD_ALLOWED: list[object] = [[], [0, 6], "01", [[0]], [True], np.array([True, False])]


def some_history(case: Case) -> list[Outcome]:
    model = model_for(case.rewards)
    trace = rollout(case.policy(model), population_for(model, case.rewards, people=1), rounds=15, seed=2)
    return list(zip(trace.actions[0].tolist(), trace.rewards[0].tolist(), strict=True))


def test_every_policy_plays_every_family_of_rewards() -> None:
    covered = {(case.name, case.rewards.family) for case in CASES if case.name in POLICIES}
    assert covered == {(name, family) for name in ON_REWARDS for family in BAD_REWARDS}


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_actions_are_allowed_and_reproducible(case: Case, data: st.DataObject) -> None:
    model: PreferenceModel = data.draw(models())
    seed = data.draw(st.integers(0, 2**63 - 1))
    twins = [Agent(case.policy(model), seed=seed, person=3) for _ in range(2)]
    for _ in range(6):
        allowed = data.draw(st.none() | st.lists(st.integers(0, model.n_actions - 1), min_size=1, unique=True))
        action, same = (agent.ask(allowed) for agent in twins)
        assert action == same
        assert action in (model.actions if allowed is None else allowed)
        reward = data.draw(rewards_like(case.kind))
        for agent in twins:
            agent.tell(action, reward)
    assert twins[0].to_json() == twins[1].to_json()


@pytest.mark.parametrize("with_model", [True, False])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_restored_agent_continues_with_the_same_actions(case: Case, with_model: bool) -> None:
    history = some_history(case)
    for past in (history, history[:1], []):
        agent = agent_after(case.policy(), past, seed=9)
        agent.ask()
        text = agent.to_json(with_model=with_model)
        json.loads(text, parse_constant=pytest.fail)  # NaN is not JSON
        restored = Agent.from_json(text, model=None if with_model else agent.policy.model)
        assert restored.to_json(with_model=with_model) == text
        assert restored.policy == agent.policy
        for action, reward in history:
            assert restored.ask() == agent.ask()
            assert restored.ask([1, 4]) == agent.ask([1, 4])
            for twin in (agent, restored):
                twin.tell(action, reward)
        if agent.policy.evidence.latent:
            np.testing.assert_array_equal(restored.posterior, agent.posterior)
        np.testing.assert_array_equal(restored.probabilities(), agent.probabilities())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_invalid_input_is_an_error_and_changes_nothing(case: Case) -> None:
    agent = agent_after(case.policy(), some_history(case), seed=9)
    before = agent.to_json()
    for reward in BAD_REWARDS[case.rewards.family]:
        with pytest.raises(InvalidInput, match="reward must"):
            agent.tell(0, reward)  # type: ignore[arg-type] # that is the point
    for action in BAD_ACTIONS:
        with pytest.raises(InvalidInput, match="unknown action"):
            agent.tell(action, 1.0)  # type: ignore[arg-type] # that is the point
    for allowed in BAD_ALLOWED:
        with pytest.raises(InvalidInput, match=r"allowed|unknown action"):
            agent.ask(allowed)  # type: ignore[arg-type] # that is the point
        with pytest.raises(InvalidInput, match=r"allowed|unknown action"):
            agent.probabilities(allowed)  # type: ignore[arg-type] # that is the point
    assert agent.to_json() == before


@pytest.mark.parametrize("case", CASES, ids=str)
def test_asking_twice_draws_again_from_the_same_belief(case: Case) -> None:
    agent = agent_after(case.policy(), [], seed=9)
    belief = json.loads(agent.to_json())
    asked = [agent.ask() for _ in range(60)]
    after = json.loads(agent.to_json())
    assert (belief.pop("asked"), after.pop("asked")) == (0, 60)
    assert belief.pop("sha256") != after.pop("sha256")
    assert after == belief
    # a random first action varies within 60 draws: no action has a probability above 0.75
    if agent.probabilities().max() < 1:
        assert len(set(asked)) > 1


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_belief_grows_beyond_its_initial_room(case: Case) -> None:
    k = 20  # the room grows twice, from 8 to 32
    model = model_for(case.rewards, m=3, k=k)
    grown, roomy = (Agent(case.policy(model), seed=1) for _ in range(2))
    order = np.random.default_rng(0).permutation(k)
    for action in order:
        grown.tell(int(action), 1.0)
        roomy.tell(int(action), 1.0)
        roomy = Agent.from_json(roomy.to_json())  # its belief has just the room it needs
        assert grown.ask() == roomy.ask()
        assert grown.to_json() == roomy.to_json()
    assert grown.rounds == k
    assert len(grown.explain().tried) == k


def plays_best_actions(case: Case) -> bool:
    """Return whether a policy only plays best actions of states, so that its draws do not depend on labels."""
    agent = Agent(case.policy(), seed=0)
    return set(np.flatnonzero(agent.probabilities())) <= set(agent.policy.model.orderings[:, 0].tolist())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_relabelling_actions_relabels_the_result(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=6)
    assert model.means is not None
    assert len(set(model.best_actions)) > 2
    new_name = np.array([3, 5, 0, 1, 4, 2])
    means = np.empty_like(model.means)
    means[:, new_name] = model.means
    assert model.taste is not None
    old = np.argsort(new_name)
    arrays = {name: getattr(model.taste, name)[old] for name in ("means", "factors", "variances")}
    other = PreferenceModel(new_name[model.orderings], means=means, taste=replace(model.taste, **arrays))
    exactly = case.policy().rule.latent and plays_best_actions(case)
    people = 20 if exactly else 250
    one = rollout(case.policy(model), population_for(model, case.rewards, people), rounds=30, seed=6)
    two = rollout(case.policy(other), population_for(other, case.rewards, people), rounds=30, seed=6)
    if exactly:
        np.testing.assert_array_equal(two.actions, new_name[one.actions])
        np.testing.assert_array_equal(two.mass, one.mass)
    else:
        # draws depend on labels, so the result is the same in distribution: 4 standard errors
        gap = two.regret.sum(axis=1) - one.regret.sum(axis=1)
        assert abs(gap.mean()) <= 4 * gap.std(ddof=1) / np.sqrt(len(gap))


@pytest.mark.parametrize("shift", [-512.0, 3.25, 1024.0])
@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.policy().evidence.ordered and case.rewards.family == "gaussian"],
    ids=str,
)
def test_order_only_policies_ignore_a_constant_added_to_all_rewards(case: Case, shift: float) -> None:
    model = model_for(case.rewards, m=6, k=8)
    rng = np.random.default_rng(1)
    for person in range(20):
        one, other = (Agent(case.policy(model), seed=5, person=person) for _ in range(2))
        for _ in range(40):
            action = one.ask()
            assert other.ask() == action
            assert model.means is not None
            value = model.means[person % 6, model.index[action]] + rng.normal()
            reward = round(value * 1024) / 1024  # on a grid that the shift does not round
            one.tell(action, reward)
            other.tell(action, reward + shift)


@pytest.mark.parametrize("make", range(len(EXAMPLE_WORLDS)))
def test_every_policy_beats_uniform_in_every_world(make: int) -> None:
    results = simulate(EXAMPLE_WORLDS[make](), ANYWHERE, people=60, rounds=150, seed=3)
    for name in ANYWHERE:
        if name != "uniform":
            gap, error = results.difference(name, "uniform")
            assert gap < -5 * error, name  # 5 standard errors of the difference, paired by person


@pytest.mark.parametrize("name", POLICIES)
def test_entries_describe_their_policies(name: str) -> None:
    entry = POLICIES[name]
    assert entry.title
    assert entry.knows
    assert entry.assumes
    policy = make_policy(name, Setting(model_for(Rewards()), Rewards("gaussian", 0.7), 33, "uniform"))
    assert policy.rewards.family == "gaussian"
    assert policy.feedback == entry.feedback
    assert type(policy).__name__ in repr(policy)


@pytest.mark.parametrize("name", POLICIES)
def test_only_some_policies_need_means_or_a_taste(name: str) -> None:
    bare = PreferenceModel([[0, 1, 2], [2, 1, 0]])
    setting = Setting(bare, Rewards())
    if "mean" in POLICIES[name].knows:
        with pytest.raises(InvalidInput, match=f"{name} needs.*means"):
            make_policy(name, setting)
    elif name in FROM_A_LOG:
        with pytest.raises(InvalidInput, match=f"{name} needs a model with a taste"):
            make_policy(name, setting)
    else:
        assert make_policy(name, setting).model is bare


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"policy must .*got 'lpbt'"):
        make_policy("lpbt", Setting(model_for(Rewards()), Rewards()))


def test_mts_rejects_means_outside_the_range_of_rewards() -> None:
    model = PreferenceModel([[0, 1]], means=[[1.0, 0.5]])
    with pytest.raises(InvalidInput, match=r"means\[0, 0\] must .*bernoulli.*got 1"):
        make_policy("mts", Setting(model, Rewards("bernoulli")))
    with pytest.raises(InvalidInput, match=r"means\[0, 0\] must .*bernoulli.*got 1.5"):
        MeansWorld(model, [[1.5, 0.0]], rewards=Rewards("bernoulli"))
