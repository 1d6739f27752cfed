"""People to decide for, with their outcomes and allowed actions, and the decisions as arrays."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpbandits.typing import BoolArray, FloatArray, Int32Array, IntArray

if TYPE_CHECKING:
    import polars as pl

NO_ACTIONS: IntArray = np.empty(0, dtype=np.int64)


class AllowedSets(NamedTuple):
    """Allowed actions per person: those of person p are actions[starts[p]:starts[p + 1]], ascending."""

    starts: IntArray
    actions: IntArray

    @classmethod
    def of(cls, sets: Sequence[IntArray]) -> "AllowedSets":
        """Build from one ascending array per person."""
        return cls(np.cumsum([0, *map(len, sets)]), np.concatenate([NO_ACTIONS, *sets]))

    def part(self, people: slice) -> "AllowedSets":
        """Return the sets of a slice of people."""
        starts = self.starts[people.start : people.stop + 1]
        return AllowedSets(starts - starts[0], self.actions[starts[0] : starts[-1]])


class DecisionBatch(NamedTuple):
    """People to decide for: the outcomes of person p are at offsets[p] up to offsets[p + 1]."""

    offsets: IntArray
    action: Int32Array
    """Index of the action of each outcome."""
    reward: FloatArray
    stream: IntArray
    """Random stream of each person."""
    allowed: AllowedSets | None = None
    """Personal sets of allowed actions."""
    people: "pl.Series | None" = None
    """Labels; None where they are not needed."""
    row_order: IntArray | None = None
    """Row of each person's first outcome in the file; None if batches come in that order."""

    def pieces(self, size: int) -> "Iterator[DecisionBatch]":
        """Split into pieces of at most `size` people, without labels; an empty batch is one piece."""
        for start in range(0, max(len(self.stream), 1), size):
            people = slice(start, min(start + size, len(self.stream)))
            offsets = self.offsets[people.start : people.stop + 1]
            rows = slice(offsets[0], offsets[-1])
            allowed = None if self.allowed is None else self.allowed.part(people)
            yield DecisionBatch(
                offsets - offsets[0], self.action[rows], self.reward[rows], self.stream[people], allowed
            )

    def select_people(self, mask: BoolArray) -> "DecisionBatch":
        """Return the people of a mask with their outcomes."""
        counts = np.diff(self.offsets)
        rows = np.repeat(mask, counts)
        return DecisionBatch(
            np.concatenate([[0], np.cumsum(counts[mask])]),
            self.action[rows],
            self.reward[rows],
            self.stream[mask],
            people=None if self.people is None else self.people.filter(mask),
            row_order=None if self.row_order is None else self.row_order[mask],
        )

    def select_outcomes(self, mask: BoolArray) -> "DecisionBatch":
        """Return all people with the outcomes of a mask."""
        before = np.concatenate([[0], np.cumsum(mask)])
        return self._replace(offsets=before[self.offsets], action=self.action[mask], reward=self.reward[mask])


class DecisionArrays(NamedTuple):
    """Decisions for a batch: -1 is no action, NaN no number."""

    action: Int32Array
    runner_up: Int32Array
    numbers: FloatArray
    """People × probability, expected reward, low and high."""
    repeated: int = 0
    """Number of people who get an action that is in their history."""

    @classmethod
    def empty(cls, people: int = 0) -> "DecisionArrays":
        """Allocate arrays for a number of people."""
        return cls(np.empty(people, dtype=np.int32), np.empty(people, dtype=np.int32), np.empty((people, 4)))

    @classmethod
    def concatenate(cls, parts: "Sequence[DecisionArrays]") -> "DecisionArrays":
        """Join the decisions of several pieces."""
        actions, runners_up, numbers, repeated = zip(*parts, strict=True)
        return cls(np.concatenate(actions), np.concatenate(runners_up), np.concatenate(numbers), sum(repeated))
