"""Fitted states, before they become a model: what every way of fitting them shares, and what to warn a user of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, logsumexp

from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import BradleyTerry
from lpbandits.fit.certainty import chance_above
from lpbandits.fit.comparisons import compare, compared, log_likelihoods
from lpbandits.fit.scatter import Scatter
from lpbandits.fit.shrinkage import Shrunk, shrink
from lpbandits.model import MAX_LOGIT_ERROR, PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.text import pluralize, share_text
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json, Label
from lpbandits.validate import CONVERSION_ERRORS, short_repr

FEW_PEOPLE = 10
FEW_SHARE = 0.01
"""A state with fewer people, or a smaller share of them, gets a warning."""

TOP = 5
FEW_RATERS = 5
"""A state gets a warning if one of its `TOP` first actions was rated by fewer people in it."""

FAR = 10
SURE = 0.9
"""A state gets a warning if its first action is less surely above the one at place `FAR` (of few actions, half way)."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """One Bradley-Terry fit and one share per state, and how they were found."""

    fits: tuple[BradleyTerry, ...]
    shares: FloatArray
    labels: IntArray
    """The likeliest state of each person."""
    warnings: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    excluding_holdout: "Estimate | None" = None
    """The same states, fitted without some of the people: to be scored on them."""
    shrunk: Shrunk | None = None
    """What is believed instead of the fits' utilities and errors, if they were shrunk over states."""
    chance: FloatArray | None = None
    """people × states: how probably each is in which; None: everybody is in their likeliest for certain."""

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
        """m×k: True for actions whose utility says nothing, so that they come last.

        Those never compared in the state; or, since shrinkage borrows from other states, in any state.
        """
        never = self.never_compared
        return never if self.shrunk is None else np.broadcast_to(never.all(axis=0), never.shape)

    @property
    def orderings(self) -> IntArray:
        """m×k: all actions, highest utility first; of equal ones, the higher in the fit, then the lower index."""
        rows = zip(self.unknown, self.utilities, self.fits, strict=True)
        return np.stack([np.lexsort((-fit.utilities, -utility, unknown)) for unknown, utility, fit in rows])


