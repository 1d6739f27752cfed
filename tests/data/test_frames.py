"""Polars frames, pandas frames and workbooks give the same log as a CSV file."""

import datetime
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits import validate
from lpbandits.errors import InvalidInput
from tests.workbooks import workbook

ROWS = [(2, "tea", 4.5), (1, "jam", 3.0), (1, "tea", -1.0), (7, "é, milk", 2.0), (7, "jam", 2.25)]
COLUMNS: dict[str, Any] = dict(zip(("userId", "item", "rating"), map(list, zip(*ROWS, strict=True)), strict=True))
FRAME = pl.DataFrame(COLUMNS)


@pytest.fixture
def log(tmp_path: Path) -> lpb.Ratings:
    """The same rows, read from a CSV."""
    FRAME.write_csv(tmp_path / "log.csv")
    return lpb.read_ratings(tmp_path / "log.csv")


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.lazy(),
        FRAME.with_columns(pl.col("userId").cast(pl.String)),
        FRAME.with_columns(pl.col("userId").cast(pl.Float32), pl.col("rating").cast(pl.String)),
        FRAME.with_columns(pl.col("userId").cast(pl.String).cast(pl.Categorical)),
        FRAME.with_columns(pl.col("item").cast(pl.Categorical), pl.lit(datetime.date(2020, 1, 1))),
        FRAME.with_columns(pl.col("userId").cast(pl.UInt64), pl.col("rating").cast(pl.Decimal(10, 3))),
        FRAME.sample(fraction=1.0, shuffle=True, seed=1),
    ],
)
def test_a_polars_frame_equals_the_file(log: lpb.Ratings, frame: Any) -> None:
    ratings = lpb.read_ratings(frame)
    assert (ratings.sha256, ratings.layout) == (log.sha256, "long")


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.astype({"userId": "Int64", "rating": "Float64"}),
        lambda frame: frame.astype({"userId": "category", "item": "category"}),
        lambda frame: frame.astype({"userId": str, "item": object}),
        lambda frame: frame.astype({"userId": object, "rating": object}),
        lambda frame: frame.astype({"userId": "float64"}),
        lambda frame: frame.assign(when=datetime.datetime(2020, 1, 1), tags=[{}] * len(frame)),
        lambda frame: frame.set_index(["userId", "item"]),
        lambda frame: frame.iloc[::-1],
    ],
)
def test_a_pandas_frame_equals_the_file(log: lpb.Ratings, change: Any) -> None:
    pd = pytest.importorskip("pandas")
    assert lpb.read_ratings(change(pd.DataFrame(COLUMNS))).sha256 == log.sha256


def test_a_pivoted_pandas_frame_is_wide(log: lpb.Ratings) -> None:
    pd = pytest.importorskip("pandas")
    wide = pd.DataFrame(COLUMNS).pivot_table(index="userId", columns="item", values="rating")
    ratings = lpb.read_ratings(wide)
    assert (ratings.layout, ratings.sha256) == ("wide", log.sha256)
    nameless = wide.rename_axis(None).rename(index=lambda person: f"p{person}")
    assert lpb.read_ratings(nameless, layout="wide").people == ("p1", "p2", "p7")


