"""The table of targets, and models, ratings and strategies that several of them share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import lpbandits as lpb
from tests.fuzz.values import NAMES, Code, mostly, one_of


@dataclass(frozen=True)
class Target:
    """An entry point, the strategy of its input, and its share of the examples."""

    strategy: Code
    function: Callable[[Any], Any]
    weight: int


TARGETS: dict[str, Target] = {}
"""Every target by name."""


def target(name: str, strategy: Code, weight: int = 1) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Make a function a target: it receives the value of a source that the strategy draws."""

    def add(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        TARGETS[name] = Target(strategy, function, weight)
        return function

    return add


COVARIATES = lpb.CovariateModel(
    *(["age", "sex"], ["number", "text"], [[], ["f", "m"]], np.array([40.0, 0.0]), np.array([9.0, 1.0])),
    intercepts=np.array([0.1, 0.0, -0.1]),
    coefficients=np.array([[1.0, 0.1, 2.0, -2.0, 0.0], [0.0] * 5, [-1.0, 0.2, -2.0, 2.0, 0.1]]),
    factor=0.9,
)
MODEL = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0], [1, 0, 2]],
    actions=["tea", "jam", 7],
    prior=[0.5, 0.25, 0.25],
    means=[[0.9, 0.5, 0.1], [0.2, 0.3, 0.8], [0.4, 0.7, 0.1]],
    taste=lpb.TasteModel(np.zeros(3), np.eye(3, 2), np.ones(3)),
    covariates=COVARIATES,
)
BARE = lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]])
PEOPLE = lpb.worlds.Population(MODEL, [0, 1, 2], MODEL.means, lpb.Rewards())  # type: ignore[arg-type] # as users write it
SMALL = lpb.SyntheticWorld(states=2, actions=3)


def _ratings(n_people: int, n_actions: int) -> lpb.Ratings:
    cells = [(n, a) for n in range(n_people) for a in range(n_actions) if (n + a) % 5]
    rows = [(n, a, (a if n % 2 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n, a in cells]
    return lpb.Ratings.from_arrays(*zip(*rows, strict=True))


LOG = _ratings(12, 4)
CROWD = _ratings(30, 5)
FITTED = lpb.fit_states(LOG, lpb.Em(restarts=1, max_steps=2), states=2, threads=1).model
PAST = lpb.Histories.from_arrays(
    ["ann", "ann", 3, -1, 3],
    ["tea", 7, "jam", "tea", 7],
    [1.0, 0.0, 1.0, 1.0, None],
    MODEL,
    people=["ann", 3, -1, "new"],
)
NAMES |= {"MODEL": MODEL, "BARE": BARE, "PEOPLE": PEOPLE, "SMALL": SMALL, "PAST": PAST}
NAMES |= {"LOG": LOG, "CROWD": CROWD, "FITTED": FITTED}

ACTIONS = one_of("'tea'", "'jam'", "7")
REWARDS = one_of("'gaussian'", "'bernoulli'", "'poisson'", "lpb.Rewards(noise=0.5)", "lpb.Rewards('bernoulli')")
MODELS = mostly(one_of("MODEL", "BARE"))
POLICIES = one_of(
    *("lpb.LpbTS(MODEL)", "lpb.LpbTS(MODEL, rewards='bernoulli')", "lpb.LpbTS(MODEL, noise_known=False)"),
    *("lpb.LpbTS(MODEL, likelihood='incremental')", "lpb.MTS(MODEL)", "lpb.MUCB(MODEL)", "lpb.TS(MODEL)"),
    *(
        "lpb.TS(MODEL, top=True)",
        "lpb.UCB(MODEL)",
        "lpb.LpbOrderUcb(MODEL)",
        "lpb.LpbPaired(MODEL)",
        "lpb.Uniform(MODEL, rewards='poisson')",
    ),
)
DUELLING = one_of("lpb.LpbDuel(MODEL)", "lpb.DoubleTS(MODEL)", "lpb.DoubleTS(MODEL, top=True)")


def public(name: str) -> Any:
    """Return a public function or class by name, from the top level or a folder."""
    places = (lpb, lpb.agent, lpb.evidences, lpb.fit, lpb.policies, lpb.rules, lpb.simulation, lpb.theory, lpb.worlds)
    return next(getattr(place, name) for place in places if hasattr(place, name))
