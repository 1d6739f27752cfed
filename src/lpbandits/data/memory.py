"""`MemoryBudget`: the memory that a fit may take, and how much of it is left beside its log.

The sizes here follow from a limit, and never enter the numbers: with less room there are more passes over the log, or
this process does what its workers have no room for. What cannot be done with less is refused before the work starts.
The bytes are estimates, from some measured peaks (docs/scale.md).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lpbandits.errors import InvalidInput
from lpbandits.limits import memory_limit
from lpbandits.text import size_text
from lpbandits.typing import Label

PROCESS = 400 * 10**6
"""Bytes of this process, with its libraries and compiled kernels."""

WORKER = 200 * 10**6
"""Bytes of a worker, which shares some with others."""

READER = 570 * 10**6
"""Bytes of one that reads tables, whatever their size: a hundred million ratings took 460 MB."""

PERSON = 150
"""Bytes of each person, beside the label: number of ratings, state, level, scale."""

HELD = 30
"""Bytes of each rating of a log in memory: itself, and its place in a sorted history."""

WORKED = 90
"""Bytes of each rating of a block while a stage works on it."""

SEEN = 13
"""Bytes of each rating that KMeans sees; each of its starts that run at a time turns them round, in as many again."""

STARTED = 100
"""Bytes of each person that KMeans sees, for each of its starts that run at a time."""

TASTE = 12 * 8
"""Bytes of each pair of actions that a taste has factors of: of at most `crossed.MOST_CROSSED`."""

SENT = 6
"""Bytes of each such pair that a worker sends, for each group of people."""

AHEAD = 2
"""Answers that may wait for their turn, for each worker, where they are large."""

COPIES = 3
"""A worker that sends arrays has them as they are, packed, and on their way."""


@dataclass(frozen=True)
class MemoryBudget:
    """What a fit may take, what its log takes in any case, and among how many.

    >>> room = MemoryBudget(most=2_000_000_000, taken=1_400_000_000, here=2, sending=2)
    >>> room.left, room.shared(50_000_000), room.shared(70_000_000)
    (600000000, True, False)
    """

    most: int
    """Bytes of this process and of its workers on this machine."""
    taken: int = 0
    """Bytes of processes, people and blocks."""
    here: int = 0
    """Workers on this machine."""
    sending: int = 0
    """Workers, wherever they are."""
    asked: bool = True
    """Whether somebody gave the limit; what is more than the machine's is refused elsewhere (`limits`)."""

    @property
    def left(self) -> int:
        """Bytes for what a stage holds beside its block."""
        return max(self.most - self.taken, 0)

    @property
    def copies(self) -> int:
        """How many times what workers add up is in memory: with them, on its way from each, and added up here."""
        return COPIES * self.here + self.sending + 2 if self.sending else 1

    def shared(self, size: int, *, in_order: bool = False) -> bool:
        """Return whether workers may send so many bytes each; what is added up in order may wait here for its turn."""
        return (self.copies + AHEAD * in_order * self.sending) * size <= self.left

    def beside(self, held: int) -> "MemoryBudget":
        """Return the room beside so many more ratings in memory, for what this process does with them alone.

        >>> MemoryBudget(most=10**9, taken=4 * 10**8, here=2, sending=2).beside(10**7).left
        300000000
        """
        return replace(self, taken=self.taken + HELD * held, sending=0)

    def check(self, what: str, size: int, remedy: str) -> None:
        """Refuse what takes more than is left, with the least that would do.

        >>> MemoryBudget(most=10**9, taken=9 * 10**8).check("counts of 20,000 actions", 8 * 10**8, "leave out some")
        Traceback (most recent call last):
        ...
        lpbandits.errors.InvalidInput: max_memory is 1GB, but counts of 20,000 actions ... the least is 1.7GB ...
        """
        if self.asked and self.taken + size > self.most:
            whose = f"{self.here} workers" if self.here else "this process"
            raise InvalidInput(
                f"max_memory is {size_text(self.most)}, but {what} take {size_text(size)}, and {whose}, people and "
                f"blocks {size_text(self.taken)}: the least is {least_text(self.taken + size)} (--max-memory); give "
                f"that, or {remedy}"
            )


def memory_budget(
    people: Sequence[Label], *, block: int, held: int = 0, here: int = 0, sending: int = 0, most: int | None = None
) -> MemoryBudget:
    """Return the room beside a log with so many ratings in its largest block, and so many held in memory.

    >>> memory_budget(range(1000), block=10**6, most=2 * 10**9).left
    1509822000
    """
    taken = PROCESS + WORKER * here + people_size(people) + WORKED * block * max(here, 1) + HELD * held
    return MemoryBudget(memory_limit() if most is None else most, taken, here, sending, asked=most is not None)


def people_size(people: Sequence[Label]) -> int:
    """Return the bytes that people take, with labels of about the size of the first ones'.

    >>> people_size(["ann", "bo"])
    404
    """
    return len(people) * (PERSON + max(map(sys.getsizeof, people[:100]), default=0))


def least_text(size: int) -> str:
    """Return a size for people that is not less than it.

    >>> least_text(1_701_000_000), least_text(934_900_000)
    ('1.8GB', '940MB')
    """
    step = 10**8 if size > 10**9 else 10**7
    return size_text(-(-size // step) * step)
