"""Print every measurement with its goal; exit with 1 if one is missed. `python -m benchmarks core` runs one group.

`--save` stores the results in benchmarks/results.json, group by group, and writes docs/benchmarks.md with its charts
and the table in README.md. `python -m benchmarks page` only writes these from the stored results.
"""

import argparse
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks import (
    agents,
    beyond,
    bradley_terry,
    core,
    decide,
    growth,
    kernels,
    memory,
    page,
    peers,
    processes,
    recovery,
    references,
    service,
    start,
    theory,
    thompson,
    whole_fit,
)
from benchmarks.machine import about, in_words
from benchmarks.measure import Measured, Row, show
from benchmarks.results import Results


def only(rows: Callable[[], list[Row]]) -> Callable[[], Measured]:
    return lambda: Measured(rows())


GROUPS: dict[str, Callable[[], Measured]] = {
    "thompson": thompson.measured,
    "growth": growth.measured,
    "core": only(core.rows),
    "agents": agents.measured,
    "decide": only(decide.rows),
    "bradley_terry": bradley_terry.measured,
    "recovery": only(recovery.rows),
    "fit": whole_fit.measured,
    "references": references.measured,
    "processes": processes.measured,
    "memory": memory.measured,
    "service": service.measured,
    "start": start.measured,
    "theory": only(theory.rows),
    "kernels": only(kernels.rows),
}
LONG = "beyond"
"""A group that runs only if it is named, because it takes most of an hour."""


def main() -> None:
    names = [*GROUPS, LONG]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help=f"some of: {', '.join(names)}; all but {LONG} by default"
    )
    parser.add_argument("--save", action="store_true", help="store the results and write docs/benchmarks.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument(
        "--scratch",
        type=Path,
        metavar="FOLDER",
        help=f"folder for 10 GB of temporary files of {LONG}; its log remains there",
    )
    given = parser.parse_args()
    if given.groups == ["page"]:
        page.write(Results.read())
        return
    for name in given.groups:
        if name not in names:
            parser.error(f"group is {name!r}; choose from: {', '.join(names)}, or page")
    groups: dict[str, Callable[[], Measured]] = {**GROUPS, LONG: partial(beyond.measured, given.scratch)}
    print("\n".join([in_words(about()), *peers.absent()]), end="\n\n", flush=True)
    measured, failed = measure({name: groups[name] for name in given.groups or GROUPS}, save=given.save)
    if failed:
        print(f"failed (see above): {', '.join(failed)}", file=sys.stderr)
    show(measured, title="best of several repeats", json_file=given.json, failed=bool(failed))


def measure(groups: dict[str, Callable[[], Measured]], *, save: bool) -> tuple[dict[str, list[Row]], list[str]]:
    """Measure groups in turn; if one fails, report it and continue with the others."""
    results = Results.begin() if save else None
    measured: dict[str, list[Row]] = {}
    failed: list[str] = []
    for number, (name, group) in enumerate(groups.items(), start=1):
        print(f"measuring: {name} ({number} of {len(groups)})", file=sys.stderr, flush=True)
        try:
            found = group()
        except (Exception, SystemExit):
            traceback.print_exc()
            failed.append(name)
            continue
        measured[name] = found.rows
        if results is not None:
            results.add(name, found)
    if results is not None:
        page.write(results)
    return measured, failed


if __name__ == "__main__":
    main()
