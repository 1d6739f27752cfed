"""How much a simulation takes, from its sizes alone: it is refused before anybody is drawn, or not at all."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from lpbandits.limits import check_resources
from lpbandits.policies import POLICIES, make_policy
from lpbandits.policies.registry import MEANS, ORDERINGS, TOP, Entry
from lpbandits.simulation import sums
from lpbandits.text import pluralize
from lpbandits.theory.program import check_size, operations_of
from lpbandits.worlds import SyntheticWorld

PIECE = 2**17
"""Decisions per piece of work, at most 512 people: fixed, so that no result depends on how pieces are spread."""


def people_per_task(rounds: int) -> int:
    """Return how many people a piece of work has.

    >>> people_per_task(200), people_per_task(10**6)
    (512, 1)
    """
    return max(1, min(512, PIECE // rounds))


def check_run(
    builders: Mapping[str, Callable[..., object]],
    *,
    states: int,
    actions: int,
    people: int,
    rounds: int,
    draws: int = 1,
    traces: bool = False,
    workers: int = 1,
) -> int:
    """Refuse a run of `people` people a draw, by the bytes that it keeps and by the cost of a decision.

    Return about how many operations it takes.

    >>> from lpbandits.simulation.run import builders_of
    >>> check_run(builders_of(["ts"]), states=5, actions=10, people=10**9, rounds=200)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: 1,000,000,000 people × 200 rounds with 1 policy would take ... GiB of memory; ...
    """
    policies, everybody, cells = len(builders), people * draws, people * draws * rounds
    table = states * actions
    size = everybody * (8 * actions + 8) + people * 8 * actions  # means and states, and a copy on the way
    size += draws * table * (24 + 12 * policies) + 100 * table  # orderings, means and ranks; their hash on the way
    size += policies * everybody * 240  # ten numbers per person, and again in a table and in its file
    size += policies * 2 * (8 * cells if cells <= sums.EXACT else 8 * rounds * sums.BINS)  # quantiles
    size += policies * draws * (16 * rounds + 5000)  # sums per round and draw, and the policies themselves
    size += policies * (everybody // people_per_task(rounds)) * 1500  # pieces of work
    size += 64 * max(rounds, PIECE) * 2 * workers + 200 * rounds  # traces under way
    size += (policies + 1) * cells * 56 if traces else 0
    work = sum(everybody * rounds * _decision(build, states, actions, rounds) for build in builders.values())
    check_resources(
        f"{pluralize(everybody, 'person', 'people')} × {pluralize(rounds, 'round')} with "
        f"{pluralize(policies, 'policy', 'policies')}",
        "take fewer people, draws, rounds, states or actions" + (", or leave the traces out" if traces else ""),
        size=size,
        operations=work // workers,
    )
    return work


def _decision(build: Callable[..., object], states: int, actions: int, rounds: int) -> int:
    """Return about how many operations a decision takes: of a policy that is not registered, what any takes."""
    known: Entry | None = None
    if isinstance(build, partial) and build.func is make_policy:
        known = POLICIES[build.args[0]]
    latent = known is not None and known.knows in (ORDERINGS, MEANS)
    pairs = known is not None and known.feedback == "duels" and not latent
    played = min(actions, states) if known is not None and known.knows == TOP else actions
    tried = min(played, rounds)
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
    """Refuse the bounds of random people, and the measurement beside them, in all of these worlds.

    Return about how many operations they take.

    >>> check_bounds([SyntheticWorld(states=100_000, actions=20)], people=20)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: bounds of 20 people with 100,000 states × 20 actions would take about 19 hours; ...
    """
    places = list(worlds)
    if not places:
        return 0
    m, k = max(((world.states, world.actions) for world in places), key=lambda size: operations_of(*size))
    work = sum(2 * people * operations_of(world.states, world.actions) for world in places)
    check_size(m, k, f"bounds of {people:,} people", work)
    if not policies:
        return work
    builds = [partial(make_policy, name) for name in policies]
    costs = [_decision(build, world.states, world.actions, rounds) for build in builds for world in places]
    size = people * (40 * m * k + 16 * repeats * k) + 2 * workers * repeats * rounds * 40
    play = people * repeats * rounds * sum(costs)
    check_resources(
        f"{people:,} people × {repeats:,} repeats × {rounds:,} rounds with "
        f"{pluralize(len(policies), 'policy', 'policies')}",
        "take fewer people, repeats or rounds",
        size=size,
        operations=play // workers,
    )
    return work + play
