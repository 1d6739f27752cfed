"""From tables of any size to a log in files: rows go to buckets of people, each is sorted, and blocks are written.

Nothing but labels, counts per person and one bucket is in memory at a time. What is read, refused and left out is what
`read_ratings` reads, refuses and leaves out, in the same order: repeats, then people, then actions with few ratings.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from lpbandits import validate
from lpbandits.errors import InvalidInput, door
from lpbandits.files.arrays import Spill, read_arrays, write_arrays
from lpbandits.files.places import as_path
from lpbandits.files.unpacking import temporary
from lpbandits.kernels.sorting import order_by
from lpbandits.limits import most_bytes
from lpbandits.parallel import Progress
from lpbandits.recovery.codes import Codes
from lpbandits.recovery.parted import BlockWriter, PartedRatings
from lpbandits.recovery.rankings import by_place
from lpbandits.recovery.rating_files import Source, open_source, rows_in
from lpbandits.recovery.ratings import Ratings
from lpbandits.recovery.read import Reading, nothing_left, read_ratings, rows_of, unreadable
from lpbandits.recovery.repeats import one_each, repeat_error
from lpbandits.typing import FloatArray, Int32Array, IntArray

IN_MEMORY = 100
"""Bytes that each rating of a log in memory takes while it is read and fitted, or of a bucket while it is sorted."""

LARGEST, SMALLEST = 2**24, 2**18
"""Ratings of a bucket."""

MOST_BUCKETS = 500
"""Files that are open at a time."""

MOST_SHOWN = 2**20
"""Rows that repeat others after which no more are looked for."""

BATCH = 2**21
"""Rows that are read at a time."""

ROW = [("row", "i8"), ("person", "i4"), ("action", "i4"), ("rating", "f8")]


def fits_in(rows: int, max_memory: int | None) -> bool:
    """Return whether a log of so many ratings is best held in memory.

    >>> fits_in(10**6, 10**9), fits_in(10**8, 10**9)
    (True, False)
    """
    return rows * IN_MEMORY <= (most_bytes() if max_memory is None else max_memory)


@contextlib.contextmanager
def part_ratings(
    source: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame",
    *,
    folder: "str | os.PathLike[str] | None" = None,
    max_memory: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Iterator[PartedRatings]:
    r"""Read a log that may be larger than the memory into files, which are there for as long as the context is.

    Parameters
    ----------
    source
        A Parquet file, a folder or pattern of many ("ratings/*.parquet"), or whatever else `read_ratings` takes.
    folder
        Where the parts are put, in a folder of their own: 24 bytes a rating for a while, then 12. Workers on
        other machines must see it. By default a temporary one.
    max_memory
        Bytes to keep below; by default three quarters of the machine's.
    reading
        Further settings of `read_ratings`.

    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with part_ratings(rows) as log: log, log.block(0).rating.tolist()
    (<PartedRatings: 3 by 2 people of 2 actions>, [5.0, 3.0, 4.0])
    """
    asked = Reading.of(**reading)
    most = most_bytes() if max_memory is None else validate.as_count(max_memory, "max_memory", high=2**63 - 1)
    with temporary(None if folder is None else as_path(folder).absolute()) as place:
        with door("parting ratings"), open_source(source, asked.limit) as found:
            log = _parted(found, asked, place, most, progress)
        yield log


@contextlib.contextmanager
def open_ratings(
    source: "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | pl.DataFrame | pl.LazyFrame",
    *,
    max_memory: int | None = None,
    folder: "str | os.PathLike[str] | None" = None,
    files: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Iterator[Ratings | PartedRatings]:
    """Give a log in memory if it fits there, or else, or if `files` are asked for, in files; see `part_ratings`.

    >>> rows = pl.DataFrame({"person": [1, 1, 2], "action": [10, 20, 10], "rating": [5, 3, 4]})
    >>> with open_ratings(rows) as log: log
    <Ratings: 3 by 2 people of 2 actions>
    """
    most = None if max_memory is None else validate.as_count(max_memory, "max_memory", high=2**63 - 1)
    if files or folder is not None or not fits_in(rows_in(source), most):
        with part_ratings(source, folder=folder, max_memory=most, progress=progress, **reading) as log:
            yield log
        return
    _tell(progress, "read", 0, 1)
    found = read_ratings(source, **reading)
    _tell(progress, "read", 1, 1)
    yield found


def _parted(
    source: Source, reading: Reading, folder: Path, max_memory: int, progress: Progress | None
) -> PartedRatings:
    """Read, sort and write a log."""
    long, clean, dropped = rows_of(source, reading)
    with unreadable(source):
        counts = clean.group_by("person").len().collect(engine="streaming").sort("person")
        rows = int(counts["len"].sum())
        people, actions = Codes(counts["person"], rows), Codes(_distinct(clean, "action"), rows)
    if not rows:
        raise nothing_left(0, source, reading)
    size = max(min(max(max_memory // (4 * IN_MEMORY), SMALLEST), LARGEST), -(-rows // MOST_BUCKETS))
    ends = np.cumsum(counts["len"].to_numpy()) // size
    bucket_of = np.unique(ends, return_inverse=True)[1]  # of each person; one may have more ratings than a bucket has
    buckets = int(bucket_of[-1]) + 1
    places = [folder / f"sorted-{bucket:06}" for bucket in range(buckets)]
    tally = _Tally(len(actions.labels), len(people.labels))
    with Spill(folder, buckets, ROW) as spill:
        with unreadable(source):
            _scatter(clean, people, actions, bucket_of, spill, rows, progress)
        for bucket, place in enumerate(places):
            person, action, rating = _sorted(spill.take(bucket), reading, long.ranks, len(actions.labels), tally)
            write_arrays(place, person, action, rating)
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
    counts_left = _written(places, kept, folder, progress, tally)
    return PartedRatings(
        folder,
        counts_left,
        tuple(label for label, left in zip(people.labels, tally.left, strict=True) if left),
        tuple(label for label, left in zip(actions.labels, kept, strict=True) if left),
        {**dropped, **tally.dropped},
        layout=long.layout,
    )


def _distinct(clean: pl.LazyFrame, role: str) -> pl.Series:
    return clean.select(pl.col(role).unique()).collect(engine="streaming")[role]


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


class _Tally:
    """What is found on the way: ratings of actions, people and ratings left out, and rows that repeat others."""

    def __init__(self, actions: int, people: int) -> None:
        self.of_actions = np.zeros(actions, dtype=np.int64)
        self.left = np.zeros(people, dtype=np.bool_)
        self.ratings, self.repeated = 0, 0
        self.again: list[NDArray[Any]] = []
        self.dropped: dict[str, int] = dict.fromkeys(
            [
                "people_below_min_person",
                "ratings_of_people_below_min_person",
                "actions_below_min_action",
                "ratings_of_actions_below_min_action",
                "people_left_without_ratings",
            ],
            0,
        )

    def filtered(self, reading: Reading) -> NDArray[np.bool_]:
        """Return which actions have enough ratings, and count the others."""
        few = (self.of_actions > 0) & (self.of_actions < reading.min_action)
        self.dropped["actions_below_min_action"] = int(few.sum())
        self.dropped["ratings_of_actions_below_min_action"] = int(self.of_actions[few].sum())
        return (self.of_actions > 0) & ~few


def _sorted(
    rows: NDArray[Any], reading: Reading, ranks: bool, actions: int, tally: _Tally
) -> tuple[Int32Array, Int32Array, FloatArray]:
    """Return a bucket's ratings by person and action, of people who have enough of them."""
    rows = _changed(rows, reading, ranks, actions, tally)
    person, action = (np.ascontiguousarray(rows[name]) for name in ("person", "action"))
    first = int(person.min(initial=2**31 - 1))
    order = order_by(action, np.arange(len(rows)), actions)
    order = order_by(person - first, order, int(person.max(initial=0)) - first + 1)
    person, action, rating = person[order], action[order], rows["rating"][order]
    again = (person[1:] == person[:-1]) & (action[1:] == action[:-1])
    if again.any():
        tally.again.append(rows[order[np.append(again, False) | np.append(False, again)]])
    tally.ratings += len(rows)
    counts = np.bincount(person - first)
    few = (counts > 0) & (counts < reading.min_person)
    if few.any():
        tally.dropped["people_below_min_person"] += int(few.sum())
        tally.dropped["ratings_of_people_below_min_person"] += int(counts[few].sum())
        enough = ~few[person - first]
        person, action, rating = person[enough], action[enough], rating[enough]
    tally.of_actions += np.bincount(action, minlength=actions)
    return person, action, rating


