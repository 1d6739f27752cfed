"""Who takes part in an evaluation, what each of them knows, and how they do with people who are replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lpbandits.errors import InvalidInput
from lpbandits.evaluation.policy_choice import choose_policy
from lpbandits.evaluation.references import (
    REFERENCES,
    best_possible,
    ceiling,
    in_order,
)
from lpbandits.evaluation.replay import Replay, after
from lpbandits.model import PreferenceModel
from lpbandits.policies import entry_of
from lpbandits.policies.evidences.taste import taste_of
from lpbandits.policies.registry import NOTHING, TASTES
from lpbandits.recovery.likings import popular_ordering, telling
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.taste import Moments, moments
from lpbandits.typing import FloatArray

DEFAULT = (
    *("random", "popular", "ts-top", "lpbts", "lpb-utility", "lpb-ids", "taste"),
    *("item-knn", "ease", "ceiling", "best-possible"),
)
BOUNDS = ("ceiling", "best-possible")
"""Who knows what nobody can."""

YARDSTICKS = ("random", "popular")


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
    workers: int

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

    def of_policy(self, name: str, model: PreferenceModel, replay: Replay) -> FloatArray:
        """Return how a policy does, people × rounds: the one that `lpb decide` would take."""
        policy = choose_policy(model, "uniform" if name == "random" else name).policy
        return replay.played(policy, seed=self.seed, workers=self.workers)

    def scores(self, name: str, known: Known, replay: Replay) -> FloatArray:
        """Return how a policy, a reference or a bound does, people × rounds."""
        if name == "popular":
            return replay.scored(in_order(known.popular, replay))
        if name in REFERENCES:
            made = REFERENCES[name].made(known.seen, *known.constants[name])
            return replay.scored(made.played(replay))
        if name == "best-possible":
            return replay.scored(best_possible(replay))
        if name == "ceiling":
            return replay.scored(ceiling(taste_of(known.model), replay))
        return self.of_policy(name, known.model, replay)

    def tuned(self, name: str, seen: Moments, replay: Replay) -> tuple[float, float]:
        """Return a reference's constants that do best with people who are replayed."""
        return REFERENCES[name].tuned(seen, lambda made: mean_score(replay.scored(made.played(replay))))


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
    order = popular_ordering(log)
    popular = np.zeros(len(log.actions)) if order is None else -np.argsort(order).astype(np.float64)
    return Known(model, moments(log, people=telling(log)), popular, constants or {})


def _is_taste(name: str) -> bool:
    return entry_of(name).knows == TASTES
