"""Logs in several Parquet files: allowed differences and errors, in memory and on disk."""

import datetime
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from lpbandits.cli import app
from lpbandits.data import Ratings, read_ratings, reader
from lpbandits.data.reader import open_ratings, spill_ratings
from lpbandits.data.tables import Table
from lpbandits.decisions.inputs import open_history, read_labels
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel

Frames = list[pl.DataFrame]
ONE_TWO_THREE = PreferenceModel([[0, 1, 2]], actions=[1, 2, 3])


def part(number: int, **columns: Any) -> pl.DataFrame:
    """Return three ratings by three people of this file."""
    people = [10 * number + i for i in range(3)]
    return pl.DataFrame({"user": people, "item": [1, 2, 3], "rating": [1.0, 2.0, 4.0]} | columns)


def write_parts(folder: Path, frames: Frames) -> Path:
    """Write a file for each frame."""
    for number, frame in enumerate(frames):
        frame.write_parquet(folder / f"p-{number}.parquet")
    return folder


def log_of(source: Any, **reading: Any) -> Ratings:
    """Read a log, and check that it is equal in memory and on disk."""
    log = read_ratings(source, **reading)
    with spill_ratings(source, **reading) as parts:
        assert parts.sha256 == log.sha256
        assert (tuple(parts.people), parts.actions, parts.dropped) == (log.people, log.actions, log.dropped)
    return log


def error_of(source: Any, **reading: Any) -> str:
    """Return the error message of a log, which is equal in memory and on disk."""
    with pytest.raises(InvalidInput) as here:
        read_ratings(source, **reading)
    with pytest.raises(InvalidInput) as there, spill_ratings(source, **reading):
        pass
    assert str(there.value) == str(here.value)
    assert "\n" not in str(here.value)
    return str(here.value)


def cast(number: int, **types: Any) -> pl.DataFrame:
    """Return three ratings with columns of other types."""
    return part(number).with_columns(pl.col(column).cast(kind) for column, kind in types.items())


PLAIN = [part(0), part(1)]
WHEN = [datetime.datetime(2024, 5, 1)] * 3

SAME: dict[str, Frames] = {
    "a further column": [part(0), part(1, x=[1, 2, 3])],
    "a further column first": [part(0, x=[1, 2, 3]), part(1)],
    "a further column, also called a rating": [part(0), part(1, score=[1, 2, 3])],
    "other orders of columns": [part(0), part(1).select("rating", "item", "user")],
    "narrow people": [part(0), cast(1, user=pl.Int8)],
    "narrow people first": [cast(0, user=pl.UInt16), part(1)],
    "unsigned people": [cast(0, user=pl.Int8), cast(1, user=pl.UInt64)],
    "people as floats": [part(0), cast(1, user=pl.Float32)],
    "actions as floats": [cast(0, item=pl.Float64), cast(1, item=pl.Float32)],
    "ratings as expected numbers": [cast(0, rating=pl.Int8), part(1)],
    "ratings as narrow floats": [part(0), cast(1, rating=pl.Float32)],
    "no rows": [part(0), part(1), part(2).head(0)],
    "no rows, other types and columns": [pl.DataFrame({"x": []}), part(0), part(1), part(2).head(0).cast(pl.String)],
    "times in other units": [
        part(0, t=WHEN).cast({"t": pl.Datetime("ms")}),
        part(1, t=WHEN).with_columns(pl.col("t").dt.replace_time_zone("UTC")),
    ],
    "nested columns": [part(0, x=[[1], [2], []]), part(1, x=[{"a": 1}, {"a": 2}, {"a": 3}])],
    "decimal ratings": [cast(0, rating=pl.Decimal(5, 1)), cast(1, rating=pl.Decimal(5, 1))],
}


@pytest.mark.parametrize("frames", SAME.values(), ids=SAME)
def test_files_may_differ_in_column_order_width_and_extra_columns(frames: Frames, tmp_path: Path) -> None:
    expected = read_ratings(pl.concat(PLAIN))
    log = log_of(write_parts(tmp_path, frames))
    assert (log.sha256, log.people) == (expected.sha256, expected.people)
    assert log_of([tmp_path / f"p-{n}.parquet" for n in range(len(frames))]).sha256 == expected.sha256


