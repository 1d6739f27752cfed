"""Which column of a table holds the person, the action and the rating: by the user's word, or by name."""

import csv
import io
import re
import shlex
from collections.abc import Collection, Iterable, Mapping

from lpbandits import validate
from lpbandits.data.columns.cells import DUPLICATED
from lpbandits.data.tables import Table
from lpbandits.errors import InvalidInput, combined

KNOWN_NAMES = {
    "person": "person|people|user|reader|customer|cust|client|patient|participant|respondent|subject|uid|member|viewer|"
    "voter|guest|listener|student|learner|employee|player|shopper|buyer|consumer|visitor|reviewer|rater|traveler|worker",
    "action": "action|item|movie|book|isbn|asin|sku|product|film|song|artist|track|album|dish|recipe|meal|restaurant|"
    "hotel|business|arm|video|article|game|anime|joke|beer|wine|feature|treatment|therapy|drug|medication|intervention|"
    "exercise|course|app|question|stimulus|alternative|variant|option",
    "rating": "rating|score|star|reward|grade|bookrating|value|thumb|nps|outcome|response|answer|result|vote|overall|"
    "satisfaction|preference",
}
"""Recognised names of columns, as `words_of` returns them."""

WEAK_NAMES = {"rating": "pain|mood|symptom|severity|relief|fatigue|anxiety"}
"""Names that suggest a role if no column has a better one, as `pain` beside `outcome`; alone they may be actions."""

SYMPTOMS = frozenset(("pain", "symptom", "severity", "fatigue", "anxiety"))
"""Words of ratings of which low numbers are usually good: such a column is not guessed without a direction."""

RANKS = ("rank", "ranking", "place", "position")
"""Names that suggest ranks. A rank column is never guessed: naming it (rank=…) confirms that 1 is best."""

_UNIT = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_ID = ("id", "ids")
_SUFFIXES = (*_ID, "name", "label", "key", "code", "number", "no", "nr", "uuid")
_OTHER = frozenset(("date", "time", "timestamp", "count", "n", "num", "number", "total", "age", "year", "duplicated"))
"""Words of columns that are about something else, such as `number of ratings`."""


def words_of(column: str) -> list[str]:
    """Return the words of a column name in lower case, without a unit in brackets and the plural s.

    >>> words_of("Rating (1-5)"), words_of("BookRatings"), words_of("patient_id"), words_of("userid")
    (['rating'], ['book', 'rating'], ['patient', 'id'], ['user', 'id'])
    """
    words = _WORD.findall(_CAMEL.sub(" ", _UNIT.sub(" ", column)).lower())
    words = [word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word for word in words]
    if words and words[-1].endswith("id") and _named(words[-1][:-2]):
        words[-1:] = [words[-1][:-2], "id"]
    return words


def _named(word: str) -> bool:
    return any(re.fullmatch(names, word) for names in KNOWN_NAMES.values())


def like(columns: Iterable[str], role: str) -> list[str]:
    """Return the columns whose name suggests a role: the name itself, else one that ends with it.

    >>> like(["dish_id", "Dish name", "note"], "action"), like(["Dish name", "note"], "action")
    (['dish_id'], ['Dish name'])
    """
    ranked = {column: match for column in columns if (match := strength(column, role))}
    return [column for column, match in ranked.items() if match == max(ranked.values())]


def strength(column: str, role: str) -> int:
    """Return how well a name suggests a role: 2 is the name itself (and `id`), 1 ends with it (and `name`), 0 no.

    >>> [strength(name, "rating") for name in ("Rating (1-5)", "overall rating", "number of ratings")]
    [2, 1, 0]
    """
    words = words_of(column)
    if _OTHER.intersection(words[:-1]):
        return 0
    exact = True
    if len(words) > 1 and words[-1] in _SUFFIXES and role != "rating":
        exact = words.pop() in _ID
    if not words:
        return 0
    if not re.fullmatch(KNOWN_NAMES[role], words[-1]):
        return int(re.fullmatch(WEAK_NAMES.get(role, ""), words[-1]) is not None)
    return 2 if exact and len(words) == 1 else 1


