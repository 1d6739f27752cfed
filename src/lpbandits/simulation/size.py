"""Estimated memory and time of simulations and bounds; too large ones are refused before they start."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources
from lpbandits.parallel import resolve_threads
from lpbandits.policies import POLICIES, entry_of, make_policy
from lpbandits.policies.registry import MEANS, NOTHING, ORDERINGS, TOP
from lpbandits.simulation import sums
from lpbandits.text import pluralize
from lpbandits.theory.program import check_size, operations_of
from lpbandits.worlds import SyntheticWorld

TASK_DECISIONS = 2**17
"""Decisions per task, of at most 512 people. Fixed, so that results do not depend on the number of workers."""

MAX_PEOPLE = 100_000
"""Maximum number of people of bounds."""


def people_per_task(rounds: int) -> int:
    """Return the number of people of a task.

    >>> people_per_task(200), people_per_task(10**6)
    (512, 1)
    """
    return max(1, min(512, TASK_DECISIONS // rounds))


def check_run(
    builders: Mapping[str, Callable[..., object]],
    states: int,
    actions: int,
    people: int,
    *,
    rounds: int,
    draws: int = 1,
    traces: bool = False,
    workers: int = 1,
) -> None:
    """Refuse a simulation of `people` people per draw that is too large.

    >>> from lpbandits.simulation.run import builders_of
    >>> check_run(builders_of(["ts"]), states=5, actions=10, people=10**9, rounds=200)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: 1,000,000,000 people × 200 rounds with 1 policy would take ... GiB of memory; ...
    """
    policies, total_people = len(builders), people * draws
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
    operations = sum(cells * _decision_operations(build, states, actions, rounds) for build in builders.values())
    check_resources(
        f"{pluralize(total_people, 'person', 'people')} × {pluralize(rounds, 'round')} with "
        f"{pluralize(policies, 'policy', 'policies')}",
        "take fewer people, draws, rounds, states or actions" + (", or leave the traces out" if traces else ""),
        size=size,
        operations=operations // workers,
    )


def _decision_operations(build: Callable[..., object], states: int, actions: int, rounds: int) -> int:
    """Return the estimated operations of one decision; for an unregistered policy, those of the simplest."""
    knows, feedback = NOTHING, "rewards"
    if isinstance(build, partial) and build.func is make_policy:
        entry = POLICIES[build.args[0]]
        knows, feedback = entry.knows, entry.feedback
    if knows in (ORDERINGS, MEANS):
        return 100 + 20 * states
    tried = min(actions, rounds, states if knows == TOP else actions)
    return 100 + 10 * tried + (50 * tried * tried if feedback == "duels" else 0)


def check_bounds(
    worlds: Iterable[SyntheticWorld],
    *,
    people: int,
    policies: Sequence[str] = (),
    rounds: int = 20_000,
    repeats: int = 10,
    threads: int | None = None,
) -> tuple[int, int, int, int]:
    """Validate the settings of bounds, refuse too large ones, and return people, rounds, repeats and threads.

    >>> check_bounds([SyntheticWorld(states=100_000, actions=20)], people=20)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: bounds of 20 people with 100,000 states × 20 actions would take about 19 hours; ...
    """
    for i, name in enumerate(policies):
        if entry_of(name).feedback != "rewards":
            raise InvalidInput(f"policies must learn from rewards, got {name!r}, which learns from duels")
        if name in policies[:i]:
            raise InvalidInput(f"policies must differ, got {name!r} twice")
    people = validate.as_count(people, "people", high=MAX_PEOPLE)
    rounds, repeats = validate.as_count(rounds, "rounds", low=10), validate.as_count(repeats, "repeats")
    threads = resolve_threads(threads)
    sizes = [(world.states, world.actions) for world in worlds]
    m, k = max(sizes, key=lambda size: operations_of(*size), default=(0, 0))
    check_size(m, k, f"bounds of {people:,} people", sum(2 * people * operations_of(*size) for size in sizes))
    builds = [partial(make_policy, name) for name in policies]
    operations = sum(_decision_operations(build, *size, rounds) for build in builds for size in sizes)
    if policies:
        check_resources(
            f"{people:,} people × {repeats:,} repeats × {rounds:,} rounds with "
            f"{pluralize(len(policies), 'policy', 'policies')}",
            "take fewer people, repeats or rounds",
            size=people * (40 * m * k + 16 * repeats * k) + 2 * threads * repeats * rounds * 40,
            operations=people * repeats * rounds * operations // threads,
        )
    return people, rounds, repeats, threads
