"""Why a goal is missed, in words: docs/benchmarks.md tells them for every goal that its results miss."""

from benchmarks.results import Results

IDLE = 0.5
"""The load of a machine that has nothing else to do is less."""


def why(results: Results, group: str, what: str) -> str:
    """Return the reason, or nothing if there is none yet: then somebody must find it, and write it here."""
    if group in ("fit", "processes") and "idle machine" in what:
        return _busy(results, group)
    return _start(results) if what == "first decision, compiled before" else ""


def _busy(results: Results, group: str) -> str:
    load = float(results.table(group)[0]["load"])
    if load < IDLE:
        return ""
    return f"This is by the clock, and the machine was not idle: its load was {load:.1f} before the first run."


def _start(results: Results) -> str:
    said = (
        "Nearly all of it is numba's: importing it, and filling its tables of what it can compile, which it does "
        "before it loads machine code from its cache. numpy and our own modules come on top."
    )
    alone = next((one["warm s"] for one in results.table("start") if one["who"].startswith("numba alone")), None)
    if alone is None:
        return said
    return (
        f"{said} A process that only calls a function that adds 1, compiled before, needs {alone:.2f} s: it also "
        "imports `scipy.linalg`, which ours puts off."
    )
