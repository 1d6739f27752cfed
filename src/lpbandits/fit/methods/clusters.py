"""Cluster people by their ratings with KMeans."""

import functools
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lpbandits import validate
from lpbandits.data.blocks import MAX_EXACT_RATINGS, Blocks, as_blocks
from lpbandits.data.memory import BYTES_PER_KMEANS_PERSON, BYTES_PER_KMEANS_RATING
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.parallel import Threads, one_thread, thread_map
from lpbandits.typing import BoolArray, FloatArray, IntArray

Scale = Literal["raw", "centered", "standardized", "cosine"]

MAX_EXPLAINED = 0.5
"""Warn if clusters explain at least this share of the variance of people's number of ratings or mean rating."""

EQUAL = 1e-9
"""Relative tolerance for treating all ratings of a person as equal."""

SLOW_KMEANS_RATINGS = 5_000_000
"""With more ratings a KMeans run takes seconds: by default there are 2 runs instead of 10, and `fit_states` may reuse
the clusters for the fit without held-out people."""

MAX_RESTARTS = 1000


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of people, the largest first."""

    labels: IntArray
    """Cluster of each person."""
    shares: FloatArray
    count_variance_explained: float
    """Share of the variance of people's number of ratings that lies between clusters."""
    mean_variance_explained: float
    """The same for people's mean rating."""
    warnings: tuple[str, ...]


