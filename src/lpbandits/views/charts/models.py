"""Charts of a model: shares of states, distances between states, ranks and pairs of actions, and taste factors."""

from typing import Any

import altair as alt
import polars as pl

from lpbandits.inspection.facts import TasteView
from lpbandits.inspection.inspect import Inspection
from lpbandits.text import share_text, unique_labels
from lpbandits.views.charts.base import INK, QUIET, Chart, colour_scale, heading, panel

STATE_COLOURS = [
    *("#0b6e99", "#d9822b", "#4d8b57", "#c43c6b", "#7a4fa3", "#8a6d3b", "#3aa6a0", "#6b7280"),
    *("#63b3d1", "#f0bc7e", "#a3cf8f", "#f097b5", "#b79ad6", "#d0b98a", "#12486b", "#8c2d04"),
    *("#1b5e20", "#7b0f3b", "#3b1f6b", "#c9b000"),
]
"""Colours of states; with more states than colours, all states have the first colour."""
MAX_DOT_STATES = 8
"""Maximum number of states whose ranks are shown as dots; the ranks of more states are a heat map."""
MAX_NUMBERED_STATES = 12
"""Maximum number of states with numbers in the cells of heat maps."""
MAX_SHOWN = 60
"""Maximum number of states and actions in a chart."""
PLACES = "Actions that states rank most differently"
"""Title of the chart of ranks."""
LEFT, EVEN, RIGHT = "#5b3a98", "#f1f1f4", "#c2651a"
"""Colours of the first action of a pair, of a tie, and of the second action."""
PAIR_HEIGHT = 30
"""Height of a pair in pixels."""
_LEGEND = alt.Legend(title=None, orient="top", symbolSize=110, labelFontSize=12)


def share_chart(seen: Inspection) -> Chart:
    """Return the shares of states as bars."""
    frame = pl.DataFrame(
        {
            "state": [f"state {s.state}" for s in seen.states],
            "share": [s.share for s in seen.states],
            "text": [share_text(s.share) for s in seen.states],
        }
    )
    base = alt.Chart(frame).encode(alt.Y("state:N", title=None, sort=None), alt.X("share:Q", axis=None))
    bars = base.mark_bar(height=20).encode(state_colour(seen))
    text = base.mark_text(align="left", dx=6, fontSize=13).encode(text="text:N")
    return panel(bars, text, title="Share of people", width=320, height=alt.Step(32))


