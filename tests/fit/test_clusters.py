import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import cluster_people
from lpbandits.fit.clusters import Scale, scaled, variance_explained
from lpbandits.typing import IntArray
from tests.synthetic_recovery import readers


def test_raw_clusters_follow_activity_and_cosine_clusters_the_state() -> None:
    log, state = readers(0, people=600, actions=150, states=3)
    raw = cluster_people(log, 3, scale="raw")
    assert adjusted_rand_score(state, raw.labels) < 0.05
    assert raw.count_variance_explained > 0.5
    assert "how much people rate" in raw.warnings[0]
    assert "scale='cosine'" in raw.warnings[0]
    cosine = cluster_people(log, 3, scale="cosine")
    assert adjusted_rand_score(state, cosine.labels) > 0.95
    assert cosine.count_variance_explained < 0.05
    assert cosine.warnings == ()


def dense(seed: int, *, people: int, actions: int, states: int, levels: float = 2.0) -> tuple[Ratings, IntArray]:
    """Return a log in which all people rate all actions, on individual levels independent of the state."""
    rng = np.random.default_rng(seed)
    state = np.arange(people) % states
    values = rng.normal(0, 1, (states, actions))[state] + rng.normal(0, levels, (people, 1))
    values += rng.normal(0, 0.5, (people, actions))
    person, action = np.indices(values.shape)
    return Ratings.from_arrays(person.ravel(), action.ravel(), values.ravel()), state


def test_raw_clusters_of_a_dense_log_follow_the_level_with_a_warning() -> None:
    log, state = dense(0, people=300, actions=12, states=3)
    raw = cluster_people(log, 3, scale="raw")
    assert raw.count_variance_explained == 0  # activity does not vary
    assert raw.mean_variance_explained > 0.75
    assert adjusted_rand_score(state, raw.labels) < 0.1
    assert len(raw.warnings) == 1
    assert raw.warnings[0].startswith(
        f"the clusters explain {raw.mean_variance_explained:.0%} of the variance in how highly"
    )
    assert "--scale cosine" in raw.warnings[0]
    cosine = cluster_people(log, 3)
    assert adjusted_rand_score(state, cosine.labels) > 0.95
    assert cosine.mean_variance_explained < 0.1
    assert cosine.warnings == ()


def test_constant_raters_have_rows_of_zeros() -> None:
    rows = [
        (n, a, r)
        for n, row in enumerate([(5, 1, 1), (5, 2, 1), (1, 2, 5), (3, 3, 3), (1, 1, 1)])
        for a, r in enumerate(row)
    ]
    log = Ratings.from_arrays(*zip(*rows, (5, 0, 4.0), strict=True))
    for factor, shift in ((1.0, 0.0), (1e-12, 0.0), (1.0, 1e7), (1e90, 0.0)):
        moved = Ratings(log.offsets, log.action, log.rating * factor + shift, log.people, log.actions)
        rows_ = scaled(moved, "cosine").toarray()
        np.testing.assert_array_equal(rows_[3:], 0.0)
        np.testing.assert_allclose(np.linalg.norm(rows_[:3], axis=1), 1.0)


@pytest.mark.parametrize(
    "values", [[[1, 0], [0, 1], [1, 1]], [[1, 0], [1, 0]], [[2, 2], [2, 2], [7, 7]], [[0.1] * 10] * 4]
)
@pytest.mark.parametrize("scale", ["raw", "centered", "standardized", "cosine"])
def test_tiny_logs_and_ties_are_clustered(values: list[list[float]], scale: Scale) -> None:
    person, action = np.indices(np.shape(values))
    log = Ratings.from_arrays(person.ravel(), action.ravel(), np.ravel(values))
    clusters = cluster_people(log, 2, scale=scale)
    assert np.isfinite(scaled(log, scale).toarray()).all()
    np.testing.assert_allclose(clusters.shares.sum(), 1.0)
    alike = len({tuple(row) for row in scaled(log, scale).toarray().tolist()})
    assert len(clusters.shares) == min(alike, 2)


