"""Instance-specific asymptotic lower bounds on regret (Theorem 1).

The regret of a policy that is consistent (its regret grows slower than any power of T for every person) grows at least
as C log T. C depends on what the policy knows: nothing (`plain_bound`), the possible orderings (`lower_bound`), or the
possible means (`latent_bound`).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.json import finite_or_none
from lpbandits.model import PreferenceModel, as_model
from lpbandits.theory.program import Constraints, solve
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json


@dataclass(frozen=True, eq=False)
class LowerBound:
    """Lower bound C on regret / log T, with the rates of an optimal policy.

    Attributes
    ----------
    value
        C = Σ rates × gaps. The minimum lies in [value · (1 − gap), value].
    rates
        Plays of each action per log T by an optimal policy (c_a); 0 for the best action, which is played without
        limit.
    gap
        Certified relative error of `value`.
    confusing_state
        State that costs most to rule out; None if there is none. It can be the true state, if its first tier has other
        actions.
    confusing_means
        Means λ* of that state that are nearest to the true ones under `rates`.
    weights
        Share of each state in the bound; 0 for states that need no extra plays.

    Examples
    --------
    >>> from lpbandits import PreferenceModel
    >>> b = lower_bound(PreferenceModel([[0, 1, 2], [2, 1, 0]]), state=0, means=[1.0, 0.5, 0.0])
    >>> round(b.value, 4), b.rates.round(4).tolist(), b.confusing_state
    (2.0, [0.0, 0.0, 2.0], 1)
    """

    value: float
    rates: FloatArray
    gap: float
    confusing_state: int | None
    confusing_means: FloatArray | None
    weights: FloatArray

    def to_dict(self) -> Json:
        """Return a JSON object; null for infinite numbers."""
        means = self.confusing_means
        return {
            "value": finite_or_none(self.value),
            "rates": [finite_or_none(rate) for rate in self.rates.tolist()],
            "gap": self.gap,
            "confusing_state": self.confusing_state,
            "confusing_means": None if means is None else means.tolist(),
            "weights": self.weights.tolist(),
        }


@translate_errors("computing a bound")
def lower_bound(
    model: PreferenceModel, state: int, means: Any, noise: float = 1.0, *, pinned: bool = True, tolerance: float = 1e-6
) -> LowerBound:
    """Return the bound for a policy that knows the possible orderings (Theorem 1).

    It is the minimum of Σ c_a Δ_a such that Σ c_a (μ_a − λ_a)² / 2σ² ≥ 1 for all means λ that a state allows and that
    have another best action. With tiers, any action of a state's first tier can be its best.

    Parameters
    ----------
    model, state
        The possible orderings, and the person's state.
    means
        The person's k mean rewards; they follow the state's ordering, in any order within a tier, and have one best
        action.
    noise
        Standard deviation σ of the Gaussian rewards. The bound is proportional to σ².
    pinned
        True: only λ with the person's mean of the best action count, since a good policy plays it so often that it
        learns this mean at no cost. False: the theorem as printed, where λ may differ there. The printed bound is
        never smaller, and infinite if a state differs from the true one only by the rank of the best action.
    tolerance
        Certified relative error to stop at.

    Examples
    --------
    >>> model = PreferenceModel([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    >>> b = lower_bound(model, state=0, means=[3.0, 2.0, 1.0])
    >>> round(b.value, 4), round(lower_bound(model, 0, [3.0, 2.0, 1.0], noise=2.0).value, 4)
    (3.0, 12.0)
    """
    person = _person(model, state, means, noise)
    tolerance = validate.as_number(tolerance, "tolerance", low=1e-9, high=1.0)
    rows, others = alternatives(model, person.means, person.best)
    free = np.zeros(len(others), dtype=np.bool_)
    if not validate.as_flag(pinned, "pinned"):
        rest = rows[rows != person.best].reshape(len(others), model.n_actions - 1)
        free = (np.diff(person.means[rest], axis=1) <= 0).all(axis=1)
    return _bound(model, person, rows, others, free, tolerance, pinned=pinned)


def alternatives(model: PreferenceModel, means: FloatArray, best: int) -> tuple[IntArray, IntArray]:
    """Return one ordering for each state and each action but `best` of its first tier, and the states.

    The action comes first, then each tier by decreasing `means`. Of all means that a state allows and in which the
    action is best, those nearest to `means` under any rates follow this ordering: for given values of the other tiers,
    a tier's nearest means are `means` clipped to an interval, which keeps their order.

    >>> model = PreferenceModel([[[0, 1, 2], 3], [3, [0, 1, 2]]])
    >>> rows, states = alternatives(model, np.array([3.0, 1.0, 2.0, 0.0]), best=0)
    >>> rows.tolist(), states.tolist()
    ([[1, 0, 2, 3], [2, 0, 1, 3], [3, 0, 2, 1]], [0, 0, 1])
    """
    states, first = np.nonzero(model.ranks == 0)
    other = first != best
    states, first = states[other], first[other]
    places = np.array(model.ranks[states])
    places[np.arange(len(first)), first] = -1
    return np.lexsort((np.broadcast_to(-means, places.shape), places), axis=1).astype(np.int64), states


@translate_errors("computing a bound")
def plain_bound(model: PreferenceModel, state: int, means: Any, noise: float = 1.0) -> LowerBound:
    """Return the bound for a policy that knows nothing: Σ Δ_a / KL = Σ 2σ² / Δ_a over all actions but the best.

    >>> round(plain_bound(PreferenceModel([[0, 1, 2]]), state=0, means=[3.0, 2.0, 1.0]).value, 4)
    3.0
    """
    person = _person(model, state, means, noise)
    rates = np.zeros(model.n_actions)
    worse = person.gaps > 0
    rates[worse] = 2.0 * (person.sd / person.gaps[worse]) ** 2
    return LowerBound(float(rates @ person.gaps), rates, 0.0, None, None, np.zeros(model.n_states))


@translate_errors("computing a bound")
def latent_bound(
    model: PreferenceModel, state: int, means: Any = None, noise: float = 1.0, *, pinned: bool = True
) -> LowerBound:
    """Return the bound for a policy that knows the model's means of every state (the latent bandit).

    `means` are the person's, by default the state's. With `pinned`, only states with the same mean of the person's best
    action can be confused with the true one; if there are none, the best action distinguishes all states and the bound
    is 0. The printed form (`pinned=False`) counts every state with another best action.

    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [2.0, 3.0]])
    >>> latent_bound(model, state=0).value, latent_bound(model, state=1).value
    (0.5, 0.0)
    """
    known = as_model(model).means
    if known is None:
        raise InvalidInput("model must have means for the latent bandit's bound; give means, or use lower_bound")
    z = validate.as_count(state, "state", low=0, high=model.n_states - 1)
    person = _person(model, z, known[z] if means is None else means, noise)
    best = person.best
    first = _by_means(model.ranks, known, best)[:, 0]
    confusable = first != best
    if validate.as_flag(pinned, "pinned"):
        # equal up to rounding, which grows with the size of the means, not of their differences
        slack = 1e-9 * person.scale + 4 * np.finfo(np.float64).eps * float(np.abs(person.means).max())
        confusable &= np.abs(known[:, best] - person.means[best]) <= slack
    others = np.flatnonzero(confusable)
    same = known[others] == person.means
    same[:, best] = True
    return _bound(model, person, model.orderings[others], others, same.all(axis=1), 1e-9, known=known)


def _by_means(ranks: IntArray, means: FloatArray, best: int = -1) -> IntArray:
    """Return orderings with each tier sorted by decreasing means; of equal ones `best` comes first."""
    not_best = np.broadcast_to(np.arange(ranks.shape[1]) != best, ranks.shape)
    return np.lexsort((not_best, -means, ranks), axis=1).astype(np.int64)


@dataclass(frozen=True)
class _Person:
    """A valid person: `gaps` to the best action, the largest gap `scale`, and the noise `sd`."""

    best: int
    means: FloatArray
    gaps: FloatArray
    scale: float
    sd: float


def _person(model: PreferenceModel, state: int, means: Any, noise: float) -> _Person:
    """Validate a person, who must have one best action, by a margin whose square does not underflow."""
    z = validate.as_count(state, "state", low=0, high=as_model(model).n_states - 1)
    values = validate.as_floats(means, "means", shape=(model.n_actions,), max_abs=validate.MAX_ABS_VALUE)
    sd = validate.as_number(noise, "noise", low=0, high=validate.MAX_ABS_VALUE, above=True)
    order = _by_means(model.ranks[z : z + 1], values[None, :])[0]
    for a, b in pairwise(order.tolist()):
        if values[a] < values[b]:
            raise InvalidInput(
                f"means must not increase along ordering {z}, got {values[a]:g} for action {model.actions[a]!r} and "
                f"then {values[b]:g} for action {model.actions[b]!r}"
            )
    gaps = values[order[0]] - values
    scale = float(gaps.max())
    if model.n_actions > 1:
        least = float(gaps[order[1]])
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rates = [2.0 * np.square(np.float64(size) / least) for size in (1.0, sd, scale)]
        if not np.isfinite(rates).all():
            a, b = model.actions[order[0]], model.actions[order[1]]
            raise InvalidInput(
                f"means of the best actions {a!r} and {b!r} must differ by enough for a finite 2σ²/Δ², got Δ = "
                f"{least:g}; give means further apart"
            )
    return _Person(int(order[0]), values, gaps, scale, sd)


def _bound(
    model: PreferenceModel,
    person: _Person,
    rows: IntArray,
    others: IntArray,
    free: BoolArray,
    tolerance: float,
    *,
    pinned: bool = True,
    known: FloatArray | None = None,
) -> LowerBound:
    """Return the bound, given alternative orderings and their states `others`; no rates rule out those that are `free`.

    `known` are the means of every state, if the policy knows them.
    """
    weights = np.zeros(model.n_states)
    if not len(others):
        return LowerBound(0.0, np.zeros(model.n_actions), 0.0, None, None, weights)
    if free.any():  # a state has the true means of all actions but the best
        state = int(others[np.argmax(free)])
        weights[state] = 1.0
        rates = np.where(np.arange(model.n_actions) == person.best, 0.0, np.inf)
        return LowerBound(np.inf, rates, 0.0, state, np.array(person.means if known is None else known[state]), weights)
    top, scale = person.means[person.best], person.scale
    fixed = None if known is None else (known[others] - top) / scale
    scaled_means = -person.gaps / scale
    constraints = Constraints(rows, scaled_means, person.best, pinned=pinned, fixed=fixed)
    value, gap, shares = solve(constraints, tolerance)
    weights[:] = np.bincount(others, weights=shares, minlength=model.n_states)
    state = int(np.argmax(weights))
    largest = int(np.argmax(np.where(others == state, shares, -1.0)))
    confusing = top + constraints.fitted[largest] * scale if known is None else np.array(known[state])
    rates = constraints.rates * (person.sd / scale) ** 2
    return LowerBound(value * person.sd**2 / scale, rates, gap, state, confusing, weights)
