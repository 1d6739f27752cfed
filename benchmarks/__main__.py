"""Print every ratio with its goal; exit 1 if one is missed."""

import sys

from rich.console import Console
from rich.table import Table

from benchmarks import core, recovery, theory


def main() -> None:
    table = Table("measured in one run, one thread", "ratio", "goal", "", box=None, pad_edge=False)
    rows = [*core.rows(), *recovery.rows(), *theory.rows()]
    for row in rows:
        goal = f"{'≤' if row.at_most else '≥'} {row.goal:,.0f}×"
        digits = 0 if row.value >= 100 else 1
        table.add_row(row.what, f"{row.value:,.{digits}f}×", goal, "ok" if row.met else "MISSED")
    for column in table.columns[1:3]:
        column.justify = "right"
    Console(width=110).print(table)
    sys.exit(not all(row.met for row in rows))


if __name__ == "__main__":
    main()
