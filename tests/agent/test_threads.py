"""One agent used by several threads: the result is that of the same calls one after another."""

import copy
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.agent import Agent
from lpbandits.policies import Policy, Setting, make_policy
from lpbandits.typing import Label
from tests.conftest import agent_after, random_orderings

K = 1200
THREADS = 8
CALLS = 250
"""Calls of ask and of tell per thread; most try a new action, so that arrays grow."""


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    """Switch between threads as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def policy_of(name: str) -> Policy:
    return make_policy(name, Setting(lpb.PreferenceModel(random_orderings(2, K, 1)), lpb.Rewards()))


@pytest.mark.parametrize("name", ["uniform", "lpbts", "lpbts-incremental", "ts"])
def test_calls_of_threads_take_effect_one_after_another(name: str) -> None:
    policy = policy_of(name)
    agent = Agent(policy, seed=1)

    def use(thread: int) -> tuple[list[Label], list[tuple[int, float]]]:
        rng = np.random.default_rng(thread)
        asked, told = [], []
        for i in range(CALLS):
            asked.append(agent.ask())
            action, reward = int(rng.integers(K)), float(rng.normal())
            agent.tell(action, reward, id=f"{thread}-{i}")
            agent.tell(action, reward, id=f"{thread}-{i}")  # counts once
            told.append((action, reward))
            if i % 50 == 0:
                twin = copy.copy(agent)
                assert twin.rounds == len(twin.outcomes)
                np.testing.assert_allclose(agent.probabilities([0, 1, 2]).sum(), 1.0)
            if i % 100 == 99:
                agent.retract(*told.pop(0))
        return asked, told

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(use, range(THREADS)))
    outcomes = [outcome for _, told in results for outcome in told]
    assert agent.asked == THREADS * CALLS
    assert agent.rounds == len(outcomes)
    assert Counter(agent.outcomes) == Counter(outcomes)
    assert agent.belief.pack() == agent_after(policy, agent.outcomes).belief.pack()
    if name == "uniform":  # its decisions depend on nothing but the number of earlier ones
        serial = Agent(policy, seed=1)
        assert Counter(serial.ask() for _ in range(agent.asked)) == Counter(a for asked, _ in results for a in asked)


def test_duels_of_threads_are_all_counted() -> None:
    agent = Agent(policy_of("lpb-duel"), seed=1)

    def use(thread: int) -> None:
        rng = np.random.default_rng(thread)
        for _ in range(CALLS):
            agent.ask_pair()
            agent.tell_duel(*rng.integers(K, size=2).tolist())

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(use, range(THREADS)))
    assert (agent.asked, agent.rounds) == (THREADS * CALLS, THREADS * CALLS)
    serial = Agent(agent.policy, seed=1)
    for winner, loser in agent.outcomes:
        serial.tell_duel(winner, loser)
    assert agent.belief.pack() == serial.belief.pack()


def test_decisions_of_threads_are_all_recorded() -> None:
    agent = Agent(policy_of("lpbts"), seed=1)

    def use(thread: int) -> None:
        rng = np.random.default_rng(thread)
        for i in range(40):
            decision = agent.decide()
            if i % 4:
                agent.tell(reward=float(rng.normal()), decision=decision)
            if i % 10 == 1:
                agent.retract(id=decision.id)
                assert decision in agent.pending

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(use, range(THREADS)))
    assert [record.decision.asked for record in agent.decisions] == list(range(agent.asked))
    assert (agent.asked, agent.rounds, len(agent.pending)) == (40 * THREADS, 26 * THREADS, 14 * THREADS)
    assert Agent.from_json(agent.to_json()).decisions == agent.decisions
