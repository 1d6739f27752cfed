"""What is sent to a worker: a call, packed here and unpacked there, so that what cannot travel is said in one line."""

import functools
import pickle
import platform
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from lpbandits.errors import InvalidInput, LpbError, ResourceError, UncompiledWarning
from lpbandits.validate import CONVERSION_ERRORS

LEAST = 0.5
"""Seconds of work that other processes are sent at a time: sending costs milliseconds."""

SAME = ("lpbandits", "numba", "numpy", "scikit-learn", "scipy")
"""Packages whose versions decide the last bit of a result."""


def packed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """Return a call as bytes.

    What a program or a shell defines goes along as it is; what stands in a module is looked up in that module there.

    >>> opened(unpacked(packed(pow, (2, 3))))
    8
    """
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415 - heavy, and only parallel work needs it

    try:
        return bytes(dumps((function, arguments)))
    except (*CONVERSION_ERRORS, pickle.PicklingError) as error:
        raise InvalidInput(
            f"what is to be worked on cannot be sent to worker processes ({_first_line(error)}); define your policies' "
            "parts in a module, without open files or locks, or use this process alone (--jobs 1)"
        ) from None


def opened(answer: bytes) -> Any:
    """Return what came back from a worker: arrays of this process's own, aligned; read-only where the worker's were.

    Those that a cluster's own way of sending makes are not aligned, and numpy adds up their numbers in another order.
    """
    return pickle.loads(answer)  # noqa: S301 - from a worker, who was sent the call


def unpacked(call: bytes, theirs: Mapping[str, str] | None = None) -> bytes:
    """Make a call that was packed.

    `theirs` are the versions of whoever sent it, which must be those here. Warnings of functions that are plain Python
    are not said again: whoever sent them has said it.
    """
    if theirs is not None:
        check_same(theirs)
    try:
        function, arguments = pickle.loads(call)  # noqa: S301 - from whoever started this worker, or rules it
    except (*CONVERSION_ERRORS, ImportError, pickle.UnpicklingError) as error:
        raise InvalidInput(
            f"a worker process cannot load what it was sent ({_first_line(error)}); put your module where workers find "
            "it (install it, or set PYTHONPATH), or use this process alone (--jobs 1)"
        ) from None
    from joblib.externals.loky.backend.reduction import dumps  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncompiledWarning)
        try:
            return bytes(dumps(function(*arguments)))
        except LpbError:
            raise
        except Exception as error:
            if not _arrives(error):  # which would look like the worker's death
                raise ResourceError(f"a worker process failed: {type(error).__name__}: {error}") from None
            raise


def _arrives(error: Exception) -> bool:
    """Return whether an error can be sent back."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made in the same line
    except Exception:
        return False
    return True


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


@functools.cache
def about() -> dict[str, str]:
    """Return the versions here: those of packages, and of Python up to its minor number."""
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **{name: version(name) for name in SAME}}


def check_same(theirs: Mapping[str, str]) -> None:
    """Refuse to work for somebody with other versions."""
    for name, mine in about().items():
        if theirs.get(name) != mine:
            raise InvalidInput(
                f"a Dask worker on {platform.node()} has {name} {mine}, and whoever sends it work has "
                f"{theirs.get(name)}: results could differ; install the same versions"
            )
