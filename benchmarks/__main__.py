"""Print every measured number with its goal; exit 1 if one is missed. `python -m benchmarks core` runs one group.

`--save` keeps what was found in benchmarks/results.json and writes docs/benchmarks.md with its charts; `page` alone
writes those anew from the last results.
"""

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    bradley_terry,
    core,
    decide,
    growth,
    kernels,
    memory,
    page,
    recovery,
    references,
    start,
    theory,
    thompson,
)
from benchmarks.measure import Measured, Row, show
from benchmarks.results import Results


def only(rows: Callable[[], list[Row]]) -> Callable[[], Measured]:
    return lambda: Measured(rows())


GROUPS: dict[str, Callable[[], Measured]] = {
    "thompson": thompson.measured,
    "growth": growth.measured,
    "core": only(core.rows),
    "decide": only(decide.rows),
    "bradley_terry": bradley_terry.measured,
    "recovery": only(recovery.rows),
    "references": references.measured,
    "memory": memory.measured,
    "start": start.measured,
    "theory": only(theory.rows),
    "kernels": only(kernels.rows),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"some of: {', '.join(GROUPS)}; all by default")
    parser.add_argument("--save", action="store_true", help="keep the numbers, and write docs/benchmarks.md")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    given = parser.parse_args()
    if given.groups == ["page"]:
        page.write(Results.read())
        return
    for name in given.groups:
        if name not in GROUPS:
            parser.error(f"group is {name!r}; choose from: {', '.join(GROUPS)}, or page")
    measured, failed = measure(given.groups or list(GROUPS), save=given.save)
    if failed:
        print(f"failed, see above: {', '.join(failed)}", file=sys.stderr)
    show(measured, title="one run, one thread, processor time", json_file=given.json, failed=bool(failed))


def measure(names: list[str], *, save: bool) -> tuple[dict[str, list[Row]], list[str]]:
    """Measure groups in turn; one that fails says so and does not take the others along."""
    results = Results.begin(whole=set(names) == set(GROUPS)) if save else None
    measured: dict[str, list[Row]] = {}
    failed: list[str] = []
    for number, name in enumerate(names, start=1):
        print(f"measuring: {name} ({number} of {len(names)})", file=sys.stderr, flush=True)
        try:
            found = GROUPS[name]()
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
