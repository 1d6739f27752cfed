"""Hostile values as Python source, and strategies that draw them."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lpbandits as lpb

Code = st.SearchStrategy[str]
"""A strategy that draws the Python source of a value."""


class HostileError(RuntimeError):
    """Raised by the methods of a `raising` object."""


def raising(*methods: str, kind: type = object, error: type[Exception] = HostileError) -> Any:
    """Return an object whose methods of these names raise."""

    def fail(*_: object) -> Any:
        raise error("hostile")

    return type("Raising", (kind,), dict.fromkeys(methods, fail))()


def cyclic_list() -> list[Any]:
    """Return a list that contains itself."""
    out: list[Any] = []
    out.append(out)
    return out


def nested(depth: int) -> list[Any]:
    """Return a list nested to a depth."""
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


def masked(*values: float) -> Any:
    """Return an array whose first entry is masked."""
    return np.ma.array(values, mask=[i == 0 for i in range(len(values))])


def read_only(values: Any) -> Any:
    """Return a read-only array."""
    out = np.array(values)
    out.flags.writeable = False
    return out


_NAMED: tuple[Any, ...] = (raising, cyclic_list, nested, masked, read_only, Decimal, Fraction, Path, itertools)
NAMES: dict[str, Any] = {"np": np, "lpb": lpb, "nan": math.nan, "inf": math.inf, **{x.__name__: x for x in _NAMED}}
"""Names that the source of an example may use."""


def _lines(text: str) -> list[str]:
    return [part for line in text.strip().splitlines() for part in line.strip().split(" ;; ")]


NUMBERS = _lines(
    """
    nan ;; inf ;; -inf ;; -0.0 ;; 0 ;; 1 ;; -1 ;; 2 ;; 0.7 ;; 1e308 ;; -1e308 ;; 1e-320 ;; 1e100 ;; 1.1e100
    1e-50 ;; 1e16 ;; 2**31 ;; 2**63 ;; -2**63 ;; 2**64 ;; 10**400 ;; -10**5000 ;; True ;; False ;; None ;; 1+2j
    Decimal("0.5") ;; Decimal("NaN") ;; Decimal("sNaN") ;; Decimal("1e500") ;; Fraction(1, 3)
    Fraction(10**400, 3) ;; np.float16(1.5) ;; np.float32("inf") ;; np.float64(0.5) ;; np.longdouble("1e4000")
    np.int8(1) ;; np.uint64(2**64 - 1) ;; np.bool_(True) ;; np.complex128(1 + 2j) ;; np.datetime64("2020-01-01")
    np.timedelta64(5, "s") ;; np.str_("1") ;; np.bytes_(b"1") ;; np.void(b"1") ;; np.array(1.0) ;; np.array([1.0])
    np.ma.masked ;; raising("__float__") ;; raising("__index__")
    raising("__float__", error=ZeroDivisionError) ;; raising("__float__", kind=float)
    """
)

TEXTS = _lines(
    r"""
    "" ;; "x" ;; "1" ;; "nan" ;; "auto" ;; "gaussian" ;; "a\x00b" ;; "a\nb" ;; "\x1b[31m" ;; "\ud800" ;; "\u202e"
    "é" * 3 ;; "x" * 100_000 ;; "/" * 300 ;; b"x" ;; b"\xff\xfe" ;; bytearray(b"x") ;; np.str_("x")
    """
)

ARRAYS = _lines(
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
    np.array([b"a", b"b"]) ;; np.array([[raising("__float__")]]) ;; [raising("__float__"), raising("__float__")]
    np.broadcast_to(np.float64(0.5), (2**40,)) ;; np.broadcast_to(np.int64(0), (2**20, 2**20))
    np.matrix([[0, 1]]) ;; np.rec.array([(1, 2)])
    """
)

THINGS = _lines(
    """
    object() ;; int ;; lpb ;; {} ;; {"a": 1} ;; {1: 2}.keys() ;; {0, 1} ;; frozenset() ;; (x for x in (0, 1))
    range(3) ;; range(10**12) ;; itertools.count() ;; itertools.repeat(0) ;; iter([]) ;; cyclic_list()
    nested(50) ;; nested(5000) ;; (1,) ;; [None] ;; [[["x"]]] ;; print ;; NotImplemented ;; ...
    raising("__len__", "__iter__", "__getitem__") ;; raising("__array__", "__len__")
    {"a": {"b": [1, nan]}} ;; {"\\ud800": 1} ;; {("a", "b"): 1}
    """
)


def number() -> Code:
    """Draw a number, or a value in its place."""
    plain = st.integers(-3, 30).map(str) | st.floats(width=64).map(lambda x: f"float({str(x)!r})")
    return st.sampled_from(NUMBERS) | plain


def text() -> Code:
    """Draw text, or a value in its place."""
    return st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=[]), max_size=8).map(repr)


def array() -> Code:
    """Draw an array, or a value in its place."""
    row = st.lists(number(), max_size=4).map(lambda cells: f"[{', '.join(cells)}]")
    return st.sampled_from(ARRAYS) | row | st.lists(row, max_size=3).map(lambda rows: f"[{', '.join(rows)}]")


def anything() -> Code:
    """Draw any hostile value."""
    return number() | text() | array() | st.sampled_from(THINGS)


def mostly(valid: Code, hostile: Code | None = None) -> Code:
    """Draw from `valid` three times in four."""
    other = anything() if hostile is None else hostile
    return st.integers(0, 3).flatmap(lambda i: valid if i else other)


def one_of(*sources: str) -> Code:
    return st.sampled_from(sources)


def floats(low: float, high: float) -> Code:
    return st.floats(low, high).map(repr)


def integers(low: int, high: int) -> Code:
    return st.integers(low, high).map(str)


@st.composite
def kwargs(_draw: st.DrawFn, /, **valid: Code) -> str:
    """Draw keyword arguments, up to two of them hostile. Only those whose name ends in _ are always present."""
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
