"""Charts. A policy has one colour and one name in every figure; lines are labelled where they end."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias, TypeVar

import altair as alt
import numpy as np
import polars as pl

from lpbandits.views.charts.labels import dashes, end_labels
from lpbandits.views.names import names_of

P = ParamSpec("P")
R = TypeVar("R")

COLOURS = {
    "lpbts": "#0b6e99",
    "lpbts-incremental": "#63b3d1",
    "lpbts-marginal": "#16324f",
    "lpb-utility": "#9bbf2f",
    "lpb-ids": "#2a9d4a",
    "popular": "#6e6259",
    "mts": "#d9822b",
    "mucb": "#f0bc7e",
    "ts": "#7a4fa3",
    "ts-top": "#c43c6b",
    "ucb": "#4d8b57",
    "ucb-top": "#9ac29f",
    "uniform": "#9a9a9a",
    "lpb-duel": "#0b8a6f",
    "double-ts": "#8d5a97",
    "double-ts-top": "#d0679d",
    "lpb-paired": "#c98a1b",
    "true state": "#4d8b57",
    "all states": "#0b6e99",
    "other states": "#9a9a9a",
    "two-stage, raw (the paper's)": "#d9822b",
    "two-stage, scale-free": "#0b6e99",
    "EM": "#7a4fa3",
    "mTS, common means": "#b35c00",
}
"""The colour of each registered policy, and of other series that several charts share."""

Chart: TypeAlias = alt.LayerChart | alt.FacetChart | alt.ConcatChart | alt.HConcatChart | alt.VConcatChart
"""Any chart of ours."""

_SPARE = ["#5b5ea6", "#9b2335", "#009b77", "#b565a7", "#955251", "#e15d44"]
POINTS = 150
"""Rounds that a line shows, or fewer on a narrow chart: they are too close to be told apart."""
HEIGHT = 320
FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""One family everywhere: pictures are drawn with Liberation Sans, made to Arial's measure. A character that it lacks
would take its whole line to another family, so that the words of charts have none."""
INK = "#24292f"
QUIET = "#6b7280"


