"""`Estimator` and `Estimate`: the interface of fitting methods and their result, and likelihoods of mixtures."""

import abc
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import logsumexp

from lpbandits import validate
from lpbandits.data.blocks import Blocks
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import PRIOR_SD, BradleyTerry, as_prior_sd
from lpbandits.fit.comparisons import Comparisons
from lpbandits.fit.kernels.comparisons import history_log_likelihoods
from lpbandits.fit.methods.clusters import MAX_RESTARTS
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.text import pluralize
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

States = int | Literal["auto"]

FACTORS_PER_LOG = 500
"""Maximum number of factors that are multiplied before a logarithm is taken."""

LEAST_PEOPLE = 0.5
"""A state with fewer people, weighted by membership, is empty."""


def fit_options(*, states: Any, max_states: Any, pairs_per_person: Any, heldout: Any, taste: Any) -> Json:
    """Check the options of `fit_states` that do not depend on the method, and return them."""
    if not validate.is_exactly(states, "auto"):
        if isinstance(states, str):
            raise validate.invalid("states", "a number or 'auto'", states)
        if max_states is not None:
            raise InvalidInput(
                f"max_states must be left out unless states='auto' (--states auto), got "
                f"{validate.short_repr(max_states)} with states={validate.short_repr(states)}"
            )
        states = validate.as_count(states, "states")
    if pairs_per_person is not None:
        pairs_per_person = validate.as_count(pairs_per_person, "pairs_per_person")
    return {
        "states": states,
        "max_states": None if max_states is None else validate.as_count(max_states, "max_states", high=10_000),
        "pairs_per_person": pairs_per_person,
        "heldout": validate.as_number(heldout, "heldout", low=0, high=0.9),
        "taste": validate.as_flag(taste, "taste"),
    }


@dataclass(frozen=True, eq=False)
class Estimate:
    """Fitted states: for each a Bradley-Terry fit, its share, and m×k arrays over states and actions."""

    fits: tuple[BradleyTerry, ...]
    shares: FloatArray
    labels: IntArray
    """Likeliest state of each person."""
    utilities: FloatArray
    """β of the fits, or shrunk towards the other states."""
    errors: FloatArray
    """Standard deviations of the utilities."""
    unknown: BoolArray
    """True for actions without information, ranked last: never compared in the state or, if shrunk, in any state."""
    warnings: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    """EM's log-posterior of the fit to the initial labels and after each step."""
    excluding_holdout: "Estimate | None" = None
    """The same states, fitted without the held-out people."""
    membership: FloatArray | None = None
    """people × states: probability of each state; None: 1 for the likeliest state."""

    @property
    def never_compared(self) -> BoolArray:
        """m×k: True for actions without any comparison in the state."""
        return np.stack([fit.never_compared for fit in self.fits])

    @property
    def orderings(self) -> IntArray:
        """m×k: all actions by decreasing utility; ties by the utility of the fit, then by index."""
        rows = zip(self.unknown, self.utilities, self.fits, strict=True)
        return np.stack([np.lexsort((-fit.utilities, -utility, unknown)) for unknown, utility, fit in rows])

    def distinct(self) -> "Estimate":
        """Sort states by share, largest first, and merge those with equal orderings; those of a model must differ."""
        keys = [ordering.tobytes() for ordering in self.orderings]
        first: dict[bytes, int] = {}
        for z in np.argsort(-self.shares, kind="stable").tolist():
            first.setdefault(keys[z], z)
        kept, numbers = list(first.values()), {key: number for number, key in enumerate(first)}
        new = np.array([numbers[key] for key in keys])
        notes, membership = self.warnings, self.membership
        if len(kept) < len(keys):
            notes += (
                f"{len(keys)} states have only {pluralize(len(kept), 'different ordering')}; states with equal "
                "orderings were merged: use fewer states",
            )
        if membership is not None:
            membership = np.stack([membership[:, new == z].sum(axis=1) for z in range(len(kept))], axis=1)
        return replace(
            self,
            fits=tuple(self.fits[z] for z in kept),
            shares=np.bincount(new, weights=self.shares).astype(np.float64),
            labels=new[self.labels],
            utilities=self.utilities[kept],
            errors=self.errors[kept],
            unknown=self.unknown[kept],
            warnings=notes,
            membership=membership,
        )


