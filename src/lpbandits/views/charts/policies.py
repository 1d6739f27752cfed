"""Charts of policies: values by round, sweeps of a parameter, ratios over settings, and intervals per policy."""

import json
import re
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from lpbandits.views.charts.base import LOG_TICKS, QUIET, Chart, colour_of, heading, titled, tooltips
from lpbandits.views.charts.labels import dashes, end_labels
from lpbandits.views.tables import names_of

POINTS = 150
"""Maximum number of points of a line."""
HEIGHT = 320


def regret_chart(
    curves: pl.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    limit: float | None = None,
    along: str = "round",
    of: str = "cumulative regret",
    width: int = 380,
    height: int = HEIGHT,
) -> Chart:
    """Return a chart of cumulative regret by round: means as lines, ± one standard deviation as bands.

    `curves` is `Results.curves()`; with a column regret_se, each line ends in a bar of ± one standard error. `limit` is
    the top of the regret axis, for charts side by side. `along` and `of` are the titles of the axes.
    """
    titles = {"regret": ("mean regret", ".1f"), "regret_sd": ("sd over people", ".1f")}
    titles |= {"regret_se": ("standard error", ".1f"), "best_share": ("best action", ".0%")}
    known = [name for name in titles if name in curves.columns]
    frame = titled(thinned(curves, 2 * width // 5)).select("name", "round", *known)
    top = limit or top_of(curves)
    x = _round_axis(along)
    y = alt.Y("regret:Q", title=of, scale=alt.Scale(domain=[0, top], clamp=True))
    colour = colour_of(curves["policy"])
    toggle, shown, faint = _toggle(title)
    ends = {"low": "max(datum.regret - datum.regret_sd, 0)", "high": "datum.regret + datum.regret_sd"}
    bands = alt.Chart(frame).transform_calculate(**ends).mark_area(clip=True)
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("round:Q", title=along)]
    tips += [alt.Tooltip(f"{name}:Q", title=titles[name][0], format=titles[name][1]) for name in known]
    dash = dashes(frame, value="regret", along="round", top=top)
    lines = alt.Chart(frame).mark_line(strokeWidth=2.5, clip=True)
    layers = [
        bands.encode(x, alt.Y("low:Q", title=of), alt.Y2("high:Q"), colour, opacity=faint),
        lines.encode(x, y, colour, strokeDash=dash, opacity=shown, tooltip=tips).add_params(toggle),
    ]
    if "regret_se" in known:
        regret, error = pl.col("regret"), pl.col("regret_se")
        last = frame.filter(pl.col("round") == pl.col("round").max().over("name"), error.is_finite())
        bars = alt.Chart(last.select("name", "round", low=regret - error, high=regret + error)).mark_rule(strokeWidth=4)
        at_end = (alt.X("round:Q"), alt.Y("low:Q", title=of), alt.Y2("high:Q"))
        layers.append(bars.encode(*at_end, colour, opacity=shown))
    labels = end_labels(frame, value="regret", along="round", limits=(0.0, top), colour=colour, height=height)
    return alt.layer(*layers, *labels).properties(width=width, height=height, title=heading(title, subtitle))


def _round_axis(title: str) -> alt.X:
    return alt.X("round:Q", title=title, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5))


def state_chart(curves: pl.DataFrame, *, title: str) -> Chart:
    """Return a chart of the posterior probability of the true state, for the policies that have one."""
    frame = titled(thinned(curves).filter(pl.col("true_state").is_not_nan()))
    colour = colour_of(frame["policy"])
    lines = alt.Chart(frame).mark_line(strokeWidth=2.5)
    chart = lines.encode(
        _round_axis("round"),
        alt.Y("true_state:Q", title="probability of the true state", scale=alt.Scale(domain=[0, 1])),
        colour,
        strokeDash=dashes(frame, value="true_state", along="round", top=1.0),
        tooltip=[alt.Tooltip("name:N", title="policy"), "round:Q", *tooltips({"true_state": "true state"}, ".0%")],
    )
    labels = end_labels(frame, value="true_state", along="round", limits=(0.0, 1.0), colour=colour, height=HEIGHT)
    return alt.layer(chart, *labels).properties(width=380, height=HEIGHT, title=heading(title))


def line_chart(
    frame: pl.DataFrame,
    *,
    x: str,
    y: str,
    title: str,
    subtitle: str = "",
    log: bool = False,
    limit: float | None = None,
    height: int = HEIGHT,
) -> Chart:
    """Return lines with points, bars of ± one standard error and light bands of ± one standard deviation.

    `frame` has the columns policy, x, y, se and optionally sd; `limit` is the top of the y axis, which begins at 0.
    """
    mean, se = pl.col("y"), pl.col("se").fill_null(0.0).fill_nan(0.0)
    table = titled(frame).with_columns(se, low=mean - se, high=mean + se)
    if "sd" in table.columns:
        sd = pl.col("sd").fill_null(0.0).fill_nan(0.0)
        table = table.with_columns(under=pl.max_horizontal(mean - sd, 0.0), over=pl.max_horizontal(mean + sd, "high"))
    top = limit or 1.04 * float(np.max(table["over" if "sd" in table.columns else "high"].to_numpy()))
    toggle, shown, faint = _toggle(title)
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False, padding=8)
    values = sorted(set(table["x"].to_list()))
    number_format = "d" if all(value == round(value) for value in values) else alt.Undefined
    axis = alt.Axis(values=values, format=number_format, labelOverlap=True, grid=False)
    up = alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, top]))
    titles = {"se": "standard error over draws", "sd": "sd over people"}
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".3~f")]
    tips += tooltips({name: tip for name, tip in titles.items() if name in table.columns}, ".2~f")
    colour = colour_of(frame["policy"])
    base = alt.Chart(table).encode(alt.X("x:Q", title=x, scale=scale, axis=axis), colour)
    dash = dashes(table, value="y", along="x", top=top)
    layers = [
        base.mark_rule(strokeWidth=3).encode(alt.Y("low:Q", title=y), alt.Y2("high:Q"), opacity=shown),
        base.mark_line(strokeWidth=2.5).encode(up, opacity=shown, strokeDash=dash),
        base.mark_point(size=45, filled=True).encode(up, opacity=shown, tooltip=tips).add_params(toggle),
    ]
    if "sd" in table.columns:
        layers.insert(0, base.mark_area().encode(alt.Y("under:Q", title=y), alt.Y2("over:Q"), opacity=faint))
    labels = end_labels(table, value="y", along="x", limits=(0.0, top), colour=colour, height=height)
    return alt.layer(*layers, *labels).properties(width=380, height=height, title=heading(title, subtitle))


