"""Charts. A policy has one colour and one name in every figure; lines are labelled where they end."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import altair as alt
import numpy as np
import polars as pl

from lpbandits.policies import title_of

COLOURS = {
    "lpbts": "#0b6e99",
    "lpbts-incremental": "#63b3d1",
    "mts": "#d9822b",
    "mucb": "#f0bc7e",
    "ts": "#7a4fa3",
    "ts-top": "#c43c6b",
    "ucb": "#4d8b57",
    "ucb-top": "#9ac29f",
    "uniform": "#9a9a9a",
}
"""The colour of each registered policy."""

Chart: TypeAlias = alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart
"""Any chart of ours."""

_SPARE = ["#5b5ea6", "#9b2335", "#009b77", "#b565a7", "#955251", "#e15d44"]
_INK = "#24292f"
_QUIET = "#6b7280"


def colours_of(policies: list[str]) -> list[str]:
    """Return the policies' colours; names that are not registered get spare ones."""
    spare = iter(_SPARE * (1 + len(policies) // len(_SPARE)))
    return [COLOURS.get(policy) or next(spare) for policy in policies]


def regret_chart(curves: pl.DataFrame, *, title: str, limit: float | None = None) -> Chart:
    """Return cumulative regret by round: mean lines, bands of ±1 standard deviation, labels at the end.

    `curves` is `Results.curves()`; `limit` fixes the top of the axis, so that charts side by side compare.
    """
    policies = curves["policy"].unique(maintain_order=True).to_list()
    frame = _titled(curves).with_columns(
        low=pl.max_horizontal(pl.col("regret") - pl.col("regret_sd"), 0.0),
        high=pl.col("regret") + pl.col("regret_sd"),
    )
    top = limit or top_of(curves)
    x = alt.X("round:Q", title="round", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5))
    y = alt.Y("regret:Q", title="cumulative regret", scale=alt.Scale(domain=[0, top], clamp=True))
    colour = _colour(policies)
    base = alt.Chart(frame)
    bands = base.mark_area(opacity=0.10).encode(x, alt.Y("low:Q", title="cumulative regret"), alt.Y2("high:Q"), colour)
    lines = base.mark_line(strokeWidth=2.5, clip=True).encode(
        x,
        y,
        colour,
        tooltip=[
            alt.Tooltip("name:N", title="policy"),
            alt.Tooltip("round:Q"),
            alt.Tooltip("regret:Q", title="mean regret", format=".1f"),
            alt.Tooltip("regret_sd:Q", title="sd over people", format=".1f"),
            alt.Tooltip("best_share:Q", title="on the best action", format=".0%"),
        ],
    )
    return _labelled((bands, lines), frame, "regret", "round", top, colour, title)


def state_chart(curves: pl.DataFrame, *, title: str) -> Chart:
    """Return the posterior probability of the true state by round, for the policies that have one."""
    known = curves.filter(pl.col("true_state").is_not_nan())
    frame = _titled(known)
    colour = _colour(known["policy"].unique(maintain_order=True).to_list())
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X("round:Q", title="round", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5)),
            alt.Y("true_state:Q", title="probability of the true state", scale=alt.Scale(domain=[0, 1])),
            colour,
            tooltip=[
                alt.Tooltip("name:N", title="policy"),
                alt.Tooltip("round:Q"),
                alt.Tooltip("true_state:Q", title="true state", format=".0%"),
            ],
        )
    )
    return _labelled((lines,), frame, "true_state", "round", 1.0, colour, title)


