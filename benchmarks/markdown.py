"""Tables in Markdown, and numbers formatted for readers."""

from collections.abc import Sequence
from typing import Any

from benchmarks.measure import seconds

Records = Sequence[dict[str, Any]]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table; all columns but the first `left` hold numbers, aligned right.

    >>> print(table(["who", "n"], [["a", "1"]]))
    | who | n |
    | --- | ---: |
    | a | 1 |
    """
    marks = ["---" if i < left else "---:" for i in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *rows))


def pivot(records: Records, *, along: str, value: str, unit: float, ours: str, corner: str = "") -> str:
    """Return times by package and size, each with its ratio to ours."""
    sizes = list(dict.fromkeys(one[along] for one in records))
    found = {(one["who"], one[along]): one[value] for one in records}
    rows = []
    for who in dict.fromkeys(one["who"] for one in records):
        cells = [_beside(found.get((who, size)), found.get((ours, size)), unit, who == ours) for size in sizes]
        rows.append([who, *cells])
    return table([corner, *(f"{along} = {size:,}" for size in sizes)], rows)


def _beside(value: float | None, ours: float | None, unit: float, own: bool) -> str:
    if value is None:
        return "–"
    return seconds(value * unit) if own or not ours else f"{seconds(value * unit)} ({times(value / ours)})"


def times(ratio: float) -> str:
    """Return a ratio as text.

    >>> times(0.314), times(12.34), times(12345)
    ('0.31×', '12×', '12,345×')
    """
    return f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.2g}×"


def missing(records: Records) -> str:
    """Return the packages that were not measured and the reasons, one per line.

    >>> missing([{"who": "river", "missing": "not installed"}])
    '- river was not measured: not installed.'
    """
    return "\n".join(f"- {one['who']} was not measured: {one['missing']}." for one in records)


def figure(value: float | None, digits: int = 2) -> str:
    """Return a number with `digits` decimals, or a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def small(value: float | None) -> str:
    """Return a number with two significant digits; a tiny one in scientific notation.

    >>> small(1.23e-7), small(0.1735)
    ('1e-07', '0.17')
    """
    return "–" if value is None else f"{value:.0e}" if 0 < abs(value) < 1e-3 else f"{value:.2g}"
