"""The result of a fit: `Fit`, its `FitReport`, and the warnings in it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from lpbandits.data.blocks import RatingsLike
from lpbandits.data.names import Naming
from lpbandits.fit.bradley_terry import BradleyTerry
from lpbandits.fit.estimator import Estimate, Estimator, FitScore
from lpbandits.fit.selection import HeldOutScore, StateCurve
from lpbandits.fit.state_means import StateMeans
from lpbandits.fit.taste.tuning import TasteFit
from lpbandits.fit.uncertainty import expected_pairs_right, probability_above
from lpbandits.model import PreferenceModel
from lpbandits.text import pluralize, share_text
from lpbandits.typing import FloatArray, IntArray, Json

MAX_TIES = 0.95
"""A log with a larger share of ties gets a warning."""

MAX_LABELS = 20
"""Maximum number of labels of never-compared actions in a report."""

MIN_PEOPLE = 10
MIN_SHARE = 0.01
"""A state with fewer people, or a smaller share of them, gets a warning."""

TOP = 5
MIN_RATERS = 5
"""A state gets a warning if one of its `TOP` first actions has fewer raters in it."""

FAR = 10
SURE = 0.9
"""A state gets a warning if its first action is above the one at rank `FAR` (at most half) with less probability."""


@dataclass(frozen=True)
class FitReport:
    """Summary of a fit.

    Log-likelihoods are means per comparison (nats) of the mixture over states: −0.693 is a coin toss, 0 certainty.
    """

    method: str
    people: int
    actions: int
    ratings: int
    dropped: Mapping[str, int]
    """Number of dropped ratings, by reason."""
    states: int
    shares: Sequence[float]
    state_people: Sequence[int]
    """Per state: number of people in its cluster (EM: whose likeliest state it is)."""
    comparisons: float
    ties: float
    """Share of comparisons that are ties."""
    noise: float
    """Standard deviation of ratings about the means of the person's state."""
    log_likelihood: float
    heldout_log_likelihood: float | None
    """Log-likelihood of held-out people under a second fit without them; None with too few people."""
    heldout_people: int
    """Number of held-out people."""
    heldout_fit_people: int
    """Number of people in the second fit."""
    count_variance_explained: float
    """Share of the variance of people's number of ratings between clusters (EM: likeliest states)."""
    mean_variance_explained: float
    """The same for people's mean rating."""
    never_compared: Sequence[Json]
    """Per state: number of actions without comparisons, and the labels of the first twenty."""
    components: Sequence[int]
    """Per state: connected components of the comparison graph; only the prior links several."""
    passes: Sequence[int]
    """Per state: passes over the k×k counts in the last Bradley-Terry fit."""
    standard_error: Sequence[float | None]
    """Per state: median standard error of compared actions' utilities (logits), clustered by person."""
    pairs_right: Sequence[float | None]
    """Per state: expected share of pairs of compared actions in the right order, given these errors."""
    iterations: int
    """EM steps of the best start; 0 for two-stage."""
    history: Sequence[float]
    """EM's log-posterior before each step and at the end, never decreasing; empty for two-stage."""
    curve: Sequence[Json]
    """Held-out score by number of states, for states="auto"."""
    taste: Json | None
    """See `TasteReport`. None without a taste."""
    named: int | None
    """Number of actions with a name; None if no names were given."""
    warnings: Sequence[str]
    space: Json
    """Where the `log` was ("memory" or "files"), its number of `parts`, the maximum of `scratch_bytes` on disk, and
    `peak_bytes`: the sum of the peak memory of all processes since their start."""
    seconds: Mapping[str, float]
    """Seconds per stage."""

    def to_dict(self) -> Json:
        """Return the report as a JSON object."""
        return asdict(self)


@dataclass(frozen=True)
class Fit:
    """A fitted model and its report; the model's provenance repeats the report without times and memory."""

    model: PreferenceModel
    report: FitReport


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything a fit computes before it becomes a model."""

    estimate: Estimate
    raters: IntArray
    """m×k: number of people of each state who rated each action."""
    variance_explained: tuple[float, float]
    """Share of the variance of people's number of ratings, and of their mean rating, between states."""
    training: FitScore
    heldout: HeldOutScore
    curve: StateCurve | None
    means: StateMeans
    popular: IntArray | None
    taste: TasteFit


