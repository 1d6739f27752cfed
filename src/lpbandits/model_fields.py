"""Validation of the fields of a `PreferenceModel`."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.model_parts.covariates import CovariateModel
from lpbandits.taste_model import TasteModel
from lpbandits.text import pluralize
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


def as_means(means: Any, orderings: IntArray, tiers: Any = None) -> FloatArray | None:
    """Return mean rewards that do not increase along their state's ordering, or from one of its tiers to the next."""
    matrix = as_matrix(means, "means", orderings.shape, validate.MAX_ABS_VALUE)
    if matrix is not None:
        check_ordered(matrix, orderings, tiers)
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


def as_lower_is_better(value: Any, rewards: str | None) -> bool:
    """Return whether low numbers are good, which needs Gaussian rewards."""
    if validate.as_flag(value, "lower_is_better") and rewards not in (None, "gaussian"):
        raise InvalidInput(
            f"lower_is_better must be False for {rewards} rewards, got True; "
            + ("code the good outcome as 1" if rewards == "bernoulli" else "use Gaussian rewards")
        )
    return bool(value)


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
        wanted = pluralize(actions, "action")
        raise InvalidInput(f"taste must have {wanted}, as many as the orderings, got {taste.n_actions}")
    return taste


def as_covariates(covariates: Any, states: int) -> CovariateModel | None:
    """Return a `CovariateModel` of this number of states."""
    if covariates is not None and not isinstance(covariates, CovariateModel):
        raise validate.invalid("covariates", "a CovariateModel, as a fit returns", covariates)
    if covariates is not None and covariates.n_states != states:
        raise InvalidInput(f"covariates must have {states} states, as many as the orderings, got {covariates.n_states}")
    return covariates


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
    if _is_one(orderings):
        raise validate.invalid("orderings", "a list of orderings", orderings, "put the one ordering in a list")
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


def _is_one(orderings: Any) -> bool:
    """Return whether orderings are a single ordering: a list of labels, or of labels and tiers.

    >>> _is_one([["tea", "jam"], "egg"]), _is_one([["tea", "jam", "egg"]])
    (True, False)
    """
    if not isinstance(orderings, list | tuple):
        return False
    parts = [isinstance(part, list | tuple) for part in orderings]
    return any(isinstance(part, str) for part in orderings) or (any(parts) and not all(parts))


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
            raise InvalidInput(
                f"orderings {twin} and {state} are equal; orderings must differ: keep one, with the sum of their "
                "priors (model_from_experts does so, and joins their names)"
            )


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
            wanted = f"the {k} actions 0 to {k - 1}" if k > 1 else "action 0 only"
            raise InvalidInput(f"ordering {state} must hold {wanted}, got {outside[0]}")
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
        raise InvalidInput(f"prior must sum to 1 over {pluralize(states, 'state')}, got {total:.6g}")
    return rescaled(vector)


def states_by_name(names: Sequence[str]) -> dict[str, int]:
    """Return the index of each state by its name, and by its index as text; -1 for a name that several states have."""
    indices = {str(z): z for z in range(len(names))}
    return indices | {name: z if names.count(name) == 1 else -1 for z, name in enumerate(names)}


def as_personal_prior(prior: Any, states: Mapping[str, int], count: int) -> FloatArray:
    """Return the probability of each state from a list in order, or from a dict by index or name in `states`.

    States that a dict leaves out have probability 0.

    >>> as_personal_prior({"state 1": 0.75, 0: 0.25}, states_by_name(["state 0", "state 1"]), 2).tolist()
    [0.25, 0.75]
    """
    values = prior
    if isinstance(prior, Mapping):
        by_state = {_state_of(label, states): number for label, number in prior.items()}
        if len(by_state) < len(prior):
            raise validate.invalid("prior", "a dict that names each state once", dict(prior))
        values = [validate.as_number(by_state.get(z, 0.0), f"prior[{z}]") for z in range(count)]
    return frozen_array(as_prior(values, count))


def _state_of(label: Any, states: Mapping[str, int]) -> int:
    """Return the index of a state, from its index or its name."""
    state = states.get(str(validate.as_label(label, "state")))
    if state == -1:
        raise InvalidInput(f"several states have the name {validate.short_repr(label)}; give the state's index")
    if state is None:
        names = [name for name in states if not name.isdigit()]
        raise InvalidInput(
            f"unknown state {validate.short_repr(label)}; states are {', '.join(map(repr, names[:5]))}"
            f"{', …' if len(names) > 5 else ''}{validate.did_you_mean(label, names)}"
        )
    return state


def as_priors(priors: Any, shape: tuple[int, int]) -> FloatArray:
    """Return priors of several people, a row each."""
    rows = validate.as_floats(priors, "priors", shape=shape, max_abs=1e6)
    validate.check_entries(rows, "priors", rows < 0, "be a probability")
    totals = rows.sum(axis=1)
    if len(wrong := np.flatnonzero(np.abs(totals - 1.0) > 1e-6)):
        raise InvalidInput(f"priors[{wrong[0]}] must sum to 1 over the {shape[1]} states, got {totals[wrong[0]]:.6g}")
    return rescaled(rows)


def rescaled(priors: FloatArray) -> FloatArray:
    """Return priors, one or a row each, that sum to 1; those that do but for rounding are kept unchanged.

    Saving and loading therefore does not change a prior.

    >>> rescaled(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 1.0]])).tolist()
    [[0.5, 0.25, 0.25], [0.5, 0.0, 0.5]]
    """
    totals = priors.sum(axis=-1, keepdims=True)
    return np.where(np.abs(totals - 1.0) <= 1e-12, priors, priors / totals)


def check_ordered(means: FloatArray, orderings: IntArray, tiers: Any = None) -> None:
    """Raise if means increase along their state's ordering, or from one of its tiers to the next."""
    for z, sizes in enumerate(tiers or ()):
        parts = np.split(orderings[z], np.cumsum(sizes)[:-1])
        for i, (better, worse) in enumerate(pairwise(parts)):
            a, b = better[np.argmin(means[z, better])], worse[np.argmax(means[z, worse])]
            if means[z, a] < means[z, b]:
                raise InvalidInput(
                    f"means[{z}] must not increase from a tier to the next, got {means[z, a]:g} for action {a} in tier "
                    f"{i} and {means[z, b]:g} for action {b} in tier {i + 1} of ordering {z}"
                )
    if tiers is not None:
        return
    rises = np.argwhere(np.diff(np.take_along_axis(means, orderings, axis=1), axis=1) > 0)
    if len(rises):
        z, i = (int(x) for x in rises[0])
        a, b = (int(action) for action in orderings[z, i : i + 2])
        raise InvalidInput(
            f"means[{z}] must not increase along ordering {z}, got {means[z, a]:g} for action {a} and then "
            f"{means[z, b]:g} for action {b}"
        )
