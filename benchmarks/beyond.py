"""Fits of logs larger than memory: `python -m benchmarks beyond --save`, or `make bench-beyond`.

The log has a million people with 200 ratings each, of 2,000 actions, in 400 Parquet files; each person's ratings are
spread over many files. `lpb fit --max-memory 8GB` is run on a quarter of the people, on half and on all: in one
process, in two, and on a Dask cluster of two workers on this machine. docs/scale.md extrapolates from the cost per
million ratings.

This takes most of an hour and 10 GB of disk, so it is not part of `make bench`. A log that an earlier run left in
`--scratch` is reused.
"""

import importlib.util
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.command import Ran, lpb
from benchmarks.measure import Measured, Row, Table, Value, say

ACTIONS, EACH, STATES, FILES, CHUNK = 2_000, 200, 5, 20, 50_000
PEOPLE = (250_000, 500_000, 1_000_000)
WAYS = {
    "1 process": (),
    "2 processes": ("--jobs", "2"),
    "Dask, 2 workers": ("--jobs", "2", "--backend", "dask"),
}
SMALL = 500
"""Number of people of a log that is fitted first, to compile everything."""
LIMIT = "8GB"
GIB = 8.0
NEEDED = 60
"""Bytes of disk per rating: the log, 24 while it is split into files, and a margin."""


def chunk_of(number: int, people: int) -> pl.DataFrame:
    """Return shuffled ratings of `people` people: five states, ten rating values, popular actions rated more often.

    >>> chunk_of(0, 3).shape
    (600, 3)
    """
    shared = np.random.default_rng(0)
    popularity = (-0.5 * np.log(np.arange(1, ACTIONS + 1) + 30.0)).astype(np.float32)
    taste = shared.normal(0, 0.5, ACTIONS) + shared.normal(0, 0.5, (STATES, ACTIONS))
    rng = np.random.default_rng([0, number])
    action, rating = [], []
    who = number * CHUNK + np.arange(people)
    for start in range(0, people, 5_000):
        some = who[start : start + 5_000]
        keys = popularity - np.log(-np.log(rng.random((len(some), ACTIONS), dtype=np.float32).clip(1e-7, 1 - 1e-7)))
        rated = np.argpartition(-keys, EACH, axis=1)[:, :EACH]
        preference = taste[(some % STATES)[:, None], rated] + rng.normal(0, 0.8, rated.shape)
        level = np.rint(2 * (3.5 + rng.normal(0, 0.4, (len(some), 1)) + preference)) / 2
        action.append(rated.ravel())
        rating.append(level.clip(0.5, 5.0).ravel())
    columns = {
        "userId": np.repeat(who, EACH).astype(np.int32),
        "movieId": np.concatenate(action).astype(np.int32),
        "rating": np.concatenate(rating),
    }
    return pl.DataFrame(columns).sample(fraction=1.0, shuffle=True, seed=number)