def ratio_chart(
    frame: pl.DataFrame, *, x: str, y: str, title: str, subtitle: str, ends: tuple[float, float], height: int = 290
) -> Chart:
    """Return a line per policy over settings, which are evenly spaced in the order of the frame.

    `frame` has the columns policy, setting, value, low and high (± one standard error), and level (the regret). `ends`
    are the minimum and maximum of the y axis, for charts side by side.
    """
    settings = frame["setting"].unique(maintain_order=True).to_list()
    places = {name: float(i) for i, name in enumerate(settings)}
    table = titled(frame).with_columns(
        pl.col("value", "low", "high").clip(*ends), place=pl.col("setting").replace_strict(places)
    )
    scale = alt.Scale(domain=[0, max(len(settings) - 1, 1)], nice=False, padding=10)
    axis = alt.Axis(values=list(places.values()), labelExpr=f"{json.dumps(settings)}[datum.value]", grid=False)
    colour = colour_of(frame["policy"])
    base = alt.Chart(table).encode(alt.X("place:Q", title=x, scale=scale, axis=axis), colour)
    log_scale = alt.Scale(type="log", domain=list(ends), nice=False)
    ticks = [tick for tick in LOG_TICKS if ends[0] <= tick <= ends[1]]
    up = alt.Y("value:Q", title=y, scale=log_scale, axis=alt.Axis(values=ticks, format="~g"))
    titles = {"value": y, "low": "± one standard error: from", "high": "to", "level": "regret"}
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("setting:N", title=x), *tooltips(titles, ".3~g")]
    layers = [
        base.mark_rule(strokeWidth=3, opacity=0.5).encode(alt.Y("low:Q", title=y), alt.Y2("high:Q")),
        base.mark_line(strokeWidth=2).encode(up),
        base.mark_point(size=50, filled=True, opacity=1).encode(up, tooltip=tips),
    ]
    labels = end_labels(table, value="value", along="place", limits=ends, colour=colour, height=height, log=True)
    return alt.layer(*layers, *labels).properties(width=230, height=height, title=heading(title, subtitle))


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
    y = alt.Y("name:N", title=None, sort=[named[p] for p in order], axis=alt.Axis(labelFontSize=13))
    base = alt.Chart(frame).encode(y, colour_of(order))
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
    frame: pl.DataFrame, *, x: str, title: str, subtitle: str, ends: tuple[float, float], width: int
) -> Chart:
    """Return a dot and an interval per policy, grouped; `frame` has group, policy, value, low and high.

    `ends` are the minimum and maximum of the axis, for charts side by side.
    """
    table = titled(frame).with_columns(row=pl.format("{} {}", "group", "policy"))
    groups = table["group"].unique(maintain_order=True).to_list()
    rows = [row for group in groups for row in (group, *table.filter(group=group)["row"].to_list())]
    y = alt.Y("row:N", axis=None, sort=rows, scale=alt.Scale(domain=rows, paddingInner=0.1))
    least, greatest = ends
    reach = (greatest - least) or 1.0
    # A third of the width is for the names.
    across = alt.Scale(domain=[least - 0.04 * reach, greatest + 0.55 * reach], nice=False, zero=False)
    base = alt.Chart(table).encode(y, color=colour_of(frame["policy"]))
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


def thinned(curves: pl.DataFrame, points: int = POINTS) -> pl.DataFrame:
    """Keep at most `points` evenly spaced rounds, including the first and the last."""
    rounds = int(curves["round"].max() or 0)  # type: ignore[arg-type] # whole numbers
    if rounds <= points:
        return curves
    kept = np.unique(np.linspace(1, rounds, points).round().astype(np.int64))
    return curves.filter(pl.col("round").is_in(kept.tolist()))


def top_of(*curves: pl.DataFrame) -> float:
    """Return a limit of the regret axis that holds all bands."""
    return 1.02 * max(float(np.nanmax((frame["regret"] + frame["regret_sd"]).to_numpy())) for frame in curves)


def _toggle(title: str) -> tuple[alt.Parameter, Any, Any]:
    """Return a selection of lines by click, and the opacities of lines and of bands that it sets."""
    name = "toggle_" + re.sub(r"\W+", "_", title)
    toggle = alt.selection_point(name=name, fields=["name"], on="click", toggle="true", clear="dblclick")
    line, band = (alt.condition(toggle, alt.value(on), alt.value(off)) for on, off in ((1.0, 0.08), (0.10, 0.0)))
    return toggle, line, band
