"""Forked processes: tables raise where polars would wait for threads that only the parent has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import multiprocessing, sys, warnings
import lpbandits as lpb

warnings.simplefilter("ignore")  # of a fork with threads
model = lpb.PreferenceModel([[0, 1], [1, 0]])
decisions = lpb.decide(lpb.LpbTS(model), lpb.Histories.from_arrays([0, 0], [0, 1], [1.0, 2.0], model))
results = lpb.simulate(lpb.SyntheticWorld(states=2, actions=2), ["ts"], people=1, rounds=2)
calls = {
    "read": lambda: lpb.read_ratings(sys.argv[1]),
    "table": lambda: decisions.table(),
    "save": lambda: results.save(sys.argv[2]),
    "people": lambda: results.people(),
    "simulate": lambda: lpb.simulate(lpb.SyntheticWorld(states=2, actions=2), ["ts"], people=1, rounds=2),
}

def outcome(name):
    try:
        calls[name]()
    except lpb.ResourceError as error:
        print(name, "spawn" in str(error), flush=True)
    else:
        print(name, flush=True)

def fork(name):
    process = multiprocessing.get_context("fork").Process(target=outcome, args=(name,))
    process.start()
    process.join(20)
    process.kill()

fork("read")
calls["read"]()
for name in calls:
    fork(name)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_tables_raise_in_a_fork_of_a_process_that_has_used_polars(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("person,action,rating\n0,0,5\n0,1,3\n1,0,2\n1,1,4\n")
    words = [sys.executable, "-c", SCRIPT, str(log), str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=True)
    expected = ["read", "read True", "table True", "save True", "people True", "simulate"]
    assert done.stdout.splitlines() == expected
    assert not (tmp_path / "out").exists()
