"""The simulator and `Agent` against the loops of `benchmarks.loops`."""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import lpbandits as lpb
from benchmarks.loops import lpbts_loop, scipy_fit, sklearn_fit
from lpbandits.simulation import roll
from lpbandits.worlds import Population

ROUNDS = 200


class Row(NamedTuple):
    """A measured ratio and what was aimed at."""

    what: str
    value: float
    goal: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        return self.value <= self.goal if self.at_most else self.value >= self.goal


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def interleaved(*actions: Callable[[], object], repeats: int = 5) -> list[float]:
    """Return the median time of each action, all repeated in turn so that noise falls on all alike."""
    times: list[list[float]] = [[] for _ in actions]
    for action in actions:
        action()
    for _ in range(repeats):
        for i, action in enumerate(actions):
            times[i].append(timed(action))
    return [statistics.median(own) for own in times]


def population(states: int, actions: int, people: int) -> Population:
    gap = 0.2 if actions < 1000 else 4.0 / actions
    world = lpb.SyntheticWorld(states=states, actions=actions, scale="different", gap=gap, spread=2 * gap)
    return world.draw(people=people, seed=0)


def per_decision(states: int, actions: int) -> dict[str, float]:
    """Return seconds per decision of the simulator, the SciPy loop and the scikit-learn loop, one thread each."""
    some = population(states, actions, max(1, 250 // states))
    policy = lpb.LpbTS(some.model)
    orderings = np.array(some.model.orderings)
    short = 60 if states <= 10 else 12
    few = 6 if states <= 10 else 3
    ours, by_scipy, by_sklearn = interleaved(
        lambda: roll(policy, some, rounds=ROUNDS, seed=0),
        lambda: lpbts_loop(scipy_fit, orderings, some.means[0], 1.0, short, 0),
        lambda: lpbts_loop(sklearn_fit, orderings, some.means[0], 1.0, few, 0),
    )
    return {
        "ours": ours / (len(some.truth) * ROUNDS),
        "scipy": by_scipy / short,
        "sklearn": by_sklearn / few,
    }


def agent_per_decision() -> tuple[float, float]:
    """Return seconds per ask and tell of an `Agent` (checks included) and of the SciPy loop, at (5, 10)."""
    some = population(5, 10, 1)
    means = some.means[0].tolist()
    noise = np.random.default_rng(0).standard_normal(ROUNDS).tolist()
    policy = lpb.LpbTS(some.model)

    def play() -> None:
        for person in range(20):
            agent = lpb.Agent(policy, seed=1, person=person)
            for luck in noise:
                action = agent.ask()
                agent.tell(action, means[int(action)] + luck)

    ours, by_scipy = interleaved(
        play, lambda: lpbts_loop(scipy_fit, np.array(some.model.orderings), some.means[0], 1.0, 60, 0)
    )
    return ours / (20 * ROUNDS), by_scipy / 60


def rows() -> list[Row]:
    """Measure everything in this file."""
    out: list[Row] = []
    goals = {(5, 10): 800.0, (10, 20): 500.0, (50, 50): 350.0, (100, 20): 180.0}
    costs = {}
    for (m, k), goal in goals.items():
        costs[m, k] = cost = per_decision(m, k)
        out.append(Row(f"simulator vs SciPy loop, m={m} k={k}", cost["scipy"] / cost["ours"], goal))
        if m <= 10:
            out.append(Row(f"simulator vs scikit-learn loop, m={m} k={k}", cost["sklearn"] / cost["ours"], 10_000.0))
    small, large = population(5, 10, 50), population(5, 8777, 50)
    at_small, at_large = interleaved(
        lambda: roll(lpb.LpbTS(small.model), small, rounds=ROUNDS, seed=0),
        lambda: roll(lpb.LpbTS(large.model), large, rounds=ROUNDS, seed=0),
    )
    out.append(Row("simulator: cost at k=8777 over cost at k=10, m=5", at_large / at_small, 2.0, at_most=True))
    agent, loop = agent_per_decision()
    out.append(Row("Agent ask + tell vs SciPy loop, m=5 k=10", loop / agent, 100.0))
    simulator = costs[5, 10]["ours"]
    print(f"a decision: simulator {simulator * 1e9:.0f} ns, Agent {agent * 1e6:.2f} µs, SciPy loop {loop * 1e6:.0f} µs")
    return out
