"""Validation of the fields of a `PreferenceModel`."""

import math
from typing import Any, TypeVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray, IntArray

T = TypeVar("T", bound="np.ndarray[Any, Any]")

MAX_LOGIT_ERROR = 100.0
"""Largest standard error of a utility's logit."""


def frozen_array(array: T) -> T:
    """Make an array read-only and return it."""
    array.flags.writeable = False
    return array


def as_matrix(values: Any, name: str, shape: tuple[int, ...], max_abs: float = math.inf) -> FloatArray | None:
    """Return a read-only matrix of one row per state, None for None."""
    return None if values is None else frozen_array(validate.as_floats(values, name, shape=shape, max_abs=max_abs))


def as_means(means: Any, orderings: IntArray) -> FloatArray | None:
    """Return mean rewards that do not increase along their state's ordering."""
    matrix = as_matrix(means, "means", orderings.shape, validate.MAX_ABS_VALUE)
    if matrix is not None:
        check_ordered(matrix, orderings)
    return matrix


def as_utilities(utilities: Any, shape: tuple[int, int]) -> FloatArray | None:
    """Return utilities in [0, 1]."""
    matrix = as_matrix(utilities, "utilities", shape)
    if matrix is not None:
        validate.check_entries(matrix, "utilities", (matrix < 0) | (matrix > 1), "lie in [0, 1]")
    return matrix


def as_errors(errors: Any, utilities: FloatArray | None, shape: tuple[int, int]) -> FloatArray | None:
    """Return standard errors of the utilities' logits."""
    matrix = as_matrix(errors, "errors", shape, MAX_LOGIT_ERROR)
    if matrix is not None:
        validate.check_entries(matrix, "errors", matrix < 0, "be a standard deviation, 0 or more")
        if utilities is None:
            raise InvalidInput("errors are the standard errors of the utilities; give utilities as well")
    return matrix


def as_noise(noise: Any) -> float | None:
    """Return the standard deviation of rewards."""
    return None if noise is None else validate.as_number(noise, "noise", low=0, high=validate.MAX_ABS_VALUE)


def as_taste(taste: Any, actions: int) -> TasteModel | None:
    """Return a `TasteModel` of this number of actions."""
    if taste is not None and not isinstance(taste, TasteModel):
        raise validate.invalid("taste", "a TasteModel, as a fit returns", taste)
    if taste is not None and taste.n_actions != actions:
        raise InvalidInput(f"taste must have {actions} actions, as many as the orderings, got {taste.n_actions}")
    return taste


def as_names(names: Any, actions: int) -> tuple[str, ...] | None:
    """Return one display name per action."""
    if names is None:
        return None
    texts = validate.as_list(names, "names", "texts", max_length=actions + 1)
    if len(texts) != actions:
        raise InvalidInput(f"names must have one entry for each of the {actions} actions, got {len(texts)}")
    return tuple(validate.as_text(text, f"names[{i}]") for i, text in enumerate(texts))


def as_popular(popular: Any, actions: int) -> IntArray | None:
    """Return one ordering of all actions."""
    if popular is None:
        return None
    order = as_orderings([popular])
    if order.shape[1] != actions:
        raise InvalidInput(f"popular must name each of the {actions} actions once, got {order.shape[1]}")
    first: IntArray = order[0]
    return frozen_array(first)


def as_orderings(orderings: Any) -> IntArray:
    """Return m distinct orderings of k actions as a new m×k array."""
    array = validate.as_array(orderings, "orderings")
    if array.ndim != 2 or array.size == 0:
        raise InvalidInput(
            f"orderings must have one row per state with every action, most preferred first, got shape {array.shape}"
        )
    if array.dtype.kind not in "iuf":
        held = "text" if array.dtype.kind == "U" else f"{array.dtype} values"
        raise InvalidInput(f"orderings must hold the actions' indices 0 to k-1, got {held}; give labels as actions=[…]")
    rows = np.array(validate.as_indices(array, "orderings"))
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
    vector = validate.as_floats(prior, "prior", shape=(states,), max_abs=1e6)
    validate.check_entries(vector, "prior", vector < 0, "be a probability")
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
