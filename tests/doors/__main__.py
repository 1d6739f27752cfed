"""`make fuzz`: every door tried thousands of times, each in a process of its own, and a table of what came out.

The seed is printed; a finding prints the line that makes it again.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import just

import lpbandits as lpb
from lpbandits.policies import make_policy
from tests.doors import ALL
from tests.doors.bombs import BOMBS, MOST_MEGABYTES, explode, make
from tests.doors.deciding import MODEL, live
from tests.doors.learning import LOG
from tests.doors.runner import SECONDS, Door, Outcome, attempt, corpus, read

BATCH = 100
COLUMNS = ("door", "tries", "accepted", "refused", "causes", "foreign", "hangs", "nan", "slowest s", "peak MB")
QUIET = settings(database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
MEMORY = 6 * 2**30
"""Memory of one door's process: who takes more gets a MemoryError."""


def fuzz(door: Door, tries: int, start: int) -> dict[str, Any]:
    """Try one door so often; print findings."""
    counts: Counter[str] = Counter()
    causes: set[str] = set()
    findings: dict[str, str] = {}
    slowest = 0.0

    def note(code: str, outcome: Outcome, again: str) -> None:
        nonlocal slowest
        counts[outcome.kind] += 1
        slowest = max(slowest, outcome.seconds)
        if outcome.kind == "refused":
            causes.add(outcome.cause)
        if outcome.finding and (len(code) < len(findings.get(outcome.cause, code + " "))):
            findings[outcome.cause] = code
            if len(findings) <= 30:
                print(f"{door.name}: {outcome.kind}: {outcome.cause}\n  {code[:1500]}\n  {again}", file=sys.stderr)

    def try_(code: str, again: str) -> None:
        note(code, attempt(door, code), again)

    for name, file in corpus():
        if name == door.name:
            try_(read(file)[0], f"corpus: {file.name}")
    batch = 0
    while sum(counts.values()) < tries and batch < tries:
        own = zlib.crc32(f"{start} {door.name} {batch}".encode()) if batch else start
        size = min(BATCH, tries - sum(counts.values()))
        again = f"again: python -m tests.doors --door {door.name} --tries {BATCH} --seed {own}"

        run = given(code=door.code, again=just(again))(try_)
        seed(own)(settings(QUIET, max_examples=size)(run))()
        batch += 1
    return {**counts, "causes": len(causes), "slowest": slowest, "findings": findings}


def child(arguments: list[str], seconds: float) -> dict[str, Any]:
    """Run a door in a process of its own; return what it counted and the memory it took."""
    before = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.doors", "--child", *arguments], stdout=subprocess.PIPE, text=True
    )
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"hang": 1, "slowest": time.perf_counter() - before}
    if process.returncode != 0:
        print(f"{arguments}: the process ended with {process.returncode}", file=sys.stderr)
        return {"foreign": 1}
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def warm() -> None:
    """Compile everything once: the machine code is kept for the processes that follow."""
    for recover in (lpb.recover_two_stage, lpb.recover_em):
        for cap in (None, 2):
            recover(LOG, states=2, pairs_per_person=cap, restarts=1, threads=1)
    lpb.match_orderings(MODEL, MODEL)
    lpb.lower_bound(MODEL, 0, [3.0, 2.0, 1.0])
    for feedback in ("rewards", "duels"):
        names = [name for name, entry in lpb.POLICIES.items() if entry.feedback == feedback]
        bare = [name for name in names if name != "taste"]  # a synthetic world has none
        lpb.simulate(lpb.SyntheticWorld(states=2, actions=3), bare, people=1, rounds=3, threads=1)
        for name in names:
            live(lpb.Agent(make_policy(name, lpb.Setting(MODEL, lpb.Rewards())), seed=0), (1.0, 0.0))


def row(name: str, found: dict[str, Any]) -> tuple[str, ...]:
    kinds = ("accepted", "refused", "foreign", "hang", "nan")
    counts = {kind: int(found.get(kind, 0)) for kind in kinds}
    return (
        name,
        str(sum(counts.values())),
        str(counts["accepted"]),
        str(counts["refused"]),
        str(found.get("causes", 0)),
        str(counts["foreign"]),
        str(counts["hang"]),
        str(counts["nan"]),
        f"{found.get('slowest', 0.0):.2f}",
        str(found.get("peak", 0)),
    )


def main() -> int:
    """Run what is asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.doors", description=__doc__)
    parser.add_argument("--tries", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--door", action="append", choices=[*ALL, *(f"bomb {name}" for name in BOMBS)])
    parser.add_argument("--bomb", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given_ = parser.parse_args()
    start = random.SystemRandom().randrange(2**32) if given_.seed is None else given_.seed
    names = given_.door or [*ALL, *(f"bomb {name}" for name in BOMBS)]
    if given_.warm:
        warm()
        print("{}")
        return 0
    if given_.child:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        name = names[0]
        found = explode(name[5:], given_.bomb) if given_.bomb else fuzz(ALL[name], given_.tries, start)
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps(found))
        return 0
    print(f"seed {start}", flush=True)
    child(["--warm"], 600)
    whole = sum(ALL[name].share for name in names if name in ALL)
    rows: list[tuple[str, ...]] = [COLUMNS]
    for name in names:
        tries = round(given_.tries * ALL[name].share / whole + 0.5) if name in ALL else 1
        words = ["--door", name, "--tries", str(tries), "--seed", str(start)]
        if name in ALL:
            found = child(words, 60 + SECONDS * 20 + tries)
        else:
            with make(name[5:]) as folder:
                found = child([*words, "--bomb", folder], 60 + SECONDS)
        found["foreign"] = found.get("foreign", 0) + (found.get("peak", 0) > MOST_MEGABYTES)
        found["hang"] = found.get("hang", 0) + (found.get("slowest", 0.0) > SECONDS and not found.get("hang", 0))
        rows.append(row(name, found))
        print("  ".join(rows[-1]), flush=True)
    sums = [sum(int(line[i]) for line in rows[1:]) for i in range(1, 8)]
    most = [f"{max(float(line[8]) for line in rows[1:]):.2f}", str(max(int(line[9]) for line in rows[1:]))]
    rows.append(("all", *map(str, sums), *most))
    widths = [max(len(line[i]) for line in rows) for i in range(len(COLUMNS))]
    print()
    for line in rows:
        print(
            "  ".join(
                cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
        )
    return 1 if sum(sums[4:7]) else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    sys.exit(main())