def test_text_and_categories_are_one_type(tmp_path: Path) -> None:
    frames = [part(0, user=["ann", "bo", "7"]), part(1, user=["cy", "ann", "bo"], item=[4, 5, 6])]
    log = log_of(write_parts(tmp_path, [frames[0].cast({"user": pl.Categorical}), frames[1]]))
    assert log.sha256 == read_ratings(pl.concat(frames)).sha256


def test_unsigned_integers_beyond_int64_keep_their_value(tmp_path: Path) -> None:
    large = part(1).with_columns(user=pl.Series([2**63 + 1, 2**63 + 2, 5], dtype=pl.UInt64))
    log = log_of(write_parts(tmp_path, [part(0), large]))
    assert log.people == ("0", "1", "2", "5", "9223372036854775809", "9223372036854775810")


REFUSED: dict[str, tuple[Frames, str]] = {
    "text and integer people": ([part(0), cast(1, user=pl.String)], r"'user'.*p-0\.parquet.*p-1\.parquet"),
    "text people in the third file": (
        [cast(0, user=pl.Int8), part(1), cast(2, user=pl.String)],
        r"'user'.*p-0\.parquet.*p-2\.parquet",
    ),
    "integer and fractional people": ([part(0), part(1, user=[1.5, 2, 3])], r"'user'.*Int64.*Float64"),
    "fractional people": ([part(0, user=[0.5, 1, 2]), cast(1, user=pl.Float32)], r"'user'.*Float64.*Float32"),
    "people above 2^53": ([part(0, user=[2**53, 2**53 + 1, 3]), cast(1, user=pl.Float64)], r"'user'.*Int64.*Float64"),
    "lists": ([part(0), part(1, item=[[1], [2], [3]])], r"'item'.*Int64.*List"),
    "text ratings": ([part(0), cast(1, rating=pl.String)], r"'rating'.*Float64.*String"),
    "decimal and float ratings": ([cast(0, rating=pl.Decimal(5, 1)), part(1)], r"'rating'.*Decimal.*Float64"),
    "enum and text": (
        [cast(0, item=pl.String).cast({"item": pl.Enum(["1", "2", "3"])}), cast(1, item=pl.String)],
        r"'item'.*Enum.*String",
    ),
    "no rating": ([part(0), part(1).drop("rating")], r"p-1\.parquet.*'rating'"),
    "no rating in the first": ([part(0).drop("rating"), part(1)], r"p-0\.parquet.*'rating'"),
    "no common column": ([part(0), pl.DataFrame({"x": [1]})], r"p-1\.parquet.*'user'"),
    "a missing person": ([part(0), part(1, user=[None, 3, 4])], r"p-1\.parquet, row 1: person.*1 such row"),
    "all people missing": ([part(0), part(1, user=[None] * 3)], r"p-1\.parquet, row 1: person.*3 such rows"),
    "an infinite rating after an empty file": (
        [part(0), part(1).head(0), part(2, rating=[1.0, np.inf, 2.0])],
        r"p-2\.parquet, row 2: rating is inf",
    ),
    "no rows": ([part(0).head(0), part(1).head(0)], "no ratings"),
}


@pytest.mark.parametrize(("frames", "message"), REFUSED.values(), ids=REFUSED)
def test_incompatible_files_raise_with_the_file(frames: Frames, message: str, tmp_path: Path) -> None:
    assert re.search(message, error_of(write_parts(tmp_path, frames)))


def test_columns_that_are_named_must_be_in_all_files(tmp_path: Path) -> None:
    write_parts(tmp_path, [part(0, score=[1, 2, 3]), part(1)])
    assert log_of(tmp_path, rating="rating").sha256 == read_ratings(pl.concat(PLAIN)).sha256
    assert "p-1.parquet has no column 'score' for the rating" in error_of(tmp_path, rating="score")
    assert "no column 'stars' for the rating" in error_of(tmp_path, rating="stars")


