"""What a run found, as it is kept: benchmarks/results.json, from which the page and its charts are made."""

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.machine import about
from benchmarks.measure import Measured, Value

PLACE = Path(__file__).parent / "results.json"
DIGITS = 4


class Results:
    """Groups by name, each with its rows and tables, and what they were measured on."""

    def __init__(self, about: dict[str, Any], groups: dict[str, Any]) -> None:
        self.about, self.groups = about, groups

    @classmethod
    def read(cls, place: Path = PLACE) -> "Results":
        found = json.loads(place.read_text(encoding="utf-8"))
        return cls(found["about"], found["groups"])

    @classmethod
    def begin(cls, *, whole: bool, place: Path = PLACE) -> "Results":
        """Return an empty account for all groups; for some, the last one, if it was made on the same machine."""
        now = about()
        if whole or not place.exists():
            return cls(now, {})
        last = cls.read(place)
        if {**last.about, "day": ""} != {**now, "day": ""}:
            raise SystemExit("the last results are of another machine, or of other versions; run `make bench` for all")
        return cls(now, last.groups)

    def add(self, name: str, measured: Measured, place: Path = PLACE) -> None:
        """Put a group in its place and write everything: what is measured is not lost if the next group fails."""
        rows = [replace(row, value=rounded(row.value), spread=_both(row.spread)) for row in measured.rows]
        self.groups[name] = {
            "rows": [{**asdict(row), "met": row.met} for row in rows],
            "tables": {
                table.name: [{key: _kept(value) for key, value in record.items()} for record in table.records]
                for table in measured.tables
            },
        }
        text = json.dumps({"about": self.about, "groups": self.groups}, indent=1, ensure_ascii=False, allow_nan=False)
        place.write_text(text + "\n", encoding="utf-8")

    def table(self, name: str) -> list[dict[str, Any]]:
        """Return a table by name, whatever its group; empty if it was not measured."""
        for group in self.groups.values():
            if name in group["tables"]:
                found: list[dict[str, Any]] = group["tables"][name]
                return found
        return []


def rounded(value: float) -> float:
    """Return a number to four digits: more would be noise.

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
