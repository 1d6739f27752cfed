"""Validators of a model's parts: orderings, prior, labels, means, utilities and their errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray, IntArray, Label
from lpbandits.validate.arrays import as_array, as_floats
from lpbandits.validate.values import as_label, as_list, short_repr


def as_orderings(orderings: Any) -> IntArray:
    """Return m distinct orderings of k actions as a contiguous m×k array.

    >>> as_orderings([[0, 1, 2], [2, 1, 1]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: action 1 appears twice in ordering 1; each of the 3 actions must appear once
    """
    uneven = "orderings must be of equal length; each must name every action once"
    array = as_array(orderings, "orderings", ragged=uneven)
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(
            f"orderings must have one row per state with every action, most preferred first, got shape {array.shape}"
        )
    if array.dtype.kind == "f":
        wrong = np.argwhere(~np.isfinite(array) | (array != np.rint(array)) | (np.abs(array) > 2**53))
        if len(wrong):
            z, i = (int(x) for x in wrong[0])
            raise InvalidInput(f"orderings[{z}, {i}] must be an action's index, a whole number, got {array[z, i]}")
    elif array.dtype.kind not in "iu":
        held = "text" if array.dtype.kind == "U" else f"{array.dtype} values"
        raise InvalidInput(f"orderings must hold the actions' indices 0 to k-1, got {held}; give labels as actions=[…]")
    rows = np.array(array, dtype=np.int64, order="C", subok=False)
    _check_permutations(rows)
    _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    twin = first[inverse.ravel()]
    repeated = np.flatnonzero(twin != np.arange(len(rows)))
    if len(repeated):
        state = int(repeated[0])
        raise InvalidInput(f"orderings {int(twin[state])} and {state} are equal; orderings must differ: remove one")
    return rows


def _check_permutations(rows: IntArray) -> None:
    actions = rows.shape[1]
    wrong = np.flatnonzero((np.sort(rows, axis=1) != np.arange(actions)).any(axis=1))
    if not len(wrong):
        return
    state = int(wrong[0])
    row = rows[state]
    outside = row[(row < 0) | (row >= actions)]
    if len(outside):
        raise InvalidInput(f"ordering {state} must hold the {actions} actions 0 to {actions - 1}, got {outside[0]}")
    twice = int(np.flatnonzero(np.bincount(row, minlength=actions) > 1)[0])
    raise InvalidInput(
        f"action {twice} appears twice in ordering {state}; each of the {actions} actions must appear once"
    )


def as_prior(prior: Any, states: int) -> FloatArray:
    """Return a probability vector over the states; uniform for None."""
    if prior is None:
        return np.full(states, 1.0 / states)
    vector = as_floats(prior, "prior", shape=(states,))
    low = np.flatnonzero(vector < 0)
    if len(low):
        raise InvalidInput(f"prior[{low[0]}] must be a probability, got {vector[low[0]]:g}")
    with np.errstate(over="ignore"):
        total = float(vector.sum())
    if abs(total - 1.0) > 1e-6:
        raise InvalidInput(f"prior must sum to 1 over the {states} states, got {total:.6g}")
    # a prior that sums to 1 but for rounding is kept as it is, so that a saved model loads as itself
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
    index: dict[Label, int] = {}
    for i, label in enumerate(as_list(labels, name, "labels", max_length=count + 1)):
        plain = as_label(label, f"{name}[{i}]")
        if plain in index:
            raise InvalidInput(
                f"label {short_repr(plain)} is given to {name} {index[plain]} and {i}; labels must differ"
            )
        index[plain] = i
    if len(index) != count:
        got = "more" if len(index) > count else len(index)
        raise InvalidInput(f"{name} must have {count} labels, one for each, got {got}")
    return tuple(index)


def check_ordered(means: FloatArray, orderings: IntArray) -> None:
    """Refuse means that increase along their state's ordering."""
    along = np.take_along_axis(means, orderings, axis=1)
    rises = np.argwhere(np.diff(along, axis=1) > 0)
    if len(rises):
        z, i = (int(x) for x in rises[0])
        a, b = int(orderings[z, i]), int(orderings[z, i + 1])
        raise InvalidInput(
            f"means[{z}] must not increase along ordering {z}, got {means[z, a]:g} for action {a} and then "
            f"{means[z, b]:g} for action {b}"
        )


def check_errors(errors: FloatArray, utilities: FloatArray | None) -> None:
    """Refuse negative errors, and errors without utilities."""
    if utilities is None:
        raise InvalidInput("errors are the standard errors of the utilities; give utilities as well")
    if errors.min(initial=0.0) < 0:
        z, a = (int(i) for i in np.argwhere(errors < 0)[0])
        raise InvalidInput(f"errors[{z}, {a}] must be a standard deviation, 0 or more, got {errors[z, a]:g}")


def check_unit(utilities: FloatArray) -> None:
    """Refuse utilities outside [0, 1]."""
    outside = np.argwhere((utilities < 0) | (utilities > 1))
    if len(outside):
        z, a = (int(i) for i in outside[0])
        raise InvalidInput(f"utilities[{z}, {a}] must lie in [0, 1], got {utilities[z, a]:g}")
