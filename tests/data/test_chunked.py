"""A log on disk equals the log in memory, and its fit is equal to the last bit with any workers."""

import contextlib
import itertools
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpbandits.data import Ratings, read_ratings, reader
from lpbandits.data import blocks as blocks_
from lpbandits.data.blocks import Blocks
from lpbandits.data.reader import open_ratings, spill_ratings
from lpbandits.errors import InvalidInput
from lpbandits.fit import Em, Estimator, Mixture, TwoStage, fit_states, states_of
from lpbandits.fit.methods import clusters as cluster
from lpbandits.fit.methods import mixture
from lpbandits.fit.taste import popularity
from lpbandits.parallel import Threads, Workers

READINGS: list[dict[str, Any]] = [
    {},
    {"min_person": 4, "min_action": 5},
    {"duplicates": "last"},
    {"duplicates": "mean", "min_action": 3},
    {"rank": "rating"},
]

VARYING = {"seconds": 0, "space": 0}
"""Entries of a report that depend on how the fit was done."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks, buckets and batches in a log of a few hundred rows."""
    monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 60)
    monkeypatch.setattr(reader, "MIN_BUCKET", 100)
    monkeypatch.setattr(reader, "MAX_BUCKET", 100)
    monkeypatch.setattr(reader, "BATCH", 37)


def rows(seed: int, *, people: int = 60, actions: int = 12, each: int = 6, repeats: int = 0) -> pl.DataFrame:
    """Return shuffled ratings of three groups of people."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), each)
    action = np.concatenate([rng.choice(actions, each, replace=False) for _ in range(people)])
    again = rng.choice(len(person), repeats, replace=False)
    person, action = np.append(person, person[again]), np.append(action, action[again])
    taste = rng.normal(0, 1.5, (3, actions))
    rating = np.rint(taste[person % 3, action] + rng.normal(0, 0.7, len(person))) + 10.0
    return pl.DataFrame({"person": person * 7, "action": action, "rating": rating}).sample(
        fraction=1.0, shuffle=True, seed=seed
    )


def assert_same(log: Any, expected: Ratings) -> None:
    assert tuple(log.people) == expected.people
    for name in ("actions", "dropped", "layout", "sha256"):
        assert getattr(log, name) == getattr(expected, name)
    np.testing.assert_array_equal(log.counts, expected.counts)
    for name in ("action", "rating"):
        parts = [getattr(block, name) for block in log.blocks()]
        np.testing.assert_array_equal(np.concatenate(parts), getattr(expected, name))


@pytest.mark.parametrize("reading", READINGS, ids=str)
@pytest.mark.parametrize("kind", ["numbers", "text", "sorted"])
def test_a_log_on_disk_equals_the_log_in_memory(reading: dict[str, Any], kind: str) -> None:
    frame = rows(3, repeats=20 if "duplicates" in reading else 0)
    if kind == "text":
        frame = frame.with_columns(
            pl.format("p{}", "person").alias("person"), pl.format("a {}", "action").alias("action")
        )
    if kind == "sorted":
        frame = frame.sort("person", maintain_order=True)
    with spill_ratings(frame, **reading) as log:
        assert_same(log, read_ratings(frame, **reading))
        assert len(log.edges) > 4


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_logs_of_any_shape(data: st.DataObject) -> None:
    pairs = data.draw(st.sets(st.tuples(st.integers(-5, 30), st.integers(0, 9)), min_size=1, max_size=120))
    order = data.draw(st.permutations(sorted(pairs)))
    frame = pl.DataFrame(order, schema=["person", "action"], orient="row").with_columns(
        rating=pl.Series([float(i % 5) for i in range(len(order))])
    )
    reading: dict[str, Any] = {"min_person": data.draw(st.integers(0, 3)), "min_action": data.draw(st.integers(0, 3))}
    try:
        expected = read_ratings(frame, **reading)
    except InvalidInput as error:
        with pytest.raises(InvalidInput, match=re.escape(str(error))), spill_ratings(frame, **reading):
            pass
        return
    with spill_ratings(frame, **reading) as log:
        assert_same(log, expected)


def test_a_person_may_fill_several_buckets() -> None:
    busy = pl.DataFrame({"person": [5] * 350, "action": range(350), "rating": [float(a % 7) for a in range(350)]})
    frame = pl.concat([rows(3), busy])
    with spill_ratings(frame) as log:
        assert_same(log, read_ratings(frame))


def with_rating_77(value: float | None) -> Any:
    return lambda frame: frame.with_columns(
        rating=pl.when(pl.int_range(pl.len()) != 77).then("rating").otherwise(value)
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: pl.concat([frame, frame.slice(200, 3), frame.slice(5, 1)]),
        with_rating_77(None),
        with_rating_77(np.inf),
        lambda frame: frame.head(0),
    ],
    ids=["repeat", "missing", "infinite", "empty"],
)
def test_errors_are_equal_in_memory_and_on_disk(change: Any, tmp_path: Path) -> None:
    frame = change(rows(1))
    frame.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(InvalidInput) as expected:
        read_ratings(tmp_path / "log.parquet", missing="error")
    with (
        pytest.raises(InvalidInput) as here,
        spill_ratings(tmp_path / "log.parquet", scratch=tmp_path, missing="error"),
    ):
        pass
    assert str(here.value) == str(expected.value)
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_a_log_that_fits_is_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows(2).write_parquet(tmp_path / "log.parquet")
    with open_ratings(tmp_path / "log.parquet") as log:
        assert isinstance(log, Ratings)
    monkeypatch.setattr(reader, "BYTES_PER_READ_RATING", 10**7)
    with open_ratings(tmp_path / "log.parquet", max_memory="3GB") as log:
        assert not isinstance(log, Ratings)
        assert log.folder.exists()
    assert not log.folder.exists()


@pytest.mark.parametrize(
    ("estimator", "options", "backend"),
    [
        (TwoStage(scale="raw", shrink=False), {"states": 3, "pairs_per_person": 8}, "dask"),
        (TwoStage(seed=4), {"states": "auto", "max_states": 3}, "processes"),
        (Em(restarts=1, max_steps=20), {"states": 2}, "processes"),
        (Mixture(restarts=3), {"states": 3}, "processes"),
        (Mixture(restarts=2), {"states": 2, "pairs_per_person": 8}, "dask"),
    ],
    ids=["capped", "auto", "em", "mixture", "mixture, capped"],
)
def test_a_fit_is_equal_in_memory_on_disk_and_with_workers(
    estimator: Any, options: dict[str, Any], backend: Any, address: str
) -> None:
    frame = rows(5, people=45, each=8)
    ratings = read_ratings(frame)
    expected = fit_states(ratings, estimator, **options, threads=1)
    people = states_of(expected.model, ratings)
    with spill_ratings(frame) as log:
        assert len(log.edges) > 6
        for jobs in (None, Workers(2, backend, address if backend == "dask" else None)):
            fit = fit_states(log, estimator, **options, jobs=jobs)
            assert fit.model.sha256 == expected.model.sha256
            assert fit.report.to_dict() | VARYING == expected.report.to_dict() | VARYING
            assert states_of(fit.model, log, jobs=jobs).equals(people)
    assert states_of(expected.model, ratings, jobs=2).equals(people)
    assert fit_states(ratings, estimator, **options, jobs=2).model.sha256 == expected.model.sha256


@pytest.mark.xdist_group("workers")
@pytest.mark.parametrize(("name", "least"), [("SLOW_KMEANS_RATINGS", 100), ("MAX_EXACT_RATINGS", 300)])
def test_fits_of_large_logs_are_equal(name: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of held-out people are subtracted, and clusters come from a sample."""
    from lpbandits.fit import pipeline as fit_

    monkeypatch.setattr(cluster, name, least)
    monkeypatch.setattr(popularity, name, least, raising=False)
    monkeypatch.setattr(fit_, "SLOW_KMEANS_RATINGS", 100)
    monkeypatch.setattr(mixture, "START_RATINGS", 200)
    monkeypatch.setattr(mixture, "SAMPLE_RATINGS", 400)
    frame = rows(6, people=90, each=8)
    estimators: list[Estimator] = [TwoStage(), Mixture(restarts=3)]
    with spill_ratings(frame) as log:
        for estimator in estimators:
            expected = fit_states(read_ratings(frame), estimator, states=3)
            assert expected.report.heldout_people == 9
            assert fit_states(log, estimator, states=3).model == expected.model
            assert fit_states(log, estimator, states=3, jobs=2).model == expected.model


