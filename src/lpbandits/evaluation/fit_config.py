"""`FitConfig`: settings of the fits of an evaluation; `ModelSource`: such settings, or a model used unchanged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lpbandits import validate
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.methods.estimator import Estimator, States
from lpbandits.fit.methods.mixture import Mixture
from lpbandits.fit.methods.two_stage import TwoStage
from lpbandits.fit.pipeline import fit_states
from lpbandits.fit.provenance import Provenance
from lpbandits.fit.taste.tuning import TasteFit, TasteReport, fit_taste
from lpbandits.model import PreferenceModel, as_model
from lpbandits.parallel import Threads, Workers
from lpbandits.people.covariates import CovariateTable
from lpbandits.progress import Stopwatch
from lpbandits.text import pluralize
from lpbandits.typing import Json
from lpbandits.worlds.replay import align

STATES = (2, 5, 10)
RESTARTS = 3
"""Restarts of KMeans; fewer than by default, since several settings are tried."""

STARTS = 8
"""Starts of a mixture; fewer than by default for the same reason."""

MIN_PEOPLE_PER_STATE = 5
"""Minimum number of training people per state."""


@dataclass(frozen=True)
class FitConfig:
    """An estimator and the other arguments of `fit_states`."""

    estimator: Estimator
    states: States
    max_states: int | None = None
    pairs_per_person: int | None = None
    taste: bool = True

    @classmethod
    def of(cls, model: PreferenceModel) -> "FitConfig | None":
        """Return the settings that a model was fitted with; None if its provenance does not record them."""
        recorded = Provenance.of(model).refit_settings()
        if recorded is None:
            return None
        estimator, states, others = recorded
        return cls(estimator, states, **{name: value for name, value in others.items() if name != "heldout"})

    def fit_taste(self, log: Ratings, chosen: TasteReport | None, threads: int) -> TasteFit:
        """Fit a taste model to a log, with the hyperparameters of `chosen` if given."""
        if not self.taste:
            return TasteFit(warnings=("the model was fitted without a taste model (--no-taste)",))
        with Threads(threads) as pool:
            return fit_taste(log, seed=self.estimator.seed, chosen=chosen, watch=Stopwatch(), threads=pool)

    def fit(
        self,
        log: Ratings,
        threads: int | None,
        *,
        taste: bool = False,
        people: CovariateTable | None = None,
        jobs: int | Workers | None = None,
    ) -> PreferenceModel:
        """Fit states to a log, and a taste model if both `taste` and the settings ask for one."""
        return fit_states(
            log,
            self.estimator,
            states=self.states,
            max_states=self.max_states,
            pairs_per_person=self.pairs_per_person,
            heldout=0.0,
            taste=taste and self.taste,
            people=people,
            threads=threads,
            jobs=jobs,
        ).model

    def to_dict(self) -> Json:
        """Return the settings as a JSON object."""
        return {"states": self.states, "method": self.estimator.method, **self.estimator.settings()}


def settings_to_try(
    people: int, *, states: int | str = "auto", scale: str | None = None, seed: int = 0
) -> list[FitConfig]:
    """Return the settings to try: every number of states, unless it is given, with a mixture and with clusters.

    With a clustering scale, only clusters on it are tried.

    >>> [(one.states, one.estimator.method) for one in settings_to_try(30)]
    [(2, 'mixture'), (2, 'two-stage'), (5, 'mixture'), (5, 'two-stage')]
    >>> [(one.states, one.estimator.settings()["scale"]) for one in settings_to_try(30, scale="raw")]
    [(2, 'raw'), (5, 'raw')]
    """
    if states == "auto":
        numbers = [m for m in STATES if MIN_PEOPLE_PER_STATE * m <= people] or [1]
    else:
        numbers = [validate.as_count(states, "states", high=people)]
    estimators: list[Estimator] = [Mixture(restarts=STARTS, seed=seed), TwoStage(restarts=RESTARTS, seed=seed)]
    if scale is not None:
        estimators = [TwoStage(scale=scale, restarts=RESTARTS, seed=seed)]  # type: ignore[arg-type] # it checks this
    return [FitConfig(one, m) for m in numbers for one in estimators]


@dataclass(frozen=True, eq=False)
class ModelSource:
    """A log, and the model or the fit settings to evaluate on it."""

    log: Ratings
    source: PreferenceModel | FitConfig | None = None
    """The model that is evaluated unchanged, or the settings of the fits; None if the development set selects them."""
    notes: Sequence[str] = ()
    unseen: bool = True
    """Whether the replayed people are not in the training data."""

    @classmethod
    def of(cls, model: Any, log: Ratings, *, new_people: bool = False) -> "ModelSource":
        """Use a model unchanged if the people are new to it or its settings are unknown; otherwise use its settings."""
        if model is None and new_people:
            raise InvalidInput("new_people must be False without a model, got True; give the model to evaluate")
        if model is None:
            return cls(log)
        model = as_model(model)
        seen = validate.is_exactly(model.provenance.get("data_sha256"), log.sha256)
        if seen and new_people:
            raise InvalidInput("new_people must be False for the log that the model was fitted to, got True")
        config = FitConfig.of(model)
        aligned, dropped = align(log, model)
        notes = [f"ignored {pluralize(dropped, 'rating')} of actions that are not in the model"] if dropped else []
        if new_people:
            return cls(aligned, model, [*notes, "the model was used unchanged, for new people"])
        overlap = f"people of this log {'are' if seen else 'may be'} in the model's training data"
        if config is None:
            notes.append(f"{overlap}, but it was used unchanged, because it does not record its fit settings")
            return cls(aligned, model, notes, unseen=False)
        notes.append(f"{overlap}: the model was refitted with the same settings, without the held-out people")
        return cls(aligned, config, notes)
