"""Charts of an evaluation: gains over popularity by policy, round, group and person."""

import altair as alt
import numpy as np
import polars as pl

from lpbandits.evaluation.results import Evaluation, Gain, titled
from lpbandits.views.charts.base import COLOURS, INK, Chart, colour_scale, heading
from lpbandits.views.charts.labels import end_labels
from lpbandits.views.charts.policies import HEIGHT

_OTHERS = {
    "random": "#9a9a9a",
    "taste": "#b3261e",
    "item-knn": "#5b5ea6",
    "ease": "#009b77",
    "ceiling": "#8a6d3b",
    "best-possible": "#24292f",
}
_SPARE = "#955251"
BETTER, WORSE = "#2a9d4a", "#c43c6b"
SIDES = {"worse off": WORSE, "the same": "#9a9a9a", "better off": BETTER}
BINS = 41
OMITTED = ("random", "best-possible")
"""Contestants that are omitted, since their distance would hide the differences between the others."""


def gain_chart(evaluation: Evaluation) -> Chart:
    """Draw the gain of each contestant over popularity, with its interval."""
    rows = [
        (titled(name), score.vs_popularity, _colour(name))
        for name, score in evaluation.policies.items()
        if name not in ("popular", *OMITTED)
    ]
    rows.sort(key=lambda row: -row[1].mean)
    return _forest(rows, "Gain over popularity", "after all rounds, in standard deviations of the person's ratings")


def group_chart(evaluation: Evaluation) -> Chart:
    """Draw the candidate's gain over popularity in each group of people."""
    rows = [
        (f"{group.name}: {group.people:,} people", group.gain, WORSE if group.gain.sign < 0 else BETTER)
        for group in evaluation.groups
    ]
    who = titled(evaluation.candidate or "popular")
    return _forest(rows, f"Gain of {who} by group", "over popularity; bars are 95 % intervals")


def _forest(rows: list[tuple[str, Gain, str]], title: str, subtitle: str) -> Chart:
    columns = ["name", "colour", "mean", "low", "high"]
    points = [(name, colour, gain.mean, gain.low, gain.high) for name, gain, colour in rows]
    frame = pl.DataFrame(points, schema=columns, orient="row").with_columns(
        pl.col("low", "high").fill_null(pl.col("mean"))
    )
    base = alt.Chart(frame).encode(
        alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelFontSize=13, labelLimit=320)),
        alt.Color("colour:N", scale=None),
    )
    tips = ["name:N", *(alt.Tooltip(f"{key}:Q", format=".3f") for key in ("mean", "low", "high"))]
    bars = base.mark_rule(strokeWidth=3).encode(
        alt.X("low:Q", title="gain", axis=alt.Axis(tickCount=6, format="+.2~f")), alt.X2("high:Q"), tooltip=tips
    )
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(alt.X("mean:Q"), tooltip=tips)
    zero = alt.Chart(pl.DataFrame({"x": [0.0]})).mark_rule(color=INK, strokeDash=[4, 3]).encode(x="x:Q")
    return alt.layer(zero, bars, dots).properties(width=420, height=alt.Step(30), title=heading(title, subtitle))


def curve_chart(evaluation: Evaluation) -> Chart:
    """Draw the mean score after each round, without the contestants in `OMITTED`."""
    names = [name for name in evaluation.policies if name not in OMITTED]
    rows = [
        {"name": titled(name), "round": t, "score": score}
        for name in names
        for t, score in enumerate(evaluation.policies[name].curve, start=1)
    ]
    frame = pl.DataFrame(rows)
    low, high = float(np.min(frame["score"].to_numpy())), float(np.max(frame["score"].to_numpy()))
    room = 0.04 * (high - low) or 0.1
    limits = (low - room, high + room)
    scale = alt.Scale(domain=list(limits), nice=False, zero=False)
    colour = colour_scale("name", {titled(name): _colour(name) for name in names})
    lines = alt.Chart(frame).mark_line(strokeWidth=2.5)
    chart = lines.encode(
        alt.X("round:Q", title="round", scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1, format="d")),
        alt.Y("score:Q", title="mean score so far", scale=scale),
        colour,
        tooltip=["name:N", "round:Q", alt.Tooltip("score:Q", format=".3f")],
    )
    labels = end_labels(frame, value="score", along="round", limits=limits, colour=colour, height=HEIGHT)
    title = heading("Mean score by round", "0 is a person's mean rating, 1 is one standard deviation above it")
    return alt.layer(chart, *labels).properties(width=420, height=HEIGHT, title=title)


def people_chart(evaluation: Evaluation) -> Chart:
    """Draw the distribution of the candidate's gain over people."""
    gap = evaluation.gaps
    reach = float(np.quantile(np.abs(gap), 0.99)) or 1.0  # values beyond the 99th percentile are clipped
    edges = np.linspace(-reach, reach, BINS)  # an even number of bars: none spans 0
    who = zip(SIDES, (gap < 0, gap == 0, gap > 0), strict=True)
    counts = {side: np.histogram(np.clip(gap[people], -reach, reach), edges)[0] for side, people in who}
    frame = pl.concat(
        pl.DataFrame({"from": edges[:-1], "to": edges[1:], "people": people, "side": side})
        for side, people in counts.items()
    )
    bars = alt.Chart(frame).mark_bar()
    chart = bars.encode(
        alt.X("from:Q", bin="binned", title="gain per person", axis=alt.Axis(tickCount=8, format="+.1~f")),
        alt.X2("to:Q"),
        alt.Y("people:Q", title="people", axis=alt.Axis(tickMinStep=1)),
        alt.Color("side:N", scale=alt.Scale(domain=list(SIDES), range=list(SIDES.values())), title=None),
        tooltip=[*(alt.Tooltip(f"{end}:Q", format="+.2f") for end in ("from", "to")), "people:Q"],
    )
    share = (
        f"{(gap < 0).mean():.0%} would have been better off with popularity, {(gap == 0).mean():.0%} equally well off"
    )
    return alt.layer(chart).properties(width=420, height=220, title=heading("Distribution of gains", share))


def _colour(name: str) -> str:
    return _OTHERS.get(name) or COLOURS.get(name, _SPARE)