def cluster_people(
    ratings: Ratings | Blocks,
    states: int,
    *,
    scale: Scale = "cosine",
    restarts: int | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Clusters:
    """Cluster people by KMeans on their ratings, with 0 for absent ratings.

    Each run uses one thread, so that its sums have one order; of runs with equal inertia the first is kept.

    Parameters
    ----------
    scale
        "cosine": ratings minus the person's and then the action's mean, each person scaled to length 1. It ignores how
        many actions and how highly a person rates; people whose ratings are all equal have a row of zeros. "raw": the
        ratings, as in the paper. "centered": minus the person's mean, so that a missing rating counts as average.
        "standardized": also divided by the person's standard deviation.
    restarts
        Number of KMeans runs; the one with the least inertia is kept. By default 10, or 2 for a log of more than five
        million ratings.

    Examples
    --------
    >>> ratings = {"tea": (5, 4, 1, 2, 5), "jam": (1, 2, 5, 5, 3)}
    >>> rows = [(n, a, r) for a, column in ratings.items() for n, r in enumerate(column)]
    >>> cluster_people(Ratings.from_arrays(*zip(*rows)), 2).labels.tolist()
    [0, 0, 1, 1, 0]
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415 - heavy, and only clustering needs it
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

    count = validate.as_count(states, "states")
    validate.as_choice(scale, "scale", get_args(Scale))
    with Threads(threads) as pool:
        log = as_blocks(ratings, pool)
        people = len(log.log.people)
        check_states(count, people)
        item_means = _item_means(log.map(_item_sums)) if scale == "cosine" else None
        sample = kmeans_sample(log, count, validate.as_seed(seed))
        mask = np.isin(np.arange(people), sample)
        # Block by block, because `scaled` needs many times the memory of its result.
        features = sparse.vstack(list(log.map(_sampled_rows, scale, item_means, per_person=(mask,))), format="csr")
        size = BYTES_PER_KMEANS_RATING * int(log.log.counts[sample].sum()) + BYTES_PER_KMEANS_PERSON * len(sample)
        runs = 10 if len(log.log) <= SLOW_KMEANS_RATINGS else 2
        if restarts is not None:
            runs = validate.as_count(restarts, "restarts", high=MAX_RESTARTS)
        n_threads = min(log.pool.count, max(log.budget.left // size - 1, 1))  # each concurrent run copies the features

        def run(start: int) -> Any:
            with one_thread("openmp"):
                # Sparse rows are not modified, so concurrent runs share them.
                return KMeans(n_clusters=count, n_init=1, random_state=start, copy_x=False).fit(features)

        with warnings.catch_warnings(), one_thread("blas"):  # KMeans limits threads too, but not for concurrent runs
            warnings.simplefilter("ignore", ConvergenceWarning)  # too few distinct people: visible in the result
            starts = [(start,) for start in np.random.SeedSequence(seed).generate_state(runs).tolist()]
            best = min(thread_map(run, starts, threads=min(n_threads, runs)), key=lambda fitted: fitted.inertia_)
        labels = best.labels_.astype(np.int64)
        if len(sample) < people:
            labels = np.concatenate(list(log.map(_nearest, scale, item_means, best.cluster_centers_)))
        sizes = np.bincount(labels, minlength=count)
        order = np.argsort(-sizes, kind="stable")
        labels, shares = np.argsort(order)[labels], sizes[order][sizes[order] > 0] / people
        explained = variance_between(log, labels)
    notes = level_warnings(*explained, scale)
    if len(shares) < count:
        notes.append(f"KMeans found only {len(shares)} of {count} clusters; too few people differ: use fewer states")
    return Clusters(labels, shares, *explained, tuple(notes))


def check_states(states: int, people: int) -> None:
    """Refuse more states than people."""
    if states > people:
        raise InvalidInput(f"states must be at most the number of people, {people}, got {states}")


def kmeans_sample(log: Blocks, states: int, seed: int) -> IntArray:
    """Return the indices of the people that KMeans clusters: all or, above `MAX_EXACT_RATINGS`, a random sample."""
    counts = log.log.counts
    if counts.sum() <= MAX_EXACT_RATINGS:
        return np.arange(len(counts))
    order = np.random.default_rng([seed, 4]).permutation(len(counts))
    most = int(np.searchsorted(np.cumsum(counts[order]), MAX_EXACT_RATINGS // 2))
    return np.sort(order[: max(most, states)])


def _sampled_rows(
    block: Ratings, _: Threads, scale: str, item_means: FloatArray | None, mask: BoolArray
) -> sparse.csr_array:
    return scaled(block if mask.all() else block.subset(np.flatnonzero(mask)), scale, item_means)


def _nearest(block: Ratings, _: Threads, scale: str, item_means: FloatArray | None, centres: FloatArray) -> IntArray:
    """Return the nearest centre of each person of a block: the least |c|² − 2 x·c."""
    distance = (centres**2).sum(axis=1) - 2 * (scaled(block, scale, item_means) @ centres.T)
    return np.asarray(distance.argmin(axis=1))


def _item_sums(block: Ratings, _: Threads | None = None) -> FloatArray:
    """Return the number of raters of each action, and the sum of its ratings minus each person's mean."""
    values = block.rating - block.means[block.owner]
    raters = np.bincount(block.action, minlength=len(block.actions))
    return np.stack([raters, np.bincount(block.action, weights=values, minlength=len(block.actions))])


def _item_means(sums: Iterable[FloatArray]) -> FloatArray:
    """Return the mean of each action from the sums of all blocks."""
    raters, totals = functools.reduce(np.add, sums)
    return np.asarray(totals / np.maximum(raters, 1))


def variance_between(log: Blocks, labels: IntArray) -> tuple[float, float]:
    """Return the share of the variance of people's number of ratings, and of their mean rating, between labels."""
    means = np.concatenate(list(log.map(_means)))
    return variance_explained(log.log.counts.astype(np.float64), labels), variance_explained(means, labels)


def _means(block: Ratings, _: Threads) -> FloatArray:
    return block.means


def raters_of(log: Blocks, weights: NDArray[Any], states: int) -> IntArray:
    """Return m×k: number of people of each state who rated each action.

    `weights` are the labels of people, or weights of people × states in whole units, which are added up.
    """
    return np.asarray(log.fold(_raters, states, per_person=(weights,))[0]).reshape(states, -1)


def _raters(block: Ratings, _: Threads, totals: list[Any] | None, states: int, weights: NDArray[Any]) -> list[Any]:
    k = len(block.actions)
    if weights.ndim == 1:
        counts = np.bincount(weights[block.owner] * k + block.action, minlength=states * k)
    else:
        columns = [np.bincount(block.action, weights=row[block.owner], minlength=k) for row in weights.T]
        counts = np.concatenate(columns).astype(np.int64)
    return [counts if totals is None else totals[0] + counts]


def level_warnings(count_explained: float, mean_explained: float, scale: Scale = "cosine") -> list[str]:
    """Return warnings if clusters explain much of the variance of people's number of ratings or mean rating.

    The remedy is given for the scales that do not leave out activity and level.
    """
    remedy = "" if scale == "cosine" else "; scale='cosine' (--scale cosine) ignores it"
    return [
        f"the clusters explain {share:.0%} of the variance in how {what} people rate{remedy}"
        for what, share in (("much", count_explained), ("highly", mean_explained))
        if share >= MAX_EXPLAINED
    ]


def scaled(ratings: Ratings, scale: str, item_means: FloatArray | None = None) -> sparse.csr_array:
    """Return people × actions on a scale of `cluster_people`; `item_means` are those of all people, for "cosine"."""
    if scale == "raw":
        return ratings.matrix()
    owner = ratings.owner
    values = ratings.rating - ratings.means[owner]
    if scale == "centered":
        return ratings.matrix(values)
    centred_norms = _norms(ratings, values)
    if scale == "cosine":
        values = values - (_item_means([_item_sums(ratings)]) if item_means is None else item_means)[ratings.action]
    norms = _norms(ratings, values)
    if scale == "standardized":
        norms /= np.sqrt(np.maximum(ratings.counts, 1))
    constant = np.minimum(norms, centred_norms) <= EQUAL * _norms(ratings, ratings.rating)
    return ratings.matrix(np.where(constant[owner], 0.0, values / np.where(constant, 1.0, norms)[owner]))


def _norms(ratings: Ratings, values: FloatArray) -> FloatArray:
    """Return the Euclidean norm of each person's row."""
    return np.sqrt(np.bincount(ratings.owner, weights=values**2, minlength=len(ratings.people)))


def variance_explained(values: FloatArray, labels: IntArray) -> float:
    """Return the share of the variance of `values` that lies between the labels' means."""
    sizes = np.bincount(labels)
    means = np.bincount(labels, weights=values) / np.maximum(sizes, 1)
    total = float(np.sum((values - values.mean()) ** 2))
    within = float(np.sum((values - means[labels]) ** 2))
    return 1.0 - within / total if total > 1e-12 * max(float(np.sum(values**2)), 1e-300) else 0.0
