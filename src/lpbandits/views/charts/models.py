"""Charts of a model: shares of states, distances between states, ranks of actions, number of states."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from lpbandits.inspection.inspect import Inspection
from lpbandits.text import share_text, unique_labels
from lpbandits.views.charts.base import INK, Chart, heading

STATE_COLOURS = [
    *("#0b6e99", "#d9822b", "#4d8b57", "#c43c6b", "#7a4fa3", "#8a6d3b", "#3aa6a0", "#6b7280"),
    *("#63b3d1", "#f0bc7e", "#a3cf8f", "#f097b5", "#b79ad6", "#d0b98a", "#12486b", "#8c2d04"),
    *("#1b5e20", "#7b0f3b", "#3b1f6b", "#c9b000"),
]
"""Colours of states; with more states than colours, all bars have one colour."""
DOTS = 8
"""Maximum number of states whose ranks are shown as dots; the ranks of more states are a heat map."""
NUMBERED = 12
"""Maximum number of states with numbers in the cells of heat maps."""
MOST = 60
"""Maximum number of states and actions in a chart."""
PLACES = "Actions that states rank most differently"


def share_chart(seen: Inspection) -> Chart:
    """Return the shares of states as bars."""
    frame = pl.DataFrame(
        {
            "state": [state_name(s.state) for s in seen.states],
            "share": [s.share for s in seen.states],
            "text": [share_text(s.share) for s in seen.states],
        }
    )
    base = alt.Chart(frame).encode(alt.Y("state:N", title=None, sort=None), alt.X("share:Q", axis=None))
    bars = base.mark_bar(height=20).encode(state_colour(seen))
    text = base.mark_text(align="left", dx=6, fontSize=13).encode(text="text:N")
    return alt.layer(bars, text).properties(width=320, height=alt.Step(32), title="Share of people")


def kendall_chart(seen: Inspection) -> Chart:
    """Return the Kendall distances between states as a heat map."""
    names = [state_name(s.state) for s in seen.states]
    rows = [
        {"one": names[y], "other": names[z], "distance": seen.contrasts.kendall[y][z]}
        for y in range(len(names))
        for z in range(len(names))
        if seen.contrasts.kendall[y][z] is not None
    ]
    numbered = len(names) <= NUMBERED
    side = max(34 if numbered else 18, min(64, 420 // len(names)))
    base = alt.Chart(pl.DataFrame(rows)).encode(
        alt.X("other:N", title=None, sort=None, axis=alt.Axis(orient="top", labelAngle=0 if len(names) < 9 else -60)),
        alt.Y("one:N", title=None, sort=None),
    )
    cells = base.mark_rect().encode(
        alt.Color("distance:Q", scale=alt.Scale(scheme="blues", domain=[0, 0.7], clamp=True), legend=None),
        tooltip=["one", "other", alt.Tooltip("distance:Q", format=".1%", title="pairs ordered differently")],
    )
    title = heading("Distance between states", "share of action pairs ordered differently")
    layers: list[alt.Chart] = [cells]
    if numbered:
        dark = alt.condition("datum.distance > 0.45", alt.value("white"), alt.value(INK))
        layers.append(base.mark_text(fontSize=12).encode(text=alt.Text("distance:Q", format=".0%"), color=dark))
    return alt.layer(*layers).properties(width=alt.Step(side), height=alt.Step(side), title=title)


def place_chart(seen: Inspection) -> Chart:
    """Return the 90 % intervals of the ranks of each state's first actions."""
    far = max((high for s in seen.states if s.certainty for _, high in s.certainty.places), default=2)
    panels = [
        _intervals(s.state, unique_labels(s.top[:MOST]), s.certainty.places[:MOST], max(far, 2), colour)
        for s, colour in zip(seen.states, STATE_COLOURS, strict=False)
        if s.certainty and s.top
    ]
    title = heading("How sure are the first places?", "bars: 90 % intervals of the place; 1 is best")
    chart: Chart = alt.concat(*panels, columns=2, title=title).resolve_scale(y="independent")
    return chart


