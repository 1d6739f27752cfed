"""Policies for duels: equality with their slow twins, errors, and regret."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lpbandits as lpb
from lpbandits.errors import InvalidInput, NotSupported
from lpbandits.kernels.random import gamma
from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy, Setting, make_policy
from lpbandits.policies.choose import choose_policy
from lpbandits.simulation import rollout, simulate
from lpbandits.views.tables import comparison
from lpbandits.worlds import Population
from tests import naive, naive_duel
from tests.conftest import ON_DUELS, REWARDS, model_for, models, population_for, random_orderings
from tests.policies.test_actions import some_offers
from tests.simulation.agents import FIRST_PERSON, SEED, allowed_at

GAUSSIAN = REWARDS["gaussian"]
NAMES = ON_DUELS


def duel_policy(name: str, model: PreferenceModel) -> Policy:
    return make_policy(name, Setting(model, GAUSSIAN, 50))


POPULATIONS = [None, (8, 40, 4), (1, 1, 3)]


def crowd(shape: tuple[int, int, int] | None, comparison: str = "rewards") -> Population:
    model = model_for(GAUSSIAN, m=4, k=6)
    people = population_for(model, GAUSSIAN, people=2, offered=None if shape is None else some_offers(shape, 6, 8))
    return replace(people, comparison=comparison)


@pytest.mark.jitless
@pytest.mark.parametrize("comparison", ["rewards", "bradley-terry"])
@pytest.mark.parametrize("shape", POPULATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_rollout_equals_an_agent_and_the_slow_twin(
    name: str, shape: tuple[int, int, int] | None, comparison: str
) -> None:
    population = crowd(shape, comparison)
    model, orderings = population.model, population.model.orderings.tolist()
    policy = duel_policy(name, model)
    trace = rollout(policy, population, rounds=40, seed=SEED, first_person=FIRST_PERSON)
    for p, state in enumerate(population.truth):
        agent = lpb.Agent(policy, seed=SEED, person=FIRST_PERSON + p)
        history: list[tuple[int, int]] = []
        for t in range(40):

            def draw(purpose: int, index: int, address: tuple[int, int] = (FIRST_PERSON + p, t)) -> tuple[int, int]:
                return naive.words(SEED, *address, purpose, index)

            allowed = allowed_at(population, p, t)
            offered = None if shape is None else allowed
            gaps = population.means[p, allowed].max() - population.means[p, trace.plays[p, t, :2]]
            if name == "lpb-duel":
                belief = naive.inverted(naive.orders_of(model), model.prior, history, None)
                pair = naive_duel.two_states(naive.orders_of(model), belief, len(history), allowed, draw)
            else:
                if policy.rule.top:
                    allowed = sorted({next(a for a in order if a in allowed) for order in orderings})
                pair = naive_duel.double_thompson(model.n_actions, history, allowed, 0.51, draw)
            assert tuple(trace.plays[p, t, :2].tolist()) == pair == agent.ask_pair(offered)
            one, other = (float(population.means[p, a]) for a in pair)
            ahead = naive_duel.first_wins(comparison, one, other, GAUSSIAN.sd, draw)
            assert trace.plays[p, t, 2] == (pair[0] if ahead else pair[1])
            history.append(pair if ahead else pair[::-1])
            agent.tell_duel(*history[-1])
            assert trace.regret[p, t] == gaps[0] + gaps[1]
            assert trace.weak[p, t] == gaps.min()
            if policy.evidence.latent:
                assert agent.posterior[state] == trace.mass[p, t]
        assert agent.rounds == 40


@pytest.mark.jitless
@given(models(), st.sampled_from([None, 0.0, 0.1, 0.4]), st.data())
def test_the_posterior_counts_inversions_in_any_order(
    model: PreferenceModel, margin: float | None, data: st.DataObject
) -> None:
    actions = st.integers(0, model.n_actions - 1)
    duels = data.draw(st.lists(st.tuples(actions, actions), max_size=30))
    agents = [lpb.Agent(lpb.LpbDuel(model, margin=margin), seed=0) for _ in range(2)]
    for winner, loser in duels:
        agents[0].tell_duel(winner, loser)
    for winner, loser in data.draw(st.permutations(duels)):
        agents[1].tell_duel(winner, loser)
    np.testing.assert_array_equal(agents[0].posterior, agents[1].posterior)
    expected = naive.inverted(naive.orders_of(model), model.prior, duels, margin)
    np.testing.assert_allclose(agents[0].posterior, expected, atol=1e-12)


@pytest.mark.parametrize("shape", [1.0, 2.0, 17.0])
def test_gamma_draws_have_the_gamma_distribution(shape: float) -> None:
    # Kolmogorov-Smirnov on 20,000 draws with a fixed seed; a p-value below 0.001 would be a one-in-a-thousand accident
    draws = [gamma(shape, 1, person, 0, 2, 3) for person in range(20_000)]
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 0.001


@pytest.mark.parametrize("name", NAMES)
def test_a_restored_agent_continues_with_the_same_pairs(name: str) -> None:
    model = model_for(GAUSSIAN, m=4, k=12).replace(actions=[f"a{i}" for i in range(12)])
    agent = lpb.Agent(duel_policy(name, model), seed=3, person=9)
    for _ in range(30):
        agent.tell_duel(*sorted(agent.ask_pair(), key=str))
    restored = lpb.Agent.from_json(agent.to_json())
    assert restored.rounds == agent.rounds == 30
    assert restored.policy == agent.policy
    for _ in range(20):
        pair = agent.ask_pair()
        assert restored.ask_pair() == pair
        agent.tell_duel(*pair)
        restored.tell_duel(*pair)


@pytest.mark.parametrize("name", NAMES)
def test_duels_can_be_retracted_and_repeated_ids_are_ignored(name: str) -> None:
    agent, clean = (lpb.Agent(duel_policy(name, model_for(GAUSSIAN)), seed=1) for _ in range(2))
    for one in (agent, clean):
        one.tell_duel(0, 1)
        one.tell_duel(2, 1, id="first")
    agent.tell_duel(2, 1, id="first")
    agent.tell_duel(1, 0)
    with pytest.raises(InvalidInput, match=r"retract 0 beating 3.*0 beating 1"):
        agent.retract_duel(0, 3)
    agent.retract_duel(1, 0)
    assert agent.to_json() == clean.to_json()
    assert agent.outcomes == [(0, 1), (2, 1)]
    fewer = model_for(GAUSSIAN, m=1, k=2)
    newer, dropped = agent.with_model(fewer)
    assert (newer.outcomes, dropped) == ([(0, 1)], {2: 1})


@pytest.mark.parametrize("name", NAMES)
def test_policies_for_duels_have_a_name_in_the_library_only(name: str) -> None:
    model = model_for(GAUSSIAN)
    assert lpb.policy(model, name, explore=0.01) == duel_policy(name, model).exploring(0.01)
    assert len(lpb.Agent(lpb.policy(model, name), seed=1).ask_pair()) == 2
    wrong: dict[str, Any] = {"noise": 1.0, "rewards": "bernoulli", "noise_known": True}
    for option, value in wrong.items():
        with pytest.raises(InvalidInput, match=f"{option} must be left out for {name}, which learns from duels"):
            lpb.policy(model, name, **{option: value})
    with pytest.raises(InvalidInput, match="learns from duels; choose one that learns from rewards"):
        choose_policy(model, name)


@pytest.mark.parametrize("name", [*NAMES, "lpbts"])
def test_methods_for_other_outcomes_raise(name: str) -> None:
    agent = lpb.Agent(duel_policy(name, model_for(GAUSSIAN)), seed=1)
    for_rewards = (agent.ask, lambda: agent.tell(0, 1.0), lambda: agent.retract(0, 1.0), agent.probabilities)
    for_duels = (agent.ask_pair, lambda: agent.tell_duel(0, 1), lambda: agent.retract_duel(0, 1))
    match = r"learns from rewards.*LpbDuel\(model\)" if name == "lpbts" else "learns from duels"
    for use in for_duels if name == "lpbts" else for_rewards:
        with pytest.raises(NotSupported, match=match):
            use()
    assert (agent.asked, agent.rounds) == (0, 0)


def test_explanations_of_duels() -> None:
    agent = lpb.Agent(lpb.DoubleTS(PreferenceModel([[0, 1]])), seed=0)
    agent.tell_duel(0, 1)
    agent.tell_duel(1, 0)
    assert agent.explain().tried == {0: (2, 0.5), 1: (2, 0.5)}
    agent.tell_duel(0, 0)
    agent.tell_duel(0, 1)
    assert agent.explain().tried == {0: (5, 0.6), 1: (3, 1 / 3)}, (
        "an action that duels itself appears twice and wins once"
    )
    ordered = lpb.Agent(lpb.LpbDuel(PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=0)
    ordered.tell_duel(0, 2)
    likely = ordered.explain().states[0]
    assert (likely.state, likely.means, likely.active) == (0, {0: 1.0, 1: 0.5, 2: 0.0}, 0)


@given(st.data())
def test_paired_rewards_are_duels(data: st.DataObject) -> None:
    model = PreferenceModel(random_orderings(4, 5, 2))
    plays = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3).map(float)), max_size=21))
    agent, other = lpb.Agent(lpb.LpbPaired(model), seed=0), lpb.Agent(lpb.LpbDuel(model), seed=0)
    for action, reward in plays:
        agent.tell(action, reward)
    for winner, loser in lpb.agent.pair_up([a for a, _ in plays], [r for _, r in plays]):
        other.tell_duel(winner, loser)
    np.testing.assert_array_equal(agent.posterior, other.posterior)
    restored = lpb.Agent.from_json(agent.to_json())
    restored.tell(1, 9.0)
    agent.tell(1, 9.0)
    np.testing.assert_array_equal(agent.posterior, restored.posterior)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: lpb.LpbDuel(model_for(GAUSSIAN), margin=0.5), "margin must .*got 0.5"),
        (lambda: lpb.DoubleTS(model_for(GAUSSIAN), alpha=0.5), "alpha must .*got 0.5"),
        (lambda: lpb.DuellingWorld(lpb.SyntheticWorld(), "coin"), "comparison must .*got 'coin'"),
        (lambda: simulate(lpb.SyntheticWorld(), ["lpbts", "lpb-duel"]), "policies must .*'lpbts'.*'lpb-duel'"),
        (lambda: lpb.agent.pair_up([0, 1], [1.0]), "rewards must .*2.*got 1"),
        (lambda: simulate(lpb.DuellingWorld(lpb.SyntheticWorld()), ["lpbts"]), "duels.*'lpbts'"),
        (lambda: replace(crowd(None), comparison="bt"), "comparison must .*got 'bt'"),
        (lambda: lpb.DuellingWorld(lpb.DuellingWorld(lpb.SyntheticWorld())), "world must not be a DuellingWorld"),
    ],
)
def test_errors_name_argument_and_value(call: object, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        call()  # type: ignore[operator] # a function


def test_the_table_of_one_persons_duels_has_no_spread() -> None:
    results = simulate(lpb.SyntheticWorld(states=1, actions=3), ["double-ts"], people=1, rounds=5)
    columns, rows = comparison(results)
    assert "–" in rows[0]
    assert {"weak regret", "both best"} < set(columns)


def test_regret_of_duels_counts_from_the_best_allowed_action() -> None:
    # the person's best action is best in no state, so the top-action policy never plays it
    model = PreferenceModel([[0, 1, 2]], means=[[3.0, 2.0, 1.0]])
    people = Population(model, np.zeros(1, dtype=np.int64), np.array([[0.0, 1.0, 5.0]]), GAUSSIAN)
    trace = rollout(lpb.DoubleTS(model, top=True), people, rounds=4, seed=0)
    np.testing.assert_array_equal(trace.regret, 10.0)
    np.testing.assert_array_equal(trace.weak, 5.0)
