"""Rules: the action played, against the slow twins given the same uniform numbers."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.model import PreferenceModel
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from tests import naive
from tests.conftest import CASES, Case, Outcome, agent_after, models, outcomes_for, with_taste


def draw_at(seed: int, person: int, round_: int) -> naive.Draw:
    return lambda purpose, index: naive.words(seed, person, round_, purpose, index)


@pytest.mark.jitless
@pytest.mark.parametrize("first", ["prior", "uniform"])
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_choice_equals_its_twin(case: Case, first: str, data: st.DataObject) -> None:
    model: PreferenceModel = data.draw(models())
    policy = case.policy(model, rounds=20, first=first)
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 12))
    seed, person = data.draw(st.integers(0, 2**63 - 1)), data.draw(st.integers(0, 2**32 - 1))
    allowed = data.draw(st.none() | st.lists(st.integers(0, model.n_actions - 1), min_size=1, unique=True))
    agent = Agent(policy, seed=seed, person=person)
    for action, reward in history:
        agent.tell(action, reward)
    possible = list(range(model.n_actions)) if allowed is None else allowed
    for round_ in range(3):
        draw = draw_at(seed, person, round_)
        assert agent.ask(allowed) in naive.actions_of(policy, case.kind, history, possible, draw)


@pytest.mark.jitless
@settings(max_examples=20)
@given(data=st.data(), prior_mean=st.floats(-5, 5), prior_sd=st.floats(0.1, 50), noise=st.floats(0.1, 5))
def test_thompson_follows_its_prior(data: st.DataObject, prior_mean: float, prior_sd: float, noise: float) -> None:
    model = data.draw(models())
    history: list[Outcome] = data.draw(outcomes_for(model, "gaussian", 8))
    policy = lpb.TS(model, noise=noise, prior_mean=prior_mean, prior_sd=prior_sd)
    agent = agent_after(policy, history, seed=3)
    for round_ in range(5):
        allowed = list(range(model.n_actions))
        assert {agent.ask()} == naive.actions_of(policy, "gaussian", history, allowed, draw_at(3, 0, round_))


@pytest.mark.jitless
@settings(max_examples=30)
@given(data=st.data())
def test_popular_follows_the_popular_ordering_whatever_the_rewards(data: st.DataObject) -> None:
    plain = data.draw(models())
    model = plain.replace(popular=data.draw(st.permutations(range(plain.n_actions))))
    policy = lpb.Popular(model)
    agent = agent_after(policy, data.draw(outcomes_for(model, "gaussian", 6)), seed=1)
    allowed = data.draw(st.lists(st.integers(0, model.n_actions - 1), min_size=1, unique=True))
    assert {agent.ask(allowed)} == naive.actions_of(policy, "gaussian", [], allowed, draw_at(1, 0, 0))
    assert agent.probabilities(allowed).max() == 1.0
    assert model.popular is not None
    assert agent.ask() == model.popular[0]


@pytest.mark.parametrize(
    ("evidence", "rule", "match"),
    [
        (lpb.evidences.Tally, lpb.rules.Popularity, "'popular'.*'tally'.*'standing'"),
        (lpb.evidences.Refit, lpb.rules.Popularity, "'popular'.*'refit'"),
        (lpb.evidences.Refit, lpb.rules.Optimism, "'optimism'.*'refit'"),
        (lpb.evidences.Tally, lpb.rules.Greedy, "'greedy'.*'tally'"),
        (lpb.evidences.Tally, lpb.rules.Sample, "'sample'.*'tally'"),
        (lpb.evidences.Refit, lpb.rules.Thompson, "'thompson'.*'refit'"),
        (lpb.evidences.Inversions, lpb.rules.Sample, "'sample' plays rewards.*'inversions' learns from duels"),
        (lpb.evidences.Refit, lpb.rules.TwoStates, "'two-states' plays duels.*'refit' learns from rewards"),
        (lpb.evidences.Refit, int, "rule must be.*0"),
    ],
)
def test_a_rule_rejects_an_evidence_without_what_it_needs(evidence: Any, rule: Any, match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        lpb.Policy(PreferenceModel([[0, 1], [1, 0]]), evidence(), rule())


def test_mucb_slack_tolerates_a_small_shortfall() -> None:
    model = PreferenceModel([[0, 1], [1, 0]], means=[[9.0, 1.0], [1.0, 8.0]])
    for slack, action in ((0.0, 1), (2.0, 0)):  # 7 short of 9; the bound is √(6 log 200) = 5.6
        assert agent_after(lpb.MUCB(model, slack=slack), [(0, 2.0)]).ask() == action


@pytest.mark.jitless
@settings(max_examples=100)
@given(data=st.data())
def test_upper_bound_follows_the_number_of_rounds(data: st.DataObject) -> None:
    # two actions, both tried, of different counts: the choice turns on the exact width √(2 log t / n)
    rewards = st.lists(st.floats(-1, 1), min_size=1, max_size=4)
    history = [(action, reward) for action in (0, 1) for reward in data.draw(rewards)]
    counts = [sum(a == action for a, _ in history) for action in (0, 1)]
    means = [sum(r for a, r in history if a == action) / counts[action] for action in (0, 1)]
    # the noise at which both bounds are equal; one part in a thousand either way decides
    width = [math.sqrt(2 * math.log(len(history) + 1) / n) for n in counts]
    assume(abs(width[1] - width[0]) > 0.01)
    noise = (means[0] - means[1]) / (width[1] - width[0])
    assume(noise > 0.01)
    rarer = 0 if counts[0] < counts[1] else 1
    for factor, choice in ((1.001, rarer), (0.999, 1 - rarer)):
        agent = agent_after(lpb.UCB(PreferenceModel([[0, 1]]), noise=noise * factor), history)
        assert agent.ask() == choice
        assert agent.probabilities()[choice] == 1.0


@pytest.mark.jitless
@given(models(), st.data())
def test_top_actions_are_the_best_allowed_actions_of_states(model: PreferenceModel, data: st.DataObject) -> None:
    actions = st.sets(st.integers(0, model.n_actions - 1), min_size=1)
    policy = lpb.TS(model, top=True)
    for allowed in (sorted(data.draw(actions)), list(range(model.n_actions))):
        expected = sorted({next(a for a in row if a in allowed) for row in model.orderings.tolist()})
        assert policy.offer(allowed).tolist() == expected
        sets = policy._offer_sets(np.array([[allowed]]))
        assert sets[sets >= 0].tolist() == expected
    assert policy.offer(None).tolist() == expected


def test_top_actions_of_offered_sets_are_padded() -> None:
    policy = lpb.TS(PreferenceModel([[3, 1, 0, 2], [1, 3, 2, 0], [3, 0, 2, 1]]), top=True)
    assert policy._offer_sets(np.empty((1, 1, 0), dtype=np.int64)).tolist() == [[[1, 3]]]
    assert policy._offer_sets(np.array([[[0, 1, 2], [0, 2, -1]]])).tolist() == [[[0, 1, -1], [0, 2, -1]]]


@pytest.mark.jitless  # without the compiler, reading beyond an array of fewer actions than slots is an error
@pytest.mark.parametrize("evidence", EVIDENCES.values())
@pytest.mark.parametrize("rule", RULES.values())
def test_every_evidence_and_rule_combine_or_raise(
    evidence: type[lpb.policies.Evidence], rule: type[lpb.policies.Rule]
) -> None:
    model = with_taste(PreferenceModel([[0, 1, 2], [2, 1, 0]], means=[[3.0, 2.0, 1.0], [1.0, 2.0, 3.0]]))
    try:
        policy = lpb.Policy(model, evidence(), rule())
    except lpb.InvalidInput as error:
        assert rule.kind in str(error)  # noqa: PT017 - both are valid
        return
    agent = lpb.Agent(policy, seed=1)
    if policy.feedback == "duels":
        for _ in range(3):
            agent.tell_duel(*agent.ask_pair())
    else:
        for reward in (1.0, 0.0, 1.0):
            agent.tell(agent.ask(), reward)
        np.testing.assert_allclose(agent.probabilities().sum(), 1.0)
    assert agent.rounds == 3
    assert lpb.expected(policy, agent.belief).shape == (2 if evidence.latent else 1, 3)
    assert len(agent.explain().tried) <= 3
