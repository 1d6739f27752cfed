"""From a log of ratings to a model: the whole way, with a report."""

import math
from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

import numpy as np

from lpbandits import validate
from lpbandits.errors import InvalidInput, door
from lpbandits.model import PreferenceModel
from lpbandits.parallel import Progress, Threads
from lpbandits.recovery.bradley_terry import BradleyTerry
from lpbandits.recovery.certainty import pairs_right
from lpbandits.recovery.cluster import HUGE, Scale, variance_explained
from lpbandits.recovery.em import Em
from lpbandits.recovery.estimate import (
    Estimate,
    Estimator,
    as_estimator,
    distinct,
    mean_log_likelihood,
    to_model,
    warnings_about,
)
from lpbandits.recovery.heldout_people import HeldOutScore, choose_states, score_heldout, split_people
from lpbandits.recovery.pairs import compare
from lpbandits.recovery.ratings import Ratings, as_log
from lpbandits.recovery.report import Fit, FitReport, Stopwatch
from lpbandits.recovery.size import check_fit
from lpbandits.recovery.taste_choice import TasteFit, recover_taste
from lpbandits.recovery.two_stage import TwoStage
from lpbandits.taste import MOST_STATES
from lpbandits.typing import FloatArray, Json

States = int | Literal["auto"]

SHOWN = 20
"""How many labels of never-compared actions a report lists; it always counts them all."""


