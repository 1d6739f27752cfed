"""`MemoryBudget`: the memory limit of a fit and its use.

The limit sets the number of passes and whether workers take part; it never changes a result. Work that cannot be done
within the limit is refused before it starts. Sizes are estimates from measured peaks (docs/scale.md).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lpbandits.errors import InvalidInput
from lpbandits.limits import memory_limit
from lpbandits.text import size_text
from lpbandits.typing import Label

BYTES_PER_PROCESS = 400 * 10**6
"""This process, with its libraries and compiled kernels."""

BYTES_PER_WORKER = 200 * 10**6

BYTES_PER_READER = 570 * 10**6
"""A process that reads tables of any size in batches."""

BYTES_PER_PERSON = 150
"""Arrays indexed by person; the label comes on top."""

BYTES_PER_RATING = 30
"""A log in memory during a fit."""

BYTES_PER_BLOCK_RATING = 90
"""A block while a stage processes it."""

BYTES_PER_SELECTED_RATING = 40
"""People of a log on disk that are loaded together."""

BYTES_PER_KMEANS_RATING = 13
"""Ratings of the people that KMeans clusters, once and for each concurrent start."""

BYTES_PER_KMEANS_PERSON = 100

BYTES_PER_TASTE_PAIR = 12 * 8
"""A pair of actions in the covariances of a taste model."""

BYTES_PER_SENT_PAIR = 6
"""The same in the partial sums of a worker, for each group of people."""

AHEAD = 2
"""Results per worker that may wait for their turn, where results are large."""

COPIES_PER_WORKER = 3
"""A worker holds the arrays it sends as they are, serialised, and in transit."""


@dataclass(frozen=True)
class MemoryBudget:
    """Memory limit of a fit, the memory that its log takes, and the number of workers.

    >>> budget = MemoryBudget(most=2_000_000_000, taken=1_400_000_000, here=2, sending=2)
    >>> budget.left, budget.shared(50_000_000), budget.shared(70_000_000)
    (600000000, True, False)
    """

    most: int
    """Limit in bytes of this process and the workers on this machine."""
    taken: int = 0
    """Bytes of processes, people and blocks."""
    here: int = 0
    """Number of workers on this machine."""
    sending: int = 0
    """Number of workers on all machines."""
    asked: bool = True
    """Whether the user set the limit; the limit of the machine is enforced by `limits`."""

    @property
    def left(self) -> int:
        """Bytes available to a stage besides its block."""
        return max(self.most - self.taken, 0)

    @property
    def copies(self) -> int:
        """Number of copies of a partial sum: at the workers, in transit, and the total."""
        return COPIES_PER_WORKER * self.here + self.sending + 2 if self.sending else 1

    def shared(self, size: int, *, in_order: bool = False) -> bool:
        """Return whether workers may send partial sums of `size` bytes; ordered ones may wait for their turn."""
        return (self.copies + AHEAD * in_order * self.sending) * size <= self.left

    def reserve(self, ratings: int) -> "MemoryBudget":
        """Return the budget without workers and with this many more ratings in memory.

        >>> MemoryBudget(most=10**9, taken=4 * 10**8, here=2, sending=2).reserve(10**7).left
        300000000
        """
        return replace(self, taken=self.taken + BYTES_PER_RATING * ratings, sending=0)

    def check(self, what: str, size: int, remedy: str) -> None:
        """Raise `InvalidInput` if `size` bytes exceed a limit that the user set.

        >>> MemoryBudget(most=10**9, taken=9 * 10**8).check("counts of 20,000 actions", 8 * 10**8, "leave out some")
        Traceback (most recent call last):
        ...
        lpbandits.errors.InvalidInput: max_memory is 1GB, but counts of 20,000 actions need 800MB in addition to ...
        """
        if self.asked and self.taken + size > self.most:
            processes = f"{self.here} workers" if self.here else "this process"
            raise InvalidInput(
                f"max_memory is {size_text(self.most)}, but {what} need {size_text(size)} in addition to the "
                f"{size_text(self.taken)} of {processes}, people and blocks; set max_memory (--max-memory) to at least "
                f"{round_up(self.taken + size)}, or {remedy}"
            )


def memory_budget(
    people: Sequence[Label], *, block: int, held: int = 0, here: int = 0, sending: int = 0, most: int | None = None
) -> MemoryBudget:
    """Return the budget of a fit of a log with `block` ratings in its largest block and `held` ratings in memory.

    >>> memory_budget(range(1000), block=10**6, most=2 * 10**9).left
    1509822000
    """
    processes = BYTES_PER_PROCESS + BYTES_PER_WORKER * here
    ratings = BYTES_PER_BLOCK_RATING * block * max(here, 1) + BYTES_PER_RATING * held
    taken = processes + people_size(people) + ratings
    return MemoryBudget(memory_limit() if most is None else most, taken, here, sending, asked=most is not None)


def people_size(people: Sequence[Label]) -> int:
    """Return the bytes that people take, from the size of the first labels.

    >>> people_size(["ann", "bo"])
    404
    """
    return len(people) * (BYTES_PER_PERSON + max(map(sys.getsizeof, people[:100]), default=0))


def round_up(size: int) -> str:
    """Return a size as text, rounded up.

    >>> round_up(1_701_000_000), round_up(934_900_000)
    ('1.8GB', '940MB')
    """
    step = 10**8 if size > 10**9 else 10**7
    return size_text(-(-size // step) * step)
