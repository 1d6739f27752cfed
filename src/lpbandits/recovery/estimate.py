"""Fitted states, before they become a model: what every way of fitting them shares, and what to warn a user of."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, logsumexp

from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.recovery.bradley_terry import BradleyTerry
from lpbandits.recovery.pairs import Comparisons, log_likelihoods
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import Stopwatch, counted, share_text
from lpbandits.taste import TasteModel
from lpbandits.typing import FloatArray, IntArray, Json
from lpbandits.validate import ODD, quoted

FEW_PEOPLE = 10
FEW_SHARE = 0.01
"""A state with fewer people, or a smaller share of them, gets a warning."""

TOP = 5
FEW_RATERS = 5
"""A state gets a warning if one of its `TOP` first actions was rated by fewer people in it."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """One Bradley-Terry fit and one share per state, and how they were found."""

    fits: tuple[BradleyTerry, ...]
    shares: FloatArray
    labels: IntArray
    """The likeliest state of each person."""
    warnings: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    without: "Estimate | None" = None
    """The same states, fitted without some of the people: to be scored on them."""

    @property
    def utilities(self) -> FloatArray:
        """m×k centred utilities β."""
        return np.stack([fit.utilities for fit in self.fits])


class Estimator(Protocol):
    """A way of finding states: frozen settings, called with the data and how many states to find.

    It must depend on nothing but its settings and arguments, return shares that sum to 1, and may return fewer states
    than asked for, with a warning.
    """

    @property
    def method(self) -> str:
        """The name a user knows it by."""

    @property
    def seed(self) -> int:
        """The seed of all it draws."""

    def settings(self) -> Json:
        """Return the settings as a JSON object."""

    def among(self, people: IntArray) -> "Estimator":
        """Return the same for some people only, by index: what is set person by person is set for them."""

    def __call__(
        self,
        ratings: Ratings,
        comparisons: Comparisons,
        states: int,
        *,
        aside: IntArray | None = None,
        watch: Stopwatch,
        threads: Threads,
    ) -> Estimate:
        """Return `states` fitted states; if that costs little, also `without` the people `aside` (by index)."""


def as_estimator(value: Any) -> Estimator:
    """Return `value` if it is a way of finding states."""
    try:
        fits = all(hasattr(value, name) for name in ("method", "seed", "settings", "among", "__call__"))
    except ODD:
        fits = False
    if isinstance(value, type) or not fits:
        raise InvalidInput(f"estimator is {quoted(value)}; give TwoStage(…), Em(…) or one like them")
    found: Estimator = value
    return found


def mixture(log_likelihoods: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each person's log-likelihood under the mixture, and the probabilities of their states.

    >>> total, chance = mixture(np.log([[0.2, 0.6]]), np.array([0.5, 0.5]))
    >>> np.exp(total).round(6).tolist(), chance.round(6).tolist()
    ([0.4], [[0.25, 0.75]])
    """
    with np.errstate(divide="ignore"):  # a state may have share 0
        joint = log_likelihoods + np.log(shares)
    total = logsumexp(joint, axis=1)
    return total, np.exp(joint - total[:, None])


def mean_log_likelihood(comparisons: Comparisons, estimate: Estimate, *, threads: Threads) -> float:
    """Return the mean log-likelihood per comparison under the mixture over states."""
    total, _ = mixture(log_likelihoods(comparisons, estimate.utilities, threads=threads), estimate.shares)
    return float(total.sum() / comparisons.pairs.sum())


def distinct(estimate: Estimate) -> Estimate:
    """Put the largest state first and join states with equal orderings: a model holds each ordering once."""
    order = np.lexsort((np.arange(len(estimate.shares)), -estimate.shares)).tolist()
    places: dict[bytes, int] = {}
    fits: list[BradleyTerry] = []
    new = np.empty(len(order), dtype=np.int64)
    for z in order:
        key = estimate.fits[z].ordering.tobytes()
        if key not in places:
            places[key] = len(fits)
            fits.append(estimate.fits[z])
        new[z] = places[key]
    notes = estimate.warnings
    if len(fits) < len(order):
        notes += (
            f"{len(order)} states were fitted with only {counted(len(fits), 'different ordering')}; "
            "states with equal orderings were joined: ask for fewer states",
        )
    shares = np.bincount(new, weights=estimate.shares).astype(np.float64)
    return replace(estimate, fits=tuple(fits), shares=shares, labels=new[estimate.labels], warnings=notes)


def to_model(
    estimate: Estimate, ratings: Ratings, provenance: Mapping[str, Any], taste: TasteModel | None = None
) -> PreferenceModel:
    """Return the model: orderings, the sigmoid of the utilities, and shares as prior.

    An action never compared in a state comes last there and gets the lowest utility of those compared.
    """
    utilities = expit(estimate.utilities)
    for row, fit in zip(utilities, estimate.fits, strict=True):
        if not fit.never_compared.all():
            row[fit.never_compared] = row[~fit.never_compared].min()
    return PreferenceModel(
        [fit.ordering for fit in estimate.fits],
        actions=ratings.actions,
        prior=estimate.shares,
        utilities=utilities,
        taste=taste,
        provenance=provenance,
    )


def warnings_about(estimate: Estimate, ratings: Ratings) -> list[str]:
    """Return what a user should know before trusting the states; people count in their likeliest one."""
    return [*_small_states(estimate), *_shaky_tops(estimate, ratings), *_loose_ends(estimate)]


def _small_states(estimate: Estimate) -> list[str]:
    people = np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist()
    return [
        f"state {z} has only {counted(people[z], 'person', 'people')} ({share_text(float(share))}): its ordering says "
        "little about others; ask for fewer states"
        for z, share in enumerate(estimate.shares)
        if people[z] < FEW_PEOPLE or share < FEW_SHARE
    ]


def _shaky_tops(estimate: Estimate, ratings: Ratings) -> list[str]:
    """Return a warning when first places rest on the ratings of very few people."""
    state = estimate.labels[ratings.owner]
    shaky = []
    for z, fit in enumerate(estimate.fits):
        raters = np.bincount(ratings.action[state == z], minlength=len(ratings.actions))
        top = [a for a in fit.ordering[:TOP].tolist() if not fit.never_compared[a]]
        if any(raters[a] < FEW_RATERS for a in top):
            shaky.append(str(z))
    if not shaky:
        return []
    return [
        f"{'state' if len(shaky) == 1 else 'states'} {', '.join(shaky)}: some of the {TOP} most preferred actions were "
        f"rated by fewer than {FEW_RATERS} people in the state; keep only actions with more ratings (--min-action)"
    ]


def _loose_ends(estimate: Estimate) -> Iterator[str]:
    """Yield warnings of actions never compared, graphs in pieces, and utilities that did not settle."""
    for z, fit in enumerate(estimate.fits):
        absent = int(fit.never_compared.sum())
        if absent:
            yield f"state {z}: {absent} of {len(fit.utilities)} actions were never compared and are put last"
        if fit.components > 1:
            yield f"state {z}: the comparisons fall into {fit.components} pieces that only the prior ties together"
        if not fit.converged:
            yield f"state {z}: utilities had not settled after {fit.passes} passes; use a smaller prior_sd"
