"""Shared fixtures: hypothesis profiles, example models and worlds, and all registered policies."""

import contextlib
import itertools
import math
import os
import socket
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from lpbandits.agent import Agent
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.policies import POLICIES, Policy, Setting, make_policy
from lpbandits.policies.evidences import EVIDENCES, Refit
from lpbandits.policies.registry import TASTES
from lpbandits.policies.rules import RULES, Sample
from lpbandits.rewards import Rewards
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray, IntArray, Label
from lpbandits.worlds import WORLDS, MeansWorld, Population, ReplayWorld, SyntheticWorld, World

settings.register_profile(
    "lpbandits",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("fuzz", settings.get_profile("lpbandits"), derandomize=False, print_blob=True)
settings.load_profile("lpbandits")

Outcome = tuple[int, float]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Hide the name of the test from the environment: a changed environment restarts worker processes."""
    current = os.environ.pop("PYTEST_CURRENT_TEST", "")
    try:
        return (yield)
    finally:
        os.environ["PYTEST_CURRENT_TEST"] = current  # pytest removes it


@contextlib.contextmanager
def without_report() -> Iterator[None]:
    """Skip the report of a reproduction: charts take longer than the small cases."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lpbandits.paper.reproduce.save_reproduction", lambda out, *_, **__: Path(out))
        yield


@pytest.fixture
def no_report() -> Iterator[None]:
    with without_report():
        yield


SHARING = (
    *("cli/test_evaluate", "evaluation/test_evaluate", "kernels/test_guards_operations"),
    *("kernels/test_guards_signatures", "paper/test_claims", "paper/test_movielens", "paper/test_report"),
    *("paper/test_reproduce", "policies/test_conformance", "simulation/test_results"),
)
"""How the paths of modules begin whose tests share results that take seconds."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Assign tests to the processes of pytest-xdist.

    One process runs all tests with workers, which share a pool and a cluster. Each policy is compiled by one process.
    """
    for item in items:
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        groups = ["workers"] if {"address", "two_workers"} & {*getattr(item, "fixturenames", ())} else []
        groups += [path for path in SHARING if item.nodeid.startswith(f"tests/{path}")]
        groups += [value.name for value in params if isinstance(value, Case)]
        groups += [value for value in params if isinstance(value, str) and value in POLICIES]
        if groups and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(groups[0]))


@pytest.fixture
def closed_port() -> Iterator[str]:
    """Yield a host and a port that is bound but does not listen."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Yield the address of a Dask cluster with two workers."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


REWARDS: dict[str, Rewards] = {
    "gaussian": Rewards("gaussian", 0.8),
    "unknown-noise": Rewards("gaussian", 0.8, noise_known=False),
    "no-guess": Rewards("gaussian", noise_known=False),
    "bernoulli": Rewards("bernoulli"),
    "poisson": Rewards("poisson"),
}
"""Every family of rewards, with known and unknown noise."""

_LEVELS = {"gaussian": (1.0, 5.0), "bernoulli": (0.05, 0.95), "poisson": (0.5, 5.0)}


def random_orderings(m: int, k: int, seed: int) -> IntArray:
    """Return m distinct random orderings of k actions."""
    rng = np.random.default_rng(seed)
    rows: dict[tuple[int, ...], None] = {}
    while len(rows) < m:
        rows[tuple(rng.permutation(k).tolist())] = None
    return np.array(list(rows), dtype=np.int64)


def descending(orderings: IntArray, low: float, high: float) -> FloatArray:
    """Return means that fall evenly from high to low along each ordering; each state starts a little lower."""
    m, k = orderings.shape
    means = np.empty((m, k))
    for z in range(m):
        top = high - (high - low) * 0.2 * z / m
        means[z, orderings[z]] = np.linspace(top, low, k)
    return means


def taste_for(k: int, seed: int = 1, **settings: Any) -> TasteModel:
    """Return a random taste model of k actions with two factors."""
    rng = np.random.default_rng([seed, k])
    numbers: dict[str, Any] = {"offset": 0.3, "level": 1.5, "log_scale": -0.2, "log_scale_sd": 0.4, "lasting": 0.6}
    variances = rng.uniform(0.2, 1.0, k)
    means = rng.normal(size=k)
    return TasteModel(means, rng.normal(size=(k, 2)), variances, **{**numbers, **settings})


def with_taste(model: PreferenceModel) -> PreferenceModel:
    """Return the model with a random taste model, if it has none."""
    return model if model.taste is not None else model.replace(taste=taste_for(model.n_actions))


def model_for(rewards: Rewards, m: int = 4, k: int = 6, seed: int = 1) -> PreferenceModel:
    """Return a model with means in the range of a reward family."""
    orderings = random_orderings(m, k, seed)
    return PreferenceModel(orderings, means=descending(orderings, *_LEVELS[rewards.family]), taste=taste_for(k))


def personal_priors(people: int, states: int, seed: int = 5) -> FloatArray:
    """Return random priors by person; the first excludes a state, and the second is certain of one."""
    priors = np.random.default_rng(seed).dirichlet(np.ones(states), people)
    if states > 1:
        priors[0] = np.eye(states)[0] / 4 + 3 * np.eye(states)[1] / 4
    if people > 1:
        priors[1] = np.eye(states)[-1]
    return priors


def population_for(
    policy_model: PreferenceModel, rewards: Rewards, people: int = 2, offered: IntArray | None = None
) -> Population:
    """Return `people` people per state, with the model's means."""
    drawn = MeansWorld(policy_model, rewards=rewards).draw(people=people, seed=0)
    return drawn if offered is None else replace(drawn, offered=offered)


