"""Rankings as PrefLib keeps them: how many voters gave which order, with ties in braces."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from lpbandits.data.sources import Source
from lpbandits.errors import InvalidInput
from lpbandits.limits import check_resources

MOST_ALTERNATIVES = 1_000_000
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,9})")
_ORDER = re.compile(r"([0-9]{1,18})\s*:\s*(.*)")
_PLACE = re.compile(r"\{([^{}]*)\}|([^,{}]+)")
_COUNTS = ("NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS")
SHORT = "the file may be cut short or altered: download it again"


@dataclass
class _File:
    """What was read so far: the order of line i has its alternatives and their places."""

    names: dict[int, str] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    voters: list[int] = field(default_factory=list)
    orders: list[list[int]] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)


def read_preflib(source: Source) -> pl.DataFrame:
    """Return one row per voter and ranked alternative, with its place as rating; voters are numbered from 1.

    A file says how many alternatives, voters and different orders it has; what does not match is refused.
    """
    check_resources(
        f"{source.name} of {source.path.stat().st_size:,} bytes",
        "give fewer orders",
        size=20 * source.path.stat().st_size,
    )
    found = _File()
    with source.path.open("rb") as raw:
        for number, line in _lines(raw, source):
            if line.startswith("#"):
                _take_note(found, line[1:], source.place(number))
            else:
                _take_order(found, number, line, source)
    _check(found, source)
    voters, sizes = np.array(found.voters), np.array([len(order) for order in found.orders])
    rows = int(sum(v * len(o) for v, o in zip(found.voters, found.orders, strict=True)))
    check_resources(f"{source.name} with {sum(found.voters):,} voters", "give fewer voters", size=100 * rows)
    flat, place = (np.array([x for xs in lists for x in xs], dtype=np.int64) for lists in (found.orders, found.places))
    order = np.repeat(np.arange(len(voters)), voters)  # of each voter
    begins = np.cumsum(sizes) - sizes
    length = sizes[order]
    at = np.repeat(begins[order] - (np.cumsum(length) - length), length) + np.arange(rows)
    labels = pl.Series(_labels(found, source), dtype=pl.String)
    return pl.DataFrame(
        {
            "row": np.repeat(np.array(found.lines)[order], length),
            "blank": np.zeros(rows, dtype=bool),
            "person": np.repeat(np.arange(1, len(order) + 1), length),
            "action": labels.gather(flat[at] - 1),
            "rating": place[at].astype(np.float64),
        }
    )


def _lines(raw: Iterable[bytes], source: Source) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, with their numbers from 0."""
    for number, line in enumerate(raw):
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
        except UnicodeDecodeError:
            raise InvalidInput(f"{source.place(number)}: it is not UTF-8 text; save the file as UTF-8") from None
        if text:
            yield number, text


def _take_note(found: _File, note: str, place: str) -> None:
    key, _, value = (part.strip() for part in note.partition(":"))
    named = _NAME.fullmatch(key)
    if named:
        alternative = int(named[1])
        if alternative in found.names:
            raise InvalidInput(f"{place}: alternative {alternative} has a name already; correct or remove the line")
        found.names[alternative] = value
    elif key in _COUNTS:
        if not re.fullmatch("[0-9]{1,18}", value):
            raise InvalidInput(f"{place}: {key} is {value[:40]!r}, not a whole number; {SHORT}")
        found.told[key] = int(value)


