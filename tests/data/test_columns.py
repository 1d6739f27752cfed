"""Roles by the names of columns, columns on another scale, and times."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.data.columns.roles import like, strength
from lpbandits.data.columns.scales import odd_columns
from lpbandits.errors import InvalidInput
from tests.data.test_layouts import ratings_of, write


@pytest.mark.parametrize(
    "header",
    [
        "respondent,Restaurant,Rating (1-5)",
        "userId,video_id,thumb",
        "User ID,VideoID,Thumbs",
        "customer,feature,nps",
        "patient_id,treatment,outcome",
        "person,therapy,Mood (1-10)",
        "patient,drug,pain relief",
        "Participant,Question,Response",
        "CustomerID,Product Name,score (0-100)",
        "User-ID,ISBN,Book-Rating",
        "reviewerID,asin,overall",
        "user_id,business_id,stars",
        "userid,itemid,rating [stars]",
        "user,item,STARS",
        "member,Dish name,overall rating",
        "user_id,item_id,rating,item_name,number_of_ratings,rating_date,avg_rating",
        "user,restaurant,rating,food_rating,service_rating",
    ],
)
def test_columns_are_recognised_by_the_words_of_their_names(header: str, tmp_path: Path) -> None:
    n_more = header.count(",") - 2
    rows = "".join(f"{row}{',9' * n_more}\n" for row in ("ann,tea,4", "bo,tea,2", "bo,jam,5"))
    log = lpb.read_ratings(write(tmp_path, f"{header}\n{rows}"))
    assert ratings_of(log) == {"ann": {"tea": 4.0}, "bo": {"tea": 2.0, "jam": 5.0}}
    assert log.layout == "long"


@pytest.mark.parametrize("name", ["pain", "pain score", "symptom severity", "Fatigue (0-10)", "anxiety"])
def test_a_rating_of_symptoms_needs_a_direction(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"patient,treatment,{name}\nann,tea,4\nbo,tea,2\nbo,jam,5\n")
    with pytest.raises(InvalidInput, match=rf"{re.escape(repr(name))}.*--lower-is-better.*--rating '?{name[:4]}"):
        lpb.read_ratings(path)
    low = lpb.read_ratings(path, lower_is_better=True)
    assert ratings_of(low) == {"ann": {"tea": -4.0}, "bo": {"tea": -2.0, "jam": -5.0}}
    high = lpb.read_ratings(path, rating=name)
    assert ratings_of(high) == {"ann": {"tea": 4.0}, "bo": {"tea": 2.0, "jam": 5.0}}


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("user,userId,item,rating", ["'user', 'userId'", "--person"]),
        ("user,movie,song,rating", ["'movie', 'song'", "--action"]),
        ("user,item,score,stars", ["'score', 'stars'", "--rating"]),
        ("who,what,rating", ["no column", "the person", "the action", "--person", "--action"]),
        ("who,movie,song,when", ["the person", "2 columns ('movie', 'song')", "no column the rating", "--rating"]),
    ],
)
def test_an_ambiguous_header_names_all_candidates_and_options(header: str, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        lpb.read_ratings(write(tmp_path, f"{header}\n1,2,3,4\n"))
    assert [word for word in words if word not in str(error.value)] == []


def test_named_columns_that_do_not_exist_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"2 problems.*'who' for the person.*'how' for the rating"):
        lpb.read_ratings(write(tmp_path, "user,item,rating\n1,2,3\n"), person="who", rating="how")


def test_an_ignored_column_is_no_candidate(tmp_path: Path) -> None:
    path = write(tmp_path, "user,userId,item,rating\nann,1,tea,3\n")
    assert lpb.read_ratings(path, ignore=["user"]).people == (1,)


@pytest.mark.parametrize(
    "name", ["note", "rank", "timestamp", "name", "id", "rating count", "n_ratings", "item_1", "ResponseId", ""]
)
def test_other_names_suggest_no_role(name: str) -> None:
    assert [role for role in ("person", "action", "rating") if strength(name, role)] == []
    assert like([name], "rating") == []


def cells(columns: dict[str, Any]) -> pl.DataFrame:
    """Return the ratings of a wide table, NaN for a missing one."""
    long = pl.DataFrame({name: np.asarray(values, dtype=float) for name, values in columns.items()}).with_row_index(
        "row"
    )
    long = long.unpivot(index="row", variable_name="action", value_name="x")
    return long.filter(pl.col("x").is_not_nan())


def stars(rows: int, seed: int, low: float = 1, high: float = 5, columns: int = 4) -> dict[str, Any]:
    """Return columns of whole ratings whose means differ."""
    rng = np.random.default_rng(seed)
    middle, spread = rng.uniform(low, high, columns), (high - low) / 4
    values = np.clip(np.round(rng.normal(middle, spread, (rows, columns))), low, high)
    return {f"dish {i}": values[:, i] for i in range(columns)}


RNG = np.random.default_rng(8)
ODD = {
    "ages": RNG.integers(18, 80, 40),
    "years": RNG.integers(1950, 2005, 40),
    "incomes": RNG.integers(20_000, 90_000, 40),
    "seconds since 1970": 1.7e9 + RNG.integers(0, 10**7, 40),
    "row numbers": np.arange(1, 41),
    "five digits": RNG.integers(10_000, 99_999, 40),
    "yes or no": np.arange(40) % 2,
    "degrees": RNG.uniform(-120, -70, 40),
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("top", [5, 10])
def test_a_column_on_another_scale_is_odd(what: str, top: int) -> None:
    table = stars(40, 3, high=top)
    assert list(odd_columns(cells(table))) == []
    assert list(odd_columns(cells(table | {what: ODD[what]}))) == [what]


NORMAL = RNG.normal(size=40)
SMALL = {
    "z-scores": (NORMAL - NORMAL.mean()) / NORMAL.std(),
    "z-scores of two digits": np.round(NORMAL, 2),
    "shares": RNG.random(40),
    "agreement": RNG.integers(1, 6, 40),
    "promoters": np.clip(RNG.normal(7, 2, 40).round(), 0, 10),
    "yes or no": np.arange(40) % 2,
    "one or two": 1 + np.arange(40) % 2,
}


@pytest.mark.parametrize("decimals", [0, 1])
@pytest.mark.parametrize("what", SMALL)
def test_a_column_on_a_smaller_scale_is_odd(what: str, decimals: int) -> None:
    table = {name: values.round(decimals) for name, values in sliders(40, 3).items()}
    assert odd_columns(cells(table)) == {}
    assert list(odd_columns(cells(table | {what: SMALL[what]}))) == [what]
    assert list(odd_columns(cells({what: SMALL[what]} | table))) == [what]


@pytest.mark.parametrize("what", ["z-scores", "z-scores of two digits", "shares"])
@pytest.mark.parametrize("top", [5, 10])
def test_fractions_among_whole_ratings_are_odd(what: str, top: int) -> None:
    table = stars(40, 3, high=top, columns=3)
    assert list(odd_columns(cells(table | {what: SMALL[what]}))) == [what]


def test_two_columns_on_smaller_scales_are_reported_at_once() -> None:
    names = ("z-scores", "agreement")
    assert set(odd_columns(cells(sliders(40, 5) | {name: SMALL[name] for name in names}))) == set(names)
    wide = pl.DataFrame({"user": [f"p{n}" for n in range(40)], **sliders(40, 5), "trust": SMALL["agreement"]})
    with pytest.raises(InvalidInput, match=r"'trust'.*1 to 5.*--ignore trust.*--columns"):
        lpb.read_ratings(wide)
    assert "trust" not in lpb.read_ratings(wide, ignore=["trust"]).actions


def test_few_cells_do_not_tell_the_scale() -> None:
    few = np.where(np.arange(40) < 9, SMALL["agreement"], np.nan)
    assert odd_columns(cells(sliders(40, 3) | {"rare": few})) == {}


@pytest.mark.parametrize("zeros", [0, 4])
def test_a_disliked_action_has_a_long_tail(zeros: int) -> None:
    disliked = np.array([0] * zeros + [1] * 8 + [2] * 8 + [3] * 5 + [4, 5, 6, 7, 8, 9, 10])
    assert odd_columns(cells(sliders(len(disliked), 3) | {"bad": disliked})) == {}
    assert list(odd_columns(cells(sliders(28, 3) | {"other": np.arange(28) % 4 + 5}))) == ["other"]


def sliders(rows: int, seed: int) -> dict[str, Any]:
    """Return columns of values from 0 to 100 whose means differ."""
    rng = np.random.default_rng(seed)
    return {f"dish {i}": np.clip(rng.normal(middle, 25, rows), 0, 100) for i, middle in enumerate((30, 50, 60, 75))}


def small_films(rng: np.random.Generator) -> dict[str, Any]:
    """Return a wide table of half stars as of MovieLens: few columns have many ratings."""
    values = np.clip(np.round(2 * rng.normal(rng.uniform(1, 5, 40), 1, (60, 40))) / 2, 0.5, 5)
    values[rng.random(values.shape) > np.minimum(0.05 * rng.pareto(1, 40) + 0.02, 0.9)] = np.nan
    return {f"film {i}": values[:, i] for i in range(40)}


def ranks(rng: np.random.Generator, rows: int, columns: int) -> dict[str, Any]:
    """Return complete rankings, 1 to the number of columns, in which some actions are first for nearly all people."""
    order = np.argsort(np.argsort(rng.normal(rng.normal(0, 3, columns), 1, (rows, columns))))
    return {f"action {i}": order[:, i] + 1.0 for i in range(columns)}


def test_several_odd_columns_are_reported_at_once() -> None:
    names = ("ages", "incomes", "yes or no")
    assert set(odd_columns(cells(stars(40, 5) | {name: ODD[name] for name in names}))) == set(names)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rows", [3, 12, 60])
def test_ratings_are_not_odd(seed: int, rows: int) -> None:
    rng = np.random.default_rng([seed, rows])
    first, second = rng.uniform(0.1, 6, (2, 5))
    tables = {
        "stars": stars(rows, seed),
        "stars with one column of fives": stars(rows, seed) | {"best": np.full(rows, 5)},
        "two bad and one good": {"a": rng.integers(1, 3, rows), "b": rng.integers(1, 3, rows), "c": np.full(rows, 5)},
        "sliders": stars(rows, seed, 0, 100),
        "skewed sliders": dict(zip("abcde", np.round(100 * rng.beta(first, second, (rows, 5))).T, strict=True)),
        "from -10 to 10": stars(rows, seed, -10, 10),
        "yes or no": dict(zip("abcd", rng.integers(0, 2, (4, rows)), strict=True)),
        "shares of 100": dict(zip("abcde", (5 * np.round(20 * rng.dirichlet(first, rows))).T, strict=True)),
        "sliders in steps of 5, one hated": {
            name: 5 * v for name, v in (stars(rows, seed, 0, 20) | {"bad": rng.integers(0, 3, rows)}).items()
        },
        "sliders, one hated": sliders(rows, seed) | {"bad": np.round(100 * rng.beta(0.5, 12, rows))},
        "all standardized": dict(zip("abcd", rng.normal(0, 1, (4, rows)), strict=True)),
        "from -5 to 5 by halves": {name: v / 2 for name, v in stars(rows, seed, -10, 10).items()},
        "one mean of three": stars(rows, seed) | {"mean": 1 + rng.integers(0, 13, rows) / 3},
        "half stars of films": small_films(rng),
        "films from 0 to 100": {name: 20 * values for name, values in small_films(rng).items()},
        "ranks": ranks(rng, rows, 7),
        "sixty ranks": ranks(rng, rows, 60),
        "durations": dict(zip("abcd", rng.uniform(50, 500, (4, 1)) * rng.lognormal(0, 0.3, (4, rows)), strict=True)),
    }
    assert {name: odd for name, table in tables.items() if (odd := odd_columns(cells(table)))} == {}


WIDE = pl.DataFrame(
    {"user": [f"p{n}" for n in range(12)], "age": ODD["ages"][:12], "sex": ["f", "m"] * 6, **stars(12, 1, columns=3)}
)


@pytest.mark.parametrize("layout", ["auto", "wide"])
def test_a_fact_about_a_person_is_refused_with_a_remedy(layout: str) -> None:
    with pytest.raises(InvalidInput, match=r"'age'"):
        lpb.read_ratings(WIDE.drop("sex"), layout=layout)
    with pytest.raises(InvalidInput, match=r"--ignore age,sex|'sex'"):
        lpb.read_ratings(WIDE, layout=layout)
    expected = lpb.read_ratings(WIDE.drop("age", "sex"))
    assert expected.layout == "wide"
    dishes = ["dish 0", "dish 1", "dish 2"]
    choices: list[Any] = [{"ignore": ["age", "sex"]}, {"columns": dishes}, {"columns": dishes, "person": "user"}]
    for options in choices:
        assert lpb.read_ratings(WIDE, layout=layout, **options).sha256 == expected.sha256
    with_age = lpb.read_ratings(WIDE, layout=layout, columns=[*dishes, "age"])
    assert "age" in with_age.actions


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ignore": ["aeg"]}, "'aeg'.*did you mean 'age'"),
        ({"columns": ["dish 9"]}, "'dish 9'.*did you mean"),
        ({"columns": []}, "columns must name"),
        ({"ignore": "age"}, "ignore.*'age'"),
        ({"columns": ["age"], "ignore": ["age"]}, "'age' is named and also ignored"),
        ({"columns": ["age"], "layout": "long"}, "columns is 'age'"),
        ({"columns": ["dish 0"], "rating": "age"}, "columns is 'dish 0'"),
        ({"ignore": ["age", "sex", "dish 0", "dish 1", "dish 2"], "layout": "wide"}, "no column of an action"),
        ({"ignore": WIDE.columns, "layout": "wide"}, "no column for the person"),
    ],
)
def test_invalid_choices_of_columns_raise(options: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        lpb.read_ratings(WIDE, **options)


def test_an_outcome_is_better_than_pain_and_pain_may_be_an_action(tmp_path: Path) -> None:
    log = lpb.read_ratings(write(tmp_path, "patient,treatment,pain,outcome\nann,tea,9,4\n"))
    assert ratings_of(log) == {"ann": {"tea": 4.0}}
    wide = lpb.read_ratings(write(tmp_path, "person,walk,pain,sleep\nann,3,1,2\nbo,2,2,1\n"))
    assert (wide.layout, set(wide.actions)) == ("wide", {"walk", "pain", "sleep"})
    with pytest.raises(InvalidInput, match=r"'pain', 'mood'"):
        lpb.read_ratings(write(tmp_path, "patient,treatment,pain,mood\nann,tea,9,4\n"))


@pytest.mark.parametrize("header", ["user,book,game,film", "user,food score,room score,staff score", "user,a,b,c"])
def test_several_names_of_actions_or_ratings_are_those_of_a_wide_table(header: str, tmp_path: Path) -> None:
    log = lpb.read_ratings(write(tmp_path, f"{header}\nann,5,4,3\nbo,,2,1\n"))
    assert (log.layout, set(log.actions)) == ("wide", set(header.split(",")[1:]))


def test_places_of_rankings_can_be_chosen() -> None:
    frame = pl.DataFrame({"user": [1, 2], "age": [30, 40], "rank1": ["tea", "jam"], "rank2": ["jam", "tea"]})
    log = lpb.read_ratings(frame, ignore=["age"])
    assert (log.layout, ratings_of(log)) == ("rankings", {1: {"tea": 2, "jam": 1}, 2: {"jam": 2, "tea": 1}})
    assert lpb.read_ratings(frame, columns=["rank1"], layout="rankings").rating.tolist() == [2.0, 2.0]
