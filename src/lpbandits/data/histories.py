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
        Rewards; NaN while the outcome is pending: the action was given, but is not evidence yet. If low numbers are
        good for the model, so are they here.
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
        people = validate.as_labels(self.people, name="people")
        set_columns(self, "reward", people, labels_of(self.actions), allow_nan=True)

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
        outcomes; by default the people that occur, in order of first occurrence. A reward of None or NaN is pending.

        >>> Histories.from_arrays([], [], [], ["tea", "jam"], people=["ann"]).counts.tolist()
        [0]
        """
        rewards = validate.as_floats(reward, "reward", shape=(None,), max_abs=validate.MAX_ABS_VALUE, allow_nan=True)
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
        """Return a log of ratings as histories, with the numbers of its source as rewards.

        >>> log = Ratings.from_arrays(["ann", "ann"], ["tea", "jam"], [5, 3])
        >>> Histories.from_ratings(log, ["tea", "jam"]).action.tolist()
        [1, 0]
        """
        names = labels_of(actions)
        counts = np.bincount(ratings.action, minlength=len(ratings.actions))
        rated = np.flatnonzero(counts)
        place = np.zeros(len(counts), dtype=np.int32)
        place[rated] = positions([ratings.actions[a] for a in rated.tolist()], names, counts[rated], "action")
        rewards = 0.0 - ratings.rating if ratings.lower_is_better else ratings.rating
        return cls(ratings.offsets, place[ratings.action], rewards, tuple(ratings.people), names)

    @property
    def counts(self) -> IntArray:
        """Number of outcomes per person."""
        return np.diff(self.offsets)

    @property
    def pending(self) -> int:
        """Number of outcomes that are pending."""
        return int(np.isnan(self.reward).sum())

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        sizes = f"{pluralize(len(self.reward), 'outcome')} of {pluralize(len(self), 'person', 'people')}"
        return f"<Histories: {sizes}{f', {self.pending:,} of them pending' if self.pending else ''}>"


def labels_of(actions: Any) -> tuple[Label, ...]:
    """Return the labels of a model's actions, or the given labels."""
    return actions.actions if isinstance(actions, PreferenceModel) else validate.as_labels(actions)
