"""People set aside: how well a fit made without them does on them, and how many states do best there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, door
from lpbandits.parallel import Progress, Threads
from lpbandits.recovery.estimate import Estimate, Estimator, as_estimator, mean_log_likelihood, mixture
from lpbandits.recovery.pairs import Comparisons, compare, log_likelihoods
from lpbandits.recovery.ratings import Ratings, as_log
from lpbandits.recovery.report import Stopwatch
from lpbandits.recovery.size import check_fit
from lpbandits.recovery.two_stage import TwoStage
from lpbandits.typing import FloatArray, IntArray, Json

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def candidates_up_to(most: int | None) -> tuple[int, ...]:
    """Return the numbers of states to try, up to the most: finely at first, then by a fifth to a third more each time.

    >>> candidates_up_to(None) == CANDIDATES, candidates_up_to(3), candidates_up_to(30)
    (True, (1, 2, 3), (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30))
    """
    if most is None:
        return CANDIDATES
    doubled = (step * 2**power for power in range(most.bit_length()) for step in (4, 5, 6))
    return tuple(sorted({m for m in (1, 2, 3, *doubled) if m < most} | {most}))


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

    def log_likelihood(self, estimate: Estimate, *, threads: Threads) -> float:
        """Return the mean log-likelihood per comparison of the people set aside."""
        return mean_log_likelihood(self.others, estimate, threads=threads)

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


@dataclass(frozen=True)
class HeldOutScore:
    """Mean log-likelihood per comparison of people not in the fit (None: too few people), and whom it rests on."""

    log_likelihood: float | None = None
    people: int = 0
    """How many people were set aside and scored."""
    fit_people: int = 0
    """How many others the fit that they were scored by was made with."""


def score_heldout(
    ratings: Ratings,
    estimator: Estimator,
    states: int,
    *,
    share: float,
    without: Estimate | None,
    pairs_per_person: int | None,
    threads: Threads,
) -> HeldOutScore:
    """Score a fit on a share of the people: `without`, made without them, or else a second fit."""
    if without is None:
        parts = set_aside(ratings, share, seed=estimator.seed, pairs_per_person=pairs_per_person, threads=threads)
        if parts is None or len(parts.people) < states:
            return HeldOutScore()
        without, used, others = parts.fit(estimator, states, threads=threads), parts.people, parts.others
    else:
        used, unused = split_people(len(ratings.people), share, estimator.seed)
        others = compare(ratings.subset(unused), threads=threads)
        if not others.pairs.any():
            return HeldOutScore()
    return HeldOutScore(mean_log_likelihood(others, without, threads=threads), others.people, len(used))


@dataclass(frozen=True, eq=False)
class StateCurve:
    """How well different numbers of states do on people not used in the fit.

    Parameters
    ----------
    candidates
        The numbers of states tried.
    log_likelihood
        Mean log-likelihood per comparison of the people set aside. It tends to rise with ever more states, because
        comparisons of one person share the noise of that person's ratings.
    score
        The same when a person's n ratings count as n − 1 comparisons instead of n(n − 1)/2; it has its peak near the
        right number.
    below_best, standard_error
        How far each score lies below the best, and the standard error of that difference over people.
    states
        The choice: the fewest states whose score is at most one standard error below the best.
    people
        How many people were set aside.
    """

    candidates: tuple[int, ...]
    log_likelihood: FloatArray
    score: FloatArray
    below_best: FloatArray
    standard_error: FloatArray
    states: int
    people: int

    def score_of_choice(self, people: int) -> HeldOutScore:
        """Return how the choice did on the people set aside, of so many in the log."""
        value = float(self.log_likelihood[self.candidates.index(self.states)])
        return HeldOutScore(value, self.people, people - self.people)

    def rows(self) -> list[Json]:
        """Return the curve as one JSON object per number of states."""
        return [
            {
                "states": m,
                "heldout_log_likelihood": float(self.log_likelihood[i]),
                "score": float(self.score[i]),
                "below_best": float(self.below_best[i]),
                "standard_error": float(self.standard_error[i]),
                "chosen": m == self.states,
            }
            for i, m in enumerate(self.candidates)
        ]


@door("choosing the number of states")
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
        `TwoStage(…)`, the default, or `Em(…)`.
    heldout
        The share of people set aside for scoring.

    >>> rows = [(n, a, (a if n % 2 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(40) for a in range(4)]
    >>> choose_states(Ratings.from_arrays(*zip(*rows)), candidates=[1, 2, 3]).states
    2
    """
    as_log(ratings)
    model = TwoStage(seed=seed) if estimator is None else as_estimator(estimator)
    watch = Stopwatch(progress)
    whole, scores = [], []
    with Threads(threads) as pool:
        parts = set_aside(ratings, heldout, seed=seed, pairs_per_person=pairs_per_person, threads=pool)
        numbers = sorted(
            {validate.as_count(m, "candidates") for m in validate.as_list(candidates, "candidates", "numbers")}
        )
        numbers = [m for m in numbers if parts is not None and m <= len(parts.people)]
        if parts is None or not numbers:
            raise InvalidInput(
                f"{len(ratings.people)} people are too few to set a share of {heldout:g} aside and fit the others; "
                "give the number of states"
            )
        check_fit(parts.log, max(numbers), model, pairs_per_person=pairs_per_person, workers=pool.count)
        for i, m in enumerate(numbers):
            with watch.part("how many states", i, len(numbers)):
                estimate = parts.fit(model, m, threads=pool)
                whole.append(parts.log_likelihood(estimate, threads=pool))
                score, weight = parts.score(estimate, threads=pool)
                scores.append(score)
    return _choice(tuple(numbers), np.array(whole), np.stack(scores), float(weight.sum()))


def _choice(numbers: tuple[int, ...], whole: FloatArray, scores: FloatArray, total: float) -> StateCurve:
    people = scores.shape[1]
    value = scores.sum(axis=1) / total
    best = int(value.argmax())
    gaps = (scores[best] - scores) / total
    # The sum over n people of independent differences has n times the variance of one.
    error = gaps.std(axis=1, ddof=min(1, people - 1)) * np.sqrt(people)
    below = gaps.sum(axis=1)
    chosen = int(np.flatnonzero(below <= error)[0])
    return StateCurve(numbers, whole, value, below, error, numbers[chosen], people)