def kendall_chart(seen: Inspection) -> Chart:
    """Return the Kendall distances between states as a heat map."""
    names = [f"state {s.state}" for s in seen.states]
    rows = [
        {"one": one, "other": other, "distance": distance}
        for one, distances in zip(names, seen.contrasts.kendall, strict=True)
        for other, distance in zip(names, distances, strict=True)
        if distance is not None
    ]
    numbered = len(names) <= MAX_NUMBERED_STATES
    side = max(34 if numbered else 18, min(64, 420 // len(names)))
    axis = alt.Axis(orient="top", labelAngle=0 if len(names) < 9 else -60)
    x, y = alt.X("other:N", title=None, sort=None, axis=axis), alt.Y("one:N", title=None, sort=None)
    base = alt.Chart(pl.DataFrame(rows)).encode(x, y)
    cells = base.mark_rect().encode(
        alt.Color("distance:Q", scale=alt.Scale(scheme="blues", domain=[0, 0.7], clamp=True), legend=None),
        tooltip=["one", "other", alt.Tooltip("distance:Q", format=".1%", title="pairs ordered differently")],
    )
    title, subtitle = "Distance between states", "share of action pairs ordered differently"
    layers: list[alt.Chart] = [cells]
    if numbered:
        dark = alt.condition("datum.distance > 0.45", alt.value("white"), alt.value(INK))
        layers.append(base.mark_text(fontSize=12).encode(text=alt.Text("distance:Q", format=".0%"), color=dark))
    return panel(*layers, title=title, subtitle=subtitle, width=alt.Step(side), height=alt.Step(side))


def place_chart(seen: Inspection) -> Chart:
    """Return the 90 % intervals of the ranks of each state's first actions; all states share the axis."""
    last = max((high for s in seen.states if s.certainty for _, high in s.certainty.places), default=2)
    panels = []
    for s, colour in zip(seen.states, STATE_COLOURS, strict=False):
        if s.certainty and s.top:
            names = unique_labels(s.top[:MAX_SHOWN])
            low, high = zip(*s.certainty.places[:MAX_SHOWN], strict=True)
            frame = pl.DataFrame({"action": names, "rank": range(1, len(names) + 1), "low": low, "high": high})
            y = alt.Y("action:N", title=None, sort=None, axis=alt.Axis(labelLimit=220))
            ends = [alt.Tooltip("low:Q", title="from"), alt.Tooltip("high:Q", title="to")]
            base = alt.Chart(frame).encode(y, tooltip=["action:N", "rank:Q", *ends])
            bars = base.mark_rule(color=colour, strokeWidth=4, opacity=0.45)
            dots = base.mark_point(filled=True, opacity=1, size=80, color=colour)
            intervals = bars.encode(_ranks("low", "rank", last), alt.X2("high:Q"))
            ranks = dots.encode(_ranks("rank", "rank", last))
            panels.append(panel(intervals, ranks, title=f"state {s.state}", width=250, height=alt.Step(26)))
    return _side_by_side(panels, "Uncertainty of the first ranks", "bars: 90 % intervals of the rank (1 is best)")


def disagreement_chart(seen: Inspection) -> Chart:
    """Return the ranks of the actions whose ranks differ most: dots, or a heat map for many states."""
    names = unique_labels(d.action for d in seen.contrasts.disagreements)
    rows = [
        {"action": name, "state": f"state {z}", "number": str(z), "rank": rank}
        for name, d in zip(names, seen.contrasts.disagreements, strict=True)
        for z, rank in enumerate(d.ranks)
        if rank is not None
    ]
    frame = pl.DataFrame(rows, schema=["action", "state", "number", "rank"])
    few = len(seen.states) <= MAX_DOT_STATES
    axis = alt.Axis(labelLimit=260, labelFontSize=13)
    gap = alt.Scale(paddingInner=0.4 if few else 0.0, paddingOuter=0.2 if few else 0.0)
    base = alt.Chart(frame).encode(alt.Y("action:N", title=None, sort=None, axis=axis, scale=gap))
    return _dots(seen, base) if few else _rank_map(seen, base)


def _dots(seen: Inspection, base: alt.Chart) -> Chart:
    """Return the ranks of each action as dots with a colour and a vertical offset per state."""
    title = "rank in the ordering (1 is best)"
    lines = base.mark_rule(color="#c9ced6", strokeWidth=2)
    names = [f"state {s.state}" for s in seen.states]
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(
        _ranks("rank", title, seen.actions),
        state_colour(seen, legend=True),
        yOffset=alt.YOffset("state:N", sort=None, scale=alt.Scale(domain=names)),
        tooltip=["action:N", "state:N", "rank:Q"],
    )
    spans = lines.encode(_ranks("min(rank)", title, seen.actions), alt.X2("max(rank):Q"))
    height = alt.Step(max(32, 9 * len(seen.states)), **{"for": "position"})
    return panel(spans, dots, title=PLACES, width=460, height=height)


def _rank_map(seen: Inspection, base: alt.Chart) -> Chart:
    """Return the ranks of each action as a heat map with a column per state."""
    x = alt.X("number:N", title="state", sort=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False))
    half = seen.actions / 2
    tint = alt.Scale(scheme="blues", domain=[1, max(seen.actions, 2)], reverse=True)
    cells = base.mark_rect(stroke="white").encode(
        x, alt.Color("rank:Q", scale=tint, legend=None), tooltip=["action:N", "state:N", "rank:Q"]
    )
    colour = alt.condition(f"datum.rank < {half}", alt.value("white"), alt.value(INK))
    text = base.mark_text(fontSize=11).encode(x, text="rank:Q", color=colour)
    subtitle = "rank in each state's ordering (1, the darkest, is best)"
    width = alt.Step(26 if seen.actions < 1000 else 34)
    return panel(cells, text, title=PLACES, subtitle=subtitle, width=width, height=alt.Step(26))


def _ranks(field: str, title: str, last: int) -> alt.X:
    """Return an x axis of ranks with integer ticks; a short axis has a tick for each rank."""
    last = max(last, 2)
    ticks: dict[str, Any] = {"values": list(range(1, last + 1))} if last <= MAX_DOT_STATES else {"tickMinStep": 1}
    scale = alt.Scale(domain=[1, last], nice=False, zero=False, padding=8)
    return alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(format="d", **ticks))


def curve_chart(seen: Inspection) -> Chart:
    """Return the held-out score of each number of states, with one standard error and the choice marked."""
    rows = [
        (row["states"], row["score"], row["standard_error"], "chosen" if row.get("chosen") else "tried")
        for row in seen.fit.curve
    ]
    score, error = pl.col("score"), pl.col("error")
    frame = pl.DataFrame(rows, schema=["states", "score", "error", "chosen"], orient="row").with_columns(
        low=score - error, high=score + error
    )
    axis = alt.Axis(values=frame["states"].to_list(), format="d", grid=False)
    base = alt.Chart(frame).encode(alt.X("states:Q", title="states", axis=axis))
    of = "log density per rating of held-out people"
    height = alt.Y("score:Q", title=of, scale=alt.Scale(zero=False))
    colours = dict(zip(("tried", "chosen"), STATE_COLOURS, strict=False))
    line = base.mark_line(color=STATE_COLOURS[0]).encode(height)
    bars = base.mark_rule(color=STATE_COLOURS[0]).encode(alt.Y("low:Q", title=of), y2="high:Q")
    dots = base.mark_point(filled=True, opacity=1, size=110).encode(height, colour_scale("chosen", colours, _LEGEND))
    subtitle = "dashed: best score; bars: ± one standard error of the difference from it"
    best = alt.Chart(frame).mark_rule(color=QUIET, strokeDash=[4, 4]).encode(alt.Y("max(score):Q", title=of))
    return panel(best, line, bars, dots, title="Number of states", subtitle=subtitle, width=420, height=260)


