"""People set aside: how well a fit made without them does on them, and how many states do best there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, MemoryBlocks
from lpbandits.data.memory import BYTES_PER_RATING
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import kmeans_sample
from lpbandits.fit.comparisons import compared, log_likelihoods
from lpbandits.fit.estimator import Estimate, Estimator, as_estimator, mixture, score_comparisons
from lpbandits.fit.two_stage import TwoStage
from lpbandits.parallel import Threads
from lpbandits.progress import Progress, Stopwatch
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
    log: Blocks
    others: Blocks
    """The people set aside."""
    pairs_per_person: int | None

    def fit(self, estimator: Estimator, states: int) -> Estimate:
        """Fit the people not set aside."""
        cap = self.pairs_per_person
        return estimator.among(self.people)(self.log, states, pairs_per_person=cap, watch=Stopwatch())

    def log_likelihood(self, estimate: Estimate) -> float:
        """Return the mean log-likelihood per comparison of the people set aside."""
        return score_comparisons(self.others, estimate).mean

    def score(self, estimate: Estimate) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood when a person's n ratings count as n − 1 comparisons, and those numbers n − 1.

        The n(n − 1)/2 comparisons of one person share the noise of n ratings. Counted in full, they reward states that
        mimic this noise, and more states always seem better; scaled by 2/n they do not.
        """
        counts = self.others.log.counts
        scores = list(self.others.map(_scored, estimate.utilities, estimate.shares))
        return np.concatenate(scores), np.maximum(counts - 1, 0).astype(np.float64)


def _scored(block: Ratings, threads: Threads, utilities: FloatArray, shares: FloatArray) -> FloatArray:
    comparisons = compared(block, pairs_per_person=None, seed=0, first=0, threads=threads)
    values = log_likelihoods(comparisons, utilities, threads=threads)
    return mixture(values * (2 / np.maximum(block.counts, 2))[:, None], shares)[0]


def split_holdout(log: Blocks, share: float, *, seed: int, pairs_per_person: int | None) -> HeldOut | None:
    """Set a share of the people aside, drawn by `seed`; None if nothing could then be fitted or scored.

    Both parts are in memory, so an enormous log is represented by a sample of its people.
    """
    shown = kmeans_sample(log, 1, seed)
    used, unused = (shown[part] for part in split_people(len(shown), share, seed))
    counts = log.log.counts
    if not np.any(counts[used] > 1) or not np.any(counts[unused] > 1):
        return None
    held = int(counts[shown].sum())
    log.budget.check(
        f"{held:,} ratings of people to fit and to score",
        BYTES_PER_RATING * held,
        "give a number of states (--states 5)",
    )
    fitted, others = (MemoryBlocks(log.subset(part), log.pool, log.budget.reserve(held)) for part in (used, unused))
    return HeldOut(used, fitted, others, pairs_per_person)


def split_people(people: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the people to use and those to set aside, drawn at random by `seed`.

    >>> [len(part) for part in split_people(10, 0.2, 0)]
    [8, 2]
    """
    part = validate.as_number(share, "heldout", low=0, high=0.9)
    order = np.random.default_rng([validate.as_seed(seed), 1]).permutation(people)
    holdout = round(part * people)
    return np.sort(order[holdout:]), np.sort(order[:holdout])


@dataclass(frozen=True)
class HeldOutScore:
    """Mean log-likelihood per comparison of people not in the fit (None: too few people), and whom it rests on."""

    log_likelihood: float | None = None
    people: int = 0
    """How many people were set aside and scored."""
    fit_people: int = 0
    """How many others the fit that they were scored by was made with."""


def score_heldout(
    log: Blocks,
    estimator: Estimator,
    states: int,
    *,
    share: float,
    without: Estimate | None,
    pairs_per_person: int | None,
) -> HeldOutScore:
    """Score a fit on a share of the people: `without`, made without them, or else a second fit."""
    if without is None:
        parts = split_holdout(log, share, seed=estimator.seed, pairs_per_person=pairs_per_person)
        if parts is None or len(parts.people) < states:
            return HeldOutScore()
        value = parts.log_likelihood(parts.fit(estimator, states))
        return HeldOutScore(value, len(parts.others.log.people), len(parts.people))
    people = len(log.log.people)
    used, unused = split_people(people, share, estimator.seed)
    if not np.any(log.log.counts[unused] > 1):
        return HeldOutScore()
    scored = score_comparisons(log, without, only=np.isin(np.arange(people), unused))
    return HeldOutScore(scored.mean, len(unused), len(used))


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


@translate_errors("choosing the number of states")
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
    as_ratings(ratings)
    model = TwoStage(seed=seed) if estimator is None else as_estimator(estimator)
    numbers = [validate.as_count(m, "candidates") for m in validate.as_list(candidates, "candidates", "numbers")]
    with Threads(threads) as pool:
        log = MemoryBlocks(ratings, pool)
        return curve_of(
            log,
            model,
            numbers,
            heldout=heldout,
            seed=seed,
            pairs_per_person=pairs_per_person,
            watch=Stopwatch(progress),
        )


def curve_of(
    log: Blocks,
    estimator: Estimator,
    candidates: Sequence[int],
    *,
    heldout: float = 0.2,
    seed: int | None = None,
    pairs_per_person: int | None,
    watch: Stopwatch,
) -> StateCurve:
    """Do what `choose_states` does, with a log in blocks."""
    people = len(log.log.people)
    luck = estimator.seed if seed is None else seed
    parts = split_holdout(log, heldout, seed=luck, pairs_per_person=pairs_per_person)
    numbers = [m for m in sorted(set(candidates)) if parts is not None and m <= len(parts.people)]
    if parts is None or not numbers:
        raise InvalidInput(
            f"{people} people are too few to set a share of {heldout:g} aside and fit the others; "
            "give the number of states"
        )
    whole, scores = [], []
    for i, m in enumerate(numbers):
        with watch.part("how many states", i, len(numbers)):
            estimate = parts.fit(estimator, m)
            whole.append(parts.log_likelihood(estimate))
            score, weight = parts.score(estimate)
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
