"""The simulator's rollout is ask and tell, bit for bit, and both are the slow twin."""

import numpy as np
import pytest

from lpbandits.agent import Agent
from lpbandits.model import PreferenceModel
from lpbandits.simulation import Trace, rollout, simulate
from lpbandits.typing import IntArray
from lpbandits.worlds import Population
from tests import naive
from tests.conftest import CASES, Case, model_for, population_for

SEED, FIRST = 2**40 + 5, 17
"""Those that a simulation finds by name."""


def random_offers(shape: tuple[int, int, int], k: int) -> IntArray:
    """Return random sets of allowed actions, in rising order, of different sizes, filled up with -1."""
    rng = np.random.default_rng(8)
    offered = np.full(shape, -1, dtype=np.int64)
    for p, t in np.ndindex(shape[:2]):
        size = int(rng.integers(1, shape[2] + 1))
        offered[p, t, :size] = np.sort(rng.choice(k, size=size, replace=False))
    return offered


def offers_at(offered: IntArray, p: int, t: int) -> list[int] | None:
    if offered.shape[2] == 0:
        return None
    row = offered[min(p, offered.shape[0] - 1), min(t, offered.shape[1] - 1)]
    return [int(a) for a in row if a >= 0]


def assert_replays(case: Case, population: Population, rounds: int, first: str) -> Trace:
    """Play the rollout again through an agent per person, and compare every bit."""
    policy = case.policy(population.model, rounds=rounds, first=first)
    trace = rollout(policy, population, rounds=rounds, seed=SEED, first_person=FIRST)
    for p, state in enumerate(population.truth):
        agent = Agent(policy, seed=SEED, person=FIRST + p)
        for t in range(rounds):
            allowed = offers_at(population.offered, p, t)
            action = agent.ask(allowed)
            assert action == trace.actions[p, t]
            agent.tell(action, float(trace.rewards[p, t]))
            best = population.means[p].max() if allowed is None else population.means[p, allowed].max()
            assert trace.regret[p, t] == best - population.means[p, trace.actions[p, t]]
            if policy.evidence.probabilistic:
                assert agent.posterior[state] == trace.mass[p, t]
            else:
                assert np.isnan(trace.mass[p, t])
    return trace