def test_wide_files_have_the_same_columns(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"user": [1, 2], "tea": [4, 5], "jam": [None, 2.5]})]
    frames += [pl.DataFrame({"user": [3, 4], "jam": [3, 1], "tea": [0.5, None]})]
    expected = read_ratings(pl.concat(frames, how="diagonal_relaxed"))
    assert log_of(write_parts(tmp_path, frames)).sha256 == expected.sha256
    assert log_of(tmp_path, layout="wide", person="user").sha256 == expected.sha256
    assert "p-1.parquet has its columns in another order" in error_of(tmp_path, layout="wide")
    pl.DataFrame({"user": [7, 8], "tea": [4, 5]}).write_parquet(tmp_path / "q.parquet")
    assert "q.parquet has no column 'jam'" in error_of(tmp_path, layout="wide")
    part(5, tea=[1, 2, 3], jam=[1, 2, 3]).write_parquet(tmp_path / "q.parquet")
    assert "has no column 'item' for the action" in error_of(tmp_path)


def test_places_of_rankings_are_in_the_same_order(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"voter": [n], "rank1": ["tea"], "rank2": ["jam"]}) for n in range(2)]
    assert log_of(write_parts(tmp_path, frames)).sha256 == read_ratings(pl.concat(frames)).sha256
    write_parts(tmp_path, [frames[0], frames[1].select("voter", "rank2", "rank1")])
    for layout in ("auto", "rankings"):
        assert "p-1.parquet has its columns in another order" in error_of(tmp_path, layout=layout)


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda data: data[:-20],
        lambda _: b"user,item,rating\n1,1,1\n",
        lambda data: data[:4] + b"\xff" * 60 + data[64:],
    ],
    ids=["empty", "truncated", "text", "inside"],
)
def test_a_damaged_file_is_named(damage: Any, tmp_path: Path) -> None:
    write_parts(tmp_path, [part(0), part(1), part(2)])
    file = tmp_path / "p-1.parquet"
    file.write_bytes(damage(file.read_bytes()))
    message = error_of(tmp_path)
    assert "p-1.parquet" in message
    assert "copy or download it again" in message


def test_a_panic_of_polars_is_one_plain_line() -> None:
    table = Table("log.parquet", pl.LazyFrame())
    with (
        pytest.raises(InvalidInput, match=r"^cannot read log\.parquet: polars cannot decode it; ") as caught,
        table.readable(),
    ):
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value: …\n  left: 0")
    assert "unwrap" not in str(caught.value)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("duplicates", ["error", "mean"])
def test_the_order_of_files_and_rows_does_not_matter(
    seed: int, duplicates: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, shuffle = np.random.default_rng(3), np.random.default_rng(seed)
    pairs = [(person, action) for person in range(9) for action in range(7) if (person + action) % 3]
    again = pairs[:20] * 4 if duplicates == "mean" else []
    rows = [(*pair, float(value)) for pair, value in zip([*pairs, *again], rng.normal(size=200), strict=False)]
    expected = read_ratings(pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row"), duplicates=duplicates)
    rows = [rows[i] for i in shuffle.permutation(len(rows))]
    ends = np.sort(shuffle.integers(0, len(rows), 3)).tolist()
    parts = [rows[low:high] for low, high in zip([0, *ends], [*ends, len(rows)], strict=True)]
    schema: Any = {"user": pl.Int64, "item": pl.Int64, "rating": pl.Float64}
    monkeypatch.setattr(reader, "MIN_BUCKET", 20)
    monkeypatch.setattr(reader, "MAX_BUCKET", 20)
    write_parts(tmp_path, [pl.DataFrame(rows_of_part, schema=schema, orient="row") for rows_of_part in parts])
    log = log_of(tmp_path, duplicates=duplicates)
    assert (log.sha256, log.dropped) == (expected.sha256, expected.dropped)


def test_the_last_row_follows_file_names_or_the_order_of_a_list(tmp_path: Path) -> None:
    write_parts(tmp_path, [part(0), part(0, rating=[5.0, 5.0, 5.0])])
    assert set(log_of(tmp_path, duplicates="last").rating) == {5.0}
    paths = sorted(tmp_path.iterdir(), reverse=True)
    assert log_of(paths, duplicates="last").rating.tolist() == [1.0, 2.0, 4.0]
    assert "p-0.parquet, row 1: person 0 rated action 1 again, first on p-1.parquet, row 1" in error_of(paths)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Path.mkdir, "is a folder"),
        (lambda path: path.symlink_to("nowhere"), "symlink"),
        (os.mkfifo, "pipe"),
    ],
)
def test_folders_and_patterns_skip_no_file_silently(make: Any, reason: str, tmp_path: Path) -> None:
    write_parts(tmp_path, PLAIN)
    make(tmp_path / "sub.PARQUET")
    for source in (tmp_path, tmp_path / "*", [*tmp_path.iterdir()]):
        assert re.search(rf"{tmp_path}/sub\.PARQUET.*{reason}", error_of(source))