def colours_of(policies: list[str]) -> list[str]:
    """Return the policies' colours; names that are not registered get spare ones."""
    spare = iter(_SPARE * (1 + len(policies) // len(_SPARE)))
    return [COLOURS.get(policy) or next(spare) for policy in policies]


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
    """Return cumulative regret by round: lines of means, bands of ± one standard deviation, labels at the end.

    `curves` is `Results.curves()`. If it has a standard error, regret_se, every line ends in a bar of ± one.
    `limit` fixes the top of the axis, so that charts side by side compare. `along` and `of` are the axes' titles.
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
            *(alt.Tooltip(f"{name}:Q", title=tip, format=".1f") for name, tip in tips.items() if name in frame.columns),
            *(
                [alt.Tooltip("best_share:Q", title="on the best action", format=".0%")]
                * ("best_share" in frame.columns)
            ),
        ],
    )
    labels = end_labels(frame, value="regret", along="round", top=top, colour=colour, height=height)
    errors = [_end_bars(frame, of, colour, shown)] if "regret_se" in frame.columns else []
    chart = alt.layer(bands, lines.add_params(toggle), *errors, *labels)
    return chart.properties(width=width, height=height, title=heading(title, subtitle))


def _end_bars(frame: pl.DataFrame, of: str, colour: alt.Color, shown: Any) -> alt.Chart:
    """Return a bar of ± one standard error at each line's end; where none is known, as for one draw, there is none."""
    ends = frame.filter(pl.col("round") == pl.col("round").max().over("name"), pl.col("regret_se").is_finite())
    bars = ends.select(
        "name", "round", low=pl.col("regret") - pl.col("regret_se"), high=pl.col("regret") + pl.col("regret_se")
    )
    base: alt.Chart = alt.Chart(bars).mark_rule(strokeWidth=4)
    out: alt.Chart = base.encode(alt.X("round:Q"), alt.Y("low:Q", title=of), alt.Y2("high:Q"), colour, opacity=shown)
    return out


def state_chart(curves: pl.DataFrame, *, title: str) -> Chart:
    """Return the posterior probability of the true state by round, for the policies that have one."""
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
    """Return lines with points, bars of ± one standard error and, if there is one, light bands of ± one sd.

    `frame` has policy, x, y, se and perhaps sd; `limit` fixes the top of the axis, which begins at 0.
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
    whole = "d" if all(value == round(value) for value in values) else alt.Undefined
    across = alt.X(
        "x:Q", title=x, scale=scale, axis=alt.Axis(values=values, format=whole, labelOverlap=True, grid=False)
    )
    up = alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, top]))
    said = {"se": "standard error over draws", "sd": "sd over people"}
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".3~f")]
    tips += [alt.Tooltip(f"{key}:Q", title=tip, format=".2~f") for key, tip in said.items() if key in table.columns]
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
    """Return curves with at most so many rounds, evenly, the first and the last among them.

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
    """Return a top for the regret axis that leaves all bands inside."""
    return 1.02 * max(float(np.nanmax((frame["regret"] + frame["regret_sd"]).to_numpy())) for frame in curves)


def hstack(*charts: Chart, spacing: int = 60) -> Chart:
    """Return charts side by side, each with its own colours."""
    out: Chart = alt.hconcat(*charts, spacing=spacing).resolve_scale(color="independent", strokeDash="independent")
    return out


def vstack(*charts: Chart) -> Chart:
    """Return charts one below the other, each with its own colours."""
    out: Chart = alt.vconcat(*charts, spacing=30).resolve_scale(color="independent", strokeDash="independent")
    return out


def grid(charts: Sequence[Chart], columns: int) -> Chart:
    """Return charts in rows of so many, each with its own colours, one below the other."""
    grid: Chart = alt.concat(*charts, columns=columns, spacing=28).resolve_scale(
        color="independent", strokeDash="independent"
    )
    return grid


def deferred_validation(make: Callable[P, R]) -> Callable[P, R]:
    """Let altair check the charts of a function when they are drawn, and not every part of them when it is made.

    >>> deferred_validation(lambda: alt.utils.schemapi.DEBUG_MODE)()
    False
    """

    @functools.wraps(make)
    def made(*given: P.args, **named: P.kwargs) -> R:
        with alt.utils.schemapi.debug_mode(False):
            return make(*given, **named)

    return made


def styled(chart: Chart) -> Chart:
    """Return the chart in the house style."""
    out: Chart = chart.copy(deep=False)
    out.config = alt.Config(
        font=FONT,
        background="white",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=QUIET,
            titleColor=INK,
            titleFontWeight="normal",
            gridColor="#eceff3",
            domainColor="#c9ced6",
            tickColor="#c9ced6",
            labelFontSize=12,
            titleFontSize=13,
        ),
        title=alt.TitleConfig(
            color=INK, fontSize=16, anchor="start", subtitleColor=QUIET, subtitleFontSize=12, offset=14
        ),
    )
    return out


def heading(title: str, subtitle: str = "") -> alt.TitleParams:
    """Return a chart's title, with a line below it if there is something to say."""
    return alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)


def titled(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with the name that charts give each policy."""
    return frame.with_columns(name=pl.col("policy").replace_strict(names_of(frame["policy"].unique())))


def colour_of(policies: list[str]) -> alt.Color:
    """Return the colour of each named policy, without a legend."""
    named = names_of(policies)
    scale = alt.Scale(domain=[named[p] for p in policies], range=colours_of(policies))
    return alt.Color("name:N", scale=scale, legend=None)


def _toggle(title: str) -> tuple[alt.Parameter, Any]:
    """Return a selection (a click on a line singles it out, further clicks add lines) and the opacity it sets."""
    name = "toggle_" + re.sub(r"\W+", "_", title)
    toggle = alt.selection_point(name=name, fields=["name"], on="click", toggle="true", clear="dblclick")
    return toggle, alt.condition(toggle, alt.value(1.0), alt.value(0.08))
