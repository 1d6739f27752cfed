"""Rollouts equal agents that ask and tell, bit for bit, and the naive twin."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import Setting, make_policy
from lpbandits.simulation import rollout
from lpbandits.typing import IntArray
from lpbandits.worlds import Population, SyntheticWorld
from tests import naive
from tests.conftest import CASES, Case, model_for, personal_priors, population_for
from tests.simulation.agents import FIRST_PERSON, SEED, allowed_at, assert_equals_agents


def random_offers(shape: tuple[int, int, int], k: int) -> IntArray:
    """Return random sets of allowed actions in ascending order, of different sizes, padded with -1."""
    rng = np.random.default_rng(8)
    offered = np.full(shape, -1, dtype=np.int64)
    for p, t in np.ndindex(shape[:2]):
        size = int(rng.integers(1, shape[2] + 1))
        offered[p, t, :size] = np.sort(rng.choice(k, size=size, replace=False))
    return offered


@pytest.mark.parametrize(
    ("k", "rounds", "shape", "first"),
    [
        pytest.param(5, 12, None, "uniform", marks=pytest.mark.jitless),
        pytest.param(5, 12, (4, 12, 3), "prior", marks=pytest.mark.jitless),
        (12, 60, None, "prior"),
        (12, 60, None, "uniform"),
        *((7, 30, shape, "prior") for shape in [(8, 30, 5), (1, 30, 5), (8, 1, 5), (1, 1, 5)]),
    ],
)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rollouts_equal_agents(case: Case, k: int, rounds: int, shape: tuple[int, int, int] | None, first: str) -> None:
    model = model_for(case.rewards, m=4, k=k)
    offered = None if shape is None else random_offers(shape, k)
    population = population_for(model, case.rewards, people=1 if k == 5 else 2, offered=offered)
    assert_equals_agents(case.policy(model, rounds=rounds, first=first), population, rounds)


@pytest.mark.jitless
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rollouts_with_priors_of_people_equal_agents(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=5)
    population = replace(population_for(model, case.rewards, people=1), priors=personal_priors(4, 4))
    assert_equals_agents(case.policy(model), population, 6)


def test_priors_of_people_are_checked_and_cut() -> None:
    model = model_for(CASES[0].rewards, m=4, k=5)
    population = population_for(model, CASES[0].rewards, people=1)
    priors = personal_priors(4, 4)
    part = replace(population, priors=priors).cut(slice(1, 3)).priors
    assert part is not None
    np.testing.assert_array_equal(part, priors[1:3])
    for wrong, match in (
        (priors[:3], r"priors.*4×4.*3×4"),
        (2 * priors, r"priors\[0\].*sum to 1.*2"),
        (-priors, "priors"),
    ):
        with pytest.raises(InvalidInput, match=match):
            replace(population, priors=wrong)
    with pytest.raises(InvalidInput, match=r"policy must have the 4 states.*3"):
        rollout(
            CASES[0].policy(model_for(CASES[0].rewards, m=3, k=5)),
            replace(population, priors=priors),
            rounds=2,
            seed=0,
        )


@pytest.mark.jitless
@pytest.mark.parametrize("offers", [False, True], ids=["all", "offered"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rollout_equals_the_naive_twin(case: Case, offers: bool) -> None:
    rounds = 15
    model = model_for(case.rewards, m=3, k=5)
    offered = random_offers((3, rounds, 4), 5) if offers else None
    population = population_for(model, case.rewards, people=1, offered=offered)
    policy = case.policy(model, rounds=rounds)
    trace = rollout(policy, population, rounds=rounds, seed=SEED, first_person=FIRST_PERSON)
    for p in range(len(population.truth)):
        history: list[tuple[int, float]] = []
        for t in range(rounds):

            def draw(purpose: int, index: int, address: tuple[int, int] = (FIRST_PERSON + p, t)) -> tuple[int, int]:
                return naive.words(SEED, *address, purpose, index)

            allowed = allowed_at(population, p, t)
            action = int(trace.actions[p, t])
            assert action in naive.actions_of(policy, case.kind, history, allowed, draw)
            mean = float(population.means[p, action])
            reward = naive.reward(case.rewards.family, mean, case.rewards.sd, draw(naive.STATE, 0)[1])
            history.append((action, reward))
        np.testing.assert_allclose(trace.rewards[p], [reward for _, reward in history], rtol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_active_constraints_equal_the_naive_twin(case: Case) -> None:
    model = model_for(case.rewards, m=4, k=6)
    population = population_for(model, case.rewards, people=3)
    policy = case.policy(model)
    trace = rollout(policy, population, rounds=25, seed=1)
    if not policy.evidence.ordered:
        assert np.isnan(trace.active).all()
        return
    for p, state in enumerate(population.truth):
        history = list(zip(trace.actions[p].tolist(), trace.rewards[p].tolist(), strict=True))
        counts = np.array([naive.active(order, history) for order in naive.orders_of(model)])
        others = np.delete(counts, state)
        np.testing.assert_allclose(trace.active[p], [counts.mean(), counts[state], others.mean()])


def test_regret_is_relative_to_the_best_allowed_action() -> None:
    # the person's best action is best in no state, so that a policy on the top actions cannot play it
    model = PreferenceModel([[0, 1, 2]], means=[[3.0, 2.0, 1.0]])
    case = next(case for case in CASES if case.name == "ts-top" and case.kind == "gaussian")
    means = np.array([[0.0, 1.0, 5.0]])
    everything = Population(model, np.zeros(1, dtype=np.int64), means, case.rewards)
    np.testing.assert_allclose(rollout(case.policy(model), everything, rounds=4, seed=0).regret, 5.0)
    some = np.array([[[0, 1, -1]]], dtype=np.int64)
    offered = Population(model, np.zeros(1, dtype=np.int64), means, case.rewards, some)
    np.testing.assert_allclose(rollout(case.policy(model), offered, rounds=4, seed=0).regret, 1.0)


@pytest.mark.parametrize("name", ["uniform", "double-ts"])
def test_the_memory_estimate_of_a_trace_is_exact(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(sys.modules["lpbandits.simulation.rollout"], "check_memory", lambda *a: sizes.append(a[-1]))
    people = SyntheticWorld(states=2, actions=3).draw(people=2, seed=0)
    trace = rollout(make_policy(name, Setting(people.model, people.rewards)), people, rounds=5, seed=0)
    assert sizes == [sum(array.nbytes for array in trace[:-1])]
