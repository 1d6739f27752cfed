"""How much a fit takes, from the sizes of its log: refused before the work starts."""

import numpy as np

from lpbandits.data.blocks import Blocks, RatingsLike
from lpbandits.data.memory import BYTES_PER_TASTE_PAIR
from lpbandits.fit.clusters import seen_size, shown_people, starts_of
from lpbandits.fit.comparisons import cell_type
from lpbandits.fit.counting import FEWER, raters_of
from lpbandits.fit.em import Em
from lpbandits.fit.estimator import Estimator
from lpbandits.fit.scatter import PARTS
from lpbandits.fit.taste.cross_products import MOST_CROSSED
from lpbandits.fit.two_stage import TwoStage
from lpbandits.limits import check_resources
from lpbandits.typing import IntArray

STEPS = 20
"""Of KMeans, or of EM, from one start: few."""


def check_fit(
    ratings: RatingsLike, states: int, estimator: Estimator, *, pairs_per_person: int | None, workers: int
) -> None:
    """Refuse a fit of so many states, by what it surely takes.

    >>> from lpbandits.data.ratings import Ratings
    >>> log = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [5, 3, 2, 4])
    >>> check_fit(log, 2, TwoStage(restarts=2**31 - 1), pairs_per_person=None, workers=1)
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: a fit of 2 states to 4 ratings from 2,147,483,647 starts would take ...
    """
    people, actions, lines = len(ratings.people), len(ratings.actions), len(ratings)
    soft = isinstance(estimator, Em)
    if states > people and not (isinstance(estimator, Em) and estimator.start is not None):
        return  # refused as such, where people are grouped
    starts = starts_of(ratings, estimator.restarts) if isinstance(estimator, TwoStage) else 1
    starts = estimator.restarts if isinstance(estimator, Em) else starts
    size = 32 * people * states + (8 * states * states if soft else 0)  # who is in which state, how probably
    size += starts * (4 * people + 200) + 24 * states * actions * min(starts, workers)  # KMeans: labels, and centres
    size += 8 * actions**2 if soft else 2 * (actions // states) ** 2  # pairs of actions, in the state with most
    counts = ratings.counts.astype(np.float64)
    pairs = counts * (counts - 1) / 2
    compared = float((pairs if pairs_per_person is None else np.minimum(pairs, pairs_per_person)).sum())
    if soft:
        work = starts * STEPS * states * (compared + 10 * actions**2)
    else:
        work = starts * STEPS * states * lines / min(starts, workers) + compared
    work += 2 * compared  # of errors: each person's pairs twice, in at least one state
    shrinks = isinstance(estimator, TwoStage | Em) and estimator.shrink
    size += 24 * actions * PARTS + (80 * states * actions + 32 * states**2 if shrinks else 0)
    work += actions * states**3 if shrinks else 0
    check_resources(
        f"a fit of {states:,} states to {lines:,} ratings from {starts:,} starts",
        "ask for fewer states or restarts, or leave out actions with few ratings (min_action; --min-action)",
        size=size,
        operations=work,
    )


def check_room(
    log: Blocks,
    states: int,
    estimator: Estimator,
    *,
    pairs_per_person: int | None,
    aside: bool = False,
    scored: bool = False,
    taste: bool = False,
) -> None:
    """Refuse a fit that takes more memory than somebody allowed, before it starts.

    With people `aside`, their pairs are counted apart. If it is `scored` by a second fit, that one's people and those
    who score it are in memory.
    """
    room, people = log.budget, len(log.log.people)
    if not room.asked:
        return
    if scored and not (aside and isinstance(estimator, TwoStage)):
        room = room.reserve(int(log.log.counts[shown_people(log, 1, estimator.seed)].sum()))
    if isinstance(estimator, Em):
        pairs = 24 * len(log.log.actions) ** 2
        room.check("all ratings in memory, for EM,", 60 * len(log.log) + pairs, "use --method two-stage")
        return
    seen = 2 * seen_size(log, shown_people(log, states, estimator.seed))  # for one start at a time
    fewer = "use fewer jobs (--jobs), or a sample of the people" if room.here else "use a sample of the people"
    room.check("the people that KMeans sees", seen, fewer)
    if taste:
        size = BYTES_PER_TASTE_PAIR * min(len(log.log.actions), MOST_CROSSED) ** 2
        log.budget.check("the covariances of tastes", size, "fit none (taste=False; --no-taste)")
    exact, share = pairs_per_person is None, min(2 / states, 1.0)
    counted = _counts_size(np.full(len(log.log.actions), people), 1.0, exact=exact)
    if (1 + aside) * counted > room.left:
        raters = raters_of(log, np.zeros(people, dtype=np.int64), 1)[0]
        counted = _counts_size(raters, share, exact=exact)
    room.check(f"counts of {len(log.log.actions):,} actions", (1 + aside) * counted, FEWER)


def _counts_size(raters: IntArray, share: float, *, exact: bool) -> int:
    """Return about how many bytes the counts of a state with a share of the people take: of actions that they rated.

    >>> _counts_size(np.array([5, 5, 70_000]), 1.0, exact=True), _counts_size(np.array([1, 1]), 0.5, exact=True)
    (36, 2)
    """
    kept = float((1 - (1 - share) ** raters).sum())
    cell = np.dtype(cell_type(np.ones(1), (share * raters).astype(np.int64)) if exact else np.float64)
    return int(cell.itemsize * kept**2)