def _changed(rows: NDArray[Any], reading: Reading, ranks: bool, actions: int, tally: _Tally) -> NDArray[Any]:
    """Return a bucket's rows without repeats, and with ratings for ranks."""
    if reading.duplicates == "error" and not ranks:
        return rows
    frame = pl.DataFrame({name: np.ascontiguousarray(rows[name]) for name, _ in ROW})
    if reading.duplicates != "error":
        frame, gone = one_each(frame, reading.duplicates)
        tally.repeated += gone
    if ranks:
        frame = by_place(frame, actions)
    changed = np.empty(len(frame), dtype=ROW)
    for name, _ in ROW:
        changed[name] = frame[name].to_numpy()
    return changed


def _written(
    places: list[Path], kept: NDArray[np.bool_], folder: Path, progress: Progress | None, tally: _Tally
) -> IntArray:
    """Write blocks of what is left of the sorted buckets; return how many ratings each person has."""
    number = (np.cumsum(kept) - 1).astype(np.int32)
    writer = BlockWriter(folder)
    for done, place in enumerate(places):
        person, action, rating = read_arrays(place, 3)
        place.unlink()
        before = len(_starts(person))
        if not kept.all():
            mine = kept[action]
            person, action, rating = person[mine], number[action[mine]], rating[mine]
        starts = _starts(person)
        tally.left[person[starts]] = True
        tally.dropped["people_left_without_ratings"] += before - len(starts)
        writer.add(np.diff(np.append(starts, len(person))), action, rating)
        _tell(progress, "write", done + 1, len(places))
    return writer.close()


def _starts(person: Int32Array) -> IntArray:
    """Return where each person's ratings begin, of people in order."""
    return np.flatnonzero(np.diff(person, prepend=-1))


def _repeat(source: Source, people: Codes, actions: Codes, tally: _Tally) -> InvalidInput:
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
