"""Exceptions and warnings.

::

    Exception
    └── LpbError
        ├── InvalidInput      a value is not valid (also a ValueError)
        ├── FileFormatError   a file is truncated, altered or of another format (also a ValueError)
        ├── NotSupported      the policy does not support the request (also a TypeError)
        └── ResourceError     the system or a library failed (also a RuntimeError)
    UserWarning
        ├── UncompiledWarning a plug-in function runs as plain Python
        ├── StalledWarning    a Dask cluster is silent; the work waits for it
        ├── NoiseWarning      the noise that a policy is told contradicts the model's
        ├── ScaleWarning      outcomes are on another scale than the log that the model was fitted to
        ├── CovariateWarning  a covariate of a person, or its level, is not one of the model's
        └── LockInWarning     a policy meant for actions that are given only once is used where actions repeat

Messages have the form "name must be X, got Y; remedy". A call that raises leaves its object unchanged.
"""

import errno
import functools
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lpbandits.text import LINE, display


class LpbError(Exception):
    r"""Base class of all exceptions that lpbandits raises, except those for a change of an immutable object.

    The message is one line that is safe to print.

    >>> print(InvalidInput("no action 'a\x1b[31m'"))
    no action 'a\x1b[31m'
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(display(message, LINE))


class InvalidInput(LpbError, ValueError):
    """A value is not valid.

    >>> from lpbandits import PreferenceModel
    >>> PreferenceModel([[0, 2]])
    Traceback (most recent call last):
    ...
    lpbandits.errors.InvalidInput: ordering 0 must hold the 2 actions 0 to 1, got 2
    """


def combined(name: str, errors: Sequence[InvalidInput]) -> InvalidInput:
    """Return one error for all problems of a file, whose name is said once.

    >>> faults = [InvalidInput("a.csv, line 2: person is missing"), InvalidInput("a.csv, line 9: rating is 'x'")]
    >>> print(combined("a.csv", faults))
    a.csv has 2 problems: (1) line 2: person is missing (2) line 9: rating is 'x'
    """
    if len(errors) == 1:
        return errors[0]
    listed = " ".join(
        f"({number}) {str(error).replace(f'{name}, ', '')}" for number, error in enumerate(errors, start=1)
    )
    return InvalidInput(f"{name} has {len(errors)} problems: {listed}")


class FileFormatError(LpbError, ValueError):
    """A file is truncated, altered, of another format or of a newer version.

    >>> from lpbandits import PreferenceModel
    >>> PreferenceModel.from_dict({"format": 1})
    Traceback (most recent call last):
    ...
    lpbandits.errors.FileFormatError: the model is not a preference model: 'format' must be 'lpbandits-model', got 1
    """


class NotSupported(LpbError, TypeError):
    """The policy does not support the request.

    >>> from lpbandits import TS, Agent, PreferenceModel
    >>> Agent(TS(PreferenceModel([[0, 1]])), seed=1).posterior
    Traceback (most recent call last):
    ...
    lpbandits.errors.NotSupported: TS has no latent states, so it has no posterior
    """


class UncompiledWarning(UserWarning):
    """A plug-in function is not compiled: it runs as plain Python, a few hundred times slower.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UncompiledWarning)  # refuse plug-ins in plain Python
    """


class LockInWarning(UserWarning):
    """A policy for actions that each person gets once is used where actions repeat: it soon plays only one.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", LockInWarning)  # actions may repeat
    """


class StalledWarning(UserWarning):
    """The scheduler or a worker of a Dask cluster has been silent for 30 seconds; the work continues when it replies.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", StalledWarning)  # give up instead of waiting
    """


class NoiseWarning(UserWarning):
    """The noise that a policy is told is more than three times larger or smaller than the noise of the model's log.

    >>> from lpbandits import LpbTS, PreferenceModel
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     policy = LpbTS(PreferenceModel([[0, 1], [1, 0]], noise=15.0), noise=1.0)
    >>> print(caught[0].message)
    noise is 1, but that of the log that the model was fitted to is 15; leave noise out to use the model's, or give ...
    """


class ScaleWarning(UserWarning):
    """Outcomes lie outside the model's `reward_range` by more than half its width: they are on another scale.

    >>> from lpbandits import Agent, LpbTS, PreferenceModel
    >>> import warnings
    >>> agent = Agent(LpbTS(PreferenceModel([[0, 1], [1, 0]], reward_range=(1, 5)), noise=1.0), seed=1)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     agent.tell(0, 80.0)
    >>> print(caught[0].message)
    1 outcome on another scale than the log that the model was fitted to: 80 for 0, where rewards were from 1 to 5; ...
    """


class CovariateWarning(UserWarning):
    """A person has a level of a covariate that the model does not know, or a table lacks one; it counts as missing.

    >>> from lpbandits import CovariateModel, PreferenceModel
    >>> import warnings
    >>> sex = CovariateModel(["sex"], ["text"], [["f", "m"]], [0], [1], [0, 0], [[1.0, 0, 0], [0, 1.0, 0]], 0.5)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     prior = PreferenceModel([[0, 1], [1, 0]], covariates=sex).prior_for({"sex": "x"})
    >>> print(caught[0].message)
    levels of covariates that the model does not know count as missing: sex has 'x' (1); correct them, or fit the ...
    """


class ResourceError(LpbError, RuntimeError):
    """The system or a library failed: out of memory, a disk error, an error of a dependency (its `__cause__`).

    >>> with translate_errors("counting pairs"):
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    lpbandits.errors.ResourceError: counting pairs: not enough memory; make the problem smaller
    """


LIBRARIES = (
    *("polars", "pyo3_runtime", "numba", "llvmlite", "joblib", "distributed", "vl_convert"),
    *("zipfile", "zlib", "fastexcel"),
)
"""Libraries whose own exceptions are converted to `ResourceError`."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that called it: Python shows a warning once for each such line.

    A fixed `stacklevel` would be right for only one of the public calls that lead here.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    """Return whether a module is of this package, or one whose functions wrap those of this package."""
    return module.partition(".")[0] == __name__.partition(".")[0] or module in ("contextlib", "functools")


