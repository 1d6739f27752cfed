"""Labels at the ends of lines, and dashes for lines that cover another line."""

import math

import altair as alt
import numpy as np
import polars as pl

ROOM = 17
"""Pixels between two labels."""
CLOSE = 0.012
"""Two lines are close where their distance is below this share of the chart's height."""
LONG = 0.4
"""A line covers another if they are close for at least this share of their length."""
DASH = [7, 4]


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


def dashes(frame: pl.DataFrame, *, value: str, along: str, top: float) -> alt.StrokeDash:
    """Return the dash pattern of every line; a line that covers an earlier one is dashed."""
    names = frame["name"].unique(maintain_order=True).to_list()
    over = covering(frame, value=value, along=along, top=top)
    scale = alt.Scale(domain=names, range=[DASH if name in over else [1, 0] for name in names])
    return alt.StrokeDash("name:N", scale=scale, legend=None)


def covering(frame: pl.DataFrame, *, value: str, along: str, top: float) -> set[str]:
    """Return the names of lines that would hide an earlier one."""
    over: set[str] = set()
    solid: list[pl.DataFrame] = []
    for (name,), line in frame.group_by("name", maintain_order=True):
        pairs = [line.join(other, on=along) for other in solid]
        gaps = [np.abs(pair[value].to_numpy() - pair[f"{value}_right"].to_numpy()) for pair in pairs]
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
    room = ROOM / height
    at: list[float] = []
    for share in shares:
        at.append(max(share, at[-1] + room) if at else share)
    over = max(at, default=0.0) - 1.0
    if over > 0:
        at = [y - over for y in at]
        for i in range(len(at) - 2, -1, -1):
            at[i] = max(min(at[i] + over, at[i + 1] - room), 0.0)
    return at
