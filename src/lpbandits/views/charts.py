"""Charts. A policy has one colour and one name in every figure; lines are labelled where they end."""

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import polars as pl

from lpbandits.views.names import names_of

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
    "lpb-duel": "#0b8a6f",
    "double-ts": "#8d5a97",
    "double-ts-top": "#d0679d",
    "lpb-paired": "#c98a1b",
    "lpbTS, recovered": "#2fa8b5",
    "lpbTS, recovered scale-free": "#12486b",
    "true state": "#4d8b57",
    "all states": "#0b6e99",
    "other states": "#9a9a9a",
    "two-stage, raw (the paper's)": "#d9822b",
    "two-stage, scale-free": "#0b6e99",
    "EM": "#7a4fa3",
    "mTS, common means": "#b35c00",
}
"""The colour of each registered policy, and of other series that several charts share."""

Chart: TypeAlias = alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart
"""Any chart of ours."""

_SPARE = ["#5b5ea6", "#9b2335", "#009b77", "#b565a7", "#955251", "#e15d44"]
POINTS = 1000
"""Rounds that a line shows: it is narrower than that."""
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
    limit: float | None = None,
    root: bool = False,
    along: str = "round",
    of: str = "cumulative regret",
) -> Chart:
    """Return cumulative regret by round: lines of means, bands of ± one standard deviation, labels at the end.

    `curves` is `Results.curves()`; `limit` fixes the top of the axis, so that charts side by side compare; `root` takes
    a square-root axis, which shows very large and small regrets together. `along` and `of` are the axes' titles.
    """
    policies = curves["policy"].unique(maintain_order=True).to_list()
    frame = _titled(thinned(curves)).with_columns(
        low=pl.max_horizontal(pl.col("regret") - pl.col("regret_sd"), 0.0),
        high=pl.col("regret") + pl.col("regret_sd"),
    )
    top = limit or top_of(curves)
    x = alt.X("round:Q", title=along, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5))
    y = alt.Y(
        "regret:Q",
        title=of,
        scale=alt.Scale(domain=[0, top], clamp=True, type="sqrt" if root else "linear"),
    )
    colour = _colour(policies)
    base = alt.Chart(frame)
    toggle, shown = _toggle(title)
    bands = base.mark_area().encode(
        x,
        alt.Y("low:Q", title=of),
        alt.Y2("high:Q"),
        colour,
        opacity=alt.condition(toggle, alt.value(0.10), alt.value(0.0)),
    )
    lines = base.mark_line(strokeWidth=2.5, clip=True).encode(
        x,
        y,
        colour,
        opacity=shown,
        tooltip=[
            alt.Tooltip("name:N", title="policy"),
            alt.Tooltip("round:Q", title=along),
            alt.Tooltip("regret:Q", title="mean regret", format=".1f"),
            alt.Tooltip("regret_sd:Q", title="sd over people", format=".1f"),
            alt.Tooltip("best_share:Q", title="on the best action", format=".0%"),
        ],
    )
    return _labelled(
        (bands, lines.add_params(toggle)), frame, "regret", "round", top, colour, title, 0.5 if root else 1.0
    )


def state_chart(curves: pl.DataFrame, *, title: str) -> Chart:
    """Return the posterior probability of the true state by round, for the policies that have one."""
    known = thinned(curves).filter(pl.col("true_state").is_not_nan())
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
    means = people.group_by("policy", maintain_order=True).agg(pl.col("regret").mean()).sort("regret")
    order = means["policy"].to_list()
    named = names_of(order)
    spread = _titled(people).group_by("policy", "name", maintain_order=True)
    frame = spread.agg(
        pl.col("regret").mean().alias("mean"),
        *[pl.col("regret").quantile(q / 100, "linear").alias(f"p{q:02d}") for q in (5, 25, 50, 75, 95)],
    )
    colour = _colour(order)
    base = alt.Chart(frame).encode(
        alt.Y("name:N", title=None, sort=[named[p] for p in order], axis=alt.Axis(labelFontSize=13)), colour
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


def line_chart(frame: pl.DataFrame, *, x: str, y: str, title: str, log: bool = False) -> Chart:
    """Return lines with points and bars of ± one standard error; `frame` has policy, x, y, se and perhaps sd."""
    policies = frame["policy"].unique(maintain_order=True).to_list()
    table = _titled(frame).with_columns(pl.col("se").fill_null(0.0).fill_nan(0.0))
    table = table.with_columns(low=pl.col("y") - pl.col("se"), high=pl.col("y") + pl.col("se"))
    top = 1.08 * float(np.max(table["high"].to_numpy()))
    colour = _colour(policies)
    toggle, shown = _toggle(title)
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False, padding=8)
    values = sorted(set(table["x"].to_list()))
    across = alt.X("x:Q", title=x, scale=scale, axis=alt.Axis(values=values, labelOverlap=True, grid=False))
    up = alt.Y("y:Q", title=y, scale=alt.Scale(domain=[0, top]))
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".3~f")]
    tips += [alt.Tooltip(f"{column}:Q", format=".2~f") for column in ("se", "sd") if column in table.columns]
    base = alt.Chart(table)
    lines = base.mark_line(strokeWidth=2.5).encode(across, up, colour, opacity=shown)
    points = base.mark_point(size=45, filled=True).encode(across, up, colour, opacity=shown, tooltip=tips)
    bars = base.mark_rule(strokeWidth=1.5).encode(
        across, alt.Y("low:Q", title=y), alt.Y2("high:Q"), colour, opacity=shown
    )
    return _labelled((bars, lines, points.add_params(toggle)), table, "y", "x", top, colour, title)


