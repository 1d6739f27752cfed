"""Fitted states, before they become a model, and what every way of fitting them shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, logsumexp

from lpbandits.model import PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.recovery.bradley_terry import BradleyTerry
from lpbandits.recovery.pairs import Comparisons
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import Stopwatch, counted, share_text
from lpbandits.typing import FloatArray, IntArray, Json

SHOWN = 20
"""How many labels of never-compared actions a report lists; it always counts them all."""

FEW_PEOPLE = 10
FEW_SHARE = 0.01
"""A state with fewer people, or a smaller share of them, is warned of."""

TOP = 5
FEW_RATERS = 5
"""A state of whose `TOP` first actions one was rated by fewer people in it is warned of."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """One Bradley-Terry fit and one share per state, and how they were found."""

    fits: tuple[BradleyTerry, ...]
    shares: FloatArray
    labels: IntArray
    """The likeliest state of each person."""
    warnings: tuple[str, ...] = ()
    history: tuple[float, ...] = ()

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
        self, ratings: Ratings, comparisons: Comparisons, states: int, *, watch: Stopwatch, threads: Threads
    ) -> Estimate:
        """Return `states` fitted states."""


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
            f"{len(order)} states were fitted but only {counted(len(fits), 'ordering is', 'orderings are')} different; "
            "states with equal orderings were joined: ask for fewer states",
        )
    shares = np.bincount(new, weights=estimate.shares).astype(np.float64)
    return Estimate(tuple(fits), shares, new[estimate.labels], notes, estimate.history)


def to_model(estimate: Estimate, ratings: Ratings, provenance: Mapping[str, Any]) -> PreferenceModel:
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
        provenance=provenance,
    )


def size_notes(estimate: Estimate) -> list[str]:
    """Return a warning per state that hardly anybody is in; people count in their likeliest state."""
    people = np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist()
    return [
        f"state {z} has only {counted(people[z], 'person', 'people')} ({share_text(float(share))}): its ordering says "
        "little about others; ask for fewer states"
        for z, share in enumerate(estimate.shares)
        if people[z] < FEW_PEOPLE or share < FEW_SHARE
    ]


def top_notes(estimate: Estimate, ratings: Ratings) -> list[str]:
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


def graph_notes(estimate: Estimate, ratings: Ratings) -> tuple[list[Json], list[str]]:
    """Return, per state, the actions never compared, and warnings about them and about graphs in pieces."""
    never, notes = [], []
    for z, fit in enumerate(estimate.fits):
        absent = np.flatnonzero(fit.never_compared)
        never.append({"count": len(absent), "actions": [ratings.actions[a] for a in absent[:SHOWN].tolist()]})
        if len(absent):
            notes.append(
                f"state {z}: {len(absent)} of {len(ratings.actions)} actions were never compared and are put last"
            )
        if fit.components > 1:
            notes.append(
                f"state {z}: the comparisons fall into {fit.components} pieces that only the prior ties together"
            )
        if not fit.converged:
            notes.append(f"state {z}: utilities had not settled after {fit.passes} passes; use a smaller prior_sd")
    return never, notes
