"""`register`: make parts, policies and worlds from outside the package known by name."""

from typing import Any, TypeVar, cast

from lpbandits.errors import InvalidInput
from lpbandits.policies import POLICIES, Entry, Evidence, Rule
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from lpbandits.validate import as_text, short_repr
from lpbandits.worlds import WORLDS

T = TypeVar("T")


def register(thing: T) -> T:
    """Make an evidence, a rule, a world or a policy known by its name, and return it: also as a decorator of a class.

    Saved agents restore evidences and rules by their `kind`; `lpb simulate` finds policies (`Entry`) and worlds by
    `name`. Doing it twice changes nothing; taking another's name is an error. A package can have it done for every
    program by an entry point of the group "lpbandits" that names the module which calls `register`.

    >>> from lpbandits import LpbTS
    >>> from lpbandits.policies.evidences import Refit
    >>> register(Refit).kind
    'refit'
    >>> register(Entry("mine", lambda s: LpbTS(s.model), "Mine", "the orderings", "as lpbts")).name
    'mine'
    >>> del POLICIES["mine"]
    """
    given: Any = thing
    name: Any
    place: dict[str, Any]
    if isinstance(given, Entry):
        name, place = given.name, cast(dict[str, Any], POLICIES)
    elif isinstance(given, type) and issubclass(given, Evidence):
        name, place = getattr(given, "kind", None), cast(dict[str, Any], EVIDENCES)
    elif isinstance(given, type) and issubclass(given, Rule):
        name, place = getattr(given, "kind", None), cast(dict[str, Any], RULES)
    elif isinstance(given, type) and callable(getattr(given, "draw", None)) and hasattr(given, "name"):
        name, place = given.name, cast(dict[str, Any], WORLDS)
    else:
        raise InvalidInput(
            f"{short_repr(thing)} is neither an Evidence or Rule class, nor a world class with name and draw, nor an Entry"
        )
    name = as_text(name, "the name")
    known = place.get(name)
    if known is not None and known is not thing and not _is_edited(known, thing):
        raise InvalidInput(f"the name {name!r} is taken by {short_repr(known)}; choose another")
    place[name] = thing
    return thing


def _is_edited(known: Any, thing: Any) -> bool:
    """Say whether a thing is a newer version of one that is registered, as when a notebook's cell is run again."""
    one, other = (getattr(x, "build", x) for x in (known, thing))
    names = [[getattr(x, name, None) for name in ("__module__", "__qualname__")] for x in (one, other)]
    return names[0] == names[1] != [None, None]
