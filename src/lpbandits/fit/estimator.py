"""`Estimator` and `Estimate`: the interface of fitting methods, their result, and its likelihood."""

import abc
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from scipy.special import logsumexp

from lpbandits import validate
from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import BradleyTerry, as_prior_sd
from lpbandits.fit.clusters import MAX_RESTARTS, Scale
from lpbandits.fit.comparisons import Comparisons, compare, compared
from lpbandits.fit.kernels.comparisons import history_log_likelihoods
from lpbandits.fit.shrinkage import shrink_states
from lpbandits.fit.uncertainty import Scatter
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.text import pluralize
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

States = int | Literal["auto"]

FACTORS_PER_LOG = 500
"""Maximum number of factors that are multiplied before a logarithm is taken."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """One Bradley-Terry fit and one share per state."""

    fits: tuple[BradleyTerry, ...]
    shares: FloatArray
    labels: IntArray
    """Likeliest state of each person."""
    warnings: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    """EM's log-posterior of the fit to the initial labels and after each step."""
    excluding_holdout: "Estimate | None" = None
    """The same states, fitted without the held-out people."""
    shrunk: tuple[FloatArray, FloatArray] | None = None
    """m×k utilities and errors shrunk over states, which replace those of the fits."""
    membership: FloatArray | None = None
    """people × states: probability of each state; None: 1 for the likeliest state."""

    @property
    def utilities(self) -> FloatArray:
        """m×k utilities: shrunk ones, or the fits' centred β."""
        return np.stack([fit.utilities for fit in self.fits]) if self.shrunk is None else self.shrunk[0]

    @property
    def errors(self) -> FloatArray:
        """m×k standard deviations of the utilities."""
        return np.stack([fit.standard_errors for fit in self.fits]) if self.shrunk is None else self.shrunk[1]

    @property
    def never_compared(self) -> BoolArray:
        """m×k: True for actions without any comparison in the state."""
        return np.stack([fit.never_compared for fit in self.fits])

    @property
    def unknown(self) -> BoolArray:
        """m×k: True for actions without information, which come last.

        Those never compared in the state or, with shrinkage over states, in any state.
        """
        never = self.never_compared
        return never if self.shrunk is None else np.broadcast_to(never.all(axis=0), never.shape)

    @property
    def orderings(self) -> IntArray:
        """m×k: all actions by decreasing utility; ties by the utility of the fit, then by index."""
        rows = zip(self.unknown, self.utilities, self.fits, strict=True)
        return np.stack([np.lexsort((-fit.utilities, -utility, unknown)) for unknown, utility, fit in rows])


