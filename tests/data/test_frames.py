"""Polars frames, pandas frames and workbooks give the same log as a CSV file."""

import datetime
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.data.sources import is_pandas
from lpbandits.errors import InvalidInput
from tests.workbooks import workbook

ROWS = [(2, "tea", 4.5), (1, "jam", 3.0), (1, "tea", -1.0), (7, "é, milk", 2.0), (7, "jam", 2.25)]
COLUMNS: dict[str, Any] = dict(zip(("userId", "item", "rating"), map(list, zip(*ROWS, strict=True)), strict=True))


@pytest.fixture
def log(tmp_path: Path) -> lpb.Ratings:
    """The same rows, read from a CSV."""
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "log.csv")
    return lpb.read_ratings(tmp_path / "log.csv")


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.lazy(),
        lambda frame: frame.with_columns(pl.col("userId").cast(pl.String)),
        lambda frame: frame.with_columns(pl.col("userId").cast(pl.Float32), pl.col("rating").cast(pl.String)),
        lambda frame: frame.with_columns(pl.col("userId").cast(pl.String).cast(pl.Categorical)),
        lambda frame: frame.with_columns(pl.col("item").cast(pl.Categorical), pl.lit(datetime.date(2020, 1, 1))),
        lambda frame: frame.with_columns(pl.col("userId").cast(pl.UInt64), pl.col("rating").cast(pl.Decimal(10, 3))),
        lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=1),
    ],
)
def test_a_polars_frame_equals_the_file(log: lpb.Ratings, change: Any) -> None:
    ratings = lpb.read_ratings(change(pl.DataFrame(COLUMNS)))
    assert ratings.sha256 == log.sha256
    assert ratings.layout == "long"


@pytest.mark.parametrize(
    "change",
    [
        lambda frame, pd: frame,  # noqa: ARG005
        lambda frame, pd: frame.astype({"userId": "Int64", "rating": "Float64"}),  # noqa: ARG005
        lambda frame, pd: frame.astype({"userId": "category", "item": "category"}),  # noqa: ARG005
        lambda frame, pd: frame.astype({"userId": str, "item": object}),  # noqa: ARG005
        lambda frame, pd: frame.astype({"userId": object, "rating": object}),  # noqa: ARG005
        lambda frame, pd: frame.astype({"userId": "float64"}),  # noqa: ARG005
        lambda frame, pd: frame.assign(when=pd.Timestamp("2020-01-01"), tags=[{}] * len(frame)),
        lambda frame, pd: frame.set_index(["userId", "item"]),  # noqa: ARG005
        lambda frame, pd: frame.iloc[::-1],  # noqa: ARG005
    ],
)
def test_a_pandas_frame_equals_the_file(log: lpb.Ratings, change: Any) -> None:
    pd = pytest.importorskip("pandas")
    ratings = lpb.read_ratings(change(pd.DataFrame(COLUMNS), pd))
    assert ratings.sha256 == log.sha256


def test_a_pivoted_pandas_frame_is_wide(log: lpb.Ratings) -> None:
    pd = pytest.importorskip("pandas")
    wide = pd.DataFrame(COLUMNS).pivot_table(index="userId", columns="item", values="rating")
    ratings = lpb.read_ratings(wide)
    assert (ratings.layout, ratings.sha256) == ("wide", log.sha256)
    nameless = wide.rename_axis(None).rename(index=lambda person: f"p{person}")
    people = lpb.read_ratings(nameless, layout="wide").people
    assert people == ("p1", "p2", "p7")


def test_a_workbook_equals_the_file(log: lpb.Ratings, tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    header = ["userId", "item", "rating", "note"]
    rows = [[*row, "x"] for row in ROWS]
    path = workbook(tmp_path / "log.xlsx", [header, *rows[:2], [None] * 4, *rows[2:]])
    ratings = lpb.read_ratings(path)
    assert ratings.sha256 == log.sha256
    assert ratings.dropped["blank_lines"] == 1
    workbook(path, [header, *rows, [9, "tea", "good", None]])
    with pytest.raises(InvalidInput, match=r"log\.xlsx, row 7: rating is 'good', not a finite number"):
        lpb.read_ratings(path)
    workbook(path, [["user", "item", "item", "rating"], [1, "a", "b", 2]])
    with pytest.raises(InvalidInput, match="two columns 'item', number 2 and 3"):
        lpb.read_ratings(path)


def test_an_unreadable_workbook_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastexcel")
    path = tmp_path / "log.xlsx"
    path.write_bytes(b"no workbook")
    with pytest.raises(InvalidInput, match="cannot unpack"):
        lpb.read_ratings(path)
    with pytest.raises(InvalidInput, match=r"log\.xlsx is empty"):
        lpb.read_ratings(workbook(path, []))
    workbook(path, [["user", "item", "rating"], [1, "x", 1]])
    with pytest.raises(InvalidInput, match=r"log\.xlsx.*limit is 10.*unpack_limit"):
        lpb.read_ratings(path, unpack_limit=10)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "fastexcel" else 1)
    with pytest.raises(InvalidInput, match="pip install fastexcel"):
        lpb.read_ratings(path)


