"""People × rounds × policies, on common random numbers."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.parallel import Workers, concurrency, executor_for
from lpbandits.policies import Policy, Setting, entry_of, make_policy
from lpbandits.progress import Progress
from lpbandits.simulation import sums
from lpbandits.simulation.accumulate import Account, Part
from lpbandits.simulation.results import Results
from lpbandits.simulation.size import check_run, people_per_task
from lpbandits.simulation.trace import check_rounds, play, warn_of_locking
from lpbandits.worlds import Population, World, draw_population, world_settings

Build = Callable[[Setting], Policy]


class Piece(NamedTuple):
    """Some people of one draw, with one policy; person i of them has the address `first_person` + i."""

    name: str
    policy: Policy
    people: Population
    draw: int
    first_person: int


@translate_errors("simulating")
def simulate(
    world: World,
    policies: Sequence[str] | Mapping[str, str | Build],
    *,
    people: int = 50,
    rounds: int = 200,
    draws: int = 1,
    seed: int = 0,
    first: str = "prior",
    explore: float = 0.0,
    jobs: int | Workers | None = None,
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
        Addresses all randomness; the result depends on nothing else, whoever does the work.
    first
        How policies that sample a state choose their first action: "prior" or "uniform".
    explore
        A floor for every allowed action's chance, of all policies; a policy that has one of its own keeps it.
    jobs
        Processes to use, or `Workers(…)` for those of a cluster; by default this one, on its threads.
    threads
        Threads of this process; by default all cores.
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
    settings = world_settings(world)
    traces = validate.as_flag(traces, "traces")
    if progress is not None and not callable(progress):
        raise InvalidInput(
            f"progress is {validate.short_repr(progress)}; give a function of (what, done, total), or nothing"
        )
    builders = builders_of(policies)
    people, rounds, draws = (
        validate.as_count(value, name) for value, name in ((people, "people"), (rounds, "rounds"), (draws, "draws"))
    )
    settings |= {"people": people, "rounds": rounds, "draws": draws}
    settings |= {"seed": validate.as_seed(seed), "first": validate.as_choice(first, "first", ("prior", "uniform"))}
    settings["explore"] = validate.as_number(explore, "explore", low=0, high=1)
    check = partial(
        check_run, builders, rounds=rounds, draws=draws, traces=traces, workers=concurrency(jobs, threads=threads)
    )
    populations = populations_of(world, people, draws, seed, check)
    if "states" not in settings:  # people of a log: there may be fewer than were asked for
        settings["people"] = len(populations[0])
    pieces = pieces_of(builders, populations, rounds, first, settings["explore"])
    settings["feedback"] = _feedback(pieces, settings.get("feedback"))
    rough = sum(len(population) for population in populations) * rounds > sums.EXACT
    for piece in {piece.name: piece for piece in pieces}.values():
        warn_of_locking(piece.policy, piece.people, rounds)
    _warm_up(pieces, seed)
    started = time.perf_counter()
    accounts = {name: Account() for name in builders}
    with executor_for(jobs, threads=threads, threaded=True, max_jobs=len(pieces)) as executor:
        parts = executor.map(_play, ((piece, rounds, seed, rough, traces) for piece in pieces))
        for done, (piece, part) in enumerate(zip(pieces, parts, strict=True)):
            accounts[piece.name].add(part)
            if progress is not None:
                progress(piece.name, done + 1, len(pieces))
    seconds = time.perf_counter() - started
    return Results(settings, {name: accounts.pop(name).result() for name in builders}, seconds)


def _play(piece: Piece, rounds: int, seed: int, rough: bool, keep: bool) -> Part:
    """Play a piece, wherever that is, and keep what is needed of it."""
    trace = play(piece.policy, piece.people, rounds=rounds, seed=seed, first_person=piece.first_person)
    return Part.of(trace, piece.people.truth, piece.draw, rough=rough, keep=keep)


def _warm_up(pieces: Sequence[Piece], seed: int) -> None:
    """Compile each kind of policy, by one round of one person, before anything is timed or spread over threads."""
    kinds = {(piece.policy.evidence.kind, piece.policy.rule.kind): piece for piece in pieces}
    for piece in kinds.values():
        play(piece.policy, piece.people.cut(slice(1)), rounds=1, seed=seed)


def builders_of(policies: Sequence[str] | Mapping[str, str | Build]) -> dict[str, Build]:
    """Return a builder per name, for registered names and for users' own."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        raise InvalidInput(
            f"policies is {validate.short_repr(policies)}; give a list of names, such as ['lpbts', 'ts']"
        )
    named: Iterable[tuple[str, str | Build]]
    listed = validate.as_list(policies, "policies", "names", max_length=10_000)
    named = policies.items() if isinstance(policies, Mapping) else ((name, name) for name in listed)
    out: dict[str, Build] = {}
    for given, build in named:
        if not isinstance(given, str):
            raise InvalidInput(
                f"policy {validate.short_repr(given)} is not a name; give names, or a mapping from names to builders"
            )
        name = validate.as_text(given, "policy")
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
            f"the builder of {name!r} returned {validate.short_repr(policy)}; it must return a policy, such as LpbTS(model)"
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


def populations_of(world: World, people: int, draws: int, seed: int, check: Callable[..., object]) -> list[Population]:
    """Return every draw of a world, if `check` lets its states, actions and people pass."""
    populations: list[Population] = []
    about = world_settings(world)
    states, actions = about.get("states"), about.get("actions")
    if type(states) is int and type(actions) is int:  # so that too large a run is refused before anybody is drawn
        check(states=states, actions=actions, people=people * states)
    for draw in range(draws):
        population = draw_population(world, people=people, seed=seed, draw=draw)
        if populations and len(population) != len(populations[0]):
            raise InvalidInput(
                f"draw {draw} has {len(population)} people and draw 0 has {len(populations[0])}; "
                "every draw of a world must have equally many"
            )
        populations.append(population)
        if draw == 0:
            model = population.model
            check(states=model.n_states, actions=model.n_actions, people=len(population))
    return populations


def pieces_of(
    builders: Mapping[str, Build],
    populations: Sequence[Population],
    rounds: int,
    first: str = "prior",
    explore: float = 0.0,
) -> list[Piece]:
    """Cut the work into pieces: one policy with some people of one draw.

    Some people's pieces with all policies stand together: then those that are sent together take about as long as any
    others, and share their people.
    """
    pieces: list[Piece] = []
    size = people_per_task(rounds)
    for name, build in builders.items():
        for draw, population in enumerate(populations):
            policy = _built(name, build, Setting(population.model, population.assumed_rewards, rounds, first))
            policy = policy.exploring(explore) if explore and not policy.explore else policy
            check_rounds(policy, population, rounds)
            people = len(population)
            for start in range(0, people, size):
                part = population.cut(slice(start, start + size))
                pieces.append(Piece(name, policy, part, draw, draw * people + start))
    return sorted(pieces, key=lambda piece: piece.first_person)