def state_colour(seen: Inspection, *, legend: bool = False) -> alt.Color | alt.ColorValue:
    """Return the colour encoding of states; with more states than colours, one colour for all."""
    names = [f"state {s.state}" for s in seen.states]
    if len(names) > len(STATE_COLOURS):
        return alt.ColorValue(STATE_COLOURS[0])
    return colour_scale("state", dict(zip(names, STATE_COLOURS, strict=False)), _LEGEND if legend else None)


def pair_chart(seen: Inspection) -> Chart:
    """Return the preferences of states in pairs of actions: a row per pair and a column per state."""
    pairs = seen.contrasts.pairs
    left, right = (unique_labels(getattr(pair, side) for pair in pairs) for side in ("first", "second"))
    frame = pl.DataFrame(
        [
            {"left": left[i], "right": right[i], "state": str(z), "share": share, "most": max(share, 1.0 - share)}
            for i, pair in enumerate(pairs)
            for z, share in enumerate(pair.says_first)
            if share is not None
        ],
        schema={"left": pl.String, "right": pl.String, "state": pl.String, "share": pl.Float64, "most": pl.Float64},
    )
    side = 44 if len(seen.states) <= MAX_NUMBERED_STATES else 24
    states = alt.Scale(domain=[str(s.state) for s in seen.states])
    top = alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)
    base = alt.Chart(frame).encode(alt.X("state:N", title="state", sort=None, scale=states, axis=top))
    tint = alt.Scale(domain=[0, 0.5, 1], range=[RIGHT, EVEN, LEFT], interpolate="rgb")
    tips = [
        alt.Tooltip("left:N", title="first"),
        alt.Tooltip("right:N", title="second"),
        "state:N",
        alt.Tooltip("share:Q", format=".0%", title="prefer the first"),
    ]
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        _names("left", left, LEFT), alt.Color("share:Q", scale=tint, legend=None), tooltip=tips
    )
    dark = alt.condition("datum.most > 0.8", alt.value("white"), alt.value(INK))
    numbered = len(seen.states) <= MAX_NUMBERED_STATES and not seen.contrasts.deterministic
    text = base.mark_text(fontSize=12, opacity=1.0 if numbered else 0.0).encode(
        _names("right", right, RIGHT), text=alt.Text("most:Q", format=".0%"), color=dark, tooltip=tips
    )
    chart: Chart = panel(
        cells,
        text,
        title="Preferences in pairs",
        subtitle="purple: the action on the left; orange: the action on the right",
        width=alt.Step(side),
        height=PAIR_HEIGHT * len(pairs),
    ).resolve_scale(y="independent")
    return chart


def _names(side: str, names: list[str], colour: str) -> alt.Y:
    look: dict[str, Any] = {"orient": side, "labelColor": colour, "labelFontSize": 13, "labelLimit": 280}
    axis = alt.Axis(ticks=False, domain=False, **look)
    return alt.Y(f"{side}:N", title=None, sort=None, scale=alt.Scale(domain=names), axis=axis)


def taste_chart(taste: TasteView) -> Chart:
    """Return the actions with the largest loadings on each of the strongest taste factors; all share the axis."""
    far = max(abs(loading) for d in taste.directions for _, loading in (*d.one_end, *d.other_end))
    panels = []
    for direction in taste.directions:
        actions, loadings = zip(*direction.one_end, *reversed(direction.other_end), strict=True)
        ends = ["one"] * len(direction.one_end) + ["other"] * len(direction.other_end)
        frame = pl.DataFrame({"action": unique_labels(actions), "loading": loadings, "end": ends})
        bars = (
            alt.Chart(frame)
            .mark_bar(height=14)
            .encode(
                alt.Y("action:N", title=None, sort=None, axis=alt.Axis(labelLimit=240, ticks=False, domain=False)),
                alt.X("loading:Q", title=None, scale=alt.Scale(domain=[-far, far]), axis=alt.Axis(tickCount=4)),
                colour_scale("end", {"one": LEFT, "other": RIGHT}),
                tooltip=["action:N", alt.Tooltip("loading:Q", format=".2f")],
            )
        )
        panels.append(panel(bars, title=f"factor {direction.factor}", width=240, height=alt.Step(22)))
    return _side_by_side(panels, "Taste factors", "bars: loadings of actions")


def _side_by_side(panels: list[Chart], title: str, subtitle: str) -> Chart:
    """Place panels with their own rows in two columns under one title."""
    chart: Chart = alt.concat(*panels, columns=2, title=heading(title, subtitle)).resolve_scale(y="independent")
    return chart
