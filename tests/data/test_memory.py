"""Memory and disk use of a fit: below the limit, with equal results and without leftover files."""

import errno
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
from typer.testing import CliRunner

import lpbandits as lpb
from lpbandits import parallel
from lpbandits.cli import app
from lpbandits.data import blocks as blocks_
from lpbandits.data import chunked, reader
from lpbandits.data.blocks import iadd
from lpbandits.data.chunked import ChunkedRatings, DiskBlocks
from lpbandits.data.memory import MemoryBudget
from lpbandits.data.sources import Source, open_source
from lpbandits.data.spill import Codes, Scratch, write_chunks
from lpbandits.errors import InvalidInput
from lpbandits.fit import clusters as cluster
from lpbandits.fit import two_stage as counting
from lpbandits.fit.selection import split_holdout
from lpbandits.fit.taste.moments import _Sums, moments
from lpbandits.parallel import Executor, Threads, executor_for
from tests.logs import log_of

ROWS = pl.DataFrame({"person": [1, 1, 2, 2, 3, 3], "action": [10, 20, 10, 30, 20, 30], "rating": [5, 3, 4, 2, 1, 2]})

FITTED = """
import sys
from pathlib import Path
import numpy as np, polars as pl
import lpbandits as lpb
from lpbandits.fit import two_stage as counting

counting.CELLS = 2**40  # so that the limit alone decides
rng = np.random.default_rng(0)
who, k = np.repeat(np.arange(4000), 100), 4000
rows = {"person": who, "action": rng.integers(k, size=len(who)), "rating": rng.integers(1, 6, len(who))}
frame = pl.DataFrame(rows).unique(["person", "action"], maintain_order=True)
estimator = lpb.TwoStage(restarts=1, shrink=False)
with lpb.spill_ratings(frame, max_memory=sys.argv[1]) as log:
    lpb.fit_states(log, estimator, states=20, taste=False, heldout=0, max_memory=sys.argv[1], threads=1)
status = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_a_fit_stays_below_its_limit() -> None:
    """Counts of all twenty states at once would take 640 MB, and the process about 1,000 MB."""
    done = subprocess.run([sys.executable, "-c", FITTED, "800MB"], capture_output=True, text=True, check=True)
    assert 300e6 < int(done.stdout) < 800e6


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 60)


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_, "RATINGS_PER_BLOCK", 2)


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Executor]:
    with executor_for(2) as executor:
        yield executor


def assert_equal_counts(states: Iterable[Any], expected: Iterable[Any]) -> None:
    for (counts, _), (expected_counts, _) in zip(states, expected, strict=True):
        np.testing.assert_array_equal(counts.halves, expected_counts.halves)
        np.testing.assert_array_equal(counts.wins, expected_counts.wins)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_limit_does_not_change_a_fit(jobs: int) -> None:
    log = log_of(200, 12, share=0.6, states=3)
    expected = lpb.fit_states(log, lpb.TwoStage(), states=3).model.sha256
    for limit in ("3GB", 10**12):
        fit = lpb.fit_states(log, lpb.TwoStage(), states=3, jobs=jobs, max_memory=limit)
        assert fit.model.sha256 == expected


class WatchedBlocks(DiskBlocks):
    """Blocks that record for each pass of counting whether it ran in this process."""

    calls: ClassVar[list[bool]] = []

    @property
    def local(self) -> DiskBlocks:
        return WatchedBlocks(self.log, executor_for(), self.pool, MemoryBudget(self.budget.most))

    def _jobs(self, runs: Any, stage: Any, *rest: Any, **options: Any) -> Any:
        if "_count_block" in stage.__name__:
            self.calls.append(self._executor.in_process)
        return super()._jobs(runs, stage, *rest, **options)


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
        expected = list(counting.count_states(blocks_.MemoryBlocks(log, pool), labels, 3, **options))
        chunks = write_chunks(log, tmp_path)
        for states, passes in ((3, 1), (2.9, 2), (1, 3)):
            WatchedBlocks.calls.clear()
            limit = round(states * size * (1 if in_process else copies))
            blocks = WatchedBlocks(chunks, two_workers, pool, MemoryBudget(limit, here=2, sending=2))
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
        labels = cluster.cluster_people(blocks_.MemoryBlocks(log, pool, budget), 3).labels
    np.testing.assert_array_equal(labels, expected)
    assert concurrent == [workers]


@pytest.mark.usefixtures("small_blocks")
def test_kmeans_features_are_those_of_the_sample() -> None:
    log, sample, item_means = log_of(60, 9, share=0.8, states=3), np.arange(1, 60, 7), np.linspace(-1, 1, 9)
    with Threads(1) as pool:
        features = cluster._features(blocks_.MemoryBlocks(log, pool), sample, "cosine", item_means)
    expected = cluster.scaled(log.subset(sample), "cosine", item_means)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(features, name), getattr(expected, name))


def test_scratch_is_the_maximum_size_of_the_folder() -> None:
    rows = pl.DataFrame({"person": np.repeat(np.arange(500), 10), "action": np.tile(np.arange(10), 500), "rating": 1})
    with lpb.spill_ratings(rows) as log:
        assert log.scratch == 24 * 5000  # of buckets; they are gone when blocks, of half the size, are written


def test_a_disk_that_fills_within_an_array_raises(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, usual[1]))
    try:
        with pytest.raises(InvalidInput, match=r"no space left for the files of the log.*--scratch"):
            Scratch(tmp_path, needed=0).write("a", np.zeros(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_limit_that_is_too_low_raises_with_the_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(50, 6, states=2)
    with pytest.raises(InvalidInput, match=r"max_memory is 100MB.* at least 410MB"):
        lpb.fit_states(log, lpb.TwoStage(), states=2, max_memory="100MB")
    assert lpb.fit_states(log, lpb.TwoStage(), states=2, max_memory="410MB").report.states == 2
    with pytest.raises(InvalidInput, match=r"max_memory is 200MB"):
        lpb.fit_states(log, lpb.Em(), states=2, max_memory="200MB")
    with monkeypatch.context() as changed:
        changed.setattr(blocks_, "RATINGS_PER_BLOCK", 60)
        with pytest.raises(InvalidInput, match=r"2 workers.* at least 810MB"):
            lpb.fit_states(log, lpb.TwoStage(), states=2, max_memory="700MB", jobs=2)
    wide = lpb.Ratings.from_matrix(np.tile(np.arange(9000.0), (2, 1)))
    with pytest.raises(InvalidInput, match=r"counts of 9,000 actions.*162MB.* at least 570MB.*min_action"):
        lpb.fit_states(wide, lpb.TwoStage(), states=1, taste=False, max_memory="450MB")
    with pytest.raises(InvalidInput, match=r"max_memory.*570MB.*500MB"), lpb.spill_ratings(ROWS, max_memory="500MB"):
        pass
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
        assert lpb.fit_states(log, lpb.TwoStage(), states=1, jobs=2).report.people == 3
    assert not list((tmp_path / "parts").iterdir())


def test_chunked_ratings_need_their_files() -> None:
    with lpb.spill_ratings(ROWS) as log:
        for number in (1, -1, 99, "a"):
            with pytest.raises(InvalidInput, match="block"):
                log.block(number)  # type: ignore[arg-type] # on purpose
        place = log.folder / "block-000000"
        for content in (b"", place.read_bytes()[:-8], b"x" * 300):
            place.write_bytes(content)
            with pytest.raises(InvalidInput, match=r"block 0.*truncated"):
                log.block(0)
    for use in (lambda: log.block(0), lambda: log.sha256, lambda: lpb.fit_states(log, lpb.TwoStage(), states=1)):
        with pytest.raises(InvalidInput, match="were deleted"):
            use()


def test_an_unknown_option_raises_with_the_nearest() -> None:
    for open_ in (lpb.spill_ratings, lpb.open_ratings):
        with pytest.raises(InvalidInput, match=r"'min_persn'.*did you mean 'min_person'"):
            open_(ROWS, min_persn=3).__enter__()


@pytest.mark.usefixtures("tiny_blocks")
def test_a_worker_that_does_not_see_the_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked, "_sees", lambda folder, _: ("far", (folder / "none").exists()))
    with pytest.raises(InvalidInput, match=r"worker on far does not see.*--scratch"):
        lpb.fit_states(lpb.read_ratings(ROWS), lpb.TwoStage(), states=1, jobs=2)


@pytest.mark.usefixtures("tiny_blocks")
def test_all_workers_are_probed_for_the_files(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = lpb.Workers(1, "dask", address)
    with executor_for(workers) as executor:
        processes = executor.run_everywhere(os.getpid)
    assert len(processes) == 2
    for blind in processes:
        monkeypatch.setattr(chunked, "_sees", lambda *_, blind=blind: (f"w{blind}", os.getpid() != blind))
        with pytest.raises(InvalidInput, match=rf"worker on w{blind} does not see.*--scratch"):
            lpb.fit_states(lpb.read_ratings(ROWS), lpb.TwoStage(), states=1, jobs=workers)


def test_a_missing_block_raises_in_the_process_that_misses_it(tmp_path: Path) -> None:
    with lpb.spill_ratings(ROWS) as log:
        files = DiskBlocks(log, Executor(), Threads(1))
        assert sum(files.map(lambda block, _: len(block))) == 6
    for use in (files.map, files.fold_runs):
        with pytest.raises(InvalidInput, match="were deleted"):
            list(use(lambda *_: 0))
    with pytest.raises(InvalidInput, match=rf"does not see {tmp_path}.*--scratch"):
        chunked._run(len, tmp_path, [(0, ())], 1, 1, (), fold=True)


def test_fit_reports_where_the_log_was_and_its_memory(tmp_path: Path) -> None:
    ROWS.write_parquet(tmp_path / "log.parquet")
    command = ["fit", str(tmp_path / "log.parquet"), "--states", "1"]
    scratch = ["--scratch", str(tmp_path)]
    here, there = (json.loads(CliRunner().invoke(app, [*command, *more, "--json"]).stdout) for more in ([], scratch))
    assert (here["space"]["log"], here["space"]["parts"], here["space"]["scratch_bytes"]) == ("memory", 1, 0)
    assert (there["space"]["log"], there["space"]["parts"]) == ("files", 1)
    assert there["space"]["scratch_bytes"] >= 144  # of six ratings, 24 bytes each
    assert there["space"]["peak_bytes"] > 10**8
    assert "processed on disk: 1 part" in CliRunner().invoke(app, [*command, *scratch]).stdout
    assert "processed in memory; peak memory" in CliRunner().invoke(app, command).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_on_a_small_machine_only_an_explicit_limit_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ROWS.write_csv(tmp_path / "log.csv")
    monkeypatch.setattr(reader, "memory_limit", lambda: 300 * 10**6)
    for source in (ROWS, tmp_path / "log.csv"):
        with lpb.open_ratings(source) as log:
            assert isinstance(log, lpb.Ratings)  # spilling it would take as much
    monkeypatch.setattr(Source, "estimated_rows", 10**8)
    with lpb.open_ratings(ROWS) as log:
        assert isinstance(log, ChunkedRatings)
    with pytest.raises(InvalidInput, match=r"max_memory.*570MB.*300MB"):
        lpb.open_ratings(ROWS, max_memory="300MB").__enter__()


@pytest.mark.parametrize("labels", [[0, 10**8], [-(2**63), 0, 2**63 - 1], [3, 5, 1_000_016], list(range(0, 90, 7))])
def test_lookup_tables_of_labels_are_bounded(labels: list[int]) -> None:
    codes = Codes(pl.Series("person", labels))
    assert codes._table.nbytes <= 4 * (16 * len(labels) + 10**6)
    people = [*labels[::-1], 4, labels[-1] - 1, labels[0] + 1, 2**63 - 1, -(2**63)]
    index = codes.of(pl.Series("person", people))
    assert index.dtype == np.int64
    assert index.tolist() == [labels.index(label) if label in labels else -1 for label in people]


def test_the_size_of_folders_and_lazy_frames_decides_where_they_are_read(tmp_path: Path) -> None:
    for name in ("ratings.csv", "ratings.parquet"):
        folder = tmp_path / name.partition(".")[2]
        folder.mkdir()
        ROWS.write_csv(folder / name) if name.endswith("csv") else ROWS.write_parquet(folder / name)
        for place in (folder, folder / name):
            with open_source(place) as source:
                assert source.estimated_rows > 0
    for most, kind in ((None, lpb.Ratings), ("2GB", ChunkedRatings)):
        with lpb.open_ratings(ROWS.lazy(), max_memory=most) as log:
            assert isinstance(log, kind)


FEW_OPEN_FILES = """
import resource
import numpy as np, polars as pl
import lpbandits as lpb
from lpbandits.data import reader

