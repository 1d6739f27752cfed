"""Regret lower bounds of many people, and the measured growth of policies' regret."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.ratings import offsets_of
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.json import finite_or_none
from lpbandits.limits import check_memory
from lpbandits.model import PreferenceModel, as_model
from lpbandits.parallel import resolve_threads, thread_map
from lpbandits.policies import Setting, entry_of, make_policy
from lpbandits.progress import Progress
from lpbandits.simulation.rollout import rollout
from lpbandits.theory import LowerBound, latent_bound, lower_bound, plain_bound
from lpbandits.theory.program import check_size
from lpbandits.typing import FloatArray, Json, Label
from lpbandits.worlds import Population, SyntheticWorld

AXES: dict[str, tuple[str, tuple[float, ...]]] = {
    "size": ("actions and states (k = m)", (5, 10, 20, 30, 50)),
    "states": ("states (m)", (5, 10, 20, 50)),
    "gap": ("gap between neighbours (Δ)", (0.1, 0.2, 0.5, 1.0)),
}
"""Parameters that can be varied, with their titles and default values."""

BOUNDS = ("plain", "preference", "latent")
"""The three bounds, for policies that know nothing, the orderings, or the means."""

MAX_PEOPLE = 100_000

PRINTED = {"preference": "printed", "latent": "latent_printed"}
"""Names of the bounds `preference` and `latent` in the form printed in Theorem 1.

The printed form does not fix the mean of the best action, which a good policy learns at no cost (see
`theory.lower_bound`).
"""


@dataclass(frozen=True)
class PersonBounds:
    """The bounds of one person."""

    draw: int
    state: int
    best: int
    values: dict[str, float]
    """BOUNDS and PRINTED; they may be infinite, and those of the latent bandit are NaN if the model has no means."""
    preference: LowerBound

    @classmethod
    def of(cls, model: PreferenceModel, state: int, means: Any, noise: float, draw: int = 0) -> "PersonBounds":
        """Compute the bounds of a person with these means."""
        person = model, state, means, noise
        preference = lower_bound(*person)
        known = model.means is not None
        values = {
            "plain": plain_bound(*person).value,
            "preference": preference.value,
            "latent": latent_bound(*person).value if known else math.nan,
            "printed": lower_bound(*person, pinned=False).value,
            "latent_printed": latent_bound(*person, pinned=False).value if known else math.nan,
        }
        return cls(draw, state, int(model.orderings[state, 0]), values, preference)

    def to_dict(self) -> Json:
        """Return a JSON object; null for infinite and unknown bounds."""
        bounds: Json = {name: finite_or_none(value) for name, value in self.values.items()}
        bounds["printed"] = {name: bounds.pop(printed) for name, printed in PRINTED.items()}
        details = self.preference.to_dict()
        del details["value"]
        return {"draw": self.draw, "state": self.state, "best": self.best, **bounds, **details}


@dataclass(frozen=True)
class Bounds:
    """Bounds of several people of one setting."""

    settings: Json
    people: list[PersonBounds]
    seconds: float
    actions: tuple[Label, ...]
    """Labels of the actions."""
    growth: dict[str, FloatArray] = field(default_factory=dict)
    """Measured growth of every person's regret per log T from round T/10 to T, per policy."""

    def summary(self) -> Json:
        """Return `summary_of` every bound and every policy's growth."""
        return {
            "bounds": {name: summary_of(self.column(name)) for name in BOUNDS},
            "printed": {name: summary_of(self.column(column)) for name, column in PRINTED.items()},
            "growth": {name: summary_of(values) for name, values in self.growth.items()},
            "largest_gap": max(p.preference.gap for p in self.people),
        }

    def column(self, name: str) -> FloatArray:
        """Return one bound of every person, NaN if unknown."""
        return np.array([person.values[name] for person in self.people])

    def by_kind(self) -> dict[str, FloatArray]:
        """Return the compared quantities per person: bounds without and with the orderings, and policies' growth."""
        return {**{f"bound-{name}": self.column(name) for name in ("plain", "preference")}, **self.growth}

    def table(self) -> pl.DataFrame:
        """Return a table with a row per person: bounds, certified error, and policies' growth."""
        columns = {name: [getattr(p, name) for p in self.people] for name in ("draw", "state")}
        bounds = {name: self.column(name) for name in (*BOUNDS, *PRINTED.values())}
        growth = {f"growth_{name}": values for name, values in self.growth.items()}
        return pl.DataFrame({**columns, **bounds, "gap": [p.preference.gap for p in self.people], **growth})

    def to_dict(self) -> Json:
        """Return the JSON object that `lpb bound --json` prints."""
        growth = [{name: float(values[i]) for name, values in self.growth.items()} for i in range(len(self.people))]
        people = [{**one.to_dict(), "growth": rates} for one, rates in zip(self.people, growth, strict=True)]
        return {"settings": self.settings, **self.summary(), "people": people, "seconds": self.seconds}


