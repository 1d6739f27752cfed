"""Faults put into the sources one at a time, to see that the tests notice: `make mutants` (minutes).

The checkout is never touched: sources and tests are copied into a temporary folder and changed there. Each fault
names the tests that must notice it, and these must all pass on the copy before anything is changed. Prints a table, and
exits with 1 if a fault goes unnoticed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tests.mutants import (
    claims,
    decisions,
    evaluation,
    figures,
    guards,
    inspection,
    methods,
    movielens,
    policies,
    reading,
    scale,
    spreading,
    starting,
    sums,
)
from tests.mutants.fault import Fault

ROOT = Path(__file__).parents[2]
LISTS = (
    movielens,
    figures,
    methods,
    policies,
    claims,
    inspection,
    reading,
    decisions,
    evaluation,
    guards,
    scale,
    spreading,
    starting,
    sums,
)
FAULTS = [fault for one in LISTS for fault in one.FAULTS]
NOBODY = "nobody"
LONGEST = 600
"""Seconds: a fault may also make a loop endless."""


def copy_of_checkout(place: Path) -> None:
    """Copy what tests need, with the files' times: machine code is kept by them."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "pyproject.toml", place)


def run(place: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Run tests in the copy."""
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # it slows imports
    own = {"PYTHONPATH": f"{place / 'src'}{os.pathsep}{place}"}
    own["NUMBA_CACHE_DIR"] = str(place / "machine-code")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
    return subprocess.run(
        command, cwd=place, env={**usual, **own}, capture_output=True, text=True, check=False, timeout=LONGEST
    )


def noticed_by(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the first test that failed, or what else happened."""
    if ended.returncode == 0:
        return NOBODY
    found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ended.stdout, flags=re.MULTILINE)
    if ended.returncode == 1 and found:
        return found[1].removeprefix("tests/")
    last = (ended.stdout + ended.stderr).strip().splitlines()[-1:]
    return f"{NOBODY}: pytest could not run ({' '.join(last)})"


def missing(tests: Iterable[str]) -> list[str]:
    """Return the test files that are not there."""
    return sorted({file for test in tests if not (ROOT / (file := test.partition("::")[0])).is_file()})


def try_fault(place: Path, fault: Fault) -> str:
    """Put one fault into the copy, run its tests, take it out again; return who noticed."""
    if absent := missing(fault.tests):
        return f"{NOBODY}: {', '.join(absent)} is not here"
    target = place / "src" / "lpbandits" / fault.file
    whole = target.read_text(encoding="utf-8")
    if whole.count(fault.old) != 1:
        sys.exit(f"{fault.name}: {fault.old!r} is {whole.count(fault.old)} times in {fault.file}; mend the list")
    changed = whole.replace(fault.old, fault.new)
    compile(changed, fault.file, "exec")
    target.write_text(changed, encoding="utf-8")
    try:
        return noticed_by(run(place, fault.tests))
    except subprocess.TimeoutExpired:
        return "the clock: it never ended"
    finally:
        shutil.copy2(ROOT / "src" / "lpbandits" / fault.file, target)


def main() -> int:
    """Try all faults, or those whose name has a text in it, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--only", default="", metavar="NAME", help="try faults whose name contains this")
    only = parser.parse_args().only
    chosen = [fault for fault in FAULTS if only in fault.name]
    if not chosen:
        sys.exit(f"no fault is called {only!r}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_of_checkout(place)
        tests = sorted({test for fault in chosen for test in fault.tests if not missing([test])})
        before = run(place, tests) if tests else None
        if before is not None and before.returncode != 0:
            sys.exit(f"the tests fail without any fault:\n{before.stdout[-4000:]}{before.stderr[-2000:]}")
        width = max(len(fault.name) for fault in chosen)
        print(f"{'fault':{width}}  seconds  noticed by", flush=True)
        unnoticed = 0
        for fault in chosen:
            started = time.perf_counter()
            who = try_fault(place, fault)
            unnoticed += who.startswith(NOBODY)
            print(f"{fault.name:{width}}  {time.perf_counter() - started:7.1f}  {who}", flush=True)
    print(f"{len(chosen) - unnoticed} of {len(chosen)} noticed")
    return int(unnoticed > 0)


if __name__ == "__main__":
    sys.exit(main())
