"""Regret lower bounds of many people, and the measured growth of policies' regret."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.model import PreferenceModel, as_model
from lpbandits.progress import Progress
from lpbandits.simulation.growth import check_growth, copies_of, measure_growth
from lpbandits.simulation.size import check_bounds
from lpbandits.theory import LowerBound, latent_bound, lower_bound, plain_bound
from lpbandits.theory.program import check_size, operations_of
from lpbandits.typing import FloatArray, Json, Label
from lpbandits.worlds import SyntheticWorld

AXES: dict[str, tuple[str, tuple[float, ...]]] = {
    "size": ("actions and states (k = m)", (5, 10, 20, 30, 50)),
    "states": ("states (m)", (5, 10, 20, 50)),
    "gap": ("gap between neighbours (Δ)", (0.1, 0.2, 0.5, 1.0)),
}
"""Settings that bounds are studied against: a title and the default values."""

MAX_PEOPLE = 100_000

BOUNDS = ("plain", "preference", "latent")
"""The three bounds, for policies that know nothing, the orderings, or the means."""


@dataclass(frozen=True)
class PersonBounds:
    """The three bounds of one person, and those of Theorem 1 as printed.

    Bounds may be infinite. Those of the latent bandit are None if the model has no means.
    """

    draw: int
    state: int
    best: int
    plain: float
    latent: float | None
    printed: float
    latent_printed: float | None
    preference: LowerBound
    growth: dict[str, float] = field(default_factory=dict)
    """Measured growth of regret per log T from round T/10 to T, per policy."""

    def to_dict(self) -> Json:
        """Return a JSON object; null for infinite and unknown bounds."""
        out: Json = {"draw": self.draw, "state": self.state, "best": self.best, "plain": _finite(self.plain)}
        out |= {"preference": _finite(self.preference.value), "latent": _finite(self.latent)}
        out |= {"printed": {"preference": _finite(self.printed), "latent": _finite(self.latent_printed)}}
        details = self.preference.to_dict()
        del details["value"]
        return {**out, **details, "growth": self.growth}


@dataclass(frozen=True)
class Bounds:
    """Bounds of several people of one setting."""

    settings: Json
    people: list[PersonBounds]
    seconds: float
    actions: tuple[Label, ...]
    """Labels of the actions."""

    def summary(self) -> Json:
        """Return `spread_of` every bound and every policy's growth."""
        printed = {"preference": "printed", "latent": "latent_printed"}
        return {
            "bounds": {name: spread_of(self.column(name)) for name in BOUNDS},
            "printed": {name: spread_of(self.column(column)) for name, column in printed.items()},
            "growth": {name: spread_of(values) for name, values in self.growth().items()},
            "largest_gap": max(p.preference.gap for p in self.people),
        }

    def column(self, name: str) -> FloatArray:
        """Return one bound of every person, NaN if unknown."""
        if name == "preference":
            return np.array([p.preference.value for p in self.people])
        return np.array([math.nan if getattr(p, name) is None else getattr(p, name) for p in self.people])

    def growth(self) -> dict[str, FloatArray]:
        """Return the measured growth of every person's regret, per policy."""
        return {name: np.array([p.growth[name] for p in self.people]) for name in self.people[0].growth}

    def by_kind(self) -> dict[str, FloatArray]:
        """Return the compared quantities per person: bounds without and with the orderings, and policies' growth."""
        return {**{f"bound-{name}": self.column(name) for name in ("plain", "preference")}, **self.growth()}

    def table(self) -> pl.DataFrame:
        """Return a table with a row per person: bounds, certified error, and policies' growth."""
        columns = {"draw": [p.draw for p in self.people], "state": [p.state for p in self.people]}
        bounds = {name: self.column(name) for name in (*BOUNDS, "printed", "latent_printed")}
        gap = {"gap": [p.preference.gap for p in self.people]}
        growth = {f"growth_{name}": values for name, values in self.growth().items()}
        return pl.DataFrame({**columns, **bounds, **gap, **growth})

    def to_dict(self) -> Json:
        """Return the JSON object that `lpb bound --json` prints."""
        people = [person.to_dict() for person in self.people]
        return {"settings": self.settings, **self.summary(), "people": people, "seconds": self.seconds}


