"""Stored results: benchmarks/results.json, from which the page and its charts are made."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.machine import about
from benchmarks.measure import Measured, Row, Value

PLACE = Path(__file__).parent / "results.json"
DIGITS = 4


class Results:
    """Groups by name, each with rows and tables, and a description of the machine and versions."""

    def __init__(self, about: dict[str, Any], groups: dict[str, Any]) -> None:
        self.about, self.groups = about, groups

    @classmethod
    def read(cls, place: Path = PLACE) -> "Results":
        found = json.loads(place.read_text(encoding="utf-8"))
        return cls(found["about"], found["groups"])

    @classmethod
    def begin(cls, place: Path = PLACE, now: dict[str, Any] | None = None) -> "Results":
        """Return the stored results, to which new groups are added; groups that are not measured again are kept.

        If they come from another machine or other versions, their description is stored with each group.
        """
        here = now or about()
        if not place.exists():
            return cls(here, {})
        last = cls.read(place)
        old = {"day": last.about["day"]} if alike(last.about, here) else {"day": last.about["day"], "about": last.about}
        return cls(here, {name: {**old, **group} for name, group in last.groups.items()})

    def add(self, name: str, measured: Measured, place: Path = PLACE) -> None:
        """Add a group and write the file, so that nothing is lost if the next group fails."""
        rows = [replace(row, value=rounded(row.value), spread=_both(row.spread)) for row in measured.rows]
        self.groups[name] = {
            "day": self.about["day"],
            "rows": [{**asdict(row), "met": row.met} for row in rows],
            "tables": {
                table.name: [{key: _kept(value) for key, value in record.items()} for record in table.records]
                for table in measured.tables
            },
        }
        text = json.dumps({"about": self.about, "groups": self.groups}, indent=1, ensure_ascii=False, allow_nan=False)
        place.write_text(text + "\n", encoding="utf-8")

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yield every measured number with the name of its group."""
        for group, found in self.groups.items():
            for one in found["rows"]:
                yield group, Row(**{key: value for key, value in one.items() if key != "met"})

    def row(self, group: str, what: str) -> Row:
        """Return a row by its group and its text.

        >>> Results.read().row("core", "simulator vs SciPy loop, m=5 k=10").unit
        '×'
        """
        return next(row for name, row in self.rows() if (name, row.what) == (group, what))

    def table(self, name: str) -> list[dict[str, Any]]:
        """Return a table of any group by name; empty if it was not measured."""
        for group in self.groups.values():
            if name in group["tables"]:
                found: list[dict[str, Any]] = group["tables"][name]
                return found
        return []


def alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two runs have the same machine and the same versions of the packages that both list.

    >>> alike({"cores": 2, "versions": {"a": "1"}}, {"day": "2", "cores": 2, "versions": {"a": "1", "b": "1"}})
    True
    """
    machines = [{key: value for key, value in run.items() if key not in ("day", "versions")} for run in (one, other)]
    shared = one["versions"].keys() & other["versions"].keys()
    return machines[0] == machines[1] and all(one["versions"][name] == other["versions"][name] for name in shared)


def rounded(value: float) -> float:
    """Round to four significant digits; more would be noise.

    >>> rounded(0.123456), rounded(98765.4)
    (0.1235, 98770.0)
    """
    return float(f"{value:.{DIGITS}g}")


def _both(spread: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if spread is None else (rounded(spread[0]), rounded(spread[1]))


def _kept(value: Value) -> Value:
    if isinstance(value, float):
        return rounded(value) if math.isfinite(value) else None
    return value
