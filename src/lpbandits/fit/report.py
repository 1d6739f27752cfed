"""The result of a fit: `Fit`, its `FitReport`, and the warnings in it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

import numpy as np
from scipy.special import expit

from lpbandits.data.blocks import Blocks
from lpbandits.data.chunked import ChunkedRatings, peak_of_process
from lpbandits.data.names import Naming
from lpbandits.fit.covariates import CovariateReport
from lpbandits.fit.methods.clusters import raters_of, variance_between
from lpbandits.fit.methods.estimator import Estimate, Estimator
from lpbandits.fit.scores import Scores
from lpbandits.fit.state_means import StateMeans
from lpbandits.fit.taste.tuning import TasteFit
from lpbandits.fit.uncertainty import expected_pairs_right, probability_above
from lpbandits.model import PreferenceModel
from lpbandits.model_fields import MAX_LOGIT_ERROR
from lpbandits.model_parts.covariates import CovariateModel
from lpbandits.notebook import Charted
from lpbandits.progress import Stopwatch
from lpbandits.text import pluralize, share_text
from lpbandits.typing import IntArray, Json
from lpbandits.validate import look_alikes

PACKAGES = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Packages whose versions are recorded in a model."""

MAX_TIES = 0.95
"""A log with a larger share of ties gets a warning."""

MAX_LABELS = 20
"""Maximum number of labels of never-compared actions in a report."""

MIN_STATE_PEOPLE, MIN_STATE_SHARE = 10, 0.01
"""A state with fewer people, or with a smaller share of them, gets a warning."""

TOP = 5
MIN_RATERS = 5
"""A state gets a warning if one of its `TOP` first actions has fewer raters in it."""

FAR_RANK = 10
MIN_CONFIDENCE = 0.9
"""Warn if a state's first action is above the action at rank `FAR_RANK` (or at the middle rank, if that is smaller)
with a lower probability."""


@dataclass(frozen=True, repr=False)
class FitReport:
    """Summary of a fit.

    Log-likelihoods are means per comparison (nats) of the mixture over states: −0.693 (log ½) is chance level, 0 is
    certainty.
    """

    method: str
    people: int
    actions: int
    ratings: int
    dropped: Mapping[str, int]
    """Number of dropped rows, people, actions and ratings, by reason."""
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
    """Share of the variance of people's number of ratings that lies between clusters (EM: likeliest states)."""
    mean_variance_explained: float
    """The same for people's mean rating."""
    never_compared: Sequence[Json]
    """Per state: number of actions without comparisons, and the labels of the first twenty."""
    components: Sequence[int]
    """Per state: connected components of the comparison graph, comparable with each other only through the prior."""
    passes: Sequence[int]
    """Per state: passes over the k×k counts in the last Bradley-Terry fit."""
    standard_error: Sequence[float | None]
    """Per state: median standard error of compared actions' utilities (logits), clustered by person."""
    pairs_right: Sequence[float | None]
    """Per state: expected share of pairs of compared actions in the right order, given these errors."""
    iterations: int
    """EM steps of the best start; 0 for two-stage."""
    history: Sequence[float]
    """EM's log-posterior of the fit to the initial labels and after each step (non-decreasing); empty for two-stage."""
    curve: Sequence[Json]
    """Held-out score by number of states, for states="auto"; see `StateCurve`."""
    taste: Json | None
    """See `TasteReport`. None without a taste model."""
    covariates: Json | None
    """See `CovariateReport`. None without a table of people."""
    named: int | None
    """Number of actions with a name; None if no names were given."""
    warnings: Sequence[str]
    space: Json
    """Location of the `log` ("memory" or "files"), its number of blocks (key `parts`), the maximum of `scratch_bytes`
    on disk, and `peak_bytes`: the sum of the peak memory of all processes since their start."""
    seconds: Mapping[str, float]
    """Seconds per stage."""

    def to_dict(self) -> Json:
        """Return the report as a JSON object."""
        return asdict(self)

    @property
    def sizes(self) -> str:
        """The numbers of ratings, people and actions."""
        ratings, actions = pluralize(self.ratings, "rating"), pluralize(self.actions, "action")
        return f"{ratings} by {pluralize(self.people, 'person', 'people')} of {actions}"

    def __repr__(self) -> str:
        return f"<FitReport: {pluralize(self.states, 'state')} by {self.method}, {self.sizes}>"


