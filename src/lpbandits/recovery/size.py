"""How much a fit takes, from the sizes of its log: refused before the work starts."""

import numpy as np

from lpbandits.limits import affordable
from lpbandits.recovery.blocks import Blocks, Log
from lpbandits.recovery.cluster import shown_people, starts_of
from lpbandits.recovery.counting import FEWER, raters_of
from lpbandits.recovery.em import Em
from lpbandits.recovery.estimate import Estimator
from lpbandits.recovery.memory import SEEN, STARTED, TASTE
from lpbandits.recovery.pairs import cell_type
from lpbandits.recovery.scatter import PARTS
from lpbandits.recovery.two_stage import TwoStage

STEPS = 20
"""Of KMeans, or of EM, from one start: few."""


def check_fit(ratings: Log, states: int, estimator: Estimator, *, pairs_per_person: int | None, workers: int) -> None:
    """Refuse a fit of so many states, by what it surely takes.

    >>> from lpbandits.recovery.ratings import Ratings
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
    affordable(
        f"a fit of {states:,} states to {lines:,} ratings from {starts:,} starts",
        "ask for fewer states or restarts, or leave out actions with few ratings (min_action; --min-action)",
        size=size,
        operations=work,
    )


def check_room(log: Blocks, estimator: Estimator, *, pairs_per_person: int | None, parts: int) -> None:
    """Refuse a fit that takes more memory than somebody allowed, before it starts.

    `parts` are 2 if the pairs of people set aside are counted apart.
    """
    room, actions = log.room, len(log.log.actions)
    if not room.asked:
        return
    counts = log.log.counts
    if isinstance(estimator, Em):
        room.check("all ratings in memory, for EM,", 60 * len(log.log) + 24 * actions**2, "use --method two-stage")
        return
    shown = shown_people(log, 1, estimator.seed)
    starts = starts_of(log.log, estimator.restarts) if isinstance(estimator, TwoStage) else 1
    seen = SEEN * int(counts[shown].sum()) + STARTED * len(shown) * min(starts, log.pool.count)
    room.check("the people that KMeans sees", seen, "use fewer jobs or threads (--jobs, --threads)")
    room.check("the covariances of tastes", TASTE, "use fewer jobs (--jobs)")
    cells = parts * actions**2
    raters = np.array([len(counts)])  # no action has more
    if pairs_per_person is None and 2 * cells <= room.left < 4 * cells:
        raters = raters_of(log, np.zeros(len(counts), dtype=np.int64), 1)
    cell = np.dtype(cell_type(np.ones(1), raters) if pairs_per_person is None else np.float64)
    room.check(f"counts of {actions:,} × {actions:,} actions", cell.itemsize * cells, FEWER)
