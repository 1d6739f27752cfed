import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lpbandits.data import Ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import cluster_people
from lpbandits.fit.methods.clusters import Scale, scaled, variance_explained
from lpbandits.typing import IntArray
from tests.synthetic_recovery import readers


def dense(seed: int, *, people: int, actions: int, states: int) -> tuple[Ratings, IntArray]:
    """Return a log in which all people rate all actions, on individual levels independent of the state."""
    rng = np.random.default_rng(seed)
    state = np.arange(people) % states
    values = rng.normal(0, 1, (states, actions))[state] + rng.normal(0, 2, (people, 1))
    return Ratings.from_matrix(values + rng.normal(0, 0.5, (people, actions))), state


@pytest.mark.parametrize("varying", ["count", "mean"])
def test_raw_clusters_follow_activity_or_level_and_cosine_clusters_the_state(varying: str) -> None:
    if varying == "count":
        log, state = readers(0, people=600, actions=150, states=3)
    else:
        log, state = dense(0, people=300, actions=12, states=3)
    raw, cosine = (cluster_people(log, 3, scale=scale) for scale in ("raw", "cosine"))
    explained = {"count": raw.count_variance_explained, "mean": raw.mean_variance_explained}
    how = {"count": "how much people rate", "mean": "how highly people rate"}
    assert explained[varying] > 0.5
    assert adjusted_rand_score(state, raw.labels) < 0.1
    assert f"explain {explained[varying]:.0%} of the variance in {how[varying]}" in raw.warnings[0]
    assert "scale='cosine' (--scale cosine)" in raw.warnings[0]
    assert adjusted_rand_score(state, cosine.labels) > 0.95
    assert max(cosine.count_variance_explained, cosine.mean_variance_explained) < 0.1
    assert cosine.warnings == ()
    assert np.all(np.diff(cosine.shares) <= 0)
    np.testing.assert_allclose(np.bincount(cosine.labels) / len(state), cosine.shares)


def test_constant_raters_have_rows_of_zeros() -> None:
    nan = np.nan
    log = Ratings.from_matrix([(5, 1, 1), (5, 2, 1), (1, 2, 5), (3, 3, 3), (1, 1, 1), (4, nan, nan)])
    for factor, shift in ((1.0, 0.0), (1e-12, 0.0), (1.0, 1e7), (1e90, 0.0)):
        moved = Ratings(log.offsets, log.action, log.rating * factor + shift, log.people, log.actions)
        rows = scaled(moved, "cosine").toarray()
        np.testing.assert_array_equal(rows[3:], 0.0)
        np.testing.assert_allclose(np.linalg.norm(rows[:3], axis=1), 1.0)


@pytest.mark.parametrize(
    "values", [[[1, 0], [0, 1], [1, 1]], [[1, 0], [1, 0]], [[2, 2], [2, 2], [7, 7]], [[0.1] * 10] * 4]
)
@pytest.mark.parametrize("scale", ["raw", "centered", "standardized", "cosine"])
def test_tiny_logs_and_ties_are_clustered(values: list[list[float]], scale: Scale) -> None:
    log = Ratings.from_matrix(values)
    clusters = cluster_people(log, 2, scale=scale)
    assert np.isfinite(scaled(log, scale).toarray()).all()
    np.testing.assert_allclose(clusters.shares.sum(), 1.0)
    alike = len({tuple(row) for row in scaled(log, scale).toarray().tolist()})
    assert len(clusters.shares) == min(alike, 2)


def test_too_few_different_people_and_unknown_scales() -> None:
    log = Ratings.from_matrix([[1, 2], [1, 2], [2, 1]])
    clusters = cluster_people(log, 3)
    assert len(clusters.shares) == 2
    assert "only 2 of 3 clusters" in clusters.warnings[-1]
    with pytest.raises(InvalidInput, match=r"states.*3.*4"):
        cluster_people(log, 4)
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
