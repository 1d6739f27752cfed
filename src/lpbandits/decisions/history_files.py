"""`HistoryFile`: outcomes in a file, read in batches of people so that memory does not grow with their number."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from lpbandits.data.cleaning import check_rows
from lpbandits.data.columns import ReadOptions
from lpbandits.data.layouts import to_long
from lpbandits.data.sources import open_source
from lpbandits.data.tables import readable
from lpbandits.decisions.allowed import ActionIndex
from lpbandits.decisions.batches import DecisionBatch
from lpbandits.errors import InvalidInput
from lpbandits.io.atomic import write_stream
from lpbandits.io.compressed import temporary_folder
from lpbandits.rng import addresses_of
from lpbandits.typing import IntArray

ROWS = 1_000_000
"""Outcomes per batch."""

HASH_FACTOR = 3
"""Factor on the batch size where each batch takes a pass over the file."""

MAX_RUNS = 2**24
"""Maximum number of runs (rows of one person in succession) that `is_grouped` remembers."""


@dataclass(frozen=True)
class HistoryFile:
    """A table of outcomes: one person, action and reward per row."""

    table: pl.LazyFrame
    rows: int
    actions: ActionIndex
    text: bool
    """Whether people are labelled by text rather than whole numbers."""

    def with_text(self) -> "HistoryFile":
        """Return the file with text labels of people."""
        table = self.table.with_columns(pl.col("person").cast(pl.String))
        return HistoryFile(table, self.rows, self.actions, text=True)

    def batches(self, size: int) -> Iterator[DecisionBatch]:
        """Yield all people with all their outcomes, about `size` outcomes at a time."""
        if self.rows > size and self.is_grouped(size):
            yield from self._batches_in_order(size)
        else:
            yield from self._batches_by_hash(size)

    def is_grouped(self, size: int) -> bool:
        """Return whether the rows of each person are contiguous; False if that takes too much memory to tell."""
        hashes: list[IntArray] = []
        last = None
        runs = 0
        ascending = True
        for start in range(0, self.rows, size):
            people = self.table.slice(start, size).select("person").collect().to_series()
            begins = people.gather(run_starts(people))
            if begins.n_unique() < len(begins):
                return False
            if last is not None and people[0] == last:
                begins = begins.slice(1)
            ascending = ascending and people.is_sorted() and (last is None or people[0] >= last)
            last = people[-1]
            runs += len(begins)
            if runs > MAX_RUNS and not ascending:
                return False
            if runs <= MAX_RUNS:
                hashes.append(begins.hash().to_numpy().view(np.int64))
        if ascending:
            return True
        values = np.sort(np.concatenate(hashes))
        return bool((values[1:] != values[:-1]).all())

    def _batches_in_order(self, size: int) -> Iterator[DecisionBatch]:
        """Yield batches of a file with rows grouped by person."""
        rest: pl.DataFrame | None = None
        for start in range(0, self.rows, size):
            frame = self.table.slice(start, size).collect()
            if rest is not None:
                frame = pl.concat([rest, frame], rechunk=True)
            starts = run_starts(frame["person"])
            if start + size < self.rows:  # the last person may continue in the next slice
                rest = frame.slice(int(starts[-1]))
                frame, starts = frame.head(int(starts[-1])), starts[:-1]
            if len(frame):
                yield self._batch(frame, starts)

    def _batches_by_hash(self, size: int) -> Iterator[DecisionBatch]:
        """Yield batches of people with the same hash of the label, each by a pass over the file."""
        parts = -(-self.rows // (HASH_FACTOR * size))
        numbered = self.table.with_row_index("row")
        for part in range(parts):
            in_part = pl.col("person").hash() % parts == part
            frame = numbered.filter(in_part).collect(engine="streaming").sort("row")
            frame = frame.with_columns(pl.col("row").min().over("person").alias("first"))
            frame = frame.sort("first", maintain_order=True)
            if len(frame):
                starts = run_starts(frame["person"])
                row_order = frame["first"].gather(starts).to_numpy().astype(np.int64)
                yield self._batch(frame, starts)._replace(row_order=row_order)

    def _batch(self, frame: pl.DataFrame, starts: IntArray) -> DecisionBatch:
        people = frame["person"].gather(starts)
        return DecisionBatch(
            np.append(starts, len(frame)),
            self.actions.codes(frame["action"]),
            frame["reward"].to_numpy(),
            streams_of(people),
            people=people,
        )


def streams_of(people: pl.Series) -> IntArray:
    """Return the random stream of each person."""
    return addresses_of(people.to_numpy() if people.dtype == pl.Int64 else people.to_list())


def run_starts(people: pl.Series) -> IntArray:
    """Return the rows at which another person begins.

    >>> run_starts(pl.Series([4, 4, 7, 4])).tolist()
    [0, 2, 3]
    """
    changed = (people.slice(1) != people.slice(0, len(people) - 1)).to_numpy() if len(people) else np.empty(0, bool)
    return np.concatenate([np.zeros(min(len(people), 1), dtype=np.int64), np.flatnonzero(changed) + 1])


@contextlib.contextmanager
def open_history(path: str | Path, columns: Mapping[str, str | None], actions: ActionIndex) -> Iterator[HistoryFile]:
    """Check a table of outcomes, and open it.

    A single Parquet file is read in place; text and several files are first converted to a temporary Parquet file.
    """
    with open_source(path) as source, contextlib.ExitStack() as stack:
        if source.kind == "preflib":
            raise InvalidInput(f"{source.name} holds rankings; give one outcome per row: person, action and reward")
        with readable(source):
            clean, _ = check_rows(to_long(source, ReadOptions.of({"layout": "long", **columns})), source)
            table = clean.select("person", "action", pl.col("rating").alias("reward"))
            if source.kind != "parquet" or len(source.files) > 1:
                copy = stack.enter_context(temporary_folder()) / "history.parquet"
                write_stream(copy, table)
                table = pl.scan_parquet(copy, glob=False)
            rows = int(table.select(pl.len()).collect().item())
            text = table.collect_schema()["person"] == pl.String
        yield HistoryFile(table, rows, actions, text)
