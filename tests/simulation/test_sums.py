"""What is kept of many people's rounds: exact sums, and quantiles within their stated error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lpbandits as lpb
from lpbandits import limits
from lpbandits.simulation import rollout, run, simulate, size, sums
from lpbandits.simulation.sums import ERROR, QUANTILES, Distribution, Moments, to_bins
from lpbandits.typing import FloatArray

WORLD = lpb.SyntheticWorld(states=3, actions=5, scale="different")
VALUES = hnp.arrays(np.float64, st.tuples(st.integers(2, 40), st.integers(1, 4)), elements=st.floats(0, 1e6))


@pytest.mark.jitless
@given(VALUES, st.data())
def test_moments_of_parts_are_those_of_the_whole(values: FloatArray, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(values) - 1))
    joined = Moments.of(values[:cut]).merge(Moments.of(values[cut:]))
    np.testing.assert_allclose(joined.mean, values.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(joined.sd, values.std(axis=0, ddof=1), rtol=1e-9, atol=1e-6)


@pytest.mark.jitless
@given(VALUES, st.data())
def test_binned_quantiles_are_within_their_error(values: FloatArray, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(values)))
    spread = Distribution()
    for part in (values[:cut], values[cut:]):
        spread.add(to_bins(part))
    exact = np.quantile(values, QUANTILES, axis=0)
    np.testing.assert_allclose(spread.quantiles(), exact, rtol=1.0001 * ERROR, atol=1.01 * sums.SMALLEST)


def test_bins_reach_far_enough() -> None:
    spread = Distribution()
    spread.add(to_bins(np.array([[0.0], [1e-9], [1e11], [5e11], [6e11]])))
    np.testing.assert_allclose(spread.quantiles()[:, 0], [0.0, 1e11, 5.8e11], rtol=ERROR)


def test_a_large_run_gives_the_same_sums_and_nearly_the_same_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = simulate(WORLD, ["lpbts", "uniform"], people=300, rounds=40, draws=2)
    monkeypatch.setattr(sums, "EXACT", 100)
    rough = simulate(WORLD, ["lpbts", "uniform"], people=300, rounds=40, draws=2)
    assert exact.people().equals(rough.people(), null_equal=True)
    for name in ("lpbts", "uniform"):
        for part in ("mean", "sd", "se"):
            np.testing.assert_array_equal(getattr(exact[name].regret, part), getattr(rough[name].regret, part))
        for part in ("p05", "p50", "p95"):
            ours, theirs = getattr(rough[name].regret, part), getattr(exact[name].regret, part)
            np.testing.assert_allclose(ours, theirs, rtol=1.0001 * ERROR, atol=1e-9)


def test_traces_are_kept_only_when_asked_for() -> None:
    kept = simulate(WORLD, ["lpbts"], people=200, rounds=6, draws=2, traces=True)["lpbts"].trace
    assert kept is not None
    assert simulate(WORLD, ["lpbts"], people=2, rounds=6)["lpbts"].trace is None
    for draw in range(2):
        people = WORLD.draw(people=200, seed=0, draw=draw)
        whole = rollout(lpb.LpbTS(people.model), people, rounds=6, seed=0, first_person=600 * draw)
        np.testing.assert_array_equal(kept.plays[600 * draw : 600 * (draw + 1)], whole.plays)
        np.testing.assert_array_equal(kept.mass[600 * draw : 600 * (draw + 1)], whole.mass)


def test_pieces_stay_small_for_long_runs() -> None:
    population = WORLD.draw(people=100, seed=0)
    builders = run.builders_of(["ts"])
    assert len(run.tasks_of(builders, [population], rounds=10)) == 1
    pieces = run.tasks_of(builders, [population], rounds=20_000)
    assert max(len(piece.people) for piece in pieces) * 20_000 <= size.TASK_DECISIONS
    assert sum(len(piece.people) for piece in pieces) == 300
    assert [piece.first_person for piece in pieces] == list(np.cumsum([0] + [len(p.people) for p in pieces[:-1]]))


def test_a_run_is_refused_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: 40 * 10**6)
    simulate(WORLD, ["ts"], people=2000, rounds=50, threads=1)
    with pytest.raises(lpb.InvalidInput, match=r"60,000 people × 50 rounds with 1 policy would take 0.0\d+ GiB"):
        simulate(WORLD, ["ts"], people=20_000, rounds=50, threads=1)
    with pytest.raises(lpb.InvalidInput, match="or leave the traces out"):
        simulate(WORLD, ["ts"], people=2000, rounds=50, traces=True, threads=1)