@pytest.mark.parametrize("scale", ["standardized", "cosine"])
def test_features_do_not_depend_on_individual_scales(scale: Scale) -> None:
    log, _ = readers(1, people=40, actions=30, states=2)
    rng = np.random.default_rng(0)
    factor, shift = rng.uniform(0.5, 3, 40), rng.normal(0, 20, 40)
    rescaled = log.rating * factor[log.owner] + shift[log.owner]
    moved = Ratings(log.offsets, log.action, rescaled, log.people, log.actions)
    if scale == "standardized":
        np.testing.assert_allclose(scaled(moved, scale).toarray(), scaled(log, scale).toarray(), atol=1e-12)
    shifted = Ratings(log.offsets, log.action, log.rating + shift[log.owner], log.people, log.actions)
    for name in ("centered", scale):
        np.testing.assert_allclose(scaled(shifted, name).toarray(), scaled(log, name).toarray(), atol=1e-12)


def test_cosine_rows_have_length_one_and_actions_mean_zero_before() -> None:
    log, _ = readers(2, people=50, actions=30, states=2)
    rows = scaled(log, "cosine").toarray()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0)


def test_labels_do_not_depend_on_threads() -> None:
    log, _ = readers(3, people=200, actions=60, states=3)
    one, two = (cluster_people(log, 3, scale="cosine", seed=4, threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.labels, two.labels)
    assert np.all(np.diff(one.shares) <= 0)
    np.testing.assert_allclose(np.bincount(one.labels) / 200, one.shares)


def test_too_few_different_people() -> None:
    log = Ratings.from_arrays([0, 0, 1, 1, 2, 2], [0, 1] * 3, [1, 2, 1, 2, 2, 1])
    clusters = cluster_people(log, 3)
    assert len(clusters.shares) == 2
    assert "only 2 of 3 clusters" in clusters.warnings[-1]
    with pytest.raises(InvalidInput, match=r"states.*3.*4"):
        cluster_people(log, 4)


def test_unknown_scale_is_refused() -> None:
    log = Ratings.from_arrays([0, 1], [0, 0], [1, 2])
    with pytest.raises(InvalidInput, match=r"scale.*log"):
        cluster_people(log, 1, scale="log")  # type: ignore[arg-type]  # what a user might type


def test_variance_explained() -> None:
    values = np.array([1.0, 2.0, 3.0, 6.0])
    labels = np.array([0, 0, 1, 1])
    between = 2 * ((1.5 - 3) ** 2 + (4.5 - 3) ** 2)
    np.testing.assert_allclose(variance_explained(values, labels), between / 14)
    assert variance_explained(np.full(4, 7.0), labels) == 0


@pytest.mark.parametrize("scale", ["raw", "centered", "standardized", "cosine"])
def test_scales_equal_plain_formulas(scale: Scale) -> None:
    log, _ = readers(4, people=20, actions=15, states=2)
    rated = log.matrix(np.ones(len(log))).toarray() > 0
    values = np.where(rated, log.matrix().toarray(), np.nan)
    if scale != "raw":
        values = values - np.nanmean(values, axis=1, keepdims=True)
    if scale == "standardized":
        values = values / np.nanstd(values, axis=1, keepdims=True)
    if scale == "cosine":
        values = values - np.nanmean(values, axis=0)
        values = values / np.sqrt(np.nansum(values**2, axis=1, keepdims=True))
    np.testing.assert_allclose(scaled(log, scale).toarray(), np.nan_to_num(values), atol=1e-12)


def test_the_run_with_least_inertia_is_kept() -> None:
    log, _ = readers(5, people=80, actions=20, states=4)
    rows = scaled(log, "cosine").toarray()

    def inertia(labels: IntArray) -> float:
        return sum(float(((rows[labels == z] - rows[labels == z].mean(axis=0)) ** 2).sum()) for z in set(labels))

    inertias = [inertia(cluster_people(log, 6, scale="cosine", restarts=count).labels) for count in range(1, 11)]
    assert np.all(np.diff(inertias) <= 1e-9)  # another run never makes it worse
    assert inertias[0] - inertias[-1] > 1e-3
    assert inertia(cluster_people(log, 6, scale="cosine").labels) == inertias[-1]  # ten by default
