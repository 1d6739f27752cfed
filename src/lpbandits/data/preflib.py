"""`PrefLibTable`: a PrefLib file of rankings.

Each line holds a number of voters and the order that they share, with ties in braces.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.data.tables import DAMAGED, Table, first_line
from lpbandits.errors import InvalidInput

MAX_ALTERNATIVES = 1_000_000
MAX_RANKS = 2**23
"""Maximum number of ranked alternatives, summed over all voters: a line may state any number of voters."""
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,9})")
_LINE = re.compile(r"([0-9]{1,18})\s*:\s*(.*)")
_NUMBER = r"\s*[0-9]{1,9}\s*"
_GROUP = rf"(?:{_NUMBER}|\s*\{{{_NUMBER}(?:,{_NUMBER})*\}}\s*)"
_ORDER = re.compile(rf"{_GROUP}(?:,{_GROUP})*")
_COUNTS = ("NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS")


class PrefLibTable(Table):
    """A PrefLib file; one that does not match its stated numbers of alternatives, voters and orders raises."""

    row_word = "line"
    remedy = DAMAGED

    def __init__(self, name: str, path: Path) -> None:
        first_line(name, path)
        super().__init__(name, pl.LazyFrame(), rows=path.stat().st_size // 16)
        self._path = path
        self._names: dict[int, str] = {}
        self._stated: dict[str, int] = {}

    def read(self) -> pl.DataFrame:
        """Return one row per voter and ranked alternative, with its rank as rating; voters are numbered from 1."""
        lines = []
        with self._path.open("rb") as raw:
            for row, line in enumerate(raw):
                place = self.place(row)
                try:
                    text = line.decode("utf-8-sig" if row == 0 else "utf-8").strip()
                except UnicodeDecodeError:
                    raise InvalidInput(f"{place}: it is not UTF-8 text; save the file as UTF-8") from None
                if text.startswith("#"):
                    self._read_metadata(text[1:], place)
                elif text:
                    lines.append((row, *self._read_order(text, place)))
        if not lines:
            raise InvalidInput(f"{self.name} has no orders; {DAMAGED}")
        orders = pl.DataFrame(lines, schema=["row", "voters", "alternative", "rank"], orient="row")
        labels = pl.Series(self._labels(orders), dtype=pl.String)
        size = sum(voters * len(ranks) for _, voters, _, ranks in lines)
        if size > MAX_RANKS:
            raise InvalidInput(
                f"the voters of {self.name} rank {size:,} alternatives in all; the limit is {MAX_RANKS:,}: divide all "
                "numbers of voters by a common factor"
            )
        people = orders[np.repeat(np.arange(len(orders)), orders["voters"])].with_row_index("person", offset=1)
        places = people.explode("alternative", "rank")
        return places.select(
            "row",
            pl.lit(False).alias("blank"),
            "person",
            labels.gather(places["alternative"] - 1).alias("action"),
            pl.col("rank").cast(pl.Float64).alias("rating"),
        )

    def _read_metadata(self, note: str, place: str) -> None:
        key, _, value = (part.strip() for part in note.partition(":"))
        named = _NAME.fullmatch(key)
        if named:
            alternative = int(named[1])
            if alternative in self._names:
                raise InvalidInput(f"{place}: alternative {alternative} has a name already; correct or remove the line")
            self._names[alternative] = value
        elif key in _COUNTS:
            if not re.fullmatch("[0-9]{1,18}", value):
                raise InvalidInput(f"{place}: {key} is {value[:40]!r}, not a whole number; {DAMAGED}")
            self._stated[key] = int(value)

    def _read_order(self, line: str, place: str) -> tuple[int, list[int], list[int]]:
        """Return the number of voters of a line, the alternatives that they rank, and their ranks."""
        match = _LINE.fullmatch(line)
        if match is None:
            old = "PrefLib files from before 2022 have a different format: download the current version"
            remedy = "correct or remove the line" if self._stated else old
            raise InvalidInput(
                f"{place}: {line[:40]!r} is not an order such as '12: 3,1,{{2,4}}' (12 voters, the best first, ties in "
                f"braces); {remedy}"
            )
        voters, text = int(match[1]), match[2]
        if voters == 0 or not text:
            raise InvalidInput(f"{place}: {line[:40]!r} has no voters, or ranks nothing; remove the line")
        if _ORDER.fullmatch(text) is None:
            raise InvalidInput(f"{place}: the order {text[:40]!r} is not numbers, with ties in braces; {DAMAGED}")
        groups = [(tied or single).split(",") for tied, single in re.findall(r"\{([^}]*)\}|([0-9]+)", text)]
        order = [int(alternative) for group in groups for alternative in group]
        again, count = Counter(order).most_common(1)[0]
        if count > 1:
            raise InvalidInput(
                f"{place}: alternative {again} is ranked twice; each may be ranked once: correct the line"
            )
        return voters, order, [rank for rank, group in enumerate(groups, start=1) for _ in group]

    def _labels(self, orders: pl.DataFrame) -> list[str]:
        """Return the label of each alternative; raise if the stated numbers or the suffix of the file do not match."""
        seen = set(orders["alternative"].explode()) | self._names.keys()
        n_alternatives = self._stated.get("NUMBER ALTERNATIVES", max(seen))
        actual = {
            "NUMBER ALTERNATIVES": len(self._names) if self._names else n_alternatives,
            "NUMBER VOTERS": sum(orders["voters"].to_list()),
            "NUMBER UNIQUE ORDERS": len(orders),
        }
        for key, number in self._stated.items():
            if number != actual[key]:
                raise InvalidInput(f"{self.name} says '{key}: {number}', but has {actual[key]:,}; {DAMAGED}")
        most = min(n_alternatives, MAX_ALTERNATIVES)
        for alternative in (min(seen), max(seen)):
            if not 1 <= alternative <= most:
                raise InvalidInput(
                    f"{self.name} has an alternative {alternative}; they are numbered from 1 to {most}: {DAMAGED}"
                )
        form = self.name.lower().removesuffix(".gz")[-3:]  # soc and toc are complete, soc and soi have no ties
        for row, _, _, ranks in orders.iter_rows():
            place, n_ranked = self.place(row), len(ranks)
            if form.endswith("c") and n_ranked < n_alternatives:
                raise InvalidInput(
                    f"{place}: it ranks {n_ranked} of {n_alternatives} alternatives, but .{form} files rank all; "
                    f"{DAMAGED}, or rename it to .{form[:-1]}i"
                )
            if form.startswith("s") and ranks[-1] < n_ranked:
                raise InvalidInput(f"{place}: it has ties, but .{form} files have none; rename it to .t{form[1:]}")
        labels = [self._names.get(i) or str(i) for i in range(1, max(seen) + 1)]
        label, count = Counter(labels).most_common(1)[0]
        if count > 1:
            raise InvalidInput(f"two alternatives of {self.name} are called {label!r}; rename one")
        return labels
