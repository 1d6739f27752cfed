"""The first decision of a new process, with an empty cache of machine code and with a filled one."""

import os
import tempfile

from benchmarks.child import Child, run
from benchmarks.measure import Measured, Row, Table, Value, say
from benchmarks.memory import LIVE, START

REPEATS = 5
PROGRAMS = {
    "lpbandits: Agent of lpbTS": """
import lpbandits as lpb
agent = lpb.Agent(lpb.LpbTS(lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]])), seed=0)
agent.tell(agent.ask(), 1.0)
""",
    "lpbandits: simulate lpbTS": """
import lpbandits as lpb
lpb.simulate(lpb.SyntheticWorld(states=2, actions=3), ["lpbts"], people=2, rounds=5, threads=1)
""",
    "numba alone: a function that adds 1": """
import os, pathlib, runpy
place = pathlib.Path(os.environ["NUMBA_CACHE_DIR"]) / "adding.py"  # numba caches only functions in files
if not place.exists():
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("import numba\\n@numba.njit(cache=True)\\ndef add(x):\\n    return x + 1\\nadd(1)\\n")
runpy.run_path(str(place))
""",
    "lpbandits: Agent of TS": START["lpbandits"] + LIVE.format(outcomes=1) + "live(0)\n",
}
PARTS = """
import time
report = {"Python, up to the first line": time.process_time()}
def until(part):
    report[part] = time.process_time() - sum(report.values())
import numpy
until("numpy")
import numba
until("numba, imports")
import lpbandits as lpb
policy = lpb.LpbTS(lpb.PreferenceModel([[0, 1, 2], [2, 1, 0]]))
lpb.Agent
until("lpbandits, imports")
from numba.core.registry import cpu_target
cpu_target.target_context.refresh()
until("numba, registration of compilable functions")
agent = lpb.Agent(policy, seed=0)
agent.tell(agent.ask(), 1.0)
until("lpbandits, loading cached machine code, and the decision")
"""
"""The first program, timed in parts; the rest of the process is the start and exit of Python."""
GOALS = {"lpbandits: Agent of lpbTS": (6.0, 0.6)}
"""Goals in seconds: nothing compiled, compiled before."""


def once(program: str, cache: str) -> float | str:
    """Return the CPU seconds of a new process that caches machine code in a folder."""
    needed = run(program, environment={"NUMBA_CACHE_DIR": cache})
    return needed.seconds if isinstance(needed, Child) else needed


def parts() -> list[dict[str, Value]]:
    """Return the CPU seconds of each part of a first decision, compiled before, in the fastest of several runs."""
    say("parts of a first decision")
    with tempfile.TemporaryDirectory() as folder:
        found = [run(PARTS, environment={"NUMBA_CACHE_DIR": folder}) for _ in range(REPEATS + 1)][1:]
    done = [one for one in found if isinstance(one, Child)]
    if not done:
        raise SystemExit(f"start: a first decision failed: {found[0]}")
    best = min(done, key=lambda one: one.seconds)
    took = {**best.report, "Python, interpreter start and exit": best.seconds - sum(best.report.values())}
    return [{"part": part, "s": seconds} for part, seconds in took.items()]


def measured() -> Measured:
    """Measure everything in this file."""
    rows: list[Row] = []
    records: list[dict[str, Value]] = []
    for name, program in PROGRAMS.items():
        say(name)
        with tempfile.TemporaryDirectory() as folder:
            first = once(program, os.path.join(folder, "0"))  # noqa: PTH118 - a plain text for the environment
            cold = [first, once(program, os.path.join(folder, "1"))]  # noqa: PTH118
            warm = [once(program, os.path.join(folder, "1")) for _ in range(REPEATS)]  # noqa: PTH118
        failed = [str(value) for value in (*cold, *warm) if isinstance(value, str)]
        if failed:
            raise SystemExit(f"start: {name} failed: {failed[0]}")
        slow, fast = (min(float(value) for value in values) for values in (cold, warm))
        records.append({"who": name, "cold s": slow, "warm s": fast, "missing": ""})
        if name in GOALS:
            for kind, value, goal in zip(
                ("nothing compiled", "compiled before"), (slow, fast), GOALS[name], strict=True
            ):
                rows.append(Row(f"first decision, {kind}", value, goal, at_most=True, unit=" s"))
    for name, start in START.items():
        if name == "lpbandits":
            continue
        say(name)
        times = [run(start + LIVE.format(outcomes=1) + "live(0)\n") for _ in range(REPEATS)]
        found = [one.seconds for one in times if isinstance(one, Child)]
        why = next((one for one in times if isinstance(one, str)), "")
        records.append({"who": name, "cold s": None, "warm s": min(found, default=None), "missing": why})
    return Measured(rows, [Table("start", records), Table("start-parts", parts())])
