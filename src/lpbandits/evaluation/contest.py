"""Who takes part in an evaluation, what each of them knows, and how they do with people who are replayed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from lpbandits.errors import InvalidInput
from lpbandits.evaluation.references import (
    REFERENCES,
    best_possible,
    ceiling,
    in_order,
    prior_means,
)
from lpbandits.evaluation.replay import Replay, after
from lpbandits.model import PreferenceModel
from lpbandits.policies import Setting, entry_of, make_policy
from lpbandits.policies.registry import NOTHING, TASTES
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.taste import Moments, moments, telling
from lpbandits.rewards import Rewards
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
    seen: Moments | None = None
    """None where no reference plays."""
    constants: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Contest:
    """Contestants by name, and how they play."""

    names: Sequence[str]
    rewards: Rewards
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

    def scores(self, name: str, known: Known, replay: Replay) -> FloatArray:
        """Return how one does, people × rounds."""
        return played(name, known, replay, self.rewards, seed=self.seed, workers=self.workers)

    def tuned(self, name: str, seen: Moments, replay: Replay) -> tuple[float, float]:
        """Return a reference's constants that do best with people who are replayed."""
        return REFERENCES[name].tuned(seen, lambda made: mean_score(replay.scored(made.played(replay))))


def played(name: str, known: Known, replay: Replay, rewards: Rewards, *, seed: int, workers: int) -> FloatArray:
    """Return the scores of a policy, a reference or a bound."""
    seen = known.seen
    if seen is not None and name == "popular":
        return replay.scored(in_order(prior_means(seen.means, seen.prior), replay))
    if seen is not None and name in REFERENCES:
        made = REFERENCES[name].made(seen, *known.constants[name])
        return replay.scored(made.played(replay))
    if name == "best-possible":
        return replay.scored(best_possible(replay))
    if name == "ceiling":
        if known.model.taste is None:
            raise InvalidInput("the ceiling needs a model with a taste; leave it out of --policies")
        return replay.scored(ceiling(known.model.taste, replay))
    policy = make_policy("uniform" if name == "random" else name, Setting(known.model, rewards, replay.most))
    return replay.played(policy, rewards, seed=seed, workers=workers)


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


def seen_of(log: Ratings) -> Moments:
    """Return the sums over a log's people that references and popularity rest on."""
    return moments(log.subset(telling(log)))


def _is_taste(name: str) -> bool:
    return entry_of(name).knows == TASTES
