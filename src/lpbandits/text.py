"""Text for people to read: safe and short labels, sizes, counts and percentages.

Labels, names and paths come from users and may hold control characters. Files for programs (JSON, Parquet) keep them
as they are.
"""

import re
import unicodedata
from collections.abc import Iterable

LABEL = 80
"""Maximum width of a displayed label or name."""
LINE = 1000
"""Maximum width of a displayed error, warning or path."""

_JOINERS = "\u200c\u200d"
"""Invisible joiners, needed by Persian, several Indian scripts and some emoji."""


def display(text: object, width: int | None = LABEL) -> str:
    r"""Return text in one line, with control characters escaped and at most `width` characters (None: no limit).

    >>> print(display("Film [1999]"), display("a\x1b[31m\nb"), display("x" * 1000, 9))
    Film [1999] a\x1b[31m\nb xxxx…xxxx
    """
    line = str(text)
    if width is not None and len(line) > 2 * width:
        line = line[:width] + line[-width:]  # the cost does not grow with the length
    if not line.isprintable():
        line = "".join(map(_escaped, line))
    if width is None or len(line) <= width:
        return line
    return line[: width // 2] + "…" + line[len(line) - (width - 1) // 2 :]


def _escaped(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) == "Zs":  # a space of another width
        return " "
    return character.encode("unicode_escape").decode()


def unique_labels(texts: Iterable[object], width: int = LABEL) -> list[str]:
    """Return displayed texts; equal ones are numbered, because charts merge equal labels.

    >>> unique_labels(["tea", "jam", "tea", 7, "7"])
    ['tea', 'jam', 'tea (2)', '7', '7 (2)']
    """
    labels: dict[str, None] = {}
    times: dict[str, int] = {}
    for text in texts:
        label = first = display(text, width)
        while label in labels:
            times[first] = times.get(first, 1) + 1
            label = f"{first} ({times[first]})"
        labels[label] = None
    return list(labels)


def size_text(size: float) -> str:
    """Format a number of bytes, in the units that options accept.

    >>> size_text(800), size_text(1_234_567), size_text(2e9), size_text(2.56e10)
    ('800B', '1.2MB', '2GB', '25.6GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.1f}".removesuffix(".0") + unit


def significant(value: float | None) -> str:
    """Format a number with three significant digits, from 1,000 on as a whole number; None is a dash.

    >>> significant(2.5), significant(0.04312), significant(0.0), significant(12345.6), significant(None)
    ('2.50', '0.0431', '0', '12,346', '–')
    """
    if value is None:
        return "–"
    if not value or abs(value) >= 999.5:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"
    return f"{value:#.3g}".removesuffix(".")


def pluralize(count: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun.

    >>> pluralize(1, "state"), pluralize(2_000, "person", "people")
    ('1 state', '2,000 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def share_text(share: float) -> str:
    """Format a share as a percentage; a small positive share is "<1%", and a rounded zero has no sign.

    >>> share_text(0.256), share_text(0.002), share_text(-1e-17)
    ('26%', '<1%', '0%')
    """
    return "<1%" if 0 < share < 0.01 else f"{share:z.0%}"


def natural_key(label: object) -> tuple[bool, list[str | int]]:
    """Return a sort key under which numbers in text count as numbers, and numbers come before text.

    >>> sorted(["week 10", "week 2", 3, "Week 1"], key=natural_key)
    [3, 'Week 1', 'week 2', 'week 10']
    """
    parts = re.split(r"([0-9]+)", str(label))
    return isinstance(label, str), [int(part) if i % 2 else part for i, part in enumerate(parts)]
