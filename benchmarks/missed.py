"""Reasons for missed goals, which docs/benchmarks.md gives for every goal that its results miss."""

from benchmarks.results import Results

IDLE = 0.5
"""Load average below which a machine is idle."""


def why(results: Results, group: str, what: str) -> str:
    """Return the reason for a missed goal; empty if none is known, which fails a test."""
    if group in ("fit", "processes") and "idle machine" in what:
        return _busy(results, group)
    return _start(results) if what == "first decision, compiled before" else ""


def _busy(results: Results, group: str) -> str:
    load = float(results.table(group)[0]["load"])
    if load < IDLE:
        return ""
    return f"This is wall time, and the machine was not idle: its load was {load:.1f} before the first run."


def _start(results: Results) -> str:
    parts = {one["part"]: float(one["s"]) for one in results.table("start-parts")}
    theirs = sum(took for part, took in parts.items() if part.startswith(("Python", "numpy", "numba")))
    ours = sum(parts.values()) - theirs
    return (
        f"Python, numpy and numba alone take {theirs:.2f} s of it: numba imports its modules and registers the "
        f"functions it can compile before it loads machine code from a cache. lpbandits takes {ours:.2f} s for "
        "imports, loading and the decision. These [parts](#the-first-decision-of-a-process) are from the fastest of "
        "several separate runs."
    )
