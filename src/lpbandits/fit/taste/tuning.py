"""How many factors a taste has, how far its covariances are shrunken and how wide its intervals are: by other people.

A fifth of the people are set aside. Each of their ratings, in random order, is foreseen from those before it, by tastes
fitted without them, and scored by the mean log density of what they gave. Of all that score no worse than the best, by
two standard errors over people, the one with most factors is taken: who is given the few actions that promise most
gains from fine distinctions that a mean over all ratings hardly shows. The final taste is fitted to everybody.
"""

import functools
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from lpbandits.data.blocks import Blocks
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.kernels.predictive import foresee
from lpbandits.fit.selection import split_people
from lpbandits.fit.taste.cross_products import MOST_CROSSED
from lpbandits.fit.taste.moments import Moments, leading_factors, moments_of, taste_with
from lpbandits.fit.taste.popularity import StandardizedRatings, as_crowd
from lpbandits.limits import check_resources
from lpbandits.parallel import Threads, one_thread
from lpbandits.progress import Stopwatch
from lpbandits.taste_model import TasteModel
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Int32Array, IntArray, Json

FACTORS = (0, 2, 5, 10, 20, 30, 50)
SHRINKAGES = (10.0, 30.0, 100.0, 300.0)
SHARE = 0.2
"""Of the people, who are set aside."""

LEVEL = 0.8
"""What intervals shall cover."""

FEWEST_PEOPLE = 20
PEOPLE_A_STATE = 5
MOST_SHOWN = 100
"""Ratings of a person set aside that are foreseen."""

MOST_CALIBRATED = 1_000
GREEDY = 20
"""Rounds of a greedy policy, at most half of a person's ratings, after which intervals are looked at, too."""

MOST_ASIDE = 1_000
MOST_PAIRS = 10**11
"""Pairs of actions, person by person, that are gone through; with more, those of a sample of the people are."""


