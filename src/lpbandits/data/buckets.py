"""A bucket of people: its rows without repeats, sorted, and what was found on the way."""

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lpbandits.data.duplicates import one_each
from lpbandits.data.kernels import order_by
from lpbandits.data.rankings import by_place
from lpbandits.data.reader import Reading
from lpbandits.typing import FloatArray, Int32Array

ROW = [("row", "i8"), ("person", "i4"), ("action", "i4"), ("rating", "f8")]


class Tally:
    """What is found on the way: ratings of actions, people and ratings left out, and rows that repeat others."""

    def __init__(self, actions: int, people: int) -> None:
        self.of_actions = np.zeros(actions, dtype=np.int64)
        self.left = np.zeros(people, dtype=np.bool_)
        self.ratings, self.repeated = 0, 0
        self.again: list[NDArray[Any]] = []
        self.dropped: dict[str, int] = dict.fromkeys(
            [
                "people_below_min_person",
                "ratings_of_people_below_min_person",
                "actions_below_min_action",
                "ratings_of_actions_below_min_action",
                "people_left_without_ratings",
            ],
            0,
        )

    def filtered(self, reading: Reading) -> NDArray[np.bool_]:
        """Return which actions have enough ratings, and count the others."""
        few = (self.of_actions > 0) & (self.of_actions < reading.min_action)
        self.dropped["actions_below_min_action"] = int(few.sum())
        self.dropped["ratings_of_actions_below_min_action"] = int(self.of_actions[few].sum())
        return (self.of_actions > 0) & ~few


def sorted_rows(
    rows: NDArray[Any], reading: Reading, ranks: bool, actions: int, tally: Tally
) -> tuple[Int32Array, Int32Array, FloatArray]:
    """Return a bucket's ratings by person and action, of people who have enough of them."""
    rows = _changed(rows, reading, ranks, actions, tally)
    person, action = (np.ascontiguousarray(rows[name]) for name in ("person", "action"))
    first = int(person.min(initial=2**31 - 1))
    order = order_by(action, np.arange(len(rows)), actions)
    order = order_by(person - first, order, int(person.max(initial=0)) - first + 1)
    person, action, rating = person[order], action[order], rows["rating"][order]
    again = (person[1:] == person[:-1]) & (action[1:] == action[:-1])
    if again.any():
        tally.again.append(rows[order[np.append(again, False) | np.append(False, again)]])
    tally.ratings += len(rows)
    counts = np.bincount(person - first)
    few = (counts > 0) & (counts < reading.min_person)
    if few.any():
        tally.dropped["people_below_min_person"] += int(few.sum())
        tally.dropped["ratings_of_people_below_min_person"] += int(counts[few].sum())
        enough = ~few[person - first]
        person, action, rating = person[enough], action[enough], rating[enough]
    tally.of_actions += np.bincount(action, minlength=actions)
    return person, action, rating


def _changed(rows: NDArray[Any], reading: Reading, ranks: bool, actions: int, tally: Tally) -> NDArray[Any]:
    """Return a bucket's rows without repeats, and with ratings for ranks."""
    if reading.duplicates == "error" and not ranks:
        return rows
    frame = pl.DataFrame({name: np.ascontiguousarray(rows[name]) for name, _ in ROW})
    if reading.duplicates != "error":
        frame, gone = one_each(frame, reading.duplicates)
        tally.repeated += gone
    if ranks:
        frame = by_place(frame, actions)
    changed = np.empty(len(frame), dtype=ROW)
    for name, _ in ROW:
        changed[name] = frame[name].to_numpy()
    return changed
