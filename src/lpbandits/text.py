"""Text from outside, for people to see: labels, names, paths, notes.

It may hold anything. What a terminal would obey, XML cannot hold or turns writing round is shown as an escape, and
what is too long is cut in the middle. Files for programs (JSON, Parquet) keep the text as it is.
"""

import unicodedata
from collections.abc import Iterable

LABEL = 80
"""Characters of a label or a name that are shown."""
LINE = 1000
"""Characters of an error, a warning or a path that are shown."""

_JOINERS = "\u200c\u200d"
"""Invisible, and harmless: Persian, the languages of India and some emoji need them."""


def display(text: object, width: int | None = LABEL) -> str:
    r"""Return text in one line, safe to print, of at most `width` characters (None: all of them).

    >>> print(display("Film [1999]"), display("a\x1b[31m\nb"), display("x" * 1000, 9))
    Film [1999] a\x1b[31m\nb xxxx…xxxx
    """
    whole = str(text)
    if width is not None and len(whole) > 2 * width:
        whole = whole[:width] + whole[-width:]  # so that a text of millions costs no more
    if not whole.isprintable():
        whole = "".join(map(_plain, whole))
    if width is None or len(whole) <= width:
        return whole
    return whole[: width // 2] + "…" + whole[len(whole) - (width - 1) // 2 :]


def unique_labels(texts: Iterable[object], width: int = LABEL) -> list[str]:
    """Return texts as shown; those that then look alike are numbered, because charts join what is called the same.

    >>> unique_labels(["tea", "jam", "tea", 7, "7"])
    ['tea', 'jam', 'tea (2)', '7', '7 (2)']
    """
    out: dict[str, None] = {}
    times: dict[str, int] = {}
    for text in texts:
        name = first = display(text, width)
        while name in out:
            times[first] = times.get(first, 1) + 1
            name = f"{first} ({times[first]})"
        out[name] = None
    return list(out)


def size_text(size: float) -> str:
    """Return a number of bytes for people, in the units that options take.

    >>> size_text(800), size_text(1_234_567), size_text(2e9), size_text(2.56e10)
    ('800B', '1.2MB', '2GB', '25.6GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.95 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.1f}".removesuffix(".0") + unit


def pluralize(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> pluralize(1, "state"), pluralize(2_000, "person", "people")
    ('1 state', '2,000 people')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def share_text(share: float) -> str:
    """Format a share as a percentage; a small positive share is "<1%".

    >>> share_text(0.256), share_text(0.002)
    ('26%', '<1%')
    """
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def _plain(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if unicodedata.category(character) == "Zs":  # a space of another width
        return " "
    return character.encode("unicode_escape").decode()
