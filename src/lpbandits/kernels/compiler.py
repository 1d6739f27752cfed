"""How kernels are compiled, where their machine code is kept, and how a loop is built around given functions.

numba keys its cache by the file of the compiled function alone, so editing a callee in another file would leave stale
machine code behind. Our cache folder is therefore named by a hash of the sources of all kernels, and code built around
functions from outside the package by a hash of those functions and of all they call.
"""

import contextlib
import enum
import functools
import hashlib
import sys
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
from lpbandits.io.sealed import sealed, unsealed
from lpbandits.kernels import blas

config: Any = numba.core.config  # numba has no types
FunctionCache: Any = numba.core.caching.FunctionCache
IndexDataCacheFile: Any = numba.core.caching.IndexDataCacheFile

P = ParamSpec("P")
R = TypeVar("R")

PACKAGE = __name__.partition(".")[0]
SOURCES = ("**/kernels/*.py", "**/kernels.py", "policies/**/*.py")
"""Where kernels stand."""


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder of this version's machine code, or None where nothing can be kept.

    It is in NUMBA_CACHE_DIR or the user's cache folder; where these cannot be written, in one folder of the user's own
    in the temporary directory. numba unpickles what it finds there, so nobody else may write to it (docs/promises.md).
    """
    digest = hashlib.sha256(numba.__version__.encode())
    root = Path(__file__).parents[1]
    for source in sorted({file for pattern in SOURCES for file in root.glob(pattern)}):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    given = Path(config.CACHE_DIR) if config.CACHE_DIR else paths.cache_path()
    for base in (given, paths.own_temporary()):
        if base is not None and (folder := paths.writable(base / name)) is not None:
            return folder
    return None


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc] # as above
    """numba's cache file, with a hash behind the pickled code: machine code with a flipped bit could do anything."""

    def _dump(self, content: Any) -> bytes:
        return sealed(super()._dump(content))

    def _load_data(self, name: str) -> Any:
        whole = unsealed(Path(self._data_path(name)).read_bytes()) is not None
        return super()._load_data(name) if whole else None


class _Cache:
    """numba's cache of one function, which a full disk or a damaged file turns into compiling anew, not an error.

    It is opened when it is first asked for: of the kernels that a process imports, it calls a few.
    """

    def __init__(self, function: Callable[..., Any], folder: Path) -> None:
        self._function, self._folder = function, folder

    @functools.cached_property
    def _opened(self) -> Any:
        theirs = config.CACHE_DIR
        config.CACHE_DIR = str(self._folder)
        try:
            cache = FunctionCache(self._function)
            cache._cache_file.__class__ = _CheckedFile
        except (OSError, RuntimeError):  # the folder is gone again: compile in every process
            return numba.core.caching.NullCache()
        else:
            return cache
        finally:
            config.CACHE_DIR = theirs

    @property
    def cache_path(self) -> Any:
        return self._opened.cache_path

    def flush(self) -> None:
        self._opened.flush()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        blas.put_off()
        try:
            return self._opened.load_overload(sig, target_context)
        except Exception:
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            self._opened.save_overload(sig, data)


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, without the GIL, and keep the machine code for the next process."""
    return _compile(function)


def jit_in_place(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `jit` a function that allocates no arrays: without reference counts it runs up to twice as fast."""
    return _compile(function, _nrt=False)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `jit_in_place` a hot function into each of its callers: a call costs about 10 ns.

    This is how the functions of an evidence or a rule are compiled, in the package and outside it. They get plain
    arrays, may call other kernels, and may not make arrays of their own.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """
    return _compile(function, _nrt=False, forceinline=True)


def wraps_around(function: Callable[P, R]) -> Callable[P, R]:
    """Let products of 64-bit words wrap around silently where the compiler is off, as they do in machine code."""
    return np.errstate(over="ignore")(function) if config.DISABLE_JIT else function


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    folder = cache_folder()
    is_file = Path(function.__code__.co_filename).is_file()  # not what was typed into a shell
    if folder is not None and is_file and not config.DISABLE_JIT:
        compiled._cache = _Cache(function, folder / fingerprint(function))  # ours have no fingerprint
    made: Callable[P, R] = compiled
    return made


def is_compiled(function: Callable[..., Any]) -> bool:
    """Say whether a function is machine code, or would be if the compiler were not switched off."""
    return bool(config.DISABLE_JIT) or hasattr(function, "py_func")


def specialise(
    template: Callable[..., Any], name: str, functions: Mapping[str, Callable[..., Any]], *, inline: bool = False
) -> Callable[..., Any]:
    """Compile a copy of `template` in which the names of `functions` stand for these.

    This is how one loop serves every policy and yet is compiled as if written for it: the callees are inlined, and the
    copy's own name gives it its own place in the cache (numba cannot cache a closure over compiled functions). Where a
    given function is plain Python, so is the copy.
    """
    plain: Any = getattr(template, "py_func", template)
    outside = "".join(fingerprint(function) for function in (plain, *functions.values()))
    full = f"{name}_{hashlib.sha256(outside.encode()).hexdigest()[:16]}" if outside else name
    copy: Any = types.FunctionType(plain.__code__, {**plain.__globals__, **functions}, full, plain.__defaults__)
    copy.__qualname__ = full
    copy.__module__ = PACKAGE
    copy.__fingerprint__ = outside
    slow = [function for function in (template, *functions.values()) if not is_compiled(function)]
    slow = [function for function in slow if not (function is template and _is_ours(function))]
    named = [function for function in slow if not hasattr(function, "__fingerprint__")]  # others were named before
    if named:
        names = ", ".join(f"'{function.__name__}'" for function in named)
        warnings.warn(
            f"{names} is plain Python, so everything around it runs as Python too, some hundred times slower; "
            "decorate it with lpbandits.kernel",
            UncompiledWarning,
            stacklevel=4,
        )
    if slow:
        return copy
    return _compile(copy, _nrt=False, forceinline=inline)


def explained(error: numba.core.errors.NumbaError, names: str) -> InvalidInput:
    """Return the error for functions that cannot be compiled, with what numba says first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return InvalidInput(f"{names} cannot be compiled: {' '.join(lines[1:4]) or lines[0]}; see lpbandits.policies.base")


