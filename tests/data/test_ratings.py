"""`Ratings`, and reading them from files with one rating per row."""

import gzip
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lpbandits.data import Histories, Ratings, read_ratings
from lpbandits.errors import InvalidInput
from lpbandits.model import PreferenceModel
from tests.data.test_layouts import write

DAYS = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
ROWS = [(1, 10, 4.5), (1, 20, 3.0), (2, 10, 5.0), (3, 10, 1.0), (3, 20, 2.0), (3, 30, 2.5)]


def text(separator: str = ",", header: str | None = "userId,movieId,rating,timestamp") -> str:
    lines = [separator.join(map(str, (*row, 99))) for row in ROWS]
    return "\n".join(([header.replace(",", separator)] if header else []) + lines) + "\n"


def check(log: Ratings) -> None:
    assert log.people == (1, 2, 3)
    assert log.actions == (10, 20, 30)
    assert log.offsets.tolist() == [0, 2, 3, 6]
    assert log.action.tolist() == [0, 1, 0, 0, 1, 2]
    np.testing.assert_array_equal(log.rating, [4.5, 3, 5, 1, 2, 2.5])
    assert not any(log.dropped.values())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", text()),
        ("a.txt", text("|")),
        ("a.tsv", text("\t")),
        ("a.csv", text(";")),
        ("a.csv.gz", text()),
        ("a.tsv.gz", text("\t")),
        ("ratings.dat", text("::", None)),
        ("u.data", text("\t", None)),
        ("bom.csv", "\ufeff" + text()),
        ("ml/ratings.csv", text()),
        ("ml/ratings.csv.gz", text()),
        ("ml/ratings.dat", text("::", None)),
    ],
)
def test_text_formats(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path, content, name)
    check(read_ratings(path.parent if "/" in name else path))


@pytest.mark.parametrize("member", ["ml-1m/ratings.dat", "ml-32m/ratings.csv"])
def test_zip(tmp_path: Path, member: str) -> None:
    with zipfile.ZipFile(tmp_path / "ml.zip", "w") as bundle:
        bundle.writestr("ml/README.txt", "read me")
        bundle.writestr(member, text("::", None) if member.endswith("dat") else text())
    check(read_ratings(tmp_path / "ml.zip"))


@pytest.mark.parametrize("types", [(pl.Int32, pl.Int64, pl.Float32), (pl.Float64, pl.UInt16, pl.Float64)])
def test_parquet(tmp_path: Path, types: tuple[Any, Any, Any]) -> None:
    frame = pl.DataFrame(ROWS, schema=["user_id", "item", "score"], orient="row")
    frame = frame.with_columns(*(pl.col(c).cast(t) for c, t in zip(frame.columns, types, strict=True)))
    frame.write_parquet(tmp_path / "a.parquet")
    check(read_ratings(tmp_path / "a.parquet"))


def test_the_hash_depends_on_the_content_not_on_the_order(tmp_path: Path) -> None:
    first = read_ratings(write(tmp_path, text(), "a.csv"))
    lines = text().splitlines()
    second = read_ratings(write(tmp_path, "\n".join([lines[0], *reversed(lines[1:])]), "b.csv"))
    assert first.sha256 == second.sha256
    third = read_ratings(write(tmp_path, text().replace("4.5", "4.0"), "c.csv"))
    assert first.sha256 != third.sha256


@pytest.mark.parametrize(
    ("content", "people", "actions"),
    [
        ("person,action,rating\n007,ä b,1\n7,ä b,2\n", ("007", "7"), ("ä b",)),
        ("user,item,rating\n1.0,10.0,5\n1.0,20.0,3\n2.0,10.0,4\n", (1, 2), (10, 20)),
        ("user,item,rating\n1.0,10.5,5\n1.0,20.0,3\n2.0,x,4\n", (1, 2), ("10.5", "20.0", "x")),
    ],
)
def test_labels_are_integers_or_keep_their_spelling(
    tmp_path: Path, content: str, people: tuple[Any, ...], actions: tuple[Any, ...]
) -> None:
    log = read_ratings(write(tmp_path, content, "a.csv"))
    assert (log.people, log.actions) == (people, actions)