def dot_chart(frame: pl.DataFrame, *, x: str, title: str) -> Chart:
    """Return a dot with ± two standard errors per policy; `frame` has policy, value and se."""
    policies = frame["policy"].unique(maintain_order=True).to_list()
    table = _titled(frame).with_columns(low=pl.col("value") - 2 * pl.col("se"), high=pl.col("value") + 2 * pl.col("se"))
    named = names_of(policies)
    base = alt.Chart(table).encode(
        alt.Y("name:N", title=None, sort=[named[p] for p in policies], axis=alt.Axis(labelFontSize=13, labelLimit=220)),
        _colour(policies),
    )
    tips = [
        alt.Tooltip("name:N", title="policy"),
        alt.Tooltip("value:Q", format=".2f"),
        alt.Tooltip("se:Q", format=".3f"),
    ]
    scale = alt.Scale(zero=False)
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", title=x, scale=scale), alt.X2("high:Q"))
    dots = base.mark_point(size=90, filled=True, opacity=1).encode(alt.X("value:Q"), tooltip=tips)
    return alt.layer(bars, dots).properties(width=300, height=alt.Step(34), title=_heading(title))


def thinned(curves: pl.DataFrame) -> pl.DataFrame:
    """Return curves with at most POINTS rounds, evenly, the first and the last among them.

    >>> frame = pl.DataFrame({"policy": "ts", "round": range(1, 100_001)})
    >>> thinned(frame).height, thinned(frame)["round"][-1]
    (1000, 100000)
    """
    rounds = int(curves["round"].max() or 0)  # type: ignore[arg-type] # whole numbers
    if rounds <= POINTS:
        return curves
    kept = np.unique(np.linspace(1, rounds, POINTS).round().astype(np.int64))
    return curves.filter(pl.col("round").is_in(kept.tolist()))


def top_of(*curves: pl.DataFrame) -> float:
    """Return a top for the regret axis that leaves all bands inside."""
    return 1.02 * max(float(np.nanmax((frame["regret"] + frame["regret_sd"]).to_numpy())) for frame in curves)


def beside(*charts: Chart, spacing: int = 60) -> Chart:
    """Return charts side by side, each with its own colours."""
    out: Chart = alt.hconcat(*charts, spacing=spacing).resolve_scale(color="independent")
    return out


def stacked(*charts: Chart) -> Chart:
    """Return charts one below the other, each with its own colours."""
    out: Chart = alt.vconcat(*charts, spacing=30).resolve_scale(color="independent")
    return out


def styled(chart: Chart) -> Chart:
    """Return the chart in the house style."""
    out: Chart = (
        chart.configure(font="Inter, Helvetica, Arial, sans-serif", background="white")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=QUIET,
            titleColor=INK,
            titleFontWeight="normal",
            gridColor="#eceff3",
            domainColor="#c9ced6",
            tickColor="#c9ced6",
            labelFontSize=12,
            titleFontSize=13,
        )
        .configure_title(color=INK, fontSize=16, anchor="start", subtitleColor=QUIET, subtitleFontSize=12, offset=14)
    )
    return out


def apart(shares: list[float], height: int) -> list[float]:
    """Move labels apart that would overlap; places are ascending shares of a chart's height in pixels.

    >>> apart([0.0, 0.5, 0.5], height=170)
    [0.0, 0.5, 0.6]
    >>> [round(share, 9) for share in apart([0.0, 1.0, 1.0], height=170)]
    [0.0, 0.9, 1.0]
    """
    room = 17 / height
    at: list[float] = []
    for share in shares:
        at.append(max(share, at[-1] + room) if at else share)
    over = max(at, default=0.0) - 1.0
    if over > 0:
        at = [y - over for y in at]
        for i in range(len(at) - 2, -1, -1):
            at[i] = max(min(at[i] + over, at[i + 1] - room), 0.0)
    return at


def _titled(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(name=pl.col("policy").replace_strict(names_of(frame["policy"].unique())))


def _colour(policies: list[str]) -> alt.Color:
    named = names_of(policies)
    scale = alt.Scale(domain=[named[p] for p in policies], range=colours_of(policies))
    return alt.Color("name:N", scale=scale, legend=None)


def _toggle(title: str) -> tuple[alt.Parameter, Any]:
    """Return a selection (a click on a line singles it out, further clicks add lines) and the opacity it sets."""
    name = "toggle_" + re.sub(r"\W+", "_", title)
    toggle = alt.selection_point(name=name, fields=["name"], on="click", toggle="true", clear="dblclick")
    return toggle, alt.condition(toggle, alt.value(1.0), alt.value(0.08))


def _heading(title: str, subtitle: str = "") -> alt.TitleParams:
    return alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)


def _labelled(
    chart: Sequence[alt.Chart],
    frame: pl.DataFrame,
    value: str,
    along: str,
    top: float,
    colour: alt.Color,
    title: str,
    power: float = 1.0,
) -> Chart:
    """Add each line's name at its end, moved apart where lines end close together."""
    height = 320
    ends = frame.filter(pl.col(along) == pl.col(along).max()).sort(value)
    shares = [(min(max(y, 0.0), top) / (top or 1.0)) ** power for y in ends[value].to_list()]
    at = [top * share ** (1.0 / power) for share in apart(shares, height)]
    labels = (
        alt.Chart(ends.with_columns(label_at=pl.Series(at)))
        .mark_text(align="left", dx=8, fontSize=13, fontWeight="bold")
        .encode(alt.X(f"{along}:Q"), alt.Y("label_at:Q"), text="name:N", color=colour)
    )
    return alt.layer(*chart, labels).properties(width=380, height=height, title=_heading(title))
