"""`FitConfig`: settings with which an evaluation fits its models."""

from dataclasses import dataclass

from lpbandits.data.ratings import Ratings
from lpbandits.fit.estimator import Estimator, States
from lpbandits.fit.pipeline import fit_states
from lpbandits.fit.provenance import Provenance
from lpbandits.fit.report import Fit
from lpbandits.fit.taste.tuning import TasteFit, TasteReport, fit_taste
from lpbandits.fit.two_stage import TwoStage
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Threads, Workers
from lpbandits.progress import Stopwatch
from lpbandits.typing import Json

STATES = (2, 5, 10)
SCALES = ("cosine", "raw")
RESTARTS = 3
"""Restarts of k-means; fewer than by default, since several candidates are fitted."""

MIN_PEOPLE_PER_STATE = 5
"""Minimum number of fitted people per state of a candidate."""


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
        """Return the settings with which a model was fitted, None if its provenance does not hold them."""
        recorded = Provenance.of(model).refit_settings()
        if recorded is None:
            return None
        estimator, states, others = recorded
        return cls(estimator, states, **{name: value for name, value in others.items() if name != "heldout"})

    def fit_taste(self, log: Ratings, chosen: TasteReport | None, threads: int) -> TasteFit:
        """Fit a taste to a log, with the hyperparameters of `chosen` if given."""
        if not self.taste:
            return TasteFit(warnings=("the model was fitted without a taste (--no-taste)",))
        with Threads(threads) as pool:
            return fit_taste(log, seed=self.estimator.seed, chosen=chosen, watch=Stopwatch(), threads=pool)

    def fit_model(self, log: Ratings, threads: int) -> PreferenceModel:
        """Fit states to a log, without a taste."""
        return self.fit(log, taste=False, threads=threads).model

    def fit(self, log: Ratings, *, taste: bool, threads: int | None, jobs: int | Workers | None = None) -> Fit:
        """Fit states to a log, and a taste if both `taste` and the settings ask for one."""
        return fit_states(
            log,
            self.estimator,
            states=self.states,
            max_states=self.max_states,
            pairs_per_person=self.pairs_per_person,
            heldout=0.0,
            taste=taste and self.taste,
            threads=threads,
            jobs=jobs,
        )

    def to_dict(self) -> Json:
        """Return the settings as a JSON object."""
        return {"states": self.states, "method": self.estimator.method, **self.estimator.settings()}


def candidates(people: int, *, states: int | None, scale: str | None, seed: int) -> list[FitConfig]:
    """Return the settings to try: every number of states with every scale, unless one is given.

    >>> [(one.states, one.estimator.settings()["scale"]) for one in candidates(60, states=None, scale=None, seed=0)]
    [(2, 'cosine'), (2, 'raw'), (5, 'cosine'), (5, 'raw'), (10, 'cosine'), (10, 'raw')]
    """
    numbers = [m for m in STATES if MIN_PEOPLE_PER_STATE * m <= people] or [1]
    scales = SCALES if scale is None else (scale,)
    return [
        FitConfig(TwoStage(scale=one, restarts=RESTARTS, seed=seed), m)  # type: ignore[arg-type] # TwoStage checks it
        for m in (numbers if states is None else [states])
        for one in scales
    ]
