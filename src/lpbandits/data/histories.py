"""`Histories`: the outcomes of many people, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.data.ratings import Ratings, offsets_of, positions, set_columns
from lpbandits.errors import translate_errors
from lpbandits.model import PreferenceModel
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label


@dataclass(frozen=True, eq=False)
class Histories:
    """The outcomes of many people, in order of time for each person.

    An action may occur repeatedly, and a person may have no outcomes.

    Parameters
    ----------
    offsets
        Person n has the outcomes offsets[n] to offsets[n + 1] − 1.
    action
        Index of the action of each outcome.
    reward
        Finite rewards.
    people
        Distinct labels of the people, text or whole numbers.
    actions
        Labels of all actions of the model.

    Examples
    --------
    >>> past = Histories.from_arrays(["ann", "bo", "ann"], ["tea", "tea", "tea"], [4, 1, 5], ["tea", "jam"])
    >>> past.people, past.counts.tolist(), past.reward.tolist()
    (('ann', 'bo'), [2, 1], [4.0, 5.0, 1.0])
    """

    offsets: IntArray
    action: Int32Array
    reward: FloatArray
    people: tuple[Label, ...]
    actions: tuple[Label, ...]

    def __post_init__(self) -> None:
        set_columns(self, "reward", validate.as_labels(self.people, name="people"), labels_of(self.actions))

    @classmethod
    @translate_errors("sorting histories")
    def from_arrays(
        cls,
        person: Any,
        action: Any,
        reward: Any,
        actions: PreferenceModel | Sequence[Label],
        *,
        people: Sequence[Label] | None = None,
    ) -> "Histories":
        """Return the histories of three lists of equal length, one outcome per entry, in order of time.

        `actions` is the model, or the labels of its actions. `people` lists all people, including those without
        outcomes; by default the people that occur, in order of first occurrence.

        >>> Histories.from_arrays([], [], [], ["tea", "jam"], people=["ann"]).counts.tolist()
        [0]
        """
        rewards = validate.as_floats(reward, "reward", shape=(None,), max_abs=validate.MAX_ABS_VALUE)
        names = labels_of(actions)
        occurring, n = validate.encode_labels(person, "person", len(rewards))
        labels, a = validate.encode_labels(action, "action", len(rewards))
        if people is None:
            first = np.sort(np.unique(n, return_index=True)[1])
            all_people = tuple(occurring[i] for i in n[first].tolist())
        else:
            all_people = validate.as_labels(people, name="people")
        owner = positions(occurring, all_people, np.bincount(n), "person")[n]
        codes = positions(labels, names, np.bincount(a), "action")[a]
        order = np.argsort(owner, kind="stable")
        offsets = offsets_of(np.bincount(owner, minlength=len(all_people)))
        return cls(offsets, codes[order].astype(np.int32), rewards[order], all_people, names)

    @classmethod
    def from_ratings(cls, ratings: Ratings, actions: PreferenceModel | Sequence[Label]) -> "Histories":
        """Return a log of ratings as histories, with ratings as rewards.

        >>> log = Ratings.from_arrays(["ann", "ann"], ["tea", "jam"], [5, 3])
        >>> Histories.from_ratings(log, ["tea", "jam"]).action.tolist()
        [1, 0]
        """
        names = labels_of(actions)
        counts = np.bincount(ratings.action, minlength=len(ratings.actions))
        rated = np.flatnonzero(counts)
        place = np.zeros(len(counts), dtype=np.int32)
        place[rated] = positions([ratings.actions[a] for a in rated.tolist()], names, counts[rated], "action")
        return cls(ratings.offsets, place[ratings.action], ratings.rating, tuple(ratings.people), names)

    @property
    def counts(self) -> IntArray:
        """Number of outcomes per person."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        return f"<Histories: {pluralize(len(self.reward), 'outcome')} of {pluralize(len(self), 'person', 'people')}>"


def labels_of(actions: Any) -> tuple[Label, ...]:
    """Return the labels of a model's actions, or the given labels."""
    return actions.actions if isinstance(actions, PreferenceModel) else validate.as_labels(actions)
