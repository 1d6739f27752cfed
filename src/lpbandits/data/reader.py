"""Readers of ratings: `read_ratings` into memory, `spill_ratings` onto disk, `open_ratings` into either.

A log in memory is one bucket of people. A larger one is scattered to buckets on disk, of which each is sorted and
cleaned on its own; only labels, counts per person and one bucket are in memory at a time.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lpbandits import validate
from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.cleaning import ROW, Cleaner, as_rows, clean_rows, empty_log
from lpbandits.data.columns import ReadOptions
from lpbandits.data.memory import BYTES_PER_PROCESS, BYTES_PER_READER, people_size, round_up
from lpbandits.data.ratings import Ratings, check_count
from lpbandits.data.sources import RatingsSource, Source, open_source
from lpbandits.data.spill import BlockWriter, Buckets, Codes, Scratch, count_labels, max_open_files
from lpbandits.data.tables import readable
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.limits import memory_limit
from lpbandits.progress import Progress
from lpbandits.text import size_text
from lpbandits.typing import Label

BYTES_PER_READ_RATING = 100
"""A log in memory while it is read and fitted, or a bucket while it is sorted."""

MIN_BUCKET, MAX_BUCKET = 2**18, 2**24
"""Ratings per bucket."""

MAX_BUCKETS = 500
"""Files open at a time; fewer if the system allows fewer."""

MAX_REPEATS = 2**20
"""Rows that repeat others after which the search for more stops."""

BATCH = 2**18
"""Rows read at a time: more need more memory and no less time."""


@translate_errors("reading ratings")
def read_ratings(
    source: RatingsSource,
    *,
    layout: str = "auto",
    person: str | None = None,
    action: str | None = None,
    rating: str | None = None,
    rank: str | None = None,
    duplicates: str = "error",
    decimal_comma: bool = False,
    min_person: int = 0,
    min_action: int = 0,
    unpack_limit: int | None = None,
) -> Ratings:
    r"""Read a log of ratings or rankings into memory.

    Parameters
    ----------
    source
        CSV or TSV (gzipped or not), Parquet, Excel (needs `fastexcel`), PrefLib rankings, a MovieLens folder or zip;
        several Parquet files, as a folder, a pattern ("ratings/*.parquet") or a list; or a polars or pandas frame.
    layout : {"auto", "long", "wide", "rankings"}
        `long`: one rating per row, further columns are ignored. `wide`: a row per person, a column per action, empty
        (or NaN) where there is no rating. `rankings`: a row per person, then the actions in order of preference.
        `auto` detects unambiguous layouts; `Ratings.layout` holds the result.
    person, action, rating : str
        Names of the columns; by default guessed from the header. In wide tables and rankings only the person has one,
        by default the first column.
    rank : str
        Name of a column of ranks, 1 the best, instead of ratings. Ranks, and the places of rankings, become ratings:
        with k actions the first gets k. Only their order within a person is meaningful.
    duplicates : {"error", "last", "mean"}
        A person's second rating of an action: raise, keep the last row, or take the mean.
    decimal_comma : bool
        Read 4,5 as 4.5.
    min_person : int
        Keep people with at least this many ratings. People are filtered first, then actions, one pass each (as in the
        paper), so some people may end up with fewer.
    min_action : int
        Keep actions with at least this many ratings by the people kept.
    unpack_limit : int
        Maximum decompressed size in bytes; by default 20 GB and 200 times the size of the file.

    Notes
    -----
    `Ratings.dropped` counts everything that was not kept. A missing or non-numeric value, or a repeated pair of person
    and action, raises an error that names the row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name) / "log.csv"
    >>> _ = table.write_text("userId,movieId,rating\n1,10,4.5\n1,20,3\n2,10,5\n")
    >>> read_ratings(table, min_person=2)
    <Ratings: 2 by 1 people of 2 actions>
    >>> read_ratings(table, min_person=2).dropped["people_below_min_person"]
    1
    >>> folder.cleanup()
    >>> wide = read_ratings(pl.DataFrame({"person": ["ann", "bo"], "tea": [5, None], "jam": [3, 4]}))
    >>> wide.layout, wide.actions, wide.rating.tolist()
    ('wide', ('jam', 'tea'), [3.0, 5.0, 4.0])
    """
    options = ReadOptions(
        layout=layout,
        person=person,
        action=action,
        rating=rating,
        rank=rank,
        duplicates=duplicates,
        decimal_comma=decimal_comma,
        min_person=min_person,
        min_action=min_action,
        unpack_limit=unpack_limit,
    )
    with open_source(source, options.limit) as table:
        return _read(table, options)


@contextlib.contextmanager
def open_ratings(
    source: RatingsSource,
    *,
    max_memory: int | str | None = None,
    scratch: "str | os.PathLike[str] | None" = None,
    files: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Iterator[Ratings | ChunkedRatings]:
    """Read a log into memory if it fits, otherwise (or with `files` or `scratch`) onto disk as `spill_ratings` does.

    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with open_ratings(rows) as log: log
    <Ratings: 3 by 2 people of 2 actions>
    """
    settings, limit = ReadOptions.of(options), _as_memory(max_memory)
    on_disk = validate.as_flag(files, "files") or scratch is not None
    report = progress or (lambda *_: None)
    with contextlib.ExitStack() as stack:
        with translate_errors("reading ratings"), open_source(source, settings.limit) as table:
            unknown = isinstance(table.frame, pl.LazyFrame) and max_memory is not None  # of any number of rows
            log: Ratings | ChunkedRatings
            if on_disk or unknown or not fits_in(table.estimated_rows, limit):
                folder = stack.enter_context(temporary_folder(None if scratch is None else as_path(scratch).absolute()))
                log = _spill(table, settings, folder, None if max_memory is None else limit, report)
            else:
                report("read", 0, 1)
                log = _read(table, settings)
                report("read", 1, 1)
        yield log


@contextlib.contextmanager
def spill_ratings(
    source: RatingsSource,
    *,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Iterator[ChunkedRatings]:
    r"""Read a log that may exceed the memory into files, which are deleted when the context ends.

    Parameters
    ----------
    source
        A Parquet file, a folder or pattern of many ("ratings/*.parquet"), or any other source of `read_ratings`.
    scratch
        Folder for the files: at most 24 bytes per rating. Workers on other machines must share it. By default the
        folder for temporary files.
    max_memory
        Memory limit, such as "8GB" or a number of bytes; by default three quarters of the machine's memory.
    progress
        Called with (stage, done, total).
    options
        Options of `read_ratings`.

    Examples
    --------
    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with spill_ratings(rows) as log: log, log.block(0).rating.tolist()
    (<ChunkedRatings: 3 by 2 people of 2 actions>, [5.0, 3.0, 4.0])
    """
    opened = open_ratings(source, max_memory=max_memory, scratch=scratch, files=True, progress=progress, **options)
    with opened as log:
        assert isinstance(log, ChunkedRatings)  # noqa: S101 - by files=True
        yield log


def fits_in(n_ratings: int, limit: int) -> bool:
    """Return whether a log is read into memory: if it fits, or if spilling it would need as much memory.

    >>> fits_in(10**6, 10**9), fits_in(10**7, 10**9), fits_in(10**6, 10**8)
    (True, False, True)
    """
    size = n_ratings * BYTES_PER_READ_RATING
    return BYTES_PER_READER + size <= limit or BYTES_PER_PROCESS + size <= BYTES_PER_READER


def _as_memory(max_memory: int | str | None) -> int:
    if max_memory is None:
        return memory_limit()
    limit = validate.as_bytes(max_memory, "max_memory")
    if limit < BYTES_PER_READER:
        raise InvalidInput(
            f"max_memory must be at least {round_up(BYTES_PER_READER)} to read a log of any size, got "
            f"{size_text(limit)}; raise it (--max-memory)"
        )
    return limit


def _read(source: Source, options: ReadOptions) -> Ratings:
    """Read a log as one bucket."""
    clean = clean_rows(source, options)
    with readable(source):
        frame = clean.rows.collect(engine="streaming")
    if frame.is_empty():
        raise empty_log(0, source, options)
    check_count(len(frame))
    people, actions = Codes(frame["person"]), Codes(frame["action"])
    cleaner = Cleaner(source, options, clean, people.labels, actions.labels)
    bucket = cleaner.sort(_encode(frame, people, actions))
    cleaner.finish()
    counts, action, rating = cleaner.select(*bucket)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ratings.trusted(
        offsets, action, rating, cleaner.people, cleaner.actions, clean.layout, dropped=cleaner.dropped
    )


def _encode(frame: pl.DataFrame, people: Codes, actions: Codes) -> Any:
    return as_rows(frame["row"], people.of(frame["person"]), actions.of(frame["action"]), frame["rating"])


def _spill(
    source: Source, options: ReadOptions, folder: Path, max_memory: int | None, report: Progress
) -> ChunkedRatings:
    """Read a log by buckets on disk, and write its blocks."""
    clean = clean_rows(source, options)
    with readable(source):
        counts, action_counts = count_labels(clean.rows, ("person", "action"), BATCH)
        people, actions = Codes(counts["person"]), Codes(action_counts["action"])
    rows = int(counts["len"].sum())
    if not rows:
        raise empty_log(0, source, options)
    size = _bucket_size(rows, people.labels, max_memory)
    bucket_of = np.unique(np.cumsum(counts["len"].to_numpy()) // size, return_inverse=True)[1]  # people are not split
    names = [f"sorted-{bucket:06}" for bucket in range(int(bucket_of[-1]) + 1)]
    scratch = Scratch(folder, needed=ROW.itemsize * rows)
    cleaner = Cleaner(source, options, clean, people.labels, actions.labels)
    with Buckets(scratch, len(names), ROW) as buckets:
        with readable(source):
            done = 0
            for frame in clean.rows.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
                batch = _encode(frame, people, actions)
                buckets.add(bucket_of[batch["person"]], batch)
                report("read", done := done + len(frame), rows)
        for bucket, name in enumerate(names):
            scratch.write(name, *cleaner.sort(buckets.take(bucket)))
            report("sort", bucket + 1, len(names))
            if cleaner.n_repeats > MAX_REPEATS:
                break
    cleaner.finish()
    writer = BlockWriter(scratch)
    for done, name in enumerate(names, start=1):
        writer.add(*cleaner.select(*scratch.take(name, 3)))
        report("write", done, len(names))
    return ChunkedRatings(
        folder=folder,
        scratch=scratch.most,
        counts=writer.close(),
        people=cleaner.people,
        actions=cleaner.actions,
        dropped=cleaner.dropped,
        layout=clean.layout,
    )


def _bucket_size(rows: int, people: Sequence[Label], max_memory: int | None) -> int:
    """Return the ratings per bucket, from the memory limit and the number of files that may be open."""
    least = max(MIN_BUCKET, -(-rows // min(MAX_BUCKETS, max_open_files())))
    held = people_size(people) + least * BYTES_PER_READ_RATING
    if max_memory is None:
        max_memory = memory_limit()
    elif BYTES_PER_READER + held > max_memory:
        raise InvalidInput(
            f"max_memory is {size_text(max_memory)}, but spilling {rows:,} ratings by {len(people):,} people needs at "
            f"least {round_up(BYTES_PER_READER + held)}; raise it (--max-memory)"
        )
    return max(min((max_memory - BYTES_PER_READER - held) // BYTES_PER_READ_RATING, MAX_BUCKET), least)