def test_other_and_hidden_files_of_a_folder_are_ignored(tmp_path: Path) -> None:
    write_parts(tmp_path, PLAIN)
    (tmp_path / "p-1.parquet").rename(tmp_path / "P.PARQUET")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".p-9.parquet").write_text("hidden, as an unfinished copy is")
    for source in (tmp_path, tmp_path / "*[!S]"):
        assert log_of(source).sha256 == read_ratings(pl.concat(PLAIN)).sha256


def test_files_in_subfolders_need_a_pattern(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        part(year).write_parquet(tmp_path / f"year={year}" / "a.parquet")
    message = error_of(tmp_path)
    assert f"'{tmp_path}/**/*.parquet'" in message
    log = log_of(f"{tmp_path}/**/*.parquet")
    assert log.sha256 == read_ratings(pl.concat([part(2023), part(2024)])).sha256
    part(2024, rating=[1.0, None, 2.0], user=[1, 2, 3]).write_parquet(tmp_path / "year=2024" / "a.parquet")
    assert "year=2024/a.parquet, row 2: rating is missing" in error_of(tmp_path / "*/*.parquet", missing="error")


def test_an_existing_folder_is_not_a_pattern(tmp_path: Path) -> None:
    folder = tmp_path / "of [all] people *"
    folder.mkdir()
    write_parts(folder, PLAIN)
    for source in (folder, folder / "*.parquet", folder / "p-[01].parquet"):
        assert log_of(source).sha256 == read_ratings(pl.concat(PLAIN)).sha256
    with open_history(folder / "p-0.parquet", {}, ONE_TWO_THREE) as past:
        assert past.people.to_list() == [0, 1, 2]
    part(0).write_csv(tmp_path / "log[1].csv")
    assert read_ratings(tmp_path / "log[1].csv").sha256 == read_ratings(part(0)).sha256
    (tmp_path / "log[1].parquet").write_bytes((folder / "p-0.parquet").read_bytes())
    with open_history(tmp_path / "log[1].parquet", {}, ONE_TWO_THREE) as past:
        assert past.people.to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "got list"),
        ([1, 2], "got list"),
        (["a.csv", "b.csv"], "a.csv, which is not a Parquet file"),
        (["a.parquet"], "a.parquet, which does not exist"),
        (["x" * 5000 + ".parquet"], "which cannot be read: File name too long"),
        ("nowhere/*.parquet", "no file matches 'nowhere/*.parquet'"),
    ],
    ids=range(6),
)
def test_invalid_lists_of_files_raise(source: Any, message: str) -> None:
    assert message in error_of(source)


