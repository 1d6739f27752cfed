"""The charts of docs/benchmarks.md, drawn from the tables in results.json in the style of lpbandits' charts."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from benchmarks.bend import through
from benchmarks.results import Results
from benchmarks.thompson import ROUNDS
from lpbandits.views.charts.base import INK, Chart, grid
from lpbandits.views.charts.labels import apart, end_labels, leaders

COLOURS = {
    "lpbandits": "#0b6e99",
    "simulator": "#0b6e99",
    "Agent": "#2f8fb3",
    "numpy loop": "#6b7280",
    "numpy, all people at once": "#6b7280",
    "numpy, one by one": "#838b96",
    "river": "#c8701a",
    "river, default settings": "#a8641a",
    "MABWiser LinTS": "#7a4fa3",
    "MABWiser TS": "#9a78bd",
    "MABWiser": "#7a4fa3",
    "mabby": "#4d8b57",
    "bayesianbandits": "#c43c6b",
    "SciPy loop": "#c8701a",
    "scikit-learn loop": "#c43c6b",
    "scikit-learn": "#c43c6b",
    "choix ilsr_pairwise_dense": "#7a4fa3",
    "choix ilsr_pairwise": "#9a78bd",
    "choix mm_pairwise": "#5b5ea6",
    "choix opt_pairwise": "#3c2a63",
    "evalica bradley_terry": "#c8701a",
    "evalica newman": "#8a5a14",
}
OURS, EXACT, THEIRS = "#0b6e99", "#6b7280", "#d9822b"
SHAPES = {OURS: ("diamond", 150), EXACT: ("circle", 90), THEIRS: ("square", 80)}
"""Marker and size by colour, so that kinds can be distinguished without colours."""
LESS, MORE = "lower is faster", "further right is better"
AXES = {
    "people": ("people", "ms, one round", "Time by people"),
    "rounds": ("rounds", "ms, one person", "Time by rounds"),
    "m": ("states m", "µs per decision", "Time by states"),
    "k": ("actions k, 5 of them tried", "µs per decision", "Time by actions"),
}
SHORT = {"SciPy loop": "SciPy", "scikit-learn loop": "scikit-learn"}
Records = Sequence[dict[str, Any]]


def heading(title: str, subtitle: str | Sequence[str]) -> alt.TitleParams:
    """Return a title with a subtitle of one or more lines."""
    return alt.TitleParams(title, subtitle=subtitle if isinstance(subtitle, str) else list(subtitle))


def _log(field: str, title: str, low: float, high: float, *, at: Sequence[float] = (), vertical: bool = False) -> Any:
    """Return a logarithmic axis with ticks at given values, or at powers of ten (and 2, 5 if these are few)."""
    scale = alt.Scale(type="log", nice=False, domain=[low, high])
    steps = (1, 2, 5) if high / low < 40 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    axis = alt.Axis(
        format=",~g", values=list(at) or ticks, labelOverlap=False, labelFlush=False, minExtent=44 if vertical else 0
    )
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
    subtitle: str | Sequence[str] = "",
    fitted: bool = False,
    width: int = 420,
    height: int = 340,
    size: int = 13,
) -> Chart:
    """Return points and lines on logarithmic axes, labelled at their ends; `fitted`: least-squares lines."""
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
    labels = labels.mark_text(align="left", dx=16, fontSize=size, fontWeight="bold").encode(text="label:N")
    return alt.layer(lines, points, joins, labels).properties(
        width=width, height=height, title=heading(title, subtitle)
    )


def _fits(frame: pl.DataFrame, along: str, value: str) -> pl.DataFrame:
    """Return the ends and the bend of each least-squares line, labelled with its last exponent."""
    rows = []
    for (name,), part in frame.group_by("name", maintain_order=True):
        line = through(part[along].to_list(), part[value].to_list())
        label = f"{SHORT.get(str(name), name)} {line.at_its_end()}"
        rows += [
            {"name": name, "label": label, along: size, value: at}
            for size, at in zip(line.sizes, line.values, strict=True)
        ]
    return pl.DataFrame(rows)


def dots(
    records: Records, *, value: str, error: str, x: str, title: str, subtitle: str | Sequence[str], top: float
) -> Chart:
    """Return a dot per package with a bar of ± two standard errors, on an axis from 0; the best is at the top."""
    frame = pl.DataFrame(
        [
            {
                "name": one["who"],
                "mean": one[value],
                "low": one[value] - 2 * one[error],
                "high": one[value] + 2 * one[error],
                "colour": one["colour"],
                "shape": SHAPES[one["colour"]][0],
                "size": SHAPES[one["colour"]][1],
            }
            for one in records
        ]
    )
    base = alt.Chart(frame).encode(_names(), alt.Color("colour:N", scale=None))
    scale, axis = alt.Scale(domain=[0, top], nice=False), alt.Axis(tickCount=6, labelFlush=False, format="~f")
    bars = base.mark_rule(strokeWidth=3).encode(alt.X("low:Q", title=x, scale=scale, axis=axis), alt.X2("high:Q"))
    points = base.mark_point(filled=True, opacity=1).encode(
        alt.X("mean:Q", scale=scale), alt.Shape("shape:N", scale=None), alt.Size("size:Q", scale=None)
    )
    return alt.layer(bars, points).properties(width=440, height=alt.Step(26), title=heading(title, subtitle))


def _names() -> alt.Y:
    axis = alt.Axis(labelFontSize=13, labelLimit=320, labelColor=INK, grid=True)
    return alt.Y("name:N", title=None, sort=None, axis=axis)


def decision(results: Results) -> Chart:
    records = [one for one in results.table("thompson-decision") if one["who"] != "river, default settings"]
    return log_lines(
        records,
        along="k",
        value="µs",
        x="actions, all of them tried (logarithmic)",
        y="µs of CPU time (logarithmic)",
        title="Time of one decision of Gaussian Thompson sampling",
        subtitle=f"ask and tell; both axes are logarithmic; {LESS}",
    )


def simulation(results: Results) -> Chart:
    """Return the time of a decision within a simulation; river's burn-in is excluded."""
    found = [one for one in results.table("thompson-simulation") if not burns_in(one)]
    return log_lines(
        found,
        along="k",
        value="µs",
        x="actions (logarithmic)",
        y="µs of CPU time per decision (logarithmic)",
        title="Time of a simulation of Gaussian Thompson sampling",
        subtitle=f"{ROUNDS} rounds from an empty history; both axes are logarithmic; {LESS}",
        width=390,
    )


