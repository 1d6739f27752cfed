"""`register`: add evidences, rules, policies, worlds and figures of other packages or of a file by name."""

import hashlib
import importlib.util
import operator
import sys
import traceback
from pathlib import Path
from typing import Any, TypeVar

from lpbandits.errors import InvalidInput, LpbError, reason
from lpbandits.io.paths import as_path
from lpbandits.policies import POLICIES, Entry, Evidence, Rule
from lpbandits.policies.evidences import EVIDENCES
from lpbandits.policies.rules import RULES
from lpbandits.validate import as_text, short_repr
from lpbandits.worlds import WORLDS

T = TypeVar("T")

FIGURES: dict[str, Any] = {}
"""Figures of `lpb reproduce` by name; `lpbandits.paper` adds its own."""

_REGISTRIES: tuple[dict[str, Any], ...] = (POLICIES, WORLDS, EVIDENCES, RULES, FIGURES)


def register(component: T) -> T:
    """Register an evidence, a rule, a world, a policy or a figure by name, and return it; also usable as a decorator.

    Saved agents restore evidences and rules by their `kind`; `lpb simulate` finds policies (`Entry`) and worlds by
    `name`, and `lpb reproduce` figures (`lpbandits.paper.spec.Figure`). Registering twice changes nothing; a name that
    belongs to another object is an error. An installed package registers its components through an entry point in the
    group "lpbandits" that points to the module calling `register`.

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
    elif all(callable(getattr(added, member, None)) for member in ("plan", "run", "chart")):
        registry = FIGURES
    else:
        kinds = "an Evidence or Rule class, a world class with name and draw, an Entry or a Figure"
        raise InvalidInput(f"register takes {kinds}, got {short_repr(added)}")
    name = as_text(getattr(added, attribute, None), attribute)
    known = registry.get(name, added)
    if known is not added and _definition(known) != _definition(added):
        raise InvalidInput(f"{attribute} must be unique, got {name!r}, which belongs to {short_repr(known)}")
    registry[name] = added
    return component


def _definition(thing: Any) -> tuple[str, str]:
    """Return the module and the name of a class, or of a function: equal if a notebook's cell is run again."""
    source = thing.build if isinstance(thing, Entry) else getattr(thing, "run", thing)
    return str(getattr(source, "__module__", "")), getattr(source, "__qualname__", repr(source))


def load_plugin(path: str | Path) -> None:
    """Run a Python file that calls `register`; what it registers can be used in this process and in its workers.

    Errors name the file and its line. The module is not in `sys.modules` afterwards, so that its objects are sent to
    workers by value: they need not have the file.
    """
    file = as_path(path)
    try:
        source = file.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{file}: {reason(error)}; name a Python file that calls lpbandits.register") from None
    name = f"{file.stem}_{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(file))
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type] # not None for a name without a loader
    module.__file__ = str(file)
    before = [list(registry.values()) for registry in _REGISTRIES]
    sys.modules[name] = module  # dataclasses look there for the names in annotations
    try:
        exec(compile(source, str(file), "exec"), vars(module))  # noqa: S102 - the user's own code
    except (Exception, SystemExit) as error:
        raise InvalidInput(_place(error, str(file))) from error
    finally:
        del sys.modules[name]
    after = [list(registry.values()) for registry in _REGISTRIES]
    if all(map(_same, before, after)):
        raise InvalidInput(f"{file} registers nothing; call lpbandits.register in it")


def _same(before: list[Any], after: list[Any]) -> bool:
    return len(before) == len(after) and all(map(operator.is_, before, after))


def _place(error: BaseException, file: str) -> str:
    """Describe an error of a plug-in, with the last of its own lines that was running."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines, text = [error.lineno], error.msg
    else:
        text = str(error).partition("\n")[0]
    kind = "" if isinstance(error, LpbError) else type(error).__name__ + (": " if text else "")
    return f"{file}{f', line {lines[-1]}' if lines else ''}: {kind}{text}"
