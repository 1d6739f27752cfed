"""Read tables of experts: one text per expert, a column per rank, or one row per expert and action."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from lpbandits import validate
from lpbandits.data.columns.cells import check_width, comma_hint
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.columns.roles import KNOWN_NAMES, RANKS, check_once, like, words_of
from lpbandits.data.layouts import PLACES
from lpbandits.data.preflib import PrefLibTable
from lpbandits.data.sources import RatingsSource, open_table
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput
from lpbandits.typing import Label

NAMES = f"expert|state|name|rater|judge|doctor|clinician|{KNOWN_NAMES['person']}"
SHARES = "share|weight|prior|probability"
TEXTS = "ordering|order|preference|ranking"
"""Names of the columns of experts, their shares and their orderings, as `_named` returns them."""

PLACE = re.compile(r"(?:(?:tier|group)[ _.#-]*)?([0-9]{1,4})")
"""Names of the columns of ranks and tiers, beside `PLACES`."""

FORMS = (
    "give a column per rank (rank1, rank2, …) or tier (tier1, …); or a column 'ordering' with texts such as A > B = "
    "C > D; or the columns expert, action and rank; or a column per action that holds its ranks. Columns 'expert' and "
    "'share' may be added"
)


@dataclass(frozen=True)
class Expert:
    """One expert's ordering: groups of labels, best first, and what is wrong with it."""

    place: str
    name: str | None
    share: float | None
    tiers: tuple[tuple[Label, ...], ...]
    problems: Sequence[str] = ()
    parsed: bool = True
    """Whether the labels were read from text, in which whole numbers stand for integers."""
    share_text: str = ""
    """The cell of the share."""

    @property
    def title(self) -> str:
        """The name, or where it stands."""
        return self.place if self.name is None else self.name


def split_text(text: str) -> tuple[list[list[str]], list[str]]:
    """Return the tiers of an ordering such as "A > B = C" or "A ≻ B", and its problems.

    >>> split_text("tea > jam = egg"), split_text("tea > > egg")[1]
    (([['tea'], ['jam', 'egg']], []), ["'tea > > egg' lacks an action next to > or ="])
    """
    tiers = [[label.strip() for label in part.split("=")] for part in re.split("[>≻]", text)]
    if all(label for tier in tiers for label in tier):
        foreign = re.search("[≽⪰≼⪯≺]", text)
        remedy = "write > between an action and a worse one, and = between equal ones"
        return ([], [f"{validate.short_repr(text)} holds {foreign[0]}; {remedy}"]) if foreign else (tiers, [])
    what = "lacks an action next to > or =" if text.strip() else "is blank; give an ordering such as A > B = C > D"
    return [[label for label in tier if label] for tier in tiers if any(tier)], [f"{validate.short_repr(text)} {what}"]


def split_ordering(text: str) -> tuple[list[list[str]], list[str]]:
    """Return the tiers of a whole ordering, and its problems: a list such as "A, B, C" is not one action.

    >>> split_ordering("tea, jam, egg")[1]
    ["'tea, jam, egg' holds ',' but neither > nor =; write > between an action and a worse one"]
    """
    tiers, problems = split_text(text)
    if not problems and sum(map(len, tiers)) == 1 and (other := re.search(r"[,;|<→]", text)):
        words = f"holds {other[0]!r} but neither > nor =; write > between an action and a worse one"
        return [], [f"{validate.short_repr(text)} {words}"]
    return tiers, problems


