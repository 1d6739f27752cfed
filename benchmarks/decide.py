"""`lpb.decide` compared with a loop of agents, and with a straightforward loop with SciPy."""

from typing import NamedTuple

import numpy as np

import lpbandits as lpb
from benchmarks.loops import Floats, Ints, scipy_fit
from benchmarks.measure import Row, interleaved, ratio
from lpbandits.decisions.engine import Engine
from lpbandits.decisions.kernels.allowance import DecisionBatch

STATES, TRIED = 5, 10
PEOPLE = 50_000
FEW = 300
"""People for whom the loops decide."""


class Past(NamedTuple):
    """People who tried ten actions each."""

    model: lpb.PreferenceModel
    action: Ints
    reward: Floats

    @property
    def offsets(self) -> Ints:
        return np.arange(len(self.reward) // TRIED + 1) * TRIED


def past(actions: int) -> Past:
    rng = np.random.default_rng(0)
    model = lpb.PreferenceModel([rng.permutation(actions) for _ in range(STATES)])
    some = np.argsort(rng.random((500, actions)), axis=1)[:, :TRIED]
    return Past(model, some[rng.integers(0, len(some), PEOPLE)].ravel(), rng.normal(size=PEOPLE * TRIED))


def decided(given: Past) -> None:
    """Decide for all people on one thread, without the Python part, which does not depend on the number of actions."""
    batch = DecisionBatch(given.offsets, given.action.astype(np.int32), given.reward, np.arange(PEOPLE))
    Engine(lpb.LpbTS(given.model)).run(batch)


def by_agents(given: Past) -> None:
    """Decide for a few people with one agent each, and compute the same outputs."""
    policy = lpb.LpbTS(given.model)
    actions, rewards = given.action.tolist(), given.reward.tolist()
    for person in range(FEW):
        agent = lpb.Agent(policy, seed=0, person=person, asked=TRIED)
        for i in range(person * TRIED, person * TRIED + TRIED):
            agent.tell(actions[i], rewards[i])
        action = int(agent.ask())
        agent.asked -= 1
        agent.ask([other for other in given.model.actions if other != action])
        _ = agent.probabilities()[action]
        _ = agent.posterior @ policy.expected(agent.belief)[:, action]


def by_scipy(given: Past) -> None:
    """Decide with one isotonic fit per state; interpolate untried actions."""
    rng = np.random.default_rng(0)
    orderings, ranks = np.array(given.model.orderings), np.array(given.model.ranks)
    for person in range(FEW):
        mine = slice(person * TRIED, person * TRIED + TRIED)
        tried, first = np.unique(given.action[mine], return_inverse=True)
        counts = np.bincount(first).astype(np.float64)
        means = np.bincount(first, weights=given.reward[mine]) / counts
        scores, fits = np.empty(STATES), []
        for z in range(STATES):
            order = np.argsort(ranks[z, tried])
            fitted = scipy_fit(means[order], counts[order])
            scores[z] = -0.5 * np.sum(counts[order] * (means[order] - fitted) ** 2)
            fits.append((ranks[z, tried][order], fitted))
        weights = np.exp(scores - scores.max())
        posterior = weights / weights.sum()
        state = rng.choice(STATES, p=posterior)
        action = orderings[state, 0]
        _ = orderings[state, 1], posterior[orderings[:, 0] == action].sum()
        _ = sum(p * np.interp(ranks[z, action], *fits[z]) for z, p in enumerate(posterior))


def rows() -> list[Row]:
    """Measure everything in this file."""
    small, middle, large = past(10), past(1132), past(8777)
    ours, at_middle, at_large, agents, scipy = interleaved(
        lambda: decided(small),
        lambda: decided(middle),
        lambda: decided(large),
        lambda: by_agents(small),
        lambda: by_scipy(small),
    )
    rate = PEOPLE / ours
    size = f"m={STATES}, {TRIED} tried"
    return [
        Row(
            f"decide: people per second, k=10, {size}",
            float(rate.max()),
            500_000.0,
            unit="/s",
            spread=(float(rate.min()), float(rate.max())),
        ),
        ratio(f"decide vs a loop of agents, k=10, {size}", agents / FEW, ours / PEOPLE, 40.0),
        ratio(f"decide vs SciPy loop, k=10, {size}", scipy / FEW, ours / PEOPLE, 70.0),
        ratio(f"decide: k=1132 over k=10, {size}", at_middle, ours, 1.5, at_most=True),
        ratio(f"decide: k=8777 over k=10, {size}", at_large, ours, 2.0, at_most=True),
    ]
