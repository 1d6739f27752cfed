"""Size of the tasks of a simulation, and its estimated memory."""

from lpbandits.limits import check_memory
from lpbandits.simulation import sums
from lpbandits.text import pluralize

TASK_DECISIONS = 2**17
"""Decisions per task, of at most 512 people. Fixed, so that results do not depend on the number of workers."""


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
