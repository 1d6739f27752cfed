"""Models with tiers: the fit against a quadratic program, and evidences, rules and decisions against the slow twins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import Belief
from lpbandits.policies.rules.sample import challenger
from lpbandits.simulation import rollout
from lpbandits.worlds import MeansWorld, SyntheticWorld
from tests import naive, naive_duel, naive_tiers
from tests.agent.test_probabilities import assert_frequencies
from tests.conftest import CASES, Case, Outcome, agent_after, outcomes_for, tiered_models
from tests.decisions.test_decide import assert_equals_agents, sample_histories
from tests.policies.test_rules import draw_at

SAMPLING = {"lpbts", "lpbts-incremental", "lpb-paired", "mts"}
"""Policies that draw within a tier, or know the means in it, in every family of rewards."""
TIERED = [
    case
    for case in CASES
    if case.name in SAMPLING
    or (case.name in {"popular", "ts-top"} and case.kind == "gaussian")
    or (case.policy().evidence.latent and case.name != "lpbts-marginal" and case.kind in {"gaussian", "no-guess"})
]
LATENT = [case for case in TIERED if case.policy().evidence.latent]
GAUSSIAN = [case for case in TIERED if case.kind == "gaussian"]
FAMILIES = ("gaussian", "unknown-noise", "bernoulli", "poisson")
MODEL = PreferenceModel(
    [[[0, 1, 2], 3, [4, 5]], [[4, 5], [0, 3], [1, 2]], [3, [1, 4, 5], [0, 2]]],
    means=[[0.7, 0.9, 0.8, 0.6, 0.3, 0.2], [0.5, 0.2, 0.3, 0.4, 0.8, 0.9], [0.1, 0.5, 0.2, 0.9, 0.4, 0.3]],
)


def tier_model(rng: np.random.Generator) -> PreferenceModel:
    """Return one state of up to ten actions with random tiers."""
    k = int(rng.integers(2, 11))
    cuts = np.flatnonzero(rng.random(k - 1) < 0.4) + 1
    return PreferenceModel([rng.permutation(k)], tiers=[np.diff([0, *cuts, k]).tolist()])


@pytest.mark.jitless
def test_the_tier_fit_solves_the_quadratic_program() -> None:
    rng = np.random.default_rng(5)
    farthest = 0.0
    for _ in range(500):
        model = tier_model(rng)
        n = int(rng.integers(1, 25))
        rewards = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(-3, 4, n).astype(float)
        history = list(zip(rng.integers(0, model.n_actions, n).tolist(), rewards.tolist(), strict=True))
        agent = agent_after(lpb.LpbTS(model), history)
        fit = lpb.expected(agent.policy, agent.belief)[0]
        twin = naive_tiers.fit_by_program(naive.orders_of(model)[0], history)
        farthest = max(farthest, *(abs(fit[a] - mean) for a, mean in twin.items()))
    assert farthest <= 1e-9


@pytest.mark.jitless
@pytest.mark.parametrize("case", LATENT, ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_posteriors_and_expected_rewards_equal_their_twins(case: Case, data: st.DataObject) -> None:
    model = data.draw(tiered_models())
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 12))
    policy = case.policy(model, rounds=20)
    agent = agent_after(policy, history)
    expected = lpb.expected(policy, agent.belief)
    for z in range(model.n_states):
        np.testing.assert_allclose(expected[z], naive.expected_of(policy, history, z), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(agent.posterior, naive.posterior_of(policy, case.kind, history), rtol=1e-7, atol=1e-12)


def twin_of(
    case: Case, policy: lpb.Policy, history: Sequence[Outcome], allowed: list[int], draw: naive.Draw
) -> set[int]:
    """Return the possible plays by the twins; those of a sampled tier are drawn."""
    found = naive.actions_of(policy, case.kind, history, allowed, draw)
    if policy.rule.kind != "sample" or (not history and getattr(policy.rule, "first", "") == "uniform"):
        return found
    if policy.evidence.kind == "known-means":  # it knows the best of the tier
        assert policy.model.means is not None
        weights = naive.posterior_of(policy, case.kind, history)
        means = policy.model.means[naive.drawn_state(weights, draw)]
        return {a for a in found if means[a] == max(means[b] for b in found)}
    kind = "gaussian" if policy.evidence.kind == "utility" else case.kind
    noise = naive.noise_for(policy, history)
    return {naive_tiers.play_in_tier(sorted(found), history, kind, noise, draw)}


@pytest.mark.jitless
@pytest.mark.parametrize("case", TIERED, ids=str)
@settings(max_examples=12)
@given(data=st.data())
def test_choices_equal_their_twins(case: Case, data: st.DataObject) -> None:
    model = data.draw(tiered_models())
    policy = case.policy(model, rounds=20, first=data.draw(st.sampled_from(["prior", "prior", "uniform"])))
    history: list[Outcome] = data.draw(outcomes_for(model, case.kind, 10))
    seed = data.draw(st.integers(0, 2**63 - 1))
    allowed = data.draw(st.none() | st.lists(st.integers(0, model.n_actions - 1), min_size=1, unique=True))
    agent = agent_after(policy, history, seed=seed)
    possible = sorted(range(model.n_actions) if allowed is None else allowed)
    if policy.rule.kind == "knowledge-gradient":  # it plans from the best action: equal or not, but not up to rounding
        twins = [naive.expected_of(policy, history, z) for z in range(model.n_states)]
        for expected in (lpb.expected(policy, agent.belief), np.array(twins)):
            average = agent.posterior @ expected[:, possible]
            assume(not np.any((average < average.max()) & (average > average.max() - 1e-9)))
    for round_ in range(2):
        assert agent.ask(allowed) in twin_of(case, policy, history, possible, draw_at(seed, 0, round_))


@pytest.mark.jitless
@settings(max_examples=30)
@given(tiered_models(), st.data())
def test_duels_draw_within_the_tier(model: PreferenceModel, data: st.DataObject) -> None:
    actions = st.integers(0, model.n_actions - 1)
    duels = data.draw(st.lists(st.tuples(actions, actions), max_size=12))
    agent = Agent(lpb.LpbDuel(model), seed=5)
    for winner, loser in duels:
        agent.tell_duel(winner, loser)
    orders = naive.orders_of(model)
    belief = naive.inverted(orders, model.prior, duels, None)
    np.testing.assert_allclose(agent.posterior, belief, atol=1e-12)
    ranks = np.array([naive.mid_ranks(order) for order in orders])
    expected = lpb.expected(agent.policy, agent.belief)
    np.testing.assert_allclose(expected, (model.n_actions - 1 - ranks) / (model.n_actions - 1))
    wins = [outcome for won, lost in duels for outcome in ((won, 1.0), (lost, 0.0))]
    allowed = data.draw(st.lists(actions, min_size=1, unique=True))
    draw = draw_at(5, 0, 0)

    def play(members: Sequence[int], index: int) -> int:
        return naive_tiers.play_in_tier(members, wins, "bernoulli", 1.0, draw, index)

    pair = naive_duel.two_states(orders, belief, len(duels), sorted(allowed), draw, play)
    assert agent.ask_pair(allowed) == pair


@pytest.mark.jitless
def test_a_duel_within_a_tier_is_the_most_uncertain() -> None:
    policy = lpb.LpbDuel(PreferenceModel([[[0, 1], 2], [2, 0, 1]], prior=[0.8, 0.2]))
    # against 0: action 1 wins with probability 0.8 / 2, action 2 with 0.2
    assert challenger(policy.ranks, policy.start_states, policy.offer(None), 0) == 1


@pytest.mark.parametrize("case", [case for case in LATENT if case.policy().evidence.ordered], ids=str)
@settings(max_examples=10)
@given(data=st.data())
def test_a_restored_belief_has_the_same_bits(case: Case, data: st.DataObject) -> None:
    model = data.draw(tiered_models())
    agent = agent_after(case.policy(model), data.draw(outcomes_for(model, case.kind, 12)))
    again = Belief.unpack(agent.policy, agent.belief.pack())
    n = agent.belief.tried
    np.testing.assert_array_equal(again.order[:, :n], agent.belief.order[:, :n])
    np.testing.assert_array_equal(again.states, agent.belief.states)


@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("history", [[], [(1, 1.0), (0, 0.0), (1, 1.0), (4, 1.0)], [(a % 6, a % 2) for a in range(14)]])
def test_probabilities_match_the_frequency_of_ask(kind: str, history: list[Outcome]) -> None:
    agent = agent_after(Case("lpbts", kind).policy(MODEL), [(a, float(r)) for a, r in history], seed=3)
    for allowed in (None, [1, 2, 4, 5]):
        assert_frequencies(agent, allowed)


@pytest.mark.jitless
@pytest.mark.parametrize("kind", ["bernoulli", "poisson"])
def test_probabilities_within_a_tier_have_a_closed_form(kind: str) -> None:
    # P(uniform > Beta(2, 1)) = 1/3; P(exponential of rate 1 > Gamma(2) of rate 3) = (3/4)², with the rate
    # (1 + 3) / (1 + 3) of the prior given three rewards whose sum is 3
    model = PreferenceModel([[[0, 1], 2]])
    history = {"bernoulli": [(0, 1.0)], "poisson": [(0, 1.0), (0, 0.0), (2, 2.0)]}[kind]
    expected = 1 / 3 if kind == "bernoulli" else (3 / 4) ** 2
    agent = agent_after(Case("lpbts", kind).policy(model), history)
    np.testing.assert_allclose(agent.probabilities(), [1 - expected, expected, 0.0], atol=1e-8)


@pytest.mark.parametrize("explore", [0.0, 0.06])
@pytest.mark.parametrize("case", GAUSSIAN, ids=str)
def test_decisions_equal_those_of_agents(case: Case, explore: float) -> None:
    policy = case.policy(MODEL).exploring(explore)
    past = sample_histories(case, MODEL)
    for allowed, exclude_seen in ((None, False), ([1, 2, 4, 5], True)):
        assert_equals_agents(policy, past, allowed, exclude_seen)
    personal: dict[Any, list[int]] = {label: [n % 5, 5] for n, label in enumerate(past.people)}
    assert_equals_agents(policy, past, personal, False)


@pytest.mark.jitless
def test_active_constraints_equal_the_naive_twin() -> None:
    people = MeansWorld(MODEL, rewards=lpb.Rewards("poisson")).draw(people=3, seed=0)
    trace = rollout(lpb.LpbTS(MODEL, rewards="poisson"), people, rounds=25, seed=1)
    for p, state in enumerate(people.truth):
        history = list(zip(trace.actions[p].tolist(), trace.rewards[p].tolist(), strict=True))
        counts = np.array([naive.active(order, history) for order in naive.orders_of(MODEL)])
        others = np.delete(counts, state)
        np.testing.assert_allclose(trace.active[p], [counts.mean(), counts[state], others.mean()])
        assert counts.sum() > 0


def test_tiers_of_one_action_are_a_total_order() -> None:
    orderings = [[2, 0, 1, 3], [1, 3, 0, 2]]
    total, listed = PreferenceModel(orderings), PreferenceModel([[[a] for a in row] for row in orderings])
    sized = PreferenceModel(orderings, tiers=[[1] * 4] * 2)
    assert total == listed == sized
    assert lpb.LpbTS(total).id == lpb.LpbTS(sized).id
    assert not lpb.LpbTS(sized).tiered


@pytest.mark.parametrize("name", ["lpbts", "lpbts-incremental"])
def test_an_impossible_state_with_tiers_changes_no_play(name: str) -> None:
    people = SyntheticWorld(states=3, actions=6).draw(people=4, seed=1)
    rows, sizes = [*people.model.orderings.tolist(), [0, 1, 2, 3, 4, 5]], [[1] * 6] * 3 + [[6]]
    added = PreferenceModel(rows, tiers=sizes, prior=[*people.model.prior, 0])
    policies = [Case(name, "gaussian").policy(model) for model in (people.model, added)]
    assert [policy.tiered for policy in policies] == [False, True]
    one, other = (rollout(policy, people, rounds=40, seed=2).plays for policy in policies)
    np.testing.assert_array_equal(one, other)


def test_sampling_within_the_tier_has_less_regret_than_a_random_order_in_it() -> None:
    # 400 people: 50 against 107 ± 10 in `benchmarks.tiers`; here 30 people of three draws, with 10 rounds of margin
    regret = np.zeros(2)
    for draw in range(3):
        people = SyntheticWorld(states=10, actions=20).draw(people=1, seed=0, draw=draw)
        model = PreferenceModel(people.model.orderings, tiers=[[5] * 4] * 10)
        parts = people.model.orderings.reshape(10, 4, 5)
        mixed = PreferenceModel(np.random.default_rng(draw).permuted(parts, axis=2).reshape(10, 20))
        for i, policy in enumerate((lpb.LpbTS(model, noise=1.0), lpb.LpbTS(mixed, noise=1.0))):
            regret[i] += rollout(policy, people, rounds=200, seed=draw).regret.sum(axis=1).mean() / 3
    assert regret[0] < 60 < 70 < regret[1]


@given(tiered_models(), st.data())
def test_explanations_bound_untried_actions_by_their_tier(model: PreferenceModel, data: st.DataObject) -> None:
    history = data.draw(outcomes_for(model, "poisson", 8))
    explanation = agent_after(lpb.LpbTS(model, noise=1.0), history).explain()
    for fit in explanation.states:
        order = naive.orders_of(model)[fit.state]
        own = naive.fitted_means(order, history)
        assert fit.active == naive.active(order, history)
        assert set(fit.intervals) == set(range(model.n_actions)) - set(own)
        for action, (low, high) in fit.intervals.items():
            tier = naive.tier_of(order, int(action))
            above = [mean for a, mean in own.items() if naive.tier_of(order, a) < tier]
            below = [mean for a, mean in own.items() if naive.tier_of(order, a) > tier]
            for bound, values, pick in ((high, above, min), (low, below, max)):
                assert (bound is None) == (not values)
                if bound is not None:
                    np.testing.assert_allclose(bound, pick(values), rtol=1e-9, atol=1e-9)


@pytest.mark.jitless
@settings(max_examples=20)
@given(tiered_models(), st.data())
def test_top_actions_are_all_of_the_first_tiers(model: PreferenceModel, data: st.DataObject) -> None:
    policy = lpb.TS(model, top=True)
    allowed = sorted(data.draw(st.sets(st.integers(0, model.n_actions - 1), min_size=1)))
    orders = naive.orders_of(model)
    for free in (allowed, list(range(model.n_actions))):
        expected = sorted({a for order in orders for a in naive.best_tier(order, free)})
        assert policy.offer(free).tolist() == expected
        sets = policy._offer_sets(np.array([[free]]))
        assert sets[sets >= 0].tolist() == expected
    assert policy.offer(None).tolist() == expected


def test_the_marginal_likelihood_rejects_tiers() -> None:
    with pytest.raises(InvalidInput, match=r"likelihood.*tiers.*'marginal'.*lpbts"):
        lpb.LpbTS(MODEL, likelihood="marginal")
