"""Estimated memory and time of simulations and bounds; too large ones are refused before they start."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from lpbandits.limits import check_resources
from lpbandits.policies import POLICIES, make_policy
from lpbandits.policies.registry import MEANS, ORDERINGS, TOP, Entry
from lpbandits.simulation import sums
from lpbandits.text import pluralize
from lpbandits.theory.program import check_size, operations_of
from lpbandits.worlds import SyntheticWorld

TASK_DECISIONS = 2**17
"""Decisions per task, of at most 512 people. Fixed, so that results do not depend on the number of workers."""


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
) -> int:
    """Refuse a simulation of `people` people per draw that is too large; return its estimated operations.

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
    return operations


def _decision_operations(build: Callable[..., object], states: int, actions: int, rounds: int) -> int:
    """Return the estimated operations of one decision; for an unregistered policy, those of the simplest."""
    entry: Entry | None = None
    if isinstance(build, partial) and build.func is make_policy:
        entry = POLICIES[build.args[0]]
    latent = entry is not None and entry.knows in (ORDERINGS, MEANS)
    pairs = entry is not None and entry.feedback == "duels" and not latent
    playable = min(actions, states) if entry is not None and entry.knows == TOP else actions
    tried = min(playable, rounds)
    return 100 + (20 * states if latent else 10 * tried) + (50 * tried * tried if pairs else 0)


def check_bounds(
    worlds: Iterable[SyntheticWorld],
    *,
    people: int,
    policies: Collection[str] = (),
    rounds: int = 0,
    repeats: int = 0,
    workers: int = 1,
) -> int:
    """Refuse bounds, and the growth measured with them, that are too large; return their estimated operations.

    >>> check_bounds([SyntheticWorld(states=100_000, actions=20)], people=20)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: bounds of 20 people with 100,000 states × 20 actions would take about 19 hours; ...
    """
    sizes = [(world.states, world.actions) for world in worlds]
    if not sizes:
        return 0
    m, k = max(sizes, key=lambda size: operations_of(*size))
    solving = sum(2 * people * operations_of(*size) for size in sizes)
    check_size(m, k, f"bounds of {people:,} people", solving)
    if not policies:
        return solving
    builds = [partial(make_policy, name) for name in policies]
    decisions = people * repeats * rounds
    playing = decisions * sum(_decision_operations(build, *size, rounds) for build in builds for size in sizes)
    check_resources(
        f"{people:,} people × {repeats:,} repeats × {rounds:,} rounds with "
        f"{pluralize(len(policies), 'policy', 'policies')}",
        "take fewer people, repeats or rounds",
        size=people * (40 * m * k + 16 * repeats * k) + 2 * workers * repeats * rounds * 40,
        operations=playing // workers,
    )
    return solving + playing