def _intervals(state: int, names: Sequence[str], places: Sequence[tuple[int, int]], far: int, colour: str) -> Chart:
    """Return the intervals of one state; all states share the limits of the axis."""
    rows = [(name, place, low, high) for place, (name, (low, high)) in enumerate(zip(names, places, strict=True), 1)]
    frame = pl.DataFrame(rows, schema=["action", "place", "low", "high"], orient="row")
    scale = alt.Scale(domain=[1, far], nice=False, zero=False, padding=8)
    axis = _rank_axis(far)
    base = alt.Chart(frame).encode(alt.Y("action:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)))
    tips = ["action:N", "place:Q", alt.Tooltip("low:Q", title="from"), alt.Tooltip("high:Q", title="to")]
    bars = base.mark_rule(color=colour, strokeWidth=4, opacity=0.45).encode(
        alt.X("low:Q", title="place", scale=scale, axis=axis), alt.X2("high:Q"), tooltip=tips
    )
    dots = base.mark_point(filled=True, opacity=1, size=80, color=colour).encode(
        alt.X("place:Q", title="place", scale=scale, axis=axis), tooltip=tips
    )
    return alt.layer(bars, dots).properties(width=250, height=alt.Step(26), title=state_name(state))


def disagreement_chart(seen: Inspection) -> Chart:
    """Return the ranks of the actions whose ranks differ most: dots, or a heat map for many states."""
    names = unique_labels(d.action for d in seen.contrasts.disagreements)
    rows = [
        {"action": name, "state": state_name(z), "number": str(z), "rank": rank}
        for name, d in zip(names, seen.contrasts.disagreements, strict=True)
        for z, rank in enumerate(d.ranks)
        if rank is not None
    ]
    frame = pl.DataFrame(rows, schema=["action", "state", "number", "rank"])
    few = len(seen.states) <= DOTS
    axis = alt.Axis(labelLimit=260, labelFontSize=13)
    gap = alt.Scale(paddingInner=0.4 if few else 0.0, paddingOuter=0.2 if few else 0.0)
    base = alt.Chart(frame).encode(alt.Y("action:N", title=None, sort=None, axis=axis, scale=gap))
    return _dots(seen, base) if few else _places(seen, base)


def _dots(seen: Inspection, base: alt.Chart) -> Chart:
    """Return the ranks of each action as dots with a colour and a vertical offset per state."""
    places = alt.Scale(domain=[1, max(seen.actions, 2)], nice=False, zero=False, padding=8)
    axis = _rank_axis(max(seen.actions, 2))
    title = "place in the ordering (1 is best)"
    lines = base.mark_rule(color="#c9ced6", strokeWidth=2).encode(
        alt.X("min(rank):Q", title=title, scale=places, axis=axis), alt.X2("max(rank):Q")
    )
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(
        alt.X("rank:Q", title=title, scale=places, axis=axis),
        state_colour(seen, legend=True),
        yOffset=alt.YOffset("state:N", sort=None, scale=alt.Scale(domain=[state_name(s.state) for s in seen.states])),
        tooltip=["action:N", "state:N", "rank:Q"],
    )
    height = alt.Step(max(32, 9 * len(seen.states)), **{"for": "position"})
    return alt.layer(lines, dots).properties(width=460, height=height, title=heading(PLACES))


def _places(seen: Inspection, base: alt.Chart) -> Chart:
    """Return the ranks of each action as a heat map with a column per state."""
    x = alt.X("number:N", title="state", sort=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False))
    half = seen.actions / 2
    tint = alt.Scale(scheme="blues", domain=[1, max(seen.actions, 2)], reverse=True)
    cells = base.mark_rect(stroke="white").encode(
        x, alt.Color("rank:Q", scale=tint, legend=None), tooltip=["action:N", "state:N", "rank:Q"]
    )
    colour = alt.condition(f"datum.rank < {half}", alt.value("white"), alt.value(INK))
    text = base.mark_text(fontSize=11).encode(x, text="rank:Q", color=colour)
    title = heading(PLACES, "place in each state's ordering: 1, the darkest, is best")
    wide = 26 if seen.actions < 1000 else 34
    return alt.layer(cells, text).properties(width=alt.Step(wide), height=alt.Step(26), title=title)


def _rank_axis(last: int) -> alt.Axis:
    """Return an axis of ranks with whole numbers; a short axis has a tick for each rank."""
    if last <= DOTS:
        return alt.Axis(format="d", values=list(range(1, last + 1)))
    return alt.Axis(format="d", tickMinStep=1)


def curve_chart(seen: Inspection) -> Chart:
    """Return the held-out score of each number of states, with one standard error and the choice marked."""
    rows = [(r.states, r.score, r.standard_error, "chosen" if r.chosen else "tried") for r in seen.fit.curve]
    score, error = pl.col("score"), pl.col("error")
    frame = pl.DataFrame(rows, schema=["states", "score", "error", "chosen"], orient="row").with_columns(
        low=score - error, high=score + error
    )
    base = alt.Chart(frame).encode(
        alt.X("states:Q", title="states", axis=alt.Axis(values=frame["states"].to_list(), format="d", grid=False))
    )
    height = alt.Y("score:Q", title="score on held-out people", scale=alt.Scale(zero=False))
    colour = alt.Color(
        "chosen:N",
        scale=alt.Scale(domain=["tried", "chosen"], range=STATE_COLOURS[:2]),
        legend=alt.Legend(title=None, orient="top", symbolSize=110, labelFontSize=12),
    )
    line = base.mark_line(color=STATE_COLOURS[0]).encode(height)
    bars = base.mark_rule(color=STATE_COLOURS[0]).encode(alt.Y("low:Q", title="score on held-out people"), y2="high:Q")
    dots = base.mark_point(filled=True, opacity=1, size=110).encode(height, colour)
    title = heading("How many states?", "bars: one standard error of the difference from the best score")
    return alt.layer(line, bars, dots).properties(width=420, height=260, title=title)


def state_colour(seen: Inspection, *, legend: bool = False) -> alt.Color | alt.ColorValue:
    """Return the colour encoding of states; with more states than colours, one colour for all."""
    names = [state_name(s.state) for s in seen.states]
    if len(names) > len(STATE_COLOURS):
        return alt.ColorValue(STATE_COLOURS[0])
    look = alt.Legend(title=None, orient="top", symbolSize=110, labelFontSize=12) if legend else None
    return alt.Color(
        "state:N", sort=None, scale=alt.Scale(domain=names, range=STATE_COLOURS[: len(names)]), legend=look
    )


def state_name(state: int) -> str:
    """Return the name of a state in charts."""
    return f"state {state}"
