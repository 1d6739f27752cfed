"""Two-stage estimator: cluster people, then count the comparisons of each cluster and fit a Bradley-Terry model.

Counts are integers, so a worker may count any blocks and add them up before sending. With a cap on pairs per person
they are sums of weights, which are added in runs of blocks, in order.
"""

import functools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.blocks import Blocks, iadd, iadd_each, writable
from lpbandits.data.memory import MemoryBudget
from lpbandits.data.ratings import Ratings
from lpbandits.fit.bradley_terry import BradleyTerry, as_prior_sd, maximise
from lpbandits.fit.clusters import MAX_RESTARTS, Scale, cluster_people, raters_of
from lpbandits.fit.comparisons import PairCounts, add_wins, cell_type, compared, gather, rated_actions
from lpbandits.fit.estimator import Estimate, with_errors
from lpbandits.fit.uncertainty import Scatter, scatter_sums
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import BoolArray, FloatArray, IntArray, Json

CELLS = 2**26
"""Maximum number of cells of counts held at a time: the states that fit are counted in one pass."""


@dataclass(frozen=True)
class TwoStage:
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
        Shrink utilities towards the other states, by their standard errors.

    Notes
    -----
    With `scale="raw"` and `shrink=False` it is the paper's method (appendix "Two-Stage Latent Preference Order
    Recovery").

    Examples
    --------
    >>> TwoStage().settings()["scale"]
    'cosine'
    """

    scale: Scale = "cosine"
    prior_sd: float = 1.0
    restarts: int | None = None
    seed: int = 0
    shrink: bool = True

    @property
    def method(self) -> str:
        """Name of the method."""
        return "two-stage"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.restarts is not None:
            object.__setattr__(self, "restarts", validate.as_count(self.restarts, "restarts", high=MAX_RESTARTS))

    def settings(self) -> Json:
        """Return the settings as a JSON object."""
        return asdict(self)

    def among(self, people: IntArray) -> "TwoStage":
        """Return itself: there are no per-person settings."""
        del people
        return self

    def __call__(
        self,
        log: Blocks,
        states: int,
        *,
        pairs_per_person: int | None = None,
        holdout: IntArray | None = None,
        watch: Stopwatch,
    ) -> Estimate:
        """Cluster, then fit the states one after another, so that few k×k matrices are in memory.

        The fits without the held-out people reuse the clusters, the scatter and the utilities of all people: their
        counts are those of all people minus those of the held-out people.
        """
        with watch.part("cluster"):
            clusters = cluster_people(log, states, scale=self.scale, restarts=self.restarts, seed=self.seed)
        n_clusters, labels = len(clusters.shares), clusters.labels
        mask = None if holdout is None else np.isin(np.arange(len(labels)), holdout)
        fits, fewer = self._fit(log, labels, n_clusters, mask, pairs_per_person, watch)
        with watch.part("errors"):
            utilities = np.stack([fit.utilities for fit in fits])
            per_person = (np.arange(len(labels)), labels)
            parts = log.map(_scatter_block, utilities, pairs_per_person, self.seed, per_person=per_person)
            scatters = [Scatter.of(sums) for sums in functools.reduce(np.add, parts)]
        excluding = None
        if mask is not None:
            rest = labels[~mask]
            excluding = Estimate(tuple(fewer), np.bincount(rest, minlength=n_clusters) / len(rest), rest)
        estimate = Estimate(tuple(fits), clusters.shares, labels, clusters.warnings, excluding_holdout=excluding)
        return with_errors(estimate, scatters, prior_sd=self.prior_sd, shrink=self.shrink)

    def _fit(
        self,
        log: Blocks,
        labels: IntArray,
        states: int,
        holdout: BoolArray | None,
        pairs_per_person: int | None,
        watch: Stopwatch,
    ) -> tuple[list[BradleyTerry], list[BradleyTerry]]:
        """Return a fit of each state, and one without the held-out people."""
        fits: list[BradleyTerry] = []
        fewer: list[BradleyTerry] = []
        pairs = count_states(log, labels, states, holdout=holdout, pairs_per_person=pairs_per_person, seed=self.seed)
        for z in range(states):
            with watch.part("count pairs", z, states):
                counts, held = next(pairs)
            with watch.part("Bradley-Terry", z, states):
                fits.append(maximise(counts, prior_sd=self.prior_sd, errors=False, threads=log.pool))
            if held is not None:
                with watch.part("held-out", z, states):
                    fewer.append(
                        maximise(
                            counts.minus(held),
                            prior_sd=self.prior_sd,
                            tolerance=1e-3,  # moves a mean log-likelihood by a millionth
                            start=fits[z].utilities,
                            errors=False,
                            threads=log.pool,
                        )
                    )
            del counts, held  # free the memory before the next state
        return fits, fewer


@dataclass(frozen=True, eq=False)
class _State:
    """One state to count: its number, its actions, the type of a cell and the bytes of its counts."""

    number: int
    kept: IntArray
    cell: str
    size: int


def count_states(
    log: Blocks,
    labels: IntArray,
    states: int,
    *,
    holdout: BoolArray | None = None,
    pairs_per_person: int | None = None,
    seed: int = 0,
) -> Iterator[tuple[PairCounts, PairCounts | None]]:
    """Yield, state by state, the counts of all its people and of its held-out people.

    >>> from lpbandits.data.blocks import MemoryBlocks
    >>> rows = Ratings.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 1, 2], [3, 5, 4, 1, 1, 4])
    >>> log, holdout = MemoryBlocks(rows, Threads(1)), np.array([0, 0, 1]) > 0
    >>> counts = count_states(log, np.array([0, 1, 1]), 2, holdout=holdout)
    >>> [(everyone.wins.tolist(), everyone.kept.tolist(), held.wins.tolist()) for everyone, held in counts]
    [([0.0, 1.0], [0, 1], [0.0, 0.0]), ([1.0, 1.0], [1, 2], [0.0, 1.0])]
    """
    raters = raters_of(log, labels, states)
    parts = 1 if holdout is None else 2
    mask = np.zeros(len(labels), dtype=np.bool_) if holdout is None else holdout
    in_order = pairs_per_person is not None
    to_count = []
    for z, row in enumerate(raters):
        kept = rated_actions(row)
        cell = np.dtype(np.float64 if in_order else cell_type(np.ones(1), row))
        to_count.append(_State(z, kept, cell.str, cell.itemsize * parts * len(kept) ** 2))
    largest = max(state.size for state in to_count)
    remedy = "leave out actions with few ratings (min_action; --min-action)"
    log.budget.check(f"counts of {raters.shape[1]:,} actions in one state", largest, remedy)
    if not log.budget.shared(largest, in_order=in_order):
        log = log.local
    for group in _passes(to_count, parts, log.budget, in_order=in_order):
        common = (group, parts, pairs_per_person, seed)
        per_person = (np.arange(len(labels)), labels, mask)
        if in_order:
            totals = functools.reduce(iadd_each, log.fold_runs(_count_block, *common, per_person=per_person))
        else:
            totals = log.fold(_count_block, *common, per_person=per_person)
        totals.reverse()  # popped from the end, so that the memory of each state is freed in turn
        for state in group:
            yield _pop_counts(totals, parts, state, raters.shape[1], log.pool)


def _pop_counts(
    totals: list[NDArray[Any]], parts: int, state: _State, n_actions: int, pool: Threads
) -> tuple[PairCounts, PairCounts | None]:
    """Pop a state's counts, of all people and of held-out people, without keeping a reference to them."""
    counts = writable(totals.pop())
    held = writable(totals.pop()) if parts > 1 else None
    if held is not None:
        counts = iadd(counts, held)
    everyone = gather(counts, state.kept, n_actions, threads=pool)
    return everyone, None if held is None else gather(held, state.kept, n_actions, threads=pool)


