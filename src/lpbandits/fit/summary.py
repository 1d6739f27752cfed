"""The account of a fit: its report, with what a user should know, and the provenance of its model."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from lpbandits.data.blocks import RatingsLike
from lpbandits.data.names import Naming
from lpbandits.fit.bradley_terry import BradleyTerry
from lpbandits.fit.certainty import pairs_right
from lpbandits.fit.estimator import Estimate, Estimator, FitScore, warnings_about
from lpbandits.fit.report import FitReport
from lpbandits.fit.selection import HeldOutScore, StateCurve
from lpbandits.fit.state_means import StateMeans
from lpbandits.fit.taste.tuning import TasteFit
from lpbandits.fit.training_sketch import KEY, sketch_of
from lpbandits.text import pluralize
from lpbandits.typing import FloatArray, IntArray, Json

TIED = 0.95
"""A log of which this share of comparisons are ties gets a warning."""

SHOWN = 20
"""How many labels of never-compared actions a report lists; it always counts them all."""


@dataclass(frozen=True, eq=False)
class Findings:
    """What a fit found: the states, how well they do, and what goes with them."""

    estimate: Estimate
    raters: IntArray
    """m×k: how many people of each state rated each action."""
    sorts: tuple[float, float]
    """Share of the variance of people's number of ratings, and of their mean rating, that the states explain."""
    seen: FitScore
    """All comparisons."""
    unseen: HeldOutScore
    curve: StateCurve | None
    """Of the numbers of states, if the fit chose one."""
    means: StateMeans
    popular: IntArray | None
    """All actions, what everybody likes most first; None where nobody's ratings differ."""
    tastes: TasteFit


def report_of(
    found: Findings,
    ratings: RatingsLike,
    estimator: Estimator,
    called: Naming,
    seconds: Mapping[str, float],
    space: Json,
) -> FitReport:
    """Return the report on a fit."""
    estimate, unseen, tastes = found.estimate, found.unseen, found.tastes
    absent = estimate.never_compared
    activity, level = found.sorts
    return FitReport(
        method=estimator.method,
        people=len(ratings.people),
        actions=len(ratings.actions),
        ratings=len(ratings),
        dropped=dict(ratings.dropped),
        states=len(estimate.fits),
        shares=estimate.shares.tolist(),
        state_people=np.bincount(estimate.labels, minlength=len(estimate.fits)).tolist(),
        comparisons=found.seen.pairs,
        ties=found.seen.tied,
        noise=found.means.noise,
        log_likelihood=found.seen.mean,
        heldout_log_likelihood=unseen.log_likelihood,
        heldout_people=unseen.people,
        heldout_fit_people=unseen.fit_people,
        count_variance_explained=activity,
        mean_variance_explained=level,
        never_compared=[_never_compared(fit, ratings) for fit in estimate.fits],
        components=[fit.components for fit in estimate.fits],
        passes=[fit.passes for fit in estimate.fits],
        standard_error=[_median(errors[~never]) for errors, never in zip(estimate.errors, absent, strict=True)],
        pairs_right=[
            pairs_right(utilities[~never], errors[~never])
            for utilities, errors, never in zip(estimate.utilities, estimate.errors, absent, strict=True)
        ],
        iterations=max(len(estimate.history) - 1, 0),
        history=list(estimate.history),
        curve=[] if found.curve is None else found.curve.rows(),
        taste=None if tastes.report is None else tastes.report.to_dict(),
        named=called.matched,
        warnings=[
            *_all_ties(found.seen.tied),
            *_edge(found.curve),
            *estimate.warnings,
            *warnings_about(estimate, found.raters),
            *_no_better(unseen),
            *tastes.warnings,
            *called.warnings,
        ],
        space=space,
        seconds={stage: round(time, 3) for stage, time in seconds.items()},
    )


def _all_ties(ties: float) -> list[str]:
    """Return a warning if hardly anybody says what they like better."""
    if ties < TIED:
        return []
    what = "all" if ties == 1 else f"{ties:.1%} of"
    return [
        f"{what} comparisons are ties: people rated actions alike, so the orderings say next to nothing; give ratings "
        "that tell what people like better"
    ]


def _edge(curve: StateCurve | None) -> list[str]:
    """Return a warning if the number of states that was chosen is the largest tried."""
    if curve is None or curve.states < max(curve.candidates):
        return []
    return [
        f"{pluralize(curve.states, 'state')}, the most that were tried, did best on people not in the fit: more may do "
        "better; try more (max_states; --max-states), if there are people enough"
    ]


def _no_better(unseen: HeldOutScore) -> list[str]:
    """Return a warning if people not in the fit are foreseen no better than by tossing a coin."""
    if unseen.log_likelihood is None or unseen.log_likelihood > math.log(0.5):
        return []
    return [
        f"the comparisons of {unseen.people:,} people not in the fit are foreseen no better than by a coin "
        f"({unseen.log_likelihood:.3f}, a coin {math.log(0.5):.3f}): the states may mean nothing; ask for fewer, or "
        "give more ratings"
    ]


def _never_compared(fit: BradleyTerry, ratings: RatingsLike) -> Json:
    absent = np.flatnonzero(fit.never_compared)
    return {"count": len(absent), "actions": [ratings.actions[a] for a in absent[:SHOWN].tolist()]}


def _median(values: FloatArray) -> float | None:
    return float(np.median(values)) if len(values) else None


def provenance_of(report: FitReport, settings: Json, ratings: RatingsLike, estimate: Estimate) -> Json:
    """Return how the model was made; no times and no space, so that the same data and seed give an equal model.

    "never_compared" lists, per state, the indexes of all actions that nobody in it compared; "people_sketch" tells who
    was in the fit without naming anybody (see `overlap`).
    """
    account = report.to_dict()
    del account["seconds"], account["space"]
    packages = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
    return {
        "made_by": f"recovery, {report.method}",
        "data_sha256": ratings.sha256,
        "settings": settings,
        "versions": {name: version(name) for name in packages},
        "never_compared": [np.flatnonzero(row).tolist() for row in estimate.never_compared],
        KEY: sketch_of(ratings.people),
        "report": account,
    }
