"""Scores of a fit on training and held-out people, and the choice of the number of states."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, as_blocks
from lpbandits.data.memory import BYTES_PER_RATING
from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.fit.clusters import kmeans_sample
from lpbandits.fit.comparisons import PairCap
from lpbandits.fit.estimator import Estimate, Estimator, as_estimator, discount, log_likelihoods, mixture
from lpbandits.fit.two_stage import TwoStage
from lpbandits.parallel import Threads
from lpbandits.progress import Progress, Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

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
class FitScore:
    """Mean log-likelihood per comparison, number of comparisons, share of ties among them, and a score per person."""

    mean: float
    pairs: float
    tie_share: float
    people: FloatArray
    """Log-likelihood of each person, with n ratings counting as n − 1 comparisons (see `discount`)."""


def score_comparisons(
    log: Blocks, estimate: Estimate, *, cap: PairCap | None = None, only: BoolArray | None = None
) -> FitScore:
    """Score the comparisons of all people, or of the mask `only`, under the mixture over states."""
    people = len(log.log.people)
    per_person = (np.arange(people), np.ones(people, dtype=np.bool_) if only is None else only)
    common = (estimate.utilities, estimate.shares, cap or PairCap())
    totals, pairs, ties, scores = zip(*log.map(_score_block, *common, per_person=per_person), strict=True)
    n_pairs = float(sum(pairs))
    return FitScore(float(sum(totals)) / n_pairs, n_pairs, float(sum(ties)) / n_pairs, np.concatenate(scores))


def _score_block(
    block: Ratings,
    threads: Threads,
    utilities: FloatArray,
    shares: FloatArray,
    cap: PairCap,
    index: IntArray,
    only: BoolArray,
) -> tuple[float, float, float, FloatArray]:
    if not only.all():
        block = block.subset(np.flatnonzero(only))
    comparisons = cap.comparisons(block, index, threads)
    values = log_likelihoods(comparisons, utilities, threads=threads)
    scores, _ = mixture(values * discount(block.counts), shares)
    return float(mixture(values, shares)[0].sum()), float(comparisons.pairs.sum()), comparisons.ties, scores


@dataclass(frozen=True, eq=False)
class Holdout:
    """A log split into training people and held-out people."""

    training_people: IntArray
    """Their indices in the log."""
    training: Blocks
    heldout: Blocks

    def score(self, estimator: Estimator, states: int, pairs_per_person: int | None) -> FitScore:
        """Fit states to the training people and score the held-out people."""
        fit = estimator.for_people(self.training_people)
        estimate = fit(self.training, states, pairs_per_person=pairs_per_person, holdout=None, watch=Stopwatch())
        return score_comparisons(self.heldout, estimate)


def split_holdout(log: Blocks, share: float, *, seed: int) -> Holdout | None:
    """Hold out a random share of the people; None if one part would have no comparison.

    Both parts are held in memory: of a log of more than `MAX_EXACT_RATINGS` ratings, a sample of the people is used.
    """
    sample = kmeans_sample(log, 1, seed)
    used, unused = (sample[part] for part in draw_holdout(len(sample), share, seed))
    counts = log.log.counts
    if not np.any(counts[used] > 1) or not np.any(counts[unused] > 1):
        return None
    size = int(counts[sample].sum())
    subject, remedy = f"{size:,} ratings of training and held-out people", "give a number of states (--states 5)"
    log.budget.check(subject, BYTES_PER_RATING * size, remedy)
    budget = log.budget.reserve(size)
    return Holdout(used, *(Blocks(log.subset(part), log.pool, budget) for part in (used, unused)))


def draw_holdout(people: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Hold out a random share of people; return the indices of training and held-out people."""
    order = np.random.default_rng([seed, 1]).permutation(people)
    n_heldout = round(share * people)
    return np.sort(order[n_heldout:]), np.sort(order[:n_heldout])


