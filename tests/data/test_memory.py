"""Memory and disk use of a fit: below the limit, with equal results and without leftover files."""

import errno
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits import parallel
from lpbandits.cli import app
from lpbandits.data import blocks as blocks_
from lpbandits.data import chunked, memory, reader
from lpbandits.data.blocks import iadd
from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.memory import MemoryBudget
from lpbandits.data.sources import open_table
from lpbandits.data.spill import Codes, write_chunks
from lpbandits.errors import InvalidInput
from lpbandits.fit.methods import clusters as cluster
from lpbandits.fit.methods import two_stage as counting
from lpbandits.fit.scores import split_holdout
from lpbandits.fit.taste.moments import moments
from lpbandits.parallel import Executor, Threads, executor_for
from tests.logs import log_of

ROWS = pl.DataFrame({"person": [1, 1, 2, 2, 3, 3], "action": [10, 20, 10, 30, 20, 30], "rating": [5, 3, 4, 2, 1, 2]})

FITTED = """
import sys
from pathlib import Path
import numpy as np, polars as pl
import lpbandits as lpb
from lpbandits.fit.methods import two_stage as counting

counting.CELLS = 2**40  # so that the limit alone decides
rng = np.random.default_rng(0)
who, k = np.repeat(np.arange(1000), 80), 4400
rows = {"person": who, "action": rng.integers(k, size=len(who)), "rating": rng.integers(1, 6, len(who))}
frame = pl.DataFrame(rows).unique(["person", "action"], maintain_order=True)
estimator = lpb.TwoStage(restarts=1, shrink=False, prior_sd=0.05)  # few passes
with lpb.spill_ratings(frame, max_memory=sys.argv[1]) as log:
    lpb.fit_states(log, estimator, states=10, taste=False, heldout=0, max_memory=sys.argv[1], threads=1)
status = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_fit_stays_below_its_limit() -> None:
    """The peak is about 530 MB, and without the limit, with counts of all ten states at once, 630 MB.

    Both vary by some 50 MB with the machine, but together. The first run may compile kernels, which takes some 60 MB.
    """
    peaks = []
    for limit in ("8GB", "600MB"):
        run = subprocess.run([sys.executable, "-c", FITTED, limit], capture_output=True, text=True, check=True)
        peaks.append(int(run.stdout))
    assert 300e6 < peaks[1] < min(peaks[0] - 40e6, 600e6)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 60)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Executor]:
    with executor_for(2) as executor:
        yield executor


def assert_equal_counts(states: Iterable[Any], expected: Iterable[Any]) -> None:
    for parts, expected_parts in zip(states, expected, strict=True):
        for counts, expected_counts in zip(parts, expected_parts, strict=True):
            np.testing.assert_array_equal(counts.double_counts, expected_counts.double_counts)
            np.testing.assert_array_equal(counts.wins, expected_counts.wins)


class WatchedBlocks(blocks_.Blocks):
    """Blocks that record for each pass of counting whether it ran in this process."""

    calls: ClassVar[list[bool]] = []

    @property
    def local(self) -> blocks_.Blocks:
        return WatchedBlocks(self.log, self.pool, MemoryBudget(self.budget.limit_bytes))

    def _results(self, runs: Any, call: Any, **options: Any) -> Any:
        if "_count_block" in call[0].__name__:
            self.calls.append(self._executor is None)
        return super()._results(runs, call, **options)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pairs_per_person", [None, 7])
@pytest.mark.parametrize("in_process", [False, True])
def test_with_less_memory_counts_take_more_passes_and_fewer_workers(
    pairs_per_person: int | None, in_process: bool, tmp_path: Path, two_workers: Executor
) -> None:
    """With two workers there are ten copies of the counts: three per worker, two in transit and two here.

    With `pairs_per_person` counts are floats, and two of each worker may wait for their turn.
    """
    log, labels = log_of(120, 9, share=0.8, states=3), np.arange(120) % 3
    options: Any = {"pairs_per_person": pairs_per_person, "seed": 3}
    size, copies = (81 * 2, 10) if pairs_per_person is None else (81 * 8, 14)
    with Threads(1) as pool:
        expected = list(counting.count_states(blocks_.Blocks(log, pool), labels, 3, **options))
        chunks = write_chunks(log, tmp_path)
        for states, passes in ((3, 1), (2.9, 2), (1, 3)):
            WatchedBlocks.calls.clear()
            limit = round(states * size * (1 if in_process else copies))
            blocks = WatchedBlocks(chunks, pool, MemoryBudget(limit, local_workers=2, workers=2), two_workers)
            assert_equal_counts(counting.count_states(blocks, labels, 3, **options), expected)
            assert WatchedBlocks.calls == [in_process] * passes


@pytest.mark.parametrize(("share", "workers"), [(10**9, 2), (3.0, 2), (2.9, 1), (0.1, 1)])
def test_with_less_memory_kmeans_runs_fewer_starts_at_a_time(
    share: float, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(60, 9, share=0.8, states=3)
    expected = cluster.cluster_people(log, 3).labels
    concurrent = []

    def thread_map(*arguments: Any, threads: int) -> Any:
        concurrent.append(threads)
        return parallel.thread_map(*arguments, threads=threads)

    monkeypatch.setattr(cluster, "thread_map", thread_map)
    with Threads(2) as pool:
        budget = MemoryBudget(round(share * (13 * len(log) + 100 * 60)))
        labels = cluster.cluster_people(blocks_.Blocks(log, pool, budget), 3).labels
    np.testing.assert_array_equal(labels, expected)
    assert concurrent == [workers]


@pytest.mark.usefixtures("small_blocks")
def test_kmeans_features_are_those_of_the_sample() -> None:
    log, sample, item_means = log_of(60, 9, share=0.8, states=3), np.arange(1, 60, 7), np.linspace(-1, 1, 9)
    mask, blocks = np.isin(np.arange(60), sample), blocks_.Blocks(log, Threads(1))
    rows = blocks.map(cluster._sampled_rows, "cosine", item_means, per_person=(mask,))
    features = sparse.vstack(list(rows), format="csr")
    expected = cluster.scaled(log.subset(sample), "cosine", item_means)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(features, name), getattr(expected, name))


def test_scratch_is_the_maximum_size_of_the_folder() -> None:
    rows = pl.DataFrame({"person": np.repeat(np.arange(500), 10), "action": np.tile(np.arange(10), 500), "rating": 1})
    with lpb.spill_ratings(rows) as log:
        assert log.scratch == 24 * 5000  # of buckets; they are gone when blocks, of half the size, are written


NARROW, WIDE = log_of(50, 6, states=2), lpb.Ratings.from_matrix(np.tile(np.arange(9000.0), (2, 1)))


@pytest.mark.parametrize(
    ("log", "estimator", "options", "message"),
    [
        (NARROW, lpb.TwoStage(), {"max_memory": "100MB"}, "max_memory is 100MB.* at least 410MB"),
        (NARROW, lpb.Em(), {"max_memory": "200MB"}, "max_memory is 200MB"),
        (NARROW, lpb.TwoStage(), {"max_memory": "700MB", "jobs": 2}, "2 workers.* at least 810MB"),
        (WIDE, lpb.TwoStage(), {"max_memory": "450MB", "taste": False}, "9,000 actions.*162MB.* 570MB.*min_action"),
    ],
)
def test_a_limit_that_is_too_low_for_a_fit_raises_with_the_minimum(
    log: lpb.Ratings, estimator: Any, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "jobs" in options:
        monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 60)
    with pytest.raises(InvalidInput, match=message):
        lpb.fit_states(log, estimator, states=1, **options)


def test_the_minimum_is_enough_for_a_fit() -> None:
    assert lpb.fit_states(NARROW, lpb.TwoStage(), states=2, max_memory="410MB").report.states == 2


def test_a_log_whose_fit_exceeds_the_limit_in_memory_is_read_onto_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BYTES_PER_RATING", 10**6)
    rows = pl.DataFrame(
        list(itertools.product(range(60), range(4), [1])), schema=["person", "action", "rating"], orient="row"
    )
    with pytest.raises(InvalidInput, match="max_memory is 620MB"):
        lpb.fit_states(lpb.read_ratings(rows), lpb.TwoStage(), states=1, max_memory="620MB")
    for limit, kind in (("620MB", ChunkedRatings), ("660MB", lpb.Ratings)):
        with lpb.open_ratings(rows, max_memory=limit) as log:
            assert isinstance(log, kind)
            assert (
                lpb.fit_states(log, lpb.TwoStage(), states=1, taste=False, heldout=0, max_memory=limit).report.people
                == 60
            )
    with lpb.open_ratings(rows, max_memory="620MB", files=False) as log:
        assert isinstance(log, lpb.Ratings)


def test_a_limit_that_is_too_low_for_reading_raises_with_the_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    for open_, limit in ((lpb.spill_ratings, "500MB"), (lpb.open_ratings, "300MB")):
        with pytest.raises(InvalidInput, match=rf"max_memory.*570MB.*{limit}"):
            open_(ROWS, max_memory=limit).__enter__()
    monkeypatch.setattr(reader, "MIN_BUCKET", 10**7)
    with pytest.raises(InvalidInput, match=r"max_memory is 1GB.*1\.6GB"):
        lpb.spill_ratings(ROWS, max_memory="1GB").__enter__()


@pytest.mark.parametrize("size", ["8", "8 XB", "0GB", "-1GB", "1e3MB", "GB", "", "nan GB"])
def test_a_size_needs_a_unit(size: str) -> None:
    with pytest.raises(InvalidInput, match="max_memory"):
        lpb.spill_ratings(ROWS, max_memory=size).__enter__()
    with pytest.raises(InvalidInput, match=rf"--max-memory.*'{size}'"):
        CliRunner().invoke(app, ["fit", "log.csv", "--max-memory", size], catch_exceptions=False)


def test_a_full_disk_raises_before_and_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
        with pytest.raises(InvalidInput, match=rf"{tmp_path} has 100B free.*144B.*--scratch"):
            lpb.spill_ratings(ROWS, scratch=tmp_path).__enter__()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("numpy.lib.format.write_array_header_1_0", full)
    monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 2)
    with pytest.raises(InvalidInput, match=rf"no space left.*144B.*{tmp_path}"):
        lpb.spill_ratings(ROWS, scratch=tmp_path).__enter__()
    with pytest.raises(InvalidInput, match="--scratch"):
        lpb.fit_states(lpb.read_ratings(ROWS), lpb.TwoStage(), states=1, jobs=2, scratch=tmp_path)
    assert not list(tmp_path.iterdir())


def test_scratch_may_be_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts").mkdir()
    monkeypatch.chdir(tmp_path)
    with lpb.spill_ratings(ROWS, scratch="parts") as log:
        assert log.folder.parent == tmp_path / "parts"
        monkeypatch.chdir("/")
        assert len(log.block(0)) == 6
    assert not list((tmp_path / "parts").iterdir())


def test_chunked_ratings_need_their_files() -> None:
    with lpb.spill_ratings(ROWS) as log:
        files = blocks_.Blocks(log, Threads(1))
        assert sum(files.map(lambda block, _: len(block))) == 6
        for number in (1, -1, "a"):
            with pytest.raises(InvalidInput, match="block"):
                log.block(number)  # type: ignore[arg-type] # on purpose
        place = log.folder / "block-000000"
        for content in (b"", place.read_bytes()[:-8], b"x" * 300):
            place.write_bytes(content)
            with pytest.raises(InvalidInput, match=r"block 0.*truncated"):
                log.block(0)
    for use in (
        lambda: log.block(0),
        lambda: log.sha256,
        lambda: lpb.fit_states(log, lpb.TwoStage(), states=1),
        lambda: list(files.map(lambda *_: 0)),
        lambda: list(files.fold_runs(lambda *_: 0)),
    ):
        with pytest.raises(InvalidInput, match="were deleted"):
            use()


def test_all_workers_are_probed_for_the_files(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 2)
    workers = lpb.Workers(1, "dask", address)
    with executor_for(workers) as executor:
        processes = executor.run_everywhere(os.getpid)
    assert len(processes) == 2
    for blind in processes:
        monkeypatch.setattr(chunked, "_sees", lambda *_, blind=blind: (f"w{blind}", os.getpid() != blind))
        with pytest.raises(InvalidInput, match=rf"w{blind} does not see.*--scratch"):
            lpb.fit_states(lpb.read_ratings(ROWS), lpb.TwoStage(), states=1, jobs=workers)


def test_fit_reports_where_the_log_was_and_its_memory(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "log.parquet")
    command = ["fit", str(tmp_path / "log.parquet"), "--states", "1"]
    scratch = ["--scratch", str(tmp_path)]
    here, there = (json.loads(CliRunner().invoke(app, [*command, *more, "--json"]).stdout) for more in ([], scratch))
    assert (here["space"]["log"], here["space"]["parts"], here["space"]["scratch_bytes"]) == ("memory", 1, 0)
    assert (there["space"]["log"], there["space"]["parts"]) == ("files", 1)
    assert there["space"]["scratch_bytes"] >= 144  # of six ratings, 24 bytes each
    assert there["space"]["peak_bytes"] > 10**8
    assert "processed on disk: 1 block" in CliRunner().invoke(app, [*command, *scratch]).stdout
    assert "processed in memory; peak memory" in CliRunner().invoke(app, command).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_on_a_small_machine_only_an_explicit_limit_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ROWS.write_csv(tmp_path / "log.csv")
    monkeypatch.setattr(reader, "memory_limit", lambda: 300 * 10**6)
    for source in (ROWS, tmp_path / "log.csv"):
        with lpb.open_ratings(source) as log:
            assert isinstance(log, lpb.Ratings)  # spilling it would take as much
    monkeypatch.setattr(reader, "BYTES_PER_READ_RATING", 10**9)
    with lpb.open_ratings(tmp_path / "log.csv") as log:
        assert isinstance(log, ChunkedRatings)


@pytest.mark.parametrize("labels", [[0, 10**8], [-(2**63), 0, 2**63 - 1], [3, 5, 1_000_016], list(range(0, 90, 7))])
def test_lookup_tables_of_labels_are_bounded(labels: list[int]) -> None:
    codes = Codes(pl.Series("person", labels))
    assert codes._table.nbytes <= 4 * (16 * len(labels) + 10**6)
    index = codes.of(pl.Series("person", [*labels[::-1], *labels]))
    assert index.dtype == np.int32
    assert index.tolist() == [*reversed(range(len(labels))), *range(len(labels))]


def test_the_size_of_folders_and_lazy_frames_decides_where_they_are_read(tmp_path: Path) -> None:
    for name in ("ratings.csv", "ratings.parquet"):
        folder = tmp_path / name.partition(".")[2]
        folder.mkdir()
        ROWS.write_csv(folder / name) if name.endswith("csv") else ROWS.write_parquet(folder / name)
        for place in (folder, folder / name):
            with open_table(place, ReadOptions()) as table:
                assert table.estimated_rows
    for most, kind in ((None, lpb.Ratings), ("2GB", ChunkedRatings)):
        with lpb.open_ratings(ROWS.lazy(), max_memory=most) as log:
            assert isinstance(log, kind)


def frozen(sums: Any) -> Any:
    """Make all arrays of a list, or of sums, read-only."""
    for item in sums:
        for array in [item] if isinstance(item, np.ndarray) else item:
            array.setflags(write=False)
    return sums


class ReadOnlyBlocks(blocks_.Blocks):
    """Blocks with read-only sums, as those from another process may be."""

    def fold(self, stage: Any, *common: Any, per_person: Any = ()) -> Any:
        return frozen(super().fold(stage, *common, per_person=per_person))

    def fold_runs(self, stage: Any, *common: Any, per_person: Any = ()) -> Any:
        yield from map(frozen, super().fold_runs(stage, *common, per_person=per_person))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pairs_per_person", [None, 7])
def test_sums_from_workers_may_be_read_only(pairs_per_person: int | None) -> None:
    log, labels, heldout = log_of(120, 9, share=0.8, states=3), np.arange(120) % 3, np.arange(120) % 5 == 0
    with Threads(1) as pool:
        blocks, read_only = blocks_.Blocks(log, pool), ReadOnlyBlocks(log, pool)
        for holdout in (None, heldout):
            options: Any = {"holdout": holdout, "pairs_per_person": pairs_per_person}
            expected = counting.count_states(blocks, labels, 3, **options)
            assert_equal_counts(counting.count_states(read_only, labels, 3, **options), expected)
        np.testing.assert_array_equal(moments(read_only).products, moments(blocks).products)


def test_iadd_is_in_place_if_writable() -> None:
    total = np.ones(2)
    assert iadd(total, total) is total
    total.setflags(write=False)
    assert iadd(total, total).tolist() == [4.0, 4.0]
    assert total.tolist() == [2.0, 2.0]


def test_the_budget_covers_held_out_people() -> None:
    log = log_of(60, 9, share=0.8, states=3)
    taken = 10**6
    budget = MemoryBudget(taken + 30 * len(log), taken, local_workers=2, workers=2)
    with Threads(1) as pool:
        parts = split_holdout(blocks_.Blocks(log, pool, budget), 0.2, seed=0)
        assert parts is not None
        for part in (parts.training, parts.heldout):
            assert (part.budget.left, part.budget.copies, part.budget.set_by_user) == (0, 1, True)
        less = blocks_.Blocks(log, pool, MemoryBudget(budget.limit_bytes - 1, taken))
        with pytest.raises(InvalidInput, match=r"max_memory.*heldout=0"):
            split_holdout(less, 0.2, seed=0)
