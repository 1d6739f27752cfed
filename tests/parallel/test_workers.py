"""The same work by other hands: threads, processes and a cluster give the same, whatever dies or is interrupted."""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil  # type: ignore[import-untyped] # distributed brings it, without types
import pytest

import lpbandits as lpb
from lpbandits.decisions.choose_policy import choose_policy
from lpbandits.decisions.files import decide_file
from lpbandits.paper.figures import FIGURES
from lpbandits.paper.reproduce import reproduce, run_case
from lpbandits.paper.spec import Size
from lpbandits.parallel import cluster, executor_for, processes
from lpbandits.parallel.travel import opened, packed, unpacked
from lpbandits.policies import POLICIES
from tests.conftest import REWARDS, model_for, without_report
from tests.fuzz.commands import run
from tests.logs import log_of
from tests.policies.test_plugins import example, known_things, load

__all__ = ["known_things"]  # a fixture: what a test registers is forgotten after it
BACKENDS = ("processes", "dask")
MODEL = model_for(REWARDS["gaussian"])
WORLDS: dict[str, Any] = {
    "rewards": lpb.MeansWorld(MODEL, rewards=REWARDS["gaussian"]),
    "duels": lpb.DuellingWorld(lpb.MeansWorld(MODEL, rewards=REWARDS["gaussian"])),
}
TINY = Size(people=2, rounds=12, draws=2, quick=True)
SMALL = ("regret-curves", "vary-noise")


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    with without_report():
        return reproduce(list(SMALL), out=tmp_path_factory.mktemp("one"), size=TINY, threads=1).tables


@pytest.fixture(params=BACKENDS)
def workers(request: pytest.FixtureRequest) -> lpb.Workers:
    if request.param == "processes":
        return lpb.Workers(2)
    return lpb.Workers(2, "dask", request.getfixturevalue("address"))


def told_of(calls: list[tuple[str, int, int]]) -> None:
    """Assert that progress counted up to the end."""
    assert [done for _, done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1][1] == calls[-1][2]


# The same results