@pytest.mark.parametrize("first", ["prior", "uniform"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rollout_equals_ask_and_tell(case: Case, first: str) -> None:
    model = model_for(case.rewards, m=4, k=12)
    assert_replays(case, population_for(model, case.rewards, people=3), rounds=60, first=first)


@pytest.mark.parametrize("shape", [(8, 30, 5), (1, 30, 5), (8, 1, 5), (1, 1, 5)])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rollout_equals_ask_and_tell_with_offered_sets(case: Case, shape: tuple[int, int, int]) -> None:
    model = model_for(case.rewards, m=4, k=7)
    population = population_for(model, case.rewards, people=2, offered=random_offers(shape, 7))
    trace = assert_replays(case, population, rounds=30, first="prior")
    for p, t in np.ndindex(trace.actions.shape):
        assert trace.actions[p, t] in (offers_at(population.offered, p, t) or [])


@pytest.mark.jitless
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_small_rollout_equals_ask_and_tell(case: Case) -> None:
    model = model_for(case.rewards, m=3, k=5)
    assert_replays(case, population_for(model, case.rewards, people=1), rounds=12, first="uniform")
    offers = random_offers((3, 12, 3), 5)
    population = population_for(model, case.rewards, people=1, offered=offers)
    assert_replays(case, population, rounds=12, first="prior")


@pytest.mark.jitless
@pytest.mark.parametrize("offers", [False, True], ids=["all", "offered"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rollout_equals_the_twin(case: Case, offers: bool) -> None:
    rounds = 15
    model = model_for(case.rewards, m=3, k=5)
    offered = random_offers((3, rounds, 4), 5) if offers else None
    population = population_for(model, case.rewards, people=1, offered=offered)
    policy = case.policy(model, rounds=rounds)
    trace = rollout(policy, population, rounds=rounds, seed=SEED, first_person=FIRST)
    for p in range(len(population.truth)):
        history: list[tuple[int, float]] = []
        for t in range(rounds):

            def draw(purpose: int, index: int, address: tuple[int, int] = (FIRST + p, t)) -> tuple[int, int]:
                return naive.words(SEED, *address, purpose, index)

            allowed = offers_at(population.offered, p, t) or list(range(5))
            action = int(trace.actions[p, t])
            assert action in naive.actions_of(policy, case.kind, history, allowed, draw)
            mean = float(population.means[p, action])
            reward = naive.reward(case.rewards.family, mean, case.rewards.sd, draw(naive.STATE, 0)[1])
            history.append((action, reward))
        np.testing.assert_allclose(trace.rewards[p], [reward for _, reward in history], rtol=1e-12)


@pytest.mark.parametrize("case", [case for case in CASES if case.policy().evidence.ordered], ids=str)
def test_active_constraints_equal_a_recount(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=6)
    population = population_for(model, case.rewards, people=3)
    trace = rollout(case.policy(model), population, rounds=25, seed=1)
    for p, state in enumerate(population.truth):
        history = list(zip(trace.actions[p].tolist(), trace.rewards[p].tolist(), strict=True))
        counts = np.array([naive.active(row, history) for row in model.orderings])
        others = np.delete(counts, state)
        np.testing.assert_allclose(trace.active[p], [counts.mean(), counts[state], others.mean()])


@pytest.mark.parametrize("case", [case for case in CASES if not case.policy().evidence.ordered], ids=str)
def test_policies_without_fits_have_no_active_constraints(case: Case) -> None:
    trace = rollout(case.policy(), population_for(model_for(case.rewards), case.rewards), rounds=5, seed=1)
    assert np.isnan(trace.active).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_persons_result_depends_on_nobody_else(case: Case) -> None:
    model = model_for(case.rewards)
    population = population_for(model, case.rewards, people=3)
    together = rollout(case.policy(model), population, rounds=20, seed=SEED, first_person=5)
    cut = slice(4, 7)
    some = Population(model, population.truth[cut], population.means[cut], population.rewards)
    alone = rollout(case.policy(model), some, rounds=20, seed=SEED, first_person=9)
    for name in ("actions", "rewards", "regret", "mass", "active"):
        np.testing.assert_array_equal(getattr(alone, name), getattr(together, name)[cut])


@pytest.mark.parametrize("case", [case for case in CASES if case.kind != "unknown-noise"], ids=str)
def test_any_number_of_threads_gives_the_same_bits(case: Case) -> None:
    model = model_for(case.rewards, m=3, k=5)
    people = 512 // 3 + 30  # more people than one piece of work holds, so that there is something to spread

    class World:
        def draw(self, *, people: int, seed: int, draw: int = 0) -> Population:  # noqa: ARG002
            return population_for(model, case.rewards, people=people)

        def to_dict(self) -> dict[str, object]:
            return {}

    runs = [
        simulate(World(), [case.name], people=people, rounds=10, draws=2, seed=4, threads=threads)
        for threads in (1, 2, 3)
    ]
    assert len(runs[0].people()) == 2 * 3 * people > 2 * 512
    for other in runs[1:]:
        assert runs[0].people().equals(other.people(), null_equal=True)
        assert runs[0].curves().equals(other.curves(), null_equal=True)


def test_regret_counts_from_the_best_allowed_action_for_every_policy() -> None:
    # a person whose best action is nobody's favourite: top-action policies must pay for leaving it out
    model = PreferenceModel([[0, 1, 2]], means=[[3.0, 2.0, 1.0]])
    case = next(case for case in CASES if case.name == "ts-top" and case.kind == "gaussian")
    means = np.array([[0.0, 1.0, 5.0]])
    everything = Population(model, np.zeros(1, dtype=np.int64), means, case.rewards)
    np.testing.assert_allclose(rollout(case.policy(model), everything, rounds=4, seed=0).regret, 5.0)
    some = np.array([[[0, 1, -1]]], dtype=np.int64)
    offered = Population(model, np.zeros(1, dtype=np.int64), means, case.rewards, some)
    np.testing.assert_allclose(rollout(case.policy(model), offered, rounds=4, seed=0).regret, 1.0)
