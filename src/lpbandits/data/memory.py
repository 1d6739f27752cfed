"""`MemoryBudget`: the memory limit of a fit and its use.

The limit determines the number of passes and whether workers are used; it never changes a result. Work that cannot be
done within the limit is refused before it starts. Sizes are estimates from measured peaks (docs/scale.md).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lpbandits.errors import InvalidInput
from lpbandits.limits import memory_limit
from lpbandits.text import size_text
from lpbandits.typing import Label

if TYPE_CHECKING:
    import polars as pl

# Bytes of a process
BYTES_PER_PROCESS = 400 * 10**6  # this one, with its libraries and compiled kernels
BYTES_PER_WORKER = 200 * 10**6
BYTES_PER_READER = 570 * 10**6  # one that reads tables of any size in batches

# Bytes per person or rating
BYTES_PER_PERSON = 150  # all arrays indexed by person, without the label
BYTES_PER_RATING = 30  # a log in memory during a fit
BYTES_PER_BLOCK_RATING = 90  # a block that a stage processes
BYTES_PER_SELECTED_RATING = 40  # people who are loaded together from a log on disk
BYTES_PER_KMEANS_RATING = 13  # people that KMeans clusters: once, and again for each concurrent run
BYTES_PER_KMEANS_PERSON = 100

# Bytes per pair of actions
BYTES_PER_TASTE_PAIR = 12 * 8  # covariances of a taste model
BYTES_PER_SENT_PAIR = 6  # partial sums that a worker sends, for each group of people

AHEAD = 2
"""Maximum number of large results per worker that wait in memory for earlier ones."""

COPIES_PER_WORKER = 3
"""Copies that a worker holds of an array it sends: the array, its serialised bytes and the transfer buffer."""


@dataclass(frozen=True)
class MemoryBudget:
    """Memory limit of a fit, the memory that its log takes, and the number of workers.

    >>> budget = MemoryBudget(2_000_000_000, used_bytes=1_400_000_000, local_workers=2, workers=2)
    >>> budget.left, budget.shared(50_000_000), budget.shared(70_000_000)
    (600000000, True, False)
    """

    limit_bytes: int
    """Limit in bytes of this process and the workers on this machine."""
    used_bytes: int = 0
    """Bytes that processes, people and blocks take."""
    local_workers: int = 0
    """Number of workers on this machine."""
    workers: int = 0
    """Number of workers on all machines."""
    set_by_user: bool = True
    """Whether the user set the limit; the limit of the machine is enforced by `limits`."""

    @property
    def left(self) -> int:
        """Bytes available to a stage besides its block."""
        return max(self.limit_bytes - self.used_bytes, 0)

    @property
    def copies(self) -> int:
        """Copies of a partial sum that exist at once: at local workers, in transit, and two in this process."""
        return COPIES_PER_WORKER * self.local_workers + self.workers + 2 if self.workers else 1

    def shared(self, size: int, *, in_order: bool = False) -> bool:
        """Return whether the workers' partial sums of `size` bytes fit in memory.

        With `in_order`, those that arrive early are held until their turn.
        """
        return (self.copies + AHEAD * in_order * self.workers) * size <= self.left

    def reserve(self, ratings: int) -> "MemoryBudget":
        """Return the budget without workers and with this many more ratings in memory.

        >>> MemoryBudget(10**9, used_bytes=4 * 10**8, local_workers=2, workers=2).reserve(10**7).left
        300000000
        """
        return replace(self, used_bytes=self.used_bytes + BYTES_PER_RATING * ratings, workers=0)

    def check(self, what: str, size: int, remedy: str) -> None:
        """Raise `InvalidInput` if `size` bytes exceed a limit that the user set.

        >>> MemoryBudget(10**9, used_bytes=9 * 10**8).check("counts of 20,000 actions", 8 * 10**8, "leave out some")
        Traceback (most recent call last):
        ...
        lpbandits.errors.InvalidInput: max_memory is 1GB, but counts of 20,000 actions need 800MB in addition to ...
        """
        if self.set_by_user and self.used_bytes + size > self.limit_bytes:
            processes = f"{self.local_workers} workers" if self.local_workers else "this process"
            raise InvalidInput(
                f"max_memory is {size_text(self.limit_bytes)}, but {what} need {size_text(size)} in addition to the "
                f"{size_text(self.used_bytes)} of {processes}, people and blocks; set max_memory (--max-memory) to at "
                f"least {round_up(self.used_bytes + size)}, or {remedy}"
            )


def memory_budget(
    people: "Sequence[Label] | pl.Series",
    *,
    block: int,
    held: int = 0,
    local_workers: int = 0,
    workers: int = 0,
    limit_bytes: int | None = None,
) -> MemoryBudget:
    """Return the budget of a fit of a log with `block` ratings in its largest block and `held` ratings in memory.

    >>> memory_budget(range(1000), block=10**6, limit_bytes=2 * 10**9).left
    1509822000
    """
    processes = BYTES_PER_PROCESS + BYTES_PER_WORKER * local_workers
    ratings = BYTES_PER_BLOCK_RATING * block * max(local_workers, 1) + BYTES_PER_RATING * held
    used_bytes = processes + people_size(people) + ratings
    limit = memory_limit() if limit_bytes is None else limit_bytes
    return MemoryBudget(limit, used_bytes, local_workers, workers, set_by_user=limit_bytes is not None)


def people_size(people: "Sequence[Label] | pl.Series") -> int:
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
