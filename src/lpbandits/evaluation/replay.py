"""People of a log, played again: each gets only what they really rated, and what they gave is the reward."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from lpbandits.limits import affordable
from lpbandits.parallel import each
from lpbandits.policies import Policy
from lpbandits.recovery.likings import LEAST_RATINGS
from lpbandits.recovery.ratings import Ratings
from lpbandits.rewards import Rewards
from lpbandits.simulation.roll import play
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds import Population

LEAST = {True: 4, False: LEAST_RATINGS}
"""Ratings of a person who can be replayed, if each action is given once, and if they repeat."""

TOGETHER = 128
"""People of one piece of work."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Some people of a log, in order of the rounds they play.

    If each action is given once, a person plays half of what they rated at most: playing all of it would leave nothing
    to choose.
    """

    person: IntArray
    """By index in the log."""
    given: FloatArray
    """people×k: what they gave, NaN where nothing."""
    rounds: IntArray
    """How many each plays, rising."""
    once: bool

    @classmethod
    def of(cls, log: Ratings, people: IntArray, *, rounds: int, once: bool = True) -> "Replay":
        """Take some people of a log, by index.

        >>> log = Ratings.from_arrays([0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2, 4], [5, 3, 1, 2, 4, 4, 2, 1])
        >>> replay = Replay.of(log, np.array([0, 1]), rounds=20)
        >>> replay.rounds.tolist(), replay.most
        ([2, 2], 2)
        """
        affordable(
            f"to replay {len(people):,} people with {len(log.actions):,} actions",
            "replay fewer people (--people), or leave out actions with few ratings (--min-action)",
            size=40 * len(people) * len(log.actions),
        )
        own = np.minimum(log.counts[people] // 2, rounds) if once else np.full(len(people), rounds)
        order = np.argsort(own, kind="stable")
        some = log.subset(people[order])
        given = np.full((len(people), len(log.actions)), np.nan)
        given[some.owner, some.action] = some.rating
        return cls(people[order], given, own[order], once)

    def __len__(self) -> int:
        return len(self.person)

    @property
    def most(self) -> int:
        """The most rounds that anybody plays."""
        return int(self.rounds[-1])

    @cached_property
    def beyond(self) -> FloatArray:
        """People × rounds: 0 where the person plays, NaN beyond."""
        return np.where(np.arange(self.most) < self.rounds[:, None], 0.0, np.nan)

    def scored(self, rewards: FloatArray) -> FloatArray:
        """Return people × rounds of rewards in units of the person's own ratings: (reward − mean) / sd; NaN beyond."""
        centre, spread = np.nanmean(self.given, axis=1), np.nanstd(self.given, axis=1)
        scores: FloatArray = (rewards[:, : self.most] - centre[:, None]) / spread[:, None] + self.beyond
        return scores

    def played(self, policy: Policy, *, seed: int, workers: int) -> FloatArray:
        """Return the scores of a policy, which is told nothing but the rewards of what it chose."""
        out = np.full((len(self), self.most), np.nan)
        edges = np.flatnonzero(np.diff(self.rounds, prepend=0, append=0))
        pieces = [
            (start, min(start + TOGETHER, end))
            for begin, end in pairwise(edges.tolist())
            for start in range(begin, end, TOGETHER)
        ]
        jobs = ((policy, seed, start, end) for start, end in pieces)
        for (start, end), found in zip(pieces, each(self._play, jobs, workers=workers), strict=True):
            out[start:end, : found.shape[1]] = found
        return self.scored(out)

    def _play(self, policy: Policy, seed: int, start: int, end: int) -> FloatArray:
        people = Population(
            policy.model,
            None,  # type: ignore[arg-type] # their states are not known
            self.given[start:end],
            Rewards(),
            once=self.once,
            replayed=True,
        )
        return play(policy, people, rounds=int(self.rounds[start]), seed=seed, first_person=start).rewards


def after(scores: FloatArray, rounds: int) -> FloatArray:
    """Return each person's mean score of their first rounds, of all theirs where they have fewer.

    >>> after(np.array([[1.0, 2.0, 6.0], [1.0, 2.0, np.nan]]), 3).tolist()
    [3.0, 1.5]
    """
    part = scores[:, :rounds]
    found: FloatArray = np.nanmean(part, axis=1)
    return found
