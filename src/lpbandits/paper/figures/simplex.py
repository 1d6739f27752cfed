"""Illustration: the possible means of a bandit, a latent preference bandit and a latent bandit."""

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from lpbandits.model import PreferenceModel
from lpbandits.paper.spec import Figure
from lpbandits.typing import FloatArray
from lpbandits.views.charts.base import Chart, grid
from lpbandits.views.charts.models import STATE_COLOURS

MODEL = PreferenceModel([[0, 1, 2], [1, 2, 0], [2, 0, 1]], actions=["action 1", "action 2", "action 3"])
PROBLEMS = {
    "bandit": "Bandit: any means",
    "preference": "Latent preference bandit: known orderings",
    "latent": "Latent bandit: known means",
}
_MEANS = np.array([[0.55, 0.30, 0.15], [0.12, 0.58, 0.30], [0.28, 0.14, 0.58]])
"""Example means of the latent bandit, by state."""
_ANY, _IMPOSSIBLE = "any means", "impossible"


def _corners(*_: object) -> pl.DataFrame:
    """Return the corners of each problem's sets of means in drawing order; one corner is a point."""
    shapes = [("bandit", _ANY, np.eye(3)), ("preference", _IMPOSSIBLE, np.eye(3)), ("latent", _IMPOSSIBLE, np.eye(3))]
    for z, ordering in enumerate(MODEL.orderings):
        shapes += [("preference", f"state {z}", region(ordering)), ("latent", f"state {z}", _MEANS[z : z + 1])]
    frames = []
    for problem, means, corners in shapes:
        x, y = corners[:, 1] + corners[:, 2] / 2.0, corners[:, 2] * np.sqrt(3.0) / 2.0
        columns = {"problem": problem, "means": means, "corner": np.arange(len(corners)), "x": x, "y": y}
        frames.append(pl.DataFrame(columns))
    return pl.concat(frames)


def region(ordering: np.ndarray) -> FloatArray:
    """Return the corners of the set of means with this ordering: equal means of the first 1, 2 or 3 actions, else 0."""
    corners = np.zeros((3, 3))
    for tied in (1, 2, 3):
        corners[tied - 1, ordering[:tied]] = 1.0 / tied
    return corners


def _chart(table: pl.DataFrame) -> Chart:
    return grid((_panel(table.filter(problem=problem), title) for problem, title in PROBLEMS.items()), columns=3)


def _panel(table: pl.DataFrame, title: str) -> Chart:
    states = [f"state {z}" for z in range(MODEL.n_states)]
    colours = alt.Scale(domain=[_ANY, _IMPOSSIBLE, *states], range=["#b9c2cc", "#eef0f3", *STATE_COLOURS[:3]])
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.05, 0.95]))
    look: dict[str, Any] = {"fill": alt.Fill("means:N", scale=colours, legend=None), "tooltip": "means:N"}
    sized = table.with_columns(corners=pl.len().over("means"))
    # A region's name is at the incentre of its triangle: corners weighted by the opposite sides, 1 : 2 : √3.
    weight = pl.col("corner").replace_strict({0: 1.0, 1: 2.0, 2: np.sqrt(3.0)})
    named = sized.filter(pl.col("means").is_in(states)).group_by("means", "corners", maintain_order=True)
    centres = named.agg((pl.col("x", "y") * weight).sum() / weight.sum())
    is_point = pl.col("corners") == 1
    bottom = pl.DataFrame({"x": [0.0, 1.0], "y": 0.0, "means": MODEL.actions[:2]})
    top = pl.DataFrame({"x": 0.5, "y": np.sqrt(0.75), "means": MODEL.actions[2:]})
    shapes = alt.Chart(sized.filter(~is_point)).mark_line(
        filled=True, interpolate="linear-closed", stroke="white", strokeWidth=1.5, opacity=1
    )
    dots = alt.Chart(centres.filter(is_point)).mark_point(size=260, filled=True, opacity=1, stroke="white")
    texts = [
        alt.Chart(frame).mark_text(fontSize=12, **style).encode(x, y, text="means:N")
        for frame, style in (
            (centres.filter(~is_point), {"color": "white", "fontWeight": "bold"}),
            (centres.filter(is_point), {"dy": 22}),
            (bottom, {"dy": 16, "color": "#57606a"}),
            (top, {"dy": -10, "color": "#57606a"}),
        )
    ]
    layers = alt.layer(shapes.encode(x, y, order="corner:Q", **look), dots.encode(x, y, **look), *texts)
    return layers.properties(width=280, height=260, title=title)


FIGURES = [
    Figure(
        name="simplex",
        version=2,
        title="Possible means before the first round",
        shows="the sets of means that each problem allows, for three actions with means that sum to one",
        plan=lambda *_: {"illustration": {"states": MODEL.n_states}},
        run=_corners,
        chart=_chart,
    )
]