@dataclass(frozen=True, repr=False)
class Fit(Charted):
    """A fitted model and its report; the model's provenance repeats the report without times and memory."""

    model: PreferenceModel
    report: FitReport

    @classmethod
    def of(
        cls,
        log: Blocks,
        estimator: Estimator,
        options: Json,
        estimate: Estimate,
        *,
        naming: Naming,
        scores: Scores,
        means: StateMeans,
        popular: IntArray | None,
        taste: TasteFit,
        covariates: tuple[CovariateModel | None, CovariateReport] | None,
        watch: Stopwatch,
    ) -> "Fit":
        """Make the report and the model from the results of all stages."""
        ratings, states, compared = log.log, len(estimate.fits), ~estimate.never_compared
        never_compared = [np.flatnonzero(row).tolist() for row in estimate.never_compared]
        rows = list(zip(estimate.utilities, estimate.errors, compared, strict=True))
        explained = variance_between(log, estimate.labels)
        known, covariate_report = covariates or (None, None)
        notes = _warnings(estimate, raters_of(log, estimate.labels, states), scores)
        report = FitReport(
            method=estimator.method,
            people=len(ratings.people),
            actions=len(ratings.actions),
            ratings=len(ratings),
            dropped=dict(ratings.dropped),
            states=states,
            shares=estimate.shares.tolist(),
            state_people=np.bincount(estimate.labels, minlength=states).tolist(),
            comparisons=scores.training.pairs,
            ties=scores.training.tie_share,
            noise=means.noise,
            log_likelihood=scores.training.mean,
            heldout_log_likelihood=scores.heldout_log_likelihood,
            heldout_people=scores.heldout_people,
            heldout_fit_people=scores.heldout_fit_people,
            count_variance_explained=explained[0],
            mean_variance_explained=explained[1],
            never_compared=[
                {"count": len(never), "actions": [ratings.actions[a] for a in never[:MAX_LABELS]]}
                for never in never_compared
            ],
            components=[fit.components for fit in estimate.fits],
            passes=[fit.passes for fit in estimate.fits],
            standard_error=[float(np.median(errors[kept])) if kept.any() else None for _, errors, kept in rows],
            pairs_right=[expected_pairs_right(utilities[kept], errors[kept]) for utilities, errors, kept in rows],
            iterations=max(len(estimate.history) - 1, 0),
            history=list(estimate.history),
            curve=[] if scores.curve is None else scores.curve.rows(),
            taste=None if taste.report is None else asdict(taste.report),
            covariates=None if covariate_report is None else covariate_report.to_dict(),
            named=naming.matched,
            warnings=[
                *(*notes, *taste.warnings, *naming.warnings),
                *(() if covariate_report is None else covariate_report.warnings()),
                *(*look_alikes(ratings.people, "people"), *look_alikes(ratings.actions, "actions")),
            ],
            space=_space(log),
            seconds={stage: round(time, 3) for stage, time in watch.seconds.items()},
        )
        utilities = expit(estimate.utilities)
        for row, unknown in zip(utilities, estimate.unknown, strict=True):
            if not unknown.all():
                row[unknown] = row[~unknown].min()
        model = PreferenceModel(
            estimate.orderings,
            actions=ratings.actions,
            names=naming.names,
            prior=estimate.shares,
            utilities=utilities,
            errors=np.minimum(estimate.errors, MAX_LOGIT_ERROR),
            means=means.means,
            noise=means.noise,
            rewards=None if ratings.lower_is_better else means.rewards,
            lower_is_better=ratings.lower_is_better,
            reward_range=means.reward_range,
            popular=popular,
            taste=taste.taste,
            covariates=known,
            provenance={
                "made_by": f"recovery, {estimator.method}",
                "data_sha256": ratings.sha256,
                **({"ranks": True} if ratings.ranks else {}),
                "settings": {"method": estimator.method, **options, **estimator.settings()},
                "versions": {name: version(name) for name in PACKAGES},
                "never_compared": never_compared,
                "report": {name: value for name, value in vars(report).items() if name not in ("seconds", "space")},
            },
        )
        return cls(model, report)

    def __repr__(self) -> str:
        return repr(self.report).replace("FitReport", "Fit", 1)


