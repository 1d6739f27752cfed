"""Splits of a log's people into training, development and report sets, and the combined results of several splits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.evaluation.contestants import Contest, Knowledge
from lpbandits.evaluation.replay import Replay, mean_scores
from lpbandits.evaluation.tuning import Choice
from lpbandits.fit.taste.popularity import MIN_RATINGS, informative
from lpbandits.typing import FloatArray, IntArray

REPORT, DEVELOPMENT = 0.35, 0.2
"""Shares of the report and the development set among the people who can be replayed."""

MAX_REPORT, MAX_DEVELOPMENT = 2_000, 500
"""Maximum sizes of the two sets: enough to detect a difference of 0.01."""

MIN_PEOPLE = 12
"""Minimum number of people who can be replayed."""

ENOUGH_PEOPLE = 100
"""With fewer people in the report set, the verdict of one split is often not that of another."""

FOLDS, ROUNDS_OF_FOLDS = 3, 2
"""Number of folds, and of times that people are divided into folds: each time a person is in one report set."""

WIDENING = 1.25
"""Factor of the widths of intervals for several splits (ADR 21).

People of different folds are in each other's training data, so their scores are not independent. On logs without any
difference the standard deviation of mean gains was 1.13 times their standard error on average, at most 1.29 times.
"""


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of people, by index in ascending order."""

    fitted: IntArray
    """Training set: all other people, including those who cannot be replayed."""
    development: IntArray
    """Set on which all settings are selected; it is added to the training set for the final fit."""
    report: IntArray
    """Held-out people, replayed once with the selected settings."""

    @classmethod
    def of(cls, people: int, order: IntArray, n_report: int) -> "Split":
        """Report the first of the people in `order`; develop on the next, a share of all in `order`."""
        n_used = n_report + min(round(DEVELOPMENT * len(order)), MAX_DEVELOPMENT)
        report, development = order[:n_report], order[n_report:n_used]
        return cls(np.setdiff1d(np.arange(people), order[:n_used]), np.sort(development), np.sort(report))

    @property
    def known(self) -> IntArray:
        """All people except those of the report set."""
        return np.sort(np.concatenate([self.fitted, self.development]))


def splits(log: Ratings, *, least: int, seed: int, people: int | None = None) -> list[Split]:
    """Split the people of a log at random, several times if the report set would have few people.

    People can be replayed if they are informative and have at least `least` ratings. A report set has at most
    MAX_REPORT of them, or `people`; if that is given, the log is split once.

    >>> log = Ratings.from_arrays(np.repeat(np.arange(300), 4), np.tile(np.arange(4), 300), np.arange(1200) % 7)
    >>> (parts,) = splits(log, least=4, seed=0)
    >>> len(parts.fitted), len(parts.development), len(parts.report)
    (135, 60, 105)
    >>> several = splits(log.subset(np.arange(30)), least=4, seed=0)
    >>> [len(parts.report) for parts in several], len(several[0].development)
    ([10, 10, 10, 10, 10, 10], 6)
    """
    eligible = informative(log)
    eligible = eligible[log.counts[eligible] >= least]
    if len(eligible) < MIN_PEOPLE:
        most = int(log.counts.max(initial=0))
        if most < least:
            remedy = "; if actions may repeat (--repeats), three are enough" if most >= MIN_RATINGS else ""
            raise InvalidInput(
                f"a replayed person must have at least {least} ratings, but no person has more than {most}{remedy}"
            )
        raise InvalidInput(
            f"at least {MIN_PEOPLE} people with {least} or more ratings that are not all equal are needed, got "
            f"{len(eligible)}; give ratings of more people"
        )
    n_report = min(round(REPORT * len(eligible)), MAX_REPORT if people is None else people)
    if n_report >= ENOUGH_PEOPLE or people is not None:
        order = np.random.default_rng([seed, 12]).permutation(eligible)
        return [Split.of(len(log.people), order, n_report)]
    parts = []
    for number in range(ROUNDS_OF_FOLDS):
        order = np.random.default_rng([seed, 12, number]).permutation(eligible)
        folds = np.array_split(np.arange(len(order)), FOLDS)
        parts += [Split.of(len(log.people), np.roll(order, -fold[0]), len(fold)) for fold in folds]
    return parts


@dataclass(frozen=True, eq=False)
class Result:
    """The selection of one split, what it was fitted, and the scores (people × rounds) of its report set."""

    choice: Choice
    known: Knowledge
    replay: Replay
    scores: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Combined:
    """The results of all splits, by report person in ascending order; scores are means over a person's splits."""

    person: IntArray
    rounds: IntArray
    scores: dict[str, FloatArray]
    """Scores (people × rounds) of each contestant that no split left out."""
    selected: FloatArray
    """Score of each person under the policy that was selected for their splits; of popularity without policies."""
    candidates: Counter[str]
    """Number of splits that selected a policy."""
    promise: float
    """Mean difference on the development sets between the selected policy and popularity."""
    widen: float
    """Factor of the widths of intervals."""
    choice: Choice
    """The selection of the first split that selected the most frequent settings."""

    @classmethod
    def of(cls, results: Sequence[Result], contest: Contest) -> "Combined":
        """Combine the results of splits."""
        names = [name for name in contest.names if all(name in result.scores for result in results)]
        policies = [name for name in contest.personal if name in names]
        chosen = [max(policies, key=result.choice.scores.__getitem__, default="popular") for result in results]
        development = [result.choice.scores for result in results]
        person, row = np.unique(np.concatenate([result.replay.person for result in results]), return_inverse=True)
        times = np.bincount(row)
        n_rounds = np.concatenate([result.replay.rounds for result in results])
        rounds = np.zeros(len(person), dtype=np.int64)
        rounds[row] = n_rounds

        def mean(parts: Sequence[FloatArray]) -> FloatArray:
            total = np.zeros((len(person), int(rounds.max())))
            wide = [
                np.pad(part, ((0, 0), (0, total.shape[1] - part.shape[1])), constant_values=np.nan) for part in parts
            ]
            np.add.at(total, row, np.concatenate(wide))
            return np.asarray(total / times[:, None])

        settings = Counter(repr(result.choice.source) for result in results).most_common(1)[0][0]
        return cls(
            person,
            rounds,
            {name: mean([result.scores[name] for result in results]) for name in names},
            mean_scores(mean([result.scores[name] for name, result in zip(chosen, results, strict=True)])),
            Counter(chosen if policies else []),
            float(np.mean([one[name] - one["popular"] for name, one in zip(chosen, development, strict=True)])),
            1.0 if len(results) == 1 else WIDENING,
            next(result.choice for result in results if repr(result.choice.source) == settings),
        )

    def __len__(self) -> int:
        return len(self.person)

    @property
    def candidate(self) -> str | None:
        """The policy that most splits selected; None without policies."""
        return self.candidates.most_common(1)[0][0] if self.candidates else None
