"""Split the people of a log into a training, a development and a report set."""

from dataclasses import dataclass

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.taste.popularity import MIN_RATINGS, informative
from lpbandits.text import pluralize
from lpbandits.typing import IntArray

REPORT, DEVELOPMENT = 0.35, 0.2
"""Shares of the people who can be replayed."""

MAX_REPORT, MAX_DEVELOPMENT = 2_000, 500
"""Maximum sizes of the two sets: enough to detect a difference of 0.01. All other people are fitted."""

MIN_PEOPLE = 12
"""Minimum number of people who can be replayed."""


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of people, by index in ascending order."""

    fitted: IntArray
    """Training set; it also holds people with too few ratings to be replayed."""
    development: IntArray
    """Set on which states, scale, policy and the constants of references are selected; fitted afterwards."""
    report: IntArray
    """Held-out people, replayed once with the selected settings."""

    @property
    def known(self) -> IntArray:
        """All people except those of the report set."""
        return np.sort(np.concatenate([self.fitted, self.development]))


def split(log: Ratings, *, least: int, seed: int, people: int | None = None) -> Split:
    """Split the people of a log at random; people of the last two sets have `least` ratings that differ.

    >>> log = Ratings.from_arrays(np.repeat(np.arange(20), 4), np.tile(np.arange(4), 20), np.arange(80) % 7)
    >>> parts = split(log, least=4, seed=0)
    >>> len(parts.fitted), len(parts.development), len(parts.report)
    (9, 4, 7)
    """
    eligible = informative(log)
    eligible = eligible[log.counts[eligible] >= least]
    if len(eligible) < MIN_PEOPLE:
        raise InvalidInput(_too_few(log, len(eligible), least))
    order = np.random.default_rng([seed, 12]).permutation(eligible)
    n_report = min(round(REPORT * len(eligible)), MAX_REPORT if people is None else people)
    n_development = min(round(DEVELOPMENT * len(eligible)), MAX_DEVELOPMENT)
    report, development = order[:n_report], order[n_report : n_report + n_development]
    fitted = np.setdiff1d(np.arange(len(log.people)), order[: n_report + n_development])
    return Split(fitted, np.sort(development), np.sort(report))


def _too_few(log: Ratings, eligible: int, least: int) -> str:
    most = int(log.counts.max(initial=0))
    if most < least:
        remedy = "; with --repeats three are enough" if most >= MIN_RATINGS else ""
        return f"each person must have at least {least} ratings to be replayed, but the maximum is {most}{remedy}"
    if not len(informative(log)):
        return "all ratings of each person are equal, so there is nothing to choose; give ratings that differ"
    return (
        f"{pluralize(eligible, 'person has', 'people have')} {least} ratings that differ; at least {MIN_PEOPLE} such "
        "people are needed: give ratings of more people"
    )
