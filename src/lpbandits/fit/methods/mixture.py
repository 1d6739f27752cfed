"""Mixture estimator: a Gaussian mixture over people's standardized ratings, then Bradley-Terry models of its states.

A person's ratings, minus their mean and divided by their standard deviation, are y = u_za + α_iz + noise of variance v
in state z; actions that were not rated are left out. Each step of EM computes the probabilities ρ of every person's
states, then the shares, the variance and the state means u_za = (Σ_i ρ_iz (y − α_iz) + κ b_a) / (Σ_i ρ_iz + κ), with
the means b over all people. Held-out people choose κ. EM has many local optima: it starts from the best of short runs.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import Blocks, parallel_sum, reduce_add, subsample
from lpbandits.data.ratings import Ratings
from lpbandits.fit.kernels.mixture import mixture_step
from lpbandits.fit.kernels.ratings import RATERS, TOTAL
from lpbandits.fit.methods.clusters import check_states, cluster_people, level_warnings, scaled, variance_between
from lpbandits.fit.methods.estimator import (
    LEAST_PEOPLE,
    Estimate,
    Estimator,
    em_settings,
    step_notes,
    without_empty_states,
)
from lpbandits.fit.methods.two_stage import UNITS, Members, fit_members
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.statistics import gaps_to_best
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

PSEUDO_RATERS, TYPICAL = (1.0, 3.0, 10.0, 30.0, 100.0), 1
"""The κ that are tried (raters with the mean opinion of all people, added to each action of a state), and the place of
the one that is kept unless another one is clearly better."""

HELDOUT = 0.2
"""Share of the sampled people who are held out to choose κ."""

OVERALL_RATERS, OVERALL_STEPS = 20.0, 5
"""Raters without an opinion that are added to each action, and steps, for the means over all people."""

START_RATINGS, SAMPLE_RATINGS = 2**18, 2**21
"""Ratings of the people whose fits are the starts, and of those to whom the best start is fitted before all people."""

REPLICATES, REFIT_STEPS, REFIT_TOLERANCE = 20, 50, 1e-6
"""Refits to resampled people for standard errors, their maximum number of steps, and their `tolerance`."""

MIN_VARIANCE = 1e-6
"""Minimum variance of standardized ratings about the means of a state."""

N_TOTALS = 4
"""Number of totals over people before those by state; see `_expect`."""

BYTES_PER_CELL = 24
"""Bytes per state of a person, and of an action."""


class Components(NamedTuple):
    """Parameters of a mixture: means by action and state, shares, and the variance about the means."""

    means: FloatArray
    shares: FloatArray
    variance: float


class Ascent(NamedTuple):
    """Result of EM: the components, one score per step, and whether the last step gained no more than the tolerance."""

    components: Components
    history: list[float]
    converged: bool


class Prior(NamedTuple):
    """The mean opinion of each action, and the number of raters who are assumed to have it."""

    means: FloatArray
    raters: float


@dataclass(frozen=True)
class Mixture(Estimator):
    """EM for a Gaussian mixture over standardized ratings, and a Bradley-Terry model of each state.

    A person's comparisons count in each state by the probability of the state. The first start is the clustering of
    `TwoStage`; each other one begins at random people.

    Parameters
    ----------
    prior_sd, seed, shrink
        As in `TwoStage`.
    restarts
        Number of starts.
    tolerance
        Stop when a step gains less than this per rating (nats).
    max_steps
        Maximum number of steps.

    Examples
    --------
    >>> from lpbandits.fit import fit_states
    >>> rows = [(n, a, a if n < 6 else -a) for n in range(10) for a in range(3)]
    >>> model = fit_states(Ratings.from_arrays(*zip(*rows)), Mixture(), states=2).model
    >>> model.orderings.tolist(), model.prior.round(2).tolist()
    ([[2, 1, 0], [0, 1, 2]], [0.6, 0.4])
    """

    method: ClassVar[str] = "mixture"
    restarts: int = 20
    tolerance: float = 1e-6
    max_steps: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(**em_settings(restarts=self.restarts, tolerance=self.tolerance, max_steps=self.max_steps))

    def __call__(
        self, log: Blocks, states: int, *, pairs_per_person: int | None, holdout: BoolArray | None, watch: Stopwatch
    ) -> Estimate:
        """Fit the mixture, then its states to the comparisons of their members.

        The fits without the held-out people reuse the membership of all people.
        """
        people = len(log.log.people)
        check_states(states, people)
        remedy = "use fewer states, or cluster (--method two-stage)"
        log.budget.check(f"the probabilities of {states} states", BYTES_PER_CELL * states * people, remedy)
        fitted, prior = self._fit(log, states, watch)
        components = fitted.components
        with watch.part("mixture: members"):
            membership = np.concatenate(list(log.map(_members, components)))
        kept, shares, membership, notes = without_empty_states(components.shares, membership)
        labels = membership.argmax(axis=1)
        notes += step_notes("the mixture", self.max_steps, converged=fitted.converged)
        notes += level_warnings(*variance_between(log, labels))
        with watch.part("mixture: errors"):
            inflation = membership_inflation(log, components, prior, seed=self.seed)[kept]
        members = Members(labels, shares, membership, whole_units(membership), inflation)
        estimate = fit_members(self, log, members, pairs_per_person=pairs_per_person, holdout=holdout, watch=watch)
        return replace(estimate, warnings=tuple(notes), history=tuple(fitted.history))

    def components(self, log: Blocks, states: int, *, watch: Stopwatch) -> Components:
        """Fit the mixture alone, with the typical κ.

        A κ that was chosen lets superfluous states become equal, at no cost in predictions: their number would be
        overestimated.
        """
        return self._fit(log, states, watch, adapt=False)[0].components

    def _fit(self, log: Blocks, states: int, watch: Stopwatch, *, adapt: bool = True) -> tuple[Ascent, Prior]:
        """Choose κ and a start on a sample of people, continue on a larger one, then on all people."""
        counts, everyone, k = log.log.counts, np.arange(len(log.log.people)), len(log.log.actions)
        if not log.budget.shared(BYTES_PER_CELL * states * k, in_order=True):
            log = log.local
        limits: Json = {"steps": self.max_steps, "tolerance": self.tolerance}
        with watch.part("mixture: means"):
            one = Components(np.zeros((k, 1)), np.ones(1), 1.0)
            one = climb(log, one, Prior(np.zeros((k, 1)), OVERALL_RATERS), steps=OVERALL_STEPS).components
        people = log.subset(subsample(everyone, counts, START_RATINGS))
        prior = self._prior(people, states, one, log, watch) if adapt else Prior(one.means, PSEUDO_RATERS[TYPICAL])
        sample = Blocks(people, log.pool, log.budget)
        best = self._best_start(sample, states, prior, one.variance, watch)
        with watch.part("mixture: sample"):
            if counts.sum() > SAMPLE_RATINGS:
                larger = log.subset(subsample(everyone, counts, SAMPLE_RATINGS))
                best = climb(Blocks(larger, log.pool, log.budget), best, prior, **limits).components
        with watch.part("mixture: all people"):
            return climb(log, best, prior, **limits), prior

    def _prior(self, people: Ratings, states: int, one: Components, log: Blocks, watch: Stopwatch) -> Prior:
        """Return the prior with the κ that predicts held-out people best; see `nearest_to_best`."""
        priors = [Prior(one.means, raters) for raters in PSEUDO_RATERS]
        if states == 1:
            return priors[TYPICAL]
        order = np.random.default_rng([self.seed, 6]).permutation(len(people.people))
        cut = round(HELDOUT * len(order))
        parts = (people.subset(np.sort(part)) for part in (order[:cut], order[cut:]))
        heldout, training = (Blocks(part, log.pool, log.budget) for part in parts)
        if len(training.log.people) < states or not np.any(heldout.log.counts > 1):
            return priors[TYPICAL]
        start = self._best_start(training, states, priors[TYPICAL], one.variance, watch)
        scores: list[FloatArray] = []
        for prior in priors:
            with watch.part("mixture: prior", len(scores), len(priors)):
                fitted = climb(training, start, prior, steps=self.max_steps, tolerance=self.tolerance)
                scores.append(densities(heldout, fitted.components))
        return priors[nearest_to_best(np.array(scores), TYPICAL)]

    def _best_start(self, sample: Blocks, states: int, prior: Prior, variance: float, watch: Stopwatch) -> Components:
        """Return the best mixture of several starts: from clusters, and from random people.

        It has the fewest empty states, and among these the largest evidence. By the likelihood alone, a large state
        divided in two is often as good as a small state.
        """
        ratings = sample.subset(np.arange(len(sample.log.people)))
        y = scaled(ratings, "standardized").data
        useful = np.flatnonzero(np.bincount(ratings.owner, weights=np.abs(y), minlength=len(ratings.people)))
        ends: list[tuple[int, float, Components]] = []
        for start in range(1 if states == 1 else self.restarts):
            with watch.part("mixture: starts", start, self.restarts):
                if start:
                    rng = np.random.default_rng([self.seed, 5, start])
                    labels = np.full(len(ratings.people), states)
                    chosen = rng.permutation(useful)[:states]
                    labels[chosen] = np.arange(len(chosen))
                else:
                    labels = cluster_people(sample, states, seed=self.seed).labels
                sizes = np.bincount(labels, minlength=states)[:states] + 1.0
                means = means_of_labels(ratings, y, labels, states, prior)
                first = Components(means, sizes / sizes.sum(), variance)
                end = climb(sample, first, prior, steps=self.max_steps, tolerance=self.tolerance)
                found = int(np.sum(end.components.shares * len(useful) >= LEAST_PEOPLE))
                ends.append((found, evidence(sample, end.components, prior), end.components))
        watch.skip_to_end("mixture: starts", self.restarts)
        return max(ends, key=lambda end: end[:2])[2]


def means_of_labels(ratings: Ratings, y: FloatArray, labels: IntArray, states: int, prior: Prior) -> FloatArray:
    """Return the means by action and state of people in the states of their labels; other labels are left out."""
    residual = y - prior.means[ratings.action, 0]
    offset = np.bincount(ratings.owner, weights=residual, minlength=len(labels)) / np.maximum(ratings.counts, 1)
    used = np.flatnonzero(labels[ratings.owner] < states)
    cell = ratings.action[used] * states + labels[ratings.owner[used]]
    k = len(ratings.actions)
    raters = np.bincount(cell, minlength=k * states).reshape(k, states)
    sums = np.bincount(cell, weights=(residual - offset[ratings.owner])[used], minlength=k * states)
    return np.asarray(prior.means + sums.reshape(k, states) / (raters + prior.raters))


def climb(log: Blocks, components: Components, prior: Prior, *, steps: int, tolerance: float = 0.0) -> Ascent:
    """Run EM until a step gains at most `tolerance` per rating.

    The score is the penalised log-likelihood, with the penalty κ Σ (u − b)² / 2v. Given ρ, the variance is fitted to
    the residuals from the current means, then the means: both increase the score.
    """
    history: list[float] = []
    for _ in range(steps):
        means, shares, variance = components
        score, sums, totals = penalised_likelihood(log, components, prior)
        _, squares, freedom, informative = totals[:N_TOTALS]
        history.append(score)
        if len(history) > 1 and history[-1] - history[-2] <= tolerance * freedom:
            return Ascent(components, history, converged=True)
        if informative:
            shares = totals[N_TOTALS:] / informative
        penalty = prior.raters * float(np.sum((means - prior.means) ** 2))
        variance = max((squares + penalty) / freedom, MIN_VARIANCE)
        means = (sums[TOTAL] + prior.raters * prior.means) / (sums[RATERS] + prior.raters)
        components = Components(means, shares, variance)
    return Ascent(components, history, converged=False)


def penalised_likelihood(log: Blocks, components: Components, prior: Prior) -> tuple[float, FloatArray, FloatArray]:
    """Return the log-likelihood with the penalty of the prior, and the sums and totals of `_expect`."""
    sums, totals = (reduce_add(parts) for parts in zip(*log.map(_expect, components), strict=True))
    totals[2] = max(totals[2], 1.0)
    penalty = prior.raters * float(np.sum((components.means - prior.means) ** 2))
    norm = totals[2] * math.log(2 * math.pi * components.variance)
    return float(totals[0] - 0.5 * (norm + penalty / components.variance)), sums, totals


def evidence(log: Blocks, components: Components, prior: Prior) -> float:
    """Return the log-likelihood with the means integrated out, given the membership, at a result of EM.

    With n_za raters of action a in state z, weighted by membership, the integral over the normal prior of u_za is the
    penalised likelihood at its maximum, divided by √(1 + n_za / κ).
    """
    score, sums, _ = penalised_likelihood(log, components, prior)
    return score - 0.5 * float(np.log1p(sums[RATERS] / prior.raters).sum())


def densities(log: Blocks, components: Components) -> FloatArray:
    """Return the log-density of each person's ratings; 0 for people whose ratings are all equal."""
    values = np.concatenate([step[2] for step in log.map(_step, components)])
    norm = 0.5 * (log.log.counts - 1) * math.log(2 * math.pi * components.variance)
    return np.where(np.isnan(values), 0.0, values - norm)


