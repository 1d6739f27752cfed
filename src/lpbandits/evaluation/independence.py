"""A warning if consecutive people of a log look like repeats of one, such as weekly rankings by one source."""

import heapq

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.text import natural_key
from lpbandits.typing import FloatArray

LAG = 5
"""Distance in the log of the people who are compared with consecutive people."""

MIN_SHARE = 0.75
"""Warn if at least this share of people is closer to the next person than to the one `LAG` later."""

STANDARD_ERRORS = 3.0
"""The share must exceed one half by this many standard errors."""

MAX_PEOPLE = 2_000
"""Maximum number of people to compare."""


def repeated_people(log: Ratings) -> list[str]:
    """Return a warning if nearly every person is closer to the next one than to the one `LAG` later.

    The squared distance of two people is over the actions that both rated, on each person's standardized ratings.
    Of independent people half are closer to the next one. Repeats of one person drift apart. Small groups of people
    who are alike, such as households of four, give the same pattern and the same problem: they are not independent.
    Repeats without a drift, or of several persons in turn, are not found.
    People are in the natural order of their labels: "week 2" before "week 10".

    Examples
    --------
    >>> steps = np.cumsum(np.random.default_rng(0).normal(size=(60, 8)), axis=0)
    >>> week, song = np.divmod(np.arange(480), 8)
    >>> repeated_people(Ratings.from_arrays(week, song, steps.ravel()))
    ['95% of the people are closer to the next person in the log than to the one 5 later, as if ...
    """
    people = heapq.nsmallest(MAX_PEOPLE, range(len(log.people)), key=lambda n: natural_key(log.people[n]))
    if len(people) <= 2 * LAG:
        return []
    near, far = (_distances(log.subset(np.array(people)), lag) for lag in (1, LAG))
    gaps = far - near[: len(far)]
    gaps = gaps[np.isfinite(gaps) & (gaps != 0.0)]
    share = float((gaps > 0.0).mean()) if len(gaps) else 0.0
    if share < MIN_SHARE or share < 0.5 + STANDARD_ERRORS * 0.5 / np.sqrt(len(gaps)):
        return []
    return [
        f"{share:.0%} of the people are closer to the next person in the log than to the one {LAG} later, as if they "
        "were repeats of one person (such as weekly rankings by one source) or groups of people who are alike; "
        "intervals assume independent people and would be too narrow"
    ]


def _distances(rows: Ratings, lag: int) -> FloatArray:
    """Return the mean squared difference of people n and n + lag over common actions; NaN without two of them."""
    people = len(rows.people)
    values = rows.rating - rows.means[rows.owner]
    spread = np.sqrt(np.bincount(rows.owner, weights=values**2, minlength=people) / np.maximum(rows.counts, 1))
    ratings = rows.matrix(values / np.where(spread > 0, spread, np.inf)[rows.owner])
    rated = rows.matrix(np.ones_like(values))
    one, other = slice(0, people - lag), slice(lag, people)
    common = (rated[one] * rated[other]).sum(axis=1)
    squares = (ratings[one] ** 2 * rated[other]).sum(axis=1) + (ratings[other] ** 2 * rated[one]).sum(axis=1)
    distance = np.asarray(squares - 2 * (ratings[one] * ratings[other]).sum(axis=1)).ravel()
    return np.where(np.asarray(common).ravel() > 1, distance / np.maximum(np.asarray(common).ravel(), 1), np.nan)
