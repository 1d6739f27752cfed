"""The Parquet files that a log is in: those of a list, a folder or a pattern, and whether each of them is whole."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from lpbandits.data.columns import check_width
from lpbandits.errors import InvalidInput, reason
from lpbandits.io.compressed import Limit
from lpbandits.io.parquet import size_of

AGAIN = "it may be cut short or damaged: copy or download it again"

DEEPEST = 3
"""Folders in folders, such as year=2024/month=5/day=1, in which files are looked for to give a hint."""


class Part(NamedTuple):
    """One Parquet file of a log: where it is, what to call it, and how many rows it says that it has."""

    path: Path
    name: str
    rows: int


def several(place: Path) -> list[Path]:
    """Return the Parquet files that a folder or a pattern stands for, by name; none if it is one file, or is not there.

    Of a folder these are the files right in it. Names that begin with a point are passed over, as a shell does.
    """
    try:
        if place.is_dir():
            return as_files(in_folder(place), str(place))
        if place.exists() or not glob.has_magic(str(place)):
            return []
        found = sorted(set(_matching(place)))  # '**/**' meets a file more than once
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"cannot read {str(place)[:80]!r}: {reason(error)}") from None
    if not found:
        raise InvalidInput(
            f"no file matches {str(place)!r}; give a pattern of Parquet files, such as 'ratings/*.parquet'"
        )
    return as_files(found, str(place))


def in_folder(folder: Path) -> list[Path]:
    """Return what is called Parquet right in a folder, by name."""
    inside = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in inside if path.suffix.lower() == ".parquet")


def _matching(pattern: Path) -> list[Path]:
    """Return what matches a pattern; folders that are there count as they are called, also 'of [all] people'."""
    start, rest = Path(pattern.anchor), pattern.relative_to(pattern.anchor).parts
    while (start / rest[0]).exists():
        start, rest = start / rest[0], rest[1:]
    return [start / name for name in glob.iglob(str(Path(*rest)), root_dir=start, recursive=True)]  # noqa: PTH207 - `Path.glob` takes hidden files too


def as_files(paths: Sequence[Path], name: str) -> list[Path]:
    """Return paths that are all Parquet files, each once; refuse anything else among them, rather than pass over it."""
    seen: dict[Path, Path] = {}
    for path in paths:
        try:
            fault = _fault(path)
            if fault is None and (real := path.resolve()) in seen:
                fault = f"is the same file as {seen[real]}; leave one of them out"
            elif fault is None:
                seen[real] = path
        except OSError as error:  # a name too long, a folder that is closed to us
            fault = f"cannot be read: {reason(error, 'leave it out')}"
        if fault is not None:
            raise InvalidInput(f"{name} takes in {path}, which {fault}")
    return list(paths)


def _fault(path: Path) -> str | None:
    """Return what is wrong with a path that should be a Parquet file."""
    if path.is_dir():
        return "is a folder; name the files in it, by a pattern such as '**/part-*.parquet'"
    if path.suffix.lower() != ".parquet":
        return "is no Parquet file; of several files all must be Parquet"
    if path.is_file():
        return None
    if path.is_symlink():
        return "is a link to what is not there; mend or remove it"
    return "is not a file that can be read twice; leave it out" if path.exists() else "does not exist; leave it out"


def below(folder: Path) -> str | None:
    """Return a pattern for the Parquet files in folders of a folder; None if none are found."""
    here = glob.escape(str(folder))
    for depth in range(1, DEEPEST + 1):
        if next(glob.iglob(f"{here}/{'*/' * depth}*.parquet"), None) is not None:  # noqa: PTH207 - see `_matching`
            return f"{here}/**/*.parquet"
    return None


def called(paths: Sequence[Path]) -> list[str]:
    """Return how to call files so that each is known: by their names, and by the folders in which they differ.

    >>> called([Path("log/year=2023/a.parquet"), Path("log/year=2024/a.parquet")])
    ['year=2023/a.parquet', 'year=2024/a.parquet']
    """
    whole = [path.absolute() for path in paths]
    common = os.path.commonpath([path.parent for path in whole])
    return [path.relative_to(common).as_posix() for path in whole]


def checked_parts(paths: Sequence[Path], limit: Limit) -> tuple[Part, ...]:
    """Return what each file says of itself, if all of them are whole."""
    return tuple(checked_part(path, name, limit) for path, name in zip(paths, called(paths), strict=True))


def checked_part(path: Path, name: str, limit: Limit) -> Part:
    """Return what a file says of itself; refuse what is not whole, or says that it unpacks to more than it may."""
    try:
        size, packed = size_of(path), path.stat().st_size
    except OSError as error:
        raise InvalidInput(f"cannot read {name}: {reason(error, 'name another file')}") from None
    except ValueError as error:
        raise InvalidInput(f"{name} is not a whole Parquet file: {error}; {AGAIN}") from None
    check_width(size.columns, name)
    most = limit.of(packed)
    if max(size.unpacked, 24 * size.rows) > most:  # three columns of numbers
        raise InvalidInput(
            f"{name} says that it has {size.rows:,} rows and {size.unpacked:,} bytes, which is more than a file of its "
            f"size may unpack to ({most:,} bytes); if that is right, raise the limit: unpack_limit=… "
            "(--unpack-limit 50GB)"
        )
    return Part(path, name, size.rows)


def damaged(parts: Sequence[Part], faults: tuple[type[BaseException], ...]) -> str | None:
    """Return which of several files cannot be read, and why, by going through them slowly; None if all can."""
    for part in parts:
        try:
            for _ in pl.scan_parquet(part.path, glob=False, hive_partitioning=False).collect_batches():
                pass
        except faults as error:
            return f"cannot read {part.name}: {first_line(error)}; {AGAIN}"
    return None


def first_line(error: BaseException) -> str:
    """Return what a library says of an error, in one line."""
    return (str(error).splitlines() or [type(error).__name__])[0]