@pytest.mark.parametrize("feedback", ["rewards", "duels"])
def test_simulate_is_the_same_to_the_last_bit(
    feedback: str, workers: lpb.Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpbandits.simulation.run.people_per_task", lambda rounds: rounds // 4)
    names = [name for name, entry in POLICIES.items() if entry.feedback == feedback]
    settings: dict[str, Any] = {"people": 3, "rounds": 20, "draws": 2, "seed": 4, "traces": True}
    calls: list[tuple[str, int, int]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lpb.errors.LockInWarning)
        one = lpb.simulate(WORLDS[feedback], names, threads=1, **settings)
        others = [
            lpb.simulate(WORLDS[feedback], names, threads=2, **settings),
            lpb.simulate(WORLDS[feedback], names, jobs=workers, progress=lambda *call: calls.append(call), **settings),
        ]
    told_of(calls)
    assert len(calls) == len(names) * 2 * 3
    for other in others:
        assert other.settings == one.settings
        assert other.people().equals(one.people(), null_equal=True)
        assert other.curves().equals(one.curves(), null_equal=True)
        for name in names:
            for part in ("plays", "rewards", "regret", "mass", "active"):
                np.testing.assert_array_equal(getattr(other[name].trace, part), getattr(one[name].trace, part))


def test_rough_quantiles_are_the_same_too(workers: lpb.Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.simulation.sums.EXACT", 10)
    world = lpb.SyntheticWorld(states=2, actions=3)
    one, other = (lpb.simulate(world, ["ts"], people=400, rounds=9, jobs=jobs) for jobs in (None, workers))
    assert other.curves().equals(one.curves(), null_equal=True)


def test_evaluate_is_the_same_to_the_last_bit(workers: lpb.Workers) -> None:
    log = log_of(150, 15, states=2, levels=5, seed=6)
    said: list[tuple[str, int, int]] = []
    one = lpb.evaluate(log, scale="cosine", seed=3, threads=1)
    other = lpb.evaluate(log, scale="cosine", seed=3, jobs=workers, progress=lambda *news: said.append(news))
    assert {**one.to_dict(), "seconds": 0} == {**other.to_dict(), "seconds": 0}
    assert one.table.equals(other.table)
    assert [stage for stage, done, total in said if done == total] == [
        *("choose taste", "choose states", "choose policy", "fit all others", "replay")
    ]
    with pytest.raises(lpb.InvalidInput, match=r"jobs .*0"):
        lpb.evaluate(log, jobs=0)


def some_histories(people: int) -> lpb.Histories:
    rng = np.random.default_rng(2)
    who = rng.integers(0, people, 8 * people)
    return lpb.Histories.from_arrays(
        who, rng.integers(0, 6, len(who)), rng.normal(2, 1, len(who)), MODEL, people=range(people)
    )


@pytest.mark.parametrize("name", ["lpbts", "ts"])  # ts tells its chances person by person
def test_decide_is_the_same_to_the_last_bit(name: str, workers: lpb.Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.decisions.engine.PIECE", 30)
    monkeypatch.setattr("lpbandits.decisions.engine.SLOW_PIECE", 20)
    past = some_histories(100)
    allowed = {person: [person % 6, 5, 0] for person in range(0, 100, 3)}
    policy = choose_policy(MODEL, name).policy
    said: list[tuple[str, int, int]] = []
    settings: dict[str, Any] = {"seed": 3, "exclude_seen": True, "allowed": allowed}
    one = lpb.decide(policy, past, threads=1, **settings)
    other = lpb.decide(policy, past, jobs=workers, progress=lambda *news: said.append(news), **settings)
    assert one.table().equals(other.table(), null_equal=True)
    np.testing.assert_array_equal(one.probability, other.probability)
    size = {"lpbts": 30, "ts": 20}[name]
    assert [done for _, done, _ in said] == [*range(size, 100, size), 100]


def test_a_policy_that_plays_again_is_told_of_whoever_decides(workers: lpb.Workers) -> None:
    past = some_histories(50)
    with pytest.warns(lpb.errors.LockInWarning) as alone:
        lpb.decide(lpb.Taste(MODEL), past)
    with pytest.warns(lpb.errors.LockInWarning) as others:
        lpb.decide(lpb.Taste(MODEL), past, jobs=workers)
    assert [str(one.message) for one in others] == [str(one.message) for one in alone]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_of_decisions_is_the_same_to_the_last_byte(
    ending: str, workers: lpb.Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpbandits.decisions.engine.PIECE", 9)
    rng = np.random.default_rng(1)
    rows = [f"p{rng.integers(0, 60)},{rng.integers(0, 6)},{rng.normal(2, 1):.3f}" for _ in range(500)]
    history = tmp_path / "history.csv"
    history.write_text("person,action,reward\n" + "\n".join(rows) + "\n")
    (tmp_path / "people.csv").write_text("person\n" + "\n".join(f"p{n}" for n in range(0, 80, 2)) + "\n")
    chosen = choose_policy(MODEL, "lpbts")
    said: list[tuple[str, int, int]] = []
    settings: dict[str, Any] = {"people": tmp_path / "people.csv", "rows": 60, "exclude_seen": True}
    one = decide_file(chosen, history, out=tmp_path / f"one.{ending}", threads=1, **settings)
    other = decide_file(
        chosen,
        history,
        out=tmp_path / f"two.{ending}",
        jobs=workers,
        progress=lambda *news: said.append(news),
        **settings,
    )
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()
    assert {**one.to_dict(), "seconds": 0, "out": 0} == {**other.to_dict(), "seconds": 0, "out": 0}
    assert sorted(done for _, done, _ in said) == [done for _, done, _ in said]


@pytest.mark.usefixtures("no_report")
def test_reproduce_is_the_same_to_the_last_bit(
    workers: lpb.Workers, reproduced: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    said: list[tuple[str, int, int]] = []
    made = reproduce(list(SMALL), out=tmp_path, size=TINY, jobs=workers, progress=lambda *news: said.append(news))
    for name in SMALL:
        assert made.tables[name].equals(reproduced[name], null_equal=True)
    assert [done for _, done, _ in said] == list(range(said[0][2] + 1))
    assert said[0][2] == sum(len(FIGURES[name].cases(TINY)) for name in SMALL)


@pytest.mark.usefixtures("no_report")
def test_the_longest_cases_start_first(tmp_path: Path) -> None:
    said: list[str] = []
    reproduce(["vary-states"], out=tmp_path, size=TINY, progress=lambda what, *_: said.append(what))
    assert said[1:] == ["vary-states, states=100", "vary-states, states=20", "vary-states, states=5"]


def test_data_must_be_where_the_work_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LPB_DATA", str(tmp_path))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    case = FIGURES["movielens-1m"].cases(TINY)[0]
    with pytest.raises(lpb.InvalidInput, match=r"worker on .* MovieLens 1m.*lpb data"):
        run_case("movielens-1m", case, 0, 1, "content")
    (tmp_path / "ml-1m").mkdir()
    (tmp_path / "ml-1m" / "movies.dat").write_text("1::Heat::Crime\n")
    (tmp_path / "ml-1m" / "ratings.dat").write_text("1::1::5::0\n")
    with pytest.raises(lpb.InvalidInput, match="does not have this MovieLens 1m"):
        run_case("movielens-1m", case, 0, 1, "content")


# What travels


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_travels(name: str) -> None:
    policy = POLICIES[name].build(lpb.policies.Setting(MODEL, REWARDS["gaussian"]))
    there = opened(unpacked(packed(lambda one: one, (policy,))))
    assert there == policy
    assert there.id == policy.id


def test_a_model_that_travelled_is_as_immutable_as_before() -> None:
    there = pickle.loads(pickle.dumps(MODEL))  # noqa: S301 - our own
    assert there == MODEL
    for part in ("orderings", "prior", "means", "ranks"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(there, part)[0] = 0


def test_parts_of_a_program_travel_and_those_of_a_lost_module_say_so(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        example() + "\nif __name__ == '__main__':\n"
        "    world = lpb.SyntheticWorld(states=2, actions=4)\n"
        "    build = lambda s: lpb.Policy(s.model, lpb.evidences.Refit(s.rewards), EpsilonGreedy(0.2))\n"
        "    found = [lpb.simulate(world, {'mine': build, 'eps': 'epsilon-greedy'}, people=3, rounds=9, jobs=jobs)"
        " for jobs in (1, 2)]\n"
        "    assert found[0].curves().equals(found[1].curves(), null_equal=True)\n"
        "    print('the same')\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("the same\n", "")
    lost = load(example(), tmp_path, "module_that_workers_do_not_find")
    with pytest.raises(lpb.InvalidInput, match=r"cannot load what it was sent .*module_that_workers.*PYTHONPATH"):
        lpb.simulate(
            lpb.SyntheticWorld(states=2, actions=4),
            {"mine": lambda s: lpb.Policy(s.model, lpb.evidences.Refit(s.rewards), lost.EpsilonGreedy())},
            people=2,
            rounds=3,
            jobs=2,
        )


def plain_python() -> int:
    warnings.warn("it is slow", lpb.errors.UncompiledWarning, stacklevel=2)
    return 3


def test_that_a_function_is_slow_is_said_here_and_not_by_workers() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert opened(unpacked(packed(plain_python, ()))) == 3
    assert said == []


def test_what_cannot_travel_is_said_and_nothing_dies() -> None:
    with pytest.raises(lpb.InvalidInput, match=r"cannot be sent to worker processes \(TypeError: cannot pickle"):
        packed(print, (threading.Lock(),))


class Odd(Exception):
    """An error that cannot be made again from what it says."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fails_oddly() -> None:
    raise Odd(1, 2)


def test_an_error_that_cannot_travel_is_told_all_the_same() -> None:
    with pytest.raises(lpb.errors.ResourceError, match="a worker process failed: Odd: 1 and 2"):
        list(executor_for(2).map(fails_oddly, [()]))


# Deaths


def worker_processes(of: int | None = None) -> list[psutil.Process]:
    """Return the workers below a process, by default this one."""
    found = psutil.Process(of).children(recursive=True)
    return [one for one in found if _is_worker(one)]


def _is_worker(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        words = " ".join(process.cmdline())
        return "LokyProcess" in words or "spawn_main" in words
    return False


def _is_dead(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    return True


def killer(at: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Callable[..., None], list[int]]:
    """Return a progress that kills one worker, by its id, when so much is done; and whom it killed.

    Nobody finds a pool that is kept, so that whoever is new is at work.
    """
    monkeypatch.setattr(processes._Idle, "pools", [])
    before = {one.pid for one in worker_processes()}
    killed: list[int] = []

    def progress(_: str, done: int, __: int) -> None:
        if done >= at and not killed:
            one = next(one for one in worker_processes() if one.pid not in before)
            killed.append(one.pid)
            os.kill(one.pid, signal.SIGKILL)
            while not _is_dead(one):
                time.sleep(0.01)

    return progress, killed


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_simulation_survives_the_death_of_a_worker(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lpbandits.simulation.run.people_per_task", lambda _: 4)
    world = lpb.SyntheticWorld(states=3, actions=8)
    settings: dict[str, Any] = {"people": 40, "rounds": 60}
    one = lpb.simulate(world, ["lpbts-marginal", "ts"], **settings)
    progress, killed = killer(2, monkeypatch)
    other = lpb.simulate(world, ["lpbts-marginal", "ts"], jobs=lpb.Workers(2, backend), progress=progress, **settings)
    assert killed
    assert other.curves().equals(one.curves(), null_equal=True)


@pytest.mark.usefixtures("no_report")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reproduction_survives_the_death_of_a_worker(
    backend: Any, reproduced: dict[str, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress, killed = killer(1, monkeypatch)
    made = reproduce(["vary-noise"], out=tmp_path, size=TINY, jobs=lpb.Workers(2, backend), progress=progress)
    assert killed
    assert made.tables["vary-noise"].equals(reproduced["vary-noise"], null_equal=True)


# Interrupts


@contextlib.contextmanager
def interrupted(folder: Path, words: list[str], ready: Callable[[], bool]) -> Iterator[None]:
    """Start a command in a folder, press Ctrl-C when it is ready, and see that it ends as it should."""
    process = subprocess.Popen(
        [sys.executable, "-m", "lpbandits", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 90
    while len(worker_processes(process.pid)) < 2 or not ready():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    mine = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (130, "", "lpb: stopped\n")
    assert psutil.wait_procs(mine, timeout=10)[1] == []
    yield


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


LONG = ("--policies", "lpbts-marginal", "--threads", "1", "--json", "--jobs", "2")


def test_ctrl_c_leaves_nothing_of_a_simulation(tmp_path: Path) -> None:
    words = ["simulate", "--people", "4000", "--out", "results", *LONG]
    with interrupted(tmp_path, words, lambda: True):
        assert files_below(tmp_path) == []


def test_ctrl_c_leaves_nothing_of_an_evaluation(tmp_path: Path) -> None:
    log = log_of(1500, 60, states=3, seed=1)
    rows = zip(log.owner.tolist(), log.action.tolist(), log.rating.tolist(), strict=True)
    (tmp_path / "log.csv").write_text("person,action,rating\n" + "".join(f"{n},{a},{r}\n" for n, a, r in rows))
    words = ["evaluate", "log.csv", "--out", "verdict", "--repeats", "--rounds", "500", *LONG, "--backend", "dask"]
    with interrupted(tmp_path, words, lambda: True):
        assert files_below(tmp_path) == ["log.csv"]


def test_ctrl_c_leaves_nothing_of_decisions(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    rows = "".join(f"{n},{n * 7 % 6},{n % 5}\n{n},{n % 6},1\n" for n in range(60_000))
    (tmp_path / "history.csv").write_text("person,action,reward\n" + rows)
    words = ["decide", "history.csv", "--model", "model.json", "--policy", "ts", "--out", "out.csv", "--jobs", "2"]
    with interrupted(tmp_path, words, lambda: True):
        assert files_below(tmp_path) == ["history.csv", "model.json"]


LARGER = Size(people=40, rounds=200, draws=3, quick=True)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    with without_report():
        return reproduce(["vary-noise"], out=tmp_path_factory.mktemp("larger"), size=LARGER).tables["vary-noise"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctrl_c_keeps_finished_cases_and_resume_goes_on(backend: str, larger: pl.DataFrame, tmp_path: Path) -> None:
    words = ["reproduce", "vary-noise", "--quick", "--people", "40", "--draws", "3", "--out", ".", "--json"]
    cases = tmp_path / "cases"
    with interrupted(
        tmp_path, [*words, "--jobs", "2", "--backend", backend], lambda: len(list(cases.glob("*.json"))) > 0
    ):
        records = {path.stem: path.read_bytes() for path in cases.glob("*.json")}
        tables = {path.stem: path.read_bytes() for path in cases.glob("*.parquet")}
        assert 1 <= len(records) <= 3
        assert set(records) == set(tables), "each table has its record"
        if len(records) < 3:
            names = [*(f"cases/{name}.json" for name in records), *(f"cases/{name}.parquet" for name in tables)]
            assert files_below(tmp_path) == sorted(names), "and nothing else is left"
    code, out, _ = run([*words[:-2], str(tmp_path), "--json", "--jobs", "1", "--resume"])
    assert (code, json.loads(out)["recomputed"]) == (0, [])
    for name, content in records.items():
        assert (cases / f"{name}.json").read_bytes() == content, "it was not run again"
        assert (cases / f"{name}.parquet").read_bytes() == tables[name]
    assert pl.read_parquet(tmp_path / "vary-noise.parquet").equals(larger, null_equal=True)


# What is refused


COMMANDS = {
    "simulate": ["--people", "1", "--rounds", "2"],
    "reproduce": ["simplex", "--quick"],
    "evaluate": ["missing.csv"],
    "decide": ["missing.csv", "--model", "missing.json"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "0"], "jobs must be"),
        (["--jobs", "100000"], "jobs must be"),
        (["--backend", "spark"], "backend must be"),
        (["--address", "tcp://10.0.0.1:8786"], "an address is for backend='dask' (--backend dask)"),
        (["--backend", "dask", "--address", "here"], "address is 'here': it does not begin with tcp:"),
    ],
)
def test_odd_options_are_refused_in_one_line(command: str, words: list[str], message: str) -> None:
    code, out, error = run([command, *COMMANDS[command], *words])
    assert (code, out) == (2, "")
    assert error.count("\n") == 1
    assert message in error


def test_a_silent_address_and_too_many_processes_are_refused(
    nobody: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "ANSWER", 1)
    monkeypatch.chdir(tmp_path)
    words = ["simulate", "--people", "900", "--rounds", "300", "--policies", "ts"]
    code, out, error = run([*words, "--backend", "dask", "--address", f"tcp://{nobody}"])
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert f"no Dask scheduler answers at tcp://{nobody}" in error
    monkeypatch.setattr("lpbandits.limits.memory_limit", lambda: 2**30)
    code, out, error = run([*words, "--jobs", "8"])
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "8 worker processes would take 2 GiB of memory" in error