def spread_of(values: FloatArray) -> Json:
    """Return mean, sd, se, least, median and largest of the finite values, and the number of infinite ones.

    >>> spread_of(np.array([1.0, 3.0, np.inf]))["mean"], spread_of(np.array([1.0, 3.0, np.inf]))["infinite"]
    (2.0, 1)
    """
    finite = values[np.isfinite(values)]
    infinite = int(np.isinf(values).sum())
    if not len(finite):
        return {**dict.fromkeys(("mean", "sd", "se", "least", "median", "largest")), "infinite": infinite}
    sd = float(finite.std(ddof=1)) if len(finite) > 1 else 0.0
    return {
        "mean": float(finite.mean()),
        "sd": sd,
        "se": sd / math.sqrt(len(finite)),
        "least": float(finite.min()),
        "median": float(np.median(finite)),
        "largest": float(finite.max()),
        "infinite": infinite,
    }


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
    """Return the bounds of random people, each with new orderings.

    Parameters
    ----------
    world
        World to draw people from.
    people
        Number of people.
    seed
        Random seed.
    policies
        Policies that play `rounds` rounds `repeats` times with every person, to measure how their regret grows.
    rounds, repeats, threads
        Rounds and repeats of the measurement, and threads to use.
    progress
        Called with (stage, done, total).

    Examples
    --------
    >>> bounds = bound_world(SyntheticWorld(states=3, actions=4), people=2)
    >>> bool(bounds.people[0].preference.value <= bounds.people[0].plain)
    True
    """
    if not isinstance(world, SyntheticWorld):
        raise validate.invalid("world", "a SyntheticWorld, such as SyntheticWorld(states=5)", world)
    for name, default in (("swap", 0.0), ("model_error", 0.0), ("noise_family", "normal")):
        if getattr(world, name) != default:
            raise validate.invalid(name, f"{default!r}: bounds assume a correct model", getattr(world, name))
    count, seed = validate.as_count(people, "people", high=MAX_PEOPLE), validate.as_seed(seed)
    policies = list(validate.as_list(policies, "policies", "names"))
    rounds, repeats, threads = check_growth(policies, rounds, repeats, threads)
    check_bounds([world], people=count, policies=policies, rounds=rounds, repeats=repeats, workers=threads)
    started = time.perf_counter()
    bounds = []
    for draw in range(count):
        person = world.draw(people=1, seed=seed, draw=draw)
        bounds.append(_bounds(person.model, 0, person.means[0], person.rewards.sd, draw))
        if progress is not None:
            progress("bounds", draw + 1, count)
    settings: Json = {**world.to_dict(), "people": count, "seed": seed}
    if policies:
        settings |= {"rounds": rounds, "repeats": repeats}
        copies = [copies_of(world.draw(people=1, seed=seed, draw=draw), repeats) for draw in range(count)]
        growth = measure_growth(copies, policies, rounds=rounds, seed=seed, threads=threads, progress=progress)
        bounds = [replace(p, growth={name: float(growth[name][i]) for name in policies}) for i, p in enumerate(bounds)]
    return Bounds(settings, bounds, time.perf_counter() - started, tuple(range(world.actions)))


@translate_errors("computing bounds")
def bound_model(
    model: PreferenceModel,
    *,
    means: Sequence[float] | None = None,
    state: int | None = None,
    noise: float | None = None,
) -> Bounds:
    """Return the bounds of one person per state of a model.

    Parameters
    ----------
    model
        The possible orderings.
    means
        Mean rewards of one person in `state`; by default the model's means.
    state
        State of the person; by default one person of every state.
    noise
        Standard deviation of rewards; by default the model's, or 1.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [1.0, 2.0]])
    >>> bound_model(model).column("plain").tolist()
    [2.0, 2.0]
    """
    started = time.perf_counter()
    if means is not None and state is None:
        raise InvalidInput("state must be given with means; add the person's state (--state 0)")
    m, k = as_model(model).n_states, model.n_actions
    states = range(m) if state is None else [validate.as_count(state, "state", low=0, high=m - 1)]
    check_size(m, k, f"bounds of {len(states):,} people", 2 * len(states) * operations_of(m, k))
    known = model.means if means is None else {state: means}
    if known is None:
        raise InvalidInput("means must be given, because the model has none; add --state 0 --means 3.1,2.5,…")
    sd = (model.noise or 1.0) if noise is None else noise
    bounds = [_bounds(model, z, known[z], sd, 0) for z in states]
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
    validate.as_choice(axis, "against", AXES)
    varied = {"size": ("states", "actions"), "states": ("states",), "gap": ("gap",)}[axis]
    settings = {"states": states, "actions": actions, "gap": gap, "noise": noise}
    settings |= dict.fromkeys(varied, int(value) if float(value).is_integer() and axis != "gap" else value)
    return SyntheticWorld(**settings)  # type: ignore[arg-type] # it validates them


