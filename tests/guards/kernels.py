"""Every kernel of the package, and how to look on when Python calls one."""

import functools
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from numba.core.dispatcher import Dispatcher

import lpbandits

Note = Callable[[str, Callable[[], Any], tuple[Any, ...]], Any]
"""Called in place of a kernel: with its name, what calls it, and its arguments."""


def name_of(kernel: Any) -> str:
    function = kernel.py_func
    return f"{function.__module__}.{function.__name__}".removeprefix("lpbandits.")


@functools.cache
def kernels() -> dict[str, Any]:
    """Return every kernel that stands in a module of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages(lpbandits.__path__, "lpbandits."):
        if not module.name.endswith("__main__"):
            values = vars(importlib.import_module(module.name)).values()
            found.update({name_of(value): value for value in values if isinstance(value, Dispatcher)})
    return found


@functools.cache
def called_by_others() -> set[str]:
    """Return the names of kernels that other kernels call: these find them where they stand, and must go on to."""
    plain = [kernel.py_func for kernel in kernels().values()]
    seen = [one.__globals__.get(name) for one in plain for name in one.__code__.co_names]
    return {name_of(one) for one in seen if isinstance(one, Dispatcher)}


def allocating() -> dict[str, Any]:
    """Return those that may make arrays."""
    return {name: kernel for name, kernel in kernels().items() if kernel.targetoptions.get("_nrt", True)}


@contextmanager
def looked_on(chosen: dict[str, Any], note: Note) -> Iterator[None]:
    """Have `note` make every call of the chosen kernels from Python, but of those that other kernels call."""
    with ExitStack() as stack:
        for name in chosen.keys() - called_by_others():
            kernel = chosen[name]

            def instead(*args: Any, name: str = name, kernel: Any = kernel) -> Any:
                return note(name, lambda: kernel(*args), args)

            for module in [one for key, one in sys.modules.items() if key.startswith("lpbandits")]:
                for attribute, value in list(vars(module).items()):
                    if value is kernel:
                        stack.enter_context(patch.object(module, attribute, instead))
        yield
