"""CPU time and peak memory of new processes."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

# VmHWM is the peak of the program itself; ru_maxrss of a child would include its parent's.
PEAK = """
import json, pathlib  # a program may leave a dictionary `report`
_status = pathlib.Path("/proc/self/status")
if _status.exists():
    _peak = next(int(line.split()[1]) for line in _status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    import resource
    _peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps({"kib": _peak, "report": globals().get("report", {})}))
"""


@dataclass(frozen=True)
class Child:
    """CPU seconds and peak memory of a program, and the report that it left."""

    seconds: float
    mib: float
    report: dict[str, float]


def run(program: str, *, environment: Mapping[str, str] | None = None) -> Child | str:
    """Run a program; return its resources, or the last line of its error."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}  # it slows imports
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-W", "ignore", "-c", program + PEAK],
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = json.loads(done.stdout.splitlines()[-1])
    return Child(seconds, said["kib"] / 1024, said["report"])
