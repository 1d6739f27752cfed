"""From tables of any size to a log in files: rows go to buckets of people, each is sorted, and blocks are written.

Nothing but labels, counts per person and one bucket is in memory at a time. What is read, refused and left out is what
`read_ratings` reads, refuses and leaves out, in the same order: repeats, then people, then actions with few ratings.
"""

import contextlib
import inspect
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.arrays import Scratch, Spill, most_open
from lpbandits.data.buckets import ROW, Tally, sorted_rows
from lpbandits.data.chunked import BlockWriter, ChunkedRatings
from lpbandits.data.codes import Codes
from lpbandits.data.duplicates import repeat_error
from lpbandits.data.memory import BYTES_PER_PROCESS, BYTES_PER_READER, people_size, round_up
from lpbandits.data.ratings import Ratings
from lpbandits.data.reader import Reading, nothing_left, read_ratings, rows_of, unreadable
from lpbandits.data.sources import Source, open_source, rows_in
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.limits import check_resources, memory_limit
from lpbandits.progress import Progress
from lpbandits.text import size_text
from lpbandits.typing import Int32Array, IntArray, Label

IN_MEMORY = 100
"""Bytes that each rating of a log in memory takes while it is read and fitted, or of a bucket while it is sorted."""

ON_DISK = 24
"""Bytes that each rating takes in a bucket; in a block it takes half."""

LARGEST, SMALLEST = 2**24, 2**18
"""Ratings of a bucket."""

MOST_BUCKETS = 500
"""Files that are open at a time, or fewer, where the system allows fewer."""

MOST_SHOWN = 2**20
"""Rows that repeat others after which no more are looked for."""

BATCH = 2**18
"""Rows that are read at a time: more of them take more memory and no less time."""


def fits_in(rows: int, most: int) -> bool:
    """Return whether a log of so many ratings is best held in so much memory: also if parting it would take as much.

    >>> fits_in(10**6, 10**9), fits_in(10**7, 10**9), fits_in(10**6, 10**8)
    (True, False, True)
    """
    return BYTES_PER_READER + rows * IN_MEMORY <= most or BYTES_PER_PROCESS + rows * IN_MEMORY <= BYTES_PER_READER