def read_table(source: RatingsSource) -> tuple[str, str, list[Expert]]:
    """Return the name of a table in messages, its layout, and its experts."""
    with open_table(source, ReadOptions(), narrow=True) as table, table.readable():
        if isinstance(table, PrefLibTable):
            raise InvalidInput(f"{table.name} is a PrefLib file of voters; fit a model to it: lpb fit {table.name}")
        if table.lacking:
            raise InvalidInput(f"{table.name} has files with different columns; give one table")
        names = [name.strip() for name in table.names]
        check_width(len(names), table.name)
        chosen = {"name": _only(table, NAMES), "share": _only(table, SHARES)}
        used = {index for index in chosen.values() if index is not None}
        others = {i: name for i, name in enumerate(names) if i not in used and name}
        layout, columns = _layout(table, others)
        roles = {role: index for role, index in chosen.items() if index is not None} | columns
        for index in roles.values():
            check_once(table, index)
        frame = table.columns(**roles).collect()
        blank = frame["blank"].to_list()
        cells = {role: [_text(table, roles[role], cell) for cell in frame[role].to_list()] for role in roles}
        if layout == "wide" and not all(any(map(_is_number, cells[role])) for role in columns):
            raise _unknown_columns(table)
        if layout == "long" and "name" not in cells:
            raise InvalidInput(f"{table.name} has columns of actions and ranks, but none of experts; {FORMS}")
        rows = [
            (
                table.place(number).removeprefix(f"{table.name}, "),
                {role: column[number] for role, column in cells.items()},
            )
            for number, empty in enumerate(blank)
            if not empty and any(column[number] for column in cells.values())
        ]
    if layout == "long":
        return table.name, layout, _long(rows)
    if layout == "wide":
        labels = {role: names[index] for role, index in columns.items()}
        return table.name, layout, [_wide(place, row, labels) for place, row in rows]
    return table.name, layout, [_one(place, row) for place, row in rows]


def _named(column: str) -> str:
    """Return the words of a column name as one, without a final id."""
    words = words_of(column)
    return "".join(words[:-1] if len(words) > 1 and words[-1] == "id" else words)


def _only(table: Table, pattern: str) -> int | None:
    """Return the column whose name matches a pattern, None if there is none."""
    matches = [i for i, name in enumerate(table.names) if re.fullmatch(pattern, _named(name))]
    if len(matches) > 1:
        first, second = (table.names[i] for i in matches[:2])
        raise InvalidInput(f"columns {first!r} and {second!r} of {table.name} have the same meaning; rename one")
    return matches[0] if matches else None


def _layout(table: Table, others: Mapping[int, str]) -> tuple[str, dict[str, int]]:
    """Return the layout, and its columns by role: "action" and "rank", "ordering", ranks from "1" on, or "action 3"."""
    columns = list(others.values())
    actions, ranks = like(columns, "action"), [name for name in columns if _named(name) in RANKS]
    if len(actions) == 1 and len(ranks) == 1:
        index = {name: i for i, name in others.items()}
        return "long", {"action": index[actions[0]], "rank": index[ranks[0]]}
    places = {}
    for i, name in others.items():
        if match := PLACE.fullmatch(name.lower()) or PLACES.fullmatch(name.lower()):
            places[int(match[1] or match[2])] = i
    if len(places) > 1 and sorted(places) == list(range(1, len(places) + 1)):
        return "rankings", {str(rank): places[rank] for rank in sorted(places)}
    texts = [i for i, name in others.items() if re.fullmatch(TEXTS, _named(name))]
    if len(texts) == 1 or len(others) == 1:
        return "text", {"ordering": texts[0] if texts else next(iter(others))}
    if len(others) > 1:
        return "wide", {f"action {i}": i for i in others}
    raise _unknown_columns(table)


def _unknown_columns(table: Table) -> InvalidInput:
    listed = ", ".join(repr(name) for name in table.names[:10])
    return InvalidInput(f"the columns of {table.name} ({listed}) are not those of a table of experts; {FORMS}")


