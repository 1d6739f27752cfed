"""Decisions as tables and files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.data.tables import labels_as_series
from lpbandits.decisions.batches import DecisionArrays
from lpbandits.io.atomic import write_part, write_stream
from lpbandits.model import PreferenceModel
from lpbandits.typing import Int32Array, IntArray

ROW_ORDER = "row_order"


def decision_table(people: pl.Series, decisions: DecisionArrays, model: PreferenceModel) -> pl.DataFrame:
    """Return one row per person, null where there is no action or number."""
    labels = labels_as_series("action", model.actions)
    columns = {
        "person": people,
        "action": _labelled(labels, decisions.action),
        "probability": decisions.numbers[:, 0],
        "runner_up": _labelled(labels, decisions.runner_up),
        **dict(zip(("expected", "low", "high"), decisions.numbers[:, 1:].T, strict=True)),
    }
    if model.names is not None:
        names = pl.Series("name", model.names, dtype=pl.String)
        columns["action_name"] = _labelled(names, decisions.action)
        columns["runner_up_name"] = _labelled(names, decisions.runner_up)
    return pl.DataFrame(columns).with_columns(pl.col(pl.Float64).fill_nan(None))


def _labelled(labels: pl.Series, index: Int32Array) -> pl.Series:
    return labels.gather(pl.Series(np.maximum(index, 0)).set(pl.Series(index < 0), None))


class TableParts:
    """A table that is written in parts to a folder, and then merged into one file."""

    def __init__(self, folder: Path, window: int) -> None:
        self._folder = folder
        self._window = window
        self._in_order: list[Path] = []
        self._unordered: list[Path] = []

    def add(self, table: pl.DataFrame, row_order: IntArray | None = None) -> None:
        """Write a part; with `row_order`, ascending within the part, the final table is sorted by it."""
        if row_order is not None:
            table = table.with_columns(pl.Series(ROW_ORDER, row_order))
        paths = self._in_order if row_order is None else self._unordered
        path = self._folder / f"{len(self._in_order) + len(self._unordered)}.parquet"
        write_part(path, table)
        paths.append(path)

    def write(self, path: Path, rows: int) -> None:
        """Write one file: first the parts with `row_order` (less than `rows`), sorted, then the others."""
        merged = list(self._sorted(rows)) if self._unordered else []
        write_stream(path, pl.scan_parquet([*merged, *self._in_order]))

    def _sorted(self, rows: int) -> Iterator[Path]:
        """Yield parts in the order of their rows, each from one window of row numbers, to bound memory."""
        for start in range(0, rows, self._window):
            within = pl.col(ROW_ORDER).is_between(start, start + self._window - 1)
            table = pl.scan_parquet(self._unordered).filter(within).collect().sort(ROW_ORDER).drop(ROW_ORDER)
            if len(table):
                path = self._folder / f"sorted-{start}.parquet"
                write_part(path, table)
                yield path
