"""Hostile input is accepted, or refused with an error of ours: never another exception, NaN or a changed argument."""

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, event, given, settings

import lpbandits as lpb
from tests.fuzz import commands, data, files, models, policies, tables, worlds  # noqa: F401 - define targets
from tests.fuzz.shared import TARGETS, Target
from tests.fuzz.values import ARRAYS, NAMES, NUMBERS, TEXTS, THINGS

CORPUS = sorted(Path(__file__).parent.glob("corpus/*.txt"))
MAX_MESSAGE = 2000
"""Characters of a message: it names the value, and shortens a long one."""
N_EXAMPLES = {"lpbandits": 10, "fuzz": 400}
"""Examples of a target of weight 1, by hypothesis profile."""


def attempt(target: Target, source: str) -> str:
    """Run one example; return "accepted" or "refused", and fail on any other outcome."""
    value = before = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = eval(source, dict(NAMES))  # noqa: S307 - source from our strategies
        before = snapshot(value)
        with warnings.catch_warnings():
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


def make_test(target: Target) -> Callable[[], None]:
    """Return the test of a target, a function of the module so that hypothesis counts its outcomes."""

    @settings(
        max_examples=target.weight * N_EXAMPLES.get(settings.get_current_profile_name(), 10),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.strategy)
    def check(source: str) -> None:
        event(attempt(target, source))

    return check


globals().update({f"test_{name}": make_test(target) for name, target in TARGETS.items()})


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