@dataclass(frozen=True, eq=False)
class StateCurve:
    """Held-out scores by number of states."""

    candidates: tuple[int, ...]
    """Numbers of states tried."""
    log_likelihood: FloatArray
    """Mean log-likelihood per comparison of the held-out people; it tends to rise with the number of states."""
    score: FloatArray
    """The same with a person's n ratings counting as n − 1 comparisons; it peaks near the right number."""
    below_best: FloatArray
    """Difference to the best score."""
    standard_error: FloatArray
    """Standard error over people of this difference."""
    states: int
    """The choice: the fewest states with a score at most one standard error below the best."""
    people: int
    """Number of held-out people."""
    training_people: int
    """Number of people that the states were fitted to."""

    def rows(self) -> list[Json]:
        """Return one JSON object per number of states."""
        names = ("heldout_log_likelihood", "score", "below_best", "standard_error")
        columns = np.stack([self.log_likelihood, self.score, self.below_best, self.standard_error], axis=1)
        return [
            {"states": m, **dict(zip(names, row, strict=True)), "chosen": m == self.states}
            for m, row in zip(self.candidates, columns.tolist(), strict=True)
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
    """Fit each number of states, by default with `TwoStage()`, and score it on a `heldout` share of the people.

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
    watch = Stopwatch(progress)
    with Threads(threads) as pool:
        log = as_blocks(ratings, pool)
        parts = split_holdout(log, share, seed=validate.as_seed(seed))
        numbers = [m for m in sorted(set(numbers)) if parts is not None and m <= len(parts.training_people)]
        if parts is None or not numbers:
            raise InvalidInput(
                f"states='auto' needs more people: {len(log.log.people)} are too few to hold out a share of {share:g}; "
                "give the number of states"
            )
        tried = []
        for i, m in enumerate(numbers):
            with watch.part("how many states", i, len(numbers)):
                tried.append(parts.score(method, m, cap))
    scores, total = np.stack([one.people for one in tried]), float(np.maximum(parts.heldout.log.counts - 1, 0).sum())
    below, error = gaps_to_best(scores, total)
    chosen = numbers[int(np.flatnonzero(below <= error)[0])]
    curves = np.array([one.mean for one in tried]), scores.sum(axis=1) / total, below, error
    return StateCurve(tuple(numbers), *curves, chosen, scores.shape[1], len(parts.training_people))


def gaps_to_best(scores: FloatArray, total: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return how far each row of scores per person is below the best row, summed over people, and its standard error.

    Both are divided by `total`.
    """
    people = scores.shape[1]
    gaps = (scores[scores.sum(axis=1).argmax()] - scores) / total
    # The sum over n people of independent differences has n times the variance of one.
    return gaps.sum(axis=1), gaps.std(axis=1, ddof=min(1, people - 1)) * np.sqrt(people)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a fit on its own people and on held-out people; None and 0 if there are too few of these."""

    training: FitScore
    heldout_log_likelihood: float | None = None
    heldout_people: int = 0
    heldout_fit_people: int = 0
    """Number of people in the fit that scores the held-out people."""
    curve: StateCurve | None = None


def score_fit(
    log: Blocks,
    estimator: Estimator,
    estimate: Estimate,
    options: Json,
    *,
    curve: StateCurve | None,
    holdout: BoolArray | None,
    watch: Stopwatch,
) -> Scores:
    """Score the people of a fit, and held-out people under a fit without them.

    That fit is the one behind `curve` or the estimate's `excluding_holdout`; if there is neither, it is made here.
    """
    people, states, cap = len(log.log.people), options["states"], options["pairs_per_person"]
    with watch.part("likelihood"):
        training = score_comparisons(log, estimate, cap=PairCap(cap, estimator.seed))
    if curve is not None:
        value = float(curve.log_likelihood[curve.candidates.index(curve.states)])
        return Scores(training, value, curve.people, curve.training_people, curve)
    if not options["heldout"]:
        return Scores(training)
    with watch.part("held-out"):
        if estimate.excluding_holdout is not None and holdout is not None:
            if not np.any(log.log.counts[holdout] > 1):
                return Scores(training)
            score = score_comparisons(log, estimate.excluding_holdout, only=holdout)
            return Scores(training, score.mean, len(score.people), people - len(score.people))
        parts = split_holdout(log, options["heldout"], seed=estimator.seed)
        if parts is None or len(parts.training_people) < states:
            return Scores(training)
        score = parts.score(estimator, states, cap)
        return Scores(training, score.mean, len(score.people), len(parts.training_people))
