"""Two-stage estimator: cluster people, then count the comparisons of each cluster and fit a Bradley-Terry model.

Counts are integers, so a worker may count any blocks and add them up before sending. With a cap on pairs per person
they are sums of weights, which are added in runs of blocks, in order.
"""

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.blocks import Blocks, iadd_each, writable
from lpbandits.data.ratings import Ratings
from lpbandits.fit.bradley_terry import maximise
from lpbandits.fit.comparisons import PairCap, PairCounts, add_wins, cell_type, gather, rated_actions
from lpbandits.fit.methods.clusters import Scale, cluster_people, raters_of
from lpbandits.fit.methods.estimator import Estimate, Estimator
from lpbandits.fit.uncertainty import Scatter, scatter_sums
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

CELLS = 2**26
"""Maximum number of cells of counts in memory at once; as many states as this allows are counted in one pass."""

UNITS = 16
"""Units of a person, in which probabilities of states are counted."""


@dataclass(frozen=True)
class TwoStage(Estimator):
    """KMeans clusters of people, and a Bradley-Terry model of each cluster.

    Parameters
    ----------
    scale
        Features of the clustering; see `cluster_people`.
    prior_sd
        Standard deviation of the Gaussian prior of a utility.
    restarts
        Number of KMeans runs, by default 10, or 2 for a log of more than five million ratings.
    seed
        Random seed.
    shrink
        Shrink utilities towards those of the other states, by their standard errors.

    Notes
    -----
    With `scale="raw"` and `shrink=False` it is the paper's method (appendix "Two-Stage Latent Preference Order
    Recovery").

    Examples
    --------
    >>> TwoStage().settings()["scale"]
    'cosine'
    """

    method: ClassVar[str] = "two-stage"
    scale: Scale = "cosine"

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.as_choice(self.scale, "scale", get_args(Scale))

    def __call__(
        self, log: Blocks, states: int, *, pairs_per_person: int | None, holdout: BoolArray | None, watch: Stopwatch
    ) -> Estimate:
        """Cluster, then fit the states; the fits without the held-out people reuse the clusters."""
        with watch.part("cluster"):
            clusters = cluster_people(log, states, scale=self.scale, restarts=self.restarts, seed=self.seed)
        members = Members(clusters.labels, clusters.shares)
        estimate = fit_members(self, log, members, pairs_per_person=pairs_per_person, holdout=holdout, watch=watch)
        return replace(estimate, warnings=clusters.warnings)


@dataclass(frozen=True, eq=False)
class Members:
    """Who belongs to the states: each person's state or, with `membership`, the probabilities of all states."""

    labels: IntArray
    """Likeliest state of each person."""
    shares: FloatArray
    membership: FloatArray | None = None
    """people × states: probability of each state."""
    units: NDArray[np.uint8] | None = None
    """The same in sixteenths: comparisons are counted in whole units, whose sums do not depend on the order."""
    inflation: FloatArray | None = None
    """Per state, the factor by which uncertain membership increases variances; None: not computed."""

    @property
    def weights(self) -> NDArray[Any]:
        """Labels or `units`; see `weight_of`."""
        return self.labels if self.units is None else self.units

    def shares_of(self, people: BoolArray) -> FloatArray:
        """Return the shares of the states among some people."""
        if self.membership is not None:
            return np.asarray(self.membership[people].mean(axis=0))
        return np.asarray(np.bincount(self.labels[people], minlength=len(self.shares)) / people.sum())


def weight_of(weights: NDArray[Any], state: int) -> NDArray[Any]:
    """Return the weight of each person in a state, from labels or from people × states.

    >>> weight_of(np.array([0, 1]), 1).tolist(), weight_of(np.array([[16, 0], [9, 7]]), 1).tolist()
    ([False, True], [0, 7])
    """
    return np.asarray(weights[:, state] if weights.ndim == 2 else weights == state)


