"""Held-out scores of a fit, and the choice of the number of states by them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, MemoryBlocks
from lpbandits.data.memory import BYTES_PER_RATING
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import kmeans_sample
from lpbandits.fit.comparisons import compared
from lpbandits.fit.estimator import (
    Estimate,
    Estimator,
    as_estimator,
    log_likelihoods,
    mixture,
    score_comparisons,
)
from lpbandits.fit.two_stage import TwoStage
from lpbandits.parallel import Threads
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import FloatArray, IntArray, Json

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12)


def candidates_up_to(max_states: int | None) -> tuple[int, ...]:
    """Return the numbers of states to try: small ones densely, then steps of a fifth to a third.

    >>> candidates_up_to(None) == CANDIDATES, candidates_up_to(3), candidates_up_to(30)
    (True, (1, 2, 3), (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30))
    """
    if max_states is None:
        return CANDIDATES
    doubled = (step * 2**power for power in range(max_states.bit_length()) for step in (4, 5, 6))
    return tuple(sorted({m for m in (1, 2, 3, *doubled) if m < max_states} | {max_states}))


@dataclass(frozen=True, eq=False)
class Holdout:
    """A log split into people to fit and held-out people to score."""

    people: IntArray
    """Indices of the people to fit."""
    training: Blocks
    heldout: Blocks
    pairs_per_person: int | None

    def fit(self, estimator: Estimator, states: int) -> Estimate:
        """Fit the training people."""
        cap = self.pairs_per_person
        return estimator.among(self.people)(self.training, states, pairs_per_person=cap, watch=Stopwatch())

    def log_likelihood(self, estimate: Estimate) -> float:
        """Return the mean log-likelihood per comparison of the held-out people."""
        return score_comparisons(self.heldout, estimate).mean

    def score(self, estimate: Estimate) -> FloatArray:
        """Return the log-likelihood of each held-out person, with n ratings counting as n − 1 comparisons.

        The n(n − 1)/2 comparisons of one person share the noise of n ratings. Counted in full, they reward states that
        mimic this noise, and more states always seem better; scaled by 2/n they do not.
        """
        return np.concatenate(list(self.heldout.map(_score_block, estimate.utilities, estimate.shares)))


def _score_block(block: Ratings, threads: Threads, utilities: FloatArray, shares: FloatArray) -> FloatArray:
    comparisons = compared(block, pairs_per_person=None, seed=0, first=0, threads=threads)
    values = log_likelihoods(comparisons, utilities, threads=threads)
    return mixture(values * (2 / np.maximum(block.counts, 2))[:, None], shares)[0]


def split_holdout(log: Blocks, share: float, *, seed: int, pairs_per_person: int | None) -> Holdout | None:
    """Hold out a random share of the people; None if one part would have no comparison.

    Both parts are in memory, so a very large log is represented by a sample of its people.
    """
    sample = kmeans_sample(log, 1, seed)
    used, unused = (sample[part] for part in split_people(len(sample), share, seed))
    counts = log.log.counts
    if not np.any(counts[used] > 1) or not np.any(counts[unused] > 1):
        return None
    size = int(counts[sample].sum())
    subject, remedy = f"{size:,} ratings of people to fit and to score", "give a number of states (--states 5)"
    log.budget.check(subject, BYTES_PER_RATING * size, remedy)
    budget = log.budget.reserve(size)
    training, heldout = (MemoryBlocks(log.subset(part), log.pool, budget) for part in (used, unused))
    return Holdout(used, training, heldout, pairs_per_person)


def split_people(people: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Split people at random; return the indices of training and held-out people.

    >>> [len(part) for part in split_people(10, 0.2, 0)]
    [8, 2]
    """
    part = validate.as_number(share, "heldout", low=0, high=0.9)
    order = np.random.default_rng([validate.as_seed(seed), 1]).permutation(people)
    n_heldout = round(part * people)
    return np.sort(order[n_heldout:]), np.sort(order[:n_heldout])


@dataclass(frozen=True)
class HeldOutScore:
    """Mean log-likelihood per comparison of held-out people; None with too few people."""

    log_likelihood: float | None = None
    people: int = 0
    """Number of held-out people."""
    fit_people: int = 0
    """Number of people in the fit that scores them."""


