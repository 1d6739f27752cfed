"""Missing ratings, times, problems of a file and ratings where lower is better, for every reader and format."""

import datetime
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.data import reader
from lpbandits.data.columns.cells import BLANKS
from lpbandits.errors import InvalidInput
from tests.data.test_layouts import ratings_of, write
from tests.workbooks import workbook

HEAD = "user,item,rating\n"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several buckets and batches in a log of a few rows."""
    for name in ("MIN_BUCKET", "MAX_BUCKET", "BATCH"):
        monkeypatch.setattr(reader, name, 4)


def read(source: Any, **options: Any) -> lpb.Ratings:
    """Read a log, and check that it is equal on disk."""
    log = lpb.read_ratings(source, **options)
    with lpb.spill_ratings(source, **options) as parts:
        assert (parts.sha256, dict(parts.dropped)) == (log.sha256, dict(log.dropped))
        assert parts.lower_is_better == log.lower_is_better
    return log


def error_of(source: Any, **options: Any) -> str:
    """Return the message of the error of reading a log, which is equal on disk."""
    with pytest.raises(InvalidInput) as here:
        lpb.read_ratings(source, **options)
    with pytest.raises(InvalidInput) as there, lpb.spill_ratings(source, **options):
        pass
    assert str(there.value) == str(here.value)
    return str(here.value)


def sources(folder: Path, frame: pl.DataFrame) -> dict[str, Any]:
    """Return a table as a frame and in files of every format; workbooks hold only numbers and text."""
    frame.write_csv(folder / "log.csv")
    frame.write_parquet(folder / "log.parquet")
    files: dict[str, Any] = {"frame": frame, "csv": folder / "log.csv", "parquet": folder / "log.parquet"}
    if importlib.util.find_spec("fastexcel") is not None and not any(kind.is_temporal() for kind in frame.dtypes):
        files["excel"] = workbook(folder / "log.xlsx", [frame.columns, *map(list, frame.rows())])
    if importlib.util.find_spec("pandas") is not None:
        files["pandas"] = importlib.import_module("pandas").DataFrame(frame.to_dict(as_series=False))
    return files


MIXED = pl.DataFrame(
    {
        "user": [1, 1, 2, 2, 3, 3, 4],
        "item": ["tea", "jam", "tea", "jam", "tea", "milk", "milk"],
        "rating": [5.0, None, float("nan"), 2.0, 1.0, 4.0, None],
    }
)


def test_missing_ratings_are_skipped_in_every_format(tmp_path: Path) -> None:
    for what, source in sources(tmp_path, MIXED).items():
        log = read(source)
        assert ratings_of(log) == {1: {"tea": 5.0}, 2: {"jam": 2.0}, 3: {"tea": 1.0, "milk": 4.0}}, what
        assert log.dropped["missing_ratings"] == 3
        assert "rating is missing (3 such rows in all, also on" in error_of(source, missing="error")


@pytest.mark.parametrize("word", [*BLANKS, "NA", "N/A", "NaN", "NULL", " - ", "None"])
def test_words_for_a_missing_rating(word: str, tmp_path: Path) -> None:
    log = read(write(tmp_path, f"{HEAD}1,a,5\n1,b,{word}\n2,a,3\n2,b,\n"))
    assert (log.actions, log.dropped["missing_ratings"]) == (("a",), 2)
    assert "line 3: rating is missing (2 such rows" in error_of(tmp_path / "a.csv", missing="error")


def test_other_words_are_not_missing(tmp_path: Path) -> None:
    assert "line 3: rating is 'bad'" in error_of(write(tmp_path, f"{HEAD}1,a,5\n1,b,bad\n"))


def test_labels_of_skipped_rows_do_not_count(tmp_path: Path) -> None:
    log = read(write(tmp_path, f"{HEAD}1,7,5\n1,8,3\ntotal,,\n2,x,\n2,7,1\n"))
    assert (log.people, log.actions, log.dropped["missing_ratings"]) == ((1, 2), (7, 8), 2)


def test_a_log_without_any_rating_raises(tmp_path: Path) -> None:
    assert "no ratings: the rating is missing in 2 rows" in error_of(write(tmp_path, f"{HEAD}1,a,NA\n2,b,\n"))


def test_missing_ranks_are_skipped() -> None:
    frame = pl.DataFrame({"user": [1, 1, 1], "item": ["a", "b", "c"], "place": [2, None, 1]})
    log = read(frame, rank="place")
    assert ratings_of(log) == {1: {"c": 2.0, "a": 1.0}}
    assert log.dropped["missing_ratings"] == 1


NAIVE = datetime.datetime(2024, 5, 1, 9)
TIMES: dict[str, tuple[list[Any], list[Any]]] = {  # of three ratings, and their order
    "numbers": ([3, 20, 100], [0, 1, 2]),
    "text numbers": (["3", "20", "1e2"], [0, 1, 2]),
    "floats": ([1.5, 1.25, 1.75], [1, 0, 2]),
    "dates": (["2024-05-10", "2024-05-09", "2024/5/11"], [1, 0, 2]),
    "times": (["2024-05-01 09:00", "2024-05-01T08:59:59.5", "2024-05-01 09:00:00.001"], [1, 0, 2]),
    "zones": (["2024-05-01T10:00+02:00", "2024-05-01T08:30:00Z", "2024-05-01 05:00:00-0400"], [0, 1, 2]),
    "zones and none": (["2024-05-01T10:00+02:00", "2024-05-01", "2024-05-01 08:00:01 UTC"], [1, 0, 2]),
    "python dates": ([NAIVE.date(), datetime.date(2023, 1, 1), datetime.date(2025, 1, 1)], [1, 0, 2]),
    "python times": ([NAIVE, NAIVE - datetime.timedelta(microseconds=1), datetime.datetime(2025, 1, 1)], [1, 0, 2]),
}


@pytest.mark.parametrize("what", TIMES)
def test_last_is_the_latest_by_time(what: str, tmp_path: Path) -> None:
    times, order = TIMES[what]
    for rows in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        frame = pl.DataFrame({"user": [1] * 3, "item": ["a"] * 3, "rating": [0.0, 1.0, 2.0], "when": times})[rows]
        other = pl.DataFrame({"user": [2], "item": ["b"], "rating": [7.0], "when": times[:1]})
        for source in sources(tmp_path, pl.concat([frame, other])).values():
            log = read(source, duplicates="last", time="when")
            assert ratings_of(log)[1] == {"a": float(order[-1])}
            assert log.dropped["repeated_ratings"] == 2


def test_of_equal_times_the_last_row_counts() -> None:
    frame = pl.DataFrame({"user": [1] * 3, "item": ["a"] * 3, "rating": [1.0, 2.0, 3.0], "when": [5, 9, 9]})
    assert read(frame, duplicates="last", time="when").rating.tolist() == [3.0]
    assert read(frame[[2, 1, 0]], duplicates="last", time="when").rating.tolist() == [2.0]
    assert read(frame[[2, 1, 0]], duplicates="last").rating.tolist() == [1.0]


def test_the_latest_row_of_a_wide_table() -> None:
    frame = pl.DataFrame({"user": [1, 1], "when": ["2024-02-01", "2024-01-01"], "tea": [5, 1], "jam": [None, 2]})
    log = read(frame, layout="wide", duplicates="last", time="when")
    assert ratings_of(log) == {1: {"tea": 5.0, "jam": 2.0}}


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["2024-05-01", "May 2nd", "x"], "line 3: time is 'May 2nd', not a number or a date (2 such rows"),
        (["1", "2", "x"], "line 4: time is 'x', not a number or a date"),
        (["2024-05-01", "2024-13-01", "2024-01-01"], "'2024-13-01'"),
        (["1", "", "3"], "line 3: time is None"),
    ],
)
def test_times_that_cannot_be_read_raise(times: list[str], message: str, tmp_path: Path) -> None:
    rows = "".join(f"1,{'abc'[i]},3,{time}\n" for i, time in enumerate(times))
    text = error_of(write(tmp_path, f"user,item,rating,when\n{rows}"), duplicates="last", time="when")
    assert message in text
    assert "2024-05-31T14:00:00+02:00" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [({"time": "then"}, "no column 'then' for the time"), ({"time": "item"}, "must be four columns")],
)
def test_the_column_of_times_must_exist_and_be_another(options: Any, message: str) -> None:
    assert message in error_of(MIXED, **options)


def test_all_problems_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    bad = [f"{n},z,bad{n}\n" for n in range(10, 18)]
    rows = ["1,a,5\n", "1,a,4\n", ",b,3\n", *bad, "3,c,1e300\n", "3,d,\n", "3,e,1\n", "3,e,1\n"]
    text = error_of(write(tmp_path, HEAD + "".join(rows)))
    assert text.startswith("a.csv has 4 problems: (1) line 4: person is missing")
    assert "line 5: rating is 'bad10', not a finite number (8 such rows in all, also 'bad11' on line 6" in text
    assert "'bad14' on line 9, …)" in text
    assert "bad15" not in text
    assert "line 13: rating is '1e300', not within" in text
    assert "line 3: person 1 rated action 'a' again, first on line 2 (2 repeats in all)" in text
    assert "again" not in error_of(tmp_path / "a.csv", duplicates="mean")


def test_averaged_ratings_have_a_count_of_their_own() -> None:
    frame = pl.DataFrame({"user": [1, 1, 1], "item": ["a", "a", "b"], "rating": [1.0, 2.0, 3.0]})
    log = read(frame, duplicates="mean")
    assert (log.dropped["averaged_ratings"], log.rating.tolist()) == (1, [1.5, 3.0])


PAIN = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [0.0, 7.5, -2.0]})


def test_ratings_are_negated_where_lower_is_better(tmp_path: Path) -> None:
    for source in sources(tmp_path, PAIN).values():
        log = read(source, lower_is_better=True)
        assert log.lower_is_better
        assert ratings_of(log) == {1: {"a": 0.0, "b": -7.5}, 2: {"a": 2.0}}
        assert not np.signbit(log.rating[0])
    wide = PAIN.pivot("item", index="user", values="rating")
    assert read(wide, layout="wide", lower_is_better=True).sha256 == log.sha256
    arrays = lpb.Ratings.from_arrays(*PAIN.to_dict(as_series=False).values(), lower_is_better=True)
    matrix = lpb.Ratings.from_matrix(wide.drop("user"), people=[1, 2], actions=["a", "b"], lower_is_better=True)
    for other in (arrays, matrix, log.subset(np.array([0, 1]))):
        assert (other.sha256, other.lower_is_better) == (log.sha256, True)


@pytest.mark.parametrize("options", [{"rank": "rating"}, {"layout": "rankings"}])
def test_ranks_have_one_direction(options: Any) -> None:
    frame = pl.DataFrame({"user": [1], "item": ["a"], "rating": [1.0]})
    assert "lower_is_better" in error_of(frame, lower_is_better=True, **options)


@pytest.mark.parametrize(
    ("options", "message"), [({"missing": "drop"}, "missing.*'drop'"), ({"lower_is_better": 1}, "lower_is_better.*1")]
)
def test_invalid_settings_raise(options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(PAIN, **options)


@pytest.mark.parametrize(
    ("extra", "also"), [(1, ""), (3, ", also line 6, line 7"), (7, ", also line 6, line 7, line 8, line 9, …")]
)
def test_lines_with_too_many_fields_are_counted(extra: int, also: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    lines = ["user,item,rating", "1,tea,4", "1,jam,x", "2,tea,3", *["2,jam,4,5"] * extra]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        InvalidInput, match=rf"line 5: it has 4 fields, .* has 3 \({extra} such lines? in all{also}\); c"
    ):
        lpb.read_ratings(path)
    path.write_bytes(path.read_bytes() + b"\xff,tea,4\n")
    with pytest.raises(InvalidInput, match=rf"\({extra} such line"):
        lpb.read_ratings(path)
    path.write_text("\n".join(lines[:4]) + "\n")
    with pytest.raises(InvalidInput, match="line 3: rating is 'x'"):
        lpb.read_ratings(path)


@pytest.mark.parametrize("layout", ["wide", "auto", "rankings"])
def test_missing_ratings_of_a_wide_table_cannot_be_errors(layout: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,tea,jam\n1,4,\n2,3,5\n")
    with pytest.raises(InvalidInput, match=r"missing is 'error', but .*empty cell.*\(--missing\)"):
        lpb.read_ratings(path, layout=layout, missing="error")
    assert len(lpb.read_ratings(path, layout="wide")) == 3