class DataFrame:
    """A class with the name of the pandas frame, without its attributes."""

    __module__ = "pandas.stand_in"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame(), "the frame has no columns"),
        (pl.DataFrame(COLUMNS).clear(), "the frame has no ratings"),
        (pl.DataFrame(COLUMNS).with_columns(rating=pl.lit(True)), "ratings .* Boolean"),
        (pl.DataFrame(COLUMNS).with_columns(rating=pl.lit(None)), "the frame, row 1: rating is missing"),
        (pl.DataFrame(COLUMNS).with_columns(item=pl.lit(datetime.date(2020, 1, 1))), "action column .* Date"),
        (pl.DataFrame(COLUMNS).with_columns(userId=pl.lit(np.nan)), "the frame, row 1: person is missing"),
        (pl.DataFrame(COLUMNS).with_columns(userId=pl.Series([object()] * 5)), "person column .* Object"),
        (pl.DataFrame(COLUMNS).lazy().select("nothing"), "cannot read the frame"),
        (pl.DataFrame(COLUMNS).lazy().map_batches(lambda _: 1 / 0), "cannot read the frame"),  # type: ignore[arg-type,return-value] # on purpose
        (pl.DataFrame({f"c{i}": [1] for i in range(10_001)}), "10,001 columns.*10,000"),
        (DataFrame(), "the frame cannot be read"),
        (np.zeros((2, 2)), r"ndarray.*from_matrix"),
        (COLUMNS, "got dict"),
    ],
)
def test_an_invalid_polars_frame_raises(frame: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(frame)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("userId", [1, None, 2, 3, 4], "the frame, row 2: person is missing"),
        ("userId", [{}] * 5, "person column .* Struct"),
        ("userId", [b"x"] * 5, "person column .* Binary"),
        ("rating", [True] * 5, "ratings .* Boolean"),
        ("rating", [None] * 5, "the frame, row 1: rating is missing"),
        ("rating", ["4,5"] * 5, "it looks like a decimal comma"),
        ("item", [datetime.datetime(2020, 1, 1)] * 5, "action column .* Datetime"),
        ("item", ["\ud800"] * 5, "cannot be read|UTF-8"),
        ("item", [1, "x", 2.5, None, 3], "the frame, row 4: action is missing"),
    ],
)
def test_an_invalid_pandas_frame_raises(column: str, values: list[Any], message: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(pd.DataFrame({**COLUMNS, column: pd.Series(values, dtype=None)}))


def test_pandas_columns_need_text_or_integer_names() -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match=r"column name.*\('a', 'b'\)"):
        lpb.read_ratings(pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])))
    with pytest.raises(InvalidInput, match="two columns 'item', number 2 and 3"):
        lpb.read_ratings(pd.DataFrame([[1, 2, 3, 4]], columns=["user", "item", "item", "rating"]))
    with pytest.raises(InvalidInput, match="got Series"):
        lpb.read_ratings(pd.Series([1]))


def test_integers_beyond_64_bits_are_text() -> None:
    pd = pytest.importorskip("pandas")
    many = [2**70, 1]
    for frame in (
        pd.DataFrame({"user": pd.Series(many, dtype=object), "item": [1, 1], "rating": [1, 2]}),
        pl.DataFrame({"user": ["1180591620717411303424", "1"], "item": [1, 1], "rating": [1, 2]}),
    ):
        assert lpb.read_ratings(frame).people == ("1", str(2**70))
    assert lpb.read_ratings(pl.DataFrame({"user": [2**64 - 1], "item": [1], "rating": [1]})).people == (str(2**64 - 1),)


def test_pandas_is_recognised_without_being_imported() -> None:
    assert is_pandas(DataFrame())
    assert not is_pandas(pl.DataFrame())
    assert not is_pandas(int)


def test_a_matrix_with_nan_is_a_log() -> None:
    log = lpb.Ratings.from_matrix(
        [[5, np.nan], [np.nan, np.nan], [1, 2]], people=["cy", "bo", "ann"], actions=["x", "y"]
    )
    assert (log.people, log.actions, log.layout) == (("cy", "bo", "ann"), ("x", "y"), "wide")
    assert log.counts.tolist() == [1, 0, 2]
    np.testing.assert_array_equal(log.matrix().toarray(), [[5, 0], [0, 0], [1, 2]])
    assert lpb.Ratings.from_matrix(np.eye(2)).actions == (0, 1)
    for matrix, labels, message in (
        ([[1, 2]], {"people": ["a", "b"]}, "people must have 1 label"),
        ([[1, 2]], {"actions": ["a", "a"]}, "label 'a' is given to actions 0 and 1"),
        ([1, 2], {}, "any×any"),
        ([[np.nan]], {}, "there are no ratings"),
        ([[np.inf]], {}, "must be a finite number"),
    ):
        with pytest.raises(InvalidInput, match=message):
            lpb.Ratings.from_matrix(matrix, **labels)