@dataclass(frozen=True)
class Case:
    """A registered policy on one kind of rewards."""

    name: str
    kind: str

    @property
    def rewards(self) -> Rewards:
        return REWARDS[self.kind]

    def policy(self, model: PreferenceModel | None = None, *, rounds: int = 50, first: str = "prior") -> Policy:
        """Return the policy over `model`, by default a made-up one."""
        model = model_for(self.rewards) if model is None else model
        model = with_taste(model) if self.name in FROM_A_LOG else model
        setting = Setting(model, self.rewards, rounds, first)
        if self.name in POLICIES:
            return make_policy(self.name, setting)
        evidence = EVIDENCES.get(self.name, Refit)
        rule = RULES.get(self.name, Sample)
        takes = "rewards" in {field.name for field in fields(evidence)}
        return Policy(model, evidence(**({"rewards": self.rewards} if takes else {})), rule())

    def __str__(self) -> str:
        return f"{self.name}-{self.kind}"


def _possible(case: Case) -> bool:
    """Return whether a policy can be built for such rewards: some need to know the noise, and say so."""
    try:
        case.policy()
    except InvalidInput as error:
        if "known noise" not in str(error):
            raise
        return False
    return True


ON_REWARDS = [name for name, entry in POLICIES.items() if entry.feedback == "rewards"]
ON_DUELS = [name for name, entry in POLICIES.items() if entry.feedback == "duels"]
"""Registered policies, by feedback."""
FROM_A_LOG = {name for name, entry in POLICIES.items() if entry.knows == TASTES}
"""Policies that need a taste model, which only the world of a log has."""
ANYWHERE = [name for name in ON_REWARDS if name not in FROM_A_LOG]
"""Policies for rewards that play in every world."""

_GAUSSIAN = REWARDS["gaussian"]
_PLAYED = [make_policy(name, Setting(model_for(_GAUSSIAN), _GAUSSIAN)) for name in ON_REWARDS]
_PLAYED_KINDS = {part.kind for policy in _PLAYED for part in (policy.evidence, policy.rule)}
_PARTS: list[Any] = [*EVIDENCES.values(), *RULES.values()]
_UNPLAYED = [
    part.kind
    for part in _PARTS
    if part.latent is not False and part.feedback == "rewards" and part.kind not in _PLAYED_KINDS
]
_ALL_CASES = itertools.starmap(Case, itertools.product([*ON_REWARDS, *_UNPLAYED], REWARDS))
CASES = [case for case in _ALL_CASES if _possible(case)]
"""Every registered policy for rewards, and every part of no such policy, with every family of rewards it supports.

An evidence of no policy is tested with the rule `sample`, a rule with the evidence `refit`.
"""

SOME_RATINGS = np.where(np.arange(30).reshape(5, 6) % 4 == 1, np.nan, np.arange(30).reshape(5, 6) % 7 + 1.0)
"""Ratings of six actions by five people, with different gaps."""

