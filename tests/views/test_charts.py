"""Charts: the data they hold, their colours, their axes and their fonts."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from lpbandits.inspection.inspect import inspect
from lpbandits.model import PreferenceModel
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, heading, styled
from lpbandits.views.charts.labels import covering
from lpbandits.views.charts.models import MAX_DOT_STATES, STATE_COLOURS, disagreement_chart, share_chart
from lpbandits.views.charts.policies import final_chart, line_chart, ratio_chart, round_chart
from lpbandits.views.folder import slim


def spec_of(chart: Chart) -> Json:
    return slim(styled(chart).to_dict())


def test_charts_hold_few_rows_short_numbers_and_named_columns() -> None:
    rounds = np.arange(1, 1001)
    curves = pl.DataFrame({"policy": "ts", "round": rounds, "regret": np.sqrt(rounds), "regret_sd": 1 / 3, "more": 1.0})
    spec = spec_of(round_chart(curves, title="a"))
    (rows,) = [rows for rows in spec["datasets"].values() if len(rows) > 10]
    assert len(rows) <= 200
    assert set(rows[0]) == {"name", "x", "y", "band"}
    assert rows[0]["band"] == 0.33333
    assert slim({"mark": "point"}) == {"mark": "point"}


def test_lines_end_in_bars_of_one_standard_error() -> None:
    rounds = np.arange(1, 301)
    curves = pl.concat(
        pl.DataFrame({"policy": name, "round": rounds, "regret": rounds / 10, "regret_sd": 5.0, "regret_se": error})
        for name, error in (("ts", 0.5), ("lpbts", float("nan")))
    )
    assert bars_of(spec_of(round_chart(curves, title="a"))) == [("TS", 300, 29.5, 30.5)]
    assert bars_of(spec_of(round_chart(curves.drop("regret_se"), title="a"))) == []


def bars_of(spec: Json) -> list[tuple[str, float, float, float]]:
    """Return name, x, low and high of the bars."""
    rules = [layer for layer in spec["layer"] if layer["encoding"].get("y2", {}).get("field") == "high"]
    rows = [row for layer in rules for row in spec["datasets"][layer["data"]["name"]] if "low" in row]
    assert all(layer["mark"]["type"] == "rule" for layer in rules)
    return [(row["name"], row["x"], row["low"], row["high"]) for row in rows]


@pytest.mark.parametrize("states", [3, MAX_DOT_STATES, MAX_DOT_STATES + 1, len(STATE_COLOURS), len(STATE_COLOURS) + 5])
def test_no_two_states_share_a_colour(states: int) -> None:
    assert len(set(STATE_COLOURS)) == len(STATE_COLOURS) >= 20
    rng = np.random.default_rng(0)
    seen = inspect(PreferenceModel([rng.permutation(10) for _ in range(states)]), top=4)
    coloured = [scale for chart in (share_chart(seen), disagreement_chart(seen)) for scale in scales(spec_of(chart))]
    assert all(len(set(scale["range"])) == len(scale["domain"]) == states for scale in coloured)
    assert len(coloured) == (2 if states <= MAX_DOT_STATES else 1 if states <= len(STATE_COLOURS) else 0)
    if states > MAX_DOT_STATES:  # every rank is a number in the column of its state
        data = spec_of(disagreement_chart(seen))["datasets"].values()
        assert {row["number"] for rows in data for row in rows} == set(map(str, range(states)))


def scales(content: Any) -> list[Json]:
    """Return the colour scales of the field "state", at any depth of a specification."""
    if isinstance(content, list):
        return [scale for part in content for scale in scales(part)]
    if not isinstance(content, dict):
        return []
    colour = content.get("color", {})
    here = [colour["scale"]] if isinstance(colour, dict) and colour.get("field") == "state" else []
    return here + [scale for part in content.values() for scale in scales(part)]


def test_a_line_that_covers_another_is_dashed() -> None:
    x = np.arange(20)
    frame = pl.DataFrame(
        {"name": np.repeat(["a", "b", "c"], 20), "x": np.tile(x, 3), "y": np.r_[x, x + 0.05, 19.0 - x]}
    )
    assert covering(frame, top=20.0) == {"b"}
    assert covering(frame.filter(pl.col("name") != "a"), top=20.0) == set()


def test_text_of_charts_is_in_the_font() -> None:
    people = pl.DataFrame({"policy": ["ts"] * 4 + ["lpbts"] * 4, "regret": np.arange(8.0)})
    spec = spec_of(final_chart(people, title="Regret per person"))
    words = json.dumps({key: value for key, value in spec.items() if key != "datasets"}, ensure_ascii=False)
    assert all(ord(c) < 0x2200 for c in words)
    assert spec["config"]["font"].startswith("Arial, Liberation Sans")


def test_long_titles_are_wrapped() -> None:
    title = heading("word " * 20, "word " * 30).to_dict()
    assert max(map(len, title["text"])) <= 38
    assert max(map(len, title["subtitle"])) <= 58


def test_a_sweep_shows_the_error_and_the_spread() -> None:
    frame = pl.DataFrame({"policy": "ts", "x": [1.0, 2.0], "y": [5.0, 6.0], "se": [0.1, 0.1], "sd": [7.0, 2.0]})
    spec = spec_of(line_chart(frame, x="x", y="y", title="t"))
    assert bars_of(spec) == [("TS", 1.0, 4.9, 5.1), ("TS", 2.0, 5.9, 6.1)]
    (band,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "area"]
    assert [step["calculate"] for step in band["transform"]] == [
        "max(datum.y - datum.band, 0.0)",
        "datum.y + datum.band",
    ]
    assert [row["band"] for row in spec["datasets"][band["data"]["name"]]] == [7.0, 2.0]


def test_labels_are_moved_apart_on_a_logarithmic_axis() -> None:
    frame = pl.DataFrame(
        {
            "policy": ["lpbts", "lpb-ids", "ts"],
            "setting": "only",
            "value": [1.0, 1.0, 4.0],
            "low": [1.0, 0.01, 4.0],
            "high": [1.0, 1.0, 4.0],
            "level": 7.0,
        }
    )
    spec = ratio_chart(frame, x="x", y="y", title="t", subtitle="", ends=(0.5, 8.0), height=170).to_dict()
    rows = [row for data in spec["datasets"].values() for row in data]
    at = sorted(row["label_at"] for row in rows if "label_at" in row)
    np.testing.assert_allclose(at, [1.0, 16.0 ** (17 / 170), 4.0])
    assert min(row["low"] for row in rows if "low" in row) == 0.5, "bars end where the axis does"
