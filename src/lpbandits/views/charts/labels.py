"""Line charts with a label at the end of each line; lines that cover another are dashed."""

import math
import re
from collections.abc import Collection, Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl

from lpbandits.views.charts.base import Chart, panel, with_names

HEIGHT = 320
LABEL_DISTANCE = 17
"""Minimum distance of two labels, in pixels."""
CLOSE = 0.012
"""Two lines are close where their distance is below this share of the chart's height."""
LONG = 0.4
"""A line covers another if they are close for at least this share of their length."""
DASH = [7, 4]
LOG_TICKS = [unit * 10.0**power for power in range(-3, 5) for unit in (1, 2, 5)]
"""Ticks of logarithmic axes."""


def labelled_lines(
    frame: pl.DataFrame,
    *,
    x: alt.X,
    y: str,
    limits: tuple[float, float],
    tips: Sequence[alt.Tooltip],
    title: str,
    subtitle: str = "",
    names: Mapping[str, str] | None = None,
    dashed: Collection[str] = (),
    points: bool = True,
    log: bool = False,
    width: int = 380,
    height: int = HEIGHT,
) -> Chart:
    """Return a line per policy with its name at the end; a click selects lines.

    `frame` has the columns policy, x and y; with `low` and `high` there are bars, with `band` light bands of y ± band.
    `x` is the encoding of the x axis; the y axis has the title `y` and the limits, and is logarithmic with `log`.
    `names` are the policies' names, by default the registered ones, and the names in `dashed` have dashed lines.
    """
    table, colour = with_names(frame, names)
    name = "toggle_" + re.sub(r"\W+", "_", title)
    toggle = alt.selection_point(name=name, fields=["name"], on="click", toggle="true", clear="dblclick")
    opacities = ((1.0, 0.08), (0.6, 0.05), (0.1, 0.0))  # (selected, not selected) of lines, bars and bands
    solid, medium, faint = (alt.condition(toggle, alt.value(on), alt.value(off)) for on, off in opacities)
    low, high = limits
    scale = alt.Scale(type="log" if log else "linear", domain=[low, high], nice=False, clamp=True)
    ticks = alt.Axis(values=[tick for tick in LOG_TICKS if low <= tick <= high], format="~g") if log else alt.Undefined
    up = alt.Y("y:Q", title=y, scale=scale, axis=ticks)
    with_dashes = {*dashed, *(() if log else covering(table, top=high))}
    series = table["name"].unique(maintain_order=True).to_list()
    dash = alt.Scale(domain=series, range=[DASH if name in with_dashes else [1, 0] for name in series])
    base = alt.Chart(table).encode(x, colour)
    layers = []
    if "band" in table.columns:
        ends = {"under": f"max(datum.y - datum.band, {low})", "over": "datum.y + datum.band"}
        band = base.transform_calculate(**ends).mark_area(clip=True)
        layers.append(band.encode(alt.Y("under:Q", title=y), alt.Y2("over:Q"), opacity=faint))
    if "low" in table.columns:
        bars = base.mark_rule(strokeWidth=3)
        layers.append(bars.encode(alt.Y("low:Q", title=y), alt.Y2("high:Q"), opacity=medium))
    lines = base.mark_line(strokeWidth=2.5, clip=True).encode(
        up, opacity=solid, tooltip=tips, strokeDash=alt.StrokeDash("name:N", scale=dash, legend=None)
    )
    layers.append(lines.add_params(toggle))
    if points:
        layers.append(base.mark_point(size=45, filled=True).encode(up, opacity=solid, tooltip=tips))
    labels = end_labels(table, value="y", along="x", limits=limits, colour=colour, height=height, log=log)
    return panel(*layers, *labels, title=title, subtitle=subtitle, width=width, height=height)


def end_labels(
    frame: pl.DataFrame,
    *,
    value: str,
    along: str,
    limits: tuple[float, float],
    colour: alt.Color,
    height: int,
    log: bool = False,
) -> list[alt.Chart]:
    """Return each line's name at its end, with a leader line where labels are moved apart.

    `frame` has a column "name"; `limits` are those of a linear or logarithmic axis of `height` pixels.
    """
    ends = frame.filter(pl.col(along) == pl.col(along).max()).with_columns(end=pl.col(value).clip(*limits)).sort("end")
    low, high = (math.log(limit) for limit in limits) if log else limits
    reach = (high - low) or 1.0
    shares = [(y - low) / reach for y in (ends["end"].log() if log else ends["end"]).to_list()]
    at = pl.Series([low + reach * share for share in apart(shares, height)], dtype=pl.Float64)
    placed = ends.select(along, "name", "end", label_at=at.exp() if log else at)
    return leaders(placed, along=along, end="end", at="label_at", colour=colour)


def leaders(ends: pl.DataFrame, *, along: str, end: str, at: str, colour: alt.Color) -> list[alt.Chart]:
    """Return names at the height `at`, each joined to the end of its line."""
    base = alt.Chart(ends)
    x = alt.X(f"{along}:Q")
    joins = base.mark_rule(strokeWidth=1, opacity=0.7, xOffset=3, x2Offset=13).encode(
        x, alt.Y(f"{end}:Q"), alt.X2(along), alt.Y2(at), color=colour
    )
    names = base.mark_text(align="left", dx=16, fontSize=13, fontWeight="bold").encode(
        x, alt.Y(f"{at}:Q"), text="name:N", color=colour
    )
    return [joins, names]


def covering(frame: pl.DataFrame, *, top: float) -> set[str]:
    """Return the names of lines that would hide an earlier one; `frame` has the columns name, x and y."""
    over: set[str] = set()
    solid: list[pl.DataFrame] = []
    for (name,), line in frame.group_by("name", maintain_order=True):
        pairs = [line.join(other, on="x") for other in solid]
        gaps = [np.abs(pair["y"].to_numpy() - pair["y_right"].to_numpy()) for pair in pairs]
        if any(len(gap) and np.mean(gap < CLOSE * top) >= LONG for gap in gaps):
            over.add(str(name))
        else:
            solid.append(line)
    return over


def apart(shares: list[float], height: int) -> list[float]:
    """Move overlapping labels apart; positions are ascending shares of a chart's height in pixels.

    >>> apart([0.0, 0.5, 0.5], height=170)
    [0.0, 0.5, 0.6]
    >>> [round(share, 9) for share in apart([0.0, 1.0, 1.0], height=170)]
    [0.0, 0.9, 1.0]
    """
    room = LABEL_DISTANCE / height
    at: list[float] = []
    for share in shares:
        at.append(max(share, at[-1] + room) if at else share)
    over = max(at, default=0.0) - 1.0
    if over > 0:
        at = [y - over for y in at]
        for i in range(len(at) - 2, -1, -1):
            at[i] = max(min(at[i] + over, at[i + 1] - room), 0.0)
    return at
