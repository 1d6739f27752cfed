"""Recovery by EM: a mixture of Bradley-Terry models, each person belonging to every state a little."""

from dataclasses import asdict, dataclass, replace
from typing import get_args

import numpy as np

from lpbandits import validate
from lpbandits.data.blocks import Blocks, RatingsLike
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit.bradley_terry import BradleyTerry, as_prior_sd, maximise
from lpbandits.fit.clusters import Scale, cluster_people, sorted_by, sorting_notes
from lpbandits.fit.comparisons import Comparisons, compare, count_state, log_likelihoods
from lpbandits.fit.estimator import Estimate, mixture, shrunk_over_states
from lpbandits.fit.scatter import scatter
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import FloatArray, IntArray, Json

MOST_STATES = 2**31 - 1

NOBODY = 1e-14
"""A person whose probability of a state is below this adds nothing to it that a float could hold."""

MANY_ACTIONS = 3000
"""With more actions than this every step takes seconds: it passes over all pairs of actions several times."""


@dataclass(frozen=True)
class Em:
    """EM from several starts, the best kept; see `recover_em`.

    >>> Em(restarts=1).settings()["restarts"]
    1
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
        """The name a user knows it by."""
        return "em"

    def __post_init__(self) -> None:
        clean: Json = {"scale": validate.as_choice(self.scale, "scale", get_args(Scale))}
        clean |= {"prior_sd": as_prior_sd(self.prior_sd), "seed": validate.as_seed(self.seed)}
        clean |= {name: validate.as_count(getattr(self, name), name) for name in ("max_steps", "restarts")}
        clean["shrink"] = validate.as_flag(self.shrink, "shrink")
        clean["tolerance"] = validate.as_number(self.tolerance, "tolerance", low=0)
        if self.start is not None:
            clean["start"] = tuple(validate.as_states(self.start, "start", low=0, states=MOST_STATES).tolist())
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return {**asdict(self), "start": None if self.start is None else "given"}

    def among(self, people: IntArray) -> "Em":
        """Return the same with the start of these people."""
        if self.start is None:
            return self
        if people.max(initial=-1) >= len(self.start):
            raise InvalidInput(f"start has {len(self.start)} labels, but there are more people; give one for each")
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
        """Run EM from each start and keep the highest log-posterior; all of the log is in memory."""
        del holdout  # without them every step would have to be made again: that is a second fit
        threads = log.pool
        with watch.part("sort"):
            ratings = log.subset(np.arange(len(log.log.people)))
            comparisons = compare(ratings, pairs_per_person=pairs_per_person, seed=self.seed, threads=threads)
        best: Estimate | None = None
        chance = np.empty(0)
        runs = self.restarts if self.start is None else 1
        for run in range(runs):
            with watch.part("cluster", run, runs):
                labels = self._labels(ratings, states, run, threads)
            ended, here = self._climb(comparisons, np.eye(states)[labels], f"EM, start {run + 1}", watch, threads)
            if best is None or ended.history[-1] > best.history[-1]:
                best, chance = ended, here
        assert best is not None  # noqa: S101 - there is at least one start
        best, chance = _without_empty(best, chance)
        notes = sorting_notes(*sorted_by(log, best.labels), self.scale)
        best = replace(best, warnings=(*best.warnings, *notes))
        return self._with_errors(best, comparisons, chance, watch, threads)

    def _with_errors(
        self, estimate: Estimate, comparisons: Comparisons, chance: FloatArray, watch: Stopwatch, threads: Threads
    ) -> Estimate:
        """Add errors clustered by person, everybody counting by their probability of the state, and shrink."""
        scatters = []
        for z, fit in enumerate(estimate.fits):
            with watch.part("errors", z, len(estimate.fits)):
                scatters.append(scatter(comparisons, counting(chance[:, z]), fit.utilities, threads=threads))
        fits = tuple(
            replace(fit, standard_errors=some.errors(self.prior_sd))
            for fit, some in zip(estimate.fits, scatters, strict=True)
        )
        whole = replace(estimate, fits=fits, chance=chance)
        return shrunk_over_states(whole, scatters, prior_sd=self.prior_sd) if self.shrink else whole

    def _labels(self, ratings: Ratings, states: int, run: int, threads: Threads) -> IntArray:
        """Return where to start: as given, where two-stage would, at scale-free clusters, or at random."""
        if self.start is not None:
            given = np.asarray(self.start, dtype=np.int64)
            if len(given) != len(ratings.people):
                raise InvalidInput(f"start has {len(given)} labels; give one for each of {len(ratings.people)} people")
            if given.max() >= states:
                raise InvalidInput(
                    f"start has labels from {given.min()} to {given.max()}; the {states} states are 0 to {states - 1}"
                )
            return given
        if run == 0 or (run == 1 and self.scale != "cosine"):
            scale = self.scale if run == 0 else "cosine"
            clusters = cluster_people(ratings, states, scale=scale, seed=self.seed, threads=threads.count)
            return clusters.labels
        rng = np.random.default_rng([self.seed, run])
        return rng.permutation(np.arange(len(ratings.people)) % states)

    def _climb(
        self, comparisons: Comparisons, chance: FloatArray, stage: str, watch: Stopwatch, threads: Threads
    ) -> tuple[Estimate, FloatArray]:
        """Repeat both steps until a step gains less than `tolerance` per comparison; also return the probabilities."""
        least = self.tolerance * float(comparisons.pairs.sum())
        fits: tuple[BradleyTerry, ...] | None = None
        history: list[float] = []
        warnings: tuple[str, ...] = ()
        states = chance.shape[1]
        total = (self.max_steps + 1) * (states + 1)
        for step in range(self.max_steps + 1):
            done = step * (states + 1)
            last = step == self.max_steps or (step > 1 and history[-1] - history[-2] <= least)
            shares = chance.mean(axis=0)
            made = []
            for z in range(states):
                with watch.part(stage, done + z, total):
                    start = None if fits is None else fits[z].utilities
                    made.append(
                        maximisation(
                            comparisons, chance[:, z], prior_sd=self.prior_sd, start=start, final=last, threads=threads
                        )
                    )
            fits = tuple(made)
            with watch.part(stage, done + states, total):
                chance, value = expectation(comparisons, fits, shares, prior_sd=self.prior_sd, threads=threads)
                history.append(value)
            if last:
                watch.skip_to_end(stage, total)
                if step == self.max_steps:
                    warnings = (f"EM was stopped after {self.max_steps} steps; allow more with max_steps",)
                break
        assert fits is not None  # noqa: S101 - the loop ran
        return Estimate(fits, shares, chance.argmax(axis=1), warnings, tuple(history)), chance


def slow_note(ratings: RatingsLike) -> str | None:
    """Return what to tell a user before EM on a log with very many actions."""
    if len(ratings.actions) <= MANY_ACTIONS:
        return None
    return (
        f"EM goes through all pairs of {len(ratings.actions):,} actions many times, which can take many minutes; "
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
    total, chance = mixture(log_likelihoods(comparisons, utilities, threads=threads), shares)
    return chance, float(total.sum() - 0.5 * np.sum(utilities**2) / prior_sd**2)


def maximisation(
    comparisons: Comparisons,
    chance: FloatArray,
    *,
    prior_sd: float,
    start: FloatArray | None,
    final: bool,
    threads: Threads,
) -> BradleyTerry:
    """M step for one state: fit it to everybody's comparisons, weighted by the probability that they are in it."""
    return maximise(
        count_state(comparisons, counting(chance), threads=threads),
        prior_sd=prior_sd,
        tolerance=1e-6 if final else 1e-4,
        start=start,
        errors=False,
        threads=threads,
    )