def _space(log: Blocks) -> Json:
    """Return the location of the log, its number of blocks, and the peaks of disk and memory use."""
    where, scratch, peaks = "memory", 0, dict([peak_of_process()])
    if isinstance(log.log, ChunkedRatings):
        where, scratch, peaks = "files", log.log.scratch, log.peaks | peaks
    total = sum(peaks.values()) or None
    return {"log": where, "parts": len(log.edges) - 1, "scratch_bytes": scratch, "peak_bytes": total}


def _warnings(estimate: Estimate, raters: IntArray, scores: Scores) -> Iterator[str]:
    """Yield warnings about ties and the choice of the number of states, then those about the states and the score."""
    ties, curve, score, chance = scores.training.tie_share, scores.curve, scores.heldout_log_likelihood, math.log(0.5)
    if ties >= MAX_TIES:
        share = "all" if ties == 1 else f"{ties:.1%} of"
        yield f"{share} comparisons are ties, so the orderings carry almost no information; use finer ratings"
    if curve is not None:
        yield from curve.warnings()
    yield from estimate.warnings
    yield from _state_warnings(estimate, raters)
    yield from _fit_warnings(estimate)
    if score is not None and score <= chance:
        yield (
            f"the comparisons of {scores.heldout_people:,} held-out people are predicted no better than by chance "
            f"(log-likelihood {score:.3f}, chance level {chance:.3f}); use fewer states or more ratings"
        )


def _state_warnings(estimate: Estimate, raters: IntArray) -> Iterator[str]:
    """Yield warnings about small states, first actions with few raters, and uncertain orderings."""
    people = np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist()
    for z, share in enumerate(estimate.shares.tolist()):
        if people[z] < MIN_STATE_PEOPLE or share < MIN_STATE_SHARE:
            who = pluralize(people[z], "person", "people")
            yield f"state {z} has only {who} ({share_text(share)}); use fewer states"
    compared, rank = ~estimate.never_compared, min(FAR_RANK, (estimate.utilities.shape[1] + 1) // 2)
    few, unsure = [], []
    for z, order in enumerate(estimate.orderings):
        if np.any((raters[z] < MIN_RATERS)[order[:TOP]] & compared[z, order[:TOP]]):
            few.append(str(z))
        utilities, errors = estimate.utilities[z], estimate.errors[z]
        if rank > 1 and probability_above(utilities, errors, order[0], order[rank - 1]) < MIN_CONFIDENCE:
            unsure.append(str(z))
    few_text = (
        f"some of the {TOP} most preferred actions have fewer than {MIN_RATERS} raters in the state; keep only actions "
        "with more ratings (--min-action)"
    )
    unsure_text = (
        f"the first action is above the one at rank {rank} with a probability below {MIN_CONFIDENCE:.0%}; use more "
        "people or fewer states (lpb inspect shows rank intervals)"
    )
    for states, text in ((few, few_text), (unsure, unsure_text)):
        if states:
            yield f"{'state' if len(states) == 1 else 'states'} {', '.join(states)}: {text}"


def _fit_warnings(estimate: Estimate) -> Iterator[str]:
    """Yield warnings about actions never compared, disconnected graphs, and fits without convergence."""
    for z, fit in enumerate(estimate.fits):
        absent = int(fit.never_compared.sum())
        if absent:
            last = bool(estimate.unknown[z][fit.never_compared].all())
            ranked = "; they are ranked by the other states, or come last if no state compared them"
            where = " and come last" if last else ranked
            yield f"state {z}: {absent} of {len(fit.utilities)} actions were never compared{where}"
        if fit.components > 1:
            yield f"state {z}: the comparison graph has {fit.components} components, which only the prior links"
        if not fit.converged:
            yield f"state {z}: utilities did not converge in {fit.passes} passes; use a smaller prior_sd"
