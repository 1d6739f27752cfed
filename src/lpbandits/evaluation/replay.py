"""People of a log, played again: each gets only what they really rated, and what they gave is the reward."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.fit.taste.popularity import MIN_RATINGS
from lpbandits.limits import check_resources
from lpbandits.policies import Policy
from lpbandits.rewards import Rewards
from lpbandits.simulation.trace import play
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds import Population

LEAST = {True: 4, False: MIN_RATINGS}
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
        check_resources(
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

    def games(self, policies: Sequence[Policy], *, seed: int) -> "list[Game]":
        """Return all that is to be played: pieces of some people with each of the policies, who are sent together."""
        edges = np.flatnonzero(np.diff(self.rounds, prepend=0, append=0))
        starts = [start for low, high in pairwise(edges.tolist()) for start in range(low, high, TOGETHER)]
        pieces = [
            (start, int(self.rounds[start]), self.given[start:end]) for start, end in pairwise([*starts, len(self)])
        ]
        return [
            Game(which, policy, given, rounds, self.once, seed, start)
            for start, rounds, given in pieces
            for which, policy in enumerate(policies)
        ]

    def gathered(self, games: "Sequence[Game]", rewards: Sequence[FloatArray]) -> list[FloatArray]:
        """Return the scores of each policy, people × rounds, from the rewards of all games."""
        out = np.full((max((game.which for game in games), default=-1) + 1, len(self), self.most), np.nan)
        for game, found in zip(games, rewards, strict=True):
            out[game.which, game.start : game.start + len(found), : game.rounds] = found
        return [self.scored(one) for one in out]


class Game(NamedTuple):
    """Some people of a replay with one of the policies, which is told nothing but the rewards of what it chose."""

    which: int
    policy: Policy
    given: FloatArray
    rounds: int
    once: bool
    seed: int
    start: int
    """The place of the first of them in the replay: their luck."""

    def played(self) -> FloatArray:
        """Return the rewards, people × rounds."""
        people = Population(
            self.policy.model,
            None,  # type: ignore[arg-type] # their states are not known
            self.given,
            Rewards(),
            without_replacement=self.once,
            replayed=True,
        )
        return play(self.policy, people, rounds=self.rounds, seed=self.seed, first_person=self.start).rewards


def warm_up(games: Sequence[Game]) -> None:
    """Compile what games need, by one round of one person of each kind: workers then find it."""
    kinds = {(game.policy.evidence.kind, game.policy.rule.kind): game for game in games}
    for game in kinds.values():
        game._replace(given=game.given[:1], rounds=1).played()


def after(scores: FloatArray, rounds: int) -> FloatArray:
    """Return each person's mean score of their first rounds, of all theirs where they have fewer.

    >>> after(np.array([[1.0, 2.0, 6.0], [1.0, 2.0, np.nan]]), 3).tolist()
    [3.0, 1.5]
    """
    part = scores[:, :rounds]
    found: FloatArray = np.nanmean(part, axis=1)
    return found
