"""Description of a run: processor, memory, Python, and the version of every measured package."""

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS

OURS = ("lpbandits", "numpy", "scipy", "scikit-learn", "numba", "polars", "joblib", "distributed")


def versions() -> dict[str, str | None]:
    """Return the version of each package, None if it is not installed."""
    found: dict[str, str | None] = {}
    for name in (*OURS, *PEERS.values()):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def about() -> dict[str, object]:
    """Return a description of the run without anything that identifies the machine."""
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "processor": _from_proc("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(int((_from_proc("/proc/meminfo", "MemTotal") or "0").split()[0]) / 2**20),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions(),
    }


def in_words(about: dict[str, Any]) -> str:
    """Return the description as two sentences.

    >>> in_words({"processor": "Z80", "cores": 1, "memory_gib": 0, "system": "CP/M", "python": "3.11.0",
    ...     "versions": {"numpy": "2.0", "river": None}})
    'Z80, 1 cores, 0 GiB, CP/M, Python 3.11.0. numpy 2.0, river (absent).'
    """
    versions = ", ".join(f"{name} {version or '(absent)'}" for name, version in about["versions"].items())
    return (
        f"{about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB, {about['system']}, "
        f"Python {about['python']}. {versions}."
    )


def _from_proc(file: str, key: str) -> str | None:
    """Return the first value of a key in a file of Linux's /proc; None on other systems."""
    place = Path(file)
    lines = place.read_text(encoding="utf-8").splitlines() if place.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)