@dataclass(frozen=True)
class TasteReport:
    """How a taste was chosen, in plain values.

    Scores are means per rating, in nats, of the log density of ratings of people not in the fit, each foreseen from
    those before it.
    """

    states: int
    """Of the taste, each with average likings of its own."""
    factors: int
    shrinkage: float
    score: float
    score_without: float
    """The same without factors: a level, a scale and average likings."""
    people: int
    """In the fit."""
    heldout_people: int
    """Set aside for the choice."""
    level: float
    """What the intervals shall cover,"""
    coverage: float
    """what they covered of held-out ratings in random order, half the people's with the width that suits the others,"""
    coverage_greedy: float
    """and of all others after the 20 (at most half) that a greedy policy would play, whose rewards are much alike."""
    calibration: float
    """What intervals are widened by: half way between what suits the one and the other."""
    curve: list[Json]

    def to_dict(self) -> Json:
        """Return the report as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class TasteFit:
    """A taste and how it was chosen; or neither, with a warning of why."""

    taste: TasteModel | None = None
    report: TasteReport | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Foreseen:
    """Ratings of people set aside, each with what was foreseen of it."""

    errors: FloatArray
    """|rating − mean|, in half-widths of its interval."""
    logs: FloatArray


@dataclass(frozen=True, eq=False)
class Shown:
    """Ratings of people set aside, in random order."""

    offsets: IntArray
    action: Int32Array
    rating: FloatArray

    @property
    def people(self) -> int:
        """How many people that is."""
        return len(self.offsets) - 1

    @classmethod
    def of(cls, ratings: Ratings, seed: int, most: int) -> "Shown":
        """Put each person's ratings in a random order, and keep the first ones."""
        order = np.lexsort((np.random.default_rng([seed, 2]).random(len(ratings)), ratings.owner))
        place = np.arange(len(ratings)) - ratings.offsets[ratings.owner]
        kept = order[place < most]
        offsets = np.concatenate([[0], np.cumsum(np.minimum(ratings.counts, most))]).astype(np.int64)
        return cls(offsets, ratings.action[kept], ratings.rating[kept])

    def foreseen(self, taste: TasteModel, threads: Threads, greedy: int = 0) -> Foreseen:
        """Foresee every rating from those before it, or from those that a greedy policy would play first."""
        people, start = self.people, taste.start()
        rating = self.rating.copy()
        means, sds, logs = np.empty((3, len(rating)))
        arrays = (taste.table(), start, np.empty((people, *start.shape)), self.offsets, self.action.copy(), rating)
        threads.run(functools.partial(_foresee, greedy), people, *arrays, means, sds, logs, smallest=8)
        half = float(ndtri(0.5 + LEVEL / 2)) * sds
        return Foreseen(np.abs(rating - means) / half, logs)

    def as_good_as_best(self, logs: list[FloatArray]) -> list[int]:
        """Return which scores are at most two standard errors, over people, below the best."""
        scores = np.stack([np.add.reduceat(one, self.offsets[:-1]) for one in logs])
        gaps = scores[scores.sum(axis=1).argmax()] - scores
        errors = gaps.std(axis=1, ddof=min(1, self.people - 1)) * np.sqrt(self.people)
        return np.flatnonzero(gaps.sum(axis=1) <= 2 * errors).tolist()

    def halves(self, errors: FloatArray, greedy: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return the errors of every second person, and those of the others, after the first `greedy` of each."""
        counts = np.diff(self.offsets)
        person = np.repeat(np.arange(self.people), counts)
        later = np.arange(len(errors)) - self.offsets[person] >= np.minimum(greedy, counts // 2)[person]
        return errors[later & (person % 2 == 0)], errors[later & (person % 2 == 1)]


def _foresee(greedy: int, low: int, high: int, *arrays: Any) -> None:
    foresee(low, high, greedy, *arrays)


def _width(errors: FloatArray) -> float:
    return float(np.clip(np.quantile(errors, LEVEL), 0.1, 10.0))


def _calibrated(orders: list[tuple[FloatArray, FloatArray]]) -> tuple[float, list[float]]:
    """Return what to widen intervals by, and what they cover in each order if half the people set the others' width."""
    width = float(np.mean([_width(np.concatenate(halves)) for halves in orders]))
    crossed = [float(np.mean([_width(halves[part]) for halves in orders])) for part in (1, 0)]
    covered = [sum((errors <= w).sum() for errors, w in zip(halves, crossed, strict=True)) for halves in orders]
    return width, [float(count / sum(map(len, halves))) for count, halves in zip(covered, orders, strict=True)]


def recover_taste(
    log: Ratings | Blocks | StandardizedRatings,
    *,
    states: int = 1,
    seed: int,
    chosen: TasteReport | None = None,
    watch: Stopwatch,
    threads: Threads | None = None,
) -> TasteFit:
    """Fit a taste with so many states of its own, and say how it was chosen; without one, say why.

    `chosen` is the report on a taste of other people, whose factors, shrinkage and width of intervals are taken over.

    >>> n, a = np.divmod(np.arange(300), 5)
    >>> log = Ratings.from_arrays(n, a, np.where(n % 2, 1, -1) * (a - 2) + 0.3 * ((5 * n + 3 * a) % 7))
    >>> with Threads(1) as pool:
    ...     made = recover_taste(log, seed=0, watch=Stopwatch(), threads=pool)
    >>> made.taste, made.report.score > made.report.score_without, made.warnings
    (<TasteModel: 5 actions, 2 factors>, True, ())
    """
    crowd = as_crowd(log, threads)
    blocks, k = crowd.log, len(crowd.log.log.actions)
    people = np.flatnonzero(crowd.own.telling)
    why = ""
    if len(people) < FEWEST_PEOPLE:
        why = (
            f"{pluralize(len(people), 'person has', 'people have')} three ratings that are not all alike, and at least "
        )
        why += f"{FEWEST_PEOPLE} are needed"
    elif states > 1 and len(people) < PEOPLE_A_STATE * states:
        why = f"{len(people)} people are too few for {states} states of a taste; ask for fewer (--taste-states)"
    if why:
        return TasteFit(warnings=(f"no taste was fitted: {why}",))
    crossed = min(k, MOST_CROSSED)
    try:
        size = (40 + 16 * len(SHRINKAGES)) * crossed**2 + 8 * (max(FACTORS) + 8) * k
        check_resources("a taste", "keep only actions with more ratings (--min-action)", size=size)
    except InvalidInput as error:
        return TasteFit(warnings=(f"no taste was fitted: {error}",))
    people = _affordable(people, crowd.own.counts, crossed, seed)
    used, aside = split_people(len(people), SHARE, seed)
    try:
        with watch.part("taste, sums"):
            seen, *some = moments_of(crowd, [people] if chosen else [people, people[used]], states, seed)
        report = chosen
        if report is None:
            with watch.part("taste, choice"):
                others = blocks.subset(people[aside[:MOST_ASIDE]])
                report = _chosen(some.pop(), len(used), others, seed, blocks.pool)
        with watch.part("taste"):
            most = max(*_numbers(seen, len(people)), report.factors)
            factors = leading_factors(seen, most, report.shrinkage)[:, : report.factors]
            report = replace(report, states=len(seen.prior))
            about = {name: value for name, value in report.to_dict().items() if name != "curve"}
            taste = taste_with(seen, factors, calibration=report.calibration, about=about)
    except InvalidInput as error:  # the orderings are none the worse for it
        return TasteFit(warnings=(f"no taste was fitted: {error}",))
    notes = []
    if crossed < k:
        notes.append(
            f"the taste has factors of the {crossed:,} most rated of {k:,} actions, and of the others only how much "
            "they are liked; keep only actions with more ratings (--min-action)"
        )
    return TasteFit(taste, report, tuple(notes))


def _affordable(people: IntArray, counts: IntArray, crossed: int, seed: int) -> IntArray:
    """Return the people whose pairs of actions are gone through: all, or a sample with at most `MOST_PAIRS`."""
    order = np.random.default_rng([seed, 3]).permutation(people)
    pairs = np.cumsum(np.minimum(counts[order], crossed).astype(np.float64) ** 2)
    return np.sort(order[: max(int(np.searchsorted(pairs, MOST_PAIRS, side="right")), FEWEST_PEOPLE)])


def _numbers(seen: Moments, people: int) -> list[int]:
    """Return the numbers of factors that so many people and actions can have."""
    return [d for d in FACTORS if d <= min(len(seen.crossed) - 1, people // 2)]


def _factors(low: int, high: int, seen: Moments, count: int, out: list[FloatArray]) -> None:
    for i in range(low, high):
        out[i] = leading_factors(seen, count, SHRINKAGES[i])


def _chosen(seen: Moments, people: int, others: Ratings, seed: int, threads: Threads) -> TasteReport:
    """Try numbers of factors and shrinkages on other people; the first of many factors stand for fewer."""
    shown, whole = Shown.of(others, seed, MOST_SHOWN), Shown.of(others, seed, MOST_CALIBRATED)
    numbers = _numbers(seen, people)
    curve: list[Json] = []
    tried: list[tuple[TasteModel, Foreseen]] = []
    several: list[FloatArray] = [np.empty(0)] * len(SHRINKAGES)
    with one_thread("blas"):  # for all of them: each would give the libraries their threads back at its end
        threads.run(_factors, len(SHRINKAGES), seen, numbers[-1], several, blocks=len(SHRINKAGES))
    for shrinkage, factors in zip(SHRINKAGES, several, strict=True):
        for d in numbers if shrinkage == SHRINKAGES[0] else numbers[1:]:
            taste = taste_with(seen, factors[:, :d])
            tried.append((taste, shown.foreseen(taste, threads)))
            curve.append({"factors": d, "shrinkage": shrinkage, "score": float(tried[-1][1].logs.mean())})
    good = shown.as_good_as_best([made.logs for _, made in tried])
    chosen = max(good, key=lambda i: (curve[i]["factors"], curve[i]["score"]))
    taste, made = tried[chosen]
    greedily = whole.halves(whole.foreseen(taste, threads, GREEDY).errors, GREEDY)
    calibration, (coverage, coverage_greedy) = _calibrated([shown.halves(made.errors), greedily])
    return TasteReport(
        states=len(seen.prior),
        **curve[chosen],
        score_without=curve[0]["score"],
        people=people + shown.people,
        heldout_people=shown.people,
        level=LEVEL,
        coverage=coverage,
        coverage_greedy=coverage_greedy,
        calibration=calibration,
        curve=curve,
    )
