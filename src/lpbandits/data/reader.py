"""Readers of ratings: `read_ratings` into memory, `spill_ratings` onto disk, `open_ratings` into either.

A log in memory is one bucket of people. A larger one is scattered to buckets on disk, of which each is sorted and
cleaned on its own; only labels, counts per person and one bucket are in memory at a time.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.data.blocks import largest_block
from lpbandits.data.chunked import ChunkedRatings
from lpbandits.data.cleaning import Cleaner, clean_rows
from lpbandits.data.columns.options import ReadOptions
from lpbandits.data.memory import (
    BYTES_PER_PROCESS,
    BYTES_PER_READER,
    BYTES_PER_TASTE_PAIR,
    memory_budget,
    people_size,
    round_up,
)
from lpbandits.data.ratings import Ratings, check_count, offsets_of
from lpbandits.data.sources import RatingsSource, open_table
from lpbandits.data.spill import Codes, Scratch, count_labels, write_blocks
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput, translate_errors
from lpbandits.io.compressed import temporary_folder
from lpbandits.io.paths import as_path
from lpbandits.limits import memory_limit
from lpbandits.progress import Progress
from lpbandits.text import size_text

T = TypeVar("T")

BYTES_PER_READ_RATING = 100
"""Bytes per rating of a log that is read and fitted in memory, or of a bucket that is sorted."""

MIN_BUCKET, MAX_BUCKET = 2**18, 2**24
"""Limits of the number of ratings per bucket."""

MAX_BUCKETS = 500
"""Maximum number of bucket files; the rows of one batch may be appended to all of them."""

BATCH = 2**18
"""Rows read at a time; more need more memory and are not faster."""


def read_ratings(
    source: RatingsSource,
    *,
    layout: str = "auto",
    person: str | None = None,
    action: str | None = None,
    rating: str | None = None,
    rank: str | None = None,
    time: str | None = None,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    duplicates: str = "error",
    missing: str = "skip",
    lower_is_better: bool = False,
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
        Names of the columns; by default guessed from the header. Wide tables and rankings have only a person column,
        by default the first.
    rank : str
        Name of a column of ranks, 1 the best, instead of ratings. Ranks are converted to ratings by their order within
        a person: if the table has k actions, the person's best action gets k and the next one k − 1. Tied actions get
        the mean of these ratings.
    time : str
        Name of a column of times, for `duplicates="last"`: numbers, dates or ISO date-times, with or without a time
        zone (UTC).
    columns : list of str
        Columns of a wide table that are actions (or of rankings that are places); by default all but the person's.
    ignore : list of str
        Columns that are not read, such as "age" in a wide table.
    duplicates : {"error", "last", "mean"}
        A person's second rating of an action: raise, keep the rating of the latest `time` (without `time`, of the last
        row), or take the mean.
    missing : {"skip", "error"}
        A row without a rating in a long table: skip and count it, or raise.
    lower_is_better : bool
        Low ratings are good, such as pain scores. Ratings are negated, so that higher is better in `Ratings`, and
        models fitted to them have the field `lower_is_better`.
    decimal_comma : bool
        Read 4,5 as 4.5.
    min_person : int
        Keep people with at least this many ratings. People are filtered first, then actions, one pass each (as in the
        paper), so some people may end up with fewer.
    min_action : int
        Keep actions with at least this many ratings by the people kept.
    unpack_limit : int
        Maximum decompressed size in bytes; by default 200 times the size of the file, but at least 64 MiB and at most
        20 GB.

    Notes
    -----
    `Ratings.dropped` counts everything that was not kept. A missing label, a rating that is not a number, or a repeated
    pair of person and action raises an error; it lists all problems of the file, with their first rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name) / "log.csv"
    >>> _ = table.write_text("userId,movieId,rating\n1,10,4.5\n1,20,3\n2,10,5\n")
    >>> read_ratings(table, min_person=2)
    <Ratings: 2 by 1 person of 2 actions>
    >>> read_ratings(table, min_person=2).dropped["people_below_min_person"]
    1
    >>> folder.cleanup()
    >>> import polars as pl
    >>> wide = read_ratings(pl.DataFrame({"person": ["ann", "bo"], "tea": [5, None], "jam": [3, 4]}))
    >>> wide.layout, wide.actions, wide.rating.tolist()
    ('wide', ('jam', 'tea'), [3.0, 5.0, 4.0])
    """
    with open_ratings(
        source,
        files=False,
        layout=layout,
        person=person,
        action=action,
        rating=rating,
        rank=rank,
        time=time,
        columns=columns,
        ignore=ignore,
        duplicates=duplicates,
        missing=missing,
        lower_is_better=lower_is_better,
        decimal_comma=decimal_comma,
        min_person=min_person,
        min_action=min_action,
        unpack_limit=unpack_limit,
    ) as log:
        return cast("Ratings", log)