def _passes(states: list[_State], parts: int, budget: MemoryBudget, *, in_order: bool) -> list[list[_State]]:
    """Group the states that are counted in one pass."""
    groups: list[list[_State]] = []
    held = taken = 0
    for state in states:
        cells = parts * len(state.kept) ** 2
        if not groups or held + cells > CELLS or not budget.shared(taken + state.size, in_order=in_order):
            groups.append([])
            held = taken = 0
        held, taken = held + cells, taken + state.size
        groups[-1].append(state)
    return groups


def _count_block(
    block: Ratings,
    threads: Threads,
    totals: list[NDArray[Any]] | None,
    group: list[_State],
    parts: int,
    cap: int | None,
    seed: int,
    index: IntArray,
    labels: IntArray,
    holdout: BoolArray,
) -> list[NDArray[Any]]:
    """Add a block's pairs to the counts of each state: of training people, then of held-out people."""
    if totals is None:
        shapes = [(len(state.kept), state.cell) for state in group for _ in range(parts)]
        totals = [np.zeros((size, size), dtype=cell) for size, cell in shapes]
    comparisons = compared(block, pairs_per_person=cap, seed=seed, first=int(index[0]), threads=threads)
    counts = iter(totals)
    for state in group:
        fewer = comparisons.restricted(state.kept)
        for part in range(parts):
            chosen = (labels == state.number) & (holdout == bool(part))
            add_wins(next(counts), fewer, fewer.weight * chosen[fewer.person], threads=threads)
    return totals


def check_settings(estimator: Any) -> None:
    """Check the settings that `TwoStage` and `Em` share, and convert them to plain types."""
    clean: Json = {
        "scale": validate.as_choice(estimator.scale, "scale", get_args(Scale)),
        "prior_sd": as_prior_sd(estimator.prior_sd),
        "seed": validate.as_seed(estimator.seed),
        "shrink": validate.as_flag(estimator.shrink, "shrink"),
    }
    for name, value in clean.items():
        object.__setattr__(estimator, name, value)


def _scatter_block(
    block: Ratings,
    threads: Threads,
    utilities: FloatArray,
    pairs_per_person: int | None,
    seed: int,
    index: IntArray,
    labels: IntArray,
) -> FloatArray:
    """Return each state's sums over the people of a block."""
    comparisons = compared(block, pairs_per_person=pairs_per_person, seed=seed, first=int(index[0]), threads=threads)
    return np.stack(
        [
            scatter_sums(comparisons, (labels == z).astype(np.float64), row, threads=threads)
            for z, row in enumerate(utilities)
        ]
    )