@contextlib.contextmanager
def spill_ratings(
    source: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame",
    *,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Iterator[ChunkedRatings]:
    r"""Read a log that may be larger than the memory into files, which are there for as long as the context is.

    Parameters
    ----------
    source
        A Parquet file, a folder or pattern of many ("ratings/*.parquet"), or whatever else `read_ratings` takes.
    scratch
        Folder in which the parts are put, in a folder of their own: 24 bytes a rating for a while, then 12. Workers on
        other machines must see it. By default that of temporary files.
    max_memory
        What to keep below, such as "8GB", or a number of bytes; by default three quarters of the machine's.
    reading
        Further settings of `read_ratings`.

    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with spill_ratings(rows) as log: log, log.block(0).rating.tolist()
    (<ChunkedRatings: 3 by 2 people of 2 actions>, [5.0, 3.0, 4.0])
    """
    asked, most = _reading("spill_ratings", reading), None if max_memory is None else _as_memory(max_memory)
    with temporary_folder(None if scratch is None else as_path(scratch).absolute()) as place:
        with translate_errors("parting ratings"), open_source(source, asked.limit) as found:
            log = _parted(found, asked, place, most, progress)
        yield log


@contextlib.contextmanager
def open_ratings(
    source: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame",
    *,
    max_memory: int | str | None = None,
    scratch: "str | os.PathLike[str] | None" = None,
    files: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Iterator[Ratings | ChunkedRatings]:
    """Give a log in memory if it fits there, or else, or if `files` or `scratch` are given, in files: `spill_ratings`.

    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with open_ratings(rows) as log: log
    <Ratings: 3 by 2 people of 2 actions>
    """
    _reading("open_ratings", reading)
    most = _as_memory(max_memory)
    unknown = isinstance(source, pl.LazyFrame) and max_memory is not None  # it may have any number of rows
    if validate.as_flag(files, "files") or scratch is not None or unknown or not fits_in(rows_in(source), most):
        with spill_ratings(source, scratch=scratch, max_memory=max_memory, progress=progress, **reading) as log:
            yield log
        return
    _tell(progress, "read", 0, 1)
    found = read_ratings(source, **reading)
    _tell(progress, "read", 1, 1)
    yield found


def _reading(function: str, settings: dict[str, Any]) -> Reading:
    """Return how a log is read, of settings that `read_ratings` has."""
    known = list(inspect.signature(read_ratings).parameters)[1:]  # all but the source
    for name in settings:
        if name not in known:
            raise InvalidInput(
                f"{function} has no setting {validate.short_repr(name)}; it has those of read_ratings: {', '.join(known)}"
                + validate.did_you_mean(name, known)
            )
    return Reading.of(**settings)


def _as_memory(given: int | str | None) -> int:
    """Return a limit of memory, in which a table can be read."""
    if given is None:
        return memory_limit()
    most = validate.as_bytes(given, "max_memory")
    if most < BYTES_PER_READER:
        raise InvalidInput(
            f"max_memory is {size_text(most)}, but whatever its size, reading a log takes {round_up(BYTES_PER_READER)}; give "
            "that, or more (--max-memory)"
        )
    return most


def _parted(
    source: Source, reading: Reading, folder: Path, max_memory: int | None, progress: Progress | None
) -> ChunkedRatings:
    """Read, sort and write a log."""
    long, clean, dropped = rows_of(source, reading)
    with unreadable(source):
        counts, of_actions = _counted(clean, ("person", "action"))
        rows = int(counts["len"].sum())
        people, actions = Codes(counts["person"]), Codes(of_actions["action"])
    if not rows:
        raise nothing_left(0, source, reading)
    size = _bucket_size(rows, people.labels, max_memory)
    ends = np.cumsum(counts["len"].to_numpy()) // size
    bucket_of = np.unique(ends, return_inverse=True)[1]  # of each person; one may have more ratings than a bucket has
    buckets = int(bucket_of[-1]) + 1
    names = [f"sorted-{bucket:06}" for bucket in range(buckets)]
    scratch = Scratch(folder, needed=ON_DISK * rows)
    tally = Tally(len(actions.labels), len(people.labels))
    with Spill(scratch, buckets, ROW) as spill:
        with unreadable(source):
            _scatter(clean, people, actions, bucket_of, spill, rows, progress)
        for bucket, name in enumerate(names):
            person, action, rating = sorted_rows(spill.take(bucket), reading, long.ranks, len(actions.labels), tally)
            scratch.write(name, person, action, rating)
            _tell(progress, "sort", bucket + 1, buckets)
            if sum(map(len, tally.again)) > MOST_SHOWN:
                break
    if tally.again:
        raise _repeat(source, people, actions, tally)
    if reading.duplicates != "error":
        dropped["repeated_ratings"] = tally.repeated
    kept = tally.filtered(reading)
    if not kept.any():
        raise nothing_left(int(tally.ratings), source, reading)
    counts_left = _written(names, kept, scratch, progress, tally)
    return ChunkedRatings.trusted(
        scratch,
        counts_left,
        tuple(label for label, left in zip(people.labels, tally.left, strict=True) if left),
        tuple(label for label, left in zip(actions.labels, kept, strict=True) if left),
        {**dropped, **tally.dropped},
        layout=long.layout,
    )


def _bucket_size(rows: int, people: Sequence[Label], max_memory: int | None) -> int:
    """Return how many ratings a bucket has: as few as files allow, and as memory asks for."""
    least = max(SMALLEST, -(-rows // min(MOST_BUCKETS, most_open())))
    held = people_size(people) + least * IN_MEMORY
    what = f"parting {rows:,} ratings by {len(people):,} people"
    if max_memory is None:
        check_resources(what, "use a machine with more memory, or fewer people", size=held)
        max_memory = memory_limit()
    elif BYTES_PER_READER + held > max_memory:
        raise InvalidInput(
            f"max_memory is {size_text(max_memory)}, but {what} takes {round_up(BYTES_PER_READER + held)}; give that, or more "
            "(--max-memory)"
        )
    return max(min((max_memory - BYTES_PER_READER - held) // IN_MEMORY, LARGEST), least)


def _counted(clean: pl.LazyFrame, roles: Sequence[str]) -> list[pl.DataFrame]:
    """Return how often each label of some columns occurs, by label: one pass, a batch at a time.

    polars' own grouping of a stream holds on to a gigabyte of a hundred million rows.
    """
    counts = [pl.DataFrame() for _ in roles]
    fresh: list[list[pl.DataFrame]] = [[] for _ in roles]
    for frame in clean.select(roles).collect_batches(chunk_size=BATCH, engine="streaming"):
        for place, role in enumerate(roles):
            fresh[place].append(frame.group_by(role).agg(pl.len().cast(pl.Int64)))
            if sum(map(len, fresh[place])) > max(len(counts[place]), BATCH):
                counts[place], fresh[place] = _added(counts[place], fresh[place], role), []
    return [_added(old, new, role).sort(role) for old, new, role in zip(counts, fresh, roles, strict=True)]


def _added(counts: pl.DataFrame, fresh: list[pl.DataFrame], role: str) -> pl.DataFrame:
    every = [frame for frame in (counts, *fresh) if len(frame)]
    if not every:
        return pl.DataFrame(schema={role: pl.Int64, "len": pl.Int64})
    return pl.concat(every).group_by(role).agg(pl.col("len").sum())


def _tell(progress: Progress | None, stage: str, done: int, total: int) -> None:
    if progress is not None:
        progress(stage, done, total)


def _scatter(
    clean: pl.LazyFrame,
    people: Codes,
    actions: Codes,
    bucket_of: IntArray,
    spill: Spill,
    rows: int,
    progress: Progress | None,
) -> None:
    """Put all rows into the buckets of their people."""
    done = 0
    for frame in clean.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        person = people.of(frame["person"])
        batch = np.empty(len(frame), dtype=ROW)
        batch["row"], batch["person"] = frame["row"].to_numpy(), person
        batch["action"], batch["rating"] = actions.of(frame["action"]), frame["rating"].to_numpy()
        spill.add(bucket_of[person], batch)
        done += len(frame)
        _tell(progress, "read", done, rows)


def _written(
    names: list[str], kept: NDArray[np.bool_], scratch: Scratch, progress: Progress | None, tally: Tally
) -> IntArray:
    """Write blocks of what is left of the sorted buckets; return how many ratings each person has."""
    number = (np.cumsum(kept) - 1).astype(np.int32)
    writer = BlockWriter(scratch)
    for done, name in enumerate(names):
        person, action, rating = scratch.take(name, 3)
        before = len(_starts(person))
        if not kept.all():
            mine = kept[action]
            person, action, rating = person[mine], number[action[mine]], rating[mine]
        starts = _starts(person)
        tally.left[person[starts]] = True
        tally.dropped["people_left_without_ratings"] += before - len(starts)
        writer.add(np.diff(np.append(starts, len(person))), action, rating)
        _tell(progress, "write", done + 1, len(names))
    return writer.close()


def _starts(person: Int32Array) -> IntArray:
    """Return where each person's ratings begin, of people in order."""
    return np.flatnonzero(np.diff(person, prepend=-1))


def _repeat(source: Source, people: Codes, actions: Codes, tally: Tally) -> InvalidInput:
    """Return the error for people who rated an action twice."""
    rows = np.concatenate(tally.again)
    frame = pl.DataFrame(
        {
            "row": rows["row"],
            "person": [people.labels[n] for n in rows["person"].tolist()],
            "action": [actions.labels[a] for a in rows["action"].tolist()],
        }
    )
    return repeat_error(frame, source)
