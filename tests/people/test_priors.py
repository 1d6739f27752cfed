"""Tables of priors: both layouts, matching of people, and errors that name the row."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lpbandits as lpb
from lpbandits.people.priors import Priors

MODEL = lpb.PreferenceModel(
    [[0, 1, 2], [2, 1, 0], [1, 0, 2]], prior=[0.5, 0.3, 0.2], state_names=["calm", "busy", "late"]
)
ROWS = [[0.1, 0.2, 0.7], [1.0, 0.0, 0.0]]
WIDE = {"person": ["ann", "bo"], "calm": [0.1, 1.0], "1": [0.2, 0.0], "late ": [0.7, 0.0], "note": ["x", None]}


@pytest.mark.parametrize("form", ["frame", "csv", "parquet", "pandas"])
def test_a_column_per_state_is_found_by_name_or_index(form: str, tmp_path: Path) -> None:
    source: Any = pl.DataFrame(WIDE)
    if form == "csv":
        source.write_csv(tmp_path / "priors.csv")
    elif form == "parquet":
        source.write_parquet(tmp_path / "priors.parquet")
    elif form == "pandas":
        source = pytest.importorskip("pandas").DataFrame(WIDE)
    priors = Priors.read(tmp_path / f"priors.{form}" if form in ("csv", "parquet") else source, MODEL)
    assert priors.people.to_list() == ["ann", "bo"]
    assert priors.rows.tolist() == ROWS


def test_one_state_per_row_leaves_out_states_of_probability_0() -> None:
    frame = pl.DataFrame(
        {
            "person": [7, 8, 7, 7],
            "state": ["late", "0", " 1", "state 0"],
            "probability": ["0.7", "1", "0.2", "0.1"],
        }
    )
    model = MODEL.replace(state_names=None)
    frame = frame.with_columns(state=pl.Series(["2", "0", " 1", "state 0"]))
    priors = Priors.read(frame, model)
    assert priors.people.to_list() == [7, 8]
    assert priors.rows.tolist() == ROWS


def test_people_are_matched_as_numbers_or_text_and_others_have_the_prior_of_the_model() -> None:
    priors = Priors.read({7: ROWS[0], "9": {"calm": 1.0}}, MODEL)
    wanted = [MODEL.prior.tolist(), ROWS[0]]
    assert priors.of(pl.Series([8, 7])).tolist() == wanted
    assert priors.of(pl.Series(["x", "7"])).tolist() == wanted
    assert priors.counts(pl.Series([8, 7])) == (1, 1)
    below = Priors.read({7: [0.0, 0.0, 1.0], 8: [0.0, 1.0, 0.0]}, MODEL)
    assert priors.over(below).of(pl.Series([8, 7, 5])).tolist() == [[0.0, 1.0, 0.0], ROWS[0], MODEL.prior.tolist()]
    assert priors.over(below).counts(pl.Series([8, 7, 5])) == (2, 1)
    assert Priors.read({}, MODEL).of(pl.Series([8])).tolist() == [MODEL.prior.tolist()]


def test_rounded_probabilities_are_rescaled_as_by_an_agent() -> None:
    frame = pl.DataFrame({"person": ["ann"], "0": [0.333], "1": [0.333], "2": [0.333]})
    np.testing.assert_allclose(Priors.read(frame, MODEL).rows, [[1 / 3] * 3], rtol=1e-15)
    many = lpb.PreferenceModel(np.array([np.roll(np.arange(20), z) for z in range(20)]))
    rows = np.random.default_rng(3).dirichlet(np.ones(20), 50) * (1 + 1e-9)
    read = Priors.read(pl.DataFrame({"person": range(50), **{str(z): rows[:, z] for z in range(20)}}), many)
    for p in range(50):
        assert lpb.Agent(lpb.LpbTS(many), seed=0, prior=rows[p]).prior.tolist() == read.rows[p].tolist()


@pytest.mark.parametrize("busy", ["20%", " 20 % ", "0.2"])
def test_percentages_are_probabilities(busy: str) -> None:
    frame = pl.DataFrame({"person": ["ann"], "calm": ["10%"], "busy": [busy], "late": ["7e1%"]})
    np.testing.assert_allclose(Priors.read(frame, MODEL).rows, ROWS[:1], rtol=1e-15)
    long = pl.DataFrame({"person": ["ann"] * 3, "state": ["calm", "busy", "late"], "p": ["10%", busy, "70%"]})
    np.testing.assert_allclose(Priors.read(long, MODEL).rows, ROWS[:1], rtol=1e-15)
    comma = pl.DataFrame({"person": ["ann"], "calm": ["12,5%"], "busy": ["12,5 %"], "late": ["75%"]})
    assert Priors.read(comma, MODEL, decimal_comma=True).rows.tolist() == [[0.125, 0.125, 0.75]]


def changed(**columns: Any) -> dict[str, Any]:
    return {**WIDE, **columns}


LONG = {"person": ["ann", "ann"], "state": ["calm", "busy"], "p": [0.5, 0.5]}


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (changed(calm=[0.1, 0.9]), r"row 2: .*'bo' must sum to 1, got 0.9"),
        (changed(calm=[0.1, None]), r"row 2: 'calm' must be a probability"),
        (changed(calm=["0,1", "1"]), r"row 1: 'calm' must be a probability"),
        (changed(calm=[0.1, float("nan")]), r"row 2: 'calm' must be a probability"),
        (changed(calm=[10, 100]), r"row 1: 'calm' must be .*or a percentage, got 10.*; write 0.1 or 10%"),
        (changed(calm=["10%", "101%"]), r"row 2: 'calm' must be .*got '101%'"),
        (changed(calm=["10%", "-1%"]), r"row 2: 'calm' must be .*got '-1%'"),
        (changed(calm=[-0.1, 1.0]), r"row 1: 'calm' must be a probability"),
        (changed(person=["ann", "ann"]), r"row 2: the person is in an earlier row"),
        (changed(person=["ann", None]), r"row 2: person is missing"),
        (changed(**{"0": [0.1, 1.0]}), r"column '0'.*twice"),
        ({name: WIDE[name] for name in ("person", "calm", "1")}, r"3 states, but 'late' has none"),
        ({"calm": [1.0]}, "person"),
        ({**LONG, "state": ["calm", "bsy"]}, r"row 2: state is not the index or the name"),
        ({**LONG, "state": ["calm", "calm"]}, r"row 2: the person has this state"),
        ({**LONG, "p": [0.5, 0.4]}, r"row 1: .*'ann' must sum to 1, got 0.9"),
    ],
)
def test_an_invalid_table_is_an_error_that_names_the_row(columns: dict[str, Any], match: str) -> None:
    with pytest.raises(lpb.InvalidInput, match=match):
        Priors.read(pl.DataFrame(columns), MODEL)


def test_an_invalid_dict_is_an_error() -> None:
    for source, match in (
        ({"ann": [0.5, 0.5]}, "prior"),
        ({1.5: ROWS[0]}, "a person of priors"),
        (3, "source must be a path"),
    ):
        with pytest.raises(lpb.InvalidInput, match=match):
            Priors.read(source, MODEL)
