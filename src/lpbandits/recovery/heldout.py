"""People set aside: how well does a fit made without them do on them?"""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.recovery.estimate import Estimate, Estimator, mixture
from lpbandits.recovery.log import Ratings
from lpbandits.recovery.pairs import Comparisons, compare, log_likelihoods
from lpbandits.recovery.report import Stopwatch
from lpbandits.recovery.threads import Threads
from lpbandits.typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A log cut in two: people to fit, and people to score."""

    people: IntArray
    """The people to fit, by index."""
    log: Ratings
    comparisons: Comparisons
    others: Comparisons
    """The comparisons of the people set aside."""
    parts: tuple[Comparisons, Comparisons]
    """The same people's comparisons inside each of two random halves of their ratings."""

    def fit(self, estimator: Estimator, states: int, *, threads: Threads) -> Estimate:
        """Fit the people not set aside."""
        return estimator.among(self.people)(self.log, self.comparisons, states, watch=Stopwatch(), threads=threads)

    def log_likelihood(self, estimate: Estimate, *, threads: Threads) -> FloatArray:
        """Return the log-likelihood of each person set aside, under the mixture over states."""
        return mixture(log_likelihoods(self.others, estimate.utilities, threads=threads), estimate.shares)[0]

    def prediction(self, estimate: Estimate, *, threads: Threads) -> FloatArray:
        """Return, per person set aside, the expected log-likelihood of half their comparisons, given the other half.

        Comparisons of one person share the noise of their ratings, and a mixture gains by states that mimic this noise.
        Here the noise in the half that tells the state says nothing about the half that is scored. Both ways are added.
        """
        values = [log_likelihoods(part, estimate.utilities, threads=threads) for part in self.parts]
        chances = [mixture(value, estimate.shares)[1] for value in values]
        score: FloatArray = np.sum(chances[0] * values[1] + chances[1] * values[0], axis=1)
        return score


def set_aside(
    ratings: Ratings, share: float, *, seed: int, pairs_per_person: int | None, threads: Threads
) -> HeldOut | None:
    """Set a share of the people aside, drawn by `seed`; None if nothing could then be fitted or scored."""
    used, unused = split_people(len(ratings.people), share, seed)
    if not np.any(ratings.counts[used] > 1) or not np.any(ratings.counts[unused] > 3):
        return None
    log, other = ratings.subset(used), ratings.subset(unused)
    first = first_half(other, seed)
    return HeldOut(
        people=used,
        log=log,
        comparisons=compare(log, pairs_per_person=pairs_per_person, seed=seed, threads=threads),
        others=compare(other, threads=threads),
        parts=(compare(other.keep(first), threads=threads), compare(other.keep(~first), threads=threads)),
    )


def split_people(people: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the people to use and those to set aside, drawn at random by `seed`.

    >>> [len(part) for part in split_people(10, 0.2, 0)]
    [8, 2]
    """
    part = validate.as_number(share, "heldout", low=0, high=0.9)
    order = np.random.default_rng([validate.as_seed(seed), 1]).permutation(people)
    aside = round(part * people)
    return np.sort(order[aside:]), np.sort(order[:aside])


def first_half(ratings: Ratings, seed: int) -> BoolArray:
    """Mark a random half of each person's ratings.

    >>> log = Ratings.from_arrays([0] * 4 + [1] * 3, [0, 1, 2, 3, 0, 1, 2], range(7))
    >>> half = first_half(log, 0)
    >>> int(half[:4].sum()), int(half[4:].sum())
    (2, 1)
    """
    owner = ratings.owner
    order = np.lexsort((np.random.default_rng([seed, 2]).random(len(ratings)), owner))
    place = np.empty(len(ratings), dtype=np.int64)
    place[order] = np.arange(len(ratings))
    return place - ratings.offsets[owner] < ratings.counts[owner] // 2
