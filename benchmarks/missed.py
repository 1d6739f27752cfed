"""Why a goal is missed, in words: docs/benchmarks.md tells them for every goal that its results miss."""

from benchmarks.results import Results

IDLE = 0.5
"""The load of a machine that has nothing else to do is less."""


def why(results: Results, group: str, what: str) -> str:
    """Return the reason of a missed goal; empty if none is known, which fails a test."""
    if group in ("fit", "processes") and "idle machine" in what:
        return _busy(results, group)
    return _start(results) if what == "first decision, compiled before" else ""


def _busy(results: Results, group: str) -> str:
    load = float(results.table(group)[0]["load"])
    if load < IDLE:
        return ""
    return f"This is by the clock, and the machine was not idle: its load was {load:.1f} before the first run."


def _start(results: Results) -> str:
    parts = {one["part"]: float(one["s"]) for one in results.table("start-parts")}
    theirs = sum(took for part, took in parts.items() if part.startswith(("Python", "numpy", "numba")))
    ours = sum(parts.values()) - theirs
    return (
        f"Python, numpy and numba take {theirs:.2f} s of it by themselves: numba imports itself, and fills its tables "
        f"of what it can compile before it loads machine code from a cache. Ours is {ours:.2f} s of imports, loading "
        "and deciding. These [parts](#the-first-decision-of-a-process) are of the quickest of several other runs. "
        "`scipy.linalg`, which numba would import as well, is imported only when matrices are multiplied."
    )