WORLDS_BY_NAME: dict[str, list[Callable[[], World]]] = {
    "synthetic": [
        lambda: SyntheticWorld(states=4, actions=6, noise=0.8),
        lambda: SyntheticWorld(states=4, actions=6, scale="different", noise=0.8),
        lambda: SyntheticWorld(states=4, actions=6, scale="different", gaps="steps", assumed_noise=0.3),
    ],
    "means": [
        lambda: MeansWorld(model_for(_GAUSSIAN), rewards=_GAUSSIAN),
        lambda: MeansWorld(model_for(REWARDS["bernoulli"]), rewards=REWARDS["bernoulli"]),
        lambda: MeansWorld(model_for(REWARDS["poisson"]), rewards=REWARDS["poisson"]),
    ],
    "replay": [lambda: ReplayWorld(model_for(_GAUSSIAN), SOME_RATINGS, least=3, rewards=_GAUSSIAN)],
}
"""Examples of every registered world."""
for _name in set(WORLDS) - set(WORLDS_BY_NAME):  # a new world with these two parameters needs no line here
    _world: Any = WORLDS[_name]
    WORLDS_BY_NAME[_name] = [partial(_world, states=4, actions=6)]

EXAMPLE_WORLDS = [make for name, makes in WORLDS_BY_NAME.items() if name != "replay" for make in makes]
"""Worlds whose people have known states and means."""


@st.composite
def models(
    draw: st.DrawFn, max_states: int = 5, max_actions: int = 6, low: float = 0.1, high: float = 0.9
) -> PreferenceModel:
    """Draw models whose prior may exclude states, with means between `low` and `high`."""
    k = draw(st.integers(1, max_actions))
    m = draw(st.integers(1, min(max_states, math.factorial(k))))
    rows = draw(st.lists(st.permutations(range(k)), min_size=m, max_size=m, unique_by=tuple))
    weights = draw(st.lists(st.integers(0, 4), min_size=m, max_size=m).filter(any))
    orderings = np.array(rows, dtype=np.int64)
    means = np.empty((m, k))
    for z in range(m):
        own = draw(st.lists(st.floats(low, high), min_size=k, max_size=k))
        means[z, orderings[z]] = sorted(own, reverse=True)
    return PreferenceModel(orderings, prior=np.array(weights) / sum(weights), means=means)


@st.composite
def tiered_models(draw: st.DrawFn, max_states: int = 4, max_actions: int = 7) -> PreferenceModel:
    """Draw models of which at least one state has a tier of several actions, with means that follow the tiers."""
    k = draw(st.integers(2, max_actions))
    m = draw(st.integers(1, max_states))
    rows = [draw(st.permutations(range(k))) for _ in range(m)]
    cuts = [sorted(draw(st.sets(st.integers(1, k - 1), max_size=k - (1 if z else 2)))) for z in range(m)]
    sizes = [np.diff([0, *row, k]).tolist() for row in cuts]
    weights = draw(st.lists(st.integers(1, 4), min_size=m, max_size=m))
    means = np.empty((m, k))
    for z in range(m):
        levels = sorted(draw(st.lists(st.floats(0.1, 0.9), min_size=k, max_size=k)), reverse=True)
        for part in np.split(np.arange(k), cuts[z]):
            means[z, np.array(rows[z])[part]] = draw(st.permutations(np.array(levels)[part].tolist()))
    with contextlib.suppress(InvalidInput):  # two states are equal
        return PreferenceModel(rows, tiers=sizes, prior=np.array(weights) / sum(weights), means=means)
    return PreferenceModel(rows[:1], tiers=sizes[:1], means=means[:1])


def agent_after(policy: Policy, history: Iterable[tuple[Label, float]], seed: int = 0) -> Agent:
    """Return an agent that was told a history of (action, reward)."""
    agent = Agent(policy, seed=seed)
    for action, reward in history:
        agent.tell(action, reward)
    return agent


def rewards_like(kind: str) -> st.SearchStrategy[float]:
    """Draw rewards of a family; Gaussian ones partly on a grid, so that ties occur."""
    if kind == "bernoulli":
        return st.sampled_from([0.0, 1.0])
    if kind == "poisson":
        return st.integers(0, 9).map(float)
    return st.integers(-12, 12).map(lambda x: x / 4) | st.floats(-3, 3)


def outcomes_for(model: PreferenceModel, kind: str, max_size: int = 20) -> st.SearchStrategy[list[Outcome]]:
    """Draw a history of (action, reward)."""
    return st.lists(st.tuples(st.integers(0, model.n_actions - 1), rewards_like(kind)), max_size=max_size)
