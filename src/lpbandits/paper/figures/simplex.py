"""Illustration: the means that are possible in a bandit, a latent preference bandit and a latent bandit."""

import altair as alt
import numpy as np
import polars as pl

from lpbandits.model import PreferenceModel
from lpbandits.paper.spec import Case, Figure, Size
from lpbandits.typing import FloatArray
from lpbandits.views.charts.base import Chart
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


def _plan(size: Size, draws: int) -> list[Case]:
    del size, draws
    return [Case("simplex", "illustration", {"states": MODEL.n_states})]


def _run(case: Case, seed: int, threads: int | None) -> pl.DataFrame:
    """Return the corners of each problem's sets of means in drawing order; one corner is a point."""
    del case, seed, threads
    simplex = np.eye(3)
    frames = [_shape("bandit", _ANY, simplex)]
    frames += [_shape(problem, _IMPOSSIBLE, simplex) for problem in ("preference", "latent")]
    for z, ordering in enumerate(MODEL.orderings):
        frames.append(_shape("preference", f"state {z}", region(ordering)))
        frames.append(_shape("latent", f"state {z}", _MEANS[z : z + 1]))
    return pl.concat(frames)


def region(ordering: np.ndarray) -> FloatArray:
    """Return the corners of the set of means with this ordering.

    >>> region(np.array([2, 0, 1])).tolist()[:2]
    [[0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]
    """
    corners = np.zeros((3, 3))
    for tied in (1, 2, 3):
        corners[tied - 1, ordering[:tied]] = 1.0 / tied
    return corners


def _shape(problem: str, means: str, corners: FloatArray) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "problem": problem,
            "means": means,
            "corner": np.arange(len(corners)),
            "x": corners[:, 1] + corners[:, 2] / 2.0,
            "y": corners[:, 2] * np.sqrt(3.0) / 2.0,
        }
    )


def _chart(table: pl.DataFrame) -> Chart:
    return alt.hconcat(
        *(_panel(table.filter(problem=problem), title) for problem, title in PROBLEMS.items()), spacing=24
    )


def _panel(table: pl.DataFrame, title: str) -> Chart:
    states = [f"state {z}" for z in range(MODEL.n_states)]
    colours = alt.Scale(domain=[_ANY, _IMPOSSIBLE, *states], range=["#b9c2cc", "#eef0f3", *STATE_COLOURS[:3]])
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.05, 1.05]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.05, 0.95]))
    sized = table.with_columns(corners=pl.len().over("means"))
    shapes = (
        alt.Chart(sized.filter(pl.col("corners") > 1))
        .mark_line(filled=True, interpolate="linear-closed", stroke="white", strokeWidth=1.5, opacity=1)
        .encode(x, y, alt.Fill("means:N", scale=colours, legend=None), order="corner:Q", tooltip="means:N")
    )
    # A region's name is at the incentre of its triangle: corners weighted by the opposite sides, 1 : 2 : √3.
    room = pl.col("corner").replace_strict({0: 1.0, 1: 2.0, 2: np.sqrt(3.0)})
    named = (
        sized.filter(pl.col("means").is_in(states))
        .group_by("means", "corners", maintain_order=True)
        .agg((pl.col("x", "y") * room).sum() / room.sum())
    )
    points = (
        alt.Chart(named.filter(pl.col("corners") == 1))
        .mark_point(size=260, filled=True, opacity=1, stroke="white")
        .encode(x, y, alt.Fill("means:N", scale=colours, legend=None), tooltip="means:N")
    )
    layers = [shapes, points]
    for is_point, look in ((False, {"color": "white", "fontWeight": "bold"}), (True, {"dy": 22})):
        words = alt.Chart(named.filter((pl.col("corners") == 1) == is_point))
        layers.append(words.mark_text(fontSize=12, **look).encode(x, y, text="means:N"))
    for at, dy in ((MODEL.actions[:2], 16), (MODEL.actions[2:], -10)):
        ends = pl.DataFrame({"x": [0.0, 1.0] if dy > 0 else [0.5], "y": [0.0 if dy > 0 else np.sqrt(0.75)] * len(at)})
        words = alt.Chart(ends.with_columns(name=pl.Series(list(at))))
        layers.append(words.mark_text(dy=dy, fontSize=12, color="#57606a").encode(x, y, text="name:N"))
    return alt.layer(*layers).properties(width=280, height=260, title=title)


FIGURES = [
    Figure(
        name="simplex",
        version=2,
        title="Possible means before the first round",
        shows="the sets of means that each problem allows, for three actions with means that sum to one",
        plan=_plan,
        run=_run,
        chart=_chart,
    )
]
