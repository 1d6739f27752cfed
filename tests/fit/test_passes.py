"""Count the passes of a fit over its log and its k×k counts, the matrices it holds and those that workers send."""

import collections
import pickle
import tracemalloc
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits.data.blocks import Blocks
from lpbandits.data.spill import write_chunks
from lpbandits.fit.bradley_terry import maximise
from lpbandits.fit.comparisons import compare, count_state
from lpbandits.fit.methods.two_stage import count_states
from lpbandits.fit.taste.moments import moments, moments_of
from lpbandits.fit.taste.popularity import StandardizedRatings, as_standardized, informative
from lpbandits.parallel import Threads
from tests.guards.kernels import allocating, looked_on
from tests.logs import log_of

AROUND = 2
"""Passes of a state besides those of its fit: counting and adding the transpose."""


def squares(args: Any) -> list[Any]:
    """Return the square matrices that are large enough to be counts."""
    shapes = [(one, one.shape) for one in args if isinstance(one, np.ndarray) and one.ndim == 2]
    return [one for one, (rows, columns) in shapes if rows == columns > 20]


@pytest.mark.parametrize(
    ("heldout", "quick", "at_once"), [(0.0, False, 1), (0.2, False, 1), (0.2, True, 2)], ids=["all", "anew", "less"]
)
def test_a_fit_makes_few_passes_over_counts_and_holds_few_matrices(
    heldout: float, quick: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpbandits.fit.methods.two_stage.CELLS", 1)  # one matrix per pass
    if quick:  # counts of held-out people are subtracted from those of all
        monkeypatch.setattr("lpbandits.fit.pipeline.SLOW_KMEANS_RATINGS", 0)
    passes, most = 0, 0
    held: dict[int, Any] = {}

    def note(name: str, call: Any, args: Any) -> Any:  # noqa: ARG001
        nonlocal passes, most
        for counts in squares(args):
            passes += 1
            held[id(counts)] = weakref.ref(counts)
        most = max(most, sum(ref() is not None for ref in held.values()))
        return call()

    log = log_of(120, 60, share=0.5, states=3)
    with looked_on(allocating(), note):
        fit = lpb.fit_states(log, lpb.TwoStage(), states=3, heldout=heldout, taste=False, threads=1)
    reported = fit.report.passes
    assert len(reported) == 3
    assert max(reported) <= 30
    assert most == at_once
    if heldout == 0.0:
        assert passes == sum(reported) + AROUND * 3
    else:  # a second fit of each state, without held-out people
        assert sum(reported) + AROUND * 3 < passes <= 3 * 2 * (30 + AROUND)


def test_counting_and_fitting_need_one_matrix() -> None:
    k = 1200
    comparisons = compare(log_of(40, k, share=0.5))
    weight = np.ones(40)
    threads = Threads(1)
    maximise(count_state(comparisons, weight), prior_sd=1.0, threads=threads)  # compiles
    ratings = len(comparisons.histories.action)
    tracemalloc.start()
    counts = count_state(comparisons, weight, threads=threads)
    maximise(counts, prior_sd=1.0, threads=threads)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts.double_counts.itemsize == 2
    assert counts.double_counts.nbytes == 2 * k * k
    assert peak < 1.05 * counts.double_counts.nbytes + 20 * ratings + 400 * k


class Wire:
    """An executor of two workers that records the sizes of serialised results."""

    in_process, n_workers, threads = False, 2, 1

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def map(self, function: Any, jobs: Iterable[Any], **_: Any) -> Iterator[Any]:
        for job in jobs:
            answer = pickle.dumps(function(*job))
            self.sizes.append(len(answer))
            yield pickle.loads(answer)  # noqa: S301 - serialised above

    def as_completed(self, function: Any, jobs: Iterable[Any], **_: Any) -> Iterator[Any]:
        yield from enumerate(self.map(function, jobs))

    def matrices(self, size: int) -> int:
        """Return the number of results of at least this size."""
        return sum(one >= size for one in self.sizes)


@pytest.fixture
def wired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[lpb.Ratings, Any, Blocks]:
    """Return a log, and its twenty blocks behind a wire."""
    log, wire = log_of(400, 80, share=0.5, states=2), cast(Any, Wire())
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", len(log) // 20)
    blocks = Blocks(write_chunks(log, tmp_path), Threads(1), executor=wire)
    assert len(blocks.edges) - 1 in (19, 20)
    return log, wire, blocks


def test_covariances_are_sent_once_per_run_of_blocks(wired: tuple[lpb.Ratings, Any, Blocks]) -> None:
    log, wire, blocks = wired
    parallel = moments(blocks, people=informative(log))
    matrix = 12 * 80 * 81 // 2  # bytes: a product and a number of people per pair
    assert wire.matrices(matrix) == 10
    assert sum(one for one in wire.sizes if one >= matrix) < 10.5 * matrix
    serial = moments(Blocks(log, Threads(2)), people=informative(log))
    for name, value in vars(serial).items():
        np.testing.assert_array_equal(getattr(parallel, name), value, err_msg=name)


@pytest.mark.parametrize("cap", [None, 40])
def test_counts_are_sent_once_per_share_of_the_blocks(cap: int | None, wired: tuple[lpb.Ratings, Any, Blocks]) -> None:
    log, wire, blocks = wired
    labels = np.arange(len(log.people)) % 2
    counts = list(count_states(blocks, labels, 2, pairs_per_person=cap))
    matrix = 80 * 80 * counts[0][0].double_counts.itemsize
    assert wire.matrices(2 * matrix) == (8 if cap is None else 10)  # both states together; four results per worker
    assert wire.matrices(matrix) == wire.matrices(2 * matrix)


class Counted(Blocks):
    """Blocks that count their passes by stage."""

    def __init__(self, log: lpb.Ratings) -> None:
        super().__init__(log, Threads(1))
        self.passes: collections.Counter[str] = collections.Counter()

    def map(self, stage: Any, *common: Any, per_person: Any = ()) -> Iterator[Any]:
        self.passes[stage.__name__] += 1
        return super().map(stage, *common, per_person=per_person)

    def fold_runs(self, stage: Any, *common: Any, per_person: Any = ()) -> Iterator[Any]:
        self.passes[stage.__name__] += 1
        return super().fold_runs(stage, *common, per_person=per_person)


def test_groups_of_people_share_the_passes_over_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.data.blocks.RATINGS_PER_BLOCK", 500)
    log = log_of(200, 30, share=0.5, states=2)
    blocks = Counted(log)
    ratings = StandardizedRatings(blocks, popular=True)
    people = informative(log)
    groups = [people[::2], people[:50]]
    together = moments_of(ratings, groups)
    popular = ratings.popular_ordering()
    assert blocks.passes == {"_scales": 1, "_rating_sums": 1, "_level_sums": 19, "_add_block": 1}
    for group, shared in zip(groups, together, strict=True):
        alone = moments(log, people=group)
        for name, value in vars(alone).items():
            np.testing.assert_array_equal(getattr(shared, name), value, err_msg=name)
    np.testing.assert_array_equal(popular, as_standardized(log).popular_ordering())


def test_sweeps_of_a_group_do_not_depend_on_other_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.fit.taste.popularity.MAX_EXACT_RATINGS", 100)
    log = log_of(300, 20, share=0.4, states=3)
    many, few = np.arange(300) >= 0, np.arange(300) < 20
    used = StandardizedRatings(Blocks(log, Threads(1))).scales.informative
    blocks = [Counted(log), Counted(log), Counted(log)]
    both = StandardizedRatings(blocks[0]).item_means(many & used, few & used)
    for one, group, alone in zip(both, (many, few), blocks[1:], strict=True):
        np.testing.assert_array_equal(one.means, StandardizedRatings(alone).item_means(group & used)[0].means)
    sweeps = [one.passes["_level_sums"] for one in blocks]
    assert min(sweeps) < max(sweeps) == sweeps[0]
