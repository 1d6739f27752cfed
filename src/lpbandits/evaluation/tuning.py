"""What development people decide: how many states and on what scale, the constants of references, and the policy."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.evaluation.baselines import REFERENCES
from lpbandits.evaluation.contestants import Contest, known_of, mean_score, person_scores
from lpbandits.evaluation.fit_config import Settings
from lpbandits.evaluation.replay import Replay
from lpbandits.fit.taste.tuning import TasteFit, TasteReport
from lpbandits.model import PreferenceModel
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, Json

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Trial:
    """One way of fitting states, and each person's score by each policy that rests on them."""

    settings: Settings
    scores: Mapping[str, FloatArray]

    def value(self, who: BoolArray) -> float:
        """Return the mean score of its best policy with some people; without any policy, fewer states are as good."""
        return max((float(one[who].mean()) for one in self.scores.values()), default=0.0)

    def scores_of_best(self, who: BoolArray) -> FloatArray:
        """Return the scores of some people by the policy that does best with them; nobody differs without one."""
        return max((one[who] for one in self.scores.values()), key=np.mean, default=np.zeros(int(who.sum())))

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        return {
            "settings": self.settings.to_dict(),
            "scores": {name: float(one.mean()) for name, one in self.scores.items()},
        }


def best_trial(trials: Sequence[Trial], who: BoolArray) -> Trial:
    """Return the first that does no worse, by a standard error, than what does best with some people."""
    best = max(trials, key=lambda trial: trial.value(who))
    for trial in trials:
        gap = best.scores_of_best(who) - trial.scores_of_best(who)
        if gap.mean() <= gap.std() / np.sqrt(max(len(gap), 1)):
            return trial
    return best


def unbiased(trials: Sequence[Trial], people: int) -> dict[str, float]:
    """Return each policy's mean score when one half of the people chooses among the trials for the other.

    Whoever was chosen as the best of many by the same people would seem better than they are, beside a policy that had
    nothing to choose.
    """
    half = np.arange(people) % 2 == 0
    found = {name: np.empty(people) for name in trials[0].scores}
    for who in (half, ~half):
        best = best_trial(trials, ~who)
        for name, scores in best.scores.items():
            found[name][who] = scores[who]
    return {name: float(scores.mean()) for name, scores in found.items()}


@dataclass(frozen=True)
class Choice:
    """Everything that was chosen, before anybody of the report was looked at."""

    way: Settings | PreferenceModel
    """How the model is fitted; or the model, if it is given."""
    constants: Mapping[str, tuple[float, float]]
    scores: Mapping[str, float]
    """Mean scores on development people; half of whom chose the states for the other half."""
    candidate: str | None
    """The policy that did best, popularity apart; None if there is none."""
    taste: TasteReport | None = None
    """How the taste is made."""
    trials: Sequence[Trial] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Whom it is impossible to try, and why."""

    @property
    def promising(self) -> bool:
        """Whether the candidate did better than popularity."""
        return self.candidate is not None and self.scores[self.candidate] > self.scores["popular"]

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        return {
            "settings": self.way.to_dict() if isinstance(self.way, Settings) else None,
            "taste": None if self.taste is None else {"factors": self.taste.factors, "shrinkage": self.taste.shrinkage},
            "constants": {name: list(values) for name, values in self.constants.items()},
            "scores": dict(self.scores),
            "trials": [trial.to_dict() for trial in self.trials],
        }


def develop(
    contest: Contest,
    given: PreferenceModel | Sequence[Settings],
    log: Ratings,
    replay: Replay,
    watch: Stopwatch,
) -> Choice:
    """Fit a log in each of the ways, or take the model given, and choose by how people not in it do."""
    trials: list[Trial] = []
    made = TasteFit(warnings=("the model has no taste; fit one from a log (lpb fit)",))
    if isinstance(given, PreferenceModel):
        way: Settings | PreferenceModel = given
        model = given
    else:
        given = given if contest.on_states else given[:1]
        models, made = fits(contest, given, log, watch)
        with watch.part("choose states", len(given), len(given) + 1):
            trials = _trials(contest, given, models, replay)
        way = best_trial(trials, np.ones(len(replay), dtype=np.bool_)).settings
        model = models[given.index(way)].replace(taste=made.taste)
    left_out: dict[str, str] = {}
    if model.taste is None:
        left_out = dict.fromkeys(contest.tastes, " ".join(made.warnings))
    contest = contest.without(list(left_out))
    parts = sum(len(REFERENCES[name].firsts) for name in contest.references) + 2
    with watch.part("choose policy", 0, parts):
        known = known_of(model, log)
    constants = contest.tuned(known.seen, replay, partial(timed, watch, "choose policy", 1, parts))
    with watch.part("choose policy", parts - 1, parts):
        known = replace(known, constants=constants)
        done = unbiased(trials, len(replay)) if trials else {}
        others = [name for name in contest.names if name not in done]
        done |= {name: mean_score(one) for name, one in contest.scores(others, known, replay).items()}
    personal = contest.personal
    candidate = max(personal, key=lambda name: done[name]) if personal else None
    return Choice(way, constants, done, candidate, made.report, trials, left_out)


def fits(
    contest: Contest, given: Sequence[Settings], log: Ratings, watch: Stopwatch
) -> tuple[list[PreferenceModel], TasteFit]:
    """Fit a log in each of the ways, and a taste if somebody needs one; all ways have the same."""
    threads = contest.executor.threads
    jobs: list[tuple[Any, ...]] = [(settings.model_of, log, threads) for settings in given]
    if contest.tastes:
        jobs.append((given[0].tasted, log, None, threads))
    results = contest.executor.map(operator.call, jobs)
    models = list(timed(watch, "choose states", 0, len(given) + 1, results, len(given)))
    made = TasteFit()
    for found in timed(watch, "choose taste", 0, 1, results, len(jobs) - len(given)):
        made = found
    return models, made


def _trials(
    contest: Contest, given: Sequence[Settings], models: Sequence[PreferenceModel], replay: Replay
) -> list[Trial]:
    """Return how people who are replayed do with each model, by each policy that rests on its states."""
    names = contest.on_states
    played = contest.of_policies([(name, model) for model in models for name in names], replay)
    scores = [person_scores(one) for one in played]
    return [
        Trial(settings, dict(zip(names, scores[i * len(names) :], strict=False))) for i, settings in enumerate(given)
    ]


def timed(watch: Stopwatch, stage: str, first: int, total: int, results: Iterator[T], count: int) -> Iterator[T]:
    """Give so many results, and tell of each as a part of a stage, beginning with the `first` of all its parts."""
    for done in range(first, first + count):
        with watch.part(stage, done, total):
            found = next(results)
        yield found
