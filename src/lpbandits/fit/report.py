"""What a fit gives back: the model, and an account of how it went."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from lpbandits.model import PreferenceModel
from lpbandits.typing import Json


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
