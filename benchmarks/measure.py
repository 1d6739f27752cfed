"""Method of all benchmarks: CPU time, interleaved repeats, the minimum of several; and the table of results.

Other load can only increase a time, so the minimum of several repeats is more stable than their median. The value of a
row is the ratio of two minima; its spread is the range of the ratio over the repeats.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from rich import table as rich_table
from rich.console import Console

from lpbandits.typing import FloatArray

REPEATS = 7

Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class Row:
    """A measured number, its goal, and its range over repeats if there are several."""

    what: str
    value: float
    goal: float
    at_most: bool = False
    unit: str = "×"
    spread: tuple[float, float] | None = None
    best: str = ""
    """The best times from which a ratio is computed, as text."""

    @property
    def met(self) -> bool:
        return self.value <= self.goal if self.at_most else self.value >= self.goal


@dataclass(frozen=True)
class Table:
    """Records with the same keys, for a table or chart of the page."""

    name: str
    records: list[dict[str, Value]]


@dataclass(frozen=True)
class Measured:
    """Rows and tables of one group."""

    rows: list[Row]
    tables: list[Table] = field(default_factory=list)


def say(what: str) -> None:
    """Print progress to stderr."""
    print(f"  {what}", file=sys.stderr, flush=True)


def processor_seconds(action: Callable[[], object]) -> float:
    """Return the CPU time of one call, all threads together."""
    started = time.process_time()
    action()
    return time.process_time() - started


def interleaved(*actions: Callable[[], object], repeats: int = REPEATS) -> FloatArray:
    """Return seconds, actions × repeats: all actions run in turn, so that other load affects them equally."""
    for action in actions:
        action()
    return np.array([[processor_seconds(action) for action in actions] for _ in range(repeats)]).T


def again(action: Callable[[], object], times: int) -> None:
    """Call an action `times` times."""
    for _ in range(times):
        action()


def often_enough(action: Callable[[], object], *, least: float = 0.02, most: int = 10_000) -> int:
    """Return the number of calls that take `least` CPU seconds together, which the clock can resolve; at least 1."""
    calls = 1
    while calls < most:
        took = processor_seconds(partial(again, action, calls))
        if took >= least:
            break
        calls = min(most, max(2 * calls, int(calls * least / max(took, 1e-9))))
    return calls


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return b of seconds ≈ a · size^b, by least squares of the logarithms.

    >>> round(exponent([1, 2, 4], [3, 6, 12]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def ratio(what: str, over: FloatArray, under: FloatArray, goal: float, *, at_most: bool = False) -> Row:
    """Return a row with the minimum of `over` divided by the minimum of `under`; both hold one time per repeat."""
    each = over / under
    return Row(
        what,
        float(over.min() / under.min()),
        goal,
        at_most,
        spread=(float(each.min()), float(each.max())),
        best=f"{seconds(float(over.min()))} : {seconds(float(under.min()))}",
    )


def show(groups: dict[str, list[Row]], *, title: str, json_file: Path | None = None, failed: bool = False) -> None:
    """Print one table, write it to `json_file`, and exit with 1 if a goal is missed or a group failed."""
    table = rich_table.Table(title, "best", "range", "goal", "", "best times", box=None, pad_edge=False)
    for column in table.columns[1:4]:
        column.justify = "right"
    for group, rows in groups.items():
        if len(groups) > 1:
            table.add_row(f"[bold]{group}[/bold]")
        for row in rows:
            table.add_row(row.what, *cells(row), row.best)
    Console(width=None if sys.stdout.isatty() else 120, highlight=False).print(table)
    print(f"\n{verdict(_flat(groups.values()))}")
    if json_file is not None:
        rows_ = [{"group": group, **asdict(row), "met": row.met} for group, rows in groups.items() for row in rows]
        json_file.write_text(json.dumps(rows_, indent=1, ensure_ascii=False) + "\n")
    sys.exit(failed or not all(row.met for row in _flat(groups.values())))


def verdict(rows: Sequence[Row]) -> str:
    """Return the number of goals met, and each goal missed.

    >>> print(verdict([Row("a", 2.0, 1.0), Row("b", 3.0, 2.0, at_most=True, unit=" s")]))
    1 of 2 goals met. MISSED:
      b: 3 s, goal ≤ 2 s
    """
    missed = [row for row in rows if not row.met]
    lines = [f"  {row.what}: {cells(row)[0]}, goal {cells(row)[2]}" for row in missed]
    return "\n".join([f"{len(rows) - len(missed)} of {len(rows)} goals met.{' MISSED:' if missed else ''}", *lines])


def cells(row: Row) -> tuple[str, str, str, str]:
    """Return value, range, goal and verdict as text."""
    spread = "" if row.spread is None else f"{_number(row.spread[0])} – {_number(row.spread[1])}"
    goal = f"{'≤' if row.at_most else '≥'} {_number(row.goal)}{row.unit}"
    return f"{_number(row.value)}{row.unit}", spread, goal, "ok" if row.met else "MISSED"


def _flat(groups: Iterable[list[Row]]) -> list[Row]:
    return [row for rows in groups for row in rows]


def _number(value: float) -> str:
    if 0 < abs(value) < 0.01:
        return f"{value:.1g}"
    return f"{value:,.{0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2}f}"


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