def score_heldout(
    log: Blocks,
    estimator: Estimator,
    states: int,
    *,
    share: float,
    excluding_holdout: Estimate | None,
    pairs_per_person: int | None,
) -> HeldOutScore:
    """Score a share of the people by `excluding_holdout`, a fit without them, or else by a second fit."""
    if excluding_holdout is None:
        parts = split_holdout(log, share, seed=estimator.seed, pairs_per_person=pairs_per_person)
        if parts is None or len(parts.people) < states:
            return HeldOutScore()
        value = parts.log_likelihood(parts.fit(estimator, states))
        return HeldOutScore(value, len(parts.heldout.log.people), len(parts.people))
    people = len(log.log.people)
    used, unused = split_people(people, share, estimator.seed)
    if not np.any(log.log.counts[unused] > 1):
        return HeldOutScore()
    score = score_comparisons(log, excluding_holdout, only=np.isin(np.arange(people), unused))
    return HeldOutScore(score.mean, len(unused), len(used))


@dataclass(frozen=True, eq=False)
class StateCurve:
    """Held-out scores by number of states.

    Parameters
    ----------
    candidates
        Numbers of states tried.
    log_likelihood
        Mean log-likelihood per comparison of the held-out people. It tends to rise with the number of states, because
        the comparisons of one person share the noise of that person's ratings.
    score
        The same with a person's n ratings counting as n − 1 comparisons instead of n(n − 1)/2. It peaks near the right
        number.
    below_best, standard_error
        Difference to the best score, and its standard error over people.
    states
        The choice: the fewest states with a score at most one standard error below the best.
    people
        Number of held-out people.
    """

    candidates: tuple[int, ...]
    log_likelihood: FloatArray
    score: FloatArray
    below_best: FloatArray
    standard_error: FloatArray
    states: int
    people: int

    def score_of_choice(self, people: int) -> HeldOutScore:
        """Return the held-out score of the choice, for a log of `people` people."""
        value = float(self.log_likelihood[self.candidates.index(self.states)])
        return HeldOutScore(value, self.people, people - self.people)

    def rows(self) -> list[Json]:
        """Return one JSON object per number of states."""
        columns = {
            "heldout_log_likelihood": self.log_likelihood,
            "score": self.score,
            "below_best": self.below_best,
            "standard_error": self.standard_error,
        }
        return [
            {"states": m, **{name: float(column[i]) for name, column in columns.items()}, "chosen": m == self.states}
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
    """Fit each number of states to a share of the people and score it on the others.

    Parameters
    ----------
    estimator
        `TwoStage(…)`, the default, or `Em(…)`.
    candidates
        Numbers of states to try.
    heldout
        Share of held-out people.

    Examples
    --------
    >>> rows = [(n, a, (a if n % 2 else -a) + 0.1 * ((7 * n + 3 * a) % 5)) for n in range(40) for a in range(4)]
    >>> choose_states(Ratings.from_arrays(*zip(*rows)), candidates=[1, 2, 3]).states
    2
    """
    as_ratings(ratings)
    method = TwoStage(seed=seed) if estimator is None else as_estimator(estimator)
    numbers = [validate.as_count(m, "candidates") for m in validate.as_list(candidates, "candidates", "numbers")]
    options: Json = {"heldout": heldout, "seed": seed, "pairs_per_person": pairs_per_person}
    with Threads(threads) as pool:
        return curve_of(MemoryBlocks(ratings, pool), method, numbers, **options, watch=Stopwatch(progress))


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
    """Do the work of `choose_states` on a log in blocks; by default with the estimator's seed."""
    people = len(log.log.people)
    split_seed = estimator.seed if seed is None else seed
    parts = split_holdout(log, heldout, seed=split_seed, pairs_per_person=pairs_per_person)
    numbers = [m for m in sorted(set(candidates)) if parts is not None and m <= len(parts.people)]
    if parts is None or not numbers:
        raise InvalidInput(
            f"states='auto' needs more people: {people} are too few to hold out a share of {heldout:g}; "
            "give the number of states"
        )
    log_likelihood, scores = [], []
    for i, m in enumerate(numbers):
        with watch.part("how many states", i, len(numbers)):
            estimate = parts.fit(estimator, m)
            log_likelihood.append(parts.log_likelihood(estimate))
            scores.append(parts.score(estimate))
    total = float(np.maximum(parts.heldout.log.counts - 1, 0).sum())
    return _choose(tuple(numbers), np.array(log_likelihood), np.stack(scores), total)


def _choose(numbers: tuple[int, ...], log_likelihood: FloatArray, scores: FloatArray, total: float) -> StateCurve:
    people = scores.shape[1]
    value = scores.sum(axis=1) / total
    best = int(value.argmax())
    gaps = (scores[best] - scores) / total
    # The sum over n people of independent differences has n times the variance of one.
    error = gaps.std(axis=1, ddof=min(1, people - 1)) * np.sqrt(people)
    below = gaps.sum(axis=1)
    chosen = int(np.flatnonzero(below <= error)[0])
    return StateCurve(numbers, log_likelihood, value, below, error, numbers[chosen], people)