def burns_in(one: dict[str, Any]) -> bool:
    """Return whether all rounds of a record are river's burn-in, in which it tries every action once."""
    return bool(one["who"] == "river" and one["k"] >= ROUNDS)


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
        x=f"regret after {ROUNDS} rounds, in units of reward, ± 2 standard errors",
        title="Regret of Thompson sampling in each package",
        subtitle=[
            "10 actions, same people and random draws (slow packages: fewer people); further left is better",
            "diamond: ours; circle: also exact; square: another algorithm",
        ],
        top=1.05 * max(one["regret"] + 2 * one["se"] for one in found),
    )


def growth(results: Results) -> Chart:
    """Return four charts; times by people are for one round, and times by rounds for one person."""
    charts = []
    for along, (x, y, name) in AXES.items():
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
                title=name,
                fitted=True,
                width=150,
                height=190,
                size=11,
            )
        )
    title = heading(
        "lpbTS: time by size, with exponents of the fitted lines",
        [
            f"all axes are logarithmic; {LESS}; exponent 1: twice the size takes twice the time, 0: the same",
            "a line with a bend is labelled with the exponent of its last segment, and where it begins",
        ],
    )
    return grid(charts, 2).properties(title=title, spacing=10)


def bradley_terry(results: Results) -> Chart:
    return log_lines(
        results.table("bradley-terry"),
        along="k",
        value="ms",
        x="actions, 20 comparisons of every pair (logarithmic)",
        y="ms of CPU time (logarithmic)",
        title="Time of fitting Bradley-Terry",
        subtitle=[
            f"both axes are logarithmic; {LESS}",
            "packages that accept only lists of comparisons were run up to 100 actions",
        ],
        width=390,
    )


