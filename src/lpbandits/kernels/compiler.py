"""How kernels are compiled, where their machine code is kept, and how a loop is built around given functions.

numba keys its cache by the file of the compiled function alone, so editing a callee in another file would leave stale
machine code behind. Our cache folder is therefore named by a hash of all kernel sources: any edit starts a new folder.
"""

import functools
import hashlib
import os
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
import numba.core.config
import platformdirs

config: Any = numba.core.config  # numba has no types

P = ParamSpec("P")
R = TypeVar("R")


@functools.cache
def cache_folder() -> str:
    """Return the folder of this version's machine code, below NUMBA_CACHE_DIR or the user's cache folder."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    base = Path(config.CACHE_DIR or platformdirs.user_cache_path("lpbandits"))
    try:
        (base / name).mkdir(parents=True, exist_ok=True)
        if os.access(base / name, os.W_OK):
            return str(base / name)
    except OSError:
        pass
    return str(Path(tempfile.mkdtemp(prefix="lpbandits-")) / name)


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` at its first call, without the GIL, and keep the machine code for the next process."""
    return _compile(function)


def jit_in_place(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `jit` a function that allocates no arrays: without reference counts it runs up to twice as fast."""
    return _compile(function, _nrt=False)


def jit_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile as `jit_in_place` a small hot function into each of its callers: a call costs about 10 ns."""
    return _compile(function, _nrt=False, forceinline=True)


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    theirs = config.CACHE_DIR
    config.CACHE_DIR = cache_folder()
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    finally:
        config.CACHE_DIR = theirs
    return compiled


def specialise(template: Callable[..., Any], name: str, **functions: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a copy of `template` in which the given global names stand for other kernels.

    This is how one loop serves every policy and yet is compiled as if written for it: the callees are inlined, and the
    copy's own `name` gives it its own place in the cache (numba cannot cache a closure over compiled functions).
    """
    copy = types.FunctionType(template.__code__, {**template.__globals__, **functions}, name)
    copy.__qualname__ = name
    copy.__module__ = template.__module__
    return jit_in_place(copy)
