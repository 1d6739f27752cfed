"""Names and genres of actions, read from a table and shown instead of labels."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lpbandits import validate
from lpbandits.errors import FileFormatError, InvalidInput, translate_errors
from lpbandits.io.json import read_bytes
from lpbandits.io.paths import as_path
from lpbandits.text import display
from lpbandits.typing import Label

MAX_BYTES = 2**27
"""Maximum size in bytes of a table of names."""

_MEMBERS = ("movies.csv", "movies.dat")


@translate_errors("reading names")
def read_names(path: str | Path) -> dict[str, str]:
    r"""Return names by label (as text) from a table: the label first, the name second, other columns ignored.

    Reads CSV with a header line, MovieLens' `movies.dat`, or a MovieLens folder with either.

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


@translate_errors("reading genres")
def read_genres(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Return genres by label from the third column of MovieLens, separated by '|'."""
    return {row[0]: tuple(row[2].split("|")) for row in _rows(path) if len(row) > 2}


@dataclass(frozen=True)
class Naming:
    """Result of `name_actions`: the names of all actions, None if no names were given or none matched."""

    names: tuple[str, ...] | None = None
    matched: int | None = None
    """Number of actions with a name; None if no names were given."""
    warnings: tuple[str, ...] = ()


def name_actions(actions: Sequence[Label], names: Mapping[str, str] | None) -> Naming:
    """Look up names by the labels of actions as text; without a name the label is kept.

    >>> name_actions([1, 7], {"1": "Heat"}).names, name_actions([1, 7], {"x": "Heat"}).warnings
    (('Heat', '7'), ("none of the 1 names belongs to an action: names have labels such as 'x', ...",))
    """
    if names is None:
        return Naming()
    if not isinstance(names, Mapping):
        raise InvalidInput(
            f"names must be a dict of names by label, got {validate.short_repr(names)}; use read_names(…)"
        )
    table = {}
    for label, name in names.items():
        text = str(validate.as_label(label, "a label of names"))
        table[text] = validate.as_text(name, f"names[{validate.short_repr(label)}]")
    texts = [str(label) for label in actions]
    matched = sum(text in table for text in texts)
    if matched:
        return Naming(tuple(table.get(text, text) for text in texts), matched)
    warning = (
        f"none of the {len(table):,} names belongs to an action: names have labels such as "
        f"{display(next(iter(table), ''))!r}, actions such as {display(actions[0])!r}; give a table with the "
        "labels of the actions in its first column"
    )
    return Naming(matched=0, warnings=(warning,))


def _rows(path: str | Path) -> list[list[str]]:
    place = as_path(path)
    if place.is_dir():
        members = [place / name for name in _MEMBERS if (place / name).is_file()]
        if not members:
            raise InvalidInput(f"{place} holds no names: none of {', '.join(_MEMBERS)}; name the file itself")
        place = members[0]
    try:
        text = read_bytes(place, MAX_BYTES)
    except FileFormatError as error:
        raise InvalidInput(f"{error}; name a file of labels and names") from None
    if place.suffix == ".dat":
        lines = text.decode("latin-1").split("\n")
        return [line.rstrip("\r").split("::") for line in lines if line.strip()]
    try:
        return list(csv.reader(io.StringIO(text.decode("utf-8-sig"), newline="")))[1:]
    except UnicodeDecodeError:
        raise InvalidInput(f"{place} is not UTF-8 text; save it as UTF-8 CSV") from None
    except csv.Error as error:
        raise InvalidInput(f"{place} is not a CSV of labels and names: {error}; correct or remove the line") from None
