"""Charts of ratios on a logarithmic axis."""

import json
import math

import altair as alt
import polars as pl

from lpbandits.views.charts.base import Chart, colour_of, heading, titled
from lpbandits.views.charts.labels import apart, leaders

_TICKS = [unit * 10.0**power for power in range(-3, 4) for unit in (1, 2, 5)]


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
    ticks = [tick for tick in _TICKS if ends[0] <= tick <= ends[1]]
    scale = alt.Scale(type="log", domain=list(ends), nice=False)
    up = alt.Y("value:Q", title=y, scale=scale, axis=alt.Axis(values=ticks, format="~g"))
    colour = colour_of(frame["policy"].unique(maintain_order=True).to_list())
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("setting:N", title=x)]
    said = {"value": y, "low": "± one standard error: from", "high": "to", "level": "regret"}
    tips += [alt.Tooltip(f"{key}:Q", title=tip, format=".3~g") for key, tip in said.items()]
    base = alt.Chart(table)
    bars = base.mark_rule(strokeWidth=3, opacity=0.5).encode(across, alt.Y("low:Q", title=y), alt.Y2("high:Q"), colour)
    lines = base.mark_line(strokeWidth=2).encode(across, up, colour)
    points = base.mark_point(size=50, filled=True, opacity=1).encode(across, up, colour, tooltip=tips)
    labels = leaders(_ends(table, ends, height), along="place", end="value", at="label_at", colour=colour)
    return alt.layer(bars, lines, points, *labels).properties(
        width=width, height=height, title=heading(title, subtitle)
    )


def _ends(table: pl.DataFrame, ends: tuple[float, float], height: int) -> pl.DataFrame:
    """Return the end of each line and the position of its label."""
    low, high = (math.log(end) for end in ends)
    last = table.filter(pl.col("place") == pl.col("place").max()).sort("value")
    shares = [(math.log(value) - low) / (high - low) for value in last["value"].to_list()]
    at = [math.exp(low + share * (high - low)) for share in apart(shares, height)]
    return last.select("place", "name", "value", label_at=pl.Series(at))
