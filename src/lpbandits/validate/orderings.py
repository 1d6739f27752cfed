"""The parts of a model from outside: its orderings, its prior and its labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray, IntArray, Label
from lpbandits.validate.arrays import as_array, as_floats
from lpbandits.validate.values import as_label, as_list, short_repr


def as_orderings(orderings: Any) -> IntArray:
    """Return m orderings of k actions as a contiguous m×k array: each row names each action once, no row twice.

    >>> as_orderings([[0, 1, 2], [2, 1, 1]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: action 1 appears twice in ordering 1; each of the 3 actions must appear once
    """
    uneven = "the orderings are not all equally long; each must name every action once"
    array = as_array(orderings, "orderings", ragged=uneven)
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(
            f"orderings have shape {array.shape}; give one row per state, each with every action, most preferred first"
        )
    if array.dtype.kind == "f":
        odd = np.argwhere(~np.isfinite(array) | (array != np.rint(array)) | (np.abs(array) > 2**53))
        if len(odd):
            z, i = (int(x) for x in odd[0])
            raise InvalidInput(
                f"ordering {z} has {array[z, i]} at orderings[{z}, {i}]; actions are whole numbers from 0"
            )
    elif array.dtype.kind not in "iu":
        held = "words" if array.dtype.kind == "U" else f"{array.dtype} values"
        raise InvalidInput(
            f"orderings hold {held}; give the actions' numbers 0 to k-1, and their labels as actions=[…]"
        )
    rows = np.array(array, dtype=np.int64, order="C", subok=False)
    _check_permutations(rows)
    _check_distinct(rows)
    return rows


def _check_permutations(rows: IntArray) -> None:
    actions = rows.shape[1]
    every = np.arange(actions)
    wrong = np.flatnonzero((np.sort(rows, axis=1) != every).any(axis=1))
    if not len(wrong):
        return
    state = int(wrong[0])
    row = rows[state]
    outside = row[(row < 0) | (row >= actions)]
    if len(outside):
        raise InvalidInput(f"ordering {state} names action {outside[0]}; the {actions} actions are 0 to {actions - 1}")
    counts = np.bincount(row, minlength=actions)
    twice = int(np.flatnonzero(counts > 1)[0])
    raise InvalidInput(
        f"action {twice} appears twice in ordering {state}; each of the {actions} actions must appear once"
    )


def _check_distinct(rows: IntArray) -> None:
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    twin = first[inverse.ravel()]
    repeated = np.flatnonzero(twin != np.arange(len(rows)))
    if len(repeated):
        state = int(repeated[0])
        raise InvalidInput(
            f"orderings {int(twin[state])} and {state} are equal; every state needs its own: remove one of them"
        )


def as_prior(prior: Any, states: int) -> FloatArray:
    """Return a probability vector over the states (uniform for None)."""
    if prior is None:
        return np.full(states, 1.0 / states)
    vector = as_floats(prior, "prior", shape=(states,))
    low = np.flatnonzero(vector < 0)
    if len(low):
        raise InvalidInput(f"prior[{low[0]}] is {vector[low[0]]:g}; a probability cannot be negative")
    with np.errstate(over="ignore"):
        total = float(vector.sum())
    if abs(total - 1.0) > 1e-6:
        raise InvalidInput(f"prior sums to {total:.6g}; the probabilities of the {states} states must sum to 1")
    # a prior that sums to one but for rounding stays as it is, so that a saved model loads as itself
    return vector if abs(total - 1.0) <= 1e-12 else vector / total


def as_labels(labels: Sequence[Label] | None, count: int, name: str = "actions") -> tuple[Label, ...]:
    """Return one distinct label (str or int) per action; by default the index.

    >>> as_labels(["a", "b", "a"], 3)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: label 'a' is given to actions 0 and 2; labels must differ
    """
    if labels is None:
        return tuple(range(count))
    out: list[Label] = []
    seen: dict[Label, int] = {}
    for i, label in enumerate(as_list(labels, name, "labels, one per action", max_length=count + 1)):
        if i == count:
            raise InvalidInput(f"{name} has more labels than the {count} actions; give one label per action")
        plain = as_label(label, f"{name}[{i}]")
        if plain in seen:
            raise InvalidInput(
                f"label {short_repr(plain)} is given to {name} {seen[plain]} and {i}; labels must differ"
            )
        seen[plain] = i
        out.append(plain)
    if len(out) != count:
        raise InvalidInput(f"{name} has {len(out)} labels for {count} actions; give one label per action")
    return tuple(out)


def check_ordered(means: FloatArray, orderings: IntArray) -> None:
    """Refuse means that rise along their state's ordering."""
    along = np.take_along_axis(means, orderings, axis=1)
    rises = np.argwhere(np.diff(along, axis=1) > 0)
    if len(rises):
        z, i = (int(x) for x in rises[0])
        a, b = int(orderings[z, i]), int(orderings[z, i + 1])
        raise InvalidInput(
            f"means[{z}] contradict ordering {z}: action {a} comes before action {b} but has mean {means[z, a]:g} "
            f"< {means[z, b]:g}"
        )


def check_errors(errors: FloatArray, utilities: FloatArray | None) -> None:
    """Refuse errors without utilities, and negative ones."""
    if utilities is None:
        raise InvalidInput("errors were given without utilities; they are the utilities' errors: give both")
    if errors.min(initial=0.0) < 0:
        z, a = (int(i) for i in np.argwhere(errors < 0)[0])
        raise InvalidInput(f"errors[{z}, {a}] is {errors[z, a]:g}; a standard deviation cannot be negative")


def check_unit(utilities: FloatArray) -> None:
    """Refuse utilities that do not lie in [0, 1]."""
    outside = np.argwhere((utilities < 0) | (utilities > 1))
    if len(outside):
        z, a = (int(i) for i in outside[0])
        raise InvalidInput(f"utilities[{z}, {a}] is {utilities[z, a]:g}; utilities lie in [0, 1]")