def test_named_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "who,what,how,rating\n1,2,3,4\n", "a.csv")
    log = read_ratings(path, person="who", action="what", rating="how")
    assert log.rating.tolist() == [3.0]


def test_people_are_filtered_first_and_all_drops_are_counted(tmp_path: Path) -> None:
    log = read_ratings(write(tmp_path, text() + "\n", "a.csv"), min_person=2, min_action=2)
    assert log.people == (1, 3)
    assert log.actions == (10, 20)
    assert log.dropped == {
        "blank_lines": 1,
        "missing_ratings": 0,
        "people_below_min_person": 1,
        "ratings_of_people_below_min_person": 1,
        "actions_below_min_action": 1,
        "ratings_of_actions_below_min_action": 1,
        "people_left_without_ratings": 0,
    }
    assert len(log) + sum(n for reason, n in log.dropped.items() if reason.startswith("ratings")) == len(ROWS)
    gone = read_ratings(write(tmp_path, "user,item,rating\n1,1,1\n2,1,1\n3,2,1\n", "b.csv"), min_action=2)
    assert gone.dropped["people_left_without_ratings"] == 1


def test_invalid_options_and_paths_raise(tmp_path: Path) -> None:
    path = write(tmp_path, text(), "a.csv")
    (tmp_path / "latin.csv").write_bytes("user,item,rating\n1,a,3\n1,é,3\n".encode("latin-1"))
    os.mkfifo(tmp_path / "pipe.csv")
    cases: list[tuple[Path, dict[str, Any], str]] = [
        (path, {"min_person": 9}, "6 ratings.*min_person 9"),
        (path, {"person": "who"}, "no column 'who' for the person"),
        (path, {"person": "rating"}, "must be three columns"),
        (tmp_path / "none.csv", {}, "does not exist"),
        (write(tmp_path, "x", "empty/x.txt").parent, {}, "holds no ratings"),
        (write(tmp_path, "no zip", "a.zip"), {}, "cannot unpack"),
        (write(tmp_path, "no parquet", "a.parquet"), {}, r"cannot read a\.parquet"),
        (write(tmp_path, "x", "a.parquet.gz"), {}, r"a\.parquet\.gz is gzipped Parquet.* gunzip"),
        (tmp_path / "latin.csv", {}, r"latin\.csv, line 3: .*UTF-8"),
        (tmp_path / "pipe.csv", {}, r"pipe\.csv is not a regular file"),
        (write(tmp_path, "1\t10\t3\t99\n", "u.data"), {"layout": "wide"}, r"layout is 'wide'.*u\.data"),
    ]
    for source, options, message in cases:
        with pytest.raises(InvalidInput, match=message):
            read_ratings(source, **options)


