"""How little regret is possible: the instance-specific asymptotic bound of Theorem 1, and its two neighbours.

Whatever a policy does, if it does well on every person then its regret on this one grows at least like C log T. Here
are three values of C for one person, by what the policy knows beforehand: nothing (`plain_bound`), the possible
orderings (`lower_bound`), or the possible means themselves (`latent_bound`).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.model import PreferenceModel, as_model
from lpbandits.theory.constraints import Program
from lpbandits.theory.program import Solution, solve
from lpbandits.typing import FloatArray, IntArray, Json


@dataclass(frozen=True, eq=False)
class LowerBound:
    """A bound C on regret / log T, and what an optimal policy would do about it.

    Attributes
    ----------
    value
        C = Σ rates × gaps, for `rates` as given. The least possible C lies in [value · (1 − gap), value].
    rates
        How often, per log T, an optimal policy plays each action (c_a); 0 for the best action, which is played
        without limit.
    gap
        The certified relative error of `value`.
    confusing_state
        The state that costs most to rule out; None where no other state can be confused with the true one.
    confusing_means
        The means λ* in that state that look most like the true ones under `rates`.
    weights
        Per state, its share in the bound: 0 for states that are ruled out on the way.

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
        """Return it as a JSON object; null stands for an infinite number."""
        means = self.confusing_means
        return {
            "value": _finite(self.value),
            "rates": [_finite(rate) for rate in self.rates.tolist()],
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

    It is the least Σ c_a Δ_a such that every state with another best action is told apart: Σ c_a (μ_a − λ_a)² / 2σ²
    is at least 1 for all means λ that the state allows.

    Parameters
    ----------
    model, state
        The possible orderings, and the person's own.
    means
        The person's k mean rewards; they follow the state's ordering and have one best action.
    noise
        Standard deviation σ of the Gaussian rewards. The bound grows with σ².
    pinned
        True: λ agrees with the person on the best action, which is played without limit, so that other λ are found
        out for free. False: the printed form of the theorem, which lets λ disagree there. It is never smaller, and
        infinite if some state differs from the true one by the place of the best action alone.
    tolerance
        Stop at this certified relative error.

    >>> model = PreferenceModel([[0, 1, 2], [1, 0, 2], [2, 0, 1]])
    >>> b = lower_bound(model, state=0, means=[3.0, 2.0, 1.0])
    >>> round(b.value, 4), round(lower_bound(model, 0, [3.0, 2.0, 1.0], noise=2.0).value, 4)
    (3.0, 12.0)
    """
    person = _person(model, state, means, noise)
    tolerance = validate.as_number(tolerance, "tolerance", low=1e-9, high=1.0)
    orderings = np.array(model.orderings)
    best = person.best
    others = np.flatnonzero(orderings[:, 0] != best)
    if not len(others):
        return _nothing(model)
    if not validate.as_flag(pinned, "pinned"):
        rest = orderings[others]
        rest = rest[rest != best].reshape(len(others), -1)
        free = np.flatnonzero((np.diff(person.means[rest], axis=1) <= 0).all(axis=1))
        if len(free):
            return _endless(model, person, int(others[free[0]]), person.means)
    found = solve(Program(orderings, others, -person.gaps / person.scale, best, pinned), tolerance)
    return _scaled(model, person, others, found, person.means[best] + found.means * person.scale)


@translate_errors("computing a bound")
def plain_bound(model: PreferenceModel, state: int, means: Any, noise: float = 1.0) -> LowerBound:
    """Return the bound for a policy that knows nothing: Σ Δ_a / KL = Σ 2σ² / Δ_a over the actions but the best.

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

    `means` are the person's own, by default the state's. With `pinned` only states whose means agree on the person's
    best action can be confused with it; where none do, the best action itself tells all states apart and the bound is
    0: regret need not grow at all. The printed form (`pinned=False`) counts every state with another best action.

    >>> model = PreferenceModel([[0, 1], [1, 0]], means=[[2.0, 1.0], [2.0, 3.0]])
    >>> latent_bound(model, state=0).value, latent_bound(model, state=1).value
    (0.5, 0.0)
    """
    known = as_model(model).means
    if known is None:
        raise InvalidInput("the latent bandit knows the mean rewards; give the model `means`, or use lower_bound")
    z = validate.as_count(state, "state", low=0, high=model.n_states - 1)
    person = _person(model, z, known[z] if means is None else means, noise)
    best = person.best
    confusable = model.orderings[:, 0] != best
    if validate.as_flag(
        pinned, "pinned"
    ):  # equal but for rounding, which grows with the means' size while what matters is their differences
        slack = 1e-9 * person.scale + 4 * np.finfo(np.float64).eps * float(np.abs(person.means).max())
        confusable &= np.abs(known[:, best] - person.means[best]) <= slack
    others = np.flatnonzero(confusable)
    if not len(others):
        return _nothing(model)
    same = known[others] == person.means
    same[:, best] = True
    free = np.flatnonzero(same.all(axis=1))
    if len(free):
        state_ = int(others[free[0]])
        return _endless(model, person, state_, known[state_])
    fitted = (known[others] - person.means[best]) / person.scale
    program = Program(np.array(model.orderings), others, -person.gaps / person.scale, best, pinned)
    found = solve(program, 1e-9, fixed=fitted)
    return _scaled(model, person, others, found, known[others[found.state]])


@dataclass(frozen=True)
class _Person:
    """A person who passed the door: `gaps` to the best action, the largest of them (`scale`), and the noise `sd`."""

    state: int
    best: int
    means: FloatArray
    gaps: FloatArray
    scale: float
    sd: float


def _person(model: PreferenceModel, state: int, means: Any, noise: float) -> _Person:
    """Check that such a person is possible, and has one best action by a margin that floats can square."""
    z = validate.as_count(state, "state", low=0, high=as_model(model).n_states - 1)
    own = validate.as_floats(means, "means", shape=(model.n_actions,))
    sd = validate.as_number(noise, "noise", low=0, high=validate.MAX_ABS_VALUE, above=True)
    largest = float(np.abs(own).max())
    validate.as_number(largest, "the largest mean", high=validate.MAX_ABS_VALUE)
    order: IntArray = model.orderings[z]
    rises = np.flatnonzero(np.diff(own[order]) > 0)
    if len(rises):
        a, b = (model.actions[order[rises[0] + i]] for i in (0, 1))
        raise InvalidInput(
            f"means contradict ordering {z}: action {a!r} comes before action {b!r} but has mean "
            f"{own[order[rises[0]]]:g} < {own[order[rises[0] + 1]]:g}; give means that fall along the ordering"
        )
    if model.n_actions > 1 and own[order[0]] == own[order[1]]:
        a, b = model.actions[order[0]], model.actions[order[1]]
        raise InvalidInput(f"actions {a!r} and {b!r} are both best, with mean {own[order[0]]:g}; one must be better")
    gaps = own[order[0]] - own
    scale = float(gaps.max())
    if model.n_actions > 1:
        least = float(gaps[order[1]])
        with np.errstate(over="ignore"):
            rates = [2.0 * np.square(np.float64(size) / least) for size in (1.0, sd, scale)]
        if not np.isfinite(rates).all():
            a, b = model.actions[order[0]], model.actions[order[1]]
            raise InvalidInput(
                f"the means of actions {a!r} and {b!r} differ by Δ = {least:g}, so little that 2σ²/Δ² "
                "is beyond the largest float; give means further apart"
            )
    return _Person(z, int(order[0]), own, gaps, scale, sd)


def _scaled(
    model: PreferenceModel, person: _Person, others: IntArray, found: Solution, confusing: FloatArray
) -> LowerBound:
    """Return a solution in the person's own units."""
    weights = np.zeros(model.n_states)
    weights[others] = found.weights
    return LowerBound(
        value=found.value * person.sd**2 / person.scale,
        rates=found.rates * (person.sd / person.scale) ** 2,
        gap=found.gap,
        confusing_state=int(others[found.state]),
        confusing_means=np.array(confusing),
        weights=weights,
    )


def _endless(model: PreferenceModel, person: _Person, state: int, confusing: FloatArray) -> LowerBound:
    """Return the bound where a state explains all actions but the best for free: no rates suffice."""
    rates = np.full(model.n_actions, np.inf)
    rates[person.best] = 0.0
    weights = np.zeros(model.n_states)
    weights[state] = 1.0
    return LowerBound(np.inf, rates, 0.0, state, np.array(confusing), weights)


def _nothing(model: PreferenceModel) -> LowerBound:
    """Return the bound where no other state can be confused with the true one."""
    return LowerBound(0.0, np.zeros(model.n_actions), 0.0, None, None, np.zeros(model.n_states))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