def _take_order(found: _File, number: int, line: str, source: Source) -> None:
    place = source.place(number)
    match = _ORDER.fullmatch(line)
    if match is None:
        old = "; files of before 2022 have another form: download it again" if not found.told else ""
        raise InvalidInput(
            f"{place}: {line[:40]!r} is not an order such as '12: 3,1,{{2,4}}' (12 voters, the best first, ties in "
            f"braces){old or '; correct or remove the line'}"
        )
    groups = _groups(match[2])
    if groups is None:
        raise InvalidInput(f"{place}: the order {match[2][:40]!r} is not of numbers, with ties in braces; {SHORT}")
    order = [alternative for group in groups for alternative in group]
    if len(set(order)) < len(order):
        raise InvalidInput(
            f"{place}: alternative {_twice(order)} is ranked twice; each may be ranked once: correct the line"
        )
    if int(match[1]) == 0 or not order:
        raise InvalidInput(f"{place}: {line[:40]!r} has no voters, or ranks nothing; remove the line")
    found.lines.append(number)
    found.voters.append(int(match[1]))
    found.orders.append(order)
    found.places.append([i for i, group in enumerate(groups, start=1) for _ in group])


def _groups(text: str) -> list[list[int]] | None:
    """Return an order as groups of tied alternatives; None if it is none.

    >>> _groups("3,1,{2,4}"), _groups("3,,1"), _groups("{2,4")
    ([[3], [1], [2, 4]], None, None)
    """
    out: list[list[int]] = []
    at = 0
    while True:
        match = _PLACE.match(text, at)
        if match is None:
            return None
        cells = [cell.strip() for cell in (match[1] or match[2] or "").split(",")]
        if not all(re.fullmatch("[0-9]{1,9}", cell) for cell in cells):
            return None
        out.append([int(cell) for cell in cells])
        rest = text[match.end() :].lstrip()
        if not rest:
            return out
        if not rest.startswith(","):
            return None
        at = len(text) - len(rest) + 1
        while text[at : at + 1] == " ":
            at += 1


def _check(found: _File, source: Source) -> None:
    """Refuse a file that does not hold what it says, or not what its name says."""
    if not found.orders:
        raise InvalidInput(f"{source.name} has no orders; {SHORT}")
    seen = {alternative for order in found.orders for alternative in order} | found.names.keys()
    many = found.told.get("NUMBER ALTERNATIVES", max(seen))
    have = {
        "NUMBER ALTERNATIVES": len(found.names) if found.names else many,
        "NUMBER VOTERS": sum(found.voters),
        "NUMBER UNIQUE ORDERS": len(found.orders),
    }
    for key, number in found.told.items():
        if number != have[key]:
            raise InvalidInput(f"{source.name} says '{key}: {number}', but has {have[key]:,}; {SHORT}")
    most = min(many, MOST_ALTERNATIVES)
    odd = [alternative for alternative in (min(seen), max(seen)) if not 1 <= alternative <= most]
    if odd:
        raise InvalidInput(f"{source.name} has an alternative {odd[0]}; they are numbered from 1 to {most}: {SHORT}")
    form = source.name.lower().removesuffix(".gz")[-3:]
    _check_form(found, form, many, source)


def _check_form(found: _File, form: str, many: int, source: Source) -> None:
    """Refuse orders that the end of the file's name rules out: soc and toc are complete, soc and soi have no ties."""
    for number, order, places in zip(found.lines, found.orders, found.places, strict=True):
        if form.endswith("c") and len(order) < many:
            raise InvalidInput(
                f"{source.place(number)}: it ranks {len(order)} of {many} alternatives, but .{form} files rank all; "
                f"{SHORT}, or call it .{form[:-1]}i"
            )
        if form.startswith("s") and places[-1] < len(order):
            raise InvalidInput(
                f"{source.place(number)}: it has ties, but .{form} files have none; call it .t{form[1:]}"
            )


def _labels(found: _File, source: Source) -> list[str]:
    """Return what to call each alternative: its name, or else its number."""
    many = max(max(order) for order in [*found.orders, [*found.names, 0]])
    labels = [found.names.get(i) or str(i) for i in range(1, many + 1)]
    if len(set(labels)) < len(labels):
        raise InvalidInput(f"two alternatives of {source.name} are called {_twice(labels)!r}; rename one")
    return labels


def _twice(values: Iterable[Any]) -> Any:
    """Return the first value that stands twice."""
    seen: set[Any] = set()
    return next(value for value in values if value in seen or seen.add(value))  # type: ignore[func-returns-value] # never
