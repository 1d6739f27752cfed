"""Batches of people with their outcomes and allowed actions, and the arrays of their decisions."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from lpbandits.data.tables import labels_as_series
from lpbandits.model import PreferenceModel
from lpbandits.typing import FloatArray, Int32Array, IntArray

NO_ACTIONS: IntArray = np.empty(0, dtype=np.int64)
NO_PEOPLE = pl.Series("person", [], dtype=pl.String)


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
    people: pl.Series = NO_PEOPLE
    """Labels; empty where they are not needed."""

    def part(self, people: slice) -> "DecisionBatch":
        """Return a slice of the people."""
        offsets = self.offsets[people.start : people.stop + 1]
        rows = slice(offsets[0], offsets[-1])
        allowed = None if self.allowed is None else self.allowed.part(people)
        return DecisionBatch(
            offsets - offsets[0],
            self.action[rows],
            self.reward[rows],
            self.stream[people],
            allowed,
            self.people[people],
        )

    def pieces(self, size: int) -> "Iterator[DecisionBatch]":
        """Split into pieces of at most `size` people, without labels; an empty batch is one piece."""
        for start in range(0, max(len(self.stream), 1), size):
            yield self.part(slice(start, min(start + size, len(self.stream))))._replace(people=NO_PEOPLE)


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

    def table(self, people: pl.Series, model: PreferenceModel) -> pl.DataFrame:
        """Return one row per person, null where there is no action or number."""
        chosen, second = (pl.Series(index).set(pl.Series(index < 0), None) for index in (self.action, self.runner_up))
        labels = labels_as_series("action", model.actions)
        columns = {
            "person": people,
            "action": labels.gather(chosen),
            "probability": self.numbers[:, 0],
            "runner_up": labels.gather(second),
            **dict(zip(("expected", "low", "high"), self.numbers[:, 1:].T, strict=True)),
        }
        if model.names is not None:
            names = pl.Series("name", model.names, dtype=pl.String)
            columns |= {"action_name": names.gather(chosen), "runner_up_name": names.gather(second)}
        return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))
