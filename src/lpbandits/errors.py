"""Every error lpbandits raises on purpose.

::

    LpbError
    ├── InvalidInput      a value from outside is not usable (also a ValueError)
    ├── FileFormatError   a file is truncated, foreign or altered (also a ValueError)
    ├── NotSupported      the policy cannot do this, and says why (also a TypeError)
    └── ResourceError      the machine, or a library underneath, could not go on (also a RuntimeError)

A message gives the value, the limit and the remedy. Whatever object was spoken to is unchanged. Two warnings:
`UncompiledWarning` says that a plug-in function runs as plain Python, `LockInWarning` that a policy is not for actions that repeat.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from lpbandits.text import LINE, display


class LpbError(Exception):
    r"""The root: catch it to catch everything lpbandits raises on purpose.

    Its message is one line that is safe to print, whatever was given: see `lpbandits.text`.

    >>> len(LpbError.__subclasses__())
    4
    >>> print(InvalidInput("no action 'a\x1b[31m'"))
    no action 'a\x1b[31m'
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(display(message, LINE))


class InvalidInput(LpbError, ValueError):
    """A value from outside is not usable; the message names it and what would be.

    >>> from lpbandits import PreferenceModel
    >>> PreferenceModel([[0, 2]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: ordering 0 names action 2; the 2 actions are 0 to 1
    """


class FileFormatError(LpbError, ValueError):
    """A file is truncated, foreign, altered or of a newer format.

    >>> from lpbandits import PreferenceModel
    >>> PreferenceModel.from_dict({"format": 1})
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: the model is not a preference model: its 'format' is not 'lpbandits-model'
    """


class NotSupported(LpbError, TypeError):
    """The request makes no sense for this policy; the message says why and what does.

    >>> from lpbandits import TS, Agent, PreferenceModel
    >>> Agent(TS(PreferenceModel([[0, 1]])), seed=1).posterior
    Traceback (most recent call last):
    ...
    lpbandits.errors.NotSupported: TS has no latent states, so there is no posterior over them
    """


class UncompiledWarning(UserWarning):
    """A function put in from outside is plain Python: it works, some hundred times slower than a compiled one.

    >>> issubclass(UncompiledWarning, UserWarning)
    True
    """


class LockInWarning(UserWarning):
    """A policy for actions that are given once meets people whose actions repeat: it soon plays one and the same.

    >>> issubclass(LockInWarning, UserWarning)
    True
    """


class ResourceError(LpbError, RuntimeError):
    """The machine could not go on: no memory, a disk that fails, an error of a library underneath (its `__cause__`).

    >>> with translate_errors("counting pairs"):
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    lpbandits.errors.ResourceError: counting pairs: there is not enough memory; make the problem smaller
    """


LIBRARIES = (
    *("polars", "pyo3_runtime", "numba", "llvmlite", "joblib", "distributed", "vl_convert"),
    *("zipfile", "zlib", "fastexcel"),
)
"""Libraries that fail in ways of their own; what they say is passed on."""


@contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Let no foreign error out: turn those of the machine and of libraries into `ResourceError`.

    It stands at public functions, as a decorator, and says what was being done. Errors of ours pass; so does what can
    only be a fault in the package, which nobody should take for a bad input.

    >>> with translate_errors("reading the log"):
    ...     raise OSError(5, "Input/output error", "log.csv")
    Traceback (most recent call last):
    ...
    lpbandits.errors.ResourceError: reading the log: Input/output error: log.csv
    """
    try:
        yield
    except LpbError:
        raise
    except BaseException as error:  # a panic in Rust is not an Exception
        fault = fault_of(error, doing)
        if fault is None:
            raise
        raise fault from error


def fault_of(error: BaseException, doing: str) -> ResourceError | None:
    """Return what an error of the machine or of a library is for the user; None for any other error."""
    if isinstance(error, MemoryError):
        return ResourceError(f"{doing}: there is not enough memory; make the problem smaller")
    if isinstance(error, OSError):
        return ResourceError(f"{doing}: {reason(error)}" + (f": {error.filename}" if error.filename else ""))
    if type(error).__module__.partition(".")[0] in LIBRARIES:
        return ResourceError(f"{doing}: {reason(error)}")
    return None


def reason(error: BaseException, remedy: str = "") -> str:
    """Return why the system refused, in the first line of its own words and without the path; then the remedy.

    Too many open files have a remedy of their own, whichever file is not opened.

    >>> reason(OSError(28, "No space left on device", "a.csv")), reason(ValueError("embedded null byte"))
    ('No space left on device', 'embedded null byte')
    >>> reason(OSError(2, "No such file or directory"), "name a file")
    'No such file or directory; name a file'
    >>> reason(OSError(errno.EMFILE, "Too many open files", "a.csv"), "name a file")
    'Too many open files; raise the limit of open files (ulimit -n)'
    """
    words = str(getattr(error, "strerror", None) or error).partition("\n")[0] or type(error).__name__
    if _too_many_open(error):
        remedy = "raise the limit of open files (ulimit -n)"
    return f"{words}; {remedy}" if remedy else words


def _too_many_open(error: BaseException) -> bool:
    """Return whether this process has as many files open as it may; libraries in Rust say so in words alone."""
    if not isinstance(error, OSError):
        return False
    return error.errno == errno.EMFILE or (error.errno is None and f"(os error {errno.EMFILE})" in str(error))
