"""A fit of more ratings than one holds in memory: `python -m benchmarks.beyond make FOLDER`, then `… fit FOLDER`.

The log has a million people with 200 ratings each, of 2,000 actions, in 400 Parquet files over which everybody's
ratings are scattered. `fit` runs `lpb fit` on it, in this process and on others, and prints seconds, memory and whether
the models are the same.
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

ACTIONS, EACH, STATES, FILES, CHUNK = 2_000, 200, 5, 20, 50_000


def make(folder: Path, people: int) -> None:
    """Write the log: five tastes, ten levels, popular actions rated more often."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    popularity = (-0.5 * np.log(np.arange(1, ACTIONS + 1) + 30.0)).astype(np.float32)
    taste = rng.normal(0, 0.5, ACTIONS) + rng.normal(0, 0.5, (STATES, ACTIONS))
    for chunk, first in enumerate(range(0, people, CHUNK)):
        person, action, rating = [], [], []
        for start in range(first, min(first + CHUNK, people), 5_000):
            here = min(5_000, people - start)
            keys = popularity - np.log(-np.log(rng.random((here, ACTIONS), dtype=np.float32).clip(1e-7, 1 - 1e-7)))
            rated = np.argpartition(-keys, EACH, axis=1)[:, :EACH]
            who = np.arange(start, start + here)
            liking = taste[(who % STATES)[:, None], rated] + rng.normal(0, 0.8, rated.shape)
            level = np.rint(2 * (3.5 + rng.normal(0, 0.4, (here, 1)) + liking)) / 2
            person.append(np.repeat(who, EACH))
            action.append(rated.ravel())
            rating.append(level.clip(0.5, 5.0).ravel())
        table = pl.DataFrame(
            {
                "userId": np.concatenate(person).astype(np.int32),
                "movieId": np.concatenate(action).astype(np.int32),
                "rating": np.concatenate(rating),
            }
        ).sample(fraction=1.0, shuffle=True, seed=chunk)
        size = -(-len(table) // FILES)
        for part in range(FILES):
            table.slice(part * size, size).write_parquet(folder / f"ratings-{part:02}-{chunk:03}.parquet")
        print(f"{min(first + CHUNK, people):,} people", file=sys.stderr)


def memory_of(process: int) -> int:
    """Return the bytes of a process and all it started, shared pages counted in proportion."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
    return own + sum(memory_of(int(child)) for child in children)


def fitted(folder: Path, pattern: str, *options: str) -> dict[str, object]:
    """Run `lpb fit` once; return its times, seconds, peak memory, and the hash of the model."""
    out = folder.parent / "model.json"
    command = [sys.executable, "-m", "lpbandits", "fit", str(folder / pattern), "--states", str(STATES)]
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*command, *options, "--json", "--out", str(out)], stdout=subprocess.PIPE, text=True
    )
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.2)

    watcher = threading.Thread(target=watch)
    watcher.start()
    report = json.loads(process.communicate()[0])
    watcher.join()
    model = json.loads(out.read_text())
    return {
        "options": options,
        "seconds": round(time.perf_counter() - started, 1),
        "gib": round(peak / 2**30, 2),
        "stages": report["seconds"],
        "ratings": report["ratings"],
        "shares": report["shares"],
        "log_likelihood": report["log_likelihood"],
        "sha256": model["sha256"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beyond", description=__doc__)
    parser.add_argument("what", choices=["make", "fit"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--pattern", default="*.parquet", help="which files: '*-00[0-4].parquet' are of 250,000 people")
    parser.add_argument("--options", action="append", help="options of one `lpb fit`; may be repeated")
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.people)
        return
    ways = given.options or [
        "--max-memory 8GB",
        "--max-memory 8GB --jobs 2",
        "--max-memory 8GB --jobs 2 --backend dask",
    ]
    found = [fitted(given.folder, given.pattern, *way.split()) for way in ways]
    print(json.dumps(found, indent=1))
    print("the same model" if len({str(one["sha256"]) for one in found}) == 1 else "DIFFERENT MODELS", file=sys.stderr)


if __name__ == "__main__":
    main()
