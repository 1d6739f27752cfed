"""Histories from a file, some people at a time: memory does not grow with the number of people."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from lpbandits.data.columns import guess_columns
from lpbandits.data.layouts import Wanted, to_long
from lpbandits.data.reader import clean_rows, label_expr
from lpbandits.data.sources import Source, find_fault, open_source
from lpbandits.errors import InvalidInput
from lpbandits.io.atomic import write_stream
from lpbandits.io.compressed import temporary_folder
from lpbandits.typing import IntArray

ROWS = 1_000_000
"""Outcomes that are held at a time."""

FEWER_PASSES = 3
"""How many times as many are held where each part takes a pass over the file."""

MOST_RUNS = 2**24
"""Changes of the person, from row to row, that are remembered to see whether rows of a person stand together."""


class Some(NamedTuple):
    """Some people with all their outcomes: their labels, where each one's begin and end, and the outcomes.

    `first` is the row of each person's first outcome, by which people are put in order at the end; None: they are.
    """

    people: pl.Series
    offsets: IntArray
    action: pl.Series
    reward: pl.Series
    first: pl.Series | None = None


@dataclass(frozen=True)
class HistoryFile:
    """A table of outcomes that can be read piece by piece: a person, an action and a reward per row."""

    path: Path
    columns: tuple[pl.Expr, pl.Expr, pl.Expr]
    rows: int
    text: bool
    """Whether people are called by text, and not by whole numbers."""

    def part(self, start: int, count: int) -> pl.DataFrame:
        """Return some rows."""
        return _scan(self.path).slice(start, count).select(self.columns).collect()

    def with_text(self) -> "HistoryFile":
        """Return the same with people called by text."""
        person, *others = self.columns
        return HistoryFile(self.path, (person.cast(pl.String), *others), self.rows, True)  # type: ignore[arg-type] # three

    def stand_together(self, size: int) -> bool:
        """Say whether all rows of each person stand one after another; where that would take too much, no."""
        seen: list[IntArray] = []
        before = None
        runs = 0
        rising = True
        for start in range(0, self.rows, size):
            people = _scan(self.path).slice(start, size).select(self.columns[0]).collect().to_series()
            begins = people.gather(run_starts(people))
            if begins.n_unique() < len(begins):
                return False
            if before is not None and people[0] == before:
                begins = begins.slice(1)
            rising = rising and people.is_sorted() and (before is None or people[0] >= before)
            before = people[-1]
            runs += len(begins)
            if runs > MOST_RUNS and not rising:
                return False
            if runs <= MOST_RUNS:
                seen.append(begins.hash().to_numpy().view(np.int64))
        if rising:
            return True
        marks = np.sort(np.concatenate(seen))
        return bool((marks[1:] != marks[:-1]).all())

    def people_in_turn(self, size: int) -> Iterator[Some]:
        """Give people as they come, if their rows stand together."""
        rest: pl.DataFrame | None = None
        for start in range(0, self.rows, size):
            frame = self.part(start, size)
            if rest is not None:
                frame = pl.concat([rest, frame], rechunk=True)
            starts = run_starts(frame["person"])
            if start + size < self.rows:  # the last person may go on
                rest = frame.slice(int(starts[-1]))
                frame, starts = frame.head(int(starts[-1])), starts[:-1]
            if len(frame):
                yield _some(frame, starts)

    def people_by_hash(self, size: int) -> Iterator[Some]:
        """Give people in parts by a hash of their label, each part in a pass over the file."""
        parts = -(-self.rows // (FEWER_PASSES * size))
        whole = _scan(self.path).select(self.columns).with_row_index("row")
        for part in range(parts):
            mine = pl.col("person").hash() % parts == part
            frame = whole.filter(mine).collect(engine="streaming").sort("row")
            frame = frame.with_columns(pl.col("row").min().over("person").alias("first"))
            frame = frame.sort("first", maintain_order=True)
            if len(frame):
                starts = run_starts(frame["person"])
                yield _some(frame, starts)._replace(first=frame["first"].gather(starts))

    def people(self, size: int) -> Iterator[Some]:
        """Give all people with all their outcomes, some at a time."""
        if self.rows <= size or not self.stand_together(size):
            yield from self.people_by_hash(size)
        else:
            yield from self.people_in_turn(size)


def _scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, hive_partitioning=False)  # a name is a name, also 'log[1].parquet'


def run_starts(people: pl.Series) -> IntArray:
    """Return the rows at which another person begins.

    >>> run_starts(pl.Series([4, 4, 7, 4])).tolist()
    [0, 2, 3]
    """
    changed = (people.slice(1) != people.slice(0, len(people) - 1)).to_numpy() if len(people) else np.empty(0, bool)
    return np.concatenate([np.zeros(min(len(people), 1), dtype=np.int64), np.flatnonzero(changed) + 1])


def _some(frame: pl.DataFrame, starts: IntArray) -> Some:
    return Some(frame["person"].gather(starts), np.append(starts, len(frame)), frame["action"], frame["reward"])


@contextlib.contextmanager
def open_history(path: str | Path, given: Mapping[str, str | None]) -> Iterator[HistoryFile]:
    """Check a table of outcomes, and give it to be read.

    Text, and several files, are first brought into a temporary Parquet file.
    """
    with open_source(path) as source, contextlib.ExitStack() as open_:
        if source.kind == "preflib":
            raise InvalidInput(
                f"{source.name} holds rankings, and a history is one outcome per row; give a person, an action and a "
                "reward"
            )
        try:
            clean, _ = clean_rows(to_long(source, Wanted("long", given)), source)
            text = clean.collect_schema()["person"] == pl.String
            columns = _direct(source, given, clean) if len(source.parts) == 1 else None
            place = source.path
            if columns is None:
                place = open_.enter_context(temporary_folder()) / "history.parquet"
                write_stream(place, clean.drop("row"))
                columns = (pl.col("person"), pl.col("action"), pl.col("rating").alias("reward"))
            rows = int(_scan(place).select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise InvalidInput(find_fault(source) or f"cannot read {source.name}: {first}; {source.remedy}") from None
        yield HistoryFile(place, columns, rows, text)


def _direct(
    source: Source, given: Mapping[str, str | None], clean: pl.LazyFrame
) -> tuple[pl.Expr, pl.Expr, pl.Expr] | None:
    """Return what to read of a Parquet file as it is; None where rewards are text."""
    schema = _scan(source.path).collect_schema()
    chosen = guess_columns(schema.names(), given, source.name)
    if not schema[chosen["rating"]].is_numeric():
        return None
    wanted = clean.collect_schema()
    person, action = (
        label_expr(chosen[role], schema[chosen[role]], whole=wanted[role] == pl.Int64).alias(role)
        for role in ("person", "action")
    )
    return person, action, pl.col(chosen["rating"]).cast(pl.Float64).alias("reward")