def name_of(kind: str, functions: Mapping[str, Callable[..., Any]]) -> str:
    """Return a name for what is built around functions: that of each, with its module's."""
    return "_".join([kind, *(f"{(f.__module__ or '').rpartition('.')[2]}_{f.__name__}" for f in functions.values())])


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a hash of a function from outside the package and of all it calls; nothing for one of ours.

    What counts is the code, its constants and the values of the global names it reads: an edit of any of them gives
    another hash, wherever it was made.
    """
    plain = getattr(function, "py_func", function)
    if _is_ours(plain):
        return getattr(plain, "__fingerprint__", "")  # of what it was built around
    digest = hashlib.sha256()
    _digest_function(plain, digest, set())
    return digest.hexdigest()[:16]


def _is_ours(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] == PACKAGE


def _digest_function(function: Any, digest: Any, seen: set[int]) -> None:
    if id(function) in seen or not isinstance(function, types.FunctionType):
        return
    seen.add(id(function))
    _digest_code(function.__code__, digest)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    names = [name for code in _codes(function.__code__) for name in code.co_names]
    read = [function.__globals__[name] for name in names if name in function.__globals__]
    reached = read
    while reached:  # what stands in modules, and in modules of modules
        holders = [value for value in reached if isinstance(value, types.ModuleType) and not _is_known(value.__name__)]
        reached = [getattr(holder, name) for holder in holders for name in names if hasattr(holder, name)]
        read += reached
    for value in (*cells, *(function.__defaults__ or ()), *read):
        _digest_value(value, digest, seen)


def _is_known(module: str) -> bool:
    """Say whether a module is ours, or one that nobody edits between two runs."""
    root = module.partition(".")[0]
    return root in (PACKAGE, "numpy", "numba") or root in sys.stdlib_module_names


def _digest_value(value: Any, digest: Any, seen: set[int]) -> None:
    plain = getattr(getattr(value, "_dispatcher", value), "py_func", value)  # also what numba.vectorize made
    if isinstance(plain, types.FunctionType):
        if not _is_known(plain.__module__ or ""):
            _digest_function(plain, digest, seen)
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        digest.update(repr([(member.name, member.value) for member in value]).encode())
    elif isinstance(value, int | float | complex | str | bytes | tuple | np.generic | enum.Enum):
        digest.update(repr(value).encode())


def _codes(code: types.CodeType) -> list[types.CodeType]:
    inner = [one for const in code.co_consts if isinstance(const, types.CodeType) for one in _codes(const)]
    return [code, *inner]


def _digest_code(code: types.CodeType, digest: Any) -> None:
    for part in _codes(code):
        constants = [const for const in part.co_consts if not isinstance(const, types.CodeType)]
        digest.update(part.co_code + repr((constants, part.co_names, part.co_varnames)).encode())