def test_a_workbook_equals_the_file(log: lpb.Ratings, tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    header = ["userId", "item", "rating", "note"]
    rows = [[*row, "x"] for row in ROWS]
    path = workbook(tmp_path / "log.xlsx", [header, *rows[:2], [None] * 4, *rows[2:]])
    ratings = lpb.read_ratings(path)
    assert ratings.sha256 == log.sha256
    assert ratings.dropped["blank_lines"] == 1


def test_an_invalid_workbook_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastexcel")
    path = tmp_path / "log.xlsx"
    header, rows = ["userId", "item", "rating"], [[1, "x", 1], [9, "tea", "good"]]
    cases: list[tuple[list[Any] | None, dict[str, Any], str]] = [
        (None, {}, "cannot unpack"),
        ([], {}, r"log\.xlsx is empty"),
        ([header, *rows], {}, r"log\.xlsx, row 3: rating is 'good', not a finite number"),
        ([["user", "item", "item", "rating"], [1, "a", "b", 2]], {}, "two columns 'item', number 2 and 3"),
        ([header, *rows], {"unpack_limit": 10}, r"log\.xlsx.*limit is 10.*unpack_limit"),
    ]
    for content, options, message in cases:
        path.write_bytes(b"no workbook") if content is None else workbook(path, content)
        with pytest.raises(InvalidInput, match=message):
            lpb.read_ratings(path, **options)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "fastexcel" else 1)
    with pytest.raises(InvalidInput, match="pip install fastexcel"):
        lpb.read_ratings(path)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame(), "the frame has no columns"),
        (FRAME.clear(), "the frame has no ratings"),
        (FRAME.with_columns(rating=pl.lit(True)), "ratings .* Boolean"),
        (FRAME.with_columns(rating=pl.lit(None)), "no ratings: the rating is missing in 5 rows"),
        (FRAME.with_columns(item=pl.lit(datetime.date(2020, 1, 1))), "action column .* Date"),
        (FRAME.with_columns(userId=pl.lit(np.nan)), "the frame, row 1: person is missing"),
        (FRAME.with_columns(userId=pl.col("userId") / 2), r"the frame, row 2: person is 0\.5, not a whole number"),
        (FRAME.with_columns(userId=pl.Series([object()] * 5)), "person column .* Object"),
        (FRAME.lazy().select("nothing"), "cannot read the frame"),
        (pl.DataFrame({f"c{i}": [1] for i in range(10_001)}), "10,001 columns.*10,000"),
        (np.zeros((2, 2)), r"ndarray.*from_matrix"),
        (COLUMNS, "got dict"),
    ],
)
def test_an_invalid_polars_frame_raises(frame: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(frame)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"userId": [1, None, 2, 3, 4]}, "the frame, row 2: person is missing"),
        ({"userId": [{}] * 5}, r"person\[0\].*{}"),
        ({"userId": [b"x"] * 5}, r"person\[0\].*b'x'"),
        ({"rating": [True] * 5}, "ratings .* Boolean"),
        ({"rating": [None] * 5}, "no ratings: the rating is missing in 5 rows"),
        ({"rating": ["4,5"] * 5}, "it looks like a decimal comma"),
        ({"item": [datetime.datetime(2020, 1, 1)] * 5}, r"action\[0\].*2020"),
        ({"item": ["\ud800"] * 5}, "cannot be read|UTF-8"),
        ({"item": [1, "x", 2, None, 3]}, "the frame, row 4: action is missing"),
        ({"item": [1, "x", 2.5, None, 3]}, r"action\[2\].*2\.5"),
        ({"item": [1, "x", "1", None, 3]}, "action .* 1 and '1'"),
        ({("a", "b"): [1] * 5}, r"column name.*\('a', 'b'\)"),
        ({"user": [1] * 5}, r"2 columns \('userId', 'user'\)"),
    ],
)
def test_an_invalid_pandas_frame_raises(changes: dict[Any, Any], message: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(pd.DataFrame({**COLUMNS, **{name: pd.Series(cells) for name, cells in changes.items()}}))


def test_integers_beyond_64_bits_are_text() -> None:
    pd = pytest.importorskip("pandas")
    for frame in (
        pd.DataFrame({"user": pd.Series([2**70, 1], dtype=object), "item": [1, 1], "rating": [1, 2]}),
        pl.DataFrame({"user": [str(2**70), "1"], "item": [1, 1], "rating": [1, 2]}),
    ):
        assert lpb.read_ratings(frame).people == ("1", str(2**70))
    assert lpb.read_ratings(pl.DataFrame({"user": [2**64 - 1], "item": [1], "rating": [1]})).people == (str(2**64 - 1),)


@pytest.mark.parametrize(
    "label",
    ["a", "07", 7.0, -1, "é" * 500, "", " ", "\u2028", "\u00a0", "\x1f", "a\0", "é" * 501, 1.5, np.inf, np.nan, None],
)
def test_a_column_of_labels_follows_the_rule_of_single_labels(label: Any) -> None:
    def refused(build: Any) -> bool:
        try:
            build()
        except InvalidInput:
            return True
        return False

    frame = pl.DataFrame({"person": [label], "action": ["tea"], "rating": [1.0]}, strict=False)
    assert refused(lambda: lpb.read_ratings(frame)) == refused(lambda: validate.as_label(label, "person"))
