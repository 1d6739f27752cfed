"""`register`: add evidences, rules, policies and worlds of other packages by name."""

from typing import Any, TypeVar

from lpbandits.errors import InvalidInput
from lpbandits.policies import POLICIES, Entry, Evidence, Rule
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from lpbandits.validate import as_text, short_repr
from lpbandits.worlds import WORLDS

T = TypeVar("T")


def register(component: T) -> T:
    """Register an evidence, a rule, a world or a policy by its name, and return it; also usable as a class decorator.

    Saved agents restore evidences and rules by their `kind`; `lpb simulate` finds policies (`Entry`) and worlds by
    `name`. Registering twice changes nothing; a name that belongs to another object is an error. An installed package
    registers its components through an entry point in the group "lpbandits" that points to the module calling
    `register`.

    >>> from lpbandits import LpbTS
    >>> from lpbandits.policies.evidences import Refit
    >>> register(Refit).kind
    'refit'
    >>> register(Entry("mine", lambda s: LpbTS(s.model), "Mine", "the orderings", "as lpbts")).name
    'mine'
    >>> del POLICIES["mine"]
    """
    added: Any = component
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
        kinds = "an Evidence or Rule class, a world class with name and draw, or an Entry"
        raise InvalidInput(f"register takes {kinds}, got {short_repr(added)}")
    name = as_text(getattr(added, attribute, None), attribute)
    known = registry.get(name, added)
    if known is not added and _definition(known) != _definition(added):
        raise InvalidInput(f"{attribute} must be unique, got {name!r}, which belongs to {short_repr(known)}")
    registry[name] = added
    return component


def _definition(thing: Any) -> tuple[str, str]:
    """Return the module and the name of a class, or of an entry's function: equal if a notebook's cell is run again."""
    source = thing.build if isinstance(thing, Entry) else thing
    return source.__module__, getattr(source, "__qualname__", repr(source))
