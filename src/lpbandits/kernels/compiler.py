"""Compile kernels, cache their machine code, and build loops around given functions.

numba keys its cache by the file of the compiled function alone, so editing a callee in another file would leave stale
machine code behind. Our cache folder is therefore named by a hash of the sources of all kernels. Functions from outside
the package (plug-ins), and loops built around them, are not cached: each process compiles them anew.
"""

import contextlib
import functools
import hashlib
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numba.core.caching
import numba.core.config
import numba.core.errors
import numpy as np

from lpbandits.errors import InvalidInput, UncompiledWarning
from lpbandits.io import paths

config: Any = numba.core.config  # numba has no types
FunctionCache: Any = numba.core.caching.FunctionCache
NumbaError = numba.core.errors.NumbaError

P = ParamSpec("P")
R = TypeVar("R")

PACKAGE = __name__.partition(".")[0]
SOURCES = ("**/kernels/*.py", "**/kernels.py", "policies/**/*.py")
"""Where kernels are defined."""


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of this version's machine code, or None if nothing can be cached.

    It is in NUMBA_CACHE_DIR or the user's cache folder. numba unpickles the files in it, so it must be private.
    """
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parents[1]
    for source in sorted({file for pattern in SOURCES for file in root.glob(pattern)}):
        digest.update(source.read_bytes())
    base = Path(config.CACHE_DIR) if config.CACHE_DIR else paths.cache_path()
    return None if base is None else paths.private_folder(base / f"kernels-{digest.hexdigest()[:16]}")


class _Cache:
    """numba's cache of one function in our folder, opened at the first call.

    A full disk or a damaged file means that the function is compiled again; it is not an error.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._function, self._folder = function, folder

    @functools.cached_property
    def _opened(self) -> Any:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(self._folder)
        try:
            return FunctionCache(self._function)
        except (OSError, RuntimeError):  # the folder was removed, or the function has no source file
            return numba.core.caching.NullCache()
        finally:
            config.CACHE_DIR = before

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._opened.load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            self._opened.save_overload(sig, data)


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, without the GIL, and cache the machine code."""
    return _compile(function)


def jit_in_place(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `jit` a function that allocates no arrays; without reference counts it is up to twice as fast."""
    return _compile(function, _nrt=False)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `jit_in_place` and inline into every caller, which saves about 10 ns per call.

    Functions of evidences and rules are compiled this way, in the package and in plug-ins. They take plain arrays, may
    call other kernels, and may not allocate arrays.

    Examples
    --------
    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    return _compile(function, _nrt=False, forceinline=True)


def wraps_around(function: Callable[P, R]) -> Callable[P, R]:
    """Silence overflow warnings of 64-bit products when the compiler is off; compiled code wraps around anyway."""
    return np.errstate(over="ignore")(function) if config.DISABLE_JIT else function


def _compile(function: Callable[P, R], *, nogil: bool = True, **options: Any) -> Callable[P, R]:
    options["no_cfunc_wrapper"] = True  # nothing calls them from C; unknown to numba's type stubs
    compiled: Any = numba.njit(nogil=nogil, error_model="numpy", **options)(function)
    if not config.DISABLE_JIT and not plugins_of(function) and (folder := cache_folder()) is not None:
        compiled._cache = _Cache(function, folder)
    out: Callable[P, R] = compiled
    return out


def is_compiled(function: Callable[..., Any]) -> bool:
    """Return whether a function is compiled, or would be if the compiler were not switched off."""
    return bool(config.DISABLE_JIT) or hasattr(function, "py_func")


def plugins_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of functions from outside the package: this one, or those that it was built around."""
    plain: Any = getattr(function, "py_func", function)
    inside = (getattr(plain, "__module__", None) or "").partition(".")[0] == PACKAGE
    return getattr(plain, "plugins", ()) if inside else (plain.__name__,)


def specialise(
    template: Callable[..., Any],
    functions: Mapping[str, Callable[..., Any]],
    *,
    inline: bool = False,
    nogil: bool = True,
) -> Callable[..., Any]:
    """Compile a copy of `template` with the global names in `functions` bound to these functions.

    One loop thus serves every policy and is compiled as if written for it: the callees are inlined. The copy's name,
    with a hash of all functions' names, gives it its own cache entry (numba cannot cache a closure over compiled
    functions). If one of the functions is plain Python, so is the copy.
    """
    plain: Any = getattr(template, "py_func", template)
    parts = (template, *functions.values())
    digest = hashlib.sha256(" ".join(f"{part.__module__}.{part.__qualname__}" for part in parts).encode()).hexdigest()
    name = f"{plain.__name__}_{digest[:16]}"
    copy: Any = types.FunctionType(plain.__code__, {**plain.__globals__, **functions}, name, plain.__defaults__)
    copy.__qualname__ = name
    copy.__module__ = PACKAGE
    copy.plugins = tuple(name for part in parts for name in plugins_of(part))
    uncompiled = [part for part in parts if plugins_of(part) and not is_compiled(part)]
    new = [function for function in uncompiled if not hasattr(function, "plugins")]  # not yet warned of
    if new:
        names = ", ".join(f"'{function.__name__}'" for function in new)
        warnings.warn(
            f"{names} is plain Python, so the loop around it runs as Python too, some hundred times slower; "
            "decorate it with lpbandits.kernel",
            UncompiledWarning,
            stacklevel=4,
        )
    if uncompiled:
        return copy
    return _compile(copy, _nrt=False, forceinline=inline, nogil=nogil)


def with_plugin_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that raises `InvalidInput` if a plug-in in it cannot be compiled.

    The message has the first lines of numba's. Exceptions that a plug-in raises pass through.
    """
    names = " or ".join(f"'{name}'" for name in dict.fromkeys(plugins_of(function)))
    if not names:
        return function

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except NumbaError as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            cause = " ".join(lines[1:4]) or lines[0]
            raise InvalidInput(f"{names} cannot be compiled: {cause}; see lpbandits.policies.base") from None

    return call
