"""Which column of a table is the person, the action and the rating."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from lpbandits import validate
from lpbandits.errors import InvalidInput

GUESSES = {
    "person": [
        "person",
        "user",
        "reader",
        "customer",
        "patient",
        "people",
        "uid",
        "member",
        "viewer",
        "voter",
        "guest",
    ],
    "action": ["action", "item", "movie", "book", "isbn", "product", "film", "song", "artist", "track", "dish", "arm"],
    "rating": ["rating", "score", "stars", "reward", "grade", "ratings", "bookrating", "value"],
}
"""Column names that are recognised, ignoring case, punctuation and a final 'id'."""

RANKS = ("rank", "ranking", "place", "position")
"""Column names that look like ranks, which are not guessed: who names them says that 1 is best."""

MOST_COLUMNS = 10_000
"""Columns of a table that is read."""

AGAIN = "_duplicated_"
"""What polars, and we, put between a column's name that stood before and a number."""

NONE: Mapping[str, str] = MappingProxyType({})

LAYOUTS = "if it is not one rating per row, say how it is laid out: layout=… (--layout wide, --layout rankings)"


def guess_columns(
    columns: Sequence[str],
    given: Mapping[str, str | None],
    name: str,
    roles: Sequence[str] = tuple(GUESSES),
    *,
    lacking: Mapping[str, str] = NONE,
) -> dict[str, str]:
    """Return which column is the person, the action and the rating (or the rank, if that is given), or some of these.

    Of several files, `columns` are those that all have; `lacking` has the others, each with a file without it.

    >>> guess_columns(["User-ID", "ISBN", "Book-Rating"], {}, "books.csv")
    {'person': 'User-ID', 'action': 'ISBN', 'rating': 'Book-Rating'}
    """
    chosen = {}
    last = "rating" if given.get("rank") is None else "rank"
    for role in (last if role == "rating" else role for role in roles):
        wanted = given.get(role)
        if wanted is None:
            chosen[role] = _guessed(columns, role, name, lacking)
        else:
            chosen[role] = named(columns, wanted, role, name, lacking=lacking)
    if len(set(chosen.values())) < len(chosen):
        raise InvalidInput(
            f"person, action and {last} must be three columns of {name}; chosen are {listed(chosen.values())}"
        )
    return chosen


def named(columns: Sequence[str], wanted: str, role: str, name: str, *, lacking: Mapping[str, str] = NONE) -> str:
    """Return the name of a column that must be there, and once."""
    wanted = validate.as_text(wanted, role)
    if wanted in lacking:
        raise lacks(lacking[wanted], wanted, f"for the {role}")
    if wanted not in columns:
        raise InvalidInput(
            f"{name} has no column {wanted!r} for the {role}; its columns are {listed(columns)}"
            + validate.did_you_mean(wanted, columns)
        )
    return _once(columns, wanted, name)


def lacks(file: str, column: str, why: str) -> InvalidInput:
    """Return the error for a file without a column that others have."""
    return InvalidInput(
        f"{file} has no column {column!r} {why}, which other files have; give it one, or leave the file out"
    )


def like(columns: Iterable[str], role: str) -> list[str]:
    """Return the columns that could be the person, the action or the rating, by their names."""
    return [column for column in columns if word_of(column) in GUESSES[role]]


def check_distinct(columns: Sequence[str], chosen: Iterable[int], name: str) -> None:
    """Refuse a table in which two columns have the same name, where every name counts."""
    for place in chosen:
        _once(columns, columns[place], name)


def check_width(columns: int, name: str) -> None:
    """Refuse a table with more columns than any log of ratings has."""
    if columns > MOST_COLUMNS:
        raise InvalidInput(
            f"{name} has {columns:,} columns; at most {MOST_COLUMNS:,} are read: give one rating per row, with a "
            "person, an action and a rating"
        )


def word_of(column: str) -> str:
    """Return what a column's name says, without case, punctuation and a final 'id'."""
    word = "".join(letter for letter in column.lower() if letter.isalnum())
    return word.removesuffix("id") if len(word) > 3 else word


def apart(columns: Iterable[str]) -> list[str]:
    """Return names of which each stands once: one that stood before is marked, as polars does.

    >>> apart(["tea", "jam", "tea"])
    ['tea', 'jam', 'tea_duplicated_0']
    """
    times: dict[str, int] = {}
    out = []
    for column in columns:
        out.append(column if column not in times else f"{column}{AGAIN}{times[column] - 1}")
        times[column] = times.get(column, 0) + 1
    return out


def listed(names: Iterable[str]) -> str:
    """Return names for a message."""
    return ", ".join(repr(name) for name in names)


def _once(columns: Sequence[str], column: str, name: str) -> str:
    if f"{column}{AGAIN}0" in columns:
        first, second = columns.index(column) + 1, columns.index(f"{column}{AGAIN}0") + 1
        raise InvalidInput(f"{name} has two columns {column!r}, number {first} and {second}; rename or remove one")
    return column


def _guessed(columns: Sequence[str], role: str, name: str, lacking: Mapping[str, str]) -> str:
    found = like(columns, role)
    if len(found) == 1:
        return _once(columns, found[0], name)
    elsewhere = [] if found else like(lacking, role)
    if elsewhere:
        raise lacks(lacking[elsewhere[0]], elsewhere[0], f"for the {role}")
    why = "no column" if not found else f"{len(found)} columns ({listed(found)})"
    raise InvalidInput(
        f"{why} of {name} could be the {role}; its columns are {listed(columns)}: name one with {role}=… (--{role})"
        + (_rank_hint(columns) if role == "rating" else "")
        + (_header_hint(columns) or (f"; {LAYOUTS}" if not found else ""))
    )


def _rank_hint(columns: Sequence[str]) -> str:
    found = [column for column in columns if word_of(column) in RANKS]
    return f"; if {found[0]!r} holds ranks, 1 the best: rank={found[0]!r} (--rank {found[0]})" if found else ""


def _header_hint(columns: Sequence[str]) -> str:
    numeric = [column.replace(".", "", 1).lstrip("-").isdigit() for column in columns]
    data = numeric[:1] == [True] and 2 * sum(numeric) > len(columns)
    return "; the first line looks like data: add a header line" if data else ""
