"""`Evaluation`: the result of an evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import polars as pl

from lpbandits.data.ratings import Ratings, as_ratings
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.evaluation.fit_config import FitConfig
from lpbandits.io.frames import to_pandas
from lpbandits.model import PreferenceModel
from lpbandits.notebook import Charted
from lpbandits.parallel import Workers
from lpbandits.people.covariates import as_covariates
from lpbandits.policies import title_of
from lpbandits.statistics import Difference
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, Json

Gain: TypeAlias = Difference
"""A difference of scores."""

TITLES = {"popular": "popularity", "item-knn": "item kNN", "ease": "EASE", "best-possible": "best possible"}
"""Titles that differ from the contestant's name or from the title of the registered policy."""


def titled(name: str) -> str:
    """Return the title of a contestant.

    >>> titled("item-knn"), titled("lpbts")
    ('item kNN', 'lpbTS')
    """
    return TITLES.get(name, title_of(name))


@dataclass(frozen=True, eq=False)
class Score:
    """The score of one contestant on the report set."""

    name: str
    kind: str
    """"policy", "reference" (a recommender) or "bound" (it uses ratings that are unknown in practice)."""
    z: Mapping[int, float | None]
    """Mean score by number of rounds; None if no person plays that many."""
    se: float | None
    """Standard error of the mean score over all rounds; None for a single person."""
    vs_popularity: Gain
    curve: Sequence[float]
    """Mean score after 1, 2, … rounds."""
    people: FloatArray
    """Score of each person over all their rounds."""

    def to_dict(self) -> Json:
        """Return the score as a JSON object."""
        return {
            "title": titled(self.name),
            "kind": self.kind,
            "z": {str(t): value for t, value in self.z.items()},
            "se": self.se,
            "vs_popularity": asdict(self.vs_popularity),
            "curve": list(self.curve),
        }


@dataclass(frozen=True)
class Group:
    """Gain of the candidate over popularity in one group of people."""

    name: str
    people: int
    gain: Gain
    worse: float
    """Share of the group with a higher score under popularity."""


@dataclass(frozen=True)
class CovariateGain:
    """Gain of a policy with covariates over the same policy without them, paired by person."""

    policy: str
    """Name of the policy on states with the highest development score, the most frequent one of several splits."""
    gain: Gain | None
    """None without a policy on states."""
    rounds: int
    vs_popularity: Gain | None = None
    """Gain of the policy with covariates over popularity; None without a policy on states."""

    @property
    def sentence(self) -> str:
        """The result in words.

        >>> CovariateGain("lpb-ids", Gain(0.02, 0.01, 0.03), 20).sentence
        'Covariates help: they change the score of lpb-ids by +0.020 [+0.010, +0.030] in 20 rounds. The verdict ...
        """
        if self.gain is None:
            return "Covariates were not evaluated: no policy with states was."
        if self.gain.mean == self.gain.low == self.gain.high == 0.0:
            return "Covariates change nothing: the fit found that they do not predict the states of held-out people."
        verb = {1: "help", 0: "make no clear difference", -1: "do harm"}[self.gain.sign]
        change = f"they change the score of {titled(self.policy)} by {self.gain:+.3f}"
        versus = (
            "" if self.vs_popularity is None else f"; with them its gain over popularity is {self.vs_popularity:+.3f}"
        )
        about = "The verdict compares policies without covariates."
        return f"Covariates {verb}: {change} in {pluralize(self.rounds, 'round')}{versus}. {about}"

    def to_dict(self) -> Json:
        """Return the gain as a JSON object."""
        return {**asdict(self), "sentence": self.sentence}


