"""Simulation of policies on the same people and the same random numbers."""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.limits import check_memory
from lpbandits.parallel import Workers, concurrency, executor_for
from lpbandits.policies import Policy, Setting, entry_of, make_policy
from lpbandits.progress import Progress
from lpbandits.simulation import sums
from lpbandits.simulation.results import PolicyResult, Results
from lpbandits.simulation.rollout import check_rounds, play, warn_of_lock_in
from lpbandits.simulation.stopping import check_stop, stop_people
from lpbandits.simulation.sums import Accumulator, PartialSums
from lpbandits.text import pluralize
from lpbandits.worlds import Population, World, draw_population, world_settings

Build = Callable[[Setting], Policy]

TASK_DECISIONS = 2**17
"""Decisions per task, of at most 512 people. Fixed, so that results do not depend on the number of workers."""


class Task(NamedTuple):
    """One policy with some people of one draw; person i of them has the random stream `first_person` + i."""

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
    stop: float | None = None,
    jobs: int | Workers | None = None,
    threads: int | None = None,
    traces: bool = False,
    progress: Progress | None = None,
) -> Results:
    """Compare policies on the same people and the same random numbers.

    Parameters
    ----------
    world
        World to draw people from, such as `SyntheticWorld(states=5, actions=10)`.
    policies
        Registered names, or a mapping from your names to registered names or to functions that build a policy from a
        `Setting` (model, rewards, rounds). All must learn from the same feedback, rewards or duels.
    people
        People per state.
    rounds
        Rounds per person.
    draws
        Independent draws of the world's orderings.
    seed
        Random seed. Results depend on it and the settings only, not on the workers.
    first
        First action of policies that sample a state: "prior" or "uniform".
    explore
        Minimum probability of every allowed action, for policies that do not set their own.
    stop
        Confidence, as in `Agent.best`, at which a person stops learning and receives the best action in all later
        rounds. By default people do not stop. See `PolicyResult.stop`.
    jobs
        Number of processes, or `Workers(…)` of a cluster; by default threads of this process.
    threads
        Threads of this process; by default all cores.
    traces
        Keep all rounds of all people in `results[name].trace`: 28 bytes each (44 for duels).
    progress
        Called with (policy, done, total) after each task.

    Examples
    --------
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
    validate.check_progress(progress)
    builders = builders_of(policies)
    people, rounds, draws = (
        validate.as_count(value, name) for value, name in ((people, "people"), (rounds, "rounds"), (draws, "draws"))
    )
    settings |= {
        "people": people,
        "rounds": rounds,
        "draws": draws,
        "seed": validate.as_seed(seed),
        "first": validate.as_choice(first, "first", ("prior", "uniform")),
        "explore": validate.as_number(explore, "explore", low=0, high=1),
    }
    if stop is not None:
        settings["stop"] = stop = validate.as_number(stop, "stop", low=0, high=1, above=True)
    check = partial(
        check_run, len(builders), rounds=rounds, draws=draws, traces=traces, workers=concurrency(jobs, threads=threads)
    )
    states, actions = settings.get("states"), settings.get("actions")
    if type(states) is int and type(actions) is int:  # known before the first draw
        check(states, actions, people * states)
    populations = _draw_all(world, people, draws, seed, check)
    if "states" not in settings:  # a replayed log may have fewer people
        settings["people"] = len(populations[0])
    tasks = tasks_of(builders, populations, rounds, first, settings["explore"])
    settings["feedback"] = _feedback(tasks, settings.get("feedback"))
    if stop is not None:
        check_stop(tasks[0].people, settings["feedback"])
    binned = sum(len(population) for population in populations) * rounds > sums.EXACT
    for task in {task.name: task for task in tasks}.values():
        warn_of_lock_in(task.policy, task.people, rounds)
    # compile each kind of policy, by one round of one person, before time is measured and threads start
    for task in {(task.policy.evidence.kind, task.policy.rule.kind): task for task in tasks}.values():
        _play([task._replace(people=task.people.cut(slice(1)))], 1, seed, stop)
    started = time.perf_counter()
    accumulators = {name: Accumulator() for name in builders}
    with executor_for(jobs, threads=threads, max_jobs=len(tasks)) as executor, executor.threaded() as pool:
        # join short tasks, since sending a job costs as much as a thousand decisions; leave several jobs to each worker
        size = max(1, min(TASK_DECISIONS // (len(tasks[0].people) * rounds), len(tasks) // (8 * pool.n_workers)))
        groups = ((tasks[i : i + size], rounds, seed, stop, binned, traces) for i in range(0, len(tasks), size))
        parts = itertools.chain.from_iterable(pool.map(_play, groups))
        for done, (task, part) in enumerate(zip(tasks, parts, strict=True)):
            accumulators[task.name].add(part)
            if progress is not None:
                progress(task.name, done + 1, len(tasks))
    seconds = time.perf_counter() - started
    return Results(settings, {name: PolicyResult.of(accumulators.pop(name)) for name in builders}, seconds)


def _play(
    tasks: Sequence[Task],
    rounds: int,
    seed: int,
    stop: float | None = None,
    binned: bool = False,
    keep_trace: bool = False,
) -> list[PartialSums]:
    """Play tasks; runs in a worker."""
    parts = []
    for _, policy, people, draw, first in tasks:
        trace = play(policy, people, rounds=rounds, seed=seed, first_person=first)
        stops = None if stop is None else stop_people(policy, people, trace, level=stop, seed=seed, person=first)
        parts.append(PartialSums.of(trace, people.truth, draw, stops=stops, binned=binned, keep_trace=keep_trace))
    return parts


def builders_of(policies: Sequence[str] | Mapping[str, str | Build]) -> dict[str, Build]:
    """Return the builder of each policy, by name."""
    named: Iterable[tuple[str, str | Build]]
    if isinstance(policies, Mapping):
        named = policies.items()
    else:
        listed = validate.as_list(policies, "policies", "names, such as ['lpbts', 'ts']", max_length=10_000)
        named = ((name, name) for name in listed)
    builders: dict[str, Build] = {}
    for key, build in named:
        name = validate.as_text(key, "policy")
        if name in builders:
            raise InvalidInput(f"policies must differ, got {name!r} twice")
        if isinstance(build, Policy):
            raise InvalidInput(
                f"policy {name!r} must be a function that builds a policy per draw, such as lambda s: LpbTS(s.model), "
                "got a policy"
            )
        builders[name] = build if callable(build) else partial(make_policy, entry_of(build).name)
    if not builders:
        raise InvalidInput("policies must have at least one name, got none; `lpb policies` lists them")
    return builders


def _built(name: str, build: Build, setting: Setting) -> Policy:
    policy = build(setting)
    if not isinstance(policy, Policy):
        raise validate.invalid(f"the result of policy {name!r}", "a policy, such as LpbTS(model)", policy)
    if policy.model.actions != setting.model.actions:
        raise InvalidInput(
            f"policy {name!r} must have the world's {setting.model.n_actions} actions, with labels in their order, got "
            f"{policy.model.n_actions} labels {validate.short_repr(policy.model.actions)}; build it from the setting's "
            "model, or relabel its model"
        )
    return policy


def _feedback(tasks: Sequence[Task], world: str | None) -> str:
    """Return the feedback that all policies learn from."""
    names = {task.policy.feedback: task.name for task in tasks}
    if len(names) > 1:
        raise InvalidInput(
            f"policies must learn from the same feedback, got {names['rewards']!r} (rewards) and {names['duels']!r} "
            "(duels)"
        )
    feedback = next(iter(names))
    if world is not None and feedback != world:
        raise InvalidInput(
            f"the world gives {world}, but policy {names[feedback]!r} learns from {feedback}; use policies for "
            f"{world}, or a world that gives {feedback} (--feedback {feedback})"
        )
    return feedback


def _draw_all(
    world: World, people: int, draws: int, seed: int, check: Callable[[int, int, int], object]
) -> list[Population]:
    """Return all draws of a world; `check(states, actions, people per draw)` raises if the run is too large."""
    populations: list[Population] = []
    for draw in range(draws):
        population = draw_population(world, people=people, seed=seed, draw=draw)
        if not populations:
            check(population.model.n_states, population.model.n_actions, len(population))
        elif len(population) != len(populations[0]):
            raise InvalidInput(
                f"all draws of a world must have the same number of people, got {len(populations[0])} in draw 0 and "
                f"{len(population)} in draw {draw}"
            )
        populations.append(population)
    return populations


def tasks_of(
    builders: Mapping[str, Build],
    populations: Sequence[Population],
    rounds: int,
    first: str = "prior",
    explore: float = 0.0,
) -> list[Task]:
    """Return all tasks, by policy, draw and people."""
    tasks: list[Task] = []
    size = people_per_task(rounds)
    for name, build in builders.items():
        for draw, population in enumerate(populations):
            policy = _built(name, build, Setting(population.model, population.assumed_rewards, rounds, first))
            policy = policy.exploring(explore) if explore and not policy.explore else policy
            check_rounds(policy, population, rounds)
            for start in range(0, len(population), size):
                part = population.cut(slice(start, start + size))
                tasks.append(Task(name, policy, part, draw, draw * len(population) + start))
    return tasks


def people_per_task(rounds: int) -> int:
    """Return the number of people of a task.

    >>> people_per_task(200), people_per_task(10**6)
    (512, 1)
    """
    return max(1, min(512, TASK_DECISIONS // rounds))


def check_run(
    policies: int,
    states: int,
    actions: int,
    people: int,
    *,
    rounds: int,
    draws: int = 1,
    traces: bool = False,
    workers: int = 1,
) -> None:
    """Raise `InvalidInput` if a simulation of `people` people per draw needs too much memory.

    >>> check_run(1, states=5, actions=10, people=10**9, rounds=200)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: 1,000,000,000 people × 200 rounds with 1 policy would take ... GiB of memory; ...
    """
    total_people = people * draws
    cells, table = total_people * rounds, states * actions
    size = (
        8 * (total_people * (actions + 1) + people * actions)  # means and states, and a copy of one draw
        + table * (100 + draws * (24 + 12 * policies))  # models and policies
        + policies * total_people * 240  # ten columns per person, in a table and in its file
        + policies * 16 * (cells if cells <= sums.EXACT else rounds * sums.BINS)  # quantiles
        + policies * draws * (16 * rounds + 5000)  # sums per round
        + policies * (total_people // people_per_task(rounds)) * 1500  # tasks
        + 128 * max(rounds, TASK_DECISIONS) * workers  # traces of running tasks
        + 200 * rounds  # curves of the result
        + ((policies + 1) * cells * 56 if traces else 0)
    )
    check_memory(
        f"{pluralize(total_people, 'person', 'people')} × {pluralize(rounds, 'round')} with "
        f"{pluralize(policies, 'policy', 'policies')}",
        "take fewer people, draws, rounds, states or actions" + (", or leave the traces out" if traces else ""),
        size,
    )
