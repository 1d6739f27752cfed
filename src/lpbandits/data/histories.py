"""`Histories`: the outcomes of many people, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.model import PreferenceModel
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label
from lpbandits.validate.values import MAX_LIST_LENGTH

MAX_PEOPLE = 100_000_000


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
        offsets, action = (validate.as_indices(getattr(self, name), name) for name in ("offsets", "action"))
        reward = validate.as_floats(self.reward, "reward", shape=(None,), max_abs=validate.MAX_ABS_VALUE, copy=None)
        people, actions = as_people(self.people), labels_of(self.actions)
        if action.shape != reward.shape or offsets.shape != (len(people) + 1,):
            raise InvalidInput(
                f"{len(people)} people with offsets of shape {offsets.shape}, actions of shape {action.shape} and "
                f"{len(reward)} rewards do not match; use Histories.from_arrays"
            )
        if offsets[0] != 0 or offsets[-1] != len(reward) or np.any(np.diff(offsets) < 0):
            raise InvalidInput(f"offsets must increase from 0 to the number of outcomes, {len(reward)}")
        if len(action) and (action.min() < 0 or action.max() >= len(actions)):
            raise InvalidInput(f"action must hold indices from 0 to {len(actions) - 1}")
        arrays = {"offsets": offsets, "action": action.astype(np.int32, copy=False), "reward": reward}
        for name, value in {**arrays, "people": people, "actions": actions}.items():
            object.__setattr__(self, name, value)

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
        rows = len(rewards)
        names = labels_of(actions)
        who, person_row = _distinct(person, "person", rows)
        which, action_row = _distinct(action, "action", rows)
        all_people = as_people(who if people is None else people)
        owner = _places(who, all_people, person_row, "person", "people")[person_row]
        codes = _places(which, names, action_row, "action", "actions")[action_row]
        order = np.argsort(owner, kind="stable")
        offsets = np.zeros(len(all_people) + 1, dtype=np.int64)
        np.cumsum(np.bincount(owner, minlength=len(all_people)), out=offsets[1:])
        return cls(offsets, codes[order].astype(np.int32), rewards[order], all_people, names)

    @classmethod
    def from_ratings(cls, ratings: Ratings, actions: PreferenceModel | Sequence[Label]) -> "Histories":
        """Return a log of ratings as histories, with ratings as rewards.

        >>> log = Ratings.from_arrays(["ann", "ann"], ["tea", "jam"], [5, 3])
        >>> Histories.from_ratings(log, ["tea", "jam"]).action.tolist()
        [1, 0]
        """
        names = labels_of(actions)
        index = {label: i for i, label in enumerate(names)}
        place = np.array([index.get(label, -1) for label in ratings.actions], dtype=np.int32)
        action = place[ratings.action]
        if len(action) and action.min() < 0:
            odd = ratings.actions[int(ratings.action[np.argmin(action)])]
            raise InvalidInput(
                f"action {validate.short_repr(odd)} ({int((action < 0).sum())} such ratings in all) is not "
                f"among the model's {len(names)} actions; remove such ratings"
            )
        return cls(ratings.offsets, action, ratings.rating, ratings.people, names)

    @property
    def counts(self) -> IntArray:
        """Number of outcomes per person."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.people)

    def __repr__(self) -> str:
        return f"<Histories: {len(self.reward):,} outcomes of {len(self):,} people>"


def as_people(people: Any) -> tuple[Label, ...]:
    """Return distinct labels of people."""
    most = MAX_LIST_LENGTH
    if hasattr(type(people), "__len__"):
        try:
            most = len(people)
        except validate.CONVERSION_ERRORS:
            most = 0
    if most > MAX_PEOPLE:
        raise InvalidInput(f"people has {most:,} entries; the limit is {MAX_PEOPLE:,}: decide in parts")
    given = tuple(validate.as_list(people, "people", "labels", max_length=most + 1))
    return validate.as_labels(given, len(given), "people")


def labels_of(actions: Any) -> tuple[Label, ...]:
    """Return the labels of a model's actions, or the given labels."""
    if isinstance(actions, PreferenceModel):
        return actions.actions
    given = tuple(validate.as_list(actions, "actions", "labels"))
    return validate.as_labels(given, len(given))


def _distinct(labels: Any, name: str, rows: int) -> tuple[list[Label], IntArray]:
    """Return the distinct labels in order of first occurrence, and the index of each row's label."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iuU" and labels.size:
        found, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        rank = np.argsort(first)
        place = np.empty(len(found), dtype=np.int64)
        place[rank] = np.arange(len(found))
        different, codes = found[rank].tolist(), place[inverse]
    else:
        index: dict[Label, int] = {}
        given = validate.as_list(labels, name, "labels", max_length=rows + 1)
        codes = np.array(
            [index.setdefault(validate.as_label(label, f"{name}[{i}]"), len(index)) for i, label in enumerate(given)],
            dtype=np.int64,
        )
        different = list(index)
    if len(codes) != rows:
        raise InvalidInput(f"{name} has {len(codes)} entries for {rows} rewards; give three equally long lists")
    return [validate.as_label(label, name) for label in different], codes


def _places(found: Sequence[Label], known: Sequence[Label], rows: IntArray, what: str, plural: str) -> IntArray:
    """Return where each label that was found stands among those known; one that does not is an error."""
    index = {label: i for i, label in enumerate(known)}
    places = np.array([index.get(label, -1) for label in found], dtype=np.int64)
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        count = int(np.isin(rows, unknown).sum())
        raise InvalidInput(
            f"{what} {validate.short_repr(found[int(unknown[0])])} is not among the {len(known):,} {plural} "
            f"({pluralize(count, 'such row')} in all); correct or remove such rows"
        )
    return places
