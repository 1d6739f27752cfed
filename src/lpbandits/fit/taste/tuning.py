"""Choose the number of factors, the shrinkage and the interval width of a taste model on held-out people.

A fifth of the people are held out. Each of their ratings, in random order, is predicted from the ones before it by
models fitted without these people, and scored by its log density. Among all settings within two standard errors (over
people) of the best score, the one with most factors is chosen: more factors help to identify the few best actions even
where the mean score hardly changes. The final model is fitted to all people.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings, offsets_of
from lpbandits.errors import InvalidInput
from lpbandits.fit.kernels.ratings import predict_sequence
from lpbandits.fit.scores import draw_holdout
from lpbandits.fit.taste.cross_products import MAX_COVARIANCE_ACTIONS
from lpbandits.fit.taste.moments import Moments, leading_factors, moments_of, taste_with
from lpbandits.fit.taste.popularity import StandardizedRatings, as_standardized
from lpbandits.parallel import Threads, one_thread, thread_map
from lpbandits.progress import Stopwatch
from lpbandits.statistics import gaps_to_best
from lpbandits.taste_model import TasteModel
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Json

FACTORS = (0, 2, 5, 10, 20, 30, 50)
SHRINKAGES = (10.0, 30.0, 100.0, 300.0)
HOLDOUT = 0.2
"""Share of people held out."""

LEVEL = 0.8
"""Nominal coverage of prediction intervals."""

MIN_TASTE_PEOPLE = 20
"""Minimum number of informative people (see `Scales.informative`) from whom a taste model is fitted."""

MAX_PREDICTED = 100
"""Maximum number of predicted ratings per held-out person."""

MAX_CALIBRATED = 1_000
"""Maximum number of ratings per held-out person that calibrate intervals after greedy rounds."""

GREEDY = 20
"""Number of rounds of a greedy policy (at most half of a person's ratings) after which coverage is also measured."""

MAX_HOLDOUT = 1_000
MAX_PAIRS = 10**11
"""Maximum number of pairs of actions, person by person; beyond it a sample of the people is used."""


@dataclass(frozen=True)
class TasteReport:
    """How a taste model was chosen.

    Scores are mean log densities per rating (nats) of held-out people, each rating predicted from the ones before it.
    """

    factors: int
    shrinkage: float
    score: float
    score_without: float
    """Score without factors: level, scale and item means only."""
    people: int
    """Number of people in the fit."""
    heldout_people: int
    """Number of people held out for the choice."""
    level: float
    """Nominal coverage of the intervals."""
    coverage: float
    """Coverage of held-out ratings in random order; the width is set on one half of the people, for the other half."""
    coverage_greedy: float
    """Coverage of the remaining ratings after the 20 (at most half) that a greedy policy would play."""
    calibration: float
    """Factor that widens intervals: the mean of those that suit random and greedy order."""
    curve: list[Json]


@dataclass(frozen=True, eq=False)
class TasteFit:
    """A taste model with its report, or neither and a warning with the reason."""

    taste: TasteModel | None = None
    report: TasteReport | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class HeldOutRatings:
    """Ratings of held-out people, each person's in random order."""

    offsets: IntArray
    action: Int32Array
    rating: FloatArray

    @property
    def people(self) -> int:
        """Number of people."""
        return len(self.offsets) - 1

    @classmethod
    def of(cls, ratings: Ratings, seed: int, max_ratings: int) -> "HeldOutRatings":
        """Shuffle each person's ratings and keep the first `max_ratings`."""
        order = np.lexsort((np.random.default_rng([seed, 2]).random(len(ratings)), ratings.owner))
        place = np.arange(len(ratings)) - ratings.offsets[ratings.owner]
        kept = order[place < max_ratings]
        return cls(offsets_of(np.minimum(ratings.counts, max_ratings)), ratings.action[kept], ratings.rating[kept])

    def predict(self, taste: TasteModel, threads: Threads, greedy: int = 0) -> tuple[FloatArray, FloatArray]:
        """Predict each rating from the ones before it, or from the `greedy` first choices of a greedy policy.

        Return the errors |rating − mean| divided by the half-width of the prediction interval, and the log densities.
        """
        people, start = self.people, taste.start()
        rating = self.rating.copy()
        means, sds, logs = out = tuple(np.empty((3, len(rating))))
        arrays = taste.table(), start, np.empty((people, *start.shape)), (self.offsets, self.action.copy(), rating), out
        threads.run(predict_sequence, people, greedy, *arrays, smallest=8)
        half = float(ndtri(0.5 + LEVEL / 2)) * sds
        return np.abs(rating - means) / half, logs

    def as_good_as_best(self, logs: list[FloatArray]) -> list[int]:
        """Return the indices of the scores at most two standard errors, over people, below the best."""
        scores = np.stack([np.add.reduceat(one, self.offsets[:-1]) for one in logs])
        gaps, errors = gaps_to_best(scores)
        return np.flatnonzero(gaps <= 2 * errors).tolist()

    def halves(self, errors: FloatArray, greedy: int = 0) -> tuple[FloatArray, FloatArray]:
        """Split errors into those of even and odd people, without the first `greedy` (at most half) of each."""
        counts = np.diff(self.offsets)
        person = np.repeat(np.arange(self.people), counts)
        later = np.arange(len(errors)) - self.offsets[person] >= np.minimum(greedy, counts // 2)[person]
        return errors[later & (person % 2 == 0)], errors[later & (person % 2 == 1)]


def _width(errors: FloatArray) -> float:
    return float(np.clip(np.quantile(errors, LEVEL), 0.1, 10.0))


def _calibrate(orders: list[tuple[FloatArray, FloatArray]]) -> tuple[float, list[float]]:
    """Return the widening factor, and the coverage in each order.

    Coverage is measured on each half of the people with the widening factor of the other half.
    """
    width = float(np.mean([_width(np.concatenate(halves)) for halves in orders]))
    swapped = [float(np.mean([_width(halves[part]) for halves in orders])) for part in (1, 0)]
    covered = [sum((errors <= w).sum() for errors, w in zip(halves, swapped, strict=True)) for halves in orders]
    return width, [float(count / sum(map(len, halves))) for count, halves in zip(covered, orders, strict=True)]


def fit_taste(
    log: Ratings | Blocks | StandardizedRatings,
    *,
    seed: int,
    chosen: TasteReport | None = None,
    watch: Stopwatch,
    threads: Threads | None = None,
) -> TasteFit:
    """Fit a taste model; `seed` determines the split and the order of held-out ratings.

    With the report of an earlier fit, `chosen`, its factors, shrinkage and calibration are reused instead of chosen.
    """
    ratings = as_standardized(log, threads)
    blocks, k = ratings.log, len(ratings.log.log.actions)
    c = min(k, MAX_COVARIANCE_ACTIONS)
    try:
        people = _sample(np.flatnonzero(ratings.scales.informative), ratings.scales.counts, c, seed)
        used, unused = draw_holdout(len(people), HOLDOUT, seed)
        with watch.part("taste, sums"):
            moments, *rest = moments_of(ratings, [people] if chosen else [people, people[used]])
        report = chosen
        if report is None:
            with watch.part("taste, choice"):
                heldout = blocks.subset(people[unused[:MAX_HOLDOUT]])
                report = _choose(rest.pop(), len(used), heldout, seed, blocks.pool)
        with watch.part("taste"):
            most = max(*_candidates(moments, len(people)), report.factors)
            factors = leading_factors(moments, most, report.shrinkage)[:, : report.factors]
            about = {"states": 1} | {name: value for name, value in vars(report).items() if name != "curve"}
            taste = taste_with(moments, factors, calibration=report.calibration, about=about)
    except InvalidInput as error:  # the orderings do not depend on the taste model
        return TasteFit(warnings=(f"no taste model was fitted: {error}",))
    note = (
        f"the taste model has factors for the {c:,} most rated of {k:,} actions and only means for the others; "
        "keep only actions with more ratings (--min-action)"
    )
    return TasteFit(taste, report, (note,) if c < k else ())


def _sample(people: IntArray, counts: IntArray, c: int, seed: int) -> IntArray:
    """Return all people, or a random sample with at most `MAX_PAIRS` pairs of actions."""
    if len(people) < MIN_TASTE_PEOPLE:
        raise InvalidInput(
            f"only {pluralize(len(people), 'person has', 'people have')} three or more ratings that are not all "
            f"(nearly) equal; at least {MIN_TASTE_PEOPLE} such people are needed"
        )
    order = np.random.default_rng([seed, 3]).permutation(people)
    pairs = np.cumsum(np.minimum(counts[order], c).astype(np.float64) ** 2)
    return np.sort(order[: max(int(np.searchsorted(pairs, MAX_PAIRS, side="right")), MIN_TASTE_PEOPLE)])


def _candidates(moments: Moments, people: int) -> list[int]:
    """Return the numbers of factors that the numbers of people and actions allow."""
    return [d for d in FACTORS if d <= min(len(moments.covariance_actions) - 1, people // 2)]


def _choose(moments: Moments, people: int, heldout: Ratings, seed: int, threads: Threads) -> TasteReport:
    """Score all numbers of factors and shrinkages on held-out people, and choose one.

    Factors are ordered by strength, so a model with fewer factors uses the first columns of the largest one.
    """
    short = HeldOutRatings.of(heldout, seed, MAX_PREDICTED)
    long = HeldOutRatings.of(heldout, seed, MAX_CALIBRATED)
    numbers = _candidates(moments, people)
    curve: list[Json] = []
    tried: list[tuple[TasteModel, FloatArray, FloatArray]] = []
    jobs = [(moments, numbers[-1], shrinkage) for shrinkage in SHRINKAGES]
    with one_thread("blas"):  # around all of them: each call restores the libraries' threads at its end
        by_shrinkage = list(thread_map(leading_factors, jobs, threads=threads.count))
    for shrinkage, factors in zip(SHRINKAGES, by_shrinkage, strict=True):
        for d in numbers if shrinkage == SHRINKAGES[0] else numbers[1:]:
            taste = taste_with(moments, factors[:, :d])
            tried.append((taste, *short.predict(taste, threads)))
            curve.append({"factors": d, "shrinkage": shrinkage, "score": float(tried[-1][2].mean())})
    good = short.as_good_as_best([logs for _, _, logs in tried])
    chosen = max(good, key=lambda i: (curve[i]["factors"], curve[i]["score"]))
    taste, errors, _ = tried[chosen]
    after_greedy = long.halves(long.predict(taste, threads, GREEDY)[0], GREEDY)
    calibration, (coverage, coverage_greedy) = _calibrate([short.halves(errors), after_greedy])
    return TasteReport(
        **curve[chosen],
        score_without=curve[0]["score"],
        people=people + short.people,
        heldout_people=short.people,
        level=LEVEL,
        coverage=coverage,
        coverage_greedy=coverage_greedy,
        calibration=calibration,
        curve=curve,
    )