FEW_HANDLES = """
import resource, sys
import lpbandits as lpb

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]), int(sys.argv[2])))
log = lpb.read_ratings(sys.argv[1])
with lpb.spill_ratings(sys.argv[1]) as parts:
    print(len(log), parts.sha256 == log.sha256)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of open files are those of POSIX")
@pytest.mark.parametrize(
    ("handles", "threads", "message"),
    [
        ("64", "2", "^600 True$"),
        ("40", "64", "InvalidInput: cannot read .*Too many open files.*; raise the limit of open"),
    ],
)
def test_many_files_need_few_handles(handles: str, threads: str, message: str, tmp_path: Path) -> None:
    """Runs in a new process, as this one may hold handles of workers; each thread of polars has a file open."""
    for number in range(200):
        cast(number, **({"user": pl.Int32} if number % 2 else {})).write_parquet(tmp_path / f"p-{number:03}.parquet")
    command = [sys.executable, "-c", FEW_HANDLES, str(tmp_path), handles]
    environment = {**os.environ, "POLARS_MAX_THREADS": threads}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert re.search(message, done.stdout + done.stderr, re.MULTILINE), done.stderr
    assert "damaged" not in done.stderr


def test_histories_and_labels_may_be_in_several_files(tmp_path: Path) -> None:
    write_parts(tmp_path, [part(0), cast(1, user=pl.Int32).drop("rating").with_columns(reward=pl.lit(2.0))])
    with (
        pytest.raises(InvalidInput, match=r"p-1\.parquet has no column 'rating' for the rating"),
        open_history(tmp_path, {}, ONE_TWO_THREE),
    ):
        pass
    write_parts(tmp_path, [part(0), cast(1, user=pl.Int32)])
    with open_history(tmp_path / "*.parquet", {}, ONE_TWO_THREE) as past:
        assert past.people.to_list() == [0, 1, 2, 10, 11, 12]
    assert read_labels(tmp_path, "action", optional="person").height == 6
    part(1).drop("user").write_parquet(tmp_path / "p-1.parquet")
    with pytest.raises(InvalidInput, match=r"p-1\.parquet has no column 'user' for the person"):
        read_labels(tmp_path, "action", optional="person")


@pytest.mark.parametrize("command", ["fit", "evaluate", "decide"])
def test_a_pattern_expanded_by_the_shell_raises(command: str, tmp_path: Path) -> None:
    write_parts(tmp_path, [part(number) for number in range(4)])
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    options = ["--model", "model.json"] if command == "decide" else []
    result = CliRunner(env={"COLUMNS": "2000"}).invoke(app, [command, *options, *paths])
    assert result.exit_code == 2
    assert "p-1.parquet and 2 more); pass many files as one quoted pattern: 'ratings/*.parquet'" in result.stderr
    result = CliRunner().invoke(app, [command, *options, paths[0], "x\x00"])
    assert result.exit_code == 2
    assert "in quotes" not in result.stderr


@pytest.mark.parametrize("name", ["ratings.parquet", "ratings.csv"])
def test_an_ambiguous_folder_raises(name: str, tmp_path: Path) -> None:
    part(0).write_parquet(tmp_path / name) if name.endswith("parquet") else part(0).write_csv(tmp_path / name)
    alone = read_ratings(tmp_path).sha256
    (tmp_path / ".ratings-2.parquet").touch()
    (tmp_path / "link.parquet").symlink_to(tmp_path / "ratings.parquet") if name.endswith("parquet") else None
    assert read_ratings(tmp_path).sha256 == alone
    part(1).write_parquet(tmp_path / "ratings-2.parquet")
    message = error_of(tmp_path)
    assert f"holds {name} and also ratings-2.parquet" in message
    with pytest.raises(InvalidInput, match="ratings-2"):
        open_ratings(tmp_path).__enter__()


def test_no_file_is_read_twice(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    part(0).write_parquet(folder / "x.parquet")
    expected = read_ratings(part(0)).sha256
    for pattern in ("**/b/**/*.parquet", "**/**/*.parquet", "**/*.parquet"):
        assert log_of(tmp_path / pattern).sha256 == expected
    once = folder / "x.parquet"
    (folder / "link.parquet").symlink_to(once)
    for again in ([once, once], [once, str(once)], [once, folder / ".." / "b" / "x.parquet"], folder):
        assert "is the same file as" in error_of(again, duplicates="last")
