"""Run `lpb` in a separate process; measure wall time, and CPU time and memory of it and its child processes.

Unlike the other benchmarks, which use one thread, a command may use all cores, as it does by default.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import ONE_THREAD

EVERY = 0.2
"""Seconds between two observations of the processes."""
REST = 50
"""Ratio of the pause after an observation of memory to its duration, so that observing takes at most 2 % of a core.
Observations of a gigabyte are about a second apart; a peak between two of them is missed."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Ran:
    """Resources of all processes of a command, and the JSON that it printed."""

    seconds: float
    processor: float
    gib: float
    report: dict[str, Any]


@dataclass
class Watch:
    """Peak memory of a process and its descendants, and the last observed CPU time of each."""

    peak: int = 0
    used: dict[tuple[int, str], float] = field(default_factory=dict)

    def look(self, process: int, *, memory: bool) -> None:
        self.peak = max(self.peak, self._seen(process, memory))

    def _seen(self, process: int, memory: bool) -> int:
        """Return the proportional set size in bytes if `memory`; 0 for a process that has ended."""
        place = Path(f"/proc/{process}")
        try:
            children = (place / f"task/{process}/children").read_text().split()
            lines = (place / "smaps_rollup").read_text().splitlines() if memory else []
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        self.used[process, fields[19]] = (int(fields[11]) + int(fields[12])) / TICKS  # by when it was started
        own = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
        return own + sum(self._seen(int(child), memory) for child in children)


def lpb(*arguments: str) -> Ran:
    """Run an `lpb` command with `--json`; exit with its error message if it fails."""
    if not Path("/proc/self/smaps_rollup").exists():
        raise SystemExit("memory of several processes is read from /proc/self/smaps_rollup, which needs Linux")
    kept = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # it slows imports
    watch, before, started = Watch(), _of_children(), time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:  # an unread pipe would block it
        with subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "lpbandits", *arguments, "--json"],
            env=kept,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        ) as process:
            watcher = threading.Thread(target=_watch, args=(process, watch))
            watcher.start()
            printed = process.communicate()[0]
            seconds = time.perf_counter() - started
            watcher.join()
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"lpb {arguments[0]} ended with {process.returncode}: {said.read().strip()[-500:]}")
    # the system counts processes that were waited for, the watch also others; take the larger sum
    processor = max(_of_children() - before, sum(watch.used.values()))
    return Ran(seconds, processor, watch.peak / 2**30, json.loads(printed))


def _watch(process: "subprocess.Popen[str]", watch: Watch) -> None:
    due = 0.0
    while process.poll() is None:
        now, before = time.monotonic(), time.thread_time()
        watch.look(process.pid, memory=now >= due)
        if now >= due:
            due = now + REST * (time.thread_time() - before)
        time.sleep(EVERY)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