def summary_of(values: FloatArray) -> Json:
    """Return mean, sd, se, least, median and largest of the finite values, and the number of infinite ones.

    >>> summary_of(np.array([1.0, 3.0, np.inf]))["mean"], summary_of(np.array([1.0, 3.0, np.inf]))["infinite"]
    (2.0, 1)
    """
    finite = values[np.isfinite(values)]
    sd = finite.std(ddof=1) if len(finite) > 1 else 0.0
    summary: Json = dict.fromkeys(("mean", "sd", "se", "least", "median", "largest"))
    if len(finite):
        numbers = finite.mean(), sd, sd / math.sqrt(len(finite)), finite.min(), np.median(finite), finite.max()
        summary = dict(zip(summary, map(float, numbers), strict=True))
    return {**summary, "infinite": int(np.isinf(values).sum())}


@translate_errors("computing bounds")
def bound_world(
    world: SyntheticWorld,
    *,
    people: int = 20,
    seed: int = 0,
    policies: Sequence[str] = (),
    rounds: int = 20_000,
    repeats: int = 10,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Bounds:
    """Return the bounds of random people of a world, each with new orderings.

    Each of the `policies` plays `rounds` rounds `repeats` times with every person, to measure how its regret grows.

    >>> bounds = bound_world(SyntheticWorld(states=3, actions=4), people=2)
    >>> bool(bounds.column("preference")[0] <= bounds.column("plain")[0])
    True
    """
    if not isinstance(world, SyntheticWorld):
        raise validate.invalid("world", "a SyntheticWorld, such as SyntheticWorld(states=5)", world)
    for name, default in (("swap", 0.0), ("model_error", 0.0), ("noise_family", "normal")):
        if getattr(world, name) != default:
            raise validate.invalid(name, f"{default!r}: bounds assume a correct model", getattr(world, name))
    seed, policies = validate.as_seed(seed), validate.as_list(policies, "policies", "names")
    for i, name in enumerate(policies):
        if entry_of(name).feedback != "rewards":
            raise InvalidInput(f"policies must learn from rewards, got {name!r}, which learns from duels")
        if name in policies[:i]:
            raise InvalidInput(f"policies must differ, got {name!r} twice")
    people, repeats = validate.as_count(people, "people", high=MAX_PEOPLE), validate.as_count(repeats, "repeats")
    rounds, threads = validate.as_count(rounds, "rounds", low=10), resolve_threads(threads)
    check_size(world.states, world.actions)
    if policies:
        runs = f"{repeats:,} repeats × {rounds:,} rounds"
        check_memory(runs, "take fewer repeats or rounds", repeats * (28 * rounds + 16 * world.actions))
    started = time.perf_counter()
    bounds, copies = [], []
    same = np.zeros(repeats, dtype=np.int64)
    for draw in range(people):
        person = world.draw(people=1, seed=seed, draw=draw)
        bounds.append(PersonBounds.of(person.model, 0, person.means[0], person.rewards.sd, draw))
        if policies:
            copies.append(replace(person, truth=same, means=person.means[same]))
        if progress is not None:
            progress("bounds", draw + 1, people)
    settings: Json = {**world.to_dict(), "people": people, "seed": seed}
    settings |= {"rounds": rounds, "repeats": repeats} if policies else {}
    growth = measure_growth(copies, policies, rounds=rounds, seed=seed, threads=threads, progress=progress)
    return Bounds(settings, bounds, time.perf_counter() - started, tuple(range(world.actions)), growth)


@translate_errors("computing bounds")
def bound_model(
    model: PreferenceModel,
    *,
    means: Sequence[float] | None = None,
    state: int | None = None,
    noise: float | None = None,
) -> Bounds:
    """Return the bounds of one person per state of a model, or of one person with these `means` in `state`.

    Means and noise are by default the model's (noise 1 if it has none).

    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])
    >>> bound_model(model).column("plain").tolist()
    [2.0, 2.0]
    """
    started = time.perf_counter()
    if means is not None and state is None:
        raise InvalidInput("state must be given with means; add the person's state (--state 0)")
    m, k = as_model(model).n_states, model.n_actions
    states = range(m) if state is None else [validate.as_count(state, "state", low=0, high=m - 1)]
    check_size(m, k)
    known = model.means if means is None else {state: means}
    if known is None:
        raise InvalidInput("means must be given with a state, because the model has none (--state 0 --means 3.1,2.5,…)")
    sd = (model.noise or 1.0) if noise is None else noise
    bounds = [PersonBounds.of(model, z, known[z], sd) for z in states]
    settings: Json = {
        "world": "means",
        "states": model.n_states,
        "actions": model.n_actions,
        "noise": sd,
        "noise_of_model": sd == model.noise,
        "model_sha256": model.sha256,
        "people": len(bounds),
    }
    return Bounds(settings, bounds, time.perf_counter() - started, model.actions)


def world_at(
    axis: str, value: float, *, states: int = 20, actions: int = 20, gap: float = 0.2, noise: float = 1.0
) -> SyntheticWorld:
    """Return the world at one value of an axis of AXES: the size k = m, the states m or the gap Δ.

    >>> world_at("size", 5).states, world_at("gap", 0.5).gap
    (5, 0.5)
    """
    world = SyntheticWorld(states=states, actions=actions, gap=gap, noise=noise)
    if axis == "gap":
        return replace(world, gap=value)
    return replace(world, states=int(value), actions=int(value) if axis == "size" else actions)


def table_against(study: Sequence[tuple[float, Bounds]]) -> pl.DataFrame:
    """Return a row per value and quantity: x, kind (a bound or a policy), and mean, sd and se over people."""
    rows = []
    for x, bounds in study:
        for kind, values in bounds.by_kind().items():
            summary = summary_of(values)
            rows.append({"x": x, "kind": kind, **{name: summary[name] for name in ("mean", "sd", "se")}})
    return pl.DataFrame(rows)


def growth_ratio(bounds: Bounds, policy: str) -> tuple[float, float]:
    """Return a policy's mean growth over the mean bound, and its standard error over people.

    >>> from lpbandits import SyntheticWorld
    >>> bounds = bound_world(SyntheticWorld(states=3, actions=4), people=3, policies=["ts"], rounds=200, repeats=2)
    >>> bool(growth_ratio(bounds, "ts")[0] > 1)
    True
    """
    bound, growth = bounds.column("preference"), bounds.growth[policy]
    if not bound.any():
        return math.nan, math.nan
    ratio = growth.sum() / bound.sum()
    se = np.sqrt(((growth - ratio * bound) ** 2).sum() * len(bound) / max(len(bound) - 1, 1)) / bound.sum()
    return float(ratio), float(se)


def measure_growth(
    populations: Sequence[Population],
    policies: Sequence[str],
    *,
    rounds: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, FloatArray]:
    """Return (Reg(T) − Reg(T/10)) / log 10 per policy and population.

    >>> from lpbandits import MeansWorld, PreferenceModel
    >>> people = MeansWorld(PreferenceModel([[0, 1], [1, 0]], means=[[1.0, 0.0], [0.0, 1.0]])).draw(people=5, seed=0)
    >>> growth = measure_growth([people], ["uniform"], rounds=1000, seed=0)
    >>> round(float(growth["uniform"][0]))
    194
    """
    early = rounds // 10
    jobs = [(name, i) for name in policies for i in range(len(populations))]
    first_person = offsets_of(np.array([len(population) for population in populations]))

    def growth_of(name: str, i: int) -> float:
        population = populations[i]
        policy = make_policy(name, Setting(population.model, population.assumed_rewards, rounds))
        regret = rollout(policy, population, rounds=rounds, seed=seed, first_person=int(first_person[i])).regret
        return float(regret[:, early:].sum() / len(regret) / math.log(rounds / early))

    growth = {name: np.empty(len(populations)) for name in policies}
    values = thread_map(growth_of, jobs, threads=threads)
    for done, (value, (name, i)) in enumerate(zip(values, jobs, strict=True)):
        growth[name][i] = value
        if progress is not None:
            progress(f"growth of {name}", done + 1, len(jobs))
    return growth
