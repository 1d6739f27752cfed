"""The simulator and `Agent` against the loops of `benchmarks.loops`."""

from dataclasses import replace
from functools import partial

import numpy as np

import lpbandits as lpb
from benchmarks.loops import lpbts_loop, scipy_fit, sklearn_fit
from benchmarks.measure import Row, interleaved, ratio
from lpbandits.simulation import rollout
from lpbandits.worlds import Population

ROUNDS = 200


def population(states: int, actions: int, people: int) -> Population:
    gap = 0.2 if actions < 1000 else 4.0 / actions
    world = lpb.SyntheticWorld(states=states, actions=actions, scale="different", gap=gap, spread=2 * gap)
    return world.draw(people=people, seed=0)


def simulator(states: int, actions: int, goal: float) -> list[Row]:
    """Compare a decision of the simulator with the SciPy loop and, with few states, the scikit-learn loop."""
    some = population(states, actions, max(1, 250 // states))
    policy = lpb.LpbTS(some.model)
    orderings = np.array(some.model.orderings)
    short = 60 if states <= 10 else 12
    few = 6 if states <= 10 else 3
    ours, by_scipy, by_sklearn = interleaved(
        lambda: rollout(policy, some, rounds=ROUNDS, seed=0),
        lambda: lpbts_loop(scipy_fit, orderings, some.means[0], 1.0, short, 0),
        lambda: lpbts_loop(sklearn_fit, orderings, some.means[0], 1.0, few, 0),
    )
    ours = ours / (len(some.truth) * ROUNDS)
    size = f"m={states} k={actions}"
    rows = [ratio(f"simulator vs SciPy loop, {size}", by_scipy / short, ours, goal)]
    if states <= 10:
        rows.append(ratio(f"simulator vs scikit-learn loop, {size}", by_sklearn / few, ours, 10_000.0))
    return rows


def exact(states: int, actions: int) -> Row:
    """Compare a decision by the exact posterior with the scikit-learn loop, which uses the bound."""
    some = population(states, actions, max(1, 50 // states))
    policy = lpb.LpbTS(some.model, likelihood="marginal")
    orderings = np.array(some.model.orderings)
    ours, by_sklearn = interleaved(
        lambda: rollout(policy, some, rounds=ROUNDS, seed=0),
        lambda: lpbts_loop(sklearn_fit, orderings, some.means[0], 1.0, 6, 0),
    )
    name = f"lpbts-marginal vs scikit-learn loop of lpbTS, m={states} k={actions}"
    return ratio(name, by_sklearn / 6, ours / (len(some.truth) * ROUNDS), 80.0)


def informed() -> list[Row]:
    """Compare a decision of lpb-ids with one of lpbTS, among all of 20 actions and among 300 offered of 1,132."""
    small = population(10, 20, 25)
    few = population(5, 1132, 4)
    rng = np.random.default_rng(0)
    sets = np.stack([[rng.choice(1132, 300, replace=False) for _ in range(ROUNDS)] for _ in few.truth])
    offered = replace(few, offered=np.sort(sets, axis=2))
    out = []
    for people, where, goal in ((small, "m=10 k=20", 4.0), (offered, "300 of k=1132 offered, m=5", 15.0)):
        policies = lpb.LpbIDS(people.model), lpb.LpbTS(people.model)
        ids, ts = interleaved(*(partial(rollout, policy, people, rounds=ROUNDS, seed=0) for policy in policies))
        out.append(ratio(f"lpb-ids over lpbTS, {where}", ids, ts, goal, at_most=True))
    return out


def many_actions() -> Row:
    small, large = population(5, 10, 50), population(5, 8777, 50)
    at_small, at_large = interleaved(
        lambda: rollout(lpb.LpbTS(small.model), small, rounds=ROUNDS, seed=0),
        lambda: rollout(lpb.LpbTS(large.model), large, rounds=ROUNDS, seed=0),
    )
    return ratio("simulator: k=8777 over k=10, m=5", at_large, at_small, 2.0, at_most=True)


def agent() -> Row:
    """Compare ask and tell of an `Agent`, checks included, with the SciPy loop."""
    some = population(5, 10, 1)
    means = some.means[0].tolist()
    noise = np.random.default_rng(0).standard_normal(ROUNDS).tolist()
    policy = lpb.LpbTS(some.model)
    orderings = np.array(some.model.orderings)

    def play() -> None:
        for person in range(20):
            own = lpb.Agent(policy, seed=1, person=person)
            for draw in noise:
                action = own.ask()
                own.tell(action, means[int(action)] + draw)

    ours, by_scipy = interleaved(play, lambda: lpbts_loop(scipy_fit, orderings, some.means[0], 1.0, 60, 0))
    return ratio("Agent ask + tell vs SciPy loop, m=5 k=10", by_scipy / 60, ours / (20 * ROUNDS), 100.0)


def rows() -> list[Row]:
    """Measure everything in this file."""
    goals = {(5, 10): 800.0, (10, 20): 500.0, (50, 50): 350.0, (100, 20): 180.0}
    exacts = [exact(5, 10), exact(10, 20)]
    simulators = [row for size, goal in goals.items() for row in simulator(*size, goal)]
    return [*simulators, *exacts, *informed(), many_actions(), agent()]
