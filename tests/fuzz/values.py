"""Hostile values as Python source, and strategies that draw them."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import lpbandits as lpb

Code = st.SearchStrategy[str]
"""A strategy that draws the Python source of a value."""


def masked(*values: float) -> Any:
    """Return an array whose first entry is masked."""
    return np.ma.array(values, mask=[i == 0 for i in range(len(values))])


def read_only(values: Any) -> Any:
    """Return a read-only array."""
    out = np.array(values)
    out.flags.writeable = False
    return out


_NAMED: tuple[Any, ...] = (masked, read_only, Decimal, Fraction, Path, itertools)
NAMES: dict[str, Any] = {
    "np": np,
    "pl": pl,
    "lpb": lpb,
    "nan": math.nan,
    "inf": math.inf,
    **{x.__name__: x for x in _NAMED},
}
"""Names that the source of an example may use."""


def _sources(text: str) -> list[str]:
    return [part for line in text.strip().splitlines() for part in line.strip().split(" ;; ")]


NUMBERS = _sources(
    """
    nan ;; inf ;; -inf ;; -0.0 ;; 0 ;; 1 ;; -1 ;; 2 ;; 0.7 ;; 1e308 ;; -1e308 ;; 1e-320 ;; 1e100 ;; 1.1e100
    1e-50 ;; 1e16 ;; 2**31 ;; 2**63 ;; -2**63 ;; 2**64 ;; 10**400 ;; -10**5000 ;; True ;; False ;; None ;; 1+2j
    Decimal("0.5") ;; Decimal("NaN") ;; Decimal("sNaN") ;; Decimal("1e500") ;; Fraction(1, 3)
    Fraction(10**400, 3) ;; np.float16(1.5) ;; np.float32("inf") ;; np.float64(0.5) ;; np.int8(1)
    np.uint64(2**64 - 1) ;; np.bool_(True) ;; np.complex128(1 + 2j) ;; np.datetime64("2020-01-01")
    np.timedelta64(5, "s") ;; np.str_("1") ;; np.bytes_(b"1") ;; np.void(b"1") ;; np.array(1.0) ;; np.array([1.0])
    """
)

TEXTS = _sources(
    r"""
    "" ;; "x" ;; "1" ;; "nan" ;; "auto" ;; "gaussian" ;; "a\x00b" ;; "a\nb" ;; "\x1b[31m" ;; "\ud800" ;; "\u202e"
    "é" * 3 ;; "x" * 100_000 ;; "/" * 300 ;; b"x" ;; b"\xff\xfe" ;; bytearray(b"x") ;; np.str_("x")
    """
)

ARRAYS = _sources(
    """
    [] ;; [[]] ;; [[], []] ;; [[0, 1], [1]] ;; [[0, 1], [1, 0]] ;; [[0.5, 1], [1, 0]] ;; [[1e300, 0], [0, 1]]
    [["0", "1"]] ;; [[None, 1]] ;; ["0", "1"] ;; [[Decimal("0.5"), 1]] ;; [True, False] ;; [nan, 1.0]
    [1e308, 1e308] ;; [10**400, 1] ;; [1 + 2j, 1] ;; np.array(5) ;; np.empty((0, 2)) ;; np.zeros((2, 0))
    np.zeros((1, 1, 1, 1)) ;; np.array([0, 1], dtype=object) ;; np.array([[0, 1], [1, 0]], dtype=object)
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]) ;; masked(1.0, 2.0)
    np.arange(12).reshape(3, 4)[::2, ::2] ;; np.arange(4.0)[::-1] ;; read_only([[0, 1], [1, 0]])
    np.array([[0, 1], [1, 0]], dtype=">i2") ;; np.array([0.5, 0.5], dtype=">f8")
    np.array([1.0, 2.0], dtype=np.longdouble) ;; np.array([2**64 - 1, 0], dtype=np.uint64)
    np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]") ;; np.array([1 + 2j, 0])
    np.array([b"a", b"b"]) ;; np.matrix([[0, 1]]) ;; np.rec.array([(1, 2)])
    """
)

THINGS = _sources(
    """
    object() ;; int ;; lpb ;; {} ;; {"a": 1} ;; {1: 2}.keys() ;; {0, 1} ;; frozenset() ;; (x for x in (0, 1))
    range(3) ;; itertools.count() ;; itertools.repeat(0) ;; iter([]) ;; (1,) ;; [None] ;; [[["x"]]] ;; print
    NotImplemented ;; ... ;; {"a": {"b": [1, nan]}} ;; {"\\ud800": 1} ;; {("a", "b"): 1}
    """
)


def one_of(*sources: str) -> Code:
    return st.sampled_from(sources)


def floats(low: float, high: float) -> Code:
    return st.floats(low, high).map(repr)


def integers(low: int, high: int) -> Code:
    return st.integers(low, high).map(str)


def number() -> Code:
    """Draw a number, or a value in its place."""
    return one_of(*NUMBERS) | integers(-3, 30) | st.floats(width=64).map(lambda x: f"float({str(x)!r})")


def text() -> Code:
    """Draw text, or a value in its place."""
    return one_of(*TEXTS) | st.text(st.characters(exclude_categories=[]), max_size=8).map(repr)


def list_of(entry: Code, max_size: int, min_size: int = 0) -> Code:
    """Draw a list of values of one strategy."""
    return st.lists(entry, min_size=min_size, max_size=max_size).map(lambda entries: f"[{', '.join(entries)}]")


def array() -> Code:
    """Draw an array, or a value in its place."""
    row = list_of(number(), 4)
    return one_of(*ARRAYS) | row | list_of(row, 3)


def anything() -> Code:
    """Draw any hostile value."""
    return number() | text() | array() | one_of(*THINGS)


def mostly(valid: Code, hostile: Code | None = None) -> Code:
    """Draw from `valid` three times in four."""
    other = anything() if hostile is None else hostile
    return st.integers(0, 3).flatmap(lambda i: valid if i else other)


_FLAGS = "exclude_seen noise_known outcomes pinned repeats replayed shrink top traces with_model without_replacement"
COMMON: dict[str, Code] = {
    **dict.fromkeys(_FLAGS.split(), one_of("True", "False")),
    **dict.fromkeys(("noise", "assumed_noise"), floats(1e-50, 1e100)),
    "comparison": one_of("'rewards'", "'bradley-terry'"),
    "people": integers(1, 3),
    "rounds": integers(1, 5),
    "seed": integers(0, 2**63 - 1),
    "threads": integers(1, 2),
}
"""Valid values of arguments that several functions have."""


@st.composite
def kwargs(_draw: st.DrawFn, _common: str = "", /, **valid: Code) -> str:
    """Draw keyword arguments, those of `COMMON` by name, up to two of them hostile.

    Only those whose name ends in _ are always present.
    """
    valid |= {name: COMMON[name.rstrip("_")] for name in _common.split()}
    n_hostile = _draw(st.integers(0, 2))
    hostile = _draw(st.lists(st.sampled_from(sorted(valid)), max_size=n_hostile, unique=True))
    parts = []
    for name, strategy in valid.items():
        if name in hostile:
            parts.append(f"{name.rstrip('_')}={_draw(anything())}")
        elif name.endswith("_") or _draw(st.booleans()):
            parts.append(f"{name.rstrip('_')}={_draw(strategy)}")
    return f"dict({', '.join(parts)})"


def listed(*parts: Code) -> Code:
    """Draw a list with one value of each strategy."""
    return st.tuples(*parts).map(lambda sources: f"[{', '.join(sources)}]")


def calls(**options: Code) -> Code:
    """Draw `[name, arguments]` for one of these functions."""
    return st.one_of([listed(st.just(repr(name)), strategy) for name, strategy in options.items()])
