"""Names and genres of actions, so that people read titles where files have numbers."""

import csv
from pathlib import Path

from lpbandits.errors import InvalidInput

_MEMBERS = ("movies.csv", "movies.dat")


def read_names(path: str | Path) -> dict[str, str]:
    r"""Return the name of each action's label (as text) from a table: label first, name second, other columns ignored.

    CSV with a header line, MovieLens' `movies.dat`, or a MovieLens folder that holds either.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> table = pathlib.Path(folder.name) / "movies.csv"
    >>> _ = table.write_text('movieId,title\n1,"Heat, The (1995)"\n')
    >>> read_names(folder.name)
    {'1': 'Heat, The (1995)'}
    >>> folder.cleanup()
    """
    names = {row[0]: row[1] for row in _rows(path) if len(row) > 1}
    if not names:
        raise InvalidInput(
            f"{path} has no row with a label and a name; give a CSV with label and name as its first columns"
        )
    return names


def read_genres(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the genres of each action's label from MovieLens' third column, where they are separated by '|'."""
    return {row[0]: tuple(row[2].split("|")) for row in _rows(path) if len(row) > 2}


def _rows(path: str | Path) -> list[list[str]]:
    place = Path(path)
    if place.is_dir():
        found = [place / name for name in _MEMBERS if (place / name).is_file()]
        if not found:
            raise InvalidInput(f"{place} holds no names: none of {', '.join(_MEMBERS)}; name the file itself")
        place = found[0]
    try:
        text = place.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {place}: {error.strerror or error}") from None
    if place.suffix == ".dat":
        return [line.split("::") for line in text.decode("latin-1").splitlines() if line]
    try:
        return list(csv.reader(text.decode("utf-8-sig").splitlines()))[1:]
    except UnicodeDecodeError:
        raise InvalidInput(f"{place} is not UTF-8 text; save it as UTF-8 CSV") from None
