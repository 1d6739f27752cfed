"""What development people decide: how many states and on what scale, the constants of references, and the policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from lpbandits.evaluation.choices import Settings
from lpbandits.evaluation.contest import Contest, Known, mean_score, seen_of
from lpbandits.evaluation.replay import Replay
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Threads
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.report import Stopwatch
from lpbandits.recovery.taste_choice import TasteFit, recover_taste
from lpbandits.typing import Json


@dataclass(frozen=True)
class Trial:
    """One way of fitting states, and the mean score of each policy that rests on them."""

    settings: Settings
    scores: Mapping[str, float]

    @property
    def value(self) -> float:
        """The score of its best policy; without any, fewer states are as good."""
        return max(self.scores.values(), default=0.0)

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
        return {"settings": self.settings.to_dict(), "scores": dict(self.scores)}


@dataclass(frozen=True)
class Choice:
    """Everything that was chosen, before anybody of the report was looked at."""

    way: Settings | PreferenceModel
    """How the model is fitted; or the model, if it is given."""
    constants: Mapping[str, tuple[float, float]]
    scores: Mapping[str, float]
    """Mean scores on development people."""
    candidate: str | None
    """The policy that did best, popularity apart; None if there is none."""
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
    models: list[PreferenceModel] = []
    if isinstance(given, PreferenceModel):
        models = [given]
    else:
        for i, settings in enumerate(given):
            with watch.part("choose states", i, len(given)):
                models.append(settings.fitted(log, taste=False, threads=contest.workers).model)
                known = Known(models[-1])
                scores = {name: mean_score(contest.scores(name, known, replay)) for name in contest.on_states}
                trials.append(Trial(settings, scores))
    best = int(np.argmax([trial.value for trial in trials])) if trials else 0
    model = models[best]
    left_out: dict[str, str] = {}
    if contest.tastes:
        with watch.part("choose taste"):
            model, why = _with_taste(model, given, log, contest)
        left_out = dict.fromkeys(contest.tastes, why) if model.taste is None else {}
    contest = contest.without(list(left_out))
    with watch.part("choose policy"):
        seen = seen_of(log)
        constants = {name: contest.tuned(name, seen, replay) for name in contest.references}
        known = Known(model, seen, constants)
        done = dict(trials[best].scores) if trials else {}
        done |= {name: mean_score(contest.scores(name, known, replay)) for name in contest.names if name not in done}
    personal = contest.personal
    candidate = max(personal, key=lambda name: done[name]) if personal else None
    return Choice(trials[best].settings if trials else model, constants, done, candidate, trials, left_out)


def _with_taste(
    model: PreferenceModel, given: PreferenceModel | Sequence[Settings], log: Ratings, contest: Contest
) -> tuple[PreferenceModel, str]:
    """Return the model with a taste, fitted to the same people; or without one, and why."""
    if isinstance(given, PreferenceModel):
        return model, "the model has no taste; fit one from a log (lpb fit)"
    with Threads(contest.workers) as pool:
        made: TasteFit = recover_taste(
            log, states=given[0].taste_states, seed=given[0].estimator.seed, watch=Stopwatch(), threads=pool
        )
    return model.replace(taste=made.taste), " ".join(made.warnings)
