"""Charts of pairs of actions that states answer differently, and of taste factors."""

import altair as alt
import polars as pl

from lpbandits.inspection.facts import Direction, TasteView
from lpbandits.inspection.inspect import Inspection
from lpbandits.text import unique_labels
from lpbandits.views.charts.base import INK, Chart, heading
from lpbandits.views.charts.models import NUMBERED

LEFT, EVEN, RIGHT = "#5b3a98", "#f1f1f4", "#c2651a"
"""Colours of the first action of a pair, of a tie, and of the second action."""
ROW = 30
"""Height of a pair in pixels."""


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
    side = 44 if len(seen.states) <= NUMBERED else 24
    states = alt.Scale(domain=[str(s.state) for s in seen.states])
    top = alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False)
    base = alt.Chart(frame).encode(alt.X("state:N", title="state", sort=None, scale=states, axis=top))
    tint = alt.Scale(domain=[0, 0.5, 1], range=[RIGHT, EVEN, LEFT], interpolate="rgb")
    tips = [
        alt.Tooltip("left:N", title="either"),
        alt.Tooltip("right:N", title="or"),
        "state:N",
        alt.Tooltip("share:Q", format=".0%", title="say the first"),
    ]
    cells = base.mark_rect(stroke="white", strokeWidth=2).encode(
        _names("left", left, LEFT), alt.Color("share:Q", scale=tint, legend=None), tooltip=tips
    )
    dark = alt.condition("datum.most > 0.8", alt.value("white"), alt.value(INK))
    numbered = len(seen.states) <= NUMBERED and not seen.contrasts.deterministic
    text = base.mark_text(fontSize=12, opacity=1.0 if numbered else 0.0).encode(
        _names("right", right, RIGHT), text=alt.Text("most:Q", format=".0%"), color=dark, tooltip=tips
    )
    title = heading("Which of two do they prefer?", "purple: the action on the left; orange: the action on the right")
    chart: Chart = (
        alt.layer(cells, text)
        .resolve_scale(y="independent")
        .properties(width=alt.Step(side), height=ROW * len(pairs), title=title)
    )
    return chart


def _names(side: str, names: list[str], colour: str) -> alt.Y:
    axis = alt.Axis(
        orient=side,  # type: ignore[arg-type] # left or right
        labelLimit=280,
        labelFontSize=13,
        labelColor=colour,
        ticks=False,
        domain=False,
    )
    return alt.Y(f"{side}:N", title=None, sort=None, scale=alt.Scale(domain=names), axis=axis)


def taste_chart(taste: TasteView) -> Chart:
    """Return the actions with the largest loadings on each of the strongest taste factors."""
    far = max(abs(loading) for d in taste.directions for _, loading in (*d.one_end, *d.other_end))
    panels = [_ends(direction, far) for direction in taste.directions]
    title = heading("Taste factors", "bars: loadings of actions")
    chart: Chart = alt.concat(*panels, columns=2, title=title).resolve_scale(y="independent")
    return chart


def _ends(direction: Direction, far: float) -> Chart:
    """Return the largest loadings of one factor; all factors share the limits of the axis."""
    loadings = [*direction.one_end, *reversed(direction.other_end)]
    names = unique_labels(action for action, _ in loadings)
    frame = pl.DataFrame(
        {
            "action": names,
            "loading": [loading for _, loading in loadings],
            "end": ["one"] * len(direction.one_end) + ["other"] * len(direction.other_end),
        }
    )
    colour = alt.Color("end:N", scale=alt.Scale(domain=["one", "other"], range=[LEFT, RIGHT]), legend=None)
    bars = alt.Chart(frame).mark_bar(height=14)
    out: Chart = bars.encode(
        alt.Y("action:N", title=None, sort=None, axis=alt.Axis(labelLimit=240, ticks=False, domain=False)),
        alt.X("loading:Q", title=None, scale=alt.Scale(domain=[-far, far]), axis=alt.Axis(tickCount=4)),
        colour,
        tooltip=["action:N", alt.Tooltip("loading:Q", format=".2f")],
    ).properties(width=240, height=alt.Step(22), title=f"taste {direction.factor}")
    return out