def _text(table: Table, index: int, cell: Any) -> str:
    """Return a cell as text without surrounding space; missing cells are empty."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        raise InvalidInput(f"column {table.names[index]!r} of {table.name} must hold text or numbers, got {cell!r}")
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _share(text: str) -> tuple[float, list[str]]:
    """Return a share and its problems.

    >>> _share("40%"), _share("0,4")[1]
    ((0.4, []), ["share must be a number from 0 on, got '0,4'; write 0.4"])
    """
    number = text.removesuffix("%").strip()
    try:
        share = float(number)
    except ValueError:
        share = math.nan
    if 0 <= share <= validate.MAX_ABS_VALUE:
        return share / 100.0 if text.endswith("%") else share, []
    remedy = f"; write {number.replace(',', '.')}" if comma_hint(number) else ""
    return 0.0, [f"share must be a number from 0 on, got {validate.short_repr(text)}{remedy}"]


def _labels(tiers: Sequence[Sequence[str]]) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """Return valid labels, and the problems of the others."""
    problems = []
    for tier in tiers:
        for label in tier:
            try:
                validate.as_label(label, "an action")
            except InvalidInput as error:
                problems.append(str(error))
    return tuple(map(tuple, tiers)), problems


def _one(place: str, row: Mapping[str, str]) -> Expert:
    """Return the expert of a row with an ordering, or with one column per rank, where = separates equal actions."""
    if "ordering" in row:
        split, problems = split_ordering(row["ordering"])
    else:
        filled = [row[role] for role in row if role.isdigit() and row[role]]
        parts = [split_text(cell) for cell in filled]
        problems = [problem for _, found in parts for problem in found]
        if not filled:
            problems.append("no action is ranked")
        if nested := [cell for cell, (tiers, _) in zip(filled, parts, strict=True) if len(tiers) > 1]:
            problems.append(f"{validate.short_repr(nested[0])} holds >, but each rank has its own column")
        split = [tier for tiers, _ in parts for tier in tiers]
    tiers, wrong = _labels(split)
    return _expert(place, row.get("name"), row.get("share"), tiers, [*problems, *wrong])


def _wide(place: str, row: Mapping[str, str], labels: Mapping[str, str]) -> Expert:
    """Return the expert of a row with the rank of each action; actions without a rank are not ranked."""
    given = {label: row[role] for role, label in labels.items() if row[role]}
    problems = [
        f"rank of {label!r} must be a number, got {validate.short_repr(cell)}"
        for label, cell in given.items()
        if not _is_number(cell)
    ]
    tiers: list[list[str]] = []
    if not problems:
        ranked: dict[float, list[str]] = {}
        for label, cell in given.items():
            ranked.setdefault(float(cell), []).append(label)
        tiers = [ranked[rank] for rank in sorted(ranked)]
        if not _are_ranks([rank for rank in sorted(ranked) for _ in ranked[rank]]):
            shown = validate.short_repr(", ".join(given.values()))
            problems.append(f"ranks must be 1 for the best action, 2 for the next, …, got {shown}")
    valid, wrong = _labels(tiers)
    return _expert(place, row.get("name"), row.get("share"), valid, [*problems, *wrong])


def _are_ranks(values: Sequence[float]) -> bool:
    """Return whether sorted numbers are ranks, with ties in any of the usual ways; scores usually are not.

    >>> [_are_ranks(values) for values in ([1, 1, 2], [1, 1, 3], [1.5, 1.5, 3], [2, 2, 3], [1, 2, 2, 3], [1, 3], [])]
    [True, True, True, True, True, False, False]
    """
    kinds: tuple[list[float], ...] = ([], [], [], [])
    for n, (_, group) in enumerate(groupby(values), start=1):
        size, before = len(list(group)), len(kinds[0])
        for kind, rank in zip(kinds, (n, before + 1, before + size, before + (size + 1) / 2), strict=True):
            kind.extend([rank] * size)
    return bool(values) and list(values) in kinds


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _expert(
    place: str, name: str | None, share: str | None, tiers: tuple[tuple[str, ...], ...], problems: Sequence[str]
) -> Expert:
    number, wrong = (None, []) if share is None else _share(share)
    missing = [] if name is None or name else ["the name of the expert is missing"]
    return Expert(place, name or None, number, tiers, [*missing, *problems, *wrong], share_text=share or "")


def _long(rows: Sequence[tuple[str, Mapping[str, str]]]) -> list[Expert]:
    """Return the experts of rows with an action and its rank each; actions without a rank are not ranked."""
    by_name: dict[str, list[tuple[str, Mapping[str, str]]]] = {}
    for place, row in rows:
        by_name.setdefault(row["name"], []).append((place, row))
    experts = []
    for name, same in by_name.items():
        ranked: dict[float, list[str]] = {}
        problems: list[str] = []
        for place, row in same:
            try:
                rank = float(row["rank"] or "inf")
            except ValueError:
                rank = math.nan
            if not row["action"]:
                problems.append(f"the action is missing ({place})")
            elif math.isnan(rank):
                problems.append(f"rank must be a number, got {validate.short_repr(row['rank'])} ({place})")
            elif math.isfinite(rank):
                ranked.setdefault(rank, []).append(row["action"])
        shares = {row["share"] for _, row in same if "share" in row}
        if len(shares - {""}) > 1:
            problems.append(f"the share differs between rows: {', '.join(sorted(shares - {''}))}")
        share = max(shares) if shares else None
        tiers, wrong = _labels([ranked[rank] for rank in sorted(ranked)])
        experts.append(_expert(same[0][0], name, share, tiers, [*problems, *wrong]))
    return experts
