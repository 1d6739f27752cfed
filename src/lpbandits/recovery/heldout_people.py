"""People set aside, and how well a fit made without them does on them."""

from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.parallel import Threads
from lpbandits.recovery.estimate import Estimate, Estimator, mixture
from lpbandits.recovery.pairs import Comparisons, compare, log_likelihoods
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import Stopwatch
from lpbandits.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A log cut in two: people to fit, and people to score."""

    people: IntArray
    """The people to fit, by index."""
    log: Ratings
    comparisons: Comparisons
    others: Comparisons
    """The comparisons of the people set aside."""

    def fit(self, estimator: Estimator, states: int, *, threads: Threads) -> Estimate:
        """Fit the people not set aside."""
        return estimator.among(self.people)(self.log, self.comparisons, states, watch=Stopwatch(), threads=threads)

    def log_likelihood(self, estimate: Estimate, *, threads: Threads) -> FloatArray:
        """Return the log-likelihood of each person set aside, under the mixture over states."""
        return mixture(log_likelihoods(self.others, estimate.utilities, threads=threads), estimate.shares)[0]

    def score(self, estimate: Estimate, *, threads: Threads) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood when a person's n ratings count as n − 1 comparisons, and those numbers n − 1.

        The n(n − 1)/2 comparisons of one person share the noise of n ratings. Counted in full, they reward states that
        mimic this noise, and more states always seem better; scaled by 2/n they do not.
        """
        ratings = np.bincount(self.others.person, weights=np.diff(self.others.offsets), minlength=self.others.people)
        values = log_likelihoods(self.others, estimate.utilities, threads=threads)
        scaled = values * (2 / np.maximum(ratings, 2))[:, None]
        return mixture(scaled, estimate.shares)[0], np.maximum(ratings - 1, 0)


def set_aside(
    ratings: Ratings, share: float, *, seed: int, pairs_per_person: int | None, threads: Threads
) -> HeldOut | None:
    """Set a share of the people aside, drawn by `seed`; None if nothing could then be fitted or scored."""
    used, unused = split_people(len(ratings.people), share, seed)
    if not np.any(ratings.counts[used] > 1) or not np.any(ratings.counts[unused] > 1):
        return None
    log = ratings.subset(used)
    return HeldOut(
        people=used,
        log=log,
        comparisons=compare(log, pairs_per_person=pairs_per_person, seed=seed, threads=threads),
        others=compare(ratings.subset(unused), threads=threads),
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
