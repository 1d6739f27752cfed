"""EM estimator: a mixture of Bradley-Terry models."""

from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, RatingsLike
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import BradleyTerry, maximise
from lpbandits.fit.comparisons import Comparisons, compare, count_state
from lpbandits.fit.methods.clusters import Scale, check_states, cluster_people, level_warnings, variance_between
from lpbandits.fit.methods.estimator import (
    Estimate,
    Estimator,
    em_settings,
    log_likelihoods,
    mixture,
    step_notes,
    without_empty_states,
)
from lpbandits.fit.uncertainty import Scatter, scatter_sums
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

MIN_PROBABILITY = 1e-14
"""Probabilities of a state within this distance of 0 or 1 are rounded to 0 or 1."""

MANY_ACTIONS = 3000
"""With more actions each step takes seconds: it passes over all pairs of actions several times."""


@dataclass(frozen=True)
class Em(Estimator):
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
        Initial state of each person; if given, it is the only start.

    Examples
    --------
    >>> from lpbandits.fit import fit_states
    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = fit_states(Ratings.from_arrays(*zip(*rows)), Em(restarts=1), states=2).model
    >>> model.orderings.tolist(), model.prior.round(2).tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """

    method: ClassVar[str] = "em"
    scale: Scale = "cosine"
    restarts: int = 3
    tolerance: float = 1e-7
    max_steps: int = 200
    start: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        start = self.start
        if start is not None:
            start = tuple(validate.as_states(start, "start", low=0, states=2**31 - 1).tolist())
        validate.as_choice(self.scale, "scale", get_args(Scale))
        checked = em_settings(restarts=self.restarts, tolerance=self.tolerance, max_steps=self.max_steps)
        self._set(**checked, start=start)

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return {**super().settings(), "start": None if self.start is None else "given"}

    def for_people(self, people: IntArray) -> "Em":
        """Return the estimator with the `start` of these people."""
        if self.start is None:
            return self
        if people.max(initial=-1) >= len(self.start):
            raise InvalidInput(
                f"start must have one label per person; it has {len(self.start)} labels, and the log has more people"
            )
        return replace(self, start=tuple(np.array(self.start)[people].tolist()))

    def __call__(
        self, log: Blocks, states: int, *, pairs_per_person: int | None, holdout: BoolArray | None, watch: Stopwatch
    ) -> Estimate:
        """Run EM from each start and keep the highest log-posterior; the log is loaded into memory."""
        del holdout  # not used: leaving people out needs a second fit
        people, threads = len(log.log.people), log.pool
        check_states(states, people)
        with watch.part("sort"):
            ratings = log.subset(np.arange(people))
            comparisons = compare(ratings, pairs_per_person=pairs_per_person, seed=self.seed, threads=threads)
        n_runs, ends = self.restarts if self.start is None else 1, []
        for run in range(n_runs):
            with watch.part("cluster", run, n_runs):
                membership = np.eye(states)[self._labels(ratings, states, run, threads)]
            ends.append(self._run(comparisons, membership, f"EM, start {run + 1}", watch, threads))
        fits, shares, membership, history, converged = max(ends, key=lambda end: end[3][-1])
        kept, shares, membership, notes = without_empty_states(shares, membership)
        fits, labels = [fits[z] for z in kept], membership.argmax(axis=1)
        notes += step_notes("EM", self.max_steps, converged=converged)
        notes += level_warnings(*variance_between(log, labels), self.scale)
        sums = []
        for z, fit in enumerate(fits):
            with watch.part("errors", z, len(fits)):
                weight = rounded(membership[:, z])
                sums.append(scatter_sums(comparisons, weight, fit.utilities, threads=threads))
        return Estimate(
            tuple(fits),
            shares,
            labels,
            *Scatter.of(np.stack(sums)).utilities(fits, prior_sd=self.prior_sd, shrink=self.shrink),
            warnings=tuple(notes),
            history=tuple(history),
            membership=membership,
        )

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
        self, comparisons: Comparisons, membership: FloatArray, stage: str, watch: Stopwatch, threads: Threads
    ) -> tuple[list[BradleyTerry], FloatArray, FloatArray, list[float], bool]:
        """Alternate both steps from one start until a step gains less than `tolerance` per comparison.

        Return the fits, the shares, the membership, the log-posterior of the fit to the initial labels and after each
        step, and whether the last step gained less.
        """
        states = membership.shape[1]
        min_gain, total = self.tolerance * float(comparisons.pairs.sum()), (self.max_steps + 1) * (states + 1)
        fits: list[BradleyTerry] = []
        history: list[float] = []
        for step in range(self.max_steps + 1):
            done = step * (states + 1)
            last = step == self.max_steps or (step > 1 and history[-1] - history[-2] <= min_gain)
            options: Json = {"tolerance": 1e-6 if last else 1e-4, "threads": threads}
            shares, before, fits = membership.mean(axis=0), fits, []
            for z, weight in enumerate(membership.T):  # M step
                with watch.part(stage, done + z, total):
                    start = before[z].utilities if before else None
                    counts = count_state(comparisons, rounded(weight), threads=threads)
                    fits.append(maximise(counts, prior_sd=self.prior_sd, start=start, **options))
            with watch.part(stage, done + states, total):  # E step
                utilities = np.stack([fit.utilities for fit in fits])
                person, membership = mixture(log_likelihoods(comparisons, utilities, threads=threads), shares)
                history.append(float(person.sum() - 0.5 * np.sum(utilities**2) / self.prior_sd**2))
            if last:
                break
        watch.skip_to_end(stage, total)
        return fits, shares, membership, history, history[-1] - history[-2] <= min_gain


def slow_note(ratings: RatingsLike) -> str | None:
    """Return a note for a user who starts EM on a log with very many actions."""
    if len(ratings.actions) <= MANY_ACTIONS:
        return None
    return (
        f"EM passes over all pairs of {len(ratings.actions):,} actions many times, which can take many minutes; "
        "leave out rare actions (--min-action), use one start (--restarts 1), or cluster (--method two-stage)"
    )


def rounded(weight: FloatArray) -> FloatArray:
    """Round weights within 1e-14 of 0 or 1: whole weights are counted at a quarter of the cost.

    >>> rounded(np.array([1e-20, 0.25, 1 - 1e-15])).tolist()
    [0.0, 0.25, 1.0]
    """
    weight = np.where(weight > MIN_PROBABILITY, weight, 0.0)
    weight[weight > 1 - MIN_PROBABILITY] = 1.0
    return weight
