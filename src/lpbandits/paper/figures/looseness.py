"""Looseness of the paper's bound: the likelihood at refitted means against the marginal likelihood."""

from collections import defaultdict

import numpy as np
import polars as pl

from lpbandits.agent import Agent
from lpbandits.kernels.layout import SCORE
from lpbandits.paper.figures.sweeps import points
from lpbandits.paper.spec import Figure, Size
from lpbandits.policies.latent import LpbTS
from lpbandits.simulation import rollout
from lpbandits.typing import FloatArray, Json
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.policies import line_chart
from lpbandits.worlds import SyntheticWorld

SIZES = ((5, 10), (10, 20))
"""States and actions."""
BOUND, EXACT = "the paper's bound", "exact"
GAP, ODDS = "bound − exact", "error of two states' odds"
PLAUSIBLE = 0.01
"""A state is plausible while the paper's posterior gives it at least this probability."""
_EVERY = 10
"""Interval, in rounds, at which the probability of the true state is recorded."""
_MIN_SHARE = 0.01
"""The chart omits numbers of tried actions that occur in less than this share of the rounds."""


def _plan(size: Size, draws: int) -> dict[str, Json]:
    run = {"people": max(size.people // 5, 2), "rounds": size.rounds, "draws": draws}
    return {f"m={m} k={k}": {"world": {"states": m, "actions": k}, **run} for m, k in SIZES}


def _run(settings: Json, seed: int, threads: int | None) -> pl.DataFrame:
    """Return the probability of the true state by round, and the looseness by number of tried actions, per draw.

    lpbTS plays, and both policies observe its rewards. `share` is the share of the draw's rounds on which a value is
    based; the measure "all rounds" is based on all of them.
    """
    del threads
    world = SyntheticWorld(scale="different", **settings["world"])
    rows = []
    for draw in range(settings["draws"]):
        crowd = world.draw(people=settings["people"], seed=seed, draw=draw)
        policies = [LpbTS(crowd.model, rewards=crowd.rewards, likelihood=form) for form in ("refit", "marginal")]
        trace = rollout(policies[0], crowd, rounds=settings["rounds"], seed=seed, first_person=draw * len(crowd))
        values: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        for person, truth in enumerate(crowd.truth.tolist()):
            agents = [Agent(policy, seed=seed) for policy in policies]
            for t in range(settings["rounds"]):
                for name, agent in zip((BOUND, EXACT), agents, strict=True):
                    agent.tell(int(trace.actions[person, t]), float(trace.rewards[person, t]))
                    if (t + 1) % _EVERY == 0 or t == 0:
                        values["true state", name, t + 1].append(float(agent.posterior[truth]))
                for name, value in zip((GAP, ODDS), looseness(*agents), strict=True):
                    values["looseness", name, agents[0].belief.tried].append(value)
                    values["all rounds", name, 0].append(value)
        n_rounds = len(crowd) * settings["rounds"]
        rows += [
            (measure, name, draw, float(x), _mean(numbers), len(numbers) / n_rounds)
            for (measure, name, x), numbers in values.items()
        ]
    columns = ["measure", "policy", "draw", "x", "value", "share"]
    return pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        size=pl.lit(f"m={world.states} k={world.actions}")
    )


def looseness(bound: Agent, exact: Agent) -> tuple[float, float]:
    """Return the mean looseness of the bound over plausible states, and the mean error of log odds over pairs.

    Both are in nats. The second is NaN without a pair of plausible states.
    """
    gaps = (bound.belief.states[SCORE] - exact.belief.states[SCORE])[bound.posterior >= PLAUSIBLE]
    pairs = len(gaps) * (len(gaps) - 1)
    return float(gaps.mean()), float(np.abs(gaps[:, None] - gaps).sum() / pairs) if pairs else np.nan


def _mean(values: list[float]) -> float | None:
    known: FloatArray = np.array(values)[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _chart(table: pl.DataFrame) -> Chart:
    panels = []
    for m, k in SIZES:
        part = table.filter(size=f"m={m} k={k}")
        probability = line_chart(
            points(part.filter(measure="true state"), "value", "policy", "x"),
            x="round",
            y="probability of the true state",
            title=f"Probability of the true state, {m} states, {k} actions",
            subtitle="both observe the rewards of lpbTS; bars: standard error over draws",
            limit=1.0,
        )
        loose = line_chart(
            points(part.filter(pl.col("share") >= _MIN_SHARE, measure="looseness"), "value", "policy", "x"),
            x="tried actions",
            y="looseness (nats)",
            title=f"Looseness of the paper's bound, {m} states, {k} actions",
            subtitle="mean over plausible states, and mean difference between two of them",
        )
        panels += [probability, loose]
    return grid(panels)


FIGURES = [
    Figure(
        name="looseness",
        title="Looseness of the paper's bound",
        shows="the likelihood at refitted means and the marginal likelihood, which it bounds, on the same rewards",
        plan=_plan,
        run=_run,
        chart=_chart,
        draws=10,
        group="beyond",
    )
]