@translate_errors("computing bounds")
def bounds_against(
    axis: str,
    *,
    states: int = 20,
    actions: int = 20,
    gap: float = 0.2,
    noise: float = 1.0,
    values: Sequence[float] | None = None,
    people: int = 20,
    seed: int = 0,
    policies: Sequence[str] = (),
    rounds: int = 20_000,
    repeats: int = 10,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[tuple[float, Bounds]]:
    """Return the bounds at several values of an axis of AXES; by default at the axis' default values.

    >>> study = bounds_against("gap", states=3, actions=3, values=[0.5, 1.0], people=2)
    >>> [value for value, _ in study]
    [0.5, 1.0]
    """
    validate.as_choice(axis, "against", AXES)
    chosen = AXES[axis][1] if values is None else validate.as_list(values, "values", "numbers")
    numbers = [validate.as_number(value, "a value of " + axis) for value in chosen]
    worlds = [world_at(axis, value, states=states, actions=actions, gap=gap, noise=noise) for value in numbers]
    policies = list(validate.as_list(policies, "policies", "names"))
    count = validate.as_count(people, "people", high=MAX_PEOPLE)
    rounds, repeats, threads = check_growth(policies, rounds, repeats, threads)
    check_bounds(worlds, people=count, policies=policies, rounds=rounds, repeats=repeats, workers=threads)
    return [
        (
            float(value),
            bound_world(
                world,
                people=people,
                seed=seed,
                policies=policies,
                rounds=rounds,
                repeats=repeats,
                threads=threads,
                progress=_at(progress, f"{axis} {value:g}"),
            ),
        )
        for value, world in zip(numbers, worlds, strict=True)
    ]


def table_against(study: Sequence[tuple[float, Bounds]]) -> pl.DataFrame:
    """Return a row per value and quantity: x, kind (a bound or a policy), and mean, sd and se over people."""
    rows = []
    for x, bounds in study:
        for kind, values in bounds.by_kind().items():
            spread = spread_of(values)
            rows.append({"x": x, "kind": kind, **{name: spread[name] for name in ("mean", "sd", "se")}})
    return pl.DataFrame(rows)


def growth_ratio(bounds: Bounds, policy: str) -> tuple[float, float]:
    """Return a policy's mean growth over the mean bound, and its standard error over people.

    >>> from lpbandits import SyntheticWorld
    >>> found = bound_world(SyntheticWorld(states=3, actions=4), people=3, policies=["ts"], rounds=200, repeats=2)
    >>> bool(growth_ratio(found, "ts")[0] > 1)
    True
    """
    bound = [p.preference.value for p in bounds.people]
    growth = [p.growth[policy] for p in bounds.people]
    n, total = len(bound), sum(bound)
    if total == 0.0:
        return math.nan, math.nan
    ratio = sum(growth) / total
    residuals = [g - ratio * b for g, b in zip(growth, bound, strict=True)]
    return ratio, math.sqrt(sum(x * x for x in residuals) * n / max(n - 1, 1)) / total


def _bounds(model: PreferenceModel, state: int, means: Any, noise: float, draw: int) -> PersonBounds:
    known = model.means is not None
    return PersonBounds(
        draw=draw,
        state=state,
        best=int(model.orderings[state, 0]),
        plain=plain_bound(model, state, means, noise).value,
        latent=latent_bound(model, state, means, noise).value if known else None,
        printed=lower_bound(model, state, means, noise, pinned=False).value,
        latent_printed=latent_bound(model, state, means, noise, pinned=False).value if known else None,
        preference=lower_bound(model, state, means, noise),
    )


def _at(progress: Progress | None, label: str) -> Progress | None:
    if progress is None:
        return None
    return lambda stage, done, total: progress(f"{label}, {stage}", done, total)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
