"""Validators of a model's orderings, and of the prior and the means of its states."""

from typing import Any

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.typing import FloatArray, IntArray
from lpbandits.validate import as_array, as_floats, as_indices, check_entries


def as_orderings(orderings: Any) -> IntArray:
    """Return m distinct orderings of k actions as a new m×k array."""
    array = as_array(orderings, "orderings")
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(
            f"orderings must have one row per state with every action, most preferred first, got shape {array.shape}"
        )
    if array.dtype.kind not in "iuf":
        held = "text" if array.dtype.kind == "U" else f"{array.dtype} values"
        raise InvalidInput(f"orderings must hold the actions' indices 0 to k-1, got {held}; give labels as actions=[…]")
    rows = np.array(as_indices(array, "orderings"))
    k = rows.shape[1]
    for state in np.flatnonzero((np.sort(rows, axis=1) != np.arange(k)).any(axis=1)).tolist():
        if len(outside := np.setdiff1d(rows[state], np.arange(k))):
            raise InvalidInput(f"ordering {state} must hold the {k} actions 0 to {k - 1}, got {outside[0]}")
        raise InvalidInput(
            f"action {np.bincount(rows[state]).argmax()} appears twice in ordering {state}; each of the {k} actions "
            "must appear once"
        )
    first_with: dict[bytes, int] = {}
    for state, row in enumerate(rows):
        if (twin := first_with.setdefault(row.tobytes(), state)) != state:
            raise InvalidInput(f"orderings {twin} and {state} are equal; orderings must differ: remove one")
    return rows


def as_prior(prior: Any, states: int) -> FloatArray:
    """Return a probability vector over the states; uniform for None."""
    if prior is None:
        return np.full(states, 1.0 / states)
    vector = as_floats(prior, "prior", shape=(states,), max_abs=1e6)
    check_entries(vector, "prior", vector < 0, "be a probability")
    total = float(vector.sum())
    if abs(total - 1.0) > 1e-6:
        raise InvalidInput(f"prior must sum to 1 over the {states} states, got {total:.6g}")
    # a prior that sums to 1 but for rounding is kept as it is, so that saving and loading does not change it
    return vector if abs(total - 1.0) <= 1e-12 else vector / total


def check_ordered(means: FloatArray, orderings: IntArray) -> None:
    """Raise if means increase along their state's ordering."""
    rises = np.argwhere(np.diff(np.take_along_axis(means, orderings, axis=1), axis=1) > 0)
    if len(rises):
        z, i = (int(x) for x in rises[0])
        a, b = (int(action) for action in orderings[z, i : i + 2])
        raise InvalidInput(
            f"means[{z}] must not increase along ordering {z}, got {means[z, a]:g} for action {a} and then "
            f"{means[z, b]:g} for action {b}"
        )