def final_chart(people: pl.DataFrame, *, title: str) -> Chart:
    """Return how regret at the end spreads over people: 5 to 95 %, the middle half, the median and the mean."""
    order = people["policy"].unique(maintain_order=True).to_list()
    spread = _titled(people).group_by("policy", "name", maintain_order=True)
    frame = spread.agg(
        pl.col("regret").mean().alias("mean"),
        *[pl.col("regret").quantile(q / 100, "linear").alias(f"p{q:02d}") for q in (5, 25, 50, 75, 95)],
    )
    colour = _colour(order)
    base = alt.Chart(frame).encode(
        alt.Y("name:N", title=None, sort=[title_of(p) for p in order], axis=alt.Axis(labelFontSize=13)), colour
    )
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("mean:Q", format=".1f")]
    tips += [alt.Tooltip(f"p{q:02d}:Q", title=f"{q} %", format=".1f") for q in (5, 25, 50, 75, 95)]
    whiskers = base.mark_rule(strokeWidth=2).encode(
        alt.X("p05:Q", title="regret at the end, per person", axis=alt.Axis(tickCount=6)), x2="p95:Q"
    )
    boxes = base.mark_bar(height=16, opacity=0.35).encode(x="p25:Q", x2="p75:Q", tooltip=tips)
    median = base.mark_tick(thickness=3, height=16).encode(x="p50:Q", tooltip=tips)
    mean = base.mark_point(size=55, filled=True, shape="diamond").encode(x="mean:Q", tooltip=tips)
    chart = alt.layer(whiskers, boxes, median, mean)
    return chart.properties(
        width=420, height=alt.Step(34), title=_heading(title, "5-95 % of people, middle half, median | and mean ◆")
    )


def top_of(*curves: pl.DataFrame) -> float:
    """Return a top for the regret axis that leaves the bands of all but extreme policies inside."""
    return 1.08 * max(float(np.max((frame["regret"] + 0.6 * frame["regret_sd"]).to_numpy())) for frame in curves)


def styled(chart: Chart) -> Chart:
    """Return the chart in the house style."""
    out: Chart = (
        chart.configure(font="Inter, Helvetica, Arial, sans-serif", background="white")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=_QUIET,
            titleColor=_INK,
            titleFontWeight="normal",
            gridColor="#eceff3",
            domainColor="#c9ced6",
            tickColor="#c9ced6",
            labelFontSize=12,
            titleFontSize=13,
        )
        .configure_title(color=_INK, fontSize=16, anchor="start", subtitleColor=_QUIET, subtitleFontSize=12, offset=14)
    )
    return out


def save_chart(chart: Chart, path: str | Path, *, scale: float = 2.0) -> Path:
    """Write a chart as PNG or SVG, by the ending of `path`."""
    styled(chart).save(str(path), scale_factor=scale)
    return Path(path)


def _titled(frame: pl.DataFrame) -> pl.DataFrame:
    names = {name: title_of(name) for name in frame["policy"].unique()}
    return frame.with_columns(name=pl.col("policy").replace_strict(names))


def _colour(policies: list[str]) -> alt.Color:
    scale = alt.Scale(domain=[title_of(p) for p in policies], range=colours_of(policies))
    return alt.Color("name:N", scale=scale, legend=None)


def _heading(title: str, subtitle: str = "") -> alt.TitleParams:
    return alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)


def _labelled(
    chart: Sequence[alt.Chart], frame: pl.DataFrame, value: str, along: str, top: float, colour: alt.Color, title: str
) -> Chart:
    """Add each line's name at its end, moved apart where lines end close together."""
    height = 320
    ends = frame.filter(pl.col(along) == pl.col(along).max()).sort(value)
    room = 17 / height * top
    at: list[float] = []
    for y in ends[value].to_list():
        at.append(max(min(y, top), at[-1] + room) if at else min(y, top))
    over = max(at, default=0.0) - top
    if over > 0:
        at = [y - over for y in at]
        for i in range(len(at) - 2, -1, -1):
            at[i] = max(min(at[i] + over, at[i + 1] - room), 0.0)
    labels = (
        alt.Chart(ends.with_columns(label_at=pl.Series(at)))
        .mark_text(align="left", dx=8, fontSize=13, fontWeight="bold")
        .encode(alt.X(f"{along}:Q"), alt.Y("label_at:Q"), text="name:N", color=colour)
    )
    return alt.layer(*chart, labels).properties(width=380, height=height, title=_heading(title))
