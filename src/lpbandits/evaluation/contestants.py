"""Contestants (policies, baselines, bounds) and their replay scores."""

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.decisions.choose_policy import choose_policy
from lpbandits.errors import InvalidInput
from lpbandits.evaluation.baselines import REFERENCES, best_possible, ceiling, in_order
from lpbandits.evaluation.replay import Game, Replay, mean_scores, warm_up
from lpbandits.fit.taste.moments import Moments, moments
from lpbandits.fit.taste.popularity import as_standardized, popular_ordering
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Executor
from lpbandits.policies import entry_of
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
    """Training results available to the contestants: a model, moments, and the constants of references."""

    model: PreferenceModel
    moments: Moments
    popularity: FloatArray
    """Popularity score of each action; higher is more popular."""
    constants: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, model: PreferenceModel, log: Ratings, constants: Mapping[str, tuple[float, float]] | None = None
    ) -> "Knowledge":
        """Derive moments and popularity (that of the policy `popular`) from the fitted people."""
        ratings = as_standardized(log)
        order = popular_ordering(ratings)
        popularity = np.zeros(len(log.actions)) if order is None else -np.argsort(order).astype(np.float64)
        people = np.flatnonzero(ratings.scales.informative)
        return cls(model, moments(ratings, people=people), popularity, constants or {})


@dataclass(frozen=True)
class Contest:
    """Contestants by name, and the resources to replay them."""

    names: Sequence[str]
    seed: int
    executor: Executor
    threads: int
    """Threads of this process, for work that is not sent to the executor."""

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
        """Contestants that need the model's taste."""
        policies = [name for name in self.personal if entry_of(name).knows == TASTES]
        return [name for name in self.names if name == "ceiling" or name in policies]

    def without(self, names: Sequence[str]) -> "Contest":
        """Return the contest without these contestants."""
        return replace(self, names=[name for name in self.names if name not in names])

    def policy_scores(self, policies: Sequence[tuple[str, PreferenceModel]], replay: Replay) -> list[FloatArray]:
        """Return the scores, people × rounds, of policies, each with its model."""
        games = self._games(policies, replay)
        with self.executor.threaded() as players:
            return replay.scores_of_games(games, list(players.map(Game.play, ((game,) for game in games))))

    def _games(self, policies: Sequence[tuple[str, PreferenceModel]], replay: Replay) -> list[Game]:
        """Return the games of policies, built as `lpb decide` builds them."""
        built = [choose_policy(model, name).policy for name, model in policies]
        games = replay.games(built, seed=self.seed)
        warm_up(games)
        return games

    def scores(
        self, names: Sequence[str], known: Knowledge, replay: Replay, watch: Stopwatch | None = None
    ) -> dict[str, FloatArray]:
        """Return the scores of contestants, people × rounds; `watch` reports the stage "replay"."""
        quick: dict[str, Callable[[Replay], FloatArray]] = {
            "popular": partial(in_order, known.popularity),
            "best-possible": best_possible,
        }
        policies = [name for name in names if name not in quick and kind_of(name) == "policy"]
        others = [name for name in names if name not in quick and name not in policies]
        games = self._games([(name, known.model) for name in policies], replay)
        jobs = [_job_of(name, known, replay) for name in others]
        with self.executor.threaded() as players:
            results = itertools.chain(
                players.map(Game.play, ((game,) for game in games)), self.executor.map(operator.call, jobs)
            )
            done = list(timed(watch or Stopwatch(), "replay", results, len(games) + len(jobs)))
        scores = dict(zip(policies, replay.scores_of_games(games, done[: len(games)]), strict=True))
        scores |= {name: replay.scores(rewards) for name, rewards in zip(others, done[len(games) :], strict=True)}
        scores |= {name: replay.scores(rewards(replay)) for name, rewards in quick.items() if name in names}
        return {name: scores[name] for name in names}

    def tune(
        self, seen: Moments, replay: Replay, watch: Stopwatch | None = None, *, first: int = 0, total: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Return the constants of each reference with the highest score.

        `watch` reports parts `first` and following, of `total`, of the stage "choose policy".
        """
        jobs = [(name, constant, seen, replay) for name in self.references for constant in REFERENCES[name].firsts]
        values: dict[str, dict[tuple[float, float], float]] = {name: {} for name in self.references}
        results = timed(
            watch or Stopwatch(), "choose policy", self.executor.map(tuning_scores, jobs), len(jobs), first, total
        )
        for (name, *_), scores in zip(jobs, results, strict=True):
            values[name] |= scores
        return {name: max(tried, key=lambda constants: tried[constants]) for name, tried in values.items()}


def timed(
    watch: Stopwatch, stage: str, results: Iterator[T], count: int, first: int = 0, total: int = 0
) -> Iterator[T]:
    """Yield `count` results; report each as a part of a stage, from part `first` of `total` (by default `count`)."""
    for part in range(first, first + count):
        with watch.part(stage, part, total or count):
            result = next(results)
        yield result


def tuning_scores(name: str, first: float, seen: Moments, replay: Replay) -> dict[tuple[float, float], float]:
    """Return the mean score of a reference with one first constant, by both constants."""
    reference = REFERENCES[name]
    built = reference.build(seen, first)
    return {
        (first, second): mean_score(replay.scores(reference.vary(built, second).play(replay)))
        for second in reference.seconds
    }


def _job_of(name: str, known: Knowledge, replay: Replay) -> tuple[Any, ...]:
    """Return the function and the arguments that compute the rewards of a reference or of the ceiling."""
    if name == "ceiling":
        return ceiling, taste_of(known.model), replay
    return reference_rewards, name, known.moments, known.constants[name], replay


def reference_rewards(name: str, seen: Moments, constants: tuple[float, float], replay: Replay) -> FloatArray:
    """Return the rewards of a reference, people × rounds."""
    return REFERENCES[name].recommender(seen, *constants).play(replay)


def kind_of(name: str) -> str:
    """Return the kind of a contestant.

    >>> kind_of("taste"), kind_of("ease"), kind_of("ceiling")
    ('policy', 'reference', 'bound')
    """
    if name in REFERENCES:
        return "reference"
    if name in BOUNDS:
        return "bound"
    if name not in YARDSTICKS and entry_of(name).feedback != "rewards":
        raise InvalidInput(f"policy {name!r} learns from duels, and a log has none; name policies for rewards")
    return "policy"


def mean_score(scores: FloatArray) -> float:
    """Return the mean over people of their mean scores."""
    return float(mean_scores(scores).mean())