def test_clusters_of_a_sample_agree_with_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    log = read_ratings(rows(7, people=600, each=8))
    expected = cluster.cluster_people(log, 3, seed=1)
    monkeypatch.setattr(cluster, "MAX_EXACT_RATINGS", 2400)
    sampled = cluster.cluster_people(log, 3, seed=1)
    agree = max(
        float(np.mean(np.array(order)[sampled.labels] == expected.labels)) for order in itertools.permutations(range(3))
    )
    assert agree > 0.95  # from 150 of 600 people; by chance 0.4


def test_item_means_of_a_large_log_take_fewer_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    log = read_ratings(rows(7, people=900, each=8))
    passes = []

    class Counted(Blocks):
        def map(self, stage: Any, *common: Any, per_person: Any = ()) -> Iterator[Any]:
            passes.append(stage.__name__)
            return super().map(stage, *common, per_person=per_person)

    def item_means() -> popularity.ItemMeans:
        crowd = popularity.StandardizedRatings(Counted(log, Threads(1)))
        return crowd.item_means(crowd.scales.informative)[0]

    expected = item_means()
    assert passes.count("_level_sums") == 19
    passes.clear()
    monkeypatch.setattr(popularity, "MAX_EXACT_RATINGS", 100)
    approximate = item_means()
    assert passes.count("_level_sums") < 12
    gaps = approximate.means - expected.means
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-5)  # the same shift for all actions
    np.testing.assert_allclose(approximate.means, expected.means, atol=1e-3)


@pytest.mark.xdist_group("workers")
def test_a_killed_worker_does_not_change_a_fit() -> None:
    frame = rows(9, people=80, each=8)
    expected = fit_states(read_ratings(frame), TwoStage(), states=3, taste=False)
    killed: list[int] = []

    def kill(stage: str, *_: int) -> None:
        if stage == "count pairs" and not killed:
            children = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
            workers = [pid for pids in children for pid in pids if is_worker(pid)]
            killed.append(int(workers[0]))
            os.kill(killed[0], signal.SIGKILL)

    with spill_ratings(frame) as log:
        fit = fit_states(log, TwoStage(), states=3, taste=False, jobs=2, progress=kill)
    assert killed
    assert fit.model == expected.model


def is_worker(process: str) -> bool:
    with contextlib.suppress(OSError):
        return "popen_loky" in Path(f"/proc/{process}/cmdline").read_text()
    return False
