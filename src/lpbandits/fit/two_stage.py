"""Two-stage estimator: cluster people, then count the comparisons of each cluster and fit a Bradley-Terry model.

Counts are integers, so a worker may count any blocks and add them up before sending. With a cap on pairs per person
they are sums of weights, which are added in runs of blocks, in order.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lpbandits.data.blocks import Blocks, iadd_each, writable
from lpbandits.data.ratings import Ratings
from lpbandits.fit.bradley_terry import maximise
from lpbandits.fit.clusters import cluster_people, raters_of
from lpbandits.fit.comparisons import PairCap, PairCounts, add_wins, cell_type, gather, rated_actions
from lpbandits.fit.estimator import Estimate, Estimator
from lpbandits.fit.uncertainty import Scatter, scatter_sums
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

CELLS = 2**26
"""Maximum number of cells of counts in memory at once; as many states as this allows are counted in one pass."""


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

    def __call__(
        self, log: Blocks, states: int, *, pairs_per_person: int | None, holdout: BoolArray | None, watch: Stopwatch
    ) -> Estimate:
        """Cluster, then fit the states one after another, so that few k×k matrices are in memory.

        The fits without the held-out people reuse the clusters, the scatter and the utilities of all people: their
        counts are those of all people minus those of the held-out people.
        """
        with watch.part("cluster"):
            clusters = cluster_people(log, states, scale=self.scale, restarts=self.restarts, seed=self.seed)
        labels, states = clusters.labels, len(clusters.shares)
        options: Json = {"prior_sd": self.prior_sd, "threads": log.pool}
        fits, fits_excluding = [], []
        pairs = count_states(log, labels, states, holdout=holdout, pairs_per_person=pairs_per_person, seed=self.seed)
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
            cap = PairCap(pairs_per_person, self.seed)
            parts = log.map(_scatter_block, utilities, cap, per_person=(np.arange(len(labels)), labels))
            scatter = Scatter.of(functools.reduce(np.add, parts))
        uncertain: Json = {"prior_sd": self.prior_sd, "shrink": self.shrink}
        excluding = None
        if holdout is not None:
            rest = labels[~holdout]
            shares = np.bincount(rest, minlength=states) / len(rest)
            excluding = Estimate(tuple(fits_excluding), shares, rest, *scatter.utilities(fits_excluding, **uncertain))
        return Estimate(
            tuple(fits),
            clusters.shares,
            labels,
            *scatter.utilities(fits, **uncertain),
            warnings=clusters.warnings,
            excluding_holdout=excluding,
        )


def count_states(
    log: Blocks,
    labels: IntArray,
    states: int,
    *,
    holdout: BoolArray | None = None,
    pairs_per_person: int | None = None,
    seed: int = 0,
) -> Iterator[list[PairCounts]]:
    """Yield, state by state, the counts of its people: with `holdout` of the others, then of the held-out people.

    No reference to them is kept.
    """
    raters = raters_of(log, labels, states)
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
    numbers = labels if holdout is None else 2 * labels + holdout  # held-out people are counted separately
    numbered = [(parts * z + part, actions) for z, actions in enumerate(kept) for part in range(parts)]
    per_person = (np.arange(len(labels)), numbers)
    for first in range(0, len(numbered), parts * at_once):
        group = numbered[first : first + parts * at_once]
        common = (group, cell.str, PairCap(pairs_per_person, seed))
        if in_order:
            totals = functools.reduce(iadd_each, log.fold_runs(_count_block, *common, per_person=per_person))
        else:
            totals = log.fold(_count_block, *common, per_person=per_person)
        totals.reverse()  # popped from the end, so that the memory of each state is freed in turn
        for _, actions in group[::parts]:
            yield [gather(writable(totals.pop()), actions, raters.shape[1], threads=log.pool) for _ in range(parts)]


def _count_block(
    block: Ratings,
    threads: Threads,
    totals: list[NDArray[Any]] | None,
    group: list[tuple[int, IntArray]],
    cell: str,
    cap: PairCap,
    index: IntArray,
    numbers: IntArray,
) -> list[NDArray[Any]]:
    """Add a block's pairs to the counts of each number of `group`, among its actions; `numbers` are those of people."""
    if totals is None:
        totals = [np.zeros((len(kept), len(kept)), dtype=cell) for _, kept in group]
    comparisons = cap.comparisons(block, index, threads)
    for counts, (number, kept) in zip(totals, group, strict=True):
        restricted = comparisons.restricted(kept)
        add_wins(counts, restricted, restricted.weight * (numbers == number)[restricted.person], threads=threads)
    return totals


def _scatter_block(
    block: Ratings, threads: Threads, utilities: FloatArray, cap: PairCap, index: IntArray, labels: IntArray
) -> FloatArray:
    """Return each state's sums over the people of a block."""
    comparisons = cap.comparisons(block, index, threads)
    sums = [scatter_sums(comparisons, (labels == z) * 1.0, row, threads=threads) for z, row in enumerate(utilities)]
    return np.stack(sums)