def references(results: Results) -> Chart:
    charts = []
    records = results.table("references")
    top = 1.05 * max(one["score"] + 2 * one["se"] for one in records)
    for log in dict.fromkeys(one["log"] for one in records):
        mine = [one for one in records if one["log"] == log]
        found = [{**one, "colour": THEIRS if one["who"].startswith(("implicit", "surprise")) else OURS} for one in mine]
        charts.append(
            dots(
                sorted(found, key=lambda one: -float(one["score"])),
                value="score",
                error="se",
                x="mean score over 20 rounds, in standard deviations of a person's ratings, ± 2 standard errors",
                title=f"Recommenders, {log}",
                subtitle=f"{MORE}; diamond: ours; square: theirs",
                top=top,
            )
        )
    return grid(charts, 1)


def agents(results: Results) -> Chart:
    """Return bars of the memory of one agent."""
    found = [one for one in results.table("memory-agents") if one["KiB each"]]
    frame = pl.DataFrame([{"name": one["who"], "KiB": one["KiB each"]} for one in found]).sort("KiB")
    frame = frame.with_columns(
        colour=pl.when(pl.col("name") == "lpbandits").then(pl.lit(OURS)).otherwise(pl.lit(THEIRS))
    )
    scale = alt.Scale(domain=[0, 1.1 * max(frame["KiB"])], nice=False)
    base = alt.Chart(frame).encode(
        _names(),
        alt.X("KiB:Q", title="KiB for one person", scale=scale, axis=alt.Axis(tickCount=6, labelFlush=False)),
    )
    bars = base.mark_bar(height=18).encode(alt.Color("colour:N", scale=None))
    numbers = base.mark_text(align="left", dx=5, fontSize=12, color=INK).encode(text=alt.Text("KiB:Q", format=".3~g"))
    title = heading("Memory of one Thompson sampler", "10 actions, 20 outcomes; shorter is better; dark: ours")
    return alt.layer(bars, numbers).properties(width=440, height=alt.Step(30), title=title)


def beyond(results: Results) -> Chart:
    """Return seconds by the size of a log, on linear axes from 0: a straight line shows linear growth."""
    records = results.table("beyond")
    names = list(dict.fromkeys(one["way"] for one in records))
    frame = pl.DataFrame(
        [{"name": one["way"], "millions": one["ratings"] / 1e6, "seconds": one["seconds"]} for one in records]
    )
    most, longest = max(frame["millions"]), 1.05 * max(frame["seconds"])
    across = alt.X(
        "millions:Q",
        title="millions of ratings",
        scale=alt.Scale(domain=[0, most], nice=False),
        axis=alt.Axis(values=sorted(set(frame["millions"])), format="~f", labelFlush=False),
    )
    up = alt.Y(
        "seconds:Q",
        title="wall time, seconds",
        scale=alt.Scale(domain=[0, longest], nice=False),
        axis=alt.Axis(tickCount=6),
    )
    colour = alt.Color("name:N", legend=None, scale=alt.Scale(domain=names, range=[OURS, THEIRS, EXACT][: len(names)]))
    base = alt.Chart(frame).encode(across, up, colour)
    limits = (0.0, longest)
    labels = end_labels(frame, value="seconds", along="millions", limits=limits, colour=colour, height=300)
    title = heading("Time of a fit of a log larger than memory", f"two cores, --max-memory 8GB; linear axes; {LESS}")
    layers = (base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=50, opacity=1), *labels)
    return alt.layer(*layers).properties(width=440, height=300, title=title)


CHARTS = {
    "thompson-decision": (decision, "thompson-decision"),
    "thompson-simulation": (simulation, "thompson-simulation"),
    "thompson-regret": (regret, "thompson-regret"),
    "growth": (growth, "growth-points"),
    "bradley-terry": (bradley_terry, "bradley-terry"),
    "references": (references, "references"),
    "memory-agents": (agents, "memory-agents"),
    "beyond": (beyond, "beyond"),
}
"""Each chart, and the table that it needs."""