class Estimator(Protocol):
    """A way of finding states: frozen settings, called with the data and how many states to find.

    It must depend on nothing but its settings and arguments, return shares that sum to 1 and fits with finite standard
    errors (`scatter` makes them), and may return fewer states than asked for, with a warning. The data are blocks of
    people; one that needs everybody at once takes `log.subset(all people)`.
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
        log: Blocks,
        states: int,
        *,
        pairs_per_person: int | None = None,
        holdout: IntArray | None = None,
        watch: Stopwatch,
    ) -> Estimate:
        """Return `states` fitted states; if that costs little, also `without` the people `aside` (by index)."""


def as_estimator(value: Any) -> Estimator:
    """Return `value` if it is a way of finding states."""
    try:
        fits = all(hasattr(value, name) for name in ("method", "seed", "settings", "among", "__call__"))
    except CONVERSION_ERRORS:
        fits = False
    if isinstance(value, type) or not fits:
        raise InvalidInput(f"estimator is {short_repr(value)}; give TwoStage(…), Em(…) or one like them")
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


@dataclass(frozen=True)
class FitScore:
    """How well states foresee comparisons: log-likelihoods and numbers, summed over people."""

    log_likelihood: float
    pairs: float
    ties: float

    @property
    def mean(self) -> float:
        """The mean log-likelihood of a comparison."""
        return self.log_likelihood / self.pairs

    @property
    def tied(self) -> float:
        """The share of comparisons that are ties."""
        return self.ties / self.pairs


def score_comparisons(
    log: Blocks,
    estimate: Estimate,
    *,
    pairs_per_person: int | None = None,
    seed: int = 0,
    only: BoolArray | None = None,
) -> FitScore:
    """Return how well the mixture over states foresees the comparisons of all people, or only of some."""
    people = len(log.log.people)
    own = (np.arange(people), np.ones(people, dtype=np.bool_) if only is None else only)
    common = (estimate.utilities, estimate.shares, pairs_per_person, seed)
    sums = list(log.map(_score_block, *common, per_person=own))
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


def shrunk_over_states(estimate: Estimate, scatters: Sequence[Scatter], *, prior_sd: float) -> Estimate:
    """Return the same with utilities shrunk over states, also those without some of the people."""
    utilities = np.stack([fit.utilities for fit in estimate.fits])
    shrunk = shrink(utilities, ~estimate.never_compared, scatters, prior_sd=prior_sd)
    less = estimate.excluding_holdout
    without = None if less is None else shrunk_over_states(less, scatters, prior_sd=prior_sd)
    return replace(estimate, shrunk=shrunk, excluding_holdout=without)


def distinct(estimate: Estimate) -> Estimate:
    """Put the largest state first and join states with equal orderings: a model holds each ordering once."""
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
            f"{len(order)} states were fitted with only {pluralize(len(kept), 'different ordering')}; "
            "states with equal orderings were joined: ask for fewer states",
        )
    shares = np.bincount(new, weights=estimate.shares).astype(np.float64)
    fits = tuple(estimate.fits[z] for z in kept)
    shrunk = estimate.shrunk
    if shrunk is not None:
        shrunk = Shrunk(shrunk.utilities[kept], shrunk.errors[kept])
    chance = estimate.chance
    if chance is not None:
        chance = np.stack([chance[:, new == z].sum(axis=1) for z in range(len(kept))], axis=1)
    labels = new[estimate.labels]
    return replace(estimate, fits=fits, shares=shares, labels=labels, warnings=notes, shrunk=shrunk, chance=chance)


def to_model(estimate: Estimate, actions: Sequence[Label], provenance: Mapping[str, Any]) -> PreferenceModel:
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
        provenance=provenance,
    )


def warnings_about(estimate: Estimate, raters: IntArray) -> list[str]:
    """Return what a user should know before trusting the states; people count in their likeliest one.

    `raters` are m×k: how many people of each state rated each action.
    """
    return [
        *_small_states(estimate),
        *_shaky_tops(estimate, raters),
        *_unsure_firsts(estimate),
        *_loose_ends(estimate),
    ]


def _small_states(estimate: Estimate) -> list[str]:
    people = np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist()
    return [
        f"state {z} has only {pluralize(people[z], 'person', 'people')} ({share_text(float(share))}): its ordering "
        "says little about others; ask for fewer states"
        for z, share in enumerate(estimate.shares)
        if people[z] < FEW_PEOPLE or share < FEW_SHARE
    ]


def _shaky_tops(estimate: Estimate, raters: IntArray) -> list[str]:
    """Return a warning when first places rest on the ratings of very few people."""
    shaky = []
    never = estimate.never_compared
    for z, ordering in enumerate(estimate.orderings):
        top = [a for a in ordering[:TOP].tolist() if not never[z, a]]
        if any(raters[z, a] < FEW_RATERS for a in top):
            shaky.append(str(z))
    if not shaky:
        return []
    return [
        f"{_states(shaky)}: some of the {TOP} most preferred actions were "
        f"rated by fewer than {FEW_RATERS} people in the state; keep only actions with more ratings (--min-action)"
    ]


def _unsure_firsts(estimate: Estimate) -> list[str]:
    """Return a warning when first places might as well belong to actions far below them."""
    actions = estimate.utilities.shape[1]
    far = min(FAR, (actions + 1) // 2)
    if far < 2:
        return []
    unsure = [
        str(z)
        for z, order in enumerate(estimate.orderings)
        if chance_above(estimate.utilities[z], estimate.errors[z], order[0], order[far - 1]) < SURE
    ]
    if not unsure:
        return []
    return [
        f"{_states(unsure)}: the first action is not surely ({SURE:.0%}) above the one at place {far}, so first places "
        "are open; more people or fewer states settle them (lpb inspect shows the intervals)"
    ]


def _states(numbers: list[str]) -> str:
    return f"{'state' if len(numbers) == 1 else 'states'} {', '.join(numbers)}"


def _loose_ends(estimate: Estimate) -> Iterator[str]:
    """Yield warnings of actions never compared, graphs in pieces, and utilities that did not settle."""
    for z, fit in enumerate(estimate.fits):
        absent = int(fit.never_compared.sum())
        if absent:
            alone = bool(estimate.unknown[z][fit.never_compared].all())
            where = " and are put last" if alone else "; they stand where other states have them, or last"
            yield f"state {z}: {absent} of {len(fit.utilities)} actions were never compared{where}"
        if fit.components > 1:
            yield f"state {z}: the comparisons fall into {fit.components} pieces that only the prior ties together"
        if not fit.converged:
            yield f"state {z}: utilities had not settled after {fit.passes} passes; use a smaller prior_sd"
