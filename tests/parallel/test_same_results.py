"""Commands give the same results, to the last bit, on threads, processes and a cluster."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.decisions.files import decide_file
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.reproduce import reproduce, run_case
from lpbandits.paper.spec import Size
from lpbandits.policies import POLICIES
from lpbandits.policies.choose import choose_policy
from tests.conftest import REWARDS, model_for, without_report
from tests.logs import log_of

pytestmark = pytest.mark.xdist_group("workers")
MODEL = model_for(REWARDS["gaussian"])
WORLDS: dict[str, Any] = {
    "rewards": lpb.MeansWorld(MODEL, rewards=REWARDS["gaussian"]),
    "duels": lpb.DuellingWorld(lpb.MeansWorld(MODEL, rewards=REWARDS["gaussian"])),
}
TINY = Size(people=2, rounds=12, draws=2, quick=True)
FIGURE = "vary-noise"


@pytest.fixture(params=["processes", "dask"])
def workers(request: pytest.FixtureRequest) -> lpb.Workers:
    if request.param == "processes":
        return lpb.Workers(2)
    return lpb.Workers(2, "dask", request.getfixturevalue("address"))


class Progress:
    """Record the calls of a progress callback: stage, number of steps done, total."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def __call__(self, *call: Any) -> None:
        self.calls.append(call)

    @property
    def done(self) -> list[int]:
        return [done for _, done, _ in self.calls]


@pytest.mark.parametrize("feedback", WORLDS)
def test_simulate(feedback: str, workers: lpb.Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.simulation.run.people_per_task", lambda rounds: rounds // 4)
    if feedback == "duels":  # quantiles of rewards are exact, of duels approximate
        monkeypatch.setattr("lpbandits.simulation.sums.EXACT", 10)
    names = [name for name, entry in POLICIES.items() if entry.feedback == feedback]
    settings: dict[str, Any] = {"people": 3, "rounds": 20, "draws": 2, "seed": 4, "traces": True}
    progress = Progress()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.errors.LockInWarning)
        expected = lpb.simulate(WORLDS[feedback], names, threads=1, **settings)
        results = [
            lpb.simulate(WORLDS[feedback], names, threads=2, **settings),
            lpb.simulate(WORLDS[feedback], names, jobs=workers, progress=progress, **settings),
        ]
    total = len(names) * 2 * 3
    assert [call[1:] for call in progress.calls] == [(done, total) for done in range(1, total + 1)]
    for result in results:
        assert result.settings == expected.settings
        assert result.people().equals(expected.people(), null_equal=True)
        assert result.curves().equals(expected.curves(), null_equal=True)
        for name in names:
            traces: Any = result[name].trace, expected[name].trace
            for one, other in zip(*traces, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def evaluated() -> tuple[lpb.Ratings, lpb.Evaluation]:
    log = log_of(300, 15, states=2, levels=5, seed=6)
    return log, lpb.evaluate(log, scale="cosine", seed=3, threads=2)


def test_evaluate(workers: lpb.Workers, evaluated: tuple[lpb.Ratings, lpb.Evaluation]) -> None:
    log, one = evaluated
    progress = Progress()
    two = lpb.evaluate(log, scale="cosine", seed=3, jobs=workers, threads=1, progress=progress)
    assert {**one.to_dict(), "seconds": 0} == {**two.to_dict(), "seconds": 0}
    assert one.table.equals(two.table)
    stages = ["choose taste", "choose states", "choose policy", "fit training people", "replay"]
    assert [stage for stage, done, total in progress.calls if done == total] == stages


def histories() -> lpb.Histories:
    rng = np.random.default_rng(2)
    person, action, reward = rng.integers(0, 100, 800), rng.integers(0, 6, 800), rng.normal(2, 1, 800)
    return lpb.Histories.from_arrays(person, action, reward, MODEL, people=range(100))


@pytest.mark.parametrize(("name", "size"), [("lpbts", 30), ("ts", 20)])  # ts gives probabilities person by person
def test_decide(name: str, size: int, workers: lpb.Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.decisions.engine.PIECE", 30)
    monkeypatch.setattr("lpbandits.decisions.engine.SLOW_PIECE", 20)
    allowed = {person: [person % 6, 5, 0] for person in range(0, 100, 3)}
    policy, past, progress = choose_policy(MODEL, name).policy, histories(), Progress()
    settings: dict[str, Any] = {"seed": 3, "exclude_seen": True, "allowed": allowed}
    one = lpb.decide(policy, past, threads=1, **settings)
    two = lpb.decide(policy, past, jobs=workers, progress=progress, **settings)
    assert one.table().equals(two.table(), null_equal=True)
    np.testing.assert_array_equal(one.probability, two.probability)
    assert progress.done == [*range(size, 100, size), 100]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_decide_file(suffix: str, workers: lpb.Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.decisions.engine.PIECE", 9)
    rng = np.random.default_rng(1)
    rows = [f"p{rng.integers(0, 60)},{rng.integers(0, 6)},{rng.normal(2, 1):.3f}" for _ in range(500)]
    history = tmp_path / "history.csv"
    history.write_text("person,action,reward\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.csv").write_text("person\n" + "\n".join(f"p{n}" for n in range(0, 80, 2)) + "\n")
    settings: dict[str, Any] = {"people": tmp_path / "people.csv", "rows": 60, "exclude_seen": True}
    policy, progress, paths = choose_policy(MODEL, "lpbts"), Progress(), [tmp_path / f"{n}.{suffix}" for n in (1, 2)]
    one = decide_file(policy, history, out=paths[0], threads=1, **settings)
    two = decide_file(policy, history, out=paths[1], jobs=workers, progress=progress, **settings)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert {**one.to_dict(), "seconds": 0, "out": 0} == {**two.to_dict(), "seconds": 0, "out": 0}
    assert progress.done == sorted(progress.done)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    with without_report():
        return reproduce([FIGURE], out=tmp_path_factory.mktemp("one"), size=TINY, threads=1).tables[FIGURE]


@pytest.mark.usefixtures("no_report")
def test_reproduce(workers: lpb.Workers, reproduced: pl.DataFrame, tmp_path: Path) -> None:
    progress = Progress()
    result = reproduce([FIGURE], out=tmp_path, size=TINY, jobs=workers, progress=progress)
    assert result.tables[FIGURE].equals(reproduced, null_equal=True)
    assert progress.done == list(range(len(FIGURES[FIGURE].cases(TINY)) + 1))


@pytest.mark.usefixtures("no_report")
def test_reproduce_starts_the_longest_cases_first(tmp_path: Path) -> None:
    progress = Progress()
    reproduce(["vary-states"], out=tmp_path, size=TINY, progress=progress)
    assert [stage for stage, _, _ in progress.calls[1:]] == [f"vary-states, states={states}" for states in (100, 20, 5)]


def test_a_worker_needs_the_same_data_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPB_DATA", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    case = FIGURES["movielens-1m"].cases(TINY)[0]
    with pytest.raises(lpb.InvalidInput, match="MovieLens 1m"):
        run_case("movielens-1m", case, 0, 1, "content")
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "movies.dat").write_text("1::Heat::Crime\n")
    (tmp_path / "ml-1m" / "ratings.dat").write_text("1::1::5::0\n")
    with pytest.raises(lpb.InvalidInput, match="MovieLens 1m"):
        run_case("movielens-1m", case, 0, 1, "content")
