"""References of `evaluate` compared with `implicit` and `surprise`: same people, same information, same replay.

As in `lpb.evaluate`, models are fitted to a training set, all settings are selected on a development set, and the
report set is replayed once. A person gets only actions that they rated, each once, and the reward is the rating. A
recommender knows only the rewards of the actions played so far. Popularity breaks ties, and decides before the first
reward.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import lpbandits as lpb
from benchmarks.measure import Measured, Table, Value, interleaved, processor_seconds, say
from benchmarks.peers import Missing
from benchmarks.recommenders import RECOMMENDERS, Score, Settings
from lpbandits.data import Ratings
from lpbandits.evaluation.baselines import REFERENCES
from lpbandits.evaluation.contestants import Contest, Knowledge
from lpbandits.evaluation.replay import MIN_RATINGS_ONCE, Replay, mean_score, mean_scores
from lpbandits.evaluation.splits import splits
from lpbandits.fit import TwoStage, fit_states
from lpbandits.fit.taste.moments import moments
from lpbandits.fit.taste.popularity import informative
from lpbandits.parallel import Executor
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray

OURS = ("item-knn", "ease", "taste", "popular")
ROUNDS, TOGETHER = 20, 64
BESIDE = Path(__file__).parents[2] / "shared" / "data"


def made_up(people: int = 2000, actions: int = 300, seed: int = 0) -> Ratings:
    """Return synthetic ratings, 1 to 5: five states, individual preferences, popular actions rated more often."""
    rng = np.random.default_rng([seed, 4])
    preference = 0.5 * rng.normal(size=actions) + 0.5 * rng.normal(size=(5, actions))
    own = rng.normal(size=(people, 4)) @ rng.normal(0, 0.3, (4, actions))
    known = 0.6 * np.clip((np.arange(actions) + 10.0) ** -0.5 * 4, 0.05, 1.0)
    person, action = np.nonzero(rng.random((people, actions)) < known)
    level, scale = 3.3 + 0.4 * rng.normal(size=people), np.exp(0.25 * rng.normal(size=people))
    value = (preference[rng.integers(0, 5, people)] + own)[person, action] + 0.7 * rng.normal(size=len(person))
    return Ratings.from_arrays(person, action, np.clip(np.rint(level[person] + scale[person] * value), 1, 5))


def logs() -> dict[str, Ratings]:
    """Return the synthetic log and, if it is in the folder `LPB_DATA`, MovieLens latest-small."""
    found = {"synthetic log": made_up()}
    folder = Path(os.environ.get("LPB_DATA", BESIDE)) / "ml-latest-small"
    if folder.is_dir():
        found["MovieLens latest-small"] = lpb.read_ratings(folder, min_person=20, min_action=20)
    return found


def played(score: Score, popular: FloatArray, replay: Replay) -> FloatArray:
    """Return the rewards, people × rounds, of playing the highest score in every round; popularity breaks ties."""
    out = np.full((len(replay), replay.max_rounds), np.nan)
    for start in range(0, len(replay), TOGETHER):
        given = replay.recorded[start : start + TOGETHER]
        rows, observed, left = np.arange(len(given)), np.full(given.shape, np.nan), ~np.isnan(given)
        for t in range(replay.max_rounds):
            values = np.where(left, score(observed), -np.inf)
            best = values == values.max(axis=1, keepdims=True)
            chosen = np.argmax(np.where(best & left, popular, -np.inf), axis=1)
            observed[rows, chosen] = out[start : start + TOGETHER, t] = given[rows, chosen]
            left[rows, chosen] = False
    return out


class Match:
    """One log with its training, development and report sets, and the results on it."""

    def __init__(self, name: str, log: Ratings) -> None:
        self.name, self.log = name, log
        (parts,) = splits(log, least=MIN_RATINGS_ONCE, seed=0)
        self.fitted, self.known = log.subset(parts.fitted), log.subset(parts.known)
        self.development = Replay.of(log, parts.development, rounds=ROUNDS)
        self.report = Replay.of(log, parts.report, rounds=ROUNDS)
        self.contest = Contest(OURS, 0, Executor(threads=1))
        model = fit_states(self.known, TwoStage(scale="cosine", seed=0), states=5).model
        self.all_known = Knowledge.of(model, self.known)
        self.scores: dict[str, FloatArray] = {}
        self.seconds: dict[str, float] = {}
        self.fits: dict[str, Callable[[], object]] = {}
        self.settings: dict[str, str] = {}

    def ours(self) -> None:
        """Select the constants of our references, fit and replay them, and replay popularity and taste."""
        seen = moments(self.fitted.subset(informative(self.fitted)))
        say(f"{self.name}: {', '.join(REFERENCES)}")
        constants = self.contest.tune(seen, self.development, Stopwatch())
        for name in REFERENCES:
            self.settings[name] = ", ".join(f"{value:g}" for value in constants[name])
            self.fits[name] = partial(self._reference, name, constants[name])
        known = replace(self.all_known, constants=constants)
        for name in OURS:
            self._replayed(name, partial(self._of_contest, name, known))

    def _of_contest(self, name: str, known: Knowledge) -> FloatArray:
        return self.contest.scores([name], known, self.report)[name]

    def _reference(self, name: str, constants: tuple[float, float]) -> object:
        seen = moments(self.known.subset(informative(self.known)))
        return REFERENCES[name].recommenders(seen, constants[0], constants[1:])[0]

    def theirs(self) -> dict[str, str]:
        """Select, fit and replay the other packages; return the reasons why some are missing."""
        missing = {}
        for name, maker in RECOMMENDERS.items():
            say(f"{self.name}: {name}")
            try:
                settings = max(maker.settings(), key=partial(self._value, name))
                given = maker.form(self.known, settings)
                score = maker.fit(given, settings)
            except Missing as why:
                missing[name] = str(why)
                continue
            self.settings[name] = ", ".join(f"{key}={value}" for key, value in settings.items())
            self.fits[name] = partial(maker.fit, given, settings)
            self._replayed(name, lambda score=score: self._scored(score, self.report))  # type: ignore[misc]
        return missing

    def _value(self, name: str, settings: Settings) -> float:
        """Return the mean score of settings on the development set; −∞ if all scores tie."""
        maker = RECOMMENDERS[name]
        score = maker.fit(maker.form(self.fitted, settings), settings)
        scores = self._scored(score, self.development)
        ties = self._scored(np.zeros_like, self.development)
        return -np.inf if np.array_equal(scores, ties, equal_nan=True) else mean_score(scores)

    def _scored(self, score: Score, replay: Replay) -> FloatArray:
        popularity = -np.argsort(np.asarray(self.all_known.model.popular)).astype(np.float64)
        return replay.scores(played(score, popularity, replay))

    def _replayed(self, name: str, replay: Callable[[], FloatArray]) -> None:
        """Store the scores of a first replay, which may compile, and the time of a second."""
        self.scores[name] = mean_scores(replay())
        self.seconds[name] = processor_seconds(replay)

    def records(self) -> list[dict[str, Value]]:
        """Time the fits, interleaved, and return all results; differences are paired by person."""
        say(f"{self.name}: fits")
        took = dict(zip(self.fits, interleaved(*self.fits.values(), repeats=3).min(axis=1).tolist(), strict=True))
        decisions = int(self.report.rounds.sum())
        records: list[dict[str, Value]] = []
        for name, scores in self.scores.items():
            gap = scores - self.scores["item-knn"]
            records.append(
                {
                    "log": self.name,
                    "who": name,
                    "score": float(scores.mean()),
                    "se": float(scores.std(ddof=1) / np.sqrt(len(scores))),
                    "over item-knn": float(gap.mean()),
                    "its se": float(gap.std(ddof=1) / np.sqrt(len(gap))),
                    "fit s": took.get(name),
                    "µs a decision": 1e6 * self.seconds[name] / decisions,
                    "settings": self.settings.get(name, ""),
                    "fold-in": RECOMMENDERS[name].folds if name in RECOMMENDERS else "its own",
                }
            )
        return records

    def size(self) -> dict[str, Value]:
        return {
            "log": self.name,
            "people": len(self.log.people),
            "actions": len(self.log.actions),
            "ratings": len(self.log.rating),
            "fitted": len(self.fitted.people),
            "development": len(self.development),
            "replayed": len(self.report),
        }


def measured() -> Measured:
    """Measure everything in this file."""
    records: list[dict[str, Value]] = []
    sizes: list[dict[str, Value]] = []
    missing: dict[str, str] = {}
    for name, log in logs().items():
        match = Match(name, log)
        match.ours()
        missing |= match.theirs()
        records += match.records()
        sizes.append(match.size())
    absent: list[dict[str, Value]] = [{"who": name, "missing": why} for name, why in missing.items()]
    return Measured(
        [], [Table("references", records), Table("references-logs", sizes), Table("references-missing", absent)]
    )
