"""A complete `lpb fit` at MovieLens-32M's shape, from Parquet to model: 19.8 million synthetic ratings, shuffled."""

import os
import tempfile
from pathlib import Path

import polars as pl

from benchmarks.command import lpb
from benchmarks.measure import Measured, Row, Table, Value, say
from benchmarks.recovery import ACTIONS, PEOPLE, STATES, generated

REPEATS = 3
SMALL = 300
"""Number of people of a log that is fitted first, to compile everything."""
SECONDS, GIB = 60.0, 3.0
"""Goals: wall time on two free cores; memory of all processes together."""


def write(path: Path, people: int = PEOPLE) -> int:
    """Write a shuffled synthetic log; return the number of its ratings."""
    person, action, rating = generated(people)
    table = pl.DataFrame({"userId": person, "movieId": action, "rating": rating})
    table.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path)
    return len(table)


def measured(people: int = PEOPLE) -> Measured:
    """Fit one log several times; the fastest run counts."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        say("compiling")
        small = Path(folder) / "small.parquet"
        write(small, SMALL)
        lpb("fit", str(small), "--states", str(STATES))
        say("generating the log")
        path = Path(folder) / "ratings.parquet"
        ratings = write(path, people)
        out = str(Path(folder) / "model.json")
        runs = []
        for number in range(1, REPEATS + 1):
            say(f"fitting {ratings:,} ratings ({number} of {REPEATS})")
            runs.append(lpb("fit", str(path), "--states", str(STATES), "--out", out))
    best = min(runs, key=lambda run: run.seconds)
    gib = max(run.gib for run in runs)
    size: dict[str, Value] = {"ratings": ratings, "people": people, "actions": ACTIONS, "states": STATES}
    clock = [run.seconds for run in runs]
    rows = [
        Row(
            f"whole fit of {ratings / 1e6:.1f} million ratings: wall time, idle machine",
            best.seconds,
            SECONDS,
            at_most=True,
            unit=" s",
            spread=(min(clock), max(clock)),
            best=f"{best.processor:.0f} s of CPU time",
        ),
        Row(f"whole fit of {ratings / 1e6:.1f} million ratings: memory", gib, GIB, at_most=True, unit=" GiB"),
    ]
    stages: list[dict[str, Value]] = [
        {"stage": stage, "seconds": float(took)} for stage, took in best.report["seconds"].items()
    ]
    whole: dict[str, Value] = {**size, "seconds": best.seconds, "processor s": best.processor, "GiB": gib, "load": load}
    return Measured(rows, [Table("fit", [whole]), Table("fit-stages", stages)])
