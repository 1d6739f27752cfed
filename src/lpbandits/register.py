"""`register`: add evidences, rules, policies and worlds of other packages by name."""

from typing import Any, TypeVar

from lpbandits.errors import InvalidInput
from lpbandits.policies import POLICIES, Entry, Evidence, Rule
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from lpbandits.validate import as_text, short_repr
from lpbandits.worlds import WORLDS

T = TypeVar("T")


def register(thing: T) -> T:
    """Register an evidence, a rule, a world or a policy by its name, and return it; also usable as a class decorator.

    Saved agents restore evidences and rules by their `kind`; `lpb simulate` finds policies (`Entry`) and worlds by
    `name`. Registering twice changes nothing; a name that belongs to another object is an error. An installed package
    registers by an entry point of the group "lpbandits" that names the module which calls `register`.

    >>> from lpbandits import LpbTS
    >>> from lpbandits.policies.evidences import Refit
    >>> register(Refit).kind
    'refit'
    >>> register(Entry("mine", lambda s: LpbTS(s.model), "Mine", "the orderings", "as lpbts")).name
    'mine'
    >>> del POLICIES["mine"]
    """
    added: Any = thing
    registry: dict[str, Any]
    attribute = "name"
    if isinstance(added, Entry):
        registry = POLICIES
    elif isinstance(added, type) and issubclass(added, Evidence | Rule):
        registry = EVIDENCES if issubclass(added, Evidence) else RULES
        attribute = "kind"
    elif isinstance(added, type) and callable(getattr(added, "draw", None)) and hasattr(added, "name"):
        registry = WORLDS
    else:
        raise InvalidInput(
            f"register takes an Evidence or Rule class, a world class with name and draw, or an Entry, got "
            f"{short_repr(added)}"
        )
    name = as_text(getattr(added, attribute, None), attribute)
    known = registry.get(name)
    if known is not None and known is not added and not _is_edited(known, added):
        raise InvalidInput(f"{attribute} must be unique, got {name!r}, which belongs to {short_repr(known)}")
    registry[name] = added
    return thing


def _is_edited(known: Any, added: Any) -> bool:
    """Return whether `added` is a newer version of `known`, as when a notebook's cell is run again."""
    one, other = (getattr(x, "build", x) for x in (known, added))
    names = [[getattr(x, name, None) for name in ("__module__", "__qualname__")] for x in (one, other)]
    return names[0] == names[1] != [None, None]