@contextmanager
def translate_errors(doing: str) -> Iterator[None]:
    """Convert errors of the system and of libraries to `ResourceError`; `doing` says what failed.

    Used as a decorator of public functions. Any other exception passes unchanged; one that is not an `LpbError` is a
    bug in this package.
    """
    try:
        yield
    except BaseException as error:  # a panic in Rust is not an Exception
        fault = fault_of(error, doing)
        if fault is None:
            raise
        raise fault from error


def fault_of(error: BaseException, doing: str) -> ResourceError | None:
    """Return the `ResourceError` for an error of the system or of a library, None for any other error."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return ResourceError(f"{doing}: not enough memory; make the problem smaller")
    if isinstance(error, OSError):
        return ResourceError(f"{doing}: {reason(error)}" + (f": {error.filename}" if error.filename else ""))
    if type(error).__module__.partition(".")[0] in LIBRARIES:
        return ResourceError(f"{doing}: {reason(error)}")
    return None


def check_fork() -> None:
    """Raise `ResourceError` in a forked process whose parent has made tables; called before one is made.

    The threads of polars do not survive a fork, and a table would wait for them forever.
    """
    if _process_of_tables() != os.getpid():
        raise ResourceError(
            "tables need the threads of polars, which the parent process has started and a fork does not copy; start "
            "processes by multiprocessing.set_start_method('spawn')"
        )


@functools.cache
def _process_of_tables() -> int:
    """Return the process that called this first: the current one, or one that it was forked from."""
    return os.getpid()


def reason(error: BaseException, remedy: str = "") -> str:
    """Return the first line of an error's message without the path, and then the remedy.

    >>> reason(OSError(28, "No space left on device", "a.csv")), reason(ValueError("embedded null byte"))
    ('No space left on device', 'embedded null byte')
    >>> reason(OSError(errno.EMFILE, "Too many open files", "a.csv"), "name a file")
    'Too many open files; raise the limit of open files (ulimit -n)'
    """
    words = str(getattr(error, "strerror", None) or error).partition("\n")[0] or type(error).__name__
    # libraries in Rust put the error number only into the message
    if getattr(error, "errno", None) == errno.EMFILE or f"(os error {errno.EMFILE})" in str(error):
        remedy = "raise the limit of open files (ulimit -n)"
    return f"{words}; {remedy}" if remedy else words