@contextlib.contextmanager
def open_ratings(
    source: RatingsSource,
    *,
    max_memory: int | str | None = None,
    scratch: "str | os.PathLike[str] | None" = None,
    files: bool | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Iterator[Ratings | ChunkedRatings]:
    """Read a log into memory if it fits, otherwise (or with `scratch`) onto disk as `spill_ratings` does.

    `files` decides instead: True for the disk, False for the memory.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with open_ratings(rows) as log: log
    <Ratings: 3 by 2 people of 2 actions>
    """
    settings, report = ReadOptions(**options), progress or (lambda *_: None)
    limit = None if max_memory is None else validate.as_bytes(max_memory, "max_memory")
    if limit is not None and limit < BYTES_PER_READER:
        raise InvalidInput(
            f"max_memory must be at least {round_up(BYTES_PER_READER)} to read a log of any size, got "
            f"{size_text(limit)}; raise it (--max-memory)"
        )
    with contextlib.ExitStack() as stack:
        with translate_errors("reading ratings"), open_table(source, settings) as table:
            n_rows = table.estimated_rows
            fits = limit is None if n_rows is None else _fits_in(n_rows, limit or memory_limit())
            spill = scratch is not None or not fits if files is None else validate.as_flag(files, "files")
            if spill:
                folder = stack.enter_context(temporary_folder(None if scratch is None else as_path(scratch).absolute()))
            report("read", 0, 1)
            clean = clean_rows(table, settings)
            with table.readable():
                rows = clean.rows if spill else clean.rows.collect(engine="streaming").lazy()
                people, actions = count_labels(rows, BATCH)
            codes = {"person": Codes(people["person"]), "action": Codes(actions["action"])}
            cleaner = Cleaner(table, settings, clean, codes["person"], codes["action"])
            if not spill and files is None and limit is not None and _fit_size(people, len(actions)) > limit:
                spill, folder = True, stack.enter_context(temporary_folder())
            frames: Iterable[pl.DataFrame] = (
                rows.collect_batches(chunk_size=BATCH, lazy=True, engine="streaming") if spill else [rows.collect()]
            )
            batches = (  # of `ROW` or `TIMED_ROW`
                frame.with_columns(pl.Series(role, code.of(frame[role])) for role, code in codes.items())
                .cast({"row": pl.Int64})
                .to_numpy(structured=True)
                for frame in frames
            )
            log: Ratings | ChunkedRatings
            if spill:
                log = _spill(table, batches, people, cleaner, folder, limit, report)
            else:
                check_count(int(people["len"].sum()))
                ((counts, action, rating),) = cleaner.clean(batches)
                labels = cleaner.people, cleaner.actions
                arrays = offsets_of(counts), action, rating
                known: Any = {
                    "lower_is_better": cleaner.lower_is_better,
                    "ranks": cleaner.ranks,
                    "person_column": cleaner.person_column,
                }
                log = Ratings.trusted(*arrays, *labels, cleaner.layout, cleaner.dropped, **known)
                report("read", 1, 1)
        yield log


def spill_ratings(
    source: RatingsSource,
    *,
    scratch: "str | os.PathLike[str] | None" = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> contextlib.AbstractContextManager[ChunkedRatings]:
    """Read a log that may be larger than memory into temporary files, deleted when the `with` block ends.

    Parameters
    ----------
    source
        A Parquet file, a folder or pattern of many ("ratings/*.parquet"), or any other source of `read_ratings`.
    scratch
        Folder for the files: at most 24 bytes per rating, 32 with `time`. Workers on other machines must share it. By
        default the folder for temporary files.
    max_memory
        Memory limit, such as "8GB" or a number of bytes; by default three quarters of the machine's memory.
    progress
        Called with (stage, done, total).
    options
        Options of `read_ratings`.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with spill_ratings(rows) as log: log, log.block(0).rating.tolist()
    (<ChunkedRatings: 3 by 2 people of 2 actions>, [5.0, 3.0, 4.0])
    """
    opened: Any = open_ratings(source, max_memory=max_memory, scratch=scratch, files=True, progress=progress, **options)
    return cast("contextlib.AbstractContextManager[ChunkedRatings]", opened)


def _fits_in(n_ratings: int, limit: int) -> bool:
    """Return whether a log is read into memory: if it fits, or if spilling it would need as much memory.

    >>> _fits_in(10**6, 10**9), _fits_in(10**7, 10**9), _fits_in(10**6, 10**8)
    (True, False, True)
    """
    size = n_ratings * BYTES_PER_READ_RATING
    return BYTES_PER_READER + size <= limit or BYTES_PER_PROCESS + size <= BYTES_PER_READER


def _fit_size(people: pl.DataFrame, n_actions: int) -> int:
    """Return the bytes that a fit takes if its log is in memory."""
    counts = people["len"].to_numpy()
    budget = memory_budget(people["person"], block=largest_block(counts), held=int(counts.sum()))
    return budget.used_bytes + BYTES_PER_TASTE_PAIR * n_actions**2


def _spill(
    table: Table,
    batches: Iterable[NDArray[Any]],
    people: pl.DataFrame,
    cleaner: Cleaner,
    folder: Path,
    max_memory: int | None,
    report: Progress,
) -> ChunkedRatings:
    """Scatter clean rows to buckets of people on disk, clean each bucket, and write the blocks."""
    n_ratings = int(people["len"].sum())
    size = _bucket_size(n_ratings, people["person"], max_memory)
    bucket_of = np.unique(np.cumsum(people["len"].to_numpy()) // size, return_inverse=True)[1]  # people are not split
    n_buckets, done = int(bucket_of[-1]) + 1, 0
    scratch = Scratch(folder, needed=cleaner.row_type.itemsize * n_ratings)
    with table.readable():
        for batch in batches:
            scratch.scatter(bucket_of[batch["person"]], batch)
            report("read", done := done + len(batch), n_ratings)

    def reported(stage: str, items: Iterable[T]) -> Iterator[T]:
        for number, item in enumerate(items, start=1):
            yield item
            report(stage, number, n_buckets)

    buckets = (
        scratch.pop(f"bucket-{number}", lambda path: np.fromfile(path, cleaner.row_type)) for number in range(n_buckets)
    )
    pieces = cleaner.clean(reported("sort", buckets), scratch.hold)
    return write_blocks(scratch, reported("write", pieces), cleaner)


def _bucket_size(rows: int, people: pl.Series, max_memory: int | None) -> int:
    """Return the ratings per bucket, from the memory limit and the number of files."""
    least = max(MIN_BUCKET, -(-rows // MAX_BUCKETS))
    held = BYTES_PER_READER + people_size(people) + least * BYTES_PER_READ_RATING
    if max_memory is not None and held > max_memory:
        raise InvalidInput(
            f"max_memory is {size_text(max_memory)}, but spilling {rows:,} ratings by {len(people):,} people needs at "
            f"least {round_up(held)}; raise it (--max-memory)"
        )
    return max(min(((max_memory or memory_limit()) - held) // BYTES_PER_READ_RATING, MAX_BUCKET), least)
