"""Charts of ratios on a logarithmic axis."""

import json

import altair as alt
import polars as pl

from lpbandits.views.charts.base import LOG_TICKS, Chart, colour_of, heading, titled, tooltips
from lpbandits.views.charts.labels import leaders, placed_labels


def ratio_chart(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    title: str,
    subtitle: str = "",
    ends: tuple[float, float],
    width: int = 230,
    height: int = 290,
) -> Chart:
    """Return a line per policy over settings, which are evenly spaced in the order of the frame.

    Parameters
    ----------
    frame
        Columns policy, setting, value, low and high (± one standard error), and level (the regret).
    ends
        Minimum and maximum of the y axis, for charts side by side.
    """
    settings = frame["setting"].unique(maintain_order=True).to_list()
    places = {name: float(i) for i, name in enumerate(settings)}
    table = titled(frame).with_columns(
        pl.col("value", "low", "high").clip(*ends), place=pl.col("setting").replace_strict(places)
    )
    across = alt.X(
        "place:Q",
        title=x,
        scale=alt.Scale(domain=[0, max(len(settings) - 1, 1)], nice=False, padding=10),
        axis=alt.Axis(values=list(places.values()), labelExpr=f"{json.dumps(settings)}[datum.value]", grid=False),
    )
    ticks = [tick for tick in LOG_TICKS if ends[0] <= tick <= ends[1]]
    scale = alt.Scale(type="log", domain=list(ends), nice=False)
    up = alt.Y("value:Q", title=y, scale=scale, axis=alt.Axis(values=ticks, format="~g"))
    colour = colour_of(frame["policy"].unique(maintain_order=True).to_list())
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("setting:N", title=x)]
    titles = {"value": y, "low": "± one standard error: from", "high": "to", "level": "regret"}
    tips += tooltips(titles, ".3~g")
    base = alt.Chart(table)
    bars = base.mark_rule(strokeWidth=3, opacity=0.5).encode(across, alt.Y("low:Q", title=y), alt.Y2("high:Q"), colour)
    lines = base.mark_line(strokeWidth=2).encode(across, up, colour)
    points = base.mark_point(size=50, filled=True, opacity=1).encode(across, up, colour, tooltip=tips)
    placed = placed_labels(table, value="value", along="place", limits=ends, height=height, log=True)
    labels = leaders(placed, along="place", end="value", at="label_at", colour=colour)
    return alt.layer(bars, lines, points, *labels).properties(
        width=width, height=height, title=heading(title, subtitle)
    )
