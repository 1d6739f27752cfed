"""Contestants (policies, baselines, bounds) and their replay scores."""

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.evaluation.baselines import REFERENCES, ceiling, in_order
from lpbandits.evaluation.replay import Replay, play_recorded
from lpbandits.fit.taste.moments import Moments, moments
from lpbandits.fit.taste.popularity import as_standardized
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Executor
from lpbandits.policies import Policy, entry_of
from lpbandits.policies.choose import choose_policy
from lpbandits.policies.evidences.taste import taste_of
from lpbandits.policies.registry import NOTHING, TASTES
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray

DEFAULT = (
    *("random", "popular", "ts-top", "lpbts", "lpb-utility", "lpb-ids", "taste"),
    *("item-knn", "ease", "ceiling", "best-possible"),
)
BOUNDS = ("ceiling", "best-possible")
"""Contestants that use ratings which are unknown in practice."""

YARDSTICKS = ("random", "popular")
"""Policies that do not learn from a person's rewards."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Training results available to the contestants: the model, the moments and the recommenders' hyperparameters."""

    model: PreferenceModel
    moments: Moments
    constants: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The two hyperparameters of each recommender."""

    @classmethod
    def of(
        cls, model: PreferenceModel, log: Ratings, constants: Mapping[str, tuple[float, float]] | None = None
    ) -> "Knowledge":
        """Compute the moments and the model's popularity ordering from the log of the training people."""
        ratings = as_standardized(log)
        order = ratings.popular_ordering()
        popular = np.arange(model.n_actions) if order is None else order
        people = np.flatnonzero(ratings.scales.informative)
        return cls(model.replace(popular=popular), moments(ratings, people=people), constants or {})

    def job_of(self, name: str, replay: Replay) -> tuple[Any, ...]:
        """Return the function and the arguments that compute the rewards of a reference or a bound."""
        if name == "best-possible":
            return in_order, replay.recorded, replay
        if name == "ceiling":
            return ceiling, taste_of(self.model), replay
        return REFERENCES[name].play, self.moments, self.constants[name], replay


@dataclass(frozen=True)
class Contest:
    """Contestants by name, and the resources to replay them."""

    names: Sequence[str]
    seed: int
    executor: Executor

    @property
    def personal(self) -> list[str]:
        """Policies that learn from a person's rewards; one of them may be the best."""
        return [name for name in self.names if kind_of(name) == "policy" and name not in YARDSTICKS]

    @property
    def on_states(self) -> list[str]:
        """Policies that depend on the model's states."""
        return [name for name in self.personal if entry_of(name).knows not in (NOTHING, TASTES)]

    @property
    def references(self) -> list[str]:
        """Recommenders."""
        return [name for name in self.names if name in REFERENCES]

    @property
    def tastes(self) -> list[str]:
        """Contestants that need the model's taste model."""
        policies = [name for name in self.personal if entry_of(name).knows == TASTES]
        return [name for name in self.names if name == "ceiling" or name in policies]

    def without(self, names: Collection[str]) -> "Contest":
        """Return the contest without these contestants."""
        return replace(self, names=[name for name in self.names if name not in names])

    def policy_scores(
        self, policies: Sequence[tuple[str, PreferenceModel]], replay: Replay, watch: Stopwatch, *others: Any
    ) -> list[FloatArray]:
        """Return the scores (people × rounds) of each (name, model) in `policies`, then of each of `others`.

        Policies are built as `lpb decide` builds them, and told each person's number of rounds. Each of `others` is a
        function and its arguments, which returns rewards (people × rounds). `watch` reports the stage "replay".
        """

        def told(rounds: int) -> list[Policy]:
            return [choose_policy(model, name, rounds=rounds).policy for name, model in policies]

        games = replay.games(told, seed=self.seed)
        for policy, people, *_ in {(game[0].evidence.kind, game[0].rule.kind): game for game in games}.values():
            play_recorded(policy, people[:1], 1, replay.once, self.seed, 0)  # compile, so that workers load the kernels
        jobs = [*((play_recorded, *game) for game in games), *others]
        with self.executor.threaded() as players:
            rewards = list(timed(watch, "replay", players.map(operator.call, jobs), len(jobs)))
        scores = replay.scores_of_games(rewards[: len(games)], len(policies))
        return [*scores, *map(replay.scores, rewards[len(games) :])]

    def scores(
        self, names: Sequence[str], known: Knowledge, replay: Replay, watch: Stopwatch | None = None
    ) -> dict[str, FloatArray]:
        """Return the scores of contestants, people × rounds."""
        policies = [name for name in names if kind_of(name) == "policy"]
        others = [name for name in names if name not in policies]
        jobs = [known.job_of(name, replay) for name in others]
        scores = self.policy_scores([(name, known.model) for name in policies], replay, watch or Stopwatch(), *jobs)
        by_name = dict(zip([*policies, *others], scores, strict=True))
        return {name: by_name[name] for name in names}

    def tune(
        self, seen: Moments, replay: Replay, watch: Stopwatch, first: int = 0, total: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Return, for each recommender, the hyperparameters with the highest score; report progress as `timed` does."""
        tried = [(name, constant) for name in self.references for constant in REFERENCES[name].firsts]
        jobs = [(REFERENCES[name].tuning_scores, constant, seen, replay) for name, constant in tried]
        scores: dict[str, dict[tuple[float, float], float]] = {name: {} for name in self.references}
        results = timed(watch, "choose policy", self.executor.map(operator.call, jobs), len(jobs), first, total)
        for (name, _), part in zip(tried, results, strict=True):
            scores[name] |= part
        return {name: max(values, key=values.__getitem__) for name, values in scores.items()}


def timed(
    watch: Stopwatch, stage: str, results: Iterator[T], count: int, first: int = 0, total: int = 0
) -> Iterator[T]:
    """Yield `count` results; report each as a part of a stage, from part `first` of `total` (by default `count`)."""
    for part in range(first, first + count):
        with watch.part(stage, part, total or count):
            result = next(results)
        yield result


def kind_of(name: str) -> str:
    """Return the kind of a contestant.

    >>> kind_of("taste"), kind_of("ease"), kind_of("ceiling")
    ('policy', 'reference', 'bound')
    """
    if name in REFERENCES:
        return "reference"
    return "bound" if name in BOUNDS else "policy"
