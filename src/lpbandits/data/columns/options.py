"""`ReadOptions`: how a log or a history is read."""

from dataclasses import dataclass
from typing import Any

from lpbandits import validate
from lpbandits.errors import InvalidInput

LAYOUTS = ("auto", "long", "wide", "rankings")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a log is read; `read_ratings` documents the fields.

    >>> ReadOptions(min_person=2).roles
    {'person': None, 'action': None, 'rating': None, 'rank': None, 'time': None}
    """

    layout: str = "auto"
    person: str | None = None
    action: str | None = None
    rating: str | None = None
    rank: str | None = None
    time: str | None = None
    columns: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    duplicates: str = "error"
    missing: str = "skip"
    lower_is_better: bool = False
    decimal_comma: bool = False
    min_person: int = 0
    min_action: int = 0
    unpack_limit: int | None = None

    def __post_init__(self) -> None:
        validate.as_choice(self.layout, "layout", LAYOUTS)
        for role, name in self.roles.items():
            if name is not None:
                validate.as_text(name, role)
        if self.rank is not None and self.rating is not None:
            raise InvalidInput(f"rating is {self.rating!r} and rank is {self.rank!r}; give one of them")
        if self.columns is not None:
            object.__setattr__(self, "columns", _names(self.columns, "columns"))
            if not self.columns:
                raise InvalidInput("columns must name at least one column of an action; leave it out to use all")
        object.__setattr__(self, "ignore", _names(self.ignore, "ignore"))
        validate.as_choice(self.duplicates, "duplicates", ("error", "last", "mean"))
        validate.as_choice(self.missing, "missing", ("skip", "error"))
        validate.as_flag(self.lower_is_better, "lower_is_better")
        if self.lower_is_better and self.rank is not None:
            raise InvalidInput(
                f"lower_is_better must be False with rank, got rank {self.rank!r}; 1 is the best rank: leave it out "
                "(--lower-is-better)"
            )
        validate.as_flag(self.decimal_comma, "decimal_comma")
        validate.as_count(self.min_person, "min_person", low=0)
        validate.as_count(self.min_action, "min_action", low=0)
        if self.unpack_limit is not None:
            validate.as_count(self.unpack_limit, "unpack_limit", high=2**63 - 1)

    @property
    def roles(self) -> dict[str, str | None]:
        """Names of the columns by role, None where they are guessed."""
        return {name: getattr(self, name) for name in ("person", "action", "rating", "rank", "time")}


def _names(value: Any, name: str) -> tuple[str, ...]:
    return tuple(validate.as_text(entry, f"an entry of {name}") for entry in validate.as_list(value, name, "columns"))
