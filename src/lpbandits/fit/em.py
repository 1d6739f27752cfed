"""EM estimator: a mixture of Bradley-Terry models."""

from dataclasses import asdict, dataclass, replace

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, RatingsLike
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import BradleyTerry, maximise
from lpbandits.fit.clusters import MAX_RESTARTS, Scale, cluster_people, level_warnings, variance_between
from lpbandits.fit.comparisons import Comparisons, compare, count_state
from lpbandits.fit.estimator import Estimate, log_likelihoods, mixture, with_errors
from lpbandits.fit.two_stage import check_settings
from lpbandits.fit.uncertainty import scatter
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray, IntArray, Json

MAX_STATES = 2**31 - 1

MIN_PROBABILITY = 1e-14
"""People with a lower probability of a state do not count in it."""

MANY_ACTIONS = 3000
"""With more actions each step takes seconds: it passes over all pairs of actions several times."""


@dataclass(frozen=True)
class Em:
    """EM for a mixture of Bradley-Terry models, from several starts.

    Each step weights every person's comparisons by the probability of each state; the log-posterior never decreases.
    The first start is the clustering of `TwoStage` on `scale`, the second the same on the cosine scale if that differs,
    the others assign people at random. The start with the highest log-posterior is kept.

    Parameters
    ----------
    scale, prior_sd, seed, shrink
        As in `TwoStage`.
    restarts
        Number of starts.
    tolerance
        Stop when a step gains less than this per comparison (nats).
    max_steps
        Maximum number of steps per start.
    start
        State of each person to start from, instead of all other starts.

    Examples
    --------
    >>> from lpbandits.fit import fit_states
    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = fit_states(Ratings.from_arrays(*zip(*rows)), Em(restarts=1), states=2).model
    >>> model.orderings.tolist(), model.prior.round(2).tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """

    scale: Scale = "cosine"
    prior_sd: float = 1.0
    restarts: int = 3
    tolerance: float = 1e-7
    max_steps: int = 200
    seed: int = 0
    start: tuple[int, ...] | None = None
    shrink: bool = True

    @property
    def method(self) -> str:
        """Name of the method."""
        return "em"

    def __post_init__(self) -> None:
        check_settings(self)
        clean: Json = {
            "max_steps": validate.as_count(self.max_steps, "max_steps"),
            "restarts": validate.as_count(self.restarts, "restarts", high=MAX_RESTARTS),
            "tolerance": validate.as_number(self.tolerance, "tolerance", low=0),
        }
        if self.start is not None:
            clean["start"] = tuple(validate.as_states(self.start, "start", low=0, states=MAX_STATES).tolist())
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return {**asdict(self), "start": None if self.start is None else "given"}

    def among(self, people: IntArray) -> "Em":
        """Return the estimator with the `start` of these people."""
        if self.start is None:
            return self
        if people.max(initial=-1) >= len(self.start):
            raise InvalidInput(f"start must have one label per person, got {len(self.start)} for more people")
        return replace(self, start=tuple(np.array(self.start)[people].tolist()))

    def __call__(
        self,
        log: Blocks,
        states: int,
        *,
        pairs_per_person: int | None = None,
        holdout: IntArray | None = None,
        watch: Stopwatch,
    ) -> Estimate:
        """Run EM from each start and keep the highest log-posterior; the log is loaded into memory."""
        del holdout  # leaving people out changes every step: it takes a second fit
        people = len(log.log.people)
        if states > people:
            raise InvalidInput(f"states must be at most the number of people, {people}, got {states}")
        with watch.part("sort"):
            ratings = log.subset(np.arange(people))
            comparisons = compare(ratings, pairs_per_person=pairs_per_person, seed=self.seed, threads=log.pool)
        runs = range(self.restarts if self.start is None else 1)
        ends = (self._run(ratings, comparisons, states, run, watch, log.pool) for run in runs)
        best = _drop_empty(max(ends, key=lambda end: end.history[-1]))
        notes = level_warnings(*variance_between(log, best.labels), self.scale)
        return self._with_errors(replace(best, warnings=(*best.warnings, *notes)), comparisons, watch, log.pool)

    def _with_errors(
        self, estimate: Estimate, comparisons: Comparisons, watch: Stopwatch, threads: Threads
    ) -> Estimate:
        """Add standard errors clustered by person, weighted by membership, and shrink."""
        scatters = []
        for z, (fit, weight) in enumerate(zip(estimate.fits, _membership(estimate).T, strict=True)):
            with watch.part("errors", z, len(estimate.fits)):
                scatters.append(scatter(comparisons, rounded(weight), fit.utilities, threads=threads))
        return with_errors(estimate, scatters, prior_sd=self.prior_sd, shrink=self.shrink)

    def _labels(self, ratings: Ratings, states: int, run: int, threads: Threads) -> IntArray:
        """Return the labels of a start: given, of `TwoStage`, of cosine clusters, or random."""
        if self.start is not None:
            labels = np.asarray(self.start, dtype=np.int64)
            if len(labels) != len(ratings.people):
                raise InvalidInput(f"start must have {len(ratings.people)} labels, one per person, got {len(labels)}")
            if labels.max() >= states:
                raise InvalidInput(f"start must have labels from 0 to {states - 1}, got {labels.max()}")
            return labels
        if run == 0 or (run == 1 and self.scale != "cosine"):
            scale = self.scale if run == 0 else "cosine"
            return cluster_people(ratings, states, scale=scale, seed=self.seed, threads=threads.count).labels
        rng = np.random.default_rng([self.seed, run])
        return rng.permutation(np.arange(len(ratings.people)) % states)

    def _run(
        self, ratings: Ratings, comparisons: Comparisons, states: int, run: int, watch: Stopwatch, threads: Threads
    ) -> Estimate:
        """Alternate both steps from one start until a step gains less than `tolerance` per comparison."""
        n_runs = self.restarts if self.start is None else 1
        with watch.part("cluster", run, n_runs):
            membership = np.eye(states)[self._labels(ratings, states, run, threads)]
        min_gain = self.tolerance * float(comparisons.pairs.sum())
        fits: tuple[BradleyTerry, ...] = ()
        history: list[float] = []
        stage, total = f"EM, start {run + 1}", (self.max_steps + 1) * (states + 1)
        for step in range(self.max_steps + 1):
            done = step * (states + 1)
            last = step == self.max_steps or (step > 1 and history[-1] - history[-2] <= min_gain)
            shares = membership.mean(axis=0)
            updated = []
            for z, weight in enumerate(membership.T):
                with watch.part(stage, done + z, total):
                    start = fits[z].utilities if fits else None
                    fit = maximisation(
                        comparisons, weight, prior_sd=self.prior_sd, start=start, final=last, threads=threads
                    )
                    updated.append(fit)
            fits = tuple(updated)
            with watch.part(stage, done + states, total):
                membership, value = expectation(comparisons, fits, shares, prior_sd=self.prior_sd, threads=threads)
                history.append(value)
            if last:
                break
        watch.skip_to_end(stage, total)
        cut_short = step == self.max_steps
        notes = (f"EM stopped after max_steps={self.max_steps} steps; increase max_steps",) if cut_short else ()
        return Estimate(fits, shares, membership.argmax(axis=1), notes, tuple(history), membership=membership)


