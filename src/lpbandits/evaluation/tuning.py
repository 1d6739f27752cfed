"""Selection on the development set: fit settings, hyperparameters of the recommenders, and the policy."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from lpbandits.data.ratings import Ratings
from lpbandits.evaluation.baselines import REFERENCES
from lpbandits.evaluation.contestants import Contest, Knowledge, timed
from lpbandits.evaluation.fit_config import FitConfig
from lpbandits.evaluation.replay import Replay, mean_score, mean_scores
from lpbandits.fit.taste.tuning import TasteFit, TasteReport
from lpbandits.model import PreferenceModel
from lpbandits.people.covariates import CovariateTable
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, Json


@dataclass(frozen=True, eq=False)
class Trial:
    """Fit settings, and the score of each development person under each policy that depends on states."""

    fit_config: FitConfig
    scores: Mapping[str, FloatArray]

    def best_scores(self, people: BoolArray) -> FloatArray:
        """Return these people's scores under the policy with the highest mean for them; zeros without policies."""
        return max((one[people] for one in self.scores.values()), key=np.mean, default=np.zeros(int(people.sum())))

    def to_dict(self) -> Json:
        """Return the trial as a JSON object."""
        return {
            "settings": self.fit_config.to_dict(),
            "scores": {name: float(one.mean()) for name, one in self.scores.items()},
        }


def best_trial(trials: Sequence[Trial], people: BoolArray) -> Trial:
    """Return the first trial whose mean score over these people is within one standard error of the best."""
    best = max(trials, key=lambda trial: trial.best_scores(people).mean())
    for trial in trials:
        gap = best.best_scores(people) - trial.best_scores(people)
        if gap.mean() <= gap.std() / np.sqrt(max(len(gap), 1)):
            return trial
    return best


def cross_validated(trials: Sequence[Trial], people: int) -> dict[str, float]:
    """Return the mean score of each policy when each half of the people selects the trial for the other half.

    The score of a trial on the people who selected it is biased upwards, which would favour policies that have settings
    to select.
    """
    half = np.arange(people) % 2 == 0
    scores = {name: np.empty(people) for name in trials[0].scores}
    for held_out in (half, ~half):
        for name, values in best_trial(trials, ~held_out).scores.items():
            scores[name][held_out] = values[held_out]
    return {name: float(values.mean()) for name, values in scores.items()}


@dataclass(frozen=True)
class Choice:
    """The selection, made before any person of the report set is replayed."""

    source: FitConfig | PreferenceModel
    """Settings of the fit, or the model that is evaluated unchanged."""
    constants: Mapping[str, tuple[float, float]]
    """The two hyperparameters of each recommender."""
    scores: Mapping[str, float]
    """Mean scores on the development set, cross-validated for policies that depend on states."""
    taste: TasteReport | None = None
    """Hyperparameters of the taste model."""
    trials: Sequence[Trial] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Contestants that cannot be evaluated, and why."""

    @property
    def fit_config(self) -> FitConfig | None:
        """Settings of the fit; None if the model is evaluated unchanged."""
        return self.source if isinstance(self.source, FitConfig) else None

    def to_dict(self) -> Json:
        """Return the selection as a JSON object."""
        return {
            "settings": None if self.fit_config is None else self.fit_config.to_dict(),
            "taste": None if self.taste is None else {"factors": self.taste.factors, "shrinkage": self.taste.shrinkage},
            "constants": {name: list(values) for name, values in self.constants.items()},
            "scores": dict(self.scores),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def knowledge(self, log: Ratings, contest: Contest, people: CovariateTable | None = None) -> Knowledge:
        """Fit a log, and covariates of its people, with the selected settings, unless the model is used unchanged."""
        model = self.source
        if isinstance(model, FitConfig):
            (model,), taste = _fit_all(contest, [model], log, Stopwatch(), self.taste, people)
            model = model.replace(taste=taste.taste)
        return Knowledge.of(model, log, self.constants)


def develop(
    contest: Contest,
    source: PreferenceModel | Sequence[FitConfig],
    log: Ratings,
    replay: Replay,
    watch: Stopwatch,
) -> Choice:
    """Fit a log with each of the settings, or use the model, and select by the scores of the replayed people."""
    trials: list[Trial] = []
    taste = TasteFit(warnings=("the model has no taste model; fit one to a log (lpb fit)",))
    if isinstance(source, PreferenceModel):
        selected: FitConfig | PreferenceModel = source
        model = source
    else:
        configs = source if contest.on_states else source[:1]
        models, taste = _fit_all(contest, configs, log, watch)
        with watch.part("choose states", len(configs), len(configs) + 1):
            names = contest.on_states
            policies = [(name, model) for model in models for name in names]
            scored = map(mean_scores, contest.policy_scores(policies, replay, Stopwatch()))
            trials = [Trial(config, {name: next(scored) for name in names}) for config in configs]
        selected = best_trial(trials, np.ones(len(replay), dtype=np.bool_)).fit_config
        model = models[configs.index(selected)].replace(taste=taste.taste)
    left_out = dict.fromkeys(contest.tastes, " ".join(taste.warnings)) if model.taste is None else {}
    contest = contest.without(left_out)
    parts = sum(len(REFERENCES[name].firsts) for name in contest.references) + 2
    with watch.part("choose policy", 0, parts):
        known = Knowledge.of(model, log)
    constants = contest.tune(known.moments, replay, watch, first=1, total=parts)
    with watch.part("choose policy", parts - 1, parts):
        known = replace(known, constants=constants)
        scores = cross_validated(trials, len(replay)) if trials else {}
        others = [name for name in contest.names if name not in scores]
        scores |= {name: mean_score(one) for name, one in contest.scores(others, known, replay).items()}
    return Choice(selected, constants, scores, taste.report, trials, left_out)


def _fit_all(
    contest: Contest,
    configs: Sequence[FitConfig],
    log: Ratings,
    watch: Stopwatch,
    chosen: TasteReport | None = None,
    people: CovariateTable | None = None,
) -> tuple[list[PreferenceModel], TasteFit]:
    """Fit a log with each of the settings, and one taste model if a contestant needs it."""
    threads = contest.executor.threads
    jobs: list[tuple[Any, ...]] = [(partial(config.fit, people=people), log, threads) for config in configs]
    if contest.tastes:
        jobs.append((configs[0].fit_taste, log, chosen, threads))
    results = contest.executor.map(operator.call, jobs)
    models = list(timed(watch, "choose states", results, len(configs), total=len(configs) + 1))
    tastes = list(timed(watch, "choose taste", results, len(jobs) - len(configs)))
    return models, tastes[0] if tastes else TasteFit()
