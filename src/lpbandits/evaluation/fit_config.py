"""How models are fitted for an evaluation: as a given model was, or in the ways that development people choose from."""

from dataclasses import dataclass

from lpbandits.data.ratings import Ratings
from lpbandits.fit.estimator import Estimator
from lpbandits.fit.pipeline import States, fit_states
from lpbandits.fit.refit import estimator_of
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
"""Of KMeans: what is tried is fitted many times."""

PEOPLE_A_STATE = 5
"""Fitted people that a state needs to be tried."""


@dataclass(frozen=True)
class Settings:
    """How a model is fitted: by what estimator, and what else `fit_states` takes."""

    estimator: Estimator
    states: States
    max_states: int | None = None
    pairs_per_person: int | None = None
    taste: bool = True

    @classmethod
    def of(cls, model: PreferenceModel) -> "Settings | None":
        """Return how a model was fitted, as far as it tells."""
        told = estimator_of(model)
        if told is None:
            return None
        estimator, states, others = told
        return cls(estimator, states, **{name: value for name, value in others.items() if name != "heldout"})

    def tasted(self, log: Ratings, chosen: TasteReport | None, threads: int) -> TasteFit:
        """Fit a taste to a log, as the settings say; or as was `chosen` before."""
        if not self.taste:
            return TasteFit(warnings=("the model was fitted without a taste (--no-taste)",))
        seed = self.estimator.seed
        with Threads(threads) as pool:
            return fit_taste(log, seed=seed, chosen=chosen, watch=Stopwatch(), threads=pool)

    def model_of(self, log: Ratings, threads: int) -> PreferenceModel:
        """Fit states to a log, without a taste."""
        return self.fitted(log, taste=False, threads=threads).model

    def fitted(self, log: Ratings, *, taste: bool, threads: int | None, jobs: int | Workers | None = None) -> Fit:
        """Fit states to a log; with a taste if that is wanted and the settings have one."""
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
        """Return it as a JSON object."""
        return {"states": self.states, "method": self.estimator.method, **self.estimator.settings()}


def candidates(people: int, *, states: int | None, scale: str | None, seed: int) -> list[Settings]:
    """Return what is tried where the user did not say: so many states, each on a scale.

    >>> [(one.states, one.estimator.settings()["scale"]) for one in candidates(60, states=None, scale=None, seed=0)]
    [(2, 'cosine'), (2, 'raw'), (5, 'cosine'), (5, 'raw'), (10, 'cosine'), (10, 'raw')]
    """
    numbers = [m for m in STATES if PEOPLE_A_STATE * m <= people] or [1]
    scales = SCALES if scale is None else (scale,)
    return [
        Settings(TwoStage(scale=one, restarts=RESTARTS, seed=seed), m)  # type: ignore[arg-type] # it looks at it
        for m in (numbers if states is None else [states])
        for one in scales
    ]
