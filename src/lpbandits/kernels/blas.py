"""numba without SciPy's linear algebra, until somebody's code asks for it."""

import sys
from importlib import import_module
from typing import Any


def put_off() -> None:
    """Let numba load what it compiles with, but not `scipy.linalg`: a fifth of a new process's first decision.

    numba imports it only to see that it is there, and SciPy is a dependency of ours. No kernel of ours multiplies
    matrices; code that does asks numba again when it is compiled, and machine code from a cache imports it by itself.
    """
    if "numba.np.arraymath" in sys.modules:
        return
    try:
        linalg: Any = import_module("numba.np.linalg")
        theirs = linalg.ensure_blas
    except (ImportError, AttributeError):  # another numba, which may ask in another way
        return
    # the other half of numba's question: are SciPy's whole numbers as wide as numba was built for?
    linalg.ensure_blas = getattr(linalg, "_check_lapack_int_width", _nothing)
    try:
        arraymath: Any = import_module("numba.np.arraymath")
        arraymath.ensure_blas = theirs
    finally:
        linalg.ensure_blas = theirs


def _nothing() -> None:
    """Stand for the check in a numba that has none."""
