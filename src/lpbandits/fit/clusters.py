"""Grouping people by their ratings with KMeans, and what the groups really track."""

import functools
import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy import sparse

from lpbandits import validate
from lpbandits.data.blocks import LARGE_LOG, Blocks, MemoryBlocks, RatingsLike
from lpbandits.data.memory import BYTES_PER_KMEANS_PERSON, BYTES_PER_KMEANS_RATING
from lpbandits.data.ratings import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.parallel import Threads, one_thread, thread_map
from lpbandits.typing import BoolArray, FloatArray, Int32Array, IntArray

Scale = Literal["raw", "centered", "standardized", "cosine"]

SORTED = 0.5
"""Groups that explain this share of the variance of how much, or how highly, people rate are said to sort by it."""

ALIKE = 1e-9
"""Ratings of one person that differ by less than this share of their size are all alike, but for rounding."""

HUGE = 5_000_000
"""A log with more ratings than this is huge: a KMeans run takes seconds, and only two are made by default."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """People in groups, the largest first.

    Parameters
    ----------
    labels
        The cluster of each person.
    shares
        The share of people in each cluster.
    count_variance_explained, mean_variance_explained
        Share of the variance of people's number of ratings, and of their mean rating, that the labels explain.
    warnings
        What a user should know before trusting the clusters.
    """

    labels: IntArray
    shares: FloatArray
    count_variance_explained: float
    mean_variance_explained: float
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
    """Cluster people by KMeans on their ratings, absent ones being 0.

    Parameters
    ----------
    scale
        "cosine": minus the person's and then the action's mean, each person's row scaled to length 1; it sees neither a
        person's level and scale nor their activity, and who rates everything alike has a row of zeros. "raw", the
        paper's: the ratings as they are. "centered": minus the person's mean, so that absent means average.
        "standardized": also divided by the person's standard deviation.
    restarts
        KMeans runs from different starts; the one with least inertia is kept. By default 10, or 2 for a log of more
        than five million ratings.

    >>> likes = {"tea": (5, 4, 1, 2, 5), "jam": (1, 2, 5, 5, 3)}
    >>> rows = [(n, a, r) for a, column in likes.items() for n, r in enumerate(column)]
    >>> cluster_people(Ratings.from_arrays(*zip(*rows)), 2).labels.tolist()
    [0, 0, 1, 1, 0]
    """
    count = validate.as_count(states, "states")
    if isinstance(ratings, Ratings):
        with Threads(threads) as pool:
            return cluster_people(MemoryBlocks(ratings, pool), count, scale=scale, restarts=restarts, seed=seed)
    log, people = ratings, len(ratings.log.people)
    if count > people:
        raise InvalidInput(f"states is {count}, but the log has only {people} people; ask for fewer states")
    validate.as_choice(scale, "scale", get_args(Scale))
    likings = _likings(log) if scale == "cosine" else None
    shown = kmeans_sample(log, count, validate.as_seed(seed))
    features = _features(log, shown, scale, likings)
    threads = min(log.pool.count, max(log.budget.left // seen_size(log, shown) - 1, 1))
    centres, labels = _kmeans(features, count, starts_of(log.log, restarts), seed, threads)
    if len(shown) < people:
        labels = np.concatenate(list(log.map(_nearest, scale, likings, centres)))
    labels, shares = by_size(labels, count)
    activity, level = sorted_by(log, labels)
    notes = sorting_notes(activity, level, scale)
    if len(shares) < count:
        notes.append(
            f"KMeans found only {len(shares)} of {count} clusters: too few people differ; ask for fewer states"
        )
    return Clusters(labels, shares, activity, level, tuple(notes))


def kmeans_sample(log: Blocks, states: int, seed: int) -> IntArray:
    """Return the people that KMeans sees, by index: all, or of an enormous log some, drawn by `seed`."""
    counts = log.log.counts
    if counts.sum() <= LARGE_LOG:
        return np.arange(len(counts))
    order = np.random.default_rng([seed, 4]).permutation(len(counts))
    most = int(np.searchsorted(np.cumsum(counts[order]), LARGE_LOG // 2))
    return np.sort(order[: max(most, states)])


def seen_size(log: Blocks, shown: IntArray) -> int:
    """Return the bytes of what KMeans sees: they are there once, and again for each start that runs at a time."""
    return BYTES_PER_KMEANS_RATING * int(log.log.counts[shown].sum()) + BYTES_PER_KMEANS_PERSON * len(shown)


def _features(log: Blocks, shown: IntArray, scale: str, likings: FloatArray | None) -> sparse.csr_array:
    """Return the rows that KMeans sees, block by block: `scaled` takes many times as much while it works."""
    counts = log.log.counts
    chosen = np.zeros(len(counts), dtype=np.bool_)
    chosen[shown] = True
    offsets = np.concatenate([[0], np.cumsum(counts[shown])]).astype(np.int32)
    action, values = np.empty(offsets[-1], dtype=np.int32), np.empty(offsets[-1])
    done = 0
    for some, theirs in log.map(_seen, scale, likings, per_person=(chosen,)):
        part = slice(done, done + len(some))
        action[part], values[part] = some, theirs
        done += len(some)
    return sparse.csr_array((values, action, offsets), shape=(len(shown), len(log.log.actions)))


def _seen(
    block: Ratings, _: Threads, scale: str, likings: FloatArray | None, chosen: BoolArray
) -> tuple[Int32Array, FloatArray]:
    """Return the actions and values of the chosen people of a block."""
    rows = scaled(block if chosen.all() else block.subset(np.flatnonzero(chosen)), scale, likings)
    return rows.indices, rows.data


def _nearest(block: Ratings, _: Threads, scale: str, likings: FloatArray | None, centres: FloatArray) -> IntArray:
    """Return the nearest centre of each of a block's people: the least |c|² − 2 x·c."""
    away = (centres**2).sum(axis=1) - 2 * (scaled(block, scale, likings) @ centres.T)
    labels: IntArray = away.argmin(axis=1)
    return labels