@dataclass(frozen=True)
class Estimator(abc.ABC):
    """A fitting method: frozen settings (see `TwoStage`), called with the data and the number of states.

    The result must depend on settings and arguments only, have shares that sum to 1 and finite standard errors
    (`uncertainty.Scatter` computes them), and may have fewer states than requested, with a warning. The data are blocks
    of people; a method that needs all people at once calls `log.subset(all people)`.
    """

    method: ClassVar[str]
    scale: Scale = "cosine"
    prior_sd: float = 1.0
    restarts: int | None = None
    seed: int = 0
    shrink: bool = True

    def __post_init__(self) -> None:
        restarts = self.restarts
        self._set(
            scale=validate.as_choice(self.scale, "scale", get_args(Scale)),
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

    def among(self, people: IntArray) -> "Estimator":  # noqa: ARG002
        """Return the estimator for a subset of the people (indices): per-person settings are subset, too."""
        return self

    @abc.abstractmethod
    def __call__(
        self,
        log: Blocks,
        states: int,
        *,
        pairs_per_person: int | None = None,
        holdout: IntArray | None = None,
        watch: Stopwatch,
    ) -> Estimate:
        """Fit `states` states and, if that is cheap, also `excluding_holdout` without the `holdout` people."""


def as_estimator(value: Any) -> Estimator:
    """Check that `value` is an estimator."""
    if not isinstance(value, Estimator):
        raise InvalidInput(f"estimator must be TwoStage(…) or Em(…), got {validate.short_repr(value)}")
    return value


def log_likelihoods(comparisons: Comparisons, utilities: FloatArray, *, threads: Threads | None = None) -> FloatArray:
    """Return people × states: the log-probability of each person's comparisons under each state's utilities."""
    shifted = np.ascontiguousarray(utilities - utilities.max(axis=1, keepdims=True))
    spread = max(float(-shifted.min()), 1.0)
    out = np.empty((len(comparisons.person), len(utilities)))
    arrays = comparisons.histories, shifted, np.exp(shifted), int(np.clip(600 / spread, 1, FACTORS_PER_LOG)), out
    (threads or Threads(1)).run(history_log_likelihoods, len(out), *arrays, blocks=16, smallest=16)
    if len(out) == comparisons.people:
        return out * comparisons.weight[:, None]
    columns = [
        np.bincount(comparisons.person, weights=out[:, z] * comparisons.weight, minlength=comparisons.people)
        for z in range(out.shape[1])
    ]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def mixture(values: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each person's log-likelihood under the mixture, and the probabilities of the states.

    `values` are the log-likelihoods of people (rows) under each state.
    """
    with np.errstate(divide="ignore"):  # a state may have share 0
        joint = values + np.log(shares)
    total = logsumexp(joint, axis=1)
    return total, np.exp(joint - total[:, None])


@dataclass(frozen=True)
class FitScore:
    """Mean log-likelihood per comparison, number of comparisons, and share of ties among them."""

    mean: float
    pairs: float
    tie_share: float


def score_comparisons(
    log: Blocks,
    estimate: Estimate,
    *,
    pairs_per_person: int | None = None,
    seed: int = 0,
    only: BoolArray | None = None,
) -> FitScore:
    """Score the comparisons of all people, or of the mask `only`, under the mixture over states."""
    people = len(log.log.people)
    per_person = (np.arange(people), np.ones(people, dtype=np.bool_) if only is None else only)
    common = (estimate.utilities, estimate.shares, pairs_per_person, seed)
    blocks = log.map(_score_block, *common, per_person=per_person)
    total, pairs, ties = (float(sum(values)) for values in zip(*blocks, strict=True))
    return FitScore(total / pairs, pairs, ties / pairs)


def _score_block(
    block: Ratings,
    threads: Threads,
    utilities: FloatArray,
    shares: FloatArray,
    pairs_per_person: int | None,
    seed: int,
    index: IntArray,
    only: BoolArray,
) -> tuple[float, float, float]:
    if only.all():
        first = int(index[0])
        comparisons = compared(block, pairs_per_person=pairs_per_person, seed=seed, first=first, threads=threads)
    else:
        comparisons = compare(block.subset(np.flatnonzero(only)), threads=threads)
    total, _ = mixture(log_likelihoods(comparisons, utilities, threads=threads), shares)
    return float(total.sum()), float(comparisons.pairs.sum()), comparisons.ties


def with_errors(estimate: Estimate, scatters: Sequence[Scatter], *, prior_sd: float, shrink: bool) -> Estimate:
    """Set the standard errors of the fits and, if `shrink`, shrink the utilities (also of `excluding_holdout`)."""
    pairs = zip(estimate.fits, scatters, strict=True)
    estimate = replace(estimate, fits=tuple(replace(fit, standard_errors=one.errors(prior_sd)) for fit, one in pairs))
    if not shrink:
        return estimate
    fewer = estimate.excluding_holdout
    if fewer is not None:
        shrunk = shrink_states(fewer.utilities, ~fewer.never_compared, scatters, prior_sd=prior_sd)
        fewer = replace(fewer, shrunk=shrunk)
    shrunk = shrink_states(estimate.utilities, ~estimate.never_compared, scatters, prior_sd=prior_sd)
    return replace(estimate, shrunk=shrunk, excluding_holdout=fewer)


def distinct(estimate: Estimate) -> Estimate:
    """Sort states by share, largest first, and join states with equal orderings: a model holds each ordering once."""
    keys = [ordering.tobytes() for ordering in estimate.orderings]
    first: dict[bytes, int] = {}
    for z in np.argsort(-estimate.shares, kind="stable").tolist():
        first.setdefault(keys[z], z)
    kept, places = list(first.values()), {key: place for place, key in enumerate(first)}
    new = np.array([places[key] for key in keys])
    notes, shrunk, membership = estimate.warnings, estimate.shrunk, estimate.membership
    if len(kept) < len(keys):
        notes += (
            f"{len(keys)} states have only {pluralize(len(kept), 'different ordering')}; states with equal orderings "
            "were joined: use fewer states",
        )
    if shrunk is not None:
        shrunk = shrunk[0][kept], shrunk[1][kept]
    if membership is not None:
        membership = np.stack([membership[:, new == z].sum(axis=1) for z in range(len(kept))], axis=1)
    return replace(
        estimate,
        fits=tuple(estimate.fits[z] for z in kept),
        shares=np.bincount(new, weights=estimate.shares).astype(np.float64),
        labels=new[estimate.labels],
        warnings=notes,
        shrunk=shrunk,
        membership=membership,
    )
