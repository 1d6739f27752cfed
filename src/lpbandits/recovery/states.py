"""How many states? Score fits on people they have not seen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput
from lpbandits.recovery.estimate import Estimator, mixture
from lpbandits.recovery.log import Ratings
from lpbandits.recovery.pairs import compare, log_likelihoods
from lpbandits.recovery.report import Progress, Stopwatch
from lpbandits.recovery.threads import Threads
from lpbandits.recovery.two_stage import TwoStage
from lpbandits.typing import FloatArray, IntArray, Json

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12)


@dataclass(frozen=True, eq=False)
class StateCurve:
    """Held-out log-likelihood per comparison for several numbers of states.

    Parameters
    ----------
    candidates
        The numbers of states tried.
    log_likelihood
        Mean log-likelihood per comparison of people not used in the fit.
    below_best
        How far each lies below the best, and the standard error of that difference over people.
    states
        The choice: the fewest states whose difference from the best is at most one standard error.
    people
        How many people were set aside.
    """

    candidates: tuple[int, ...]
    log_likelihood: FloatArray
    below_best: FloatArray
    standard_error: FloatArray
    states: int
    people: int

    def rows(self) -> list[Json]:
        """Return the curve as one JSON object per number of states."""
        return [
            {
                "states": m,
                "heldout_log_likelihood": float(value),
                "below_best": float(gap),
                "standard_error": float(se),
            }
            for m, value, gap, se in zip(
                self.candidates, self.log_likelihood, self.below_best, self.standard_error, strict=True
            )
        ]


def choose_states(
    ratings: Ratings,
    *,
    estimator: Estimator | None = None,
    candidates: Sequence[int] = CANDIDATES,
    heldout: float = 0.2,
    pairs_per_person: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> StateCurve:
    """Fit each number of states to some people and score it on the others.

    Parameters
    ----------
    estimator
        `TwoStage(…)` (by default on the cosine scale) or `Em(…)`.
    heldout
        The share of people set aside for scoring.

    >>> rows = [(n, a, (a if n % 2 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(40) for a in range(4)]
    >>> choose_states(Ratings.from_arrays(*zip(*rows)), candidates=[1, 2, 3]).states
    2
    """
    numbers = sorted({validate.as_count(m, "candidates") for m in candidates})
    used, unused = split_people(len(ratings.people), heldout, seed)
    numbers = [m for m in numbers if m <= len(used)]
    if not numbers or not len(unused):
        raise InvalidInput(
            f"{len(ratings.people)} people are too few to set a share of {heldout:g} aside and fit the others; "
            "give the number of states"
        )
    model = estimator or TwoStage(scale="cosine", seed=seed)
    watch = Stopwatch(progress)
    scores = []
    with Threads(threads) as pool:
        for i, m in enumerate(numbers):
            with watch.part("how many states", i, len(numbers)):
                score, pairs = heldout_scores(ratings, used, unused, model, m, pairs_per_person, pool)
                scores.append(score)
    return _choice(tuple(numbers), np.stack(scores), pairs)


def _choice(numbers: tuple[int, ...], scores: FloatArray, pairs: FloatArray) -> StateCurve:
    total = pairs.sum()
    value = scores.sum(axis=1) / total
    best = int(value.argmax())
    gaps = (scores[best] - scores) / total
    # The sum over n people of independent differences has n times the variance of one.
    error = gaps.std(axis=1, ddof=min(1, len(pairs) - 1)) * np.sqrt(len(pairs))
    below = gaps.sum(axis=1)
    chosen = int(np.flatnonzero(below <= error)[0])
    return StateCurve(numbers, value, below, error, numbers[chosen], len(pairs))


def split_people(people: int, heldout: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the people to use and those to set aside, drawn at random by `seed`.

    >>> [len(part) for part in split_people(10, 0.2, 0)]
    [8, 2]
    """
    share = validate.as_number(heldout, "heldout", low=0, high=0.9)
    order = np.random.default_rng([validate.as_seed(seed), 1]).permutation(people)
    aside = round(share * people)
    return np.sort(order[aside:]), np.sort(order[:aside])


def heldout_scores(
    ratings: Ratings,
    used: IntArray,
    unused: IntArray,
    estimator: Estimator,
    states: int,
    pairs_per_person: int | None,
    threads: Threads,
) -> tuple[FloatArray, FloatArray]:
    """Fit the people used; return log-likelihood and number of comparisons of each person set aside."""
    log = ratings.subset(used)
    comparisons = compare(log, pairs_per_person=pairs_per_person, seed=estimator.seed, threads=threads)
    estimate = estimator.among(used)(log, comparisons, states, watch=Stopwatch(), threads=threads)
    others = compare(ratings.subset(unused), threads=threads)
    total, _ = mixture(log_likelihoods(others, estimate.utilities, threads=threads), estimate.shares)
    return total, others.pairs