def _likings(log: Blocks) -> FloatArray:
    """Return the mean of each action's ratings, each less its person's mean."""
    return _likings_of(functools.reduce(np.add, log.map(_centred)))


def _likings_of(sums: FloatArray) -> FloatArray:
    means: FloatArray = sums[1] / np.maximum(sums[0], 1)
    return means


def _centred(block: Ratings, _: Threads | None = None) -> FloatArray:
    values = block.rating - block.means[block.owner]
    raters = np.bincount(block.action, minlength=len(block.actions))
    return np.stack([raters, np.bincount(block.action, weights=values, minlength=len(block.actions))])


def starts_of(ratings: RatingsLike, restarts: int | None) -> int:
    """Return how many times KMeans runs."""
    if restarts is not None:
        return validate.as_count(restarts, "restarts")
    return 10 if len(ratings) <= HUGE else 2


def sorted_by(log: Blocks, labels: IntArray) -> tuple[float, float]:
    """Return the share of the variance of people's number of ratings, and of their mean rating, that labels explain."""
    means = np.concatenate(list(log.map(_means)))
    return variance_explained(log.log.counts.astype(np.float64), labels), variance_explained(means, labels)


def _means(block: Ratings, _: Threads) -> FloatArray:
    return block.means


def sorting_notes(activity: float, level: float, scale: str) -> list[str]:
    """Return warnings if the groups explain much of the variance in how much people rate, or in how highly.

    >>> sorting_notes(0.1, 0.79, "raw")
    ["the clusters sort people by level: they explain 79% of the variance in how highly people rate; ..."]
    """
    remedy = "" if scale == "cosine" else "; scale='cosine' (--scale cosine) looks at taste alone"
    return [
        f"the clusters sort people by {what}: they explain {share:.0%} of the variance in how {way} people rate{remedy}"
        for what, way, share in (("activity", "much", activity), ("level", "highly", level))
        if share >= SORTED
    ]


def scaled(ratings: Ratings, scale: str, likings: FloatArray | None = None) -> sparse.csr_array:
    """Return people × actions on a scale of `cluster_people`; `likings`, what the cosine takes away, are of all people.

    >>> log = Ratings.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [5, 3, 2, 2])
    >>> scaled(log, "standardized").toarray().tolist()
    [[1.0, -1.0], [0.0, 0.0]]
    """
    if scale == "raw":
        return ratings.matrix()
    owner = ratings.owner
    values = ratings.rating - ratings.means[owner]
    if scale == "centered":
        return ratings.matrix(values)
    spread = _lengths(ratings, values)
    if scale == "cosine":
        values = values - (_likings_of(_centred(ratings)) if likings is None else likings)[ratings.action]
    norms = _lengths(ratings, values)
    if scale == "standardized":
        norms /= np.sqrt(np.maximum(ratings.counts, 1))
    silent = np.minimum(norms, spread) <= ALIKE * _lengths(ratings, ratings.rating)
    return ratings.matrix(np.where(silent[owner], 0.0, values / np.where(silent, 1.0, norms)[owner]))


def _lengths(ratings: Ratings, values: FloatArray) -> FloatArray:
    """Return the length of each person's row."""
    return np.sqrt(np.bincount(ratings.owner, weights=values**2, minlength=len(ratings.people)))


def variance_explained(values: FloatArray, labels: IntArray) -> float:
    """Return the share of the variance of `values` that lies between the labels' means.

    >>> variance_explained(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    sizes = np.bincount(labels)
    means = np.bincount(labels, weights=values) / np.maximum(sizes, 1)
    total = float(np.sum((values - values.mean()) ** 2))
    within = float(np.sum((values - means[labels]) ** 2))
    return 1.0 - within / total if total > 1e-12 * max(float(np.sum(values**2)), 1e-300) else 0.0


def by_size(labels: IntArray, count: int) -> tuple[IntArray, FloatArray]:
    """Return labels numbered by size, the largest 0, and the shares, both without empty clusters."""
    sizes = np.bincount(labels, minlength=count)
    order = np.lexsort((np.arange(count), -sizes))
    place = np.argsort(order)
    kept = sizes[order][sizes[order] > 0]
    return place[labels], kept / len(labels)


def _kmeans(features: Any, count: int, restarts: int, seed: int, threads: int) -> tuple[FloatArray, IntArray]:
    """Run KMeans `restarts` times, each on one thread so that sums have one order; keep the least inertia."""
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - heavy, and only clustering needs it

    seeds = np.random.SeedSequence(seed).generate_state(restarts).tolist()
    with warnings.catch_warnings(), one_thread("blas"):  # KMeans does that too, but not for several at a time
        warnings.simplefilter("ignore", ConvergenceWarning)  # too few distinct people: seen in the result
        jobs = [(features, count, start) for start in seeds]
        runs = list(thread_map(_kmeans_once, jobs, threads=min(threads, restarts)))
    best = min(range(restarts), key=lambda run: (runs[run][0], run))
    return runs[best][1], runs[best][2].astype(np.int64)


def _kmeans_once(features: Any, count: int, seed: int) -> tuple[float, FloatArray, IntArray]:
    from sklearn.cluster import KMeans  # noqa: PLC0415

    with one_thread("openmp"):
        # Sparse rows are only looked at, so that all starts may share them.
        fitted = KMeans(n_clusters=count, n_init=1, random_state=seed, copy_x=False).fit(features)
    return float(fitted.inertia_), fitted.cluster_centers_, fitted.labels_
