"""Charts of policies: values by round, sweeps of a parameter, ratios over settings, and intervals per policy."""

import json
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from lpbandits.views.charts.base import QUIET, Chart, panel, tooltips, with_names
from lpbandits.views.charts.labels import labelled_lines


def round_chart(
    curves: pl.DataFrame,
    column: str = "regret",
    *,
    limit: float | None = None,
    along: str = "round",
    of: str = "cumulative regret",
    width: int = 380,
    **options: Any,
) -> Chart:
    """Return a chart of a column of `Results.curves()` by round: means as lines, ± one standard deviation as bands.

    With a column of standard errors, such as regret_se, each line ends in a bar of ± one standard error. `limit` is the
    top of the y axis, for charts side by side. `along` and `of` are the titles of the axes; `options` are those of
    `labelled_lines`: title, subtitle and height.
    """
    new_names = {"round": "x", column: "y", f"{column}_sd": "band", f"{column}_se": "se"}
    frame = thinned(curves, 2 * width // 5).rename(new_names, strict=False)
    if "se" in frame.columns:
        last = pl.col("x") == pl.col("x").max().over("policy")
        bar = pl.when(last & pl.col("se").is_finite()).then("se")
        frame = frame.with_columns(low=pl.col("y") - bar, high=pl.col("y") + bar)
    titles = {"y": "mean", "band": "sd over people", "se": "standard error"}
    number_format = ".0%" if column == "true_state" else ".1f"
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("x:Q", title=along)]
    tips += tooltips({name: tip for name, tip in titles.items() if name in frame.columns}, number_format)
    tips += tooltips({"best_share": "best action"}, ".0%") if "best_share" in frame.columns else []
    return labelled_lines(
        frame,
        x=alt.X("x:Q", title=along, scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5)),
        y=of,
        limits=(0.0, limit or top_of(curves)),
        tips=tips,
        points=False,
        width=width,
        **options,
    )


def line_chart(
    frame: pl.DataFrame, *, x: str, y: str, log: bool = False, limit: float | None = None, **options: Any
) -> Chart:
    """Return lines with points, bars of ± one standard error and light bands of ± one standard deviation.

    `frame` has the columns policy, x, y, se and optionally sd; `limit` is the top of the y axis, which begins at 0.
    `log` is for the x axis; `options` are those of `labelled_lines`: title, subtitle and height.
    """
    errors = [name for name in ("se", "sd") if name in frame.columns]
    table = frame.with_columns(pl.col(errors).fill_null(0.0).fill_nan(0.0)).rename({"sd": "band"}, strict=False)
    table = table.with_columns(low=pl.col("y") - pl.col("se"), high=pl.col("y") + pl.col("se"))
    widest = "band" if "sd" in errors else "se"
    values = sorted(set(table["x"].to_list()))
    number_format = "d" if all(value == round(value) for value in values) else alt.Undefined
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=False, padding=8)
    axis = alt.Axis(values=values, format=number_format, labelOverlap=True, grid=False)
    titles = {"se": "standard error over draws", "band": "sd over people"}
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".3~f")]
    tips += tooltips({name: tip for name, tip in titles.items() if name in table.columns}, ".2~f")
    return labelled_lines(
        table,
        x=alt.X("x:Q", title=x, scale=scale, axis=axis),
        y=y,
        limits=(0.0, limit or 1.04 * float(np.max((table["y"] + table[widest]).to_numpy()))),
        tips=tips,
        **options,
    )