@dataclass(frozen=True)
class Estimator(abc.ABC):
    """A fitting method: frozen settings (see `TwoStage`), called with the data and the number of states.

    The result must depend on settings and arguments only, have shares that sum to 1 and finite standard errors
    (`Scatter.utilities` computes them), and may have fewer states than requested, with a warning. The data are
    blocks of people; a method that needs all people at once calls `log.subset(all people)`.
    """

    method: ClassVar[str]
    prior_sd: float = PRIOR_SD
    restarts: int | None = None
    seed: int = 0
    shrink: bool = True

    def __post_init__(self) -> None:
        restarts = self.restarts
        self._set(
            prior_sd=as_prior_sd(self.prior_sd),
            restarts=None if restarts is None else validate.as_count(restarts, "restarts", high=MAX_RESTARTS),
            seed=validate.as_seed(self.seed),
            shrink=validate.as_flag(self.shrink, "shrink"),
        )

    def _set(self, **checked: Any) -> None:
        """Replace settings by their checked values."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return asdict(self)

    def for_people(self, people: IntArray) -> "Estimator":  # noqa: ARG002
        """Return the estimator for a subset of the people (indices): per-person settings are subset, too."""
        return self

    @abc.abstractmethod
    def __call__(
        self, log: Blocks, states: int, *, pairs_per_person: int | None, holdout: BoolArray | None, watch: Stopwatch
    ) -> Estimate:
        """Return the estimate of `states` states.

        If that is cheap, it also has `excluding_holdout`, a fit without the people of the mask `holdout`.
        """


def em_settings(*, restarts: Any, tolerance: Any, max_steps: Any) -> Json:
    """Check the settings of methods that run EM from several starts, and return them."""
    return {
        "restarts": validate.as_count(restarts, "restarts", high=MAX_RESTARTS),
        "tolerance": validate.as_number(tolerance, "tolerance", low=0),
        "max_steps": validate.as_count(max_steps, "max_steps"),
    }


def step_notes(name: str, max_steps: int, *, converged: bool) -> list[str]:
    """Return the warning about EM that did not converge."""
    return [] if converged else [f"{name} stopped after max_steps={max_steps} steps; increase max_steps"]


def without_empty_states(
    shares: FloatArray, membership: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, list[str]]:
    """Drop states with fewer than `LEAST_PEOPLE`; return those kept, shares, probabilities of states, and notes."""
    kept = np.flatnonzero(shares * len(membership) >= LEAST_PEOPLE)
    n_empty = len(shares) - len(kept)
    if not n_empty:
        return kept, shares, membership, []
    membership = membership[:, kept]
    norms = membership.sum(axis=1, keepdims=True)
    membership = np.where(norms > 0, membership / np.where(norms > 0, norms, 1.0), 1 / len(kept))
    notes = [f"{n_empty} of {len(shares)} states became empty; use fewer states"]
    return kept, shares[kept] / shares[kept].sum(), membership, notes


def as_estimator(value: Any) -> Estimator:
    """Check that `value` is an estimator."""
    if not isinstance(value, Estimator):
        raise InvalidInput(f"estimator must be Mixture(…), TwoStage(…) or Em(…), got {validate.short_repr(value)}")
    return value


def log_likelihoods(comparisons: Comparisons, utilities: FloatArray, *, threads: Threads | None = None) -> FloatArray:
    """Return people × states: the log-probability of each person's comparisons under each state's utilities."""
    shifted = np.ascontiguousarray(utilities - utilities.max(axis=1, keepdims=True))
    widest = max(float(-shifted.min()), 1.0)
    out = np.empty((len(comparisons.person), len(utilities)))
    arrays = comparisons.histories, shifted, np.exp(shifted), int(np.clip(600 / widest, 1, FACTORS_PER_LOG)), out
    (threads or Threads(1)).run(history_log_likelihoods, len(out), *arrays, blocks=16, smallest=16)
    if len(out) == comparisons.people:
        return out * comparisons.weight[:, None]
    columns = [
        np.bincount(comparisons.person, weights=out[:, z] * comparisons.weight, minlength=comparisons.people)
        for z in range(out.shape[1])
    ]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def discount(counts: IntArray) -> FloatArray:
    """Return a column of factors 2/n of people's log-likelihoods, so that n ratings count as n − 1 comparisons.

    The n(n − 1)/2 comparisons of a person share the noise of n ratings. Without this factor 2/n, probabilities of
    states are overconfident, and more states always score better, because they fit the noise.
    """
    return np.asarray(2 / np.maximum(counts, 2))[:, None]


def mixture(values: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each person's log-likelihood under the mixture, and the probabilities of the states.

    `values` are the log-likelihoods of people (rows) under each state.
    """
    with np.errstate(divide="ignore"):  # a state may have share 0
        joint = values + np.log(shares)
    total = logsumexp(joint, axis=1)
    return total, np.exp(joint - total[:, None])
