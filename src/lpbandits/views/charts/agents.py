"""Chart of one person's outcomes by action."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from lpbandits.text import unique_labels
from lpbandits.views.charts.base import INK, QUIET, Chart

MAX_ACTIONS = 12
"""Maximum number of actions in the chart."""
MAX_DOTS = 600
"""Maximum number of outcomes drawn as dots: the latest ones."""
DOT, MEAN = "#0b6e99", "#d9822b"


def outcome_chart(
    names: Sequence[str],
    means: Sequence[float],
    dots: Sequence[tuple[int, float]],
    *,
    shares: bool,
    width: int,
    label: int,
) -> Chart:
    """Return a row per action with its outcomes as dots and its average as a vertical line.

    `dots` are (row, outcome); with `shares` the averages are shares of comparisons that the action won; `label` is the
    maximum width of a name in pixels.
    """
    axis = "share of comparisons won" if shares else "outcome (dots), average (line)"
    rows = unique_labels(names)
    order, axis_y = alt.Scale(domain=rows), alt.Axis(labelLimit=label, labelColor=INK, ticks=False)
    y = alt.Y("action:N", title=None, sort=None, scale=order, axis=axis_y)
    scale = alt.Scale(zero=False, nice=True, padding=12)
    ticks = alt.Axis(tickCount=max(3, width // 90), titleColor=QUIET, format="%" if shares else "")
    base = alt.Chart(pl.DataFrame({"action": rows, "mean": means}))
    averages = base.mark_tick(thickness=4, size=22, color=MEAN).encode(
        y, alt.X("mean:Q", title=axis, scale=scale, axis=ticks)
    )
    layers = [averages]
    if dots:
        frame = pl.DataFrame({"action": [rows[row] for row, _ in dots], "value": [value for _, value in dots]})
        circles = alt.Chart(frame).mark_point(filled=True, size=54, opacity=0.55, color=DOT)
        layers.insert(0, circles.encode(y, alt.X("value:Q", title=axis, scale=scale, axis=ticks)))
    chart: Chart = alt.layer(*layers).properties(width=width, height=alt.Step(30))
    return chart
