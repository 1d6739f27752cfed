"""Who takes part in an evaluation, what each of them knows, and how they do with people who are replayed."""

import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.decisions.choose_policy import choose_policy
from lpbandits.errors import InvalidInput
from lpbandits.evaluation.baselines import REFERENCES, best_possible, ceiling, in_order
from lpbandits.evaluation.replay import Game, Replay, after, warm_up
from lpbandits.fit.taste.moments import Moments, moments
from lpbandits.fit.taste.popularity import as_standardized, popular_ordering
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Executor
from lpbandits.policies import entry_of
from lpbandits.policies.evidences.taste import taste_of
from lpbandits.policies.registry import NOTHING, TASTES
from lpbandits.taste_model import TasteModel
from lpbandits.typing import FloatArray

DEFAULT = (
    *("random", "popular", "ts-top", "lpbts", "lpb-utility", "lpb-ids", "taste"),
    *("item-knn", "ease", "ceiling", "best-possible"),
)
BOUNDS = ("ceiling", "best-possible")
"""Who knows what nobody can."""

YARDSTICKS = ("random", "popular")

Steps = Callable[[Iterator[Any], int], Iterator[Any]]
"""Goes through so many results as they come, and tells somebody."""


def unwatched(results: Iterator[Any], count: int) -> Iterator[Any]:
    """Tell nobody."""
    del count
    return results


@dataclass(frozen=True, eq=False)
class Known:
    """What contestants know: a model, sums over people, and the constants of references; nothing of those replayed."""

    model: PreferenceModel
    seen: Moments
    popular: FloatArray
    """The higher, the more everybody likes the action."""
    constants: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """Contestants by name, and how they play."""

    names: Sequence[str]
    seed: int
    executor: Executor
    threads: int
    """Of this process, for what is not sent to the executor."""

    @property
    def on_states(self) -> list[str]:
        """Policies that rest on the model's states."""
        return [name for name in self.personal if entry_of(name).knows not in (NOTHING, TASTES)]

    @property
    def personal(self) -> list[str]:
        """Policies that learn of a person: one of them may be the best."""
        return [name for name in self.names if kind_of(name) == "policy" and name not in YARDSTICKS]

    @property
    def references(self) -> list[str]:
        """Those that are no bandits."""
        return [name for name in self.names if name in REFERENCES]

    @property
    def tastes(self) -> list[str]:
        """Those that need the model's taste."""
        return [name for name in self.names if name == "ceiling" or (name in self.personal and _is_taste(name))]

    def without(self, names: Sequence[str]) -> "Contest":
        """Return the same without some."""
        return replace(self, names=[name for name in self.names if name not in names])

    def of_policies(self, who: Sequence[tuple[str, PreferenceModel]], replay: Replay) -> list[FloatArray]:
        """Return how policies do, each with its model, people × rounds."""
        games = self._games(who, replay)
        with self.executor.threaded() as players:
            return replay.gathered(games, list(players.map(Game.played, ((game,) for game in games))))

    def _games(self, who: Sequence[tuple[str, PreferenceModel]], replay: Replay) -> list[Game]:
        """Return what is to be played: by the policies that `lpb decide` would take."""
        made = [choose_policy(model, "uniform" if name == "random" else name).policy for name, model in who]
        games = replay.games(made, seed=self.seed)
        warm_up(games)
        return games

    def scores(
        self, names: Sequence[str], known: Known, replay: Replay, steps: Steps = unwatched
    ) -> dict[str, FloatArray]:
        """Return how policies, references and bounds do, people × rounds; `steps` are told of as they end."""
        quick: dict[str, Callable[[Replay], FloatArray]] = {
            "popular": partial(in_order, known.popular),
            "best-possible": best_possible,
        }
        policies = [name for name in names if name not in quick and kind_of(name) == "policy"]
        others = [name for name in names if name not in quick and name not in policies]
        games = self._games([(name, known.model) for name in policies], replay)
        jobs = [_job_of(name, known, replay) for name in others]
        with self.executor.threaded() as players:
            results = itertools.chain(
                players.map(Game.played, ((game,) for game in games)), self.executor.map(operator.call, jobs)
            )
            done = list(steps(results, len(games) + len(jobs)))
        found = dict(zip(policies, replay.gathered(games, done[: len(games)]), strict=True))
        found |= dict(zip(others, done[len(games) :], strict=True))
        found |= {name: replay.scored(made(replay)) for name, made in quick.items() if name in names}
        return {name: found[name] for name in names}

    def tuned(self, seen: Moments, replay: Replay, steps: Steps = unwatched) -> dict[str, tuple[float, float]]:
        """Return each reference's constants that do best with people who are replayed, of all that are tried."""
        jobs = [(name, first, seen, replay) for name in self.references for first in REFERENCES[name].firsts]
        values: dict[str, dict[tuple[float, float], float]] = {name: {} for name in self.references}
        for (name, *_), found in zip(jobs, steps(self.executor.map(values_of, jobs), len(jobs)), strict=True):
            values[name] |= found
        return {name: max(tried, key=lambda constants: tried[constants]) for name, tried in values.items()}


def values_of(name: str, first: float, seen: Moments, replay: Replay) -> dict[tuple[float, float], float]:
    """Return how a reference does with one first constant, and every second one."""
    return REFERENCES[name].values(seen, first, lambda made: mean_score(replay.scored(made.played(replay))))


def _job_of(name: str, known: Known, replay: Replay) -> tuple[Any, ...]:
    """Return what is to be called for the scores of a reference or a bound, with no more than it needs."""
    if name == "ceiling":
        return scores_of_ceiling, taste_of(known.model), replay
    return scores_of_reference, name, known.seen, known.constants[name], replay


def scores_of_reference(name: str, seen: Moments, constants: tuple[float, float], replay: Replay) -> FloatArray:
    """Return how a reference does, people × rounds."""
    return replay.scored(REFERENCES[name].made(seen, *constants).played(replay))


def scores_of_ceiling(taste: TasteModel, replay: Replay) -> FloatArray:
    """Return how whoever foresees each action from all others does, people × rounds."""
    return replay.scored(ceiling(taste, replay))


def kind_of(name: str) -> str:
    """Return what a contestant is; a name that is none is refused.

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


def person_scores(scores: FloatArray) -> FloatArray:
    """Return each person's mean over all their rounds."""
    return after(scores, scores.shape[1])


def mean_score(scores: FloatArray) -> float:
    """Return the mean of that over people."""
    return float(person_scores(scores).mean())


def known_of(model: PreferenceModel, log: Ratings, constants: Mapping[str, tuple[float, float]] | None = None) -> Known:
    """Return what is known by a model and a log's people; popularity is that of the policy `popular`."""
    ratings = as_standardized(log)
    order = popular_ordering(ratings)
    popular = np.zeros(len(log.actions)) if order is None else -np.argsort(order).astype(np.float64)
    return Known(model, moments(ratings, people=np.flatnonzero(ratings.scales.informative)), popular, constants or {})


def _is_taste(name: str) -> bool:
    return entry_of(name).knows == TASTES