reader.MIN_BUCKET = reader.MAX_BUCKET = 100
who = np.repeat(np.arange(2000), 10)
rows = pl.DataFrame({"person": who, "action": np.tile(np.arange(10), 2000), "rating": who % 5})
with lpb.spill_ratings(rows) as log:
    expected = log.sha256
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
with lpb.spill_ratings(rows) as log:
    assert log.sha256 == expected
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of open files are those of POSIX")
def test_buckets_respect_the_limit_of_open_files() -> None:
    done = subprocess.run([sys.executable, "-c", FEW_OPEN_FILES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def frozen(sums: Any) -> Any:
    """Make all arrays of a list, or of sums, read-only."""
    for item in sums:
        arrays = [item] if isinstance(item, np.ndarray) else [item.products, item.raters, item.squares, *item.offsets]
        for array in arrays:
            array.setflags(write=False)
    return sums


class ReadOnlyBlocks(blocks_.MemoryBlocks):
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
        blocks, read_only = blocks_.MemoryBlocks(log, pool), ReadOnlyBlocks(log, pool)
        for holdout in (None, heldout):
            options: Any = {"holdout": holdout, "pairs_per_person": pairs_per_person}
            expected = counting.count_states(blocks, labels, 3, **options)
            assert_equal_counts(counting.count_states(read_only, labels, 3, **options), expected)
        np.testing.assert_array_equal(moments(read_only).products, moments(blocks).products)


@pytest.mark.usefixtures("small_blocks")
def test_read_only_totals_are_added(tmp_path: Path, two_workers: Executor) -> None:
    def count(block: Any, _: Any, totals: Any) -> Any:
        return frozen([np.array([len(block) + (0 if totals is None else totals[0][0])])])

    log = log_of(200, 9, share=0.8, states=3)
    with Threads(1) as pool:
        (total,) = DiskBlocks(write_chunks(log, tmp_path), two_workers, pool).fold(count)
    assert total.tolist() == [len(log)]


def test_iadd_is_in_place_if_writable() -> None:
    total = np.ones(2)
    assert iadd(total, total) is total
    total.setflags(write=False)
    assert iadd(total, total).tolist() == [4.0, 4.0]
    assert total.tolist() == [2.0, 2.0]


def test_offsets_are_not_copied_per_block() -> None:
    def sums(value: float) -> _Sums:
        return _Sums(np.zeros(1), np.zeros(1, dtype=np.uint32), np.zeros(1), [np.full(1, value)])

    first = sums(1.0)
    offsets, total = first.offsets[0], first.add(sums(2.0)).add(sums(3.0))
    assert total.offsets[0] is offsets
    assert np.concatenate(total.offsets).tolist() == [1.0, 2.0, 3.0]


def test_the_budget_covers_held_out_people() -> None:
    log = log_of(60, 9, share=0.8, states=3)
    taken = 10**6
    budget = MemoryBudget(taken + 30 * len(log), taken, here=2, sending=2)
    with Threads(1) as pool:
        parts = split_holdout(blocks_.MemoryBlocks(log, pool, budget), 0.2, seed=0, pairs_per_person=None)
        assert parts is not None
        for part in (parts.training, parts.heldout):
            assert (part.budget.left, part.budget.copies, part.budget.asked) == (0, 1, True)
        less = blocks_.MemoryBlocks(log, pool, MemoryBudget(budget.most - 1, taken))
        with pytest.raises(InvalidInput, match=r"max_memory.*--states 5"):
            split_holdout(less, 0.2, seed=0, pairs_per_person=None)
