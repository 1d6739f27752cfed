"""Definition of a figure (its cases, how to run a case, how to draw the chart), and storage of finished cases.

A finished case is stored as a table (Parquet) and a record (JSON) of its settings and the table's hash. Both are named
by the hash of everything that determines the case's numbers. The record is written first: a table without a matching
record is damaged, and is computed again.
"""

import hashlib
import io
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import polars as pl

from lpbandits import __version__
from lpbandits.datasets.movielens import fingerprint_of
from lpbandits.errors import FileFormatError
from lpbandits.io.atomic import as_parquet, write_bytes, write_json
from lpbandits.io.json import digest, read_json
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart

Group = Literal["paper", "beyond"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""Groups of figures: of the paper, and beyond it."""


Run: TypeAlias = Callable[[Json, int, int | None], pl.DataFrame]
"""A function of a case's settings, the seed and the number of threads that returns the case's table."""


@dataclass(frozen=True)
class Size:
    """Size of a run: people per state, rounds, and draws of the orderings (None: the figure's number)."""

    people: int = 50
    rounds: int = 200
    draws: int | None = None
    quick: bool = False


FULL = Size()
QUICK = Size(people=10, draws=2, quick=True)


@dataclass(frozen=True)
class Case:
    """One setting of a figure; `settings` and the seed determine its numbers."""

    figure: str
    name: str
    settings: Json


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a reproduction.

    `plan(size, draws)` returns the settings of its cases by name, `run(settings, seed, threads)` the table of a case,
    and `chart(table)` the chart of the joined tables. A new `version` invalidates stored cases.
    """

    name: str
    title: str
    shows: str
    plan: Callable[[Size, int], dict[str, Json]]
    run: Run
    chart: Callable[[pl.DataFrame], Chart]
    version: int = 1
    draws: int = 5
    """Default number of draws of the orderings, enough to settle the paper's claims."""
    group: Group = "paper"
    data: str | None = None
    """MovieLens dataset that the figure needs."""

    @property
    def data_hash(self) -> str | None:
        """Hash of the figure's dataset."""
        return None if self.data is None else fingerprint_of(self.data)

    def cases(self, size: Size) -> list[Case]:
        """Return the cases at a size."""
        plan = self.plan(size, self.draws if size.draws is None else size.draws)
        return [Case(self.name, name, settings) for name, settings in plan.items()]


def case_path(folder: Path, figure: Figure, case: Case, seed: int) -> Path:
    """Return the path of a case's table."""
    return folder / f"{figure.name}-{digest(_identity(figure, case, seed))[:16]}.parquet"


def store_case(folder: Path, figure: Figure, case: Case, seed: int, table: pl.DataFrame, seconds: float) -> None:
    """Write a case's record and its table."""
    path, data = case_path(folder, figure, case, seed), as_parquet(table)
    record = {**_identity(figure, case, seed), "sha256": hashlib.sha256(data).hexdigest(), "seconds": seconds}
    write_json(path.with_suffix(".json"), record)
    write_bytes(path, data)


def load_case(folder: Path, figure: Figure, case: Case, seed: int) -> pl.DataFrame | str | None:
    """Return the table of a case, None if there is none, or a message if it does not match its record."""
    path = case_path(folder, figure, case, seed)
    if not path.is_file():
        return None
    data = path.read_bytes()
    try:
        record = read_json(path.with_suffix(".json"))
    except FileFormatError:
        record = None
    if not isinstance(record, dict) or record.get("sha256") != hashlib.sha256(data).hexdigest():
        return f"{path.name} does not match the hash in its record"
    return pl.read_parquet(io.BytesIO(data))


def _identity(figure: Figure, case: Case, seed: int) -> Json:
    """Return everything that determines a case's numbers, including the hash of its data."""
    return {
        "format": "lpbandits-case",
        "version": 1,
        **asdict(case),
        "figure_version": figure.version,
        "seed": seed,
        "data": figure.data_hash,
        "lpbandits": __version__,
    }
