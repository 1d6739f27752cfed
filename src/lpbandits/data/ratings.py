"""`Ratings`: a log of ratings in memory, as arrays."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Label

MAX_RATINGS = 2**31 - 1
"""Maximum number of ratings of a log in memory: positions have 32 bits."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """A log of ratings, at most one per person and action.

    Parameters
    ----------
    offsets
        Person n has the ratings offsets[n] to offsets[n + 1] − 1.
    action
        Index of the rated action, increasing within a person.
    rating
        Finite ratings; higher is better. Comparisons depend only on their order within a person; clusters, means, noise
        and the taste model also use the values.
    people, actions
        Distinct labels; sorted if they were read from a table.
    dropped
        Number of rows, people and actions that were not kept, by reason.
    layout
        Layout of the source: `long`, `wide`, or `rankings`, whose ratings stand for ranks.
    lower_is_better
        Whether the ratings are the negatives of the source's numbers, of which low ones are good.
    ranks
        Whether the ratings stand for ranks, those of rankings or of a column of ranks.
    person_column
        Name of the column of the people in a wide table or rankings; None for other sources.

    Examples
    --------
    >>> Ratings.from_arrays(["ann", "ann", "bo"], ["tea", "jam", "tea"], [5, 3, 4]).counts.tolist()
    [2, 1]
    """

    offsets: IntArray
    action: Int32Array
    rating: FloatArray
    people: tuple[Label, ...]
    actions: tuple[Label, ...]
    dropped: Mapping[str, int] = field(default_factory=dict)
    layout: str = "long"
    lower_is_better: bool = False
    ranks: bool = False
    person_column: str | None = None

    def __post_init__(self) -> None:
        people, actions = (validate.as_labels(getattr(self, name), name=name) for name in ("people", "actions"))
        set_columns(self, "rating", people, actions)
        offsets = self.offsets[1:-1]
        rises = self.action[1:] > self.action[:-1]
        rises[(offsets - 1)[(offsets > 0) & (offsets < len(self))]] = True
        if not rises.all():
            raise InvalidInput(f"action must increase within a person, from 0 to {len(actions) - 1} at most")
        validate.as_choice(self.layout, "layout", ("long", "wide", "rankings"))
        validate.as_flag(self.lower_is_better, "lower_is_better")
        validate.as_flag(self.ranks, "ranks")

    @classmethod
    def from_arrays(
        cls,
        person: Any,
        action: Any,
        rating: Any,
        *,
        actions: Sequence[Label] | None = None,
        lower_is_better: bool = False,
    ) -> "Ratings":
        """Return the log of three arrays of equal length, one rating per entry.

        `actions` lists all actions, including unrated ones; by default the actions that occur. `lower_is_better`
        negates the ratings, as in `read_ratings`.

        >>> log = Ratings.from_arrays(["ann", "ann", "bob"], ["tea", "jam", "tea"], [5, 3, 4])
        >>> log.people, log.actions, log.offsets.tolist(), log.rating.tolist()
        (('ann', 'bob'), ('jam', 'tea'), [0, 2, 3], [3.0, 5.0, 4.0])
        """
        values = validate.as_floats(rating, "rating", shape=(None,), max_abs=validate.MAX_ABS_VALUE)
        people, n = validate.encode_labels(person, "person", len(values))
        labels, a = validate.encode_labels(action, "action", len(values))
        names = tuple(labels) if actions is None else validate.as_labels(actions)
        if actions is not None:
            a = positions(labels, names, np.bincount(a), "action")[a]
        if validate.as_flag(lower_is_better, "lower_is_better"):
            values = 0.0 - values
        return cls.from_codes(n, a, values, people=tuple(people), actions=names, lower_is_better=lower_is_better)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        *,
        people: Sequence[Label] | None = None,
        actions: Sequence[Label] | None = None,
        lower_is_better: bool = False,
    ) -> "Ratings":
        """Return the log of a people × actions matrix with NaN for missing ratings.

        People and actions keep their order, including those without ratings. By default their labels are 0, 1, …
        `lower_is_better` negates the ratings.

        >>> log = Ratings.from_matrix([[5, np.nan, 3], [np.nan, 4, 1]], actions=["tea", "jam", "milk"])
        >>> log.counts.tolist(), log.rating.tolist()
        ([2, 2], [5.0, 3.0, 4.0, 1.0])
        """
        values = validate.as_floats(
            matrix, "matrix", shape=(None, None), max_abs=validate.MAX_ABS_VALUE, allow_nan=True
        )
        if validate.as_flag(lower_is_better, "lower_is_better"):
            values = 0.0 - values
        n, a = np.nonzero(~np.isnan(values))
        return cls.from_codes(
            n,
            a,
            values[n, a],
            people=validate.as_labels(people, values.shape[0], "people"),
            actions=validate.as_labels(actions, values.shape[1], "actions"),
            layout="wide",
            lower_is_better=lower_is_better,
        )

    @classmethod
    def from_codes(
        cls,
        person: IntArray,
        action: IntArray,
        rating: FloatArray,
        *,
        people: tuple[Label, ...],
        actions: tuple[Label, ...],
        layout: str = "long",
        lower_is_better: bool = False,
    ) -> "Ratings":
        """Return the log of valid indices into `people` and `actions`; raise if a pair is repeated."""
        if not len(rating):
            raise InvalidInput("there are no ratings; give at least one")
        check_count(len(rating))
        rows = sparse.coo_array((rating, (person, action)), shape=(len(people), len(actions))).tocsr()
        if rows.nnz < len(rating):
            key = np.sort(person * len(actions) + action)
            repeats = key[1:][key[1:] == key[:-1]]
            n, a = divmod(int(repeats[0]), len(actions))
            raise InvalidInput(
                f"person {validate.short_repr(people[n])} rated action {validate.short_repr(actions[a])} repeatedly "
                f"({pluralize(len(repeats), 'such row')} in all); keep one rating per person and action, for instance "
                "the latest"
            )
        offsets, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int32)
        values = np.ascontiguousarray(rows.data, dtype=np.float64)
        return cls(offsets, columns, values, people, actions, layout=layout, lower_is_better=lower_is_better)

    def __len__(self) -> int:
        return len(self.rating)

    def __repr__(self) -> str:
        return f"<Ratings: {sizes_of(self)}>"

    @cached_property
    def counts(self) -> IntArray:
        """Number of ratings per person."""
        return np.diff(self.offsets)

    @cached_property
    def means(self) -> FloatArray:
        """Mean rating per person, 0 for a person without ratings."""
        sums = np.bincount(self.owner, weights=self.rating, minlength=len(self.people))
        return sums / np.maximum(self.counts, 1)

    @property
    def owner(self) -> IntArray:
        """The person of each rating."""
        return np.repeat(np.arange(len(self.people)), self.counts)

    def matrix(self, values: FloatArray | None = None) -> sparse.csr_array:
        """Return a sparse people × actions matrix of the ratings, or of `values`, one per rating in the same order."""
        data = self.rating if values is None else values
        return sparse.csr_array(
            (data, self.action, self.offsets.astype(np.int32)), shape=(len(self.people), len(self.actions)), copy=True
        )

    def subset(self, people: IntArray) -> "Ratings":
        """Return the log of the people with these indices, with all actions."""
        lengths = self.counts[people]
        offsets = offsets_of(lengths)
        take = np.repeat(self.offsets[people] - offsets[:-1], lengths) + np.arange(offsets[-1])
        labels = tuple(self.people[n] for n in people.tolist())
        arrays = offsets, self.action[take], self.rating[take]
        known = {name: getattr(self, name) for name in ("lower_is_better", "ranks", "person_column")}
        return Ratings.trusted(*arrays, labels, self.actions, self.layout, **known)

    def run(self, low: int, high: int) -> "Ratings":
        """Return the log of the people low to high − 1, with all actions, without copying.

        >>> Ratings.from_arrays([0, 0, 1, 2], [0, 1, 1, 0], [5, 3, 4, 2]).run(1, 3).rating.tolist()
        [4.0, 2.0]
        """
        offsets = self.offsets[low : high + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        return Ratings.trusted(
            offsets - offsets[0], self.action[rows], self.rating[rows], self.people[low:high], self.actions
        )

    @classmethod
    def trusted(
        cls,
        offsets: IntArray,
        action: Int32Array,
        rating: FloatArray,
        people: Sequence[Label],
        actions: tuple[Label, ...],
        layout: str = "long",
        dropped: Mapping[str, int] | None = None,
        lower_is_better: bool = False,
        ranks: bool = False,
        person_column: str | None = None,
    ) -> "Ratings":
        """Build a log from arrays that are known to be valid, without checking them."""
        log = object.__new__(cls)
        arrays = {"offsets": offsets, "action": action, "rating": rating, "people": people, "actions": actions}
        settings = {"dropped": dropped or {}, "layout": layout, "lower_is_better": lower_is_better}
        settings |= {"ranks": ranks, "person_column": person_column}
        log.__dict__.update(arrays, **settings)
        return log

    @cached_property
    def sha256(self) -> str:
        """Hash of the content, which does not depend on the order of the rows in the source."""
        return hash_of(self.people, self.actions, (self.offsets, self.action, self.rating))


def offsets_of(counts: IntArray) -> IntArray:
    """Return the first rating of each person, and the number of ratings.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def hash_of(people: Sequence[Label], actions: Sequence[Label], arrays: Iterable[Any]) -> str:
    """Return the SHA-256 of labels, offsets, actions and ratings; `arrays` may be in any number of pieces."""
    digest = hashlib.sha256(json.dumps([people, actions], ensure_ascii=False).encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()


def check_count(n_ratings: int) -> None:
    """Raise if a log in memory has more ratings than 32-bit positions can address."""
    if n_ratings > MAX_RATINGS:
        raise InvalidInput(
            f"there are {n_ratings:,} ratings; the limit is {MAX_RATINGS:,}: keep a sample of the people"
        )


def set_columns(
    log: Any, name: str, people: tuple[Label, ...], actions: tuple[Label, ...], *, allow_nan: bool = False
) -> None:
    """Validate and set the fields that `Ratings` and `Histories` share; `name` is the field of the values."""
    offsets, action = (validate.as_indices(getattr(log, field), field) for field in ("offsets", "action"))
    limit = validate.MAX_ABS_VALUE
    values = validate.as_floats(getattr(log, name), name, shape=(None,), max_abs=limit, allow_nan=allow_nan, copy=None)
    values = np.require(values, requirements="W")  # kernels would be compiled again for a read-only array
    if action.shape != values.shape or offsets.shape != (len(people) + 1,):
        raise InvalidInput(
            f"offsets must have shape ({len(people) + 1},) for {len(people)} people, got {offsets.shape}, and action "
            f"({len(values)},) for {len(values)} {name}s, got {action.shape}; use {type(log).__name__}.from_arrays"
        )
    if offsets[0] != 0 or offsets[-1] != len(values) or np.any(np.diff(offsets) < 0):
        raise InvalidInput(f"offsets must increase from 0 to the number of {name}s, {len(values)}")
    if len(action) and (action.min() < 0 or action.max() >= len(actions)):
        raise InvalidInput(f"action must hold indices from 0 to {len(actions) - 1}")
    arrays = {"offsets": offsets, "action": action.astype(np.int32, copy=False), name: values}
    for field_name, value in {**arrays, "people": people, "actions": actions}.items():
        object.__setattr__(log, field_name, value)


def positions(labels: Sequence[Label], known: Sequence[Label], counts: IntArray, name: str) -> IntArray:
    """Return the index of each label among the known ones; an unknown label, with its number of rows, raises."""
    index = {label: i for i, label in enumerate(known)}
    places = np.array([index.get(label, -1) for label in labels], dtype=np.int64)
    unknown = np.flatnonzero(places < 0)
    if len(unknown):
        label, plural = labels[int(unknown[0])], "people" if name == "person" else "actions"
        raise InvalidInput(
            f"{name} {validate.short_repr(label)} is not among the {len(known):,} {plural} "
            f"({pluralize(int(counts[unknown].sum()), 'such row')} in all); correct or remove such rows"
            + validate.did_you_mean(label, known)
        )
    return places


def as_ratings(value: Any) -> Ratings:
    """Return `value` if it is a `Ratings`."""
    if not isinstance(value, Ratings):
        raise InvalidInput(
            f"ratings must be Ratings, got {validate.short_repr(value)}; use read_ratings(…), Ratings.from_arrays(…) "
            "or, for a fit, `with spill_ratings(…) as log`"
        )
    return value


def check_direction(ratings: Any, model: PreferenceModel) -> None:
    """Raise if low ratings are good in the log or in the model, but not in both."""
    if ratings.lower_is_better != model.lower_is_better:
        raise InvalidInput(
            f"lower_is_better must be {model.lower_is_better} for the log, as it is for the model, got "
            f"{ratings.lower_is_better}; read the log with lower_is_better={model.lower_is_better}"
        )


def sizes_of(log: Any) -> str:
    """Return the numbers of ratings, people and actions of a log."""
    people, actions = pluralize(len(log.people), "person", "people"), pluralize(len(log.actions), "action")
    return f"{len(log):,} by {people} of {actions}"