def slow_note(ratings: RatingsLike) -> str | None:
    """Return a note for a user who starts EM on a log with very many actions."""
    if len(ratings.actions) <= MANY_ACTIONS:
        return None
    return (
        f"EM passes over all pairs of {len(ratings.actions):,} actions many times, which can take many minutes; "
        "leave out actions with few ratings (--min-action), or use --restarts 1 or --method two-stage"
    )


def expectation(
    comparisons: Comparisons,
    fits: tuple[BradleyTerry, ...],
    shares: FloatArray,
    *,
    prior_sd: float,
    threads: Threads,
) -> tuple[FloatArray, float]:
    """E step: return each person's probabilities of the states, and the log-posterior of fits and shares."""
    utilities = np.stack([fit.utilities for fit in fits])
    total, membership = mixture(log_likelihoods(comparisons, utilities, threads=threads), shares)
    return membership, float(total.sum() - 0.5 * np.sum(utilities**2) / prior_sd**2)


def maximisation(
    comparisons: Comparisons,
    weight: FloatArray,
    *,
    prior_sd: float,
    start: FloatArray | None,
    final: bool,
    threads: Threads,
) -> BradleyTerry:
    """M step for one state: fit it to all comparisons, weighted by the probability of the state."""
    return maximise(
        count_state(comparisons, rounded(weight), threads=threads),
        prior_sd=prior_sd,
        tolerance=1e-6 if final else 1e-4,
        start=start,
        errors=False,
        threads=threads,
    )


def rounded(weight: FloatArray) -> FloatArray:
    """Round weights within 1e-14 of 0 or 1: whole weights are counted at a quarter of the cost.

    >>> rounded(np.array([1e-20, 0.25, 1 - 1e-15])).tolist()
    [0.0, 0.25, 1.0]
    """
    weight = np.where(weight > MIN_PROBABILITY, weight, 0.0)
    weight[weight > 1 - MIN_PROBABILITY] = 1.0
    return weight


def _drop_empty(estimate: Estimate) -> Estimate:
    """Drop states with less than half a person."""
    membership, states = _membership(estimate), len(estimate.shares)
    kept = np.flatnonzero(estimate.shares * len(membership) >= 0.5)
    if len(kept) == states:
        return estimate
    place = np.zeros(states, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return replace(
        estimate,
        fits=tuple(estimate.fits[z] for z in kept.tolist()),
        shares=estimate.shares[kept] / estimate.shares[kept].sum(),
        labels=place[estimate.labels],
        warnings=(*estimate.warnings, f"{states - len(kept)} of {states} states lost all people; use fewer states"),
        membership=membership[:, kept],
    )


def _membership(estimate: Estimate) -> FloatArray:
    assert estimate.membership is not None  # noqa: S101 - an estimate of EM has one
    return estimate.membership
