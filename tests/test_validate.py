"""Validators of numbers, lists and arrays: each kind of bad value has one error with the value and the name."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

import lpbandits as lpb
from lpbandits import validate
from lpbandits.errors import InvalidInput

FLOATS = partial(validate.as_floats, shape=(None,))
STATES = partial(validate.as_states, low=-1, states=2)


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        *((validate.as_number, value, "a number, got") for value in ("1", True, 1j, None, np.array([1.0]))),
        *(
            (validate.as_number, x, "a finite number, got")
            for x in (10**400, Fraction(10**400), Decimal("sNaN"), np.inf)
        ),
        (partial(validate.as_number, high=2), 3, "at most 2, got 3"),
        *(
            (validate.as_count, value, "a whole number from 1 to 2147483647, got")
            for value in (2.5, 0, True, "1", 2**40)
        ),
        *((validate.as_bytes, value, "a size with a unit") for value in ("8", "0GB", 0, -1, "9999999TB", None)),
        *((validate.as_flag, value, "True or False, got") for value in ("no", 1)),
        *(
            (partial(validate.as_list, entries="labels"), value, "a list of labels, got")
            for value in (5, "ab", np.array(5))
        ),
        *((validate.as_label, value, "text or a whole number, got") for value in (1.5, None, True, np.nan, b"a")),
        *((validate.as_label, value, "not blank .*got") for value in ("", " ", "a\0")),
        (validate.as_label, "é" * 501, "at most 1,000 bytes, got"),
        (validate.as_label, 10**101, "within ±1e100, got 1000"),
        *((FLOATS, values, "rows of equal length, got") for values in ([1, 10**400], [[1], [1, 2]], [object()])),
        *((FLOATS, values, "one-dimensional, got") for values in ([[1]], 1)),
        *((FLOATS, values, "an array of numbers, got") for values in ([1, "a"], [1j], np.array(["2020"], "M8[Y]"))),
        (FLOATS, np.ma.array([1.0, 2.0], mask=[True, False]), "masked"),
        *((STATES, values, r"be a state from 0 to 1, or -1 .*got") for values in ([0, 0.7], [2], [-2])),
        (validate.as_indices, [0, 0.5], r"value\[1\] must be a whole number, got 0.5"),
    ],
)
def test_invalid_values_are_named(check: Any, value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        check(value, name="value")
    assert str(caught.value).startswith("value")


def test_valid_values_become_plain() -> None:
    assert [validate.as_number(x, "x") for x in (1, np.float32(0.5), Decimal("0.5"), np.array(2))] == [
        1.0,
        0.5,
        0.5,
        2.0,
    ]
    assert type(validate.as_count(np.int8(3), "x")) is int
    assert type(validate.as_label(np.str_("a"), "x")) is str
    assert validate.as_floats(np.eye(4)[::2], "x", shape=(2, None)).flags.c_contiguous
    assert validate.as_indices(np.array([3], dtype=">i2"), "x").dtype == np.int64


def test_progress_must_be_a_function() -> None:
    log, model = (
        lpb.Ratings.from_arrays([1, 1, 2, 2], [0, 1, 0, 1], [1.0, 2.0, 3.0, 1.0]),
        lpb.PreferenceModel([[0, 1]]),
    )
    bad: Any = 3
    calls: list[Callable[[], Any]] = [
        lambda: lpb.fit_states(log, lpb.TwoStage(), progress=bad),
        lambda: lpb.evaluate(log, progress=bad),
        lambda: lpb.decide(lpb.LpbTS(model), log, progress=bad),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match=r"progress must .*got 3"):
            call()


def test_labels_that_look_alike_are_counted() -> None:
    accents = ["Zo\u00eb", "Zoe\u0308"]
    (warning,) = validate.look_alikes(["bo", "ann", *accents, "ann ", " ann", 7], "people")
    assert "5 people" in warning
    assert r"'Zoe\u0308' and 'Zo\xeb'" in warning
    assert not validate.look_alikes(["bo ", "Bo", "7", 8], "people")
    log = lpb.Ratings.from_arrays(["ann", "ann ", "ann "], ["tea", "tea", "jam"], [1, 2, 3])
    report = lpb.fit_states(log, lpb.TwoStage(restarts=1), states=1, taste=False, threads=1).report
    assert [note for note in report.warnings if "2 people" in note and "'ann ' and 'ann'" in note]
