"""All kernels of the package, and a hook for their calls from Python."""

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
"""Replaces a kernel; gets its name, a function that calls it, and its arguments."""


def name_of(kernel: Any) -> str:
    function = kernel.py_func
    return f"{function.__module__}.{function.__qualname__}".removeprefix("lpbandits.")


@functools.cache
def kernels() -> dict[str, Any]:
    """Return every kernel of the package by name."""
    by_name = {}
    for module in pkgutil.walk_packages(lpbandits.__path__, "lpbandits."):
        if not module.name.endswith("__main__"):
            values = list(vars(importlib.import_module(module.name)).values())
            statics = [part for one in values if isinstance(one, type) for part in vars(one).values()]
            members = [part.__func__ for part in statics if isinstance(part, staticmethod)]
            by_name.update({name_of(value): value for value in values + members if isinstance(value, Dispatcher)})
    return by_name


@functools.cache
def called_by_others() -> set[str]:
    """Return the names of kernels that other kernels call, which must not be replaced."""
    plain = [kernel.py_func for kernel in kernels().values()]
    callees = [function.__globals__.get(name) for function in plain for name in function.__code__.co_names]
    return {name_of(callee) for callee in callees if isinstance(callee, Dispatcher)}


def allocating() -> dict[str, Any]:
    """Return the kernels that may allocate arrays."""
    return {name: kernel for name, kernel in kernels().items() if kernel.targetoptions.get("_nrt", True)}


@contextmanager
def looked_on(chosen: dict[str, Any], note: Note) -> Iterator[None]:
    """Replace the chosen kernels by `note` for calls from Python, except those that other kernels call."""
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