def nearest_to_best(scores: FloatArray, default: int) -> int:
    """Return the row nearest to `default` whose sum is at most one standard error below the largest.

    >>> scores = np.array([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.5]])
    >>> nearest_to_best(scores, 0), nearest_to_best(scores, 2)
    (1, 2)
    """
    below, error = gaps_to_best(scores)
    near = np.flatnonzero(below <= error)
    return int(near[np.abs(near - default).argmin()])


def _step(block: Ratings, threads: Threads, components: Components) -> tuple[FloatArray, ...]:
    """Return ρ and q by person and state, the log-likelihood of each person, and the sums over people."""
    people, (k, states) = len(block.people), components.means.shape
    membership, alpha, square = np.empty((3, people, states))
    value = np.empty(people)
    with np.errstate(divide="ignore"):  # a state may have share 0
        arrays = components.means, np.log(components.shares), components.variance
    sums = parallel_sum(mixture_step, block, threads, (2, k, states), arrays, (membership, alpha, square, value))
    return membership, square, value, sums


def _expect(block: Ratings, threads: Threads, components: Components) -> tuple[FloatArray, FloatArray]:
    """Return the sums over raters, and those over people: log-likelihood, Σ ρ q, degrees of freedom, number, Σ ρ."""
    membership, square, value, sums = _step(block, threads, components)
    told = ~np.isnan(value)
    membership, square = membership[told], square[told]
    totals = [value[told].sum(), (membership * square).sum(), (block.counts[told] - 1).sum(), told.sum()]
    return sums, np.concatenate([totals, membership.sum(axis=0)])


