"""Hostile input is accepted, or refused with an error of ours: never another exception, NaN or a changed argument."""

import contextlib
import dataclasses
import math
import signal
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Never

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import lpbandits as lpb
from tests.fuzz.targets import TARGETS, Target
from tests.fuzz.values import ARRAYS, NAMES, NUMBERS, TEXTS, THINGS

CORPUS = sorted(Path(__file__).parent.glob("corpus/*.txt"))
MAX_MESSAGE = 2000
"""Characters of a message: it names the value, and shortens a long one."""
MAX_SECONDS = 300.0
"""Seconds of one example; a first call may compile."""
N_EXAMPLES = {"lpbandits": 500, "fuzz": 20_000}
"""Examples over all targets, by hypothesis profile."""
COUNTS: dict[str, Counter[str]] = {name: Counter() for name in TARGETS}
"""Outcomes by target; `make fuzz` prints them."""
SECONDS: dict[str, float] = dict.fromkeys(TARGETS, 0.0)


def attempt(target: Target, source: str) -> str:
    """Run one example; return "accepted" or "refused", and fail on any other outcome."""
    value = before = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(source, dict(NAMES))  # noqa: S307 - source from our strategies
        before = snapshot(value)
        with _time_limit(MAX_SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", lpb.errors.UncompiledWarning)
            warnings.simplefilter("ignore", lpb.errors.LockInWarning)
            path = nan_path(target.function(value))
        assert not path, f"NaN at {path}"
    except lpb.LpbError as error:
        message = str(error)
        assert 0 < len(message) <= MAX_MESSAGE, f"a message of {len(message)} characters"
        assert "\n" not in message
        outcome = "refused"
    else:
        outcome = "accepted"
    assert value is None or snapshot(value) == before, "an argument was changed"
    return outcome


def snapshot(value: Any, depth: int = 6) -> Any:
    """Return a comparable copy of lists, dicts, arrays and frames; the identity of anything else."""
    if type(value) in (list, tuple) and depth and len(value) < 1000:
        return [snapshot(item, depth - 1) for item in value]
    if type(value) is dict and depth:
        return [(id(key), snapshot(item, depth - 1)) for key, item in value.items()]
    if type(value) is np.ndarray and value.size < 1000 and value.dtype.kind != "O":
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, pl.DataFrame):
        return value.to_dict(as_series=False).__repr__()
    return id(value)


def nan_path(value: Any, path: str = "result") -> str:
    """Return the path of a NaN in plain data; an empty string if there is none."""
    if isinstance(value, float):
        return path if math.isnan(value) else ""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return path if np.isnan(value).any() else ""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if type(value) in (list, tuple) else ()
    return next((inner for key, item in items if (inner := nan_path(item, f"{path}[{key!r}]"))), "")


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Fail after some seconds, once Python code runs again."""

    def stop(*_: object) -> Never:
        pytest.fail(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def n_examples(target: Target) -> int:
    total = N_EXAMPLES.get(settings.get_current_profile_name(), 500)
    return math.ceil(total * target.weight / sum(other.weight for other in TARGETS.values()))


@pytest.mark.parametrize("name", TARGETS)
def test_target_accepts_or_refuses(name: str) -> None:
    target = TARGETS[name]
    start = time.perf_counter()

    @settings(max_examples=n_examples(target), suppress_health_check=list(HealthCheck))
    @given(target.strategy)
    def check(source: str) -> None:
        COUNTS[name][attempt(target, source)] += 1

    check()
    SECONDS[name] += time.perf_counter() - start


def corpus() -> Iterator[Any]:
    """Yield each stored example: a line "# outcome: reason" and a line of source."""
    for file in CORPUS:
        lines = file.read_text(encoding="utf-8").splitlines()
        for head, source in zip(lines[::2], lines[1::2], strict=True):
            outcome, _, reason = head.removeprefix("# ").partition(": ")
            yield pytest.param(file.stem, source, outcome, id=f"{file.stem}: {reason}")


@pytest.mark.parametrize(("name", "source", "outcome"), list(corpus()))
def test_stored_example(name: str, source: str, outcome: str) -> None:
    assert attempt(TARGETS[name], source) == outcome


def test_every_hostile_value_can_be_built() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in (*NUMBERS, *TEXTS, *ARRAYS, *THINGS):
            eval(source, dict(NAMES))  # noqa: S307 - source from our lists
