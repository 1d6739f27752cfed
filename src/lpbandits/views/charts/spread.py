"""Charts of one number per policy: its distribution over people, or its mean with an interval."""

import altair as alt
import polars as pl

from lpbandits.views.charts.base import QUIET, Chart, colour_of, heading, titled, tooltips
from lpbandits.views.names import names_of


def final_chart(people: pl.DataFrame, *, title: str) -> Chart:
    """Return a chart of the final regret over people: 5-95 %, quartiles, median and mean."""
    means = people.group_by("policy", maintain_order=True).agg(pl.col("regret").mean()).sort("regret")
    order = means["policy"].to_list()
    named = names_of(order)
    spread = titled(people).group_by("policy", "name", maintain_order=True)
    frame = spread.agg(
        pl.col("regret").mean().alias("mean"),
        *[pl.col("regret").quantile(q / 100, "linear").alias(f"p{q:02d}") for q in (5, 25, 50, 75, 95)],
    )
    colour = colour_of(order)
    base = alt.Chart(frame).encode(
        alt.Y("name:N", title=None, sort=[named[p] for p in order], axis=alt.Axis(labelFontSize=13)), colour
    )
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("mean:Q", format=".1f")]
    tips += tooltips({f"p{q:02d}": f"{q} %" for q in (5, 25, 50, 75, 95)}, ".1f")
    whiskers = base.mark_rule(strokeWidth=2).encode(
        alt.X("p05:Q", title="final regret per person", axis=alt.Axis(tickCount=6)), x2="p95:Q"
    )
    boxes = base.mark_bar(height=16, opacity=0.35).encode(x="p25:Q", x2="p75:Q", tooltip=tips)
    median = base.mark_tick(thickness=3, height=16).encode(x="p50:Q", tooltip=tips)
    mean = base.mark_point(size=70, filled=True, shape="diamond", opacity=1).encode(x="mean:Q", tooltip=tips)
    chart = alt.layer(whiskers, boxes, median, mean)
    return chart.properties(
        width=420,
        height=alt.Step(34),
        title=heading(title, "line: 5-95 % of people; box: quartiles; bar: median; diamond: mean"),
    )


def dot_chart(
    frame: pl.DataFrame,
    *,
    x: str,
    title: str,
    subtitle: str = "",
    ends: tuple[float, float],
    width: int,
) -> Chart:
    """Return a dot and an interval per policy, grouped; `frame` has group, policy, value, low and high.

    `ends` are the minimum and maximum of the axis, for charts side by side.
    """
    policies = frame["policy"].unique(maintain_order=True).to_list()
    table = titled(frame).with_columns(row=pl.format("{} {}", "group", "policy"))
    groups = table["group"].unique(maintain_order=True).to_list()
    rows = [row for group in groups for row in (group, *table.filter(group=group)["row"].to_list())]
    y = alt.Y("row:N", axis=None, sort=rows, scale=alt.Scale(domain=rows, paddingInner=0.1))
    least, greatest = ends
    reach = (greatest - least) or 1.0
    # A third of the width is for the names.
    across = alt.Scale(domain=[least - 0.04 * reach, greatest + 0.55 * reach], nice=False, zero=False)
    base = alt.Chart(table).encode(y, color=colour_of(policies))
    tips = [
        alt.Tooltip("name:N", title="policy"),
        alt.Tooltip("group:N", title=" "),
        *tooltips({"value": x, "low": "95 % interval from", "high": "to"}, ".2f"),
    ]
    axis = alt.Axis(tickCount=5)
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", title=x, scale=across, axis=axis), alt.X2("high:Q"))
    dots = base.mark_point(size=70, filled=True, opacity=1).encode(alt.X("value:Q"), tooltip=tips)
    names = base.mark_text(align="left", dx=8, fontSize=12, fontWeight="bold").encode(alt.X("high:Q"), text="name:N")
    headings = alt.Chart(pl.DataFrame({"row": groups})).mark_text(align="left", fontSize=12, color=QUIET)
    named = headings.encode(y, x=alt.value(4), text="row:N")
    return alt.layer(bars, dots, names, named).properties(
        width=width, height=alt.Step(18), title=heading(title, subtitle)
    )
