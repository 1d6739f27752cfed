"""People × rounds × policies, on common random numbers."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import NamedTuple

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.parallel import Progress, each, workers_of
from lpbandits.policies import Policy, Setting, entry_of, make_policy
from lpbandits.simulation import sums
from lpbandits.simulation.results import Account, Results
from lpbandits.simulation.roll import Trace, check_rounds, roll
from lpbandits.typing import Json
from lpbandits.worlds import Population, World

PIECE = 2**17
"""Decisions per piece of work, at most 512 people: fixed, so that no result depends on how pieces are spread."""

MOST_BYTES = 8 * 2**30
"""Memory that one run may take."""

Build = Callable[[Setting], Policy]


class Piece(NamedTuple):
    """Some people of one draw, with one policy; person i of them has the address `first_person` + i."""

    name: str
    policy: Policy
    people: Population
    draw: int
    first_person: int


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
    traces: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Compare policies on the same people with the same luck.

    Parameters
    ----------
    world
        Where people come from, such as `SyntheticWorld(states=5, actions=10)`.
    policies
        Registered names, or a mapping from a name of your own to a registered name or to a function that builds a
        policy from a `Setting` (model, rewards, rounds). All must learn from the same feedback, rewards or duels.
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
    traces
        Keep every person's every round in `results[name].trace`: 36 bytes each (56 for duels) instead of sums.
    progress
        Called with (what, done, total) as pieces of work end.

    >>> from lpbandits import SyntheticWorld
    >>> results = simulate(SyntheticWorld(states=2, actions=3), ["lpbts", "uniform"], people=20, rounds=50)
    >>> bool(results["lpbts"].regret.mean[-1] < results["uniform"].regret.mean[-1])
    True
    >>> duels = simulate(SyntheticWorld(states=2, actions=4), ["lpb-duel", "double-ts"], people=10, rounds=100)
    >>> bool(duels["lpb-duel"].regret.mean[-1] < duels["double-ts"].regret.mean[-1])
    True
    """
    settings = about_world(world)
    builders = builders_of(policies)
    size = {"people": people, "rounds": rounds, "draws": draws}
    settings |= {name: validate.as_count(value, name) for name, value in size.items()}
    settings |= {"seed": validate.as_seed(seed), "first": validate.as_choice(first, "first", ("prior", "uniform"))}
    workers = workers_of(threads)
    populations = populations_of(world, people, rounds, draws, seed, len(builders), traces=traces)
    pieces = pieces_of(builders, populations, rounds, first)
    settings["feedback"] = _feedback(pieces, settings.get("feedback"))
    cells = sum(len(population) for population in populations) * rounds
    accounts = {name: Account(binned=cells > sums.EXACT, keep=traces) for name in builders}
    _warm_up(pieces, seed)
    started = time.perf_counter()
    jobs = ((piece, rounds, seed) for piece in pieces)
    with closing(each(_play, jobs, workers=workers)) as traced:
        for done, (piece, trace) in enumerate(zip(pieces, traced, strict=True)):
            accounts[piece.name].add(trace, piece.people.truth, piece.draw)
            if progress is not None:
                progress(piece.name, done + 1, len(pieces))
    seconds = time.perf_counter() - started
    return Results(settings, {name: accounts.pop(name).result() for name in builders}, seconds)


def _play(piece: Piece, rounds: int, seed: int) -> Trace:
    return roll(piece.policy, piece.people, rounds=rounds, seed=seed, first_person=piece.first_person)


def _warm_up(pieces: Sequence[Piece], seed: int) -> None:
    """Compile each kind of policy, by one round of one person, before anything is timed or spread over threads."""
    kinds = {(piece.policy.evidence.kind, piece.policy.rule.kind): piece for piece in pieces}
    for piece in kinds.values():
        roll(piece.policy, piece.people.cut(slice(1)), rounds=1, seed=seed)


