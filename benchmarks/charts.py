"""The charts of docs/benchmarks.md, in the look of the product's own; each is made of tables in results.json."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from benchmarks.measure import exponent
from benchmarks.results import Results
from lpbandits.views.charts import INK, Chart, gridded, heading
from lpbandits.views.labels import apart, leaders

COLOURS = {
    "lpbandits": "#0b6e99",
    "simulator": "#0b6e99",
    "Agent": "#63b3d1",
    "numpy loop": "#6b7280",
    "numpy, all people at once": "#6b7280",
    "river": "#d9822b",
    "river, as it comes": "#f0bc7e",
    "MABWiser LinTS": "#7a4fa3",
    "MABWiser TS": "#b79bd0",
    "MABWiser": "#7a4fa3",
    "mabby": "#4d8b57",
    "bayesianbandits": "#c43c6b",
    "SciPy loop": "#d9822b",
    "scikit-learn loop": "#c43c6b",
    "scikit-learn": "#c43c6b",
    "choix ilsr_pairwise_dense": "#7a4fa3",
    "choix ilsr_pairwise": "#a689c6",
    "choix mm_pairwise": "#5b5ea6",
    "choix opt_pairwise": "#3c2a63",
    "evalica bradley_terry": "#d9822b",
    "evalica newman": "#f0bc7e",
}
OURS, EXACT, THEIRS = "#0b6e99", "#6b7280", "#d9822b"
AXES = {
    "people": ("people", "milliseconds a round"),
    "rounds": ("rounds", "milliseconds a person"),
    "m": ("states m", "microseconds a decision"),
    "k": ("actions k, at most 5 of them tried", "microseconds a decision"),
}
Records = Sequence[dict[str, Any]]


def _log(field: str, title: str, low: float, high: float, *, at: Sequence[float] = (), vertical: bool = False) -> Any:
    """Return a logarithmic axis with marks at given places, or at every power of ten, or more where these are few."""
    scale = alt.Scale(type="log", nice=False, domain=[low, high])
    steps = (1, 2, 5) if high / low < 40 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    axis = alt.Axis(format=",~g", values=list(at) or ticks, labelOverlap=True)
    return (alt.Y if vertical else alt.X)(f"{field}:Q", title=title, scale=scale, axis=axis)


def _colour(names: Sequence[str]) -> alt.Color:
    return alt.Color(
        "name:N", legend=None, scale=alt.Scale(domain=list(names), range=[COLOURS[name] for name in names])
    )


def log_lines(
    records: Records,
    *,
    along: str,
    value: str,
    x: str,
    y: str,
    title: str,
    subtitle: str = "",
    fitted: bool = False,
    width: int = 420,
    height: int = 340,
) -> Chart:
    """Return points and lines on logarithmic axes, each named at its end; `fitted`: straight lines through points."""
    frame = pl.DataFrame(
        [{"name": one["who"], along: float(one[along]), value: one[value]} for one in records if one.get(value)]
    ).sort("name", along, maintain_order=True)
    names = list(dict.fromkeys(one["who"] for one in records if one.get(value)))
    sizes, values = frame[along].to_list(), frame[value].to_list()
    low, high = min(values) / 1.6, max(values) * 1.6
    shown = _fits(frame, along, value) if fitted else frame.with_columns(label="name")
    base = alt.Chart(frame)
    few = sorted(set(sizes)) if len(set(sizes)) <= 4 else ()
    across, up = _log(along, x, min(sizes), max(sizes), at=few), _log(value, y, low, high, vertical=True)
    colour = _colour(names)
    lines = alt.Chart(shown).mark_line(strokeWidth=2).encode(across, up, colour)
    points = base.mark_point(filled=True, size=46, opacity=1).encode(across, up, colour)
    ends = shown.sort(along).group_by("name", maintain_order=True).last().sort(value)
    shares = apart([float(np.log(y / low) / np.log(high / low)) for y in ends[value]], height)
    placed = ends.with_columns(at=pl.Series([low * (high / low) ** share for share in shares]))
    joins, labels = leaders(placed, along=along, end=value, at="at", colour=colour)
    labels = labels.encode(text="label:N")
    return alt.layer(lines, points, joins, labels).properties(
        width=width, height=height, title=heading(title, subtitle)
    )


def _fits(frame: pl.DataFrame, along: str, value: str) -> pl.DataFrame:
    """Return the two ends of each line of least squares, named with its exponent."""
    rows = []
    for (name,), part in frame.group_by("name", maintain_order=True):
        sizes, took = part[along].to_list(), part[value].to_list()
        slope = exponent(sizes, took)
        middle = float(np.exp(np.mean(np.log(took)) - slope * np.mean(np.log(sizes))))
        label = f"{name}, {slope:.2f}"
        rows += [
            {"name": name, "label": label, along: size, value: middle * size**slope} for size in (sizes[0], sizes[-1])
        ]
    return pl.DataFrame(rows)


def dots(
    records: Records, *, value: str, error: str, x: str, title: str, subtitle: str = "", zero: bool = True
) -> Chart:
    """Return a dot per contestant with a bar of ± two standard errors, the best first as they are given."""
    frame = pl.DataFrame(
        [
            {
                "name": one["who"],
                "mean": one[value],
                "low": one[value] - 2 * one[error],
                "high": one[value] + 2 * one[error],
                "colour": one["colour"],
            }
            for one in records
        ]
    )
    base = alt.Chart(frame).encode(
        alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelFontSize=13, labelLimit=320, grid=True)),
        alt.Color("colour:N", scale=None),
    )
    scale = alt.Scale(zero=zero)
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", title=x, scale=scale), alt.X2("high:Q"))
    points = base.mark_point(size=80, filled=True, opacity=1).encode(alt.X("mean:Q", scale=scale))
    return alt.layer(bars, points).properties(width=460, height=alt.Step(28), title=heading(title, subtitle))


def decision(results: Results) -> Chart:
    records = [one for one in results.table("thompson-decision") if one["who"] != "river, as it comes"]
    return log_lines(
        records,
        along="k",
        value="µs",
        x="actions, all of them tried",
        y="microseconds of processor time",
        title="One decision of Gaussian Thompson sampling",
        subtitle="ask and tell; both axes are logarithmic",
    )


def regret(results: Results) -> Chart:
    found = [
        {**one, "colour": OURS if one["who"] == "lpbandits" else EXACT if one["exact"] else THEIRS}
        for one in results.table("thompson-regret")
        if one["k"] == 10
    ]
    return dots(
        sorted(found, key=lambda one: float(one["regret"])),
        value="regret",
        error="se",
        x="regret after 200 rounds, ± 2 standard errors",
        title="What Thompson sampling reaches by that name",
        subtitle="blue: ours; grey: also exact; orange: another algorithm. 10 actions, the same people and luck",
    )


def growth(results: Results) -> Chart:
    """Return four charts; times by people and rounds are those of one round, and of one person, for all alike."""
    charts = []
    for along, (x, y) in AXES.items():
        mine = [one for one in results.table("growth-points") if one["along"] == along]
        if along in ("people", "rounds"):
            mine = [{**one, "µs": 1e-3 * one["µs"] * one["size"]} for one in mine]
        charts.append(
            log_lines(
                mine,
                along="size",
                value="µs",
                x=x,
                y=y,
                title=f"lpbTS by {x.split(',')[0]}",
                subtitle="lines with their exponents",
                fitted=True,
                width=250,
                height=230,
            )
        )
    return gridded(charts, 2)


def bradley_terry(results: Results) -> Chart:
    return log_lines(
        results.table("bradley-terry"),
        along="k",
        value="ms",
        x="actions, 20 comparisons of every pair",
        y="milliseconds of processor time",
        title="Fitting Bradley-Terry",
        subtitle="whoever takes only lists of comparisons ends at 100 actions",
    )


def references(results: Results) -> Chart:
    charts = []
    for log in dict.fromkeys(one["log"] for one in results.table("references")):
        mine = [one for one in results.table("references") if one["log"] == log]
        found = [{**one, "colour": THEIRS if one["who"].startswith(("implicit", "surprise")) else OURS} for one in mine]
        charts.append(
            dots(
                sorted(found, key=lambda one: -float(one["score"])),
                value="score",
                error="se",
                x="score over 20 rounds, ± 2 standard errors",
                title=f"Recommenders, {log}",
                subtitle="blue: ours; orange: theirs",
                zero=False,
            )
        )
    return gridded(charts, 1)


def agents(results: Results) -> Chart:
    """Return bars of what an agent holds."""
    found = [one for one in results.table("memory-agents") if one["KiB each"]]
    frame = pl.DataFrame([{"name": one["who"], "KiB": one["KiB each"]} for one in found]).sort("KiB")
    frame = frame.with_columns(
        colour=pl.when(pl.col("name") == "lpbandits").then(pl.lit(OURS)).otherwise(pl.lit(THEIRS))
    )
    base = alt.Chart(frame).encode(
        alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelFontSize=13)),
        alt.X("KiB:Q", title="KiB for one person", axis=alt.Axis(tickCount=6)),
    )
    bars = base.mark_bar(height=18).encode(alt.Color("colour:N", scale=None))
    numbers = base.mark_text(align="left", dx=5, fontSize=12, color=INK).encode(text=alt.Text("KiB:Q", format=".3~g"))
    title = heading("Memory of one Thompson sampler", "10 actions, 20 outcomes told")
    return alt.layer(bars, numbers).properties(width=420, height=alt.Step(30), title=title)


CHARTS = {
    "thompson-decision": (decision, "thompson-decision"),
    "thompson-regret": (regret, "thompson-regret"),
    "growth": (growth, "growth-points"),
    "bradley-terry": (bradley_terry, "bradley-terry"),
    "references": (references, "references"),
    "memory-agents": (agents, "memory-agents"),
}
"""Each chart, and the table without which there is none."""