def ratio_chart(frame: pl.DataFrame, *, x: str, y: str, ends: tuple[float, float], **options: Any) -> Chart:
    """Return a line per policy over settings, which are evenly spaced in the order of the frame.

    `frame` has the columns policy, setting, value, low and high (± one standard error), and level (the regret). `ends`
    are the minimum and maximum of the y axis, for charts side by side; `options` are those of `labelled_lines`.
    """
    settings = frame["setting"].unique(maintain_order=True).to_list()
    positions = {name: float(i) for i, name in enumerate(settings)}
    scale = alt.Scale(domain=[0, max(len(settings) - 1, 1)], nice=False, padding=10)
    axis = alt.Axis(values=list(positions.values()), labelExpr=f"{json.dumps(settings)}[datum.value]", grid=False)
    titles = {"y": y, "low": "± one standard error: from", "high": "to", "level": "regret"}
    return labelled_lines(
        frame.rename({"value": "y"}).with_columns(
            pl.col("y", "low", "high").clip(*ends), x=pl.col("setting").replace_strict(positions)
        ),
        x=alt.X("x:Q", title=x, scale=scale, axis=axis),
        y=y,
        limits=ends,
        tips=[alt.Tooltip("name:N", title="policy"), alt.Tooltip("setting:N", title=x), *tooltips(titles, ".3~g")],
        log=True,
        **{"width": 230, "height": 290, **options},
    )


def final_chart(people: pl.DataFrame, *, title: str) -> Chart:
    """Return a chart of the final regret over people: 5-95 %, quartiles, median and mean."""
    quantiles = {f"p{q:02d}": pl.col("regret").quantile(q / 100, "linear") for q in (5, 25, 50, 75, 95)}
    by_policy = people.group_by("policy", maintain_order=True).agg(mean=pl.col("regret").mean(), **quantiles)
    frame, colour = with_names(by_policy.sort("mean"))
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelFontSize=13))
    base = alt.Chart(frame).encode(y, colour)
    tips = [alt.Tooltip("name:N", title="policy"), alt.Tooltip("mean:Q", format=".1f")]
    tips += tooltips({f"p{q:02d}": f"{q} %" for q in (5, 25, 50, 75, 95)}, ".1f")
    whiskers = base.mark_rule(strokeWidth=2).encode(
        alt.X("p05:Q", title="final regret per person", axis=alt.Axis(tickCount=6)), x2="p95:Q"
    )
    boxes = base.mark_bar(height=16, opacity=0.35).encode(x="p25:Q", x2="p75:Q", tooltip=tips)
    median = base.mark_tick(thickness=3, height=16).encode(x="p50:Q", tooltip=tips)
    mean = base.mark_point(size=70, filled=True, shape="diamond", opacity=1).encode(x="mean:Q", tooltip=tips)
    subtitle = "line: 5-95 % of people; box: quartiles; bar: median; diamond: mean"
    return panel(whiskers, boxes, median, mean, title=title, subtitle=subtitle, width=420, height=alt.Step(34))


def dot_chart(
    frame: pl.DataFrame, *, x: str, title: str, subtitle: str, ends: tuple[float, float], width: int
) -> Chart:
    """Return a dot and an interval per policy, grouped; `frame` has group, policy, value, low and high.

    `ends` are the minimum and maximum of the axis, for charts side by side.
    """
    table, colour = with_names(frame.with_columns(row=pl.format("{} {}", "group", "policy")))
    groups = table["group"].unique(maintain_order=True).to_list()
    rows = [row for group in groups for row in (group, *table.filter(group=group)["row"].to_list())]
    y = alt.Y("row:N", axis=None, sort=rows, scale=alt.Scale(domain=rows, paddingInner=0.1))
    least, greatest = ends
    reach = (greatest - least) or 1.0
    # A third of the width is reserved for the names.
    across = alt.Scale(domain=[least - 0.04 * reach, greatest + 0.55 * reach], nice=False, zero=False)
    base = alt.Chart(table).encode(y, colour)
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
    layers = (bars, dots, names, named)
    return panel(*layers, title=title, subtitle=subtitle, width=width, height=alt.Step(18))


def thinned(curves: pl.DataFrame, points: int) -> pl.DataFrame:
    """Keep at most `points` evenly spaced rounds, including the first and the last."""
    rounds = int(curves["round"].max() or 0)  # type: ignore[arg-type] # whole numbers
    kept = np.unique(np.linspace(1, rounds, points).round().astype(np.int64))
    return curves if rounds <= points else curves.filter(pl.col("round").is_in(kept.tolist()))


def top_of(*curves: pl.DataFrame) -> float:
    """Return a limit of the regret axis that includes all bands."""
    return 1.02 * max(float(np.nanmax((frame["regret"] + frame["regret_sd"]).to_numpy())) for frame in curves)