def fit_members(
    estimator: Estimator,
    log: Blocks,
    members: Members,
    *,
    pairs_per_person: int | None,
    holdout: BoolArray | None,
    watch: Stopwatch,
) -> Estimate:
    """Fit a Bradley-Terry model to each state's members, one after another, so that few k×k matrices are in memory.

    The fits without the held-out people reuse the members, the scatter and the utilities of all people: their counts
    are those of all people minus those of the held-out people.
    """
    weights, states, seed = members.weights, len(members.shares), estimator.seed
    unit = 1 if members.units is None else UNITS
    options: Json = {"prior_sd": estimator.prior_sd / math.sqrt(unit), "threads": log.pool}  # `unit` times the counts
    fits, fits_excluding = [], []
    pairs = count_states(log, weights, states, holdout=holdout, pairs_per_person=pairs_per_person, seed=seed)
    for z in range(states):
        with watch.part("count pairs", z, states):
            counts, *heldout = next(pairs)
            if heldout:
                counts = counts.plus(heldout[0])
        with watch.part("Bradley-Terry", z, states):
            fits.append(maximise(counts, **options))
        if heldout:
            with watch.part("held-out", z, states):  # this tolerance moves a mean log-likelihood by a millionth
                counts = counts.minus(heldout[0])
                fits_excluding.append(maximise(counts, tolerance=1e-3, start=fits[z].utilities, **options))
        del counts, heldout  # free the memory before the next state
    with watch.part("errors"):
        utilities = np.stack([fit.utilities for fit in fits])
        cap = PairCap(pairs_per_person, seed)
        parts = log.map(_scatter_block, utilities, unit, cap, per_person=(np.arange(len(weights)), weights))
        scatter = Scatter.of(functools.reduce(np.add, parts))
    uncertain: Json = {"prior_sd": estimator.prior_sd, "shrink": estimator.shrink}
    excluding = None
    if holdout is not None:
        rest = ~holdout
        tables = scatter.utilities(fits_excluding, **uncertain)
        excluding = Estimate(tuple(fits_excluding), members.shares_of(rest), members.labels[rest], *tables)
    betas, errors, unknown = scatter.utilities(fits, **uncertain)
    if members.inflation is not None:
        _, errors, _ = scatter.inflated(members.inflation).utilities(fits, **uncertain)
    return Estimate(
        tuple(fits),
        members.shares,
        members.labels,
        betas,
        errors,
        unknown,
        excluding_holdout=excluding,
        membership=members.membership,
    )


def count_states(
    log: Blocks,
    weights: NDArray[Any],
    states: int,
    *,
    holdout: BoolArray | None = None,
    pairs_per_person: int | None = None,
    seed: int = 0,
) -> Iterator[list[PairCounts]]:
    """Yield, state by state, the counts of its people: with `holdout` of the others, then of the held-out people.

    No reference to them is kept. For `weights`, see `weight_of`.
    """
    raters = raters_of(log, weights, states)
    kept = [rated_actions(row) for row in raters]
    parts, in_order = 1 if holdout is None else 2, pairs_per_person is not None
    cell = np.dtype(np.float64 if in_order else cell_type(np.ones(1), raters))
    cells = parts * max(len(actions) for actions in kept) ** 2
    size = cell.itemsize * cells
    remedy = "leave out actions with few ratings (min_action; --min-action)"
    log.budget.check(f"counts of {raters.shape[1]:,} actions in one state", size, remedy)
    if not log.budget.shared(size, in_order=in_order):
        log = log.local
    at_once = min(max(CELLS // cells, 1), states)
    while at_once > 1 and not log.budget.shared(at_once * size, in_order=in_order):
        at_once -= 1
    held = np.zeros(len(weights), dtype=np.bool_) if holdout is None else holdout
    numbered = [(z, bool(part), actions) for z, actions in enumerate(kept) for part in range(parts)]
    per_person = (np.arange(len(weights)), weights, held)  # held-out people are counted separately
    for first in range(0, len(numbered), parts * at_once):
        group = numbered[first : first + parts * at_once]
        common = (group, cell.str, PairCap(pairs_per_person, seed))
        if in_order:
            totals = functools.reduce(iadd_each, log.fold_runs(_count_block, *common, per_person=per_person))
        else:
            totals = log.fold(_count_block, *common, per_person=per_person)
        totals.reverse()  # popped from the end, so that the memory of each state is freed in turn
        for *_, actions in group[::parts]:
            yield [gather(writable(totals.pop()), actions, raters.shape[1], threads=log.pool) for _ in range(parts)]


def _count_block(
    block: Ratings,
    threads: Threads,
    totals: list[NDArray[Any]] | None,
    group: list[tuple[int, bool, IntArray]],
    cell: str,
    cap: PairCap,
    index: IntArray,
    weights: NDArray[Any],
    held: BoolArray,
) -> list[NDArray[Any]]:
    """Add a block's pairs to the counts of each (state, whether held out, actions) of `group`."""
    if totals is None:
        totals = [np.zeros((len(kept), len(kept)), dtype=cell) for *_, kept in group]
    comparisons = cap.comparisons(block, index, threads)
    for counts, (state, part, kept) in zip(totals, group, strict=True):
        weight = weight_of(weights, state) * (held == part)
        restricted = comparisons.restricted(kept)
        add_wins(counts, restricted, restricted.weight * weight[restricted.person], threads=threads)
    return totals


def _scatter_block(
    block: Ratings,
    threads: Threads,
    utilities: FloatArray,
    unit: int,
    cap: PairCap,
    index: IntArray,
    weights: NDArray[Any],
) -> FloatArray:
    """Return each state's sums over the people of a block."""
    comparisons = cap.comparisons(block, index, threads)
    people = [weight_of(weights, z) / unit for z in range(len(utilities))]
    sums = [scatter_sums(comparisons, *pair, threads=threads) for pair in zip(people, utilities, strict=True)]
    return np.stack(sums)
