"""Policies for duels: the same as their slow twins, honest about what they cannot do, and good at it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import lpbandits as lpb
from lpbandits.duels import DUEL_POLICIES, Inversions, Paired, make_duel_policy
from lpbandits.errors import FileFormatError, InvalidInput, NotSupported
from lpbandits.kernels.duel import gamma
from lpbandits.model import PreferenceModel
from lpbandits.policies import Policy, Setting
from lpbandits.policies.rules import Sample
from lpbandits.rewards import Rewards
from lpbandits.simulation import roll
from lpbandits.simulation.duels import DuelResult, DuelTrace, duel_comparison, roll_duels, simulate_duels
from lpbandits.simulation.run import CHUNK
from lpbandits.typing import IntArray
from lpbandits.worlds import Population
from tests import naive, naive_duel
from tests.conftest import REWARDS, model_for, models, population_for, random_orderings

SEED, FIRST = 2**40 + 5, 17
GAUSSIAN = REWARDS["gaussian"]
NAMES = list(DUEL_POLICIES)


def duel_policy(name: str, model: PreferenceModel) -> Policy:
    return make_duel_policy(name, Setting(model, GAUSSIAN, 50))


def offers(shape: tuple[int, int, int], k: int) -> IntArray:
    rng = np.random.default_rng(8)
    out = np.full(shape, -1, dtype=np.int64)
    for p, t in np.ndindex(shape[:2]):
        size = int(rng.integers(1, shape[2] + 1))
        out[p, t, :size] = np.sort(rng.choice(k, size=size, replace=False))
    return out


def allowed_at(population: Population, p: int, t: int) -> list[int] | None:
    rows = population.offered
    if rows.shape[2] == 0:
        return None
    return [int(a) for a in rows[min(p, len(rows) - 1), min(t, rows.shape[1] - 1)] if a >= 0]


POPULATIONS = [None, (8, 20, 4), (1, 1, 3)]


def crowd(shape: tuple[int, int, int] | None) -> Population:
    model = model_for(GAUSSIAN, m=4, k=6)
    return population_for(model, GAUSSIAN, people=2, offered=None if shape is None else offers(shape, 6))


@pytest.mark.parametrize("comparison", ["rewards", "bradley-terry"])
@pytest.mark.parametrize("shape", POPULATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_rollout_is_ask_pair_and_tell_duel_bit_for_bit(
    name: str, shape: tuple[int, int, int] | None, comparison: str
) -> None:
    population = crowd(shape)
    policy = duel_policy(name, population.model)
    trace = roll_duels(policy, population, rounds=40, seed=SEED, comparison=comparison, first=FIRST)
    for p, state in enumerate(population.truth):
        agent = lpb.Agent(policy, seed=SEED, person=FIRST + p)
        for t in range(40):
            allowed = allowed_at(population, p, t)
            pair = agent.ask_pair(allowed)
            assert pair == tuple(trace.pairs[p, t].tolist())
            agent.tell_duel(*(pair if trace.won[p, t] else pair[::-1]))
            gaps = population.means[p, allowed or slice(None)].max() - population.means[p, trace.pairs[p, t]]
            assert trace.strong[p, t] == gaps[0] + gaps[1]
            assert trace.weak[p, t] == gaps.min()
            if policy.evidence.latent:
                assert agent.posterior[state] == trace.mass[p, t]
        assert agent.rounds == 40


@pytest.mark.jitless
@pytest.mark.parametrize("comparison", ["rewards", "bradley-terry"])
@pytest.mark.parametrize("shape", POPULATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_rollout_equals_its_slow_twin(name: str, shape: tuple[int, int, int] | None, comparison: str) -> None:
    population = crowd(shape)
    model = population.model
    orderings = model.orderings.tolist()
    policy = duel_policy(name, model)
    trace = roll_duels(policy, population, rounds=25, seed=SEED, comparison=comparison, first=FIRST)
    for p in range(len(population.truth)):
        history: list[tuple[int, int]] = []
        for t in range(25):

            def draw(purpose: int, index: int, address: tuple[int, int] = (FIRST + p, t)) -> float:
                return naive.uniform(SEED, *address, purpose, index)

            allowed = allowed_at(population, p, t) or list(range(model.n_actions))
            if name == "lpb-duel":
                belief = naive_duel.posterior(orderings, model.prior, history, None)
                pair = naive_duel.two_states(orderings, belief, len(history), allowed, draw)
            else:
                if policy.rule.top:
                    allowed = sorted({next(a for a in order if a in allowed) for order in orderings})
                pair = naive_duel.double_thompson(model.n_actions, history, allowed, 0.51, draw)
            assert trace.pairs[p, t].tolist() == list(pair)
            one, other = (float(population.means[p, a]) for a in pair)
            ahead = naive_duel.first_wins(comparison, one, other, GAUSSIAN.sd, draw)
            assert bool(trace.won[p, t]) == ahead
            history.append(pair if ahead else pair[::-1])


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
    expected = naive_duel.posterior(model.orderings.tolist(), model.prior, duels, margin)
    np.testing.assert_allclose(agents[0].posterior, expected, atol=1e-12)


@pytest.mark.parametrize("shape", [1.0, 2.0, 17.0])
def test_gamma_draws_have_the_gamma_distribution(shape: float) -> None:
    # Kolmogorov-Smirnov on 20,000 draws with a fixed seed; a p-value below 0.001 would be a one-in-a-thousand accident
    draws = [gamma(shape, 1, person, 0, 2, 3) for person in range(20_000)]
    assert stats.kstest(draws, stats.gamma(shape).cdf).pvalue > 0.001


@pytest.mark.parametrize("name", NAMES)
def test_json_goes_on_with_the_same_next_pairs(name: str) -> None:
    model = model_for(GAUSSIAN, m=4, k=12).relabelled([f"a{i}" for i in range(12)])
    agent = lpb.Agent(duel_policy(name, model), seed=3, person=9)
    for _ in range(30):
        agent.tell_duel(*sorted(agent.ask_pair(), key=str))
    again = lpb.Agent.from_json(agent.to_json())
    assert again.rounds == agent.rounds == 30
    assert again.policy == agent.policy
    for _ in range(20):
        pair = agent.ask_pair()
        assert again.ask_pair() == pair
        agent.tell_duel(*pair)
        again.tell_duel(*pair)


def test_a_saved_agent_without_its_wins_is_refused() -> None:
    content = json.loads(lpb.Agent(lpb.DoubleTS(model_for(GAUSSIAN)), seed=3).to_json())
    del content["wins"]
    with pytest.raises(FileFormatError, match="not whole"):
        lpb.Agent.from_json(json.dumps(content))


def test_a_saved_agent_with_wins_that_its_policy_never_keeps_is_refused() -> None:
    content = json.loads(lpb.Agent(lpb.LpbDuel(model_for(GAUSSIAN)), seed=3).to_json())
    content["wins"] = [[0, 1, 2.0]]
    with pytest.raises(FileFormatError, match="wins of pairs, which the 'inversions' evidence does not"):
        lpb.Agent.from_json(json.dumps(content))


@pytest.mark.parametrize("name", NAMES)
def test_single_actions_and_rewards_are_refused(name: str) -> None:
    agent = lpb.Agent(duel_policy(name, model_for(GAUSSIAN)), seed=1)
    for use in (agent.ask, lambda: agent.tell(0, 1.0), lambda: agent.retract(0, 1.0), agent.probabilities):
        with pytest.raises(NotSupported, match="duel"):
            use()
    assert (agent.asked, agent.rounds) == (0, 0)
    with pytest.raises(NotSupported, match="duel"):
        roll(agent.policy, crowd(None), rounds=2, seed=0)
    with pytest.raises(InvalidInput, match="unknown action 'x'"):
        agent.tell_duel("x", 0)


def test_duels_are_refused_by_policies_that_do_not_duel() -> None:
    agent = lpb.Agent(lpb.LpbTS(model_for(GAUSSIAN)), seed=1)
    for use in (agent.ask_pair, lambda: agent.tell_duel(0, 1)):
        with pytest.raises(NotSupported, match=r"LpbTS plays one action at a time.*LpbDuel\(model\)"):
            use()
    with pytest.raises(NotSupported, match="one action at a time"):
        roll_duels(agent.policy, crowd(None), rounds=2, seed=0)


def test_parts_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(InvalidInput, match="do not go together"):
        lpb.Agent(Policy(model_for(GAUSSIAN), Inversions(), Sample()), seed=0)


def test_a_duel_policy_explains_what_it_can() -> None:
    agent = lpb.Agent(lpb.DoubleTS(PreferenceModel([[0, 1]])), seed=0)
    agent.tell_duel(0, 1)
    agent.tell_duel(1, 0)
    assert agent.explain().tried == {0: (2, 0.5), 1: (2, 0.5)}
    agent.tell_duel(0, 0)
    agent.tell_duel(0, 1)
    assert agent.explain().tried == {0: (4, 0.625), 1: (3, 1 / 3)}, "a duel with itself is one duel, won by half"
    with pytest.raises(NotSupported, match="no fit to explain"):
        lpb.Agent(lpb.LpbDuel(PreferenceModel([[0, 1]])), seed=0).explain()


@given(st.data())
def test_paired_rewards_are_duels(data: st.DataObject) -> None:
    model = PreferenceModel(random_orderings(4, 5, 2))
    plays = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3).map(float)), max_size=21))
    agent, other = lpb.Agent(lpb.LpbPaired(model), seed=0), lpb.Agent(lpb.LpbDuel(model), seed=0)
    for action, reward in plays:
        agent.tell(action, reward)
    for winner, loser in lpb.pair_up([a for a, _ in plays], [r for _, r in plays]):
        other.tell_duel(winner, loser)
    np.testing.assert_array_equal(agent.posterior, other.posterior)
    again = lpb.Agent.from_json(agent.to_json())
    again.tell(1, 9.0)
    agent.tell(1, 9.0)
    np.testing.assert_array_equal(agent.posterior, again.posterior)


def test_a_single_state_pairs_without_a_place_to_wait() -> None:
    model = PreferenceModel([[0, 1]], means=[[1.0, 0.0]])
    trace = roll(Policy(model, Paired(), Sample()), population_for(model, Rewards(), people=2), rounds=5, seed=0)
    np.testing.assert_array_equal(trace.actions, 0)


@pytest.mark.parametrize("name", NAMES)
def test_threads_do_not_change_a_bit(name: str) -> None:
    world = lpb.SyntheticWorld(states=3, actions=4)
    runs = [simulate_duels(world, [name], people=CHUNK // 3 + 20, rounds=6, draws=2, seed=4, threads=n) for n in (1, 3)]
    assert runs[0].people().equals(runs[1].people(), null_equal=True)
    assert runs[0].curves().equals(runs[1].curves(), null_equal=True)


def test_a_persons_duels_depend_on_nobody_else() -> None:
    population = crowd(None)
    policy = duel_policy("double-ts", population.model)
    together = roll_duels(policy, population, rounds=20, seed=SEED, first=5)
    cut = slice(3, 5)
    some = Population(population.model, population.truth[cut], population.means[cut], population.rewards)
    alone = roll_duels(policy, some, rounds=20, seed=SEED, first=8)
    for name in DuelTrace.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name)[cut])


def test_lpb_duel_is_far_below_the_unstructured_baseline_and_finds_the_state() -> None:
    # m=5, k=10, T=500, fresh seed: about 50 against 340; the baseline's standard error is about 5
    world = lpb.SyntheticWorld(states=5, actions=10, scale="different")
    results = simulate_duels(world, people=6, rounds=500, draws=6, seed=4321)
    ours, theirs = results["lpb-duel"], results["double-ts"]
    assert ours.regret.mean[-1] < 0.35 * theirs.regret.mean[-1]
    assert isinstance(ours, DuelResult)
    assert isinstance(theirs, DuelResult)
    assert ours.weak.mean[-1] < 0.35 * theirs.weak.mean[-1]
    # pairs with the best action never tell states apart that share it, so look at people whose best action is theirs
    found = []
    for draw in range(6):
        crowd_ = world.draw(people=6, seed=4321, draw=draw)
        tops = crowd_.model.orderings[:, 0]
        alone = np.array([np.sum(tops == tops[z]) == 1 for z in crowd_.truth])
        found += ours.people["true_state"][draw * 30 : draw * 30 + 30][alone].tolist()
    assert np.mean(found) > 0.93


def test_double_ts_on_an_easy_problem_settles_on_the_best_action() -> None:
    model = PreferenceModel([[0, 1, 2, 3]], means=[[3.0, 1.0, 0.5, 0.0]])
    people = population_for(model, Rewards("gaussian", 0.5), people=20)
    trace = roll_duels(lpb.DoubleTS(model), people, rounds=300, seed=2)
    assert np.mean(np.all(trace.pairs[:, 150:] == 0, axis=2)) > 0.95


def test_a_wrong_start_is_left_again() -> None:
    # ten duels against the truth put the posterior on the wrong state; the doubt that is left must bring it back
    model = PreferenceModel([[0, 1], [1, 0]])
    rng = np.random.default_rng(3)
    back = 0
    for person in range(40):
        agent = lpb.Agent(lpb.LpbDuel(model), seed=5, person=person)
        for _ in range(5):
            agent.tell_duel(1, 0)
        for _ in range(300):
            one, other = agent.ask_pair()
            better = rng.random() < 0.8
            pair = sorted((one, other), key=str)
            agent.tell_duel(*(pair if better else pair[::-1]))
        back += agent.posterior[0] > 0.99
    assert back >= 38


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lpb.LpbDuel(model_for(GAUSSIAN), margin=0.5), "margin is 0.5; it must be at most 0.499"),
        (lambda: lpb.DoubleTS(model_for(GAUSSIAN), alpha=0.5), "alpha is 0.5; it must be greater than 0.5"),
        (lambda: lpb.DuellingWorld(lpb.SyntheticWorld(), "coin"), "comparison is 'coin'; choose one of: rewards"),
        (lambda: simulate_duels(lpb.SyntheticWorld(), ["lpbts"]), "policy for duels is 'lpbts'; choose one of: lpb-"),
        (lambda: simulate_duels(lpb.SyntheticWorld(), []), "no policies were named"),
        (lambda: simulate_duels(lpb.SyntheticWorld(), "lpb-duel"), "give a list of names"),
        (lambda: simulate_duels(lpb.SyntheticWorld(), ["lpb-duel", "lpb-duel"]), "named twice"),
        (lambda: lpb.pair_up([0, 1], [1.0]), "2 actions and 1 rewards"),
        (lambda: lpb.simulate(lpb.DuellingWorld(lpb.SyntheticWorld()), ["lpbts"]), "use simulate_duels"),
        (lambda: simulate_duels(3), "world is 3; give a world"),  # type: ignore[arg-type] # wrong on purpose
        (
            lambda: roll_duels(lpb.LpbDuel(crowd(None).model), crowd(None), rounds=2, seed=0, comparison="bt"),
            "comparison is 'bt'; choose one of: rewards, bradley-terry",
        ),
        (lambda: lpb.DuellingWorld(lpb.DuellingWorld(lpb.SyntheticWorld())), "already duels"),
    ],
)
def test_errors_say_what_is_wrong(call: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call()  # type: ignore[operator] # a function


def test_one_person_has_no_spread_and_the_table_says_so() -> None:
    results = simulate_duels(lpb.SyntheticWorld(states=1, actions=3), ["double-ts"], people=1, rounds=5)
    assert "–" in duel_comparison(results)[1][0]


def test_a_policy_for_duels_over_other_actions_is_refused() -> None:
    other = PreferenceModel([[0, 1, 2, 3]])
    with pytest.raises(InvalidInput, match="over 4 actions, but the world has 3"):
        simulate_duels(lpb.SyntheticWorld(states=1, actions=3), {"odd": lambda s: lpb.LpbDuel(other)}, rounds=5)  # noqa: ARG005
