"""One try: evaluate its source, take it to the door, and say what came out."""

import contextlib
import dataclasses
import math
import re
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Never

import numpy as np

import lpbandits as lpb
from tests.doors.hostile import NAMES, Code, Use

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 10.0
"""A try that takes longer hangs."""
LONGEST = 2000
"""Characters of an error's message: it names the value, it does not repeat it."""


@dataclass(frozen=True)
class Door:
    """A public entry: what is tried on it, and how."""

    name: str
    code: Code
    use: Use
    budget: int = 12
    """Tries in the tests."""
    share: float = 1.0
    """Tries in `make fuzz`, relative to others."""


@dataclass(frozen=True)
class Outcome:
    """What a try came to: accepted, refused, or a finding: foreign, hang or nan."""

    kind: str
    cause: str
    seconds: float

    @property
    def finding(self) -> bool:
        return self.kind not in ("accepted", "refused")


class Hang(BaseException):
    """The time of a try is over."""


def attempt(door: Door, code: str, seconds: float = SECONDS) -> Outcome:
    """Make one try."""
    start = time.perf_counter()

    def ended(kind: str, cause: str) -> Outcome:
        return Outcome(kind, cause, time.perf_counter() - start)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(code, dict(NAMES))  # noqa: S307 - our own source
        with _limited(seconds), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", lpb.UncompiledWarning)
            warnings.simplefilter("ignore", lpb.LockInWarning)
            found = door.use(value)
            where = nan_in(found)
    except lpb.LpbError as error:
        if len(str(error)) > LONGEST:
            return ended("foreign", f"a message of {len(str(error))} characters: {str(error)[:60]}")
        return ended("refused", cause_of(error))
    except Hang:
        return ended("hang", "")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return ended("foreign", f"{type(error).__name__}: {_words(error)} {_place(error)}")
    return ended("nan", where) if where else ended("accepted", "")


def nan_in(found: Any, path: str = "result") -> str:
    """Return where NaN stands in plain data; nothing if it does not."""
    if isinstance(found, float):
        return path if math.isnan(found) else ""
    if isinstance(found, np.ndarray) and found.dtype.kind == "f":
        return path if np.isnan(found).any() else ""
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        found = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    if isinstance(found, dict):
        parts = found.items()
    elif isinstance(found, list | tuple):
        parts = enumerate(found)  # type: ignore[assignment] # keys of either kind
    else:
        return ""
    return next((where for key, value in parts if (where := nan_in(value, f"{path}[{key!r}]"))), "")


def cause_of(error: BaseException) -> str:
    """Return an error without the values it names, to count different causes."""
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|-?\d[\w.,+-]*|\[.*?\]|\(.*?\)", "…", _words(error))
    return f"{type(error).__name__}: {plain[:70]}"


def corpus() -> list[tuple[str, Path]]:
    """Return what was found once: the door and the file of every try."""
    return [(file.parent.name, file) for file in sorted(CORPUS.glob("*/*.txt"))]


def read(file: Path) -> tuple[str, str]:
    """Return the source of a kept try, and what it must come to: it begins with "# refused: …" or "# accepted: …"."""
    head, _, source = file.read_text(encoding="utf-8").partition("\n")
    return source.strip(), head.removeprefix("# ").partition(":")[0]


def _words(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:300]
    except Exception:
        return "(no words)"


def _place(error: BaseException) -> str:
    """Return the innermost line of ours in a traceback."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "lpbandits" in Path(name).parts:
            place = f"({'/'.join(Path(name).parts[-2:])}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `Hang` after so many seconds, as soon as Python code runs again."""

    def stop(*_: object) -> Never:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