def membership_inflation(log: Blocks, components: Components, prior: Prior, *, seed: int) -> FloatArray:
    """Return, per state, the factor by which uncertain membership increases the variance of a mean (median of actions).

    The people are resampled with replacement. The first step of EM from the fitted components changes the means as if
    the probabilities of each person's states were known; the steps that follow also adapt these. Of a large log, a
    sample of the people is used.
    """
    counts = log.log.counts
    ratings = log.subset(subsample(np.arange(len(counts)), counts, START_RATINGS))
    people = len(ratings.people)
    first, last = [], []
    for replicate in range(REPLICATES):
        drawn = np.sort(np.random.default_rng([seed, 6, replicate]).integers(people, size=people))
        resampled = Blocks(ratings.subset(drawn), log.pool, log.budget)
        once = climb(resampled, components, prior, steps=1).components
        refit = climb(resampled, once, prior, steps=REFIT_STEPS, tolerance=REFIT_TOLERANCE).components
        first.append(once.means)
        last.append(refit.means)
    known, refitted = (np.var(means, axis=0) for means in (first, last))
    ratio = np.where(known > 0, refitted / np.where(known > 0, known, 1.0), 1.0)
    return np.asarray(np.maximum(np.median(ratio, axis=0), 1.0))


def _members(block: Ratings, threads: Threads, components: Components) -> FloatArray:
    return _step(block, threads, components)[0]


def whole_units(membership: FloatArray) -> NDArray[np.uint8]:
    """Return probabilities in sixteenths that add up to 16, by largest remainders.

    >>> whole_units(np.array([[0.5, 0.5], [0.99, 0.01], [0.55, 0.45]])).tolist()
    [[8, 8], [16, 0], [9, 7]]
    """
    exact = UNITS * membership
    units = np.floor(exact)
    missing = np.rint(UNITS - units.sum(axis=1))
    rank = np.argsort(np.argsort(units - exact, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(units + (rank < missing[:, None]), dtype=np.uint8)