def builders_of(policies: Sequence[str] | Mapping[str, str | Build]) -> dict[str, Build]:
    """Return a builder per name, for registered names and for users' own."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise InvalidInput(f"policies is {policies!r}; give a list of names, such as ['lpbts', 'ts']")
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
        out[name] = build if callable(build) else partial(make_policy, entry_of(build).name)
    if not out:
        raise InvalidInput("no policies were named; see `lpb policies` for those there are")
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
    if policy.model.actions != setting.model.actions:
        raise InvalidInput(
            f"the builder of {name!r} returned a policy over actions with other labels, or in another order, than the "
            "world's; build it from the setting's model, or relabel its own"
        )
    return policy


def _feedback(pieces: Sequence[Piece], world: str | None) -> str:
    """Return what all policies learn from; policies that learn from different things cannot be compared."""
    kinds = {piece.policy.feedback: piece.name for piece in pieces}
    if len(kinds) > 1:
        raise InvalidInput(
            f"{kinds['rewards']!r} learns from rewards and {kinds['duels']!r} from duels; compare those of one kind"
        )
    found = next(iter(kinds))
    if world is not None and found != world:
        raise InvalidInput(
            f"the world decides {world}, but {kinds[found]!r} learns from {found}; use policies for {world}, or the "
            "world inside it"
        )
    return found


def about_world(world: World) -> Json:
    """Return the world's settings, before anything is simulated in vain."""
    if isinstance(world, type) or not all(callable(getattr(world, name, None)) for name in ("draw", "to_dict")):
        raise InvalidInput(
            f"world is {world!r}; give a world with draw and to_dict, such as SyntheticWorld(states=5, actions=10)"
        )
    return dict(world.to_dict())


def populations_of(
    world: World, people: int, rounds: int, draws: int, seed: int, policies: int, *, traces: bool = False
) -> list[Population]:
    """Return every draw of a world, if the run fits in memory."""
    populations: list[Population] = []
    about = world.to_dict()
    if {"states", "actions"} <= set(about):  # so a run that is too large is refused before anybody is drawn
        _check_size(people * about["states"], about["actions"], draws, rounds, policies, traces=traces)
    for draw in range(draws):
        population = world.draw(people=people, seed=seed, draw=draw)
        if not isinstance(population, Population):
            raise InvalidInput(f"the world drew {population!r}; draw must return a Population")
        if populations and len(population) != len(populations[0]):
            raise InvalidInput(
                f"draw {draw} has {len(population)} people and draw 0 has {len(populations[0])}; "
                "every draw of a world must have equally many"
            )
        populations.append(population)
        if draw == 0:
            _check_size(len(population), population.model.n_actions, draws, rounds, policies, traces=traces)
    return populations


def _check_size(people: int, actions: int, draws: int, rounds: int, policies: int, *, traces: bool) -> None:
    """Refuse a run that would not fit in memory, by the bytes that it keeps."""
    people *= draws
    cells = people * rounds
    size = people * (8 * actions + 8)
    size += policies * people * 80  # ten numbers per person
    size += policies * 2 * (8 * cells if cells <= sums.EXACT else 8 * rounds * sums.BINS)  # quantiles
    size += policies * cells * 56 if traces else 0
    if size > MOST_BYTES:
        raise InvalidInput(
            f"{people:,} people × {rounds:,} rounds with {policies} policies would take {size / 2**30:.1f} GiB of "
            f"memory; at most {MOST_BYTES / 2**30:.0f} are used: take fewer people, draws or rounds"
            + (", or leave the traces out" if traces else "")
        )


def pieces_of(
    builders: Mapping[str, Build], populations: Sequence[Population], rounds: int, first: str = "prior"
) -> list[Piece]:
    """Cut the work into pieces: one policy with some people of one draw."""
    pieces: list[Piece] = []
    size = max(1, min(512, PIECE // rounds))
    for name, build in builders.items():
        for draw, population in enumerate(populations):
            policy = _built(name, build, Setting(population.model, population.rewards, rounds, first))
            check_rounds(policy, population, rounds)
            people = len(population)
            for start in range(0, people, size):
                part = population.cut(slice(start, start + size))
                pieces.append(Piece(name, policy, part, draw, draw * people + start))
    return pieces
