"""Decisions as tables and files: written in pieces, and joined at the end."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.data.tables import labels_as_series
from lpbandits.decisions.engine import Found
from lpbandits.io.atomic import write_part, write_stream
from lpbandits.model import PreferenceModel
from lpbandits.typing import Int32Array


def decision_table(people: pl.Series, found: Found, model: PreferenceModel) -> pl.DataFrame:
    """Return a row per person: action, chance, runner-up, expected reward and its interval; null where none is."""
    labels = labels_as_series("action", model.actions)
    columns = {
        "person": people,
        "action": _named(labels, found.action),
        "probability": found.numbers[:, 0],
        "runner_up": _named(labels, found.runner_up),
        **dict(zip(("expected", "low", "high"), found.numbers[:, 1:].T, strict=True)),
    }
    if model.names is not None:
        names = pl.Series("name", model.names, dtype=pl.String)
        columns |= {"action_name": _named(names, found.action), "runner_up_name": _named(names, found.runner_up)}
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _named(labels: pl.Series, index: Int32Array) -> pl.Series:
    return labels.gather(pl.Series(np.maximum(index, 0)).set(pl.Series(index < 0), None))


class Pieces:
    """A table that is written piece by piece to a folder, and then to one file.

    Pieces may have a column `first`, in whose order rows are then put: it rises in every piece.
    """

    def __init__(self, folder: Path, window: int) -> None:
        self._folder = folder
        self._window = window
        self._ordered: list[Path] = []
        self._apart: list[Path] = []

    def add(self, table: pl.DataFrame) -> None:
        """Write a piece."""
        pieces = self._apart if "first" in table.columns else self._ordered
        place = self._folder / f"{len(self._ordered) + len(self._apart)}.parquet"
        write_part(place, table)
        pieces.append(place)

    def write(self, path: Path, rows: int) -> None:
        """Join all pieces in one file: those with `first` in its order, which is below `rows`, then the others."""
        merged = [] if not self._apart else list(self._merged(rows))
        write_stream(path, pl.scan_parquet([*merged, *self._ordered]))

    def _merged(self, rows: int) -> Iterator[Path]:
        """Give pieces in the order of `first`, each of a window of rows: no more is held at a time."""
        for start in range(0, rows, self._window):
            mine = pl.col("first").is_between(start, start + self._window - 1)
            table = pl.scan_parquet(self._apart).filter(mine).collect().sort("first").drop("first")
            if len(table):
                place = self._folder / f"merged-{start}.parquet"
                write_part(place, table)
                yield place