def counting(chance: FloatArray) -> FloatArray:
    """Return how much each person counts in a state: nearly certain counts as certain, nearly nothing not at all.

    When everybody is certain, counts are whole numbers, at a quarter of the cost.

    >>> counting(np.array([1e-20, 0.25, 1 - 1e-15])).tolist()
    [0.0, 0.25, 1.0]
    """
    weight = np.where(chance > NOBODY, chance, 0.0)
    weight[weight > 1 - NOBODY] = 1.0
    return weight


def _without_empty(estimate: Estimate, chance: FloatArray) -> tuple[Estimate, FloatArray]:
    """Leave out states that fewer than half a person is in, and people's probabilities of them."""
    kept = np.flatnonzero(estimate.shares * len(chance) >= 0.5)
    if len(kept) == len(estimate.shares):
        return estimate, chance
    note = f"{len(estimate.shares) - len(kept)} of {len(estimate.shares)} states lost all their people; ask for fewer"
    place = np.zeros(len(estimate.shares), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    shares = estimate.shares[kept] / estimate.shares[kept].sum()
    fits = tuple(estimate.fits[z] for z in kept.tolist())
    left = Estimate(fits, shares, place[estimate.labels], (*estimate.warnings, note), estimate.history)
    return left, chance[:, kept]
