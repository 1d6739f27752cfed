"""Validation of the fields of a `PreferenceModel`."""

import math
from collections import Counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray, IntArray, Label

T = TypeVar("T", bound="np.ndarray[Any, Any]")

MAX_LOGIT_ERROR = 100.0
"""Largest standard error of a utility's logit."""

FAMILIES = ("gaussian", "bernoulli", "poisson")
"""Families of rewards (see `Rewards`)."""


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


def as_family(rewards: Any) -> str | None:
    """Return the name of a reward family."""
    return None if rewards is None else validate.as_choice(rewards, "rewards", FAMILIES)


def as_reward_range(bounds: Any) -> tuple[float, float] | None:
    """Return the lowest and the highest possible reward.

    >>> as_reward_range([1, 5])
    (1.0, 5.0)
    """
    if bounds is None:
        return None
    low, high = validate.as_floats(bounds, "reward_range", shape=(2,), max_abs=validate.MAX_ABS_VALUE).tolist()
    if low > high:
        raise validate.invalid("reward_range", "(lowest, highest)", bounds)
    return low, high


def as_taste(taste: Any, actions: int) -> TasteModel | None:
    """Return a `TasteModel` of this number of actions."""
    if taste is not None and not isinstance(taste, TasteModel):
        raise validate.invalid("taste", "a TasteModel, as a fit returns", taste)
    if taste is not None and taste.n_actions != actions:
        raise InvalidInput(f"taste must have {actions} actions, as many as the orderings, got {taste.n_actions}")
    return taste


def as_names(names: Any, count: int, *, name: str = "names", of: str = "actions") -> tuple[str, ...] | None:
    """Return one display name for each of the actions, or of the states."""
    if names is None:
        return None
    texts = validate.as_list(names, name, "texts", max_length=count + 1)
    if len(texts) != count:
        raise InvalidInput(f"{name} must have one entry for each of the {count} {of}, got {len(texts)}")
    return tuple(validate.as_text(text, f"{name}[{i}]") for i, text in enumerate(texts))


def as_popular(popular: Any, actions: int) -> IntArray | None:
    """Return one ordering of all actions."""
    if popular is None:
        return None
    order = as_rows([popular])
    if order.shape[1] != actions:
        raise InvalidInput(f"popular must name each of the {actions} actions once, got {order.shape[1]}")
    first: IntArray = order[0]
    return frozen_array(first)


class Orderings(NamedTuple):
    """The orderings of all states: m×k rows of indices, the sizes of their tiers, and the labels that they name.

    `tiers` is None if every tier holds one action, and `labels` if the rows hold indices.
    """

    rows: IntArray
    tiers: tuple[tuple[int, ...], ...] | None
    labels: tuple[Label, ...] | None


def read_orderings(orderings: Any, actions: Any = None, tiers: Any = None) -> Orderings:
    """Return orderings that hold indices or labels, in which a nested list is a tier.

    Labels are those of `actions`, or without them all labels in the order of the first ordering. Within a tier the
    actions are sorted by index, so that equal preferences have one form.

    >>> read_orderings([["tea", ["jam", "egg"]], ["egg", "tea", "jam"]])
    Orderings(rows=array([[0, 1, 2],
           [2, 0, 1]]), tiers=((1, 2), (1, 1, 1)), labels=('tea', 'jam', 'egg'))
    """
    listed = [list(row) for row in orderings] if _is_nested(orderings) else orderings
    if listed is orderings:
        rows = as_rows(orderings)
        sizes, labels = None if tiers is None else as_tier_sizes(tiers, rows.shape), None
    else:
        if tiers is not None:
            raise InvalidInput("tiers must be left out if the orderings have nested lists or labels")
        groups = [[_as_group(part, state) for part in row] for state, row in enumerate(listed)]
        sizes = tuple(tuple(len(group) for group in row) for row in groups)
        flat = [[label for group in row for label in group] for row in groups]
        labels = None
        if any(isinstance(label, str) for row in flat for label in row):
            labels = _labels_of(flat, actions)
            index = {label: i for i, label in enumerate(labels)}
            flat = [[index[label] for label in row] for row in flat]
        rows = as_rows(flat)
    if sizes is not None:
        for row, counts in zip(rows, sizes, strict=True):
            for part in np.split(row, np.cumsum(counts)[:-1]):
                part.sort()
        if all(size == 1 for counts in sizes for size in counts):
            sizes = None
    check_distinct(rows, sizes)
    return Orderings(rows, sizes, labels)


def _is_nested(orderings: Any) -> bool:
    """Return whether orderings are lists that hold labels or tiers."""
    if not isinstance(orderings, list | tuple) or not all(isinstance(row, list | tuple) for row in orderings):
        return False
    return any(isinstance(part, str | list | tuple) for row in orderings for part in row)


def _as_group(part: Any, state: int) -> list[Any]:
    if not isinstance(part, list | tuple):
        return [part]
    if not part or any(isinstance(inner, list | tuple) for inner in part):
        raise validate.invalid(f"a tier of ordering {state}", "a list of one or more actions", part)
    return list(part)


def _labels_of(flat: list[list[Any]], actions: Any) -> tuple[Label, ...]:
    """Return all labels, in the order of `actions` or of the first ordering; raise if an ordering lacks or adds one."""
    rows = [[validate.as_label(label, f"ordering {state}") for label in row] for state, row in enumerate(flat)]
    labels = tuple(dict.fromkeys(rows[0])) if actions is None else validate.as_labels(actions, None)
    for state, row in enumerate(rows):
        counts = Counter(row)
        unknown = [label for label in row if label not in labels]
        if unknown:
            known = "the first ordering" if actions is None else "actions"
            raise InvalidInput(f"ordering {state} has {unknown[0]!r}, which is not in {known}; each must hold the same")
        if repeated := [label for label, count in counts.items() if count > 1]:
            raise InvalidInput(f"action {repeated[0]!r} appears twice in ordering {state}; it must appear once")
        if missing := [label for label in labels if label not in counts]:
            raise InvalidInput(
                f"ordering {state} lacks {missing[0]!r}; it must hold each of the {len(labels)} actions. Actions "
                "about whose order nothing is known can be one tier: a nested list"
            )
    return labels


def as_tier_sizes(tiers: Any, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of each state's tiers, which add up to the number of actions."""
    states, actions = shape
    rows = validate.as_list(tiers, "tiers", "lists of sizes", max_length=states + 1)
    if len(rows) != states:
        raise InvalidInput(f"tiers must have one list of sizes for each of the {states} states, got {len(rows)}")
    sizes = []
    for state, row in enumerate(rows):
        values = validate.as_list(row, f"tiers[{state}]", "sizes", max_length=actions + 1)
        counts = tuple(validate.as_count(size, f"tiers[{state}]") for size in values)
        if sum(counts) != actions:
            raise InvalidInput(f"tiers[{state}] must add up to the {actions} actions, got {sum(counts)}")
        sizes.append(counts)
    return tuple(sizes)


def check_distinct(rows: IntArray, sizes: tuple[tuple[int, ...], ...] | None) -> None:
    """Raise if two states have the same ordering and the same tiers."""
    first_with: dict[tuple[bytes, Any], int] = {}
    for state, row in enumerate(rows):
        key = row.tobytes(), None if sizes is None else sizes[state]
        if (twin := first_with.setdefault(key, state)) != state:
            raise InvalidInput(f"orderings {twin} and {state} are equal; orderings must differ: remove one")


def as_rows(orderings: Any) -> IntArray:
    """Return m orderings of the indices of k actions as a new m×k array."""
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
