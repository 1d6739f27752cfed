"""`Estimator` and `Estimate`: the interface of fitting methods, their result, and its likelihood."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from scipy.special import expit, logsumexp

from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import BradleyTerry
from lpbandits.fit.comparisons import Comparisons, compare, compared
from lpbandits.fit.kernels.comparisons import history_log_likelihoods
from lpbandits.fit.shrinkage import Shrunk
from lpbandits.fit.shrinkage import shrink as shrink_utilities
from lpbandits.fit.uncertainty import Scatter
from lpbandits.model import MAX_LOGIT_ERROR, PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.text import pluralize
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json, Label
from lpbandits.validate import short_repr

States = int | Literal["auto"]

ROUNDS = 500
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
    """Log-posterior after each EM step."""
    excluding_holdout: "Estimate | None" = None
    """The same states, fitted without the held-out people."""
    shrunk: Shrunk | None = None
    """Utilities and errors shrunk over states, which replace those of the fits."""
    membership: FloatArray | None = None
    """people × states: probability of each state; None: 1 for the likeliest state."""

    @property
    def utilities(self) -> FloatArray:
        """m×k utilities: shrunk ones, or the fits' centred β."""
        return np.stack([fit.utilities for fit in self.fits]) if self.shrunk is None else self.shrunk.utilities

    @property
    def errors(self) -> FloatArray:
        """m×k standard deviations of the utilities."""
        return np.stack([fit.standard_errors for fit in self.fits]) if self.shrunk is None else self.shrunk.errors

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


class Estimator(Protocol):
    """A fitting method: frozen settings, called with the data and the number of states.

    The result must depend on settings and arguments only, have shares that sum to 1 and finite standard errors
    (`uncertainty.scatter` computes them), and may have fewer states than requested, with a warning. The data are blocks
    of people; a method that needs all people at once calls `log.subset(all people)`.
    """

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def seed(self) -> int:
        """Random seed."""

    def settings(self) -> Json:
        """Return the settings as a JSON object."""

    def among(self, people: IntArray) -> "Estimator":
        """Return the estimator for a subset of the people (indices): per-person settings are subset, too."""

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
    names = ("method", "seed", "settings", "among", "__call__")
    if isinstance(value, type) or not all(hasattr(value, name) for name in names):
        raise InvalidInput(f"estimator must be TwoStage(…), Em(…) or one like them, got {short_repr(value)}")
    estimator: Estimator = value
    return estimator


def log_likelihoods(comparisons: Comparisons, utilities: FloatArray, *, threads: Threads | None = None) -> FloatArray:
    """Return people × states: the log-probability of each person's comparisons under each state's utilities.

    >>> log = Ratings.from_arrays([0, 0], [0, 1], [5, 1])
    >>> log_likelihoods(compare(log), np.array([[0.0, 0.0], [1.0, -1.0]])).round(4).tolist()
    [[-0.6931, -0.1269]]
    """
    shifted = np.ascontiguousarray(utilities - utilities.max(axis=1, keepdims=True))
    spread = max(float(-shifted.min()), 1.0)
    out = np.empty((len(comparisons.person), len(utilities)))
    (threads or Threads(1)).run(
        history_log_likelihoods,
        len(comparisons.person),
        *(comparisons.offsets, comparisons.action, comparisons.below, comparisons.through),
        *(shifted, np.exp(shifted), int(np.clip(600 / spread, 1, ROUNDS)), out),
        blocks=16,
        smallest=16,
    )
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

    >>> total, membership = mixture(np.log([[0.2, 0.6]]), np.array([0.5, 0.5]))
    >>> np.exp(total).round(6).tolist(), membership.round(6).tolist()
    ([0.4], [[0.25, 0.75]])
    """
    with np.errstate(divide="ignore"):  # a state may have share 0
        joint = values + np.log(shares)
    total = logsumexp(joint, axis=1)
    return total, np.exp(joint - total[:, None])


@dataclass(frozen=True)
class FitScore:
    """Log-likelihood of comparisons, with their number and the number of ties."""

    log_likelihood: float
    pairs: float
    ties: float

    @property
    def mean(self) -> float:
        """Mean log-likelihood per comparison."""
        return self.log_likelihood / self.pairs

    @property
    def tie_share(self) -> float:
        """Share of comparisons that are ties."""
        return self.ties / self.pairs


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
    sums = list(log.map(_score_block, *common, per_person=per_person))
    return FitScore(*(float(sum(one)) for one in zip(*sums, strict=True)))


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
    """Set the standard errors of the fits and, if `shrink`, shrink their utilities over states.

    `excluding_holdout` is shrunk with the same scatter.
    """
    pairs = zip(estimate.fits, scatters, strict=True)
    estimate = replace(estimate, fits=tuple(replace(fit, standard_errors=one.errors(prior_sd)) for fit, one in pairs))
    if not shrink:
        return estimate
    fewer = estimate.excluding_holdout
    return replace(
        estimate,
        shrunk=_shrunk(estimate, scatters, prior_sd),
        excluding_holdout=None if fewer is None else replace(fewer, shrunk=_shrunk(fewer, scatters, prior_sd)),
    )


def _shrunk(estimate: Estimate, scatters: Sequence[Scatter], prior_sd: float) -> Shrunk:
    return shrink_utilities(estimate.utilities, ~estimate.never_compared, scatters, prior_sd=prior_sd)


def distinct(estimate: Estimate) -> Estimate:
    """Sort states by share, largest first, and join states with equal orderings: a model holds each ordering once."""
    order = np.lexsort((np.arange(len(estimate.shares)), -estimate.shares)).tolist()
    places: dict[bytes, int] = {}
    kept: list[int] = []
    new = np.empty(len(order), dtype=np.int64)
    orderings = estimate.orderings
    for z in order:
        key = orderings[z].tobytes()
        if key not in places:
            places[key] = len(kept)
            kept.append(z)
        new[z] = places[key]
    notes = estimate.warnings
    if len(kept) < len(order):
        notes += (
            f"{len(order)} states have only {pluralize(len(kept), 'different ordering')}; states with equal orderings "
            "were joined: use fewer states",
        )
    shrunk, membership = estimate.shrunk, estimate.membership
    if shrunk is not None:
        shrunk = Shrunk(shrunk.utilities[kept], shrunk.errors[kept])
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


def to_model(estimate: Estimate, actions: Sequence[Label], **others: Any) -> PreferenceModel:
    """Return the model: orderings, the sigmoid of the utilities, their errors, and shares as prior.

    An unknown action comes last and gets the lowest utility of those known.
    """
    utilities = expit(estimate.utilities)
    for row, unknown in zip(utilities, estimate.unknown, strict=True):
        if not unknown.all():
            row[unknown] = row[~unknown].min()
    return PreferenceModel(
        estimate.orderings,
        actions=actions,
        prior=estimate.shares,
        utilities=utilities,
        errors=np.minimum(estimate.errors, MAX_LOGIT_ERROR),
        **others,
    )
