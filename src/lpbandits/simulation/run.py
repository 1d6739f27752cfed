"""People × rounds × policies, on common random numbers."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import joblib
import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.kernels.rollout import rollout_of
from lpbandits.policies import POLICIES, Policy, Setting, make_policy
from lpbandits.simulation.results import PolicyResult, Results
from lpbandits.typing import FloatArray, Int32Array, Json
from lpbandits.worlds import Population, World

CHUNK = 512
"""People per piece of work: fixed, so that no result depends on how pieces are spread over threads."""

MOST_CELLS = 2**28
"""People × rounds that one run keeps per policy (2 GiB a number)."""

Build = Callable[[Setting], Policy]
Piece = tuple[str, Policy, Population, int]
T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Called with what is under way, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Trace:
    """What happened to some people: arrays of people × rounds, and people × 3 active constraints at the end."""

    actions: Int32Array
    rewards: FloatArray
    regret: FloatArray
    mass: FloatArray
    active: FloatArray


def roll(policy: Policy, people: Population, *, rounds: int, seed: int, first: int = 0) -> Trace:
    """Play `rounds` rounds with every person of a population; person i has the address first + i.

    >>> from lpbandits import LpbTS, SyntheticWorld
    >>> people = SyntheticWorld(states=2, actions=3).draw(people=1, seed=0)
    >>> roll(LpbTS(people.model), people, rounds=4, seed=0).actions.shape
    (2, 4)
    """
    count = len(people.truth)
    comparable = np.array_equal(policy.model.orderings, people.model.orderings)
    belief = policy.new_belief(min(rounds, policy.model.n_actions))
    trace = Trace(
        actions=np.empty((count, rounds), dtype=np.int32),
        rewards=np.empty((count, rounds)),
        regret=np.empty((count, rounds)),
        mass=np.empty((count, rounds)),
        active=np.empty((count, 3)),
    )
    rollout_of(policy.evidence.tell, policy.rule.choose)(
        policy.ranks,
        policy.table,
        policy.start,
        people.means,
        people.truth if comparable else np.zeros(count, dtype=np.int64),
        people.rewards.code,
        people.rewards.sd,
        people.offered,
        policy.offer_sets(people.offered),
        seed,
        first,
        trace.actions,
        trace.rewards,
        trace.regret,
        trace.mass,
        trace.active,
        belief.numbers,
        belief.order,
    )
    if not (comparable and policy.evidence.probabilistic):
        trace.mass[:] = np.nan  # there is no "true state" in another model, and no probability in a mark
    if not comparable:
        trace.active[:, 1:] = np.nan
    return trace


def simulate(
    world: World,
    policies: Sequence[str] | Mapping[str, str | Build],
    *,
    people: int = 50,
    rounds: int = 200,
    draws: int = 1,
    seed: int = 0,
    first: str = "prior",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Compare policies on the same people with the same luck.

    Parameters
    ----------
    world
        Where people come from, such as `SyntheticWorld(states=5, actions=10)`.
    policies
        Registered names, or a mapping from a name of your own to a registered name or to a function that builds a
        policy from a `Setting` (model, rewards, rounds).
    people
        People per state.
    rounds
        Rounds per person.
    draws
        Independent draws of the world's orderings.
    seed
        Addresses all randomness; the result depends on nothing else, whatever the number of threads.
    first
        How policies that sample a state choose their first action: "prior" or "uniform".
    threads
        Threads to use; by default all cores.
    progress
        Called with (what, done, total) as pieces of work end.

    >>> from lpbandits import SyntheticWorld
    >>> results = simulate(SyntheticWorld(states=2, actions=3), ["lpbts", "uniform"], people=20, rounds=50)
    >>> bool(results["lpbts"].regret.mean[-1] < results["uniform"].regret.mean[-1])
    True
    """
    about = about_world(world)
    builders = builders_of(policies, POLICIES, make_policy)
    people = validate.as_count(people, "people")
    rounds = validate.as_count(rounds, "rounds")
    draws = validate.as_count(draws, "draws")
    seed = validate.as_seed(seed)
    validate.as_choice(first, "first", ("prior", "uniform"))
    threads = joblib.cpu_count() if threads is None else validate.as_count(threads, "threads", high=1024)
    populations = populations_of(world, people, rounds, draws, seed)
    pieces = pieces_of(builders, populations, rounds, first)
    one_round = partial(roll, rounds=1, seed=seed)
    traces, seconds = play(pieces, partial(roll, rounds=rounds, seed=seed), one_round, threads, progress)
    truth = np.concatenate([population.truth for population in populations])
    settings = {
        **about,
        "people": people,
        "rounds": rounds,
        "draws": draws,
        "seed": seed,
        "first": first,
    }
    results = {name: _result([trace for trace, _ in traces.pop(name)], truth, draws) for name in builders}
    return Results(settings=settings, policies=results, seconds=seconds)


