"""Compare the speed of this tree with another checkout: `python -m benchmarks.against OTHER_CHECKOUT`.

Each tree has its own worker process, and they take turns job by job, so that other load affects both. Rows are ratios
of CPU time, new over old: below 1, this tree is faster. `--reproduce` also measures the CPU time of the paper's
synthetic figures in this tree, which takes minutes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

import numpy as np

import lpbandits as lpb
from benchmarks.measure import Row, interleaved, ratio, show
from lpbandits.typing import FloatArray

HERE = Path(__file__).parent
JOBS: dict[str, tuple[str, float]] = {
    **{f"rollout LpbTS {m} {k}": (f"lpbTS, m={m} k={k}", 1.03) for m, k in ((5, 10), (10, 20), (50, 50), (100, 20))},
    **{f"rollout MTS {m} {k}": (f"mTS, m={m} k={k}", 1.03) for m, k in ((5, 10), (50, 50), (100, 20))},
    **{f"rollout TS {m} {k}": (f"TS, m={m} k={k}", 1.03) for m, k in ((5, 10), (50, 50), (100, 20))},
    "agent": ("Agent ask + tell, m=5 k=10", 1.03),
    "build": ("building an Agent", 1.03),
    "restore": ("Belief.unpack + Agent, m=10 k=20", 1.03),
}
SWEEPS = (
    "both",
    "both-same",
    "states",
    "states-same",
    "gap",
    "gap-same",
    "gap-wide",
    "actions",
    "actions-same",
    "noise",
)
FIGURES = ("simplex", "regret-curves", *(f"vary-{what}" for what in SWEEPS))


class Worker:
    """A process that imports the package of one tree and runs jobs by name."""

    def __init__(self, tree: Path) -> None:
        source = (tree / "src").resolve()
        if not (source / "lpbandits").is_dir():
            raise SystemExit(f"{tree} has no src/lpbandits; pass a checkout of this project")
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", str(HERE / "worker.py")],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = str(self._answer()["file"])
        if source not in Path(found).resolve().parents:
            raise SystemExit(f"the worker of {tree} imported {found}; it must come from {source}")

    def seconds(self, job: str) -> float:
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe above
        self._process.stdin.write(job + "\n")
        self._process.stdin.flush()
        return float(str(self._answer()["seconds"]))

    def _answer(self) -> dict[str, object]:
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe above
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker ended early; its error is above")
        answer: dict[str, object] = json.loads(line)
        return answer

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()


def trees(other: Path, repeats: int) -> list[Row]:
    """Run every job in both trees in turn."""
    with Worker(HERE.parent) as new, Worker(other) as old:
        for job in JOBS:  # compile and import before timing
            new.seconds(job), old.seconds(job)
        times: dict[str, list[tuple[float, float]]] = {job: [] for job in JOBS}
        for repeat in range(repeats):
            for job in JOBS:
                if repeat % 2:
                    own, theirs = new.seconds(job), old.seconds(job)
                else:
                    theirs, own = old.seconds(job), new.seconds(job)
                times[job].append((own, theirs))
    rows = []
    for job, (what, goal) in JOBS.items():
        own_, theirs_ = np.array(times[job]).T
        rows.append(ratio(what, own_, theirs_, goal, at_most=True))
    return rows


def thompson_in_numpy(counts: FloatArray, sums: FloatArray, asks: int) -> list[int]:
    """Exact Gaussian Thompson sampling in plain numpy: noise 1, prior N(0, 100²)."""
    rng = np.random.default_rng(0)
    chosen = []
    for _ in range(asks):
        precision = counts + 1e-4
        draws = sums / precision + rng.standard_normal(len(counts)) / np.sqrt(precision)
        chosen.append(int(np.argmax(draws)))
    return chosen


def many_tried(tried: int = 1_000, asks: int = 200) -> Row:
    """Compare a decision of TS with a thousand tried actions with `thompson_in_numpy` on the same rewards."""
    rewards = np.random.default_rng(1).normal(0.0, 1.0, tried)
    agent = lpb.Agent(lpb.TS(lpb.PreferenceModel([list(range(tried))])), seed=0)
    for action, reward in enumerate(rewards.tolist()):
        agent.tell(action, reward)
    ours, theirs = interleaved(
        lambda: [agent.ask() for _ in range(asks)],
        lambda: thompson_in_numpy(np.ones(tried), rewards, asks),
    )
    return ratio(f"TS with {tried:,} tried actions over plain numpy", ours / asks, theirs / asks, 1.0, at_most=True)


def reproduction() -> Row:
    """Run the paper's synthetic figures in this tree, in one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "lpbandits", "reproduce", *FIGURES, "--jobs", "1", "--out", folder, "--json"],
            env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # a rough goal: 214 s of simulation and 12 s of charts in an earlier run, perhaps on other hardware
    return Row("lpb reproduce, synthetic figures: CPU time", used, 226.0, at_most=True, unit=" s")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("other", type=Path, metavar="OTHER_CHECKOUT", help="a folder with src/lpbandits")
    parser.add_argument("--repeats", type=int, default=9, help="repeats of every job in each tree; 9 by default")
    parser.add_argument("--reproduce", action="store_true", help="also time the synthetic figures (minutes)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    given = parser.parse_args()
    if given.repeats < 1:
        parser.error(f"repeats must be at least 1, got {given.repeats}")
    measured = {"new over old": trees(given.other, given.repeats), "this tree": [many_tried()]}
    if given.reproduce:
        measured["this tree"].append(reproduction())
    show(measured, title="one run, one thread, CPU time", json_file=given.json)


if __name__ == "__main__":
    main()
