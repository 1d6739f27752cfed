"""What an evaluation found, in plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import polars as pl

from lpbandits.evaluation.bootstrap import differences
from lpbandits.evaluation.fit_config import Settings
from lpbandits.policies import title_of
from lpbandits.typing import FloatArray, Json

TITLES = {
    "random": "random",
    "popular": "popularity",
    "item-knn": "item kNN",
    "ease": "EASE",
    "ceiling": "ceiling",
    "best-possible": "best possible",
}
"""What people call those that are no registered policies, or are known by another name."""


def titled(name: str) -> str:
    """Return what people call a policy or a reference.

    >>> titled("item-knn"), titled("lpbts")
    ('item kNN', 'lpbTS')
    """
    return TITLES.get(name, title_of(name))


@dataclass(frozen=True)
class Gain:
    """A mean difference over people, and its 95 % interval; None where there are too few of them."""

    mean: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, mean: float, interval: Sequence[float]) -> "Gain":
        """Make it of a mean and an interval, NaN where it is unknown."""
        low, high = (float(x) if np.isfinite(x) else None for x in interval)
        return cls(float(mean), low, high)

    @property
    def sign(self) -> int:
        """1 if the interval lies above 0, −1 if below, else 0."""
        if self.low is None or self.high is None:
            return 0
        return int(self.low > 0.0) - int(self.high < 0.0)

    @property
    def signed(self) -> str:
        """It for people, with its sign.

        >>> Gain(0.059, 0.044, 0.073).signed, Gain(-0.03, None, None).signed
        ('+0.059 [+0.044, +0.073]', '-0.030')
        """
        reach = "" if self.low is None or self.high is None else f" [{self.low:+.3f}, {self.high:+.3f}]"
        return f"{self.mean:+.3f}{reach}"

    def __str__(self) -> str:
        reach = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.mean:.3f}{reach}"


@dataclass(frozen=True, eq=False)
class Played:
    """How one policy or reference did with the report people."""

    name: str
    kind: str
    """"policy"; "reference": no bandit; "bound": it knows what nobody can."""
    z: Mapping[int, float | None]
    """Mean score after so many rounds; None where nobody plays so many."""
    se: float | None
    """The standard error of the last of these; None for a single person."""
    vs_popularity: Gain
    curve: Sequence[float]
    """Mean score after 1, 2, … rounds."""
    people: FloatArray
    """The score of each person, over all their rounds."""

    def to_dict(self) -> Json:
        """Return it as a JSON object."""
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
    """What some of the people gain by the chosen policy over popularity."""

    name: str
    people: int
    gain: Gain
    worse: float
    """The share of them who would have been better off with popularity."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Whether policies help the people of a log more than what is popular.

    `best` is a policy that surely helps (see `account.best_of`), else "popular".

    >>> from lpbandits import Ratings, evaluate
    >>> n, a = np.divmod(np.arange(60 * 8), 8)
    >>> log = Ratings.from_arrays(n, a, np.where(n % 2, a, 7 - a) + 0.1 * ((7 * n + 3 * a) % 5))
    >>> evaluate(log, policies=["taste"], states=2)
    <Evaluation: On 21 of your 60 people, whom no fit had seen, taste gains 0.689 ...
    """

    verdict: str
    best: str
    candidate: str | None
    """The policy of which groups and people are told: the best, or what development people chose; None: none."""
    people: int
    """Report people, who were replayed once with everything chosen."""
    log_people: int
    fitted_people: int
    development_people: int
    rounds: int
    once: bool
    policies: Mapping[str, Played]
    against: Mapping[str, Gain]
    """What the candidate gains over each other policy and reference."""
    groups: Sequence[Group]
    chosen: Json
    """What development people decided, and by what scores."""
    left_out: Mapping[str, str]
    """Policies that could not be tried, and why."""
    warnings: Sequence[str]
    table: pl.DataFrame = field(repr=False)
    """A row per report person: rounds, ratings, state and the score by each policy."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    way: Settings | None = field(default=None, repr=False)
    """How the model was fitted; None: it was given."""

    @property
    def gaps(self) -> FloatArray:
        """What each report person gains by the candidate over popularity."""
        return differences(self.policies[self.candidate or "popular"].people, self.policies["popular"].people)

    def to_dict(self) -> Json:
        """Return it as the JSON object that `lpb evaluate --json` prints."""
        return {
            "people": self.people,
            "policies": {name: played.to_dict() for name, played in self.policies.items()} | self._absent(),
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
            },
            "chosen": self.chosen,
            "left_out": dict(self.left_out),
            "warnings": list(self.warnings),
            "seconds": dict(self.seconds),
        }

    def _absent(self) -> Json:
        """Return who could not be tried, in the form of the others, with nothing known."""
        told = next(iter(self.policies.values())).z
        nothing: Json = {"z": {str(t): None for t in told}, "se": None}
        nothing["vs_popularity"] = {"mean": None, "low": None, "high": None}
        return {name: {"title": titled(name), "kind": "left out", **nothing, "curve": []} for name in self.left_out}

    def note(self) -> Json:
        """Return what a model keeps of it (`model.evaluation`)."""
        return {
            "verdict": self.verdict,
            "best": self.best,
            "people": self.people,
            "rounds": self.rounds,
            "repeats": not self.once,
            "policies": {
                name: {"z": played.z[max(t for t in played.z if played.z[t] is not None)]}
                | {"vs_popularity": asdict(played.vs_popularity)}
                for name, played in self.policies.items()
            },
        }

    def __repr__(self) -> str:
        return f"<Evaluation: {self.verdict}>"