def report_of(
    findings: Findings,
    ratings: RatingsLike,
    estimator: Estimator,
    naming: Naming,
    seconds: Mapping[str, float],
    space: Json,
) -> FitReport:
    """Summarize a fit."""
    estimate, heldout, taste = findings.estimate, findings.heldout, findings.taste
    compared = ~estimate.never_compared
    rows = list(zip(estimate.utilities, estimate.errors, compared, strict=True))
    return FitReport(
        method=estimator.method,
        people=len(ratings.people),
        actions=len(ratings.actions),
        ratings=len(ratings),
        dropped=dict(ratings.dropped),
        states=len(estimate.fits),
        shares=estimate.shares.tolist(),
        state_people=np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist(),
        comparisons=findings.training.pairs,
        ties=findings.training.tie_share,
        noise=findings.means.noise,
        log_likelihood=findings.training.mean,
        heldout_log_likelihood=heldout.log_likelihood,
        heldout_people=heldout.people,
        heldout_fit_people=heldout.fit_people,
        count_variance_explained=findings.variance_explained[0],
        mean_variance_explained=findings.variance_explained[1],
        never_compared=[_never_compared(fit, ratings) for fit in estimate.fits],
        components=[fit.components for fit in estimate.fits],
        passes=[fit.passes for fit in estimate.fits],
        standard_error=[_median(errors[kept]) for _, errors, kept in rows],
        pairs_right=[expected_pairs_right(utilities[kept], errors[kept]) for utilities, errors, kept in rows],
        iterations=max(len(estimate.history) - 1, 0),
        history=list(estimate.history),
        curve=[] if findings.curve is None else findings.curve.rows(),
        taste=None if taste.report is None else taste.report.to_dict(),
        named=naming.matched,
        warnings=[*_warnings(findings), *taste.warnings, *naming.warnings],
        space=space,
        seconds={stage: round(time, 3) for stage, time in seconds.items()},
    )


def _warnings(findings: Findings) -> Iterator[str]:
    """Yield warnings about ties and the choice of the number of states, then those about the states and the score."""
    ties, curve, coin = findings.training.tie_share, findings.curve, math.log(0.5)
    if ties >= MAX_TIES:
        share = "all" if ties == 1 else f"{ties:.1%} of"
        yield f"{share} comparisons are ties, so the orderings carry almost no information; use finer ratings"
    if curve is not None and curve.states == max(curve.candidates):
        yield (
            f"{pluralize(curve.states, 'state')}, the most that were tried, did best on held-out people; more may do "
            "better: increase max_states (--max-states)"
        )
    yield from findings.estimate.warnings
    yield from _state_warnings(findings.estimate, findings.raters)
    yield from _fit_warnings(findings.estimate)
    score = findings.heldout.log_likelihood
    if score is not None and score <= coin:
        yield (
            f"the comparisons of {findings.heldout.people:,} held-out people are predicted no better than by a coin "
            f"toss (log-likelihood {score:.3f}, a coin {coin:.3f}); use fewer states or more ratings"
        )


def _state_warnings(estimate: Estimate, raters: IntArray) -> Iterator[str]:
    """Yield warnings about small states, first actions with few raters, and uncertain orderings."""
    people = np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist()
    for z, share in enumerate(estimate.shares.tolist()):
        if people[z] < MIN_PEOPLE or share < MIN_SHARE:
            who = pluralize(people[z], "person", "people")
            yield f"state {z} has only {who} ({share_text(share)}); use fewer states"
    compared, rank = ~estimate.never_compared, min(FAR, (estimate.utilities.shape[1] + 1) // 2)
    few, unsure = [], []
    for z, order in enumerate(estimate.orderings):
        if np.any((raters[z] < MIN_RATERS)[order[:TOP]] & compared[z, order[:TOP]]):
            few.append(str(z))
        utilities, errors = estimate.utilities[z], estimate.errors[z]
        if rank > 1 and probability_above(utilities, errors, order[0], order[rank - 1]) < SURE:
            unsure.append(str(z))
    if few:
        yield (
            f"{_states(few)}: some of the {TOP} most preferred actions have fewer than {MIN_RATERS} raters in the "
            "state; keep only actions with more ratings (--min-action)"
        )
    if unsure:
        yield (
            f"{_states(unsure)}: the first action is above the one at rank {rank} with a probability below {SURE:.0%}; "
            "use more people or fewer states (lpb inspect shows rank intervals)"
        )


def _states(numbers: list[str]) -> str:
    return f"{'state' if len(numbers) == 1 else 'states'} {', '.join(numbers)}"


def _fit_warnings(estimate: Estimate) -> Iterator[str]:
    """Yield warnings about actions never compared, disconnected graphs, and fits without convergence."""
    for z, fit in enumerate(estimate.fits):
        absent = int(fit.never_compared.sum())
        if absent:
            last = bool(estimate.unknown[z][fit.never_compared].all())
            where = " and come last" if last else "; they are ranked by the other states, or last"
            yield f"state {z}: {absent} of {len(fit.utilities)} actions were never compared{where}"
        if fit.components > 1:
            yield f"state {z}: the comparison graph has {fit.components} components, which only the prior links"
        if not fit.converged:
            yield f"state {z}: utilities did not converge in {fit.passes} passes; use a smaller prior_sd"


def _never_compared(fit: BradleyTerry, ratings: RatingsLike) -> Json:
    absent = np.flatnonzero(fit.never_compared)
    return {"count": len(absent), "actions": [ratings.actions[a] for a in absent[:MAX_LABELS].tolist()]}


def _median(values: FloatArray) -> float | None:
    return float(np.median(values)) if len(values) else None
