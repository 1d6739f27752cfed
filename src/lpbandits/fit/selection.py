"""Held-out scores of a fit, and the choice of the number of states by them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, MemoryBlocks, as_blocks
from lpbandits.data.memory import BYTES_PER_RATING
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import kmeans_sample
from lpbandits.fit.comparisons import compared
from lpbandits.fit.estimator import Estimate, Estimator, as_estimator, log_likelihoods, mixture, score_comparisons
from lpbandits.fit.two_stage import TwoStage
from lpbandits.parallel import Threads
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import FloatArray, IntArray, Json

HOLDOUT = 0.2
"""Share of people held out to choose the number of states."""


def candidates_up_to(max_states: int) -> tuple[int, ...]:
    """Return the numbers of states to try: all small numbers, then steps of 20 to 33 %.

    >>> candidates_up_to(3), candidates_up_to(30)
    ((1, 2, 3), (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30))
    """
    doubled = (step * 2**power for power in range(max_states.bit_length()) for step in (4, 5, 6))
    return tuple(sorted({m for m in (1, 2, 3, *doubled) if m < max_states} | {max_states}))


CANDIDATES = candidates_up_to(12)


@dataclass(frozen=True, eq=False)
class Holdout:
    """A log split into training people and held-out people."""

    people: IntArray
    """Indices of the training people."""
    training: Blocks
    heldout: Blocks
    pairs_per_person: int | None

    def fit(self, estimator: Estimator, states: int) -> Estimate:
        """Fit states to the training people."""
        cap = self.pairs_per_person
        return estimator.among(self.people)(self.training, states, pairs_per_person=cap, watch=Stopwatch())


def split_holdout(log: Blocks, share: float, *, seed: int, pairs_per_person: int | None) -> Holdout | None:
    """Hold out a random share of the people; None if one part would have no comparison.

    Both parts are in memory, so a sample of the people represents a log of more than `MAX_EXACT_RATINGS` ratings.
    """
    sample = kmeans_sample(log, 1, seed)
    used, unused = (sample[part] for part in split_people(len(sample), share, seed))
    counts = log.log.counts
    if not np.any(counts[used] > 1) or not np.any(counts[unused] > 1):
        return None
    size = int(counts[sample].sum())
    subject, remedy = f"{size:,} ratings of training and held-out people", "give a number of states (--states 5)"
    log.budget.check(subject, BYTES_PER_RATING * size, remedy)
    budget = log.budget.reserve(size)
    training, heldout = (MemoryBlocks(log.subset(part), log.pool, budget) for part in (used, unused))
    return Holdout(used, training, heldout, pairs_per_person)


def split_people(people: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Split people at random; return the indices of training and held-out people."""
    order = np.random.default_rng([seed, 1]).permutation(people)
    n_heldout = round(share * people)
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
    """Score a held-out share of the people with `excluding_holdout`, a fit without them; if it is None, fit again."""
    if excluding_holdout is None:
        parts = split_holdout(log, share, seed=estimator.seed, pairs_per_person=pairs_per_person)
        if parts is None or len(parts.people) < states:
            return HeldOutScore()
        value = score_comparisons(parts.heldout, parts.fit(estimator, states)).mean
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
        Mean log-likelihood per comparison of the held-out people. It tends to rise with the number of states.
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
    ratings: Ratings | Blocks,
    *,
    estimator: Estimator | None = None,
    candidates: Sequence[int] = CANDIDATES,
    heldout: float = HOLDOUT,
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
    method = TwoStage(seed=seed) if estimator is None else as_estimator(estimator)
    numbers = [validate.as_count(m, "candidates") for m in validate.as_list(candidates, "candidates", "numbers")]
    share = validate.as_number(heldout, "heldout", low=0, high=0.9)
    cap = None if pairs_per_person is None else validate.as_count(pairs_per_person, "pairs_per_person")
    if not isinstance(ratings, Blocks):
        as_ratings(ratings)
    log_likelihood, per_person, watch = [], [], Stopwatch(progress)
    with Threads(threads) as pool:
        log = as_blocks(ratings, pool)
        parts = split_holdout(log, share, seed=validate.as_seed(seed), pairs_per_person=cap)
        numbers = [m for m in sorted(set(numbers)) if parts is not None and m <= len(parts.people)]
        if parts is None or not numbers:
            raise InvalidInput(
                f"states='auto' needs more people: {len(log.log.people)} are too few to hold out a share of {share:g}; "
                "give the number of states"
            )
        for i, m in enumerate(numbers):
            with watch.part("how many states", i, len(numbers)):
                estimate = parts.fit(method, m)
                log_likelihood.append(score_comparisons(parts.heldout, estimate).mean)
                blocks = parts.heldout.map(_person_scores, estimate.utilities, estimate.shares)
                per_person.append(np.concatenate(list(blocks)))
    scores = np.stack(per_person)
    people, total = scores.shape[1], float(np.maximum(parts.heldout.log.counts - 1, 0).sum())
    score = scores.sum(axis=1) / total
    gaps = (scores[score.argmax()] - scores) / total
    # The sum over n people of independent differences has n times the variance of one.
    error = gaps.std(axis=1, ddof=min(1, people - 1)) * np.sqrt(people)
    below = gaps.sum(axis=1)
    chosen = numbers[int(np.flatnonzero(below <= error)[0])]
    return StateCurve(tuple(numbers), np.array(log_likelihood), score, below, error, chosen, people)


def _person_scores(block: Ratings, threads: Threads, utilities: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the log-likelihood of each person, with n ratings counting as n − 1 comparisons.

    The n(n − 1)/2 comparisons of one person share the noise of n ratings. Without the factor 2/n, more states always
    score better, because they fit this noise.
    """
    comparisons = compared(block, pairs_per_person=None, seed=0, first=0, threads=threads)
    values = log_likelihoods(comparisons, utilities, threads=threads)
    return mixture(values * (2 / np.maximum(block.counts, 2))[:, None], shares)[0]
