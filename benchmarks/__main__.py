"""Print every measured number with its goal; exit 1 if one is missed. `python -m benchmarks core` runs one group."""

import argparse
import sys
from pathlib import Path

from benchmarks import core, decide, kernels, recovery, theory
from benchmarks.measure import show

GROUPS = {
    "core": core.rows,
    "decide": decide.rows,
    "kernels": kernels.rows,
    "recovery": recovery.rows,
    "theory": theory.rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"some of: {', '.join(GROUPS)}; all by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers as JSON")
    given = parser.parse_args()
    for name in given.groups:
        if name not in GROUPS:
            parser.error(f"group is {name!r}; choose from: {', '.join(GROUPS)}")
    measured = {}
    for name in given.groups or GROUPS:
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        measured[name] = GROUPS[name]()
    show(measured, title="one run, one thread, processor time", json_file=given.json)


if __name__ == "__main__":
    main()