def test_a_damaged_gzip_file_raises(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [f"{n},{a},{rng.random()}" for n in range(300) for a in range(20)]
    data = gzip.compress(("user,item,rating\n" + "\n".join(rows)).encode())
    path = tmp_path / "a.csv.gz"
    for share in (0.02, 0.5, 0.9999):
        path.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(InvalidInput, match=r"cannot read a\.csv\.gz.*truncated"):
            read_ratings(path)
    middle = len(data) // 2
    path.write_bytes(data[:middle] + b"?" * 50 + data[middle + 50 :])
    with pytest.raises(InvalidInput, match=r"a\.csv\.gz"):
        read_ratings(path)


@pytest.mark.parametrize(
    ("build", "arguments", "labels", "message"),
    [
        (Ratings.from_arrays, ([1, 1], ["b", "b"], [1, 2]), {}, "person 1 rated action 'b'"),
        (Ratings.from_arrays, ([1], [1, 2], [1, 2]), {}, "person must have 2 labels, .*got 1"),
        (Ratings.from_arrays, ([1], [9], [1]), {"actions": [1, 2]}, "action 9 is not among the 2"),
        (Ratings.from_arrays, ([], [], []), {}, "there are no ratings"),
        (Ratings.from_arrays, ([1, 1], [1, 2], [1.0, -1e101]), {}, r"rating\[1\].*1e\+100"),
        (Ratings.from_arrays, (["a", None], [1, 2], [1, 2]), {}, r"person\[1\].*None"),
        (Ratings.from_arrays, (["a", np.nan], [1, 2], [1, 2]), {}, r"person\[1\].*nan"),
        (Ratings.from_arrays, ([1, 2], [True, 2], [1, 2]), {}, r"action\[0\].*True"),
        (Ratings.from_arrays, ([1, "1"], [1, 2], [1, 2]), {}, "person .* 1 and '1'"),
        (Ratings.from_arrays, (["a\0", "a"], [1, 2], [1, 2]), {}, r"person\[0\].*'a\\x00'"),
        (Ratings.from_arrays, ([1.5, 2], [1, 2], [1, 2]), {}, r"person.*1\.5"),
        (Ratings.from_arrays, (np.array([1.5, 2]), [1, 2], [1, 2]), {}, r"person.*1\.5"),
        (Ratings.from_arrays, (DAYS, [1, 2], [1, 2]), {}, r"person\[0\].*2020-01-01"),
        (Ratings.from_matrix, ([[1, 2]],), {"actions": DAYS}, r"actions\[0\].*2020-01-01"),
        (Ratings.from_matrix, ([[1, 2]],), {"actions": [b"a", "a"]}, r"actions\[0\].*b'a'"),
        (Ratings.from_matrix, ([[1, 2]],), {"actions": [1, "1"]}, "actions .* 1 and '1'"),
        (Histories.from_arrays, ([1, "1"], [0, 1], [1, 2], [0, 1]), {}, "person .* 1 and '1'"),
        (Histories.from_arrays, ([1, 2], [0, 1], [1, 2], [0, 1]), {"people": [" ", 1]}, r"people\[0\].*' '"),
        (PreferenceModel, ([[0, 1]],), {"actions": [1, "1"]}, "actions .* 1 and '1'"),
        (Ratings.from_matrix, ([[1, 2]],), {"people": ["a", "b"]}, "people must have 1 label"),
        (Ratings.from_matrix, ([[1, 2]],), {"actions": ["a", "a"]}, "label 'a' is given to actions 0 and 1"),
        (Ratings.from_matrix, ([1, 2],), {}, "any×any"),
        (Ratings.from_matrix, ([[np.nan]],), {}, "there are no ratings"),
        (Ratings.from_matrix, ([[np.inf]],), {}, "must be a finite number"),
        (Ratings, ([0, 2], [1, 0], [1, 2], ["ann"], [0, 1]), {}, "action must increase"),
        (Ratings, ([0, 1], [0], [1], ["ann"], [0]), {"layout": "tall"}, "layout.*'tall'"),
    ],
)
def test_invalid_arrays_raise(build: Any, arguments: Any, labels: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build(*arguments, **labels)


def test_whole_numbers_are_integers_and_mixed_labels_keep_their_type() -> None:
    for people in ([2.0, 1], np.array([2.0, 1.0]), np.array([2, 1], dtype=np.uint8)):
        assert Ratings.from_arrays(people, [0, 0], [1, 2]).people == (1, 2)
    assert Ratings.from_arrays(["b", 2, -(2**70)], [0, 0, 0], [1, 2, 3]).people == (-(2**70), 2, "b")


def test_arrays_and_matrices_are_logs() -> None:
    log = Ratings.from_arrays([2, 1, 1], [1, 1, 0], [5, 4, 3], actions=[0, 1, 2])
    part = log.subset(np.array([1]))
    assert (part.people, part.actions, part.rating.tolist()) == ((2,), log.actions, [5.0])
    np.testing.assert_array_equal(log.matrix().toarray(), [[3, 4, 0], [0, 5, 0]])
    log = Ratings.from_matrix([[5, np.nan], [np.nan, np.nan], [1, 2]], people=["cy", "bo", "ann"], actions=["x", "y"])
    assert (log.people, log.actions, log.layout) == (("cy", "bo", "ann"), ("x", "y"), "wide")
    assert log.counts.tolist() == [1, 0, 2]
    np.testing.assert_array_equal(log.matrix().toarray(), [[5, 0], [0, 0], [1, 2]])


def test_a_matrix_does_not_share_memory_with_the_log() -> None:
    log = Ratings.from_arrays([0, 0], [0, 1], [0.0, 1.0])
    matrix = log.matrix()
    matrix.eliminate_zeros()
    matrix.data[:] = 9
    assert log.action.tolist() == [0, 1]
    assert log.rating.tolist() == [0.0, 1.0]