def make(folder: Path, people: int) -> None:
    """Write the log chunk by chunk; skip chunks that an earlier run completed."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, people, CHUNK)):
        here = min(CHUNK, people - first)
        done = folder / f"chunk-{number:03}.json"
        if done.exists() and json.loads(done.read_text()) == here:
            continue
        say(f"making ratings of {first + here:,} people")
        table = chunk_of(number, here)
        size = -(-len(table) // FILES)
        for part in range(FILES):
            table.slice(part * size, size).write_parquet(folder / f"ratings-{number:03}-{part:02}.parquet")
        done.write_text(json.dumps(here))


def some_of(log: Path, folder: Path, people: int) -> int:
    """Link the files of the first people (complete chunks) into a folder; return their size in bytes."""
    folder.mkdir()
    files = [file for file in sorted(log.glob("ratings-*.parquet")) if int(file.name.split("-")[1]) * CHUNK < people]
    for file in files:
        (folder / file.name).hardlink_to(file)
    return sum(file.stat().st_size for file in files)


@dataclass
class Space:
    """Peak size of the files in a folder."""

    folder: Path
    peak: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self) -> None:
        while not self.ended.wait(1.0):
            self.peak = max(self.peak, sum(_size(file) for file in self.folder.rglob("*")))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:  # deleted since it was listed
        return 0


@contextmanager
def watched(folder: Path) -> Iterator[Space]:
    space = Space(folder)
    watcher = threading.Thread(target=space.watch)
    watcher.start()
    try:
        yield space
    finally:
        space.ended.set()
        watcher.join()


def fitted(log: Path, people: int, way: str) -> dict[str, Value]:
    """Fit the first `people` people in one way, and observe the size of the scratch folder, on the same disk."""
    with tempfile.TemporaryDirectory(dir=log.parent) as folder:
        scratch, some = Path(folder) / "scratch", Path(folder) / "some"
        scratch.mkdir()
        size = some_of(log, some, people)
        out = Path(folder) / "model.json"
        options = ("--states", str(STATES), "--max-memory", LIMIT, "--scratch", str(scratch), "--out", str(out))
        with watched(scratch) as space:
            ran: Ran = lpb("fit", str(some / "*.parquet"), *options, *WAYS[way])
        model = json.loads(out.read_text())["sha256"]
    ratings = ran.report["ratings"]
    return {
        "way": way,
        "people": people,
        "ratings": ratings,
        "seconds": ran.seconds,
        "processor s": ran.processor,
        "GiB": ran.gib,
        "log bytes": size / ratings,
        "scratch bytes": space.peak / ratings,
        "sha256": model,
    }


def slopes(records: Sequence[dict[str, Value]]) -> list[dict[str, Value]]:
    """Return, by way, the cost per million ratings and the intercept of linear fits to the sizes.

    >>> log = {"way": "a", "processor s": 4.0, "GiB": 1.0}
    >>> two = [{**log, "ratings": n * 1e6, "seconds": 5.0 + n} for n in (1, 3)]
    >>> [(name, round(value, 6)) for name, value in slopes(two)[0].items() if name != "way"][:2]
    [('s a million', 1.0), ('s at none', 5.0)]
    """
    out: list[dict[str, Value]] = []
    for way in dict.fromkeys(str(one["way"]) for one in records):
        mine = [one for one in records if one["way"] == way]
        millions = [float(one["ratings"] or 0) / 1e6 for one in mine]
        if len(set(millions)) < 2:
            continue
        found: dict[str, Value] = {"way": way}
        for short, name in (("s", "seconds"), ("processor s", "processor s"), ("GiB", "GiB")):
            slope, rest = np.polyfit(millions, [float(one[name] or 0) for one in mine], 1)
            found |= {f"{short} a million": float(slope), f"{short} at none": float(rest)}
        out.append(found)
    return out


def ways() -> tuple[list[str], list[dict[str, Value]]]:
    """Return the ways that can be measured here, and the reasons why others cannot."""
    if importlib.util.find_spec("distributed") is not None:
        return list(WAYS), []
    why = "distributed is not installed; run `make bench-beyond`, or pip install 'lpbandits[dask]'"
    return [way for way in WAYS if "Dask" not in way], [{"who": "Dask, 2 workers", "missing": why}]


def rows_of(records: Sequence[dict[str, Value]]) -> list[Row]:
    """Return the goals: memory in all ways at the largest size, and a single model for each size."""
    largest = max(int(one["ratings"] or 0) for one in records)
    at_most = [one for one in records if one["ratings"] == largest]
    rows = [
        Row(
            f"fit of {largest / 1e6:,.0f} million ratings, {one['way']}: memory of all processes",
            float(one["GiB"] or 0),
            GIB,
            at_most=True,
            unit=" GiB",
            best=f"{one['seconds']:.0f} s, {one['processor s']:.0f} s of CPU time",
        )
        for one in at_most
    ]
    models = {size: {one["sha256"] for one in records if one["ratings"] == size} for size in _sizes(records)}
    most = max(len(found) for found in models.values())
    return [*rows, Row("fit of a log larger than memory: number of different models", most, 1, at_most=True, unit="")]


def _sizes(records: Sequence[dict[str, Value]]) -> list[Value]:
    return list(dict.fromkeys(one["ratings"] for one in records))


def measured(scratch: Path | None = None, people: Sequence[int] = PEOPLE) -> Measured:
    """Measure everything in this file; the log is kept only if `scratch` is given."""
    with tempfile.TemporaryDirectory() as own:
        folder = scratch or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        free, needed = shutil.disk_usage(folder).free, NEEDED * EACH * max(people)
        if free < needed:
            raise SystemExit(
                f"beyond needs {needed / 1e9:.0f} GB, but {free / 1e9:.0f} GB are free; pass another --scratch"
            )
        log = folder / "beyond-ratings"
        say("compiling")
        make(Path(own) / "small", SMALL)
        fitted(Path(own) / "small", SMALL, "1 process")
        started = time.perf_counter()
        make(log, max(people))
        say(f"the log was generated in {time.perf_counter() - started:.0f} s")
        here, missing = ways()
        records = []
        for size in people:
            for way in here:
                say(f"fitting {size * EACH / 1e6:,.0f} million ratings: {way}")
                records.append(fitted(log, size, way))
    return Measured(
        rows_of(records),
        [Table("beyond", records), Table("beyond-slopes", slopes(records)), Table("beyond-missing", missing)],
    )