def builders_of(
    policies: Sequence[str] | Mapping[str, str | Build],
    registered: Mapping[str, object],
    make: Callable[[str, Setting], Policy],
    what: str = "policy",
) -> dict[str, Build]:
    """Return a builder per name, for registered names and for users' own."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise InvalidInput(f"policies is {policies!r}; give a list of names, such as {list(registered)[:2]}")
    named: Iterable[tuple[str, str | Build]]
    named = policies.items() if isinstance(policies, Mapping) else [(name, name) for name in policies]
    out: dict[str, Build] = {}
    for name, build in named:
        if not isinstance(name, str):
            raise InvalidInput(f"policy {name!r} is not a name; give names, or a mapping from names to builders")
        if name in out:
            raise InvalidInput(f"policy {name!r} is named twice; name each once")
        if isinstance(build, Policy):
            raise InvalidInput(
                f"{name!r} is one policy; give a function that builds it per draw: lambda s: LpbTS(s.model)"
            )
        if callable(build):
            out[name] = build
        else:
            out[name] = partial(make, validate.as_choice(build, what, registered))
    if not out:
        raise InvalidInput(f"no policies were named; choose some of: {', '.join(registered)}")
    return out


def _built(name: str, build: Build, setting: Setting) -> Policy:
    policy = build(setting)
    if not isinstance(policy, Policy):
        raise InvalidInput(
            f"the builder of {name!r} returned {policy!r}; it must return a policy, such as LpbTS(model)"
        )
    if policy.model.n_actions != setting.model.n_actions:
        raise InvalidInput(
            f"the builder of {name!r} returned a policy over {policy.model.n_actions} actions, but the world has "
            f"{setting.model.n_actions}; build it from the setting's model"
        )
    return policy


def about_world(world: World) -> Json:
    """Return the world's settings, before anything is simulated in vain."""
    if isinstance(world, type) or not all(callable(getattr(world, name, None)) for name in ("draw", "to_dict")):
        raise InvalidInput(
            f"world is {world!r}; give a world with draw and to_dict, such as SyntheticWorld(states=5, actions=10)"
        )
    about = world.to_dict()
    if about.get("feedback") == "duel":
        raise InvalidInput(
            f"{world!r} decides duels, and simulate plays rewards; use simulate_duels, or its inner world"
        )
    return about


def _drawn(world: World, people: int, seed: int, draw: int, before: list[Population]) -> Population:
    """Return one draw of a world, if it is as large as those before."""
    population = world.draw(people=people, seed=seed, draw=draw)
    if not isinstance(population, Population):
        raise InvalidInput(f"the world drew {population!r}; draw must return a Population")
    if before and len(population.truth) != len(before[0].truth):
        raise InvalidInput(
            f"draw {draw} has {len(population.truth)} people and draw 0 has {len(before[0].truth)}; "
            "every draw of a world must have equally many"
        )
    return population


def populations_of(world: World, people: int, rounds: int, draws: int, seed: int) -> list[Population]:
    """Return every draw of a world, if their results fit in memory."""
    populations: list[Population] = []
    for draw in range(draws):
        populations.append(_drawn(world, people, seed, draw, populations))
        _check_size(len(populations[0].truth), draws, rounds)
    return populations


def pieces_of(
    builders: Mapping[str, Build], populations: Sequence[Population], rounds: int, first: str = "prior"
) -> list[Piece]:
    """Cut the work into pieces: one policy with CHUNK people of one draw, and the address of the first of them."""
    pieces: list[Piece] = []
    for name, build in builders.items():
        for draw, population in enumerate(populations):
            policy = _built(name, build, Setting(population.model, population.rewards, rounds, first))
            people = len(population.truth)
            starts = range(0, people, CHUNK)
            parts = [(population.cut(slice(start, start + CHUNK)), draw * people + start) for start in starts]
            pieces += [(name, policy, part, at) for part, at in parts]
    return pieces


def play(
    pieces: Sequence[Piece],
    roll_one: Callable[..., T],
    warm_up: Callable[..., T],
    threads: int,
    progress: Progress | None,
) -> tuple[dict[str, list[tuple[T, Population]]], float]:
    """Play all pieces; return the traces by policy, with their people, and the seconds of the simulation alone.

    Each kind of policy is compiled first, by a `warm_up` with one person.
    """
    kinds = {(policy.evidence.kind, policy.rule.kind): (policy, part) for _, policy, part, _ in pieces}
    for policy, part in kinds.values():
        warm_up(policy, part.cut(slice(1)))
    traces: dict[str, list[tuple[T, Population]]] = {name: [] for name, _, _, _ in pieces}
    started = time.perf_counter()
    done = joblib.Parallel(n_jobs=threads, backend="threading", return_as="generator")(
        joblib.delayed(roll_one)(policy, part, first=at) for _, policy, part, at in pieces
    )
    for i, trace in enumerate(done):
        name, _, part, _ = pieces[i]
        traces[name].append((trace, part))
        if progress is not None:
            progress(name, i + 1, len(pieces))
    return traces, time.perf_counter() - started


def _check_size(people: int, draws: int, rounds: int) -> None:
    """Refuse a run whose results would not fit in memory."""
    cells = people * draws * rounds
    if cells > MOST_CELLS:
        raise InvalidInput(
            f"{people:,} people × {draws} draws × {rounds:,} rounds are {cells:,} results per policy; at most "
            f"{MOST_CELLS:,} fit in memory: use fewer people, draws or rounds"
        )


def _result(traces: list[Trace], truth: np.ndarray, draws: int) -> PolicyResult:
    def joined(name: str) -> FloatArray:
        return np.concatenate([getattr(trace, name) for trace in traces])

    return PolicyResult.of(
        rewards=joined("rewards"),
        regret=joined("regret"),
        mass=joined("mass"),
        active=joined("active"),
        truth=truth,
        draws=draws,
    )
