"""Line charts: regret by round, the probability of the true state, and sweeps of a parameter."""

import re
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from lpbandits.views.charts.base import Chart, colour_of, heading, titled, tooltips
from lpbandits.views.charts.labels import dashes, end_labels

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

    Parameters
    ----------
    curves
        `Results.curves()`. With a column regret_se, each line ends in a bar of ± one standard error.
    limit
        Top of the regret axis, for charts side by side.
    along, of
        Titles of the axes.
    """
    policies = curves["policy"].unique(maintain_order=True).to_list()
    known = [name for name in ("regret_sd", "regret_se", "best_share") if name in curves.columns]
    frame = titled(thinned(curves, 2 * width // 5)).select("name", "round", "regret", *known)
    top = limit or top_of(curves)
    x = alt.X("round:Q", title=along, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5))
    y = alt.Y("regret:Q", title=of, scale=alt.Scale(domain=[0, top], clamp=True))
    colour = colour_of(policies)
    base = alt.Chart(frame)
    toggle, shown = _toggle(title)
    ends = {"low": "max(datum.regret - datum.regret_sd, 0)", "high": "datum.regret + datum.regret_sd"}
    bands = (
        base.transform_calculate(**ends)
        .mark_area(clip=True)
        .encode(
            x,
            alt.Y("low:Q", title=of),
            alt.Y2("high:Q"),
            colour,
            opacity=alt.condition(toggle, alt.value(0.10), alt.value(0.0)),
        )
    )
    tips = {"regret_sd": "sd over people", "regret_se": "standard error"}
    lines = base.mark_line(strokeWidth=2.5, clip=True).encode(
        x,
        y,
        colour,
        strokeDash=dashes(frame, value="regret", along="round", top=top),
        opacity=shown,
        tooltip=[
            alt.Tooltip("name:N", title="policy"),
            alt.Tooltip("round:Q", title=along),
            alt.Tooltip("regret:Q", title="mean regret", format=".1f"),
            *tooltips({name: tip for name, tip in tips.items() if name in known}, ".1f"),
            *tooltips({"best_share": "best action"} if "best_share" in known else {}, ".0%"),
        ],
    )
    labels = end_labels(frame, value="regret", along="round", top=top, colour=colour, height=height)
    errors = [_end_bars(frame, of, colour, shown)] if "regret_se" in known else []
    chart = alt.layer(bands, lines.add_params(toggle), *errors, *labels)
    return chart.properties(width=width, height=height, title=heading(title, subtitle))


def _end_bars(frame: pl.DataFrame, of: str, colour: alt.Color, shown: Any) -> alt.Chart:
    """Return a bar of ± one standard error at the end of each line that has a finite one."""
    ends = frame.filter(pl.col("round") == pl.col("round").max().over("name"), pl.col("regret_se").is_finite())
    bars = ends.select(
        "name", "round", low=pl.col("regret") - pl.col("regret_se"), high=pl.col("regret") + pl.col("regret_se")
    )
    base: alt.Chart = alt.Chart(bars).mark_rule(strokeWidth=4)
    out: alt.Chart = base.encode(alt.X("round:Q"), alt.Y("low:Q", title=of), alt.Y2("high:Q"), colour, opacity=shown)
    return out


def state_chart(curves: pl.DataFrame, *, title: str) -> Chart:
    """Return a chart of the posterior probability of the true state, for the policies that have one."""
    known = thinned(curves).filter(pl.col("true_state").is_not_nan())
    frame = titled(known)
    colour = colour_of(known["policy"].unique(maintain_order=True).to_list())
    lines = (
        alt.Chart(frame)
        .mark_line(strokeWidth=2.5)
        .encode(
            alt.X("round:Q", title="round", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5)),
            alt.Y("true_state:Q", title="probability of the true state", scale=alt.Scale(domain=[0, 1])),
            colour,
            strokeDash=dashes(frame, value="true_state", along="round", top=1.0),
            tooltip=[
                alt.Tooltip("name:N", title="policy"),
                alt.Tooltip("round:Q"),
                alt.Tooltip("true_state:Q", title="true state", format=".0%"),
            ],
        )
    )
    labels = end_labels(frame, value="true_state", along="round", top=1.0, colour=colour, height=HEIGHT)
    return alt.layer(lines, *labels).properties(width=380, height=HEIGHT, title=heading(title))


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
    policies = frame["policy"].unique(maintain_order=True).to_list()
    table = titled(frame).with_columns(pl.col("se").fill_null(0.0).fill_nan(0.0))
    table = table.with_columns(low=pl.col("y") - pl.col("se"), high=pl.col("y") + pl.col("se"))
    if "sd" in table.columns:
        spread = pl.col("sd").fill_null(0.0).fill_nan(0.0)
        table = table.with_columns(
            under=pl.max_horizontal(pl.col("y") - spread, 0.0), over=pl.max_horizontal(pl.col("y") + spread, "high")
        )
    top = limit or 1.04 * float(np.max(table["over" if "over" in table.columns else "high"].to_numpy()))
    colour = colour_of(policies)
    toggle, shown = _toggle(title)
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False, padding=8)
    values = sorted(set(table["x"].to_list()))
    number_format = "d" if all(value == round(value) for value in values) else alt.Undefined
    across = alt.X(
        "x:Q", title=x, scale=scale, axis=alt.Axis(values=values, format=number_format, labelOverlap=True, grid=False)
    )
    up = alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, top]))
    titles = {"se": "standard error over draws", "sd": "sd over people"}
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".3~f")]
    tips += tooltips({name: tip for name, tip in titles.items() if name in table.columns}, ".2~f")
    base = alt.Chart(table)
    look = dashes(table, value="y", along="x", top=top)
    lines = base.mark_line(strokeWidth=2.5).encode(across, up, colour, opacity=shown, strokeDash=look)
    points = base.mark_point(size=45, filled=True).encode(across, up, colour, opacity=shown, tooltip=tips)
    bars = base.mark_rule(strokeWidth=3).encode(
        across, alt.Y("low:Q", title=y), alt.Y2("high:Q"), colour, opacity=shown
    )
    layers = [bars, lines, points.add_params(toggle)]
    if "sd" in table.columns:
        faint = alt.condition(toggle, alt.value(0.10), alt.value(0.0))
        bands = base.mark_area().encode(across, alt.Y("under:Q", title=y), alt.Y2("over:Q"), colour, opacity=faint)
        layers.insert(0, bands)
    labels = end_labels(table, value="y", along="x", top=top, colour=colour, height=height)
    return alt.layer(*layers, *labels).properties(width=380, height=height, title=heading(title, subtitle))


def thinned(curves: pl.DataFrame, points: int = POINTS) -> pl.DataFrame:
    """Keep at most `points` evenly spaced rounds, including the first and the last.

    >>> frame = pl.DataFrame({"policy": "ts", "round": range(1, 100_001)})
    >>> thinned(frame).height, thinned(frame)["round"][-1]
    (150, 100000)
    """
    rounds = int(curves["round"].max() or 0)  # type: ignore[arg-type] # whole numbers
    if rounds <= points:
        return curves
    kept = np.unique(np.linspace(1, rounds, points).round().astype(np.int64))
    return curves.filter(pl.col("round").is_in(kept.tolist()))


def top_of(*curves: pl.DataFrame) -> float:
    """Return a limit of the regret axis that holds all bands."""
    return 1.02 * max(float(np.nanmax((frame["regret"] + frame["regret_sd"]).to_numpy())) for frame in curves)


def _toggle(title: str) -> tuple[alt.Parameter, Any]:
    """Return a selection of lines by click, and the opacity that it sets."""
    name = "toggle_" + re.sub(r"\W+", "_", title)
    toggle = alt.selection_point(name=name, fields=["name"], on="click", toggle="true", clear="dblclick")
    return toggle, alt.condition(toggle, alt.value(1.0), alt.value(0.08))
