"""PrefLib files of rankings: numbers of voters and their orders, with ties in braces."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from lpbandits.data.sources import Source
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources

MAX_ALTERNATIVES = 1_000_000
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,9})")
_LINE = re.compile(r"([0-9]{1,18})\s*:\s*(.*)")
_NUMBER = r"\s*[0-9]{1,9}\s*"
_GROUP = rf"(?:{_NUMBER}|\s*\{{{_NUMBER}(?:,{_NUMBER})*\}}\s*)"
_ORDER = re.compile(rf"{_GROUP}(?:,{_GROUP})*")
_COUNTS = ("NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS")
DAMAGED = "the file may be truncated or changed: download it again"


@dataclass
class _Content:
    """Content read so far: for each line of orders its alternatives and their ranks."""

    names: dict[int, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    voters: list[int] = field(default_factory=list)
    orders: list[list[int]] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)


def read_preflib(source: Source) -> pl.DataFrame:
    """Return one row per voter and ranked alternative, with its rank as rating; voters are numbered from 1.

    A file that does not match its stated numbers of alternatives, voters and orders raises.
    """
    content = _Content()
    with source.path.open("rb") as raw:
        for number, line in _lines(raw, source):
            if line.startswith("#"):
                _take_note(content, line[1:], source.place(number))
            else:
                _take_order(content, number, line, source)
    _check(content, source)
    voters, sizes = np.array(content.voters), np.array([len(order) for order in content.orders])
    rows = sum(n * len(order) for n, order in zip(content.voters, content.orders, strict=True))
    check_resources(f"{source.name} with {sum(content.voters):,} voters", "give fewer voters", size=100 * rows)
    flat, place = (
        np.array([x for xs in lists for x in xs], dtype=np.int64) for lists in (content.orders, content.places)
    )
    order = np.repeat(np.arange(len(voters)), voters)  # per voter
    begins = np.cumsum(sizes) - sizes
    length = sizes[order]
    at = np.repeat(begins[order] - (np.cumsum(length) - length), length) + np.arange(rows)
    labels = pl.Series(_labels(content, source), dtype=pl.String)
    return pl.DataFrame(
        {
            "row": np.repeat(np.array(content.lines)[order], length),
            "blank": np.zeros(rows, dtype=bool),
            "person": np.repeat(np.arange(1, len(order) + 1), length),
            "action": labels.gather(flat[at] - 1),
            "rating": place[at].astype(np.float64),
        }
    )


def _lines(raw: Iterable[bytes], source: Source) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 0."""
    for number, line in enumerate(raw):
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
        except UnicodeDecodeError:
            raise InvalidInput(f"{source.place(number)}: it is not UTF-8 text; save the file as UTF-8") from None
        if text:
            yield number, text


def _take_note(content: _Content, note: str, place: str) -> None:
    key, _, value = (part.strip() for part in note.partition(":"))
    named = _NAME.fullmatch(key)
    if named:
        alternative = int(named[1])
        if alternative in content.names:
            raise InvalidInput(f"{place}: alternative {alternative} has a name already; correct or remove the line")
        content.names[alternative] = value
    elif key in _COUNTS:
        if not re.fullmatch("[0-9]{1,18}", value):
            raise InvalidInput(f"{place}: {key} is {value[:40]!r}, not a whole number; {DAMAGED}")
        content.counts[key] = int(value)


def _take_order(content: _Content, number: int, line: str, source: Source) -> None:
    place = source.place(number)
    match = _LINE.fullmatch(line)
    if match is None:
        old = "; files of before 2022 have another form: download it again" if not content.counts else ""
        raise InvalidInput(
            f"{place}: {line[:40]!r} is not an order such as '12: 3,1,{{2,4}}' (12 voters, the best first, ties in "
            f"braces){old or '; correct or remove the line'}"
        )
    groups = _groups(match[2])
    if groups is None:
        raise InvalidInput(f"{place}: the order {match[2][:40]!r} is not of numbers, with ties in braces; {DAMAGED}")
    order = [alternative for group in groups for alternative in group]
    if len(set(order)) < len(order):
        raise InvalidInput(
            f"{place}: alternative {_twice(order)} is ranked twice; each may be ranked once: correct the line"
        )
    if int(match[1]) == 0 or not order:
        raise InvalidInput(f"{place}: {line[:40]!r} has no voters, or ranks nothing; remove the line")
    content.lines.append(number)
    content.voters.append(int(match[1]))
    content.orders.append(order)
    content.places.append([i for i, group in enumerate(groups, start=1) for _ in group])


def _groups(text: str) -> list[list[int]] | None:
    """Return an order as groups of tied alternatives; None if it is not an order.

    >>> _groups("3,1,{2,4}"), _groups("3,,1"), _groups("{2,4")
    ([[3], [1], [2, 4]], None, None)
    """
    if _ORDER.fullmatch(text) is None:
        return None
    groups = re.findall(r"\{([^}]*)\}|([0-9]+)", text)
    return [[int(number) for number in (tied or single).split(",")] for tied, single in groups]


def _check(content: _Content, source: Source) -> None:
    """Raise if the content does not match the stated numbers or the suffix of the file."""
    if not content.orders:
        raise InvalidInput(f"{source.name} has no orders; {DAMAGED}")
    seen = {alternative for order in content.orders for alternative in order} | content.names.keys()
    n_alternatives = content.counts.get("NUMBER ALTERNATIVES", max(seen))
    actual = {
        "NUMBER ALTERNATIVES": len(content.names) if content.names else n_alternatives,
        "NUMBER VOTERS": sum(content.voters),
        "NUMBER UNIQUE ORDERS": len(content.orders),
    }
    for key, number in content.counts.items():
        if number != actual[key]:
            raise InvalidInput(f"{source.name} says '{key}: {number}', but has {actual[key]:,}; {DAMAGED}")
    most = min(n_alternatives, MAX_ALTERNATIVES)
    outside = [alternative for alternative in (min(seen), max(seen)) if not 1 <= alternative <= most]
    if outside:
        raise InvalidInput(
            f"{source.name} has an alternative {outside[0]}; they are numbered from 1 to {most}: {DAMAGED}"
        )
    form = source.name.lower().removesuffix(".gz")[-3:]  # soc and toc are complete, soc and soi have no ties
    for number, order, places in zip(content.lines, content.orders, content.places, strict=True):
        if form.endswith("c") and len(order) < n_alternatives:
            raise InvalidInput(
                f"{source.place(number)}: it ranks {len(order)} of {n_alternatives} alternatives, but .{form} files "
                f"rank all; {DAMAGED}, or call it .{form[:-1]}i"
            )
        if form.startswith("s") and places[-1] < len(order):
            raise InvalidInput(
                f"{source.place(number)}: it has ties, but .{form} files have none; call it .t{form[1:]}"
            )


def _labels(content: _Content, source: Source) -> list[str]:
    """Return the label of each alternative: its name, or else its number."""
    highest = max(max(order) for order in [*content.orders, [*content.names, 0]])
    labels = [content.names.get(i) or str(i) for i in range(1, highest + 1)]
    if len(set(labels)) < len(labels):
        raise InvalidInput(f"two alternatives of {source.name} are called {_twice(labels)!r}; rename one")
    return labels


def _twice(values: Iterable[Any]) -> Any:
    """Return the first repeated value."""
    seen: set[Any] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value] # never
