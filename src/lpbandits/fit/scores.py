"""Scores of a fit on its own people and on held-out people."""

from dataclasses import dataclass

import numpy as np

from lpbandits.data.blocks import Blocks
from lpbandits.data.memory import BYTES_PER_RATING
from lpbandits.data.ratings import Ratings
from lpbandits.fit.comparisons import PairCap
from lpbandits.fit.methods.clusters import kmeans_sample
from lpbandits.fit.methods.estimator import Estimate, Estimator, discount, log_likelihoods, mixture
from lpbandits.fit.selection import StateCurve
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json


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
    subject, remedy = (
        f"{size:,} ratings of training and held-out people",
        "leave out the score (heldout=0)",
    )
    log.budget.check(subject, BYTES_PER_RATING * size, remedy)
    budget = log.budget.reserve(size)
    return Holdout(used, *(Blocks(log.subset(part), log.pool, budget) for part in (used, unused)))


def draw_holdout(people: int, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Hold out a random share of people; return the indices of training and held-out people."""
    order = np.random.default_rng([seed, 1]).permutation(people)
    n_heldout = round(share * people)
    return np.sort(order[n_heldout:]), np.sort(order[:n_heldout])


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

    That fit is the estimate's `excluding_holdout`; if there is none, it is made here.
    """
    people, cap = len(log.log.people), options["pairs_per_person"]
    states = options["states"] if curve is None else curve.states
    with watch.part("likelihood"):
        training = score_comparisons(log, estimate, cap=PairCap(cap, estimator.seed))
    if not options["heldout"]:
        return Scores(training, curve=curve)
    with watch.part("held-out"):
        if estimate.excluding_holdout is not None and holdout is not None:
            if not np.any(log.log.counts[holdout] > 1):
                return Scores(training, curve=curve)
            score = score_comparisons(log, estimate.excluding_holdout, only=holdout)
            return Scores(training, score.mean, len(score.people), people - len(score.people), curve)
        parts = split_holdout(log, options["heldout"], seed=estimator.seed)
        if parts is None or len(parts.training_people) < states:
            return Scores(training, curve=curve)
        score = parts.score(estimator, states, cap)
        return Scores(training, score.mean, len(score.people), len(parts.training_people), curve)