@dataclass(frozen=True, eq=False)
class Evaluation(Charted):
    """Comparison of policies with popularity on held-out people of a log.

    `best` is a policy that is significantly better than popularity (see `verdict.best_of`), else "popular".

    Examples
    --------
    >>> import numpy as np
    >>> from lpbandits import Ratings, evaluate
    >>> n, a = np.divmod(np.arange(60 * 8), 8)
    >>> log = Ratings.from_arrays(n, a, np.where(n % 2, a, 7 - a) + 0.1 * ((7 * n + 3 * a) % 5))
    >>> evaluation = evaluate(log, policies=["taste"], states=2)
    >>> evaluation
    <Evaluation: On 60 people (of 60), each held out in 2 of 6 splits, taste gains 0.744 ...
    >>> evaluation.refit(log).evaluation["best"]
    'taste'
    """

    verdict: str
    best: str
    candidate: str | None
    """The best policy, or else the one that most splits selected on their development set."""
    subject: str
    """Title of the policy of `against`, `gaps` and `groups`: the candidate's, or "the selected policy"."""
    selected: Mapping[str, int]
    """Number of splits in which a policy was selected on the development set."""
    people: int
    """Number of report people, replayed with settings that were selected without them."""
    log_people: int
    splits: int
    """Number of splits into training, development and report set: 1, or 6 if the report set would be small."""
    fitted_people: int
    development_people: int
    rounds: int
    once: bool
    policies: Mapping[str, Score]
    against: Mapping[str, Gain]
    """Gain of the subject over each other contestant."""
    gaps: FloatArray = field(repr=False)
    """Gain of the subject over popularity, by report person."""
    groups: Sequence[Group]
    chosen: Json
    """Settings selected on the development set, and the scores there; of several splits, those selected most often."""
    left_out: Mapping[str, str]
    """Policies that could not be evaluated, and why."""
    warnings: Sequence[str]
    table: pl.DataFrame = field(repr=False)
    """One row per report person: rounds, ratings, state and the score under each policy."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    fit_config: FitConfig | None = field(default=None, repr=False)
    """Settings of the fit; None if the model was evaluated unchanged."""
    covariates: CovariateGain | None = None
    """Comparison of a policy with and without covariates; None without a table of people."""
    unseen: bool = True
    """Whether the report people are known not to be in the training data."""

    @translate_errors("refitting the model")
    def refit(
        self,
        ratings: Ratings,
        *,
        people: Any = None,
        threads: int | None = None,
        jobs: int | Workers | None = None,
    ) -> PreferenceModel:
        """Fit a model to all people of a log with the selected settings; `model.evaluation` holds the verdict.

        `people` is a table of covariates, as in `fit_states`.
        """
        if self.fit_config is None:
            raise InvalidInput("the model was evaluated unchanged, so there are no fit settings; keep that model")
        table = None if people is None else as_covariates(people)
        model = self.fit_config.fit(as_ratings(ratings), threads, taste=True, people=table, jobs=jobs)
        return model.replace(evaluation=self.note())

    def to_dict(self) -> Json:
        """Return the JSON object that `lpb evaluate --json` prints."""
        return {
            "people": self.people,
            "policies": {name: score.to_dict() for name, score in self.policies.items()} | self._absent(),
            "verdict": self.verdict,
            "best": self.best,
            "candidate": self.candidate,
            "against": {name: asdict(gain) for name, gain in self.against.items()},
            "groups": [asdict(group) for group in self.groups],
            "rounds": self.rounds,
            "repeats": not self.once,
            "log": {
                "people": self.log_people,
                "fitted": self.fitted_people,
                "development": self.development_people,
                "report": self.people,
                "splits": self.splits,
            },
            "subject": self.subject,
            "selected": dict(self.selected),
            "chosen": self.chosen,
            "covariates": None if self.covariates is None else self.covariates.to_dict(),
            "left_out": dict(self.left_out),
            "warnings": list(self.warnings),
            "seconds": dict(self.seconds),
        }

    def _absent(self) -> Json:
        """Return the entries of policies that could not be evaluated, with null in place of every score."""
        scores: Json = {"z": {str(t): None for t in self.policies["popular"].z}, "se": None, "curve": []}
        scores["vs_popularity"] = {"mean": None, "low": None, "high": None}
        return {name: {"title": titled(name), "kind": "left out", **scores} for name in self.left_out}

    def to_pandas(self) -> Any:
        """Return the table of report people as a pandas frame; pyarrow is not needed."""
        return to_pandas(self.table)

    def note(self) -> Json:
        """Return the summary that is stored in a model (`model.evaluation`)."""
        return {
            "verdict": self.verdict,
            "best": self.best,
            "people": self.people,
            "rounds": self.rounds,
            "repeats": not self.once,
            "policies": {
                name: {"z": score.z[max(t for t in score.z if score.z[t] is not None)]}
                | {"vs_popularity": asdict(score.vs_popularity)}
                for name, score in self.policies.items()
            },
        }

    def __repr__(self) -> str:
        return f"<Evaluation: {self.verdict}>"
