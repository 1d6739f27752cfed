"""Sums over blocks of people equal their slow twins, with any number of threads and any storage of blocks."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbandits.data import Ratings
from lpbandits.data.blocks import Blocks, as_blocks, block_edges, parallel_sum, split_people, subsample
from lpbandits.fit import Em, TwoStage
from lpbandits.fit.methods.estimator import Estimate, Estimator
from lpbandits.fit.state_means import _squares, _state_sums, state_means
from lpbandits.fit.taste.cross_products import Residuals, mirrored
from lpbandits.fit.taste.moments import Moments, moments
from lpbandits.fit.taste.popularity import StandardizedRatings, informative, scales
from lpbandits.fit.taste.tuning import TasteFit, _sample, fit_taste
from lpbandits.parallel import Threads
from lpbandits.progress import Stopwatch
from lpbandits.typing import IntArray
from tests import naive_recovery as naive
from tests.logs import log_of

Patch = pytest.MonkeyPatch


class Scattered(Blocks):
    """Blocks that are copies and processed in random order."""

    def __init__(self, log: Ratings, ratings: int, threads: int) -> None:
        super().__init__(log, Threads(threads))
        self.edges = block_edges(log.counts, ratings)
        self.blocks = [log.subset(np.arange(low, high)) for low, high in itertools.pairwise(self.edges.tolist())]

    def map(self, stage: Callable[..., Any], *common: Any, per_person: Sequence[Any] = ()) -> Iterator[Any]:
        order = np.random.default_rng(len(self.blocks)).permutation(len(self.blocks))
        results: dict[int, Any] = {}
        for b in order.tolist():
            arrays = [np.array(array[self.edges[b] : self.edges[b + 1]]) for array in per_person]
            results[b] = stage(self.blocks[b], self.pool, *common, *arrays)
        yield from (results[b] for b in range(len(self.blocks)))


@pytest.fixture
def small_blocks(monkeypatch: Patch) -> Patch:
    """Blocks of a few people, with a few parts each, so that a small_blocks log has logs."""
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", 300)
    monkeypatch.setattr("lpbandits.data.blocks.MIN_PART", 40)
    monkeypatch.setattr("lpbandits.fit.taste.cross_products.CHUNK", 50)
    return monkeypatch


def random_log(seed: int = 0, people: int = 90, k: int = 14, share: float = 0.5) -> Ratings:
    return log_of(people, k, share=share, states=2, noise=0.7, levels=9, seed=seed)


def estimate_of(log: Ratings, estimator: Estimator) -> Estimate:
    with Threads(1) as pool:
        return estimator(Blocks(log, pool), 2, pairs_per_person=None, holdout=None, watch=Stopwatch())


def fitted(log: Ratings | Blocks, threads: int) -> TasteFit:
    with Threads(threads) as pool:
        return fit_taste(log, seed=0, watch=Stopwatch(), threads=pool)


def assert_equal_moments(one: Moments, other: Moments) -> None:
    for name, value in vars(one).items():
        np.testing.assert_array_equal(getattr(other, name), value, err_msg=name)


@st.composite
def logs(draw: st.DrawFn) -> Ratings:
    """Draw logs with short or constant histories, and actions without ratings."""
    people, k = draw(st.integers(2, 25)), draw(st.integers(2, 9))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = rng.integers(0, draw(st.sampled_from([2, 5, 100])), (people, k)).astype(np.float64)
    values[rng.random((people, k)) < draw(st.sampled_from([0.0, 0.3, 0.7]))] = np.nan
    values[0, :2] = 1.0, 3.0
    return Ratings.from_matrix(values)


@pytest.mark.jitless
@settings(max_examples=30)
@given(logs(), st.integers(0, 99))
def test_scales_and_item_means_equal_their_twins(log: Ratings, seed: int) -> None:
    scale = scales(log)
    histories = [np.array([rating for _, rating in history] or [0.0]) for history in naive.histories(log)]
    np.testing.assert_allclose(scale.means, [history.mean() for history in histories], rtol=1e-12)
    np.testing.assert_allclose(scale.spreads, [history.std() for history in histories], atol=1e-12)
    used = scale.has_variation & (np.random.default_rng(seed).random(len(histories)) < 0.8)
    (item_means,) = StandardizedRatings(as_blocks(log)).item_means(used)
    np.testing.assert_allclose(item_means.means, naive.likings(log, used), atol=1e-10)
    raters = [sum(a in one for one in naive.own_units(log, used)) for a in range(len(log.actions))]
    assert item_means.raters.tolist() == raters


def test_item_means_take_twenty_sweeps() -> None:
    """People who rate mostly what they like shift all means slowly, sweep by sweep."""
    rng = np.random.default_rng(2)
    values = rng.normal(np.linspace(-1, 1, 6), 1.0, (300, 6))
    values[values + rng.normal(size=values.shape) < 0.3] = np.nan
    log = Ratings.from_matrix(values[(~np.isnan(values)).sum(axis=1) > 1])
    scale = scales(log)
    (item_means,), twin = (
        StandardizedRatings(as_blocks(log)).item_means(scale.has_variation),
        naive.likings(log, scale.has_variation),
    )
    np.testing.assert_allclose(item_means.means, twin, rtol=1e-9)
    assert np.abs(naive.likings(log, scale.has_variation, sweeps=19) - twin).max() > 1e-6  # 19 sweeps would differ


@pytest.mark.jitless
@settings(max_examples=30)
@given(logs(), st.integers(1, 3), st.booleans())
def test_cells_and_squares_equal_their_twins(log: Ratings, m: int, soft: bool) -> None:
    rng = np.random.default_rng(m)
    people, k = len(log.people), len(log.actions)
    labels, means = rng.integers(0, m, people), rng.normal(size=(m, k))
    chance = rng.dirichlet(np.ones(m), people) if soft else np.zeros((people, 0))
    with Threads(1) as pool:
        raters, total = _state_sums(log, pool, (2, m, k), labels, chance)
        squares = _squares(log, pool, means, labels, chance)
    expected = naive.cells(log, chance if soft else np.eye(m)[labels], means)
    np.testing.assert_allclose(raters, expected[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(total, expected[1], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(squares, expected[2], rtol=1e-10, atol=1e-10)


def random_residuals(people: int, c: int, share: float, seed: int) -> tuple[Residuals, list[dict[int, float]]]:
    rng = np.random.default_rng(seed)
    seen = rng.random((people, c)) < share
    seen[np.arange(people), rng.integers(0, c, people)] = True
    residuals = rng.normal(size=seen.sum())
    person, place = np.nonzero(seen)
    offsets = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    rows: list[dict[int, float]] = [{} for _ in range(people)]
    for n, a, value in zip(person.tolist(), place.tolist(), residuals.tolist(), strict=True):
        rows[n][a] = value
    return Residuals(offsets, place.astype(np.uint16), residuals, c), rows


@pytest.mark.jitless
@pytest.mark.parametrize("method", ["by_pairs", "by_matrices"])
@pytest.mark.parametrize(("people", "c", "share"), [(1, 1, 1.0), (30, 7, 0.4), (12, 9, 0.05), (25, 11, 1.0)])
def test_both_methods_of_cross_products_equal_their_twin(
    method: str, people: int, c: int, share: float, small_blocks: Patch
) -> None:
    small_blocks.setattr("lpbandits.fit.taste.cross_products.PEOPLE", 10)
    small_blocks.setattr("lpbandits.fit.taste.cross_products.PANEL", 4)
    products_of, rows = random_residuals(people, c, share, seed=c)
    with Threads(1) as pool:
        products, raters = getattr(products_of, method)(pool)
    expected = naive.crossed(rows, c)
    np.testing.assert_allclose(products, expected[0], rtol=1e-12, atol=1e-12)
    assert raters.tolist() == expected[1].tolist()
    full = mirrored(products, c)
    np.testing.assert_array_equal(full, full.T)
    np.testing.assert_array_equal(full[np.triu_indices(c)], products)


def test_sparse_residuals_are_multiplied_by_pairs() -> None:
    assert random_residuals(50, 100, 0.25, seed=0)[0].is_sparse
    assert not random_residuals(50, 100, 0.35, seed=0)[0].is_sparse


@pytest.mark.parametrize("method", ["by_pairs", "by_matrices"])
def test_cross_products_do_not_depend_on_threads(method: str, small_blocks: Patch) -> None:
    small_blocks.setattr("lpbandits.fit.taste.cross_products.PANEL", 16)
    products_of, _ = random_residuals(200, 70, 0.3, seed=1)
    results = []
    for count in (1, 2, 3):
        with Threads(count) as pool:
            results.append(getattr(products_of, method)(pool))
    for products, raters in results[1:]:
        np.testing.assert_array_equal(products, results[0][0])
        np.testing.assert_array_equal(raters, results[0][1])


@pytest.mark.parametrize("estimator", [TwoStage(restarts=1), Em(restarts=1)], ids=lambda one: one.method)
def test_state_means_do_not_depend_on_threads_or_storage(estimator: Estimator, small_blocks: Patch) -> None:
    log = random_log()
    estimate = estimate_of(log, estimator)
    results = []
    for count in (1, 2, 3):
        with Threads(count) as pool:
            assert len(Blocks(log, pool).edges) > 2
            results.append(state_means(log, estimate, pool))
        results.append(state_means(Scattered(log, 300, count), estimate))
    for one in results[1:]:
        np.testing.assert_array_equal(one.means, results[0].means)
        assert one.noise == results[0].noise
    small_blocks.undo()
    unsplit = state_means(log, estimate)
    np.testing.assert_allclose(results[0].means, unsplit.means, rtol=1e-10)
    assert results[0].noise == pytest.approx(unsplit.noise, rel=1e-10)


def test_tastes_do_not_depend_on_threads_or_storage(small_blocks: Patch) -> None:
    log = random_log(people=150)
    people = informative(log)[::2]
    sums, tastes = [], []
    for count in (1, 2, 3):
        with Threads(count) as pool:
            sums.append(moments(log, people=people, threads=pool))
        sums.append(moments(Scattered(log, 300, count), people=people))
        tastes += [fitted(log, count), fitted(Scattered(log, 300, count), count)]
    for one in sums[1:]:
        assert_equal_moments(sums[0], one)
    assert tastes[0].taste is not None
    for fit in tastes[1:]:
        assert fit.taste == tastes[0].taste
        assert fit.report == tastes[0].report
    small_blocks.undo()
    unsplit = moments(log, people=people)
    for name, value in vars(unsplit).items():
        np.testing.assert_allclose(getattr(sums[0], name), value, rtol=1e-10, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(unsplit.means, moments(log.subset(people)).means, rtol=1e-12)


def test_parts_have_about_equal_sizes() -> None:
    offsets = np.concatenate([[0], np.cumsum(np.random.default_rng(0).integers(0, 9, 1000))])
    edges = split_people(offsets, 16)
    assert (edges[0], edges[-1], len(edges)) == (0, 1000, 17)
    assert np.abs(np.diff(offsets[edges]) - offsets[-1] / 16).max() < 9
    assert split_people(np.array([0, 0]), 3).tolist() == [0, 0, 0, 1]


def test_large_sums_have_few_parts(monkeypatch: Patch) -> None:
    monkeypatch.setattr("lpbandits.data.blocks.MIN_PART", 10)
    log = random_log()

    def kernel(low: int, high: int, *arrays: Any) -> None:
        arrays[-1][low:high] = 1.0

    with Threads(1) as pool:
        for shape, parts in (((), 16), ((len(log) // 4,), 5), ((2 * len(log),), 1)):
            np.testing.assert_array_equal(parallel_sum(kernel, log, pool, shape), np.full(shape, parts))


def test_rounding_of_means_uses_a_sample_of_a_large_log(monkeypatch: Patch) -> None:
    log = random_log(people=300)
    estimate = estimate_of(log, TwoStage(restarts=1))
    counts = np.full(10, 7)
    assert subsample(np.arange(10), counts, ratings=70).tolist() == list(range(10))
    assert subsample(np.arange(10), counts, ratings=69).tolist() == [0, 2, 4, 6, 8]
    sizes: list[int] = []

    def few(people: IntArray, counts: IntArray) -> IntArray:
        sizes.append(len(people))
        return subsample(people, counts, ratings=200)

    monkeypatch.setattr("lpbandits.fit.state_means.subsample", few)
    sampled = state_means(log, estimate)
    monkeypatch.undo()
    assert sizes == [300]
    np.testing.assert_array_equal(sampled.means, state_means(log, estimate).means)


def test_large_logs_are_tuned_on_a_sample(monkeypatch: Patch) -> None:
    counts = np.array([5, 0, 5, 2, 5, 50] * 20)
    people = np.flatnonzero(counts)
    assert _sample(people, counts, 10, 0).tolist() == people.tolist()
    monkeypatch.setattr("lpbandits.fit.taste.tuning.MAX_PAIRS", 2000)
    sample = _sample(people, counts, 10, 0)
    assert set(sample) < set(people)
    assert np.all(np.diff(sample) > 0)
    pairs = np.minimum(counts, 10) ** 2  # at most ten actions of a person count
    assert 2000 - 100 < pairs[sample].sum() <= 2000
    assert _sample(people, counts, 10, 1).tolist() != sample.tolist()
    monkeypatch.setattr("lpbandits.fit.taste.tuning.MAX_PAIRS", 1)
    assert len(_sample(people, counts, 10, 0)) == 20
