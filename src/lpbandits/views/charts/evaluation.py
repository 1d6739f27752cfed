"""Charts of an evaluation: gains over popularity by policy, round, group and person."""

import altair as alt
import numpy as np
import polars as pl

from lpbandits.evaluation.results import Evaluation, Gain, titled
from lpbandits.text import pluralize
from lpbandits.views.charts.base import INK, Chart, colour_scale, colours_of, panel, tooltips
from lpbandits.views.charts.labels import labelled_lines

BETTER, WORSE = "#2a9d4a", "#c43c6b"
SIDES = {"worse off": WORSE, "the same": "#9a9a9a", "better off": BETTER}
BINS = 41
OMITTED = ("random", "best-possible")
"""Contestants that are omitted, since their scores would hide the differences between the others."""


def gain_chart(evaluation: Evaluation) -> Chart:
    """Draw the gain of each contestant over popularity, with its interval."""
    shown = [name for name in evaluation.policies if name not in ("popular", *OMITTED)]
    rows = [
        (titled(name), evaluation.policies[name].vs_popularity, colour)
        for name, colour in zip(shown, colours_of(shown), strict=True)
    ]
    rows.sort(key=lambda row: -row[1].mean)
    return _forest(rows, "Gain over popularity", "after all rounds, in standard deviations of the person's ratings")


def group_chart(evaluation: Evaluation) -> Chart:
    """Draw the candidate's gain over popularity in each group of people."""
    rows = [
        (
            f"{group.name}: {pluralize(group.people, 'person', 'people')}",
            group.gain,
            WORSE if group.gain.sign < 0 else BETTER,
        )
        for group in evaluation.groups
    ]
    return _forest(rows, f"Gain of {evaluation.subject} by group", "over popularity; bars are 95 % intervals")


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
    return panel(zero, bars, dots, title=title, subtitle=subtitle, width=420, height=alt.Step(30))


def curve_chart(evaluation: Evaluation) -> Chart:
    """Draw the mean score after each round, without the contestants in `OMITTED`."""
    curves = {name: score.curve for name, score in evaluation.policies.items() if name not in OMITTED}
    frame = pl.concat(
        pl.DataFrame({"policy": name, "x": range(1, len(curve) + 1), "y": curve}) for name, curve in curves.items()
    )
    low, high = float(np.min(frame["y"].to_numpy())), float(np.max(frame["y"].to_numpy()))
    room = 0.04 * (high - low) or 0.1
    axis = alt.Axis(tickMinStep=1, format="d")
    return labelled_lines(
        frame,
        x=alt.X("x:Q", title="round", scale=alt.Scale(nice=False), axis=axis),
        y="mean score so far",
        limits=(low - room, high + room),
        tips=[alt.Tooltip("name:N"), alt.Tooltip("x:Q", title="round"), *tooltips({"y": "score"}, ".3f")],
        title="Mean score by round",
        subtitle="0 is a person's mean rating, 1 is one standard deviation above it",
        names={name: titled(name) for name in curves},
        points=False,
        width=420,
    )


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
        colour_scale("side", SIDES, alt.Legend(title=None)),
        tooltip=[*(alt.Tooltip(f"{end}:Q", format="+.2f") for end in ("from", "to")), "people:Q"],
    )
    share = (
        f"{(gap < 0).mean():.0%} of people have a higher score with popularity, {(gap == 0).mean():.0%} the same score"
    )
    return panel(chart, title="Distribution of gains", subtitle=share, width=420, height=220)
