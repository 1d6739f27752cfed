"""What a fit gives back: the model, and an account of how it went."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from lpbandits.data.ratings import Ratings
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Progress, Workers
from lpbandits.typing import Json

if TYPE_CHECKING:
    import polars as pl

    from lpbandits.data.chunked import PartedRatings


@dataclass(frozen=True)
class FitReport:
    """How a fit went, in plain values.

    Log-likelihoods are means per comparison, in nats, of the mixture over states: −0.693 is a coin toss, 0 certainty.
    Multiply by `comparisons` for the total.
    """

    method: str
    people: int
    actions: int
    ratings: int
    dropped: Mapping[str, int]
    states: int
    shares: Sequence[float]
    state_people: Sequence[int]
    """How many people's cluster, or with EM likeliest state, each is."""
    comparisons: float
    ties: float
    """The share of comparisons that are ties: two actions rated alike."""
    noise: float
    """Standard deviation of ratings about the means of the person's state."""
    log_likelihood: float
    heldout_log_likelihood: float | None
    """Of people not used: a second fit without them is scored on them. None when there were too few people."""
    heldout_people: int
    """How many people that is."""
    heldout_fit_people: int
    """How many others the second fit was made with."""
    count_variance_explained: float
    """Share of the variance of people's number of ratings that the clusters (EM: the likeliest states) explain."""
    mean_variance_explained: float
    """The same for people's mean rating."""
    never_compared: Sequence[Json]
    """Per state: how many actions nobody in it compared, and the labels of the first twenty."""
    components: Sequence[int]
    """Per state: pieces of the comparison graph; more than one means that only the prior ties them together."""
    passes: Sequence[int]
    """Per state: passes over the k by k counts in the last Bradley-Terry fit."""
    standard_error: Sequence[float | None]
    """Per state: median error of the utilities of compared actions, on the logit scale, clustered by person."""
    pairs_right: Sequence[float | None]
    """Per state: the share of pairs of compared actions that these errors let one expect in the right order."""
    iterations: int
    """EM steps of the best start; 0 for two-stage."""
    history: Sequence[float]
    """EM's log-posterior before each step and at the end, never falling; empty for two-stage."""
    curve: Sequence[Json]
    """Held-out log-likelihood by number of states, when that was chosen automatically."""
    taste: Json | None
    """How the taste was chosen; see `TasteReport`. None when none was fitted."""
    named: int | None
    """How many actions got a name; None if no names were given."""
    warnings: Sequence[str]
    space: Json
    """Where the `log` was ("memory" or "files"), in how many `parts`, the `scratch_bytes` that it took on the disk at
    most, and the `peak_bytes` of memory: of all processes, each at its own height since it began. What a program did
    before a fit is in it."""
    seconds: Mapping[str, float]

    def to_dict(self) -> Json:
        """Return the report as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Fit:
    """A fitted model and the report on it; the model's provenance has the report too, without the times."""

    model: PreferenceModel
    report: FitReport

    def states_of(
        self,
        ratings: "Ratings | PartedRatings",
        *,
        threads: int | None = None,
        jobs: int | Workers | None = None,
    ) -> "pl.DataFrame":
        """Return each person's likeliest state, of people in the fit or not; see `lpbandits.states_of`."""
        from lpbandits.fit.assign import states_of  # noqa: PLC0415 - polars only where a table is made

        return states_of(self.model, ratings, threads=threads, jobs=jobs)


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number of things in words.

    >>> counted(1, "state"), counted(2_000, "person", "people")
    ('1 state', '2,000 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def share_text(share: float) -> str:
    """Return a share for people: a small one is not shown as none.

    >>> share_text(0.256), share_text(0.002)
    ('26%', '<1%')
    """
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


@dataclass
class Stopwatch:
    """Seconds spent per stage, and whom to tell about progress.

    >>> said = []
    >>> watch = Stopwatch(lambda *news: said.append(news))
    >>> with watch.part("count", 0, 2): pass
    >>> said, list(watch.seconds)
    ([('count', 0, 2), ('count', 1, 2)], ['count'])
    """

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, stage: str, done: int = 0, total: int = 1) -> Iterator[None]:
        """Time one part of a stage, of which `done` of `total` parts are over."""
        start = time.perf_counter()
        if self.progress:
            self.progress(stage, done, total)
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start
        if self.progress:
            self.progress(stage, done + 1, total)

    def skip_to_end(self, stage: str, total: int) -> None:
        """Say that a stage ended before all its parts were needed."""
        if self.progress:
            self.progress(stage, total, total)
