"""Replay of people of a log: they are offered the actions they rated; rewards are the ratings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.policies import Policy
from lpbandits.rewards import Rewards
from lpbandits.simulation.rollout import play
from lpbandits.typing import FloatArray, IntArray
from lpbandits.worlds.replay import recorded_rewards, replay_population

MIN_RATINGS_ONCE = 4
"""Minimum number of ratings of a replayed person who receives each action at most once; otherwise `MIN_RATINGS`."""

GAME_PEOPLE = 128
"""Maximum number of people per game."""


@dataclass(frozen=True, eq=False)
class Replay:
    """People of a log, sorted by their number of rounds.

    If a person receives each action at most once, they play at most half of the actions they rated, so that every round
    has a choice.
    """

    person: IntArray
    """Index of each person in the log."""
    recorded: FloatArray
    """People × actions: recorded rewards, NaN where there is none."""
    rounds: IntArray
    """Number of rounds per person, in ascending order."""
    once: bool

    @classmethod
    def of(cls, log: Ratings, people: IntArray, *, rounds: int, once: bool = True) -> "Replay":
        """Select people of a log, by index.

        >>> log = Ratings.from_arrays([0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 0, 1, 2, 4], [5, 3, 1, 2, 4, 4, 2, 1])
        >>> replay = Replay.of(log, np.array([0, 1]), rounds=20)
        >>> replay.rounds.tolist(), replay.max_rounds
        ([2, 2], 2)
        """
        person_rounds = np.minimum(log.counts[people] // 2, rounds) if once else np.full(len(people), rounds)
        order = np.argsort(person_rounds, kind="stable")
        recorded = recorded_rewards(log.subset(people[order]))
        return cls(people[order], recorded, person_rounds[order], once)

    def __len__(self) -> int:
        return len(self.person)

    @property
    def max_rounds(self) -> int:
        """The largest number of rounds of a person."""
        return int(self.rounds[-1])

    @cached_property
    def mask(self) -> FloatArray:
        """People × rounds: 0 in a person's rounds, NaN after their last."""
        return np.where(np.arange(self.max_rounds) < self.rounds[:, None], 0.0, np.nan)

    def scores(self, rewards: FloatArray) -> FloatArray:
        """Standardize rewards (people × rounds) by the person's ratings: (reward − mean) / sd; NaN after the last."""
        mean, sd = np.nanmean(self.recorded, axis=1), np.nanstd(self.recorded, axis=1)
        scores: FloatArray = (rewards[:, : self.max_rounds] - mean[:, None]) / sd[:, None] + self.mask
        return scores

    def games(
        self, policies: Callable[[int], Sequence[Policy]], *, seed: int
    ) -> list[tuple[Policy, FloatArray, int, bool, int, int]]:
        """Return the arguments of `play_recorded` for people with equal numbers of rounds, and among them by policy.

        `policies` returns the policies that are told a number of rounds.
        """
        edges = np.flatnonzero(np.diff(self.rounds, prepend=0, append=0))
        return [
            (policy, self.recorded[start : min(start + GAME_PEOPLE, high)], rounds, self.once, seed, start)
            for low, high in pairwise(edges.tolist())
            for rounds in [int(self.rounds[low])]
            for told in [policies(rounds)]
            for start in range(low, high, GAME_PEOPLE)
            for policy in told
        ]

    def scores_of_games(self, rewards: Sequence[FloatArray], n_policies: int) -> list[FloatArray]:
        """Return the scores of each policy, people × rounds, from the rewards of its games in their order."""
        wide = [np.pad(part, ((0, 0), (0, self.max_rounds - part.shape[1]))) for part in rewards]
        return [self.scores(np.concatenate(wide[policy::n_policies])) for policy in range(n_policies)]


def play_recorded(
    policy: Policy, recorded: FloatArray, rounds: int, once: bool, seed: int, first_person: int
) -> FloatArray:
    """Return the rewards, people × rounds, of a policy that observes only the rewards of the actions it chose.

    `first_person` is the row of the first person in the replay; the random numbers of a person depend on their row.
    """
    people = replay_population(policy.model, recorded, Rewards(), once=once)
    return play(policy, people, rounds=rounds, seed=seed, first_person=first_person).rewards


def mean_scores(scores: FloatArray, rounds: int | None = None) -> FloatArray:
    """Return each person's mean score over their first `rounds` rounds, by default over all.

    >>> mean_scores(np.array([[1.0, 2.0, 6.0], [1.0, 2.0, np.nan]]), 3).tolist()
    [3.0, 1.5]
    """
    means: FloatArray = np.nanmean(scores[:, :rounds], axis=1)
    return means


def mean_score(scores: FloatArray) -> float:
    """Return the mean over people of their mean scores."""
    return float(mean_scores(scores).mean())
