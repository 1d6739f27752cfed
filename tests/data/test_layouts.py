"""Wide tables and rankings, repeated ratings, and numbers with a decimal comma."""

import gzip
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpbandits as lpb
from lpbandits import limits
from lpbandits.errors import InvalidInput

WIDE = "user,tea,jam\nann,5,3\nbo,,-4.5\n"
RANKED = "person,action,rank\nann,tea,1\nann,jam,2\nann,milk,2\nbo,jam,10\nbo,tea,3\n"


def write(folder: Path, content: str, name: str = "a.csv") -> Path:
    """Write a file in UTF-8, compressed if its name says so, and the folders above it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return path


def ratings_of(log: lpb.Ratings) -> dict[Any, dict[Any, float]]:
    """Return the ratings by person and action."""
    names = [log.actions[a] for a in log.action.tolist()]
    owners = [log.people[n] for n in log.owner.tolist()]
    out: dict[Any, dict[Any, float]] = {}
    for person, action, rating in zip(owners, names, log.rating.tolist(), strict=True):
        out.setdefault(person, {})[action] = rating
    return out


HEAD = "user,item,rating\n"
SAME = {"ann": {"tea": 5.0, "jam": 3.0}, "bo": {"jam": -4.5}}


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (WIDE, {}),
        (WIDE, {"layout": "wide"}),
        ("\ufeff" + WIDE.replace("\n", "\r\n") + "\r\n", {}),
        (WIDE.replace("5,3", '"5"," 3 "').replace(",,", ",NaN,"), {}),
        (WIDE.replace(",,", ",n/a,"), {}),
        (WIDE.replace(",", ";").replace("4.5", "4,5"), {"decimal_comma": True}),
        (WIDE.replace(",", "\t"), {}),
        (WIDE.replace("user", "who"), {"layout": "wide"}),
        (WIDE.replace("user", ""), {"layout": "wide"}),
        (WIDE.replace("user", "who"), {"person": "who"}),
        ("tea,who,jam\n5,ann,3\n,bo,-4.5\n", {"layout": "wide", "person": "who"}),
        ("user,tea,jam,,\nann,5,3,,\nbo,,-4.5,,\n", {}),
        ("user,tea,jam,milk\nann,5,3,\nbo,,-4.5,\ncy,,,\n", {}),
    ],
)
def test_a_wide_table(tmp_path: Path, content: str, settings: dict[str, Any]) -> None:
    log = lpb.read_ratings(write(tmp_path, content), **settings)
    assert ratings_of(log) == SAME
    assert log.layout == "wide"
    assert (log.dropped["columns_without_ratings"], log.dropped["rows_without_ratings"]) == (("milk" in content),) * 2
    assert log.dropped["blank_lines"] == content.endswith("\n\r\n")


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(-9, 9)), min_size=1, unique_by=lambda r: r[:2])
)
def test_wide_and_long_tables_give_equal_logs(rows: list[tuple[int, int, int]]) -> None:
    long = pl.DataFrame(rows, schema=["person", "action", "rating"], orient="row")
    wide = long.with_columns(pl.col("action").cast(pl.String)).pivot("action", index="person", values="rating")
    assert lpb.read_ratings(wide, layout="wide").sha256 == lpb.read_ratings(long).sha256


def test_columns_of_a_wide_table_may_have_any_name() -> None:
    names = ["row", "blank", "person", "action", "rating", "0", "1"]
    frame = pl.DataFrame({"who": ["ann"], **{name: [float(i)] for i, name in enumerate(names)}})
    assert ratings_of(lpb.read_ratings(frame, layout="wide", person="who")) == {
        "ann": {name: i for i, name in enumerate(names)}
    }


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        ("user,tea,jam,tea\nann,1,2,3\n", {}, "a.csv has two columns 'tea', number 2 and 4; rename or remove one"),
        ("user,item,item,rating\n1,a,b,4\n", {}, "a.csv has two columns 'item', number 2 and 3; rename or remove one"),
        (HEAD + "1,a,4,5\n", {}, "line 2.*semicolons"),
        ("user;item;rating\n1;a;4.5\n", {"decimal_comma": True}, r"line 2: rating is '4\.5', not a finite number"),
        (f"user{',1' * 10_000}\n", {"layout": "wide"}, "10,001 columns.*10,000"),
        ("user,tea,,jam\nann,1,2,3\n", {"layout": "wide"}, "column 3 of a.csv has values but no name"),
        ("user,city,tea\nann,Rome,3\n", {"layout": "wide"}, "line 2: .*'city'.*'Rome'.*1 such rating"),
        ("user,tea,jam\nann,inf,3\n", {"layout": "wide"}, "line 2: .*'tea'.*'inf'"),
        ("user,tea,jam\nann,3,1e101\n", {"layout": "wide"}, "line 2: .*'jam'.*'1e101'"),
        ("user;tea;jam\nann;3;2,5\n", {}, r"'jam'.*'2,5'.*--decimal-comma"),
        ("user,tea,jam\nann,3,1\n,2,2\n", {}, r"line 3: person is missing \(2 such ratings"),
        ("user,tea,jam\nann,,\n", {"layout": "wide"}, "has no ratings"),
        ("user,tea,jam\n", {"layout": "wide"}, "has no ratings"),
        ("user,tea,jam\nann,3,1\nann,2,2\n", {"layout": "wide"}, "line 3: person 'ann' rated action .* again"),
        (WIDE, {"layout": "wide", "action": "tea"}, "action is 'tea'"),
        (WIDE, {"layout": "wide", "person": "usr"}, r"no column 'usr' for the person.*did you mean 'user'\?"),
        (WIDE, {"layout": "long"}, "no column of a.csv could be the action"),
        (WIDE, {"layout": "tall"}, "layout.*'tall'"),
        (HEAD + "1,1,5\n1,2,4\n1,1,3\n", {}, r"a.csv, line 4: person 1 .* action 1 .* line 2"),
        (HEAD + "1,1,5\n1,2,\n", {"missing": "error"}, r"a.csv, line 3: rating is missing \(1 such row in all"),
        (HEAD + "1,1,5\n1,2,nan\n", {"missing": "error"}, r"a.csv, line 3: rating is missing"),
        (HEAD + "1,1,5\n,2,1\n", {}, "a.csv, line 3: person is missing"),
        (HEAD + "1,,5\n", {}, "a.csv, line 2: action is missing"),
        (HEAD + '1,a,5\n"",a,5\n', {}, "a.csv, line 3: person is missing"),
        (HEAD + '1," ",5\n', {}, "a.csv, line 2: action is missing"),
        (HEAD + '1,"a\nb",5\n1,12" vinyl,3\n2,b,4\n', {}, r'line 4: it has a quote.*"12"" vinyl"'),
        (HEAD + '1,a,5\n1,"12" vinyl",3\n2,b,4\n', {}, "line 3: it has a quote"),
        (HEAD + '1,a,5\n1,"vinyl,3\n2,b,4\n', {}, "line 3: it has a quote"),
        ("\ufeff" + HEAD.replace("user", '"user"') + '1,a,5\n1,vinyl",3\n2,b,4\n', {}, "line 3: it has a quote"),
        (HEAD.replace("item", '12" vinyl') + "1,a,5\n", {}, "line 1: it has a quote"),
        (HEAD + "1,a\0,5\n", {}, "a.csv, line 2: action has a null character"),
        (HEAD + f"1,a,5\n1,{'é' * 501},5\n", {}, "a.csv, line 3: action has more than 1,000 bytes"),
        (f"user{',x' * 9_999}\n" + "1\n" * 1_700, {}, "1,701 lines and 10,000 columns.*limit is 16,777,216"),
        (HEAD + "1,1,5\n1,2,good\n1,3,bad\n", {}, r"line 3: rating is 'good'.*2 such rows"),
        (HEAD + "1,1,inf\n", {}, "line 2: rating is 'inf'"),
        (HEAD, {}, "no ratings"),
        ("", {}, "is empty"),
        ("hello\n", {}, "is not a table"),
        ("a,b,c\n1,2,3\n", {}, r"person.*'a', 'b', 'c'"),
        ("user,userId,item,rating\n1,1,1,1\n", {}, r"2 columns \('user', 'userId'\) of a.csv could be the person"),
        ("1,1193,5,9\n1,2,3,4\n", {}, "add a header line"),
        (HEAD + "1,2,3\n1,2,3,4,5\n", {}, "a.csv, line 3: .*5 fields.* 3"),
        # not certain: a person twice, a column of time, no person by name, text, places out of order, nothing at all
        ("user,tea,jam\nann,3,1\nann,2,2\n", {}, "layout=…"),
        ("user,timestamp,jam\nann,3,1\n", {}, "layout=…"),
        ("who,tea,jam\nann,3,1\n", {}, "layout=…"),
        ("user,city,jam\nann,Rome,1\n", {}, "layout=…"),
        ("user,rank2,rank1\nann,tea,jam\n", {}, "layout=…"),
        ("user,tea,jam\nann,,\n", {}, "layout=…"),
        ("user,tea\nann,3\n", {}, "layout=…"),
        ("user\nann\n", {"layout": "wide"}, "is not a table"),
    ],
)
def test_invalid_or_ambiguous_tables_raise(
    tmp_path: Path, content: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        lpb.read_ratings(write(tmp_path, content), **settings)


@pytest.mark.parametrize("layout", ["auto", "wide"])
def test_cells_of_a_wide_table_must_fit_in_memory(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"user": [1, 2, 3], "tea": [1, 2, None], "jam": [None, 2, 3]})
    monkeypatch.setattr(limits, "memory_limit", lambda: 599)  # a cell takes 100 bytes
    with pytest.raises(InvalidInput, match=r"3 rows and 2 columns.*GiB"):
        lpb.read_ratings(frame, layout=layout)
    monkeypatch.setattr(limits, "memory_limit", lambda: 600)
    assert len(lpb.read_ratings(frame, layout=layout)) == 4


def test_a_wide_frame_with_other_types_raises() -> None:
    frame = pl.DataFrame({"user": [1, 2], "tea": [1.0, np.nan], "seen": [True, False]})
    with pytest.raises(InvalidInput, match=r"'seen'.*Boolean"):
        lpb.read_ratings(frame, layout="wide")
    with pytest.raises(InvalidInput, match="layout=…"):
        lpb.read_ratings(frame)
    assert ratings_of(lpb.read_ratings(frame.select("user", "tea"), layout="wide")) == {1: {"tea": 1.0}}


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        ("voter,rank1,rank2,rank3\nann,tea,jam,milk\nbo,milk,tea,\ncy,jam,,\n\n", {}),
        ("person,1st,2nd,3rd\nann,tea,jam,milk\nbo,milk,tea,\ncy,jam,,\n\n", {}),
        ("who,best,next,then\nann,tea,jam,milk\nbo,milk,,tea\ncy,jam,, \n\n", {"layout": "rankings"}),
        ("best,who,next,then\ntea,ann,jam,milk\nmilk,bo,,tea\njam,cy,,\n\n", {"layout": "rankings", "person": "who"}),
    ],
)
def test_rankings_in_columns(tmp_path: Path, content: str, settings: dict[str, Any]) -> None:
    log = lpb.read_ratings(write(tmp_path, content), **settings)
    assert ratings_of(log) == {
        "ann": {"tea": 3.0, "jam": 2.0, "milk": 1.0},
        "bo": {"milk": 3.0, "tea": 2.0},
        "cy": {"jam": 3.0},
    }
    assert log.layout == "rankings"
    assert log.dropped["blank_lines"] == 1


def test_rankings_of_integer_labels() -> None:
    frame = pl.DataFrame({"who": [7, 8], "best": [10, 20], "next": [20.0, np.nan], "then": [None, None]})
    assert ratings_of(lpb.read_ratings(frame, layout="rankings")) == {7: {10: 2.0, 20: 1.0}, 8: {20: 2.0}}
    with pytest.raises(InvalidInput, match=r"'next'.*Boolean"):
        lpb.read_ratings(frame.with_columns(next=pl.lit(True)), layout="rankings")


def test_ranks_become_ratings_and_ties_share_the_mean(tmp_path: Path) -> None:
    path = write(tmp_path, RANKED)
    log = lpb.read_ratings(path, rank="rank")
    assert ratings_of(log) == {"ann": {"tea": 3.0, "jam": 1.5, "milk": 1.5}, "bo": {"tea": 3.0, "jam": 2.0}}
    assert log.layout == "long"
    with pytest.raises(InvalidInput, match="--rank rank"):
        lpb.read_ratings(path)
    with pytest.raises(InvalidInput, match="rating is 'rank' and rank is 'rank'"):
        lpb.read_ratings(path, rank="rank", rating="rank")
    with pytest.raises(InvalidInput, match="line 2: rank is 'x'"):
        lpb.read_ratings(write(tmp_path, RANKED.replace("tea,1\n", "tea,x\n")), rank="rank")


def test_an_action_ranked_twice_raises_or_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path, "who,best,next,then\nann,tea,jam,tea\n")
    with pytest.raises(InvalidInput, match=r"line 2: person 'ann' rated action 'tea' again"):
        lpb.read_ratings(path, layout="rankings")
    assert ratings_of(lpb.read_ratings(path, layout="rankings", duplicates="last")) == {"ann": {"jam": 2.0, "tea": 1.0}}


@given(st.lists(st.permutations("abcd").flatmap(lambda p: st.integers(1, 4).map(lambda n: p[:n])), min_size=1))
def test_rankings_and_ranks_give_equal_logs(orders: list[list[str]]) -> None:
    columns = pl.DataFrame(
        [[n, *order, *[None] * (4 - len(order))] for n, order in enumerate(orders)],
        schema={"voter": pl.Int64, **{f"rank{i}": pl.String for i in range(1, 5)}},
        orient="row",
    )
    rows = [(n, action, place) for n, order in enumerate(orders) for place, action in enumerate(order, start=5)]
    ranks = pl.DataFrame(rows, schema=["person", "action", "rank"], orient="row")
    log = lpb.read_ratings(columns)
    assert log.sha256 == lpb.read_ratings(ranks, rank="rank").sha256
    for n, rated in ratings_of(log).items():
        assert sorted(rated, key=lambda action: -rated[action]) == orders[n]
        assert max(rated.values()) == len(log.actions)


@pytest.mark.parametrize(("how", "ratings"), [("last", [3.0, 4.0]), ("mean", [13 / 3, 4.0])])
def test_duplicates_last_and_mean(tmp_path: Path, how: str, ratings: list[float]) -> None:
    rows = ["1,a,5", "1,b,4", "1,a,5", "1,a,3"]
    path = write(tmp_path, "\n".join(["user,item,rating", *rows]))
    log = lpb.read_ratings(path, duplicates=how, min_person=2)
    np.testing.assert_allclose(log.rating, ratings)
    repeated = "averaged_ratings" if how == "mean" else "repeated_ratings"
    assert (log.dropped[repeated], log.dropped["people_below_min_person"]) == (2, 0)
    with pytest.raises(InvalidInput, match=r"2 repeats in all.*--duplicates last"):
        lpb.read_ratings(path)


def test_the_last_rating_is_the_last_row_however_rows_are_ordered() -> None:
    rng = np.random.default_rng(3)
    rows = [(n, a, float(rng.integers(100))) for n, a in itertools.product(range(30), range(5)) for _ in range(3)]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    expected = {(n, a): x for n, a, x in rows}
    log = lpb.read_ratings(pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row"), duplicates="last")
    assert {(n, a): x for n, rated in ratings_of(log).items() for a, x in rated.items()} == expected


@pytest.mark.parametrize(
    ("text", "number", "hint"),
    [
        ("4,5", 4.5, "decimal_comma=True"),
        ("-0,25", -0.25, "decimal_comma=True"),
        ("1.234,5", 1234.5, "decimal_comma=True"),
        ("1,234", 1.234, "decimal comma.*thousands"),
        ("1,234,567.5", None, "thousands"),
        ("4;5", None, "correct or remove the row"),
        ("1.234", 1234.0, None),
    ],
)
def test_decimal_commas(tmp_path: Path, text: str, number: float | None, hint: str | None) -> None:
    path = write(tmp_path, f"user\titem\trating\n1\ta\t{text}\n1\tb\t3\n")
    if hint is None:
        assert lpb.read_ratings(path).rating.tolist() == [float(text), 3.0]
    else:
        with pytest.raises(InvalidInput, match=hint):
            lpb.read_ratings(path)
    if number is None:
        with pytest.raises(InvalidInput, match="line 2: rating is"):
            lpb.read_ratings(path, decimal_comma=True)
    else:
        assert lpb.read_ratings(path, decimal_comma=True).rating.tolist() == [number, 3.0]


def test_a_column_that_is_not_used_may_be_repeated(tmp_path: Path) -> None:
    path = write(tmp_path, "user,item,rating,note,note\n1,a,4,x,y\n")
    assert len(lpb.read_ratings(path)) == 1


def test_a_mistyped_cell_of_a_wide_table_is_an_error_at_its_row() -> None:
    """A column of which most cells are numbers is an action; one of text is a fact about people."""
    table = pl.DataFrame(
        {"user": [f"u{n}" for n in range(6)], "tea": ["3", "bad", "1", "2", "5", "4"], "jam": [1, 5, 2, 3, 1, 4]}
    )
    with pytest.raises(InvalidInput, match=r"'tea'.*'bad'"):
        lpb.read_ratings(table)
    with pytest.raises(InvalidInput, match=r"'city'.*ignore"):
        lpb.read_ratings(table.with_columns(city=pl.lit("Rome"), tea=pl.lit(2)))


def test_a_point_among_decimal_commas_is_no_reason_to_drop_a_column(tmp_path: Path) -> None:
    path = write(tmp_path, "user;tea;jam\nann;4,5;3.5\n")
    with pytest.raises(InvalidInput, match=r"'3.5'.*decimal point.*--decimal-comma") as error:
        lpb.read_ratings(path, layout="wide", decimal_comma=True)
    assert "--ignore" not in str(error.value)
