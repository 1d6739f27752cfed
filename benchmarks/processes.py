"""Speed-up by two processes on the synthetic figures of `lpb reproduce`; wall time, so it needs an idle machine."""

import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.command import Ran, lpb
from benchmarks.measure import Measured, Row, Table, Value, ratio, say

FIGURES = ("regret-curves", "vary-both", "vary-states", "vary-noise")
REPEATS = 2
JOBS = (1, 2)
GOAL = 1.6


def figures(jobs: int, draws: int | None = None) -> Ran:
    """Run the figures in `jobs` processes of one thread each, with their default number of draws or with `draws`."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "results")
        fewer = () if draws is None else ("--draws", str(draws))
        return lpb("reproduce", *FIGURES, *fewer, "--jobs", str(jobs), "--threads", "1", "--out", out)


def measured(draws: int | None = None) -> Measured:
    """Run them with one process and with two, in turn, after a run that compiles; the best of each counts."""
    load = os.getloadavg()[0]
    runs: dict[int, list[Ran]] = {jobs: [] for jobs in JOBS}
    say("compiling")
    figures(JOBS[-1], 1)
    for number in range(1, REPEATS + 1):
        for jobs in JOBS:
            say(f"figures with --jobs {jobs} ({number} of {REPEATS})")
            runs[jobs].append(figures(jobs, draws))
    one, two = (np.array([run.seconds for run in runs[jobs]]) for jobs in JOBS)
    row: Row = ratio("speed-up by two processes on the synthetic figures, idle machine", one, two, GOAL)
    records: list[dict[str, Value]] = []
    for jobs in JOBS:
        best = min(runs[jobs], key=lambda run: run.seconds)
        gib = max(run.gib for run in runs[jobs])
        record: dict[str, Value] = {"jobs": jobs, "seconds": best.seconds, "processor s": best.processor, "GiB": gib}
        records.append({**record, "load": load})
    return Measured([row], [Table("processes", records)])