def find_columns(table: Table, wanted: Mapping[str, str | None], *, ignore: Collection[str] = ()) -> dict[str, int]:
    """Return the number of the column of each role: the wanted one, by default the only one whose name suggests it.

    >>> import polars as pl
    >>> table = Table("books", pl.LazyFrame({"User-ID": [1], "ISBN": [7], "Book-Rating": [5]}))
    >>> find_columns(table, {"action": None, "rating": None})
    {'action': 1, 'rating': 2}
    """
    found: dict[str, int] = {}
    names = [name for name in table.names if name not in ignore]
    errors, unclear = [], {}
    for role, name in wanted.items():
        candidates = like(names, role) if name is None else [name] * (name in table.names)
        if len(candidates) == 1:
            found[role] = table.names.index(candidates[0])
            try:
                check_once(table, found[role])
            except InvalidInput as error:
                errors.append(error)
            continue
        elsewhere = like(table.lacking, role) if name is None else [name] * (name in table.lacking)
        if elsewhere and not candidates:
            errors.append(lacks(table.lacking[elsewhere[0]], elsewhere[0], f"for the {role}"))
        elif name is not None:
            near = validate.did_you_mean(name, table.names)
            columns = join(table.names)
            errors.append(
                InvalidInput(f"{table.name} has no column {name!r} for the {role}; its columns are {columns}{near}")
            )
        else:
            unclear[role] = candidates
    if unclear:
        errors.append(_unclear(table, unclear))
    if errors:
        raise combined(table.name, errors)
    return found


def _unclear(table: Table, unclear: Mapping[str, list[str]]) -> InvalidInput:
    """Return the error for roles that none or several columns could have."""
    names = table.names
    faults: list[str] = []
    for role, candidates in unclear.items():
        why = "no column" if not candidates else f"{len(candidates)} columns ({join(candidates)})"
        faults.append(f"{why} the {role}" if faults else f"{why} of {table.name} could be the {role}")
    remedy = ", ".join(f"{role}=… (--{role})" for role in unclear)
    ranks = [name for name in names if "".join(words_of(name)) in RANKS] if "rating" in unclear else []
    hint = f"; if {ranks[0]!r} holds ranks (1 is best), set rank={ranks[0]!r} (--rank {ranks[0]})" if ranks else ""
    numeric = [name.replace(".", "", 1).lstrip("-").isdigit() for name in names]
    if numeric[:1] == [True] and 2 * sum(numeric) > len(names):
        hint += "; the first line looks like data: add a header line"
    elif not all(unclear.values()):
        hint += "; if it is not one rating per row, set layout=… (--layout wide, --layout rankings)"
    them = "one" if len(unclear) == 1 else "each"
    return InvalidInput(f"{', '.join(faults)}; its columns are {join(names)}: name {them} with {remedy}{hint}")


def check_direction(table: Table, column: str) -> None:
    """Raise if low numbers of a guessed column of ratings are usually good, as those of pain but not of pain relief."""
    words = words_of(column)
    if SYMPTOMS.intersection(words) and words[-1] != "relief":
        option = shlex.quote(column)
        raise InvalidInput(
            f"the rating of {table.name} must have a direction, got column {column!r}; if low numbers are good, set "
            f"lower_is_better=True (--lower-is-better); if high numbers are good, rating={column!r} (--rating {option})"
        )


def lacks(file: str, column: str, why: str) -> InvalidInput:
    """Return the error for a file without a column that other files have."""
    return InvalidInput(
        f"{file} has no column {column!r} {why}, but other files have this column; add it, or leave the file out"
    )


def check_once(table: Table, index: int) -> int:
    """Return the number of a column if no other has the same name."""
    name = table.names[index]
    if f"{name}{DUPLICATED}0" in table.names:
        second = table.names.index(f"{name}{DUPLICATED}0") + 1
        raise InvalidInput(
            f"{table.name} has two columns {name!r}, number {index + 1} and {second}; rename or remove one"
        )
    return index


def shell_list(names: Iterable[str]) -> str:
    """Return names as one word for a shell, as `--ignore` and `--columns` read it: separated by commas, as in CSV.

    >>> print(shell_list(["tea", "age, years"]))
    'tea,"age, years"'
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(list(names))
    return shlex.quote(line.getvalue())


def join(names: Iterable[str]) -> str:
    """Return names in quotes, separated by commas."""
    return ", ".join(repr(name) for name in names)
