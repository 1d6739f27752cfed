"""Decisions as tables and files: written in pieces, and joined at the end."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.errors import InvalidInput
from lpbandits.evaluation.batch import Found
from lpbandits.files.places import as_path
from lpbandits.files.writing import check_place, write_stream, write_table
from lpbandits.model import PreferenceModel
from lpbandits.typing import Int32Array, Label

SUFFIXES = (".parquet", ".csv")


def labels_as_series(name: str, labels: Sequence[Label]) -> pl.Series:
    """Return labels as a column: whole numbers if all of them are, and fit; otherwise text.

    >>> labels_as_series("person", [1, "ann"]).to_list()
    ['1', 'ann']
    """
    if all(isinstance(label, int) and abs(label) < 2**63 for label in labels):
        return pl.Series(name, labels, dtype=pl.Int64)
    return pl.Series(name, [str(label) for label in labels], dtype=pl.String)


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


def as_table_place(path: str | Path) -> Path:
    """Return where decisions are written to, if they can be: a name that says in what form."""
    place = as_path(path)
    if place.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"--out is {str(place)!r}; give a name that ends in {' or '.join(SUFFIXES)}")
    check_place(place)
    return place


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
        write_table(place, table)
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
                write_table(place, table)
                yield place
