"""Who is fitted, who decides every choice, and who is looked at once: a log's people in three parts."""

from dataclasses import dataclass

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.taste.popularity import MIN_RATINGS, informative
from lpbandits.text import pluralize
from lpbandits.typing import IntArray

REPORT, DEVELOPMENT = 0.35, 0.2
"""Shares of the people who can be replayed."""

MOST_REPORTED, MOST_DEVELOPMENT = 2_000, 500
"""With more people, the others are fitted: so many settle a difference of a hundredth."""

FEWEST = 12
"""People who can be replayed: with fewer, none of the three parts says anything."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A log's people, by index, in rising order."""

    fitted: IntArray
    """Whom models are fitted to; also those of whom too little is known to replay them."""
    development: IntArray
    """Who decide what is chosen: states, scale, policy, the constants of references. Then they are fitted, too."""
    report: IntArray
    """Who are replayed once, with everything chosen."""

    @property
    def known(self) -> IntArray:
        """Everybody but the report people."""
        return np.sort(np.concatenate([self.fitted, self.development]))


def split(log: Ratings, *, least: int, seed: int, people: int | None = None) -> Parts:
    """Cut a log's people in three by `seed`; who is replayed has `least` ratings that are not all alike.

    >>> log = Ratings.from_arrays(np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20), np.arange(80) % 7)
    >>> parts = split(log, least=4, seed=0)
    >>> len(parts.fitted), len(parts.development), len(parts.report)
    (9, 4, 7)
    """
    able = informative(log)
    able = able[log.counts[able] >= least]
    if len(able) < FEWEST:
        raise InvalidInput(_too_few(log, len(able), least))
    order = np.random.default_rng([seed, 12]).permutation(able)
    reported = min(round(REPORT * len(able)), MOST_REPORTED if people is None else people)
    developed = min(round(DEVELOPMENT * len(able)), MOST_DEVELOPMENT)
    report, development = order[:reported], order[reported : reported + developed]
    fitted = np.setdiff1d(np.arange(len(log.people)), order[: reported + developed])
    return Parts(fitted, np.sort(development), np.sort(report))


def _too_few(log: Ratings, able: int, least: int) -> str:
    most = int(log.counts.max(initial=0))
    if most < least:
        again = "; where actions may be played again (--repeats) three are enough" if most >= MIN_RATINGS else ""
        return (
            f"nobody rated {least} actions (the most are {most}), of which half would be played: there is nothing to "
            f"choose from{again}"
        )
    if not len(informative(log)):
        return "everybody rates everything alike, so there is nothing to choose; give ratings that differ"
    return (
        f"{pluralize(able, 'person has', 'people have')} {least} ratings that are not all nearly alike; at least "
        f"{FEWEST} are needed to fit some and to replay others: give ratings of more people"
    )