@door("fitting states")
def recover_two_stage(
    ratings: Ratings,
    *,
    states: States = 5,
    scale: Scale = "cosine",
    prior_sd: float = 1.0,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    restarts: int | None = None,
    shrink: bool = True,
    taste: bool = True,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PreferenceModel:
    """Recover preference orderings by clustering people and fitting a Bradley-Terry model to each cluster.

    Parameters
    ----------
    states
        How many, or "auto": the fewest that predict unseen people about as well as the best number does.
    scale
        What KMeans sees: "cosine", which looks at taste alone, "raw" (the paper's), "centered" or "standardized"; see
        `cluster_people`.
    prior_sd
        Standard deviation of the Gaussian prior of each utility.
    pairs_per_person
        Use at most this many comparisons per person, weighted so that the expected counts stay the same.
    heldout
        Share of people on whom a second fit, made without them, is scored for the report; 0 for none. On a log of more
        than five million ratings it takes the clusters of the first fit, which so many people hardly move.
    restarts
        Starts of KMeans; by default 10, or 2 for a log of more than five million ratings.
    shrink
        Let states borrow from each other what their own people said too little of (see `shrinkage`); the paper's method
        does not.
    taste
        Also fit how tastes vary continuously (`model.taste`), which the policy `taste` needs; a log of very few people
        gives none, with a warning.
    threads
        By default all cores; the result does not depend on it.

    The model has orderings, utilities in [0, 1] with errors clustered by person, and cluster shares as prior; its
    provenance records the hash of the data, the settings, the versions and how the fit went. `fit_states` also returns
    that report on its own, with times.

    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = recover_two_stage(Ratings.from_arrays(*zip(*rows)), states=2)
    >>> model.orderings.tolist(), model.prior.tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """
    estimator = TwoStage(scale=scale, prior_sd=prior_sd, restarts=restarts, seed=validate.as_seed(seed), shrink=shrink)
    return fit_states(
        ratings,
        estimator,
        states=states,
        pairs_per_person=pairs_per_person,
        heldout=heldout,
        taste=taste,
        threads=threads,
        progress=progress,
    ).model


@door("fitting states")
def recover_em(
    ratings: Ratings,
    *,
    states: States = 5,
    scale: Scale = "cosine",
    prior_sd: float = 1.0,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    restarts: int = 3,
    tolerance: float = 1e-7,
    max_steps: int = 200,
    start: Sequence[int] | None = None,
    shrink: bool = True,
    taste: bool = True,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> PreferenceModel:
    """Recover preference orderings as a mixture of Bradley-Terry models, by EM.

    Each step weighs every person's comparisons by the probability that they are in a state; the log-posterior never
    falls. The first start is the clustering that `recover_two_stage` would make on `scale`, the second the same on
    the cosine scale if that is another, the others assign people at random; the start that ends highest is kept.

    Parameters
    ----------
    restarts
        Starts of EM.
    tolerance
        Stop when a step gains less than this per comparison (nats).
    max_steps
        Stop after this many steps in any case, with a warning.
    start
        The state of each person to start from, instead of all other starts.

    The other settings, and the model, are those of `recover_two_stage`.

    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = recover_em(Ratings.from_arrays(*zip(*rows)), states=2)
    >>> model.orderings.tolist(), model.prior.round(2).tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """
    estimator = Em(
        scale=scale,
        prior_sd=prior_sd,
        restarts=restarts,
        tolerance=tolerance,
        max_steps=max_steps,
        seed=validate.as_seed(seed),
        shrink=shrink,
        start=None if start is None else tuple(validate.as_list(start, "start", "states, one per person")),
    )
    return fit_states(
        ratings,
        estimator,
        states=states,
        pairs_per_person=pairs_per_person,
        heldout=heldout,
        taste=taste,
        threads=threads,
        progress=progress,
    ).model


@door("fitting states")
def fit_states(
    ratings: Ratings,
    estimator: Estimator,
    *,
    states: States = 5,
    pairs_per_person: int | None = None,
    heldout: float = 0.1,
    taste: bool = True,
    taste_states: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Fit with any estimator, `TwoStage(…)` or `Em(…)`, and report; the arguments are those of `recover_two_stage`.

    `taste_states` is the number of states that the taste has of its own, each with its means, whatever the number of
    orderings; beside factors, more than one gained nothing on real people (docs/taste.md).

    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> fit = fit_states(Ratings.from_arrays(*zip(*rows)), TwoStage(seed=1), states=2)
    >>> fit.report.people, fit.report.comparisons, round(fit.report.log_likelihood, 3)
    (10, 30.0, -0.29)
    """
    as_log(ratings)
    as_estimator(estimator)
    if not np.any(ratings.counts > 1):
        raise InvalidInput("nobody rated two actions, so there is nothing to compare; give more ratings per person")
    share = validate.as_number(heldout, "heldout", low=0, high=0.9)
    taste = validate.as_flag(taste, "taste")
    taste_states = validate.as_count(taste_states, "taste_states", high=MOST_STATES)
    if pairs_per_person is not None:
        pairs_per_person = validate.as_count(pairs_per_person, "pairs_per_person")
    watch = Stopwatch(progress)
    curve: list[Json] = []
    unseen = HeldOutScore()
    if isinstance(states, str) and states != "auto":
        raise InvalidInput(f"states is {validate.quoted(states)}; give a number, or 'auto'")
    auto = isinstance(states, str)
    if auto:
        with Stopwatch(seconds=watch.seconds).part("how many states"):  # choose_states reports its own progress
            chosen = choose_states(
                ratings,
                estimator=estimator,
                pairs_per_person=pairs_per_person,
                seed=estimator.seed,
                threads=threads,
                progress=progress,
            )
        number, curve = chosen.states, chosen.rows()
        score = float(chosen.log_likelihood[chosen.candidates.index(number)])
        unseen = HeldOutScore(score, chosen.people, len(ratings.people) - chosen.people)
    else:
        number = validate.as_count(states, "states")
    with Threads(threads) as pool:
        check_fit(ratings, number, estimator, pairs_per_person=pairs_per_person, workers=pool.count)
        with watch.part("sort"):
            comparisons = compare(ratings, pairs_per_person=pairs_per_person, seed=estimator.seed, threads=pool)
        quick = share > 0 and not auto and pairs_per_person is None and len(ratings) > HUGE
        aside = split_people(len(ratings.people), share, estimator.seed)[1] if quick else None
        estimate = distinct(estimator(ratings, comparisons, number, aside=aside, watch=watch, threads=pool))
        with watch.part("likelihood"):
            seen = mean_log_likelihood(comparisons, estimate, threads=pool)
        if share and not auto:
            with watch.part("held-out"):
                unseen = score_heldout(
                    ratings,
                    estimator,
                    number,
                    share=share,
                    without=estimate.without,
                    pairs_per_person=pairs_per_person,
                    threads=pool,
                )
        tastes = TasteFit()
        if taste:
            tastes = recover_taste(ratings, states=taste_states, seed=estimator.seed, watch=watch, threads=pool)
    pairs = float(comparisons.pairs.sum())
    report = _report(estimate, ratings, estimator, pairs, seen, unseen, curve, tastes, watch.seconds)
    asked = {"states": "auto" if auto else number, "pairs_per_person": pairs_per_person, "heldout": share}
    settings = {**asked, "taste": taste, "taste_states": taste_states, **estimator.settings()}
    return Fit(to_model(estimate, ratings, _provenance(report, settings, ratings, estimate), tastes.taste), report)


def _report(
    estimate: Estimate,
    ratings: Ratings,
    estimator: Estimator,
    pairs: float,
    seen: float,
    unseen: HeldOutScore,
    curve: list[Json],
    tastes: TasteFit,
    seconds: dict[str, float],
) -> FitReport:
    absent = estimate.never_compared
    return FitReport(
        method=estimator.method,
        people=len(ratings.people),
        actions=len(ratings.actions),
        ratings=len(ratings),
        dropped=dict(ratings.dropped),
        states=len(estimate.fits),
        shares=estimate.shares.tolist(),
        comparisons=pairs,
        log_likelihood=seen,
        heldout_log_likelihood=unseen.log_likelihood,
        heldout_people=unseen.people,
        heldout_fit_people=unseen.fit_people,
        count_variance_explained=variance_explained(ratings.counts.astype(np.float64), estimate.labels),
        mean_variance_explained=variance_explained(ratings.means, estimate.labels),
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
        curve=curve,
        taste=None if tastes.report is None else tastes.report.to_dict(),
        warnings=[*estimate.warnings, *warnings_about(estimate, ratings), *_no_better(unseen), *tastes.warnings],
        seconds={stage: round(time, 3) for stage, time in seconds.items()},
    )


def _no_better(unseen: HeldOutScore) -> list[str]:
    """Return a warning if people not in the fit are foreseen no better than by tossing a coin."""
    if unseen.log_likelihood is None or unseen.log_likelihood > math.log(0.5):
        return []
    return [
        f"the comparisons of {unseen.people:,} people not in the fit are foreseen no better than by a coin "
        f"({unseen.log_likelihood:.3f}, a coin {math.log(0.5):.3f}): the states may mean nothing; ask for fewer, or "
        "give more ratings"
    ]


def _never_compared(fit: BradleyTerry, ratings: Ratings) -> Json:
    absent = np.flatnonzero(fit.never_compared)
    return {"count": len(absent), "actions": [ratings.actions[a] for a in absent[:SHOWN].tolist()]}


def _median(values: FloatArray) -> float | None:
    return float(np.median(values)) if len(values) else None


def _provenance(report: FitReport, settings: Json, ratings: Ratings, estimate: Estimate) -> Json:
    """Return how the model was made; no times, so that the same data and seed give an equal model.

    "never_compared" lists, per state, the indexes of all actions that nobody in it compared.
    """
    account = report.to_dict()
    del account["seconds"]
    packages = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
    return {
        "made_by": f"recovery, {report.method}",
        "data_sha256": ratings.sha256,
        "settings": settings,
        "versions": {name: version(name) for name in packages},
        "never_compared": [np.flatnonzero(row).tolist() for row in estimate.never_compared],
        "report": account,
    }
