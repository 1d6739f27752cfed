"""Charts of regret lower bounds and of the measured growth of regret."""

import math
from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from lpbandits.simulation.bounds import AXES, Bounds, growth_ratio
from lpbandits.text import display, unique_labels
from lpbandits.theory import differ_probability, nearest_inversions
from lpbandits.views.charts.base import INK, QUIET, Chart, colours_of, panel, tooltips
from lpbandits.views.charts.labels import labelled_lines
from lpbandits.views.tables import name_of, names_of

_BOUNDS = {"bound-plain": "bound without knowledge", "bound-preference": "bound with known orderings"}

Study = Sequence[tuple[float, Bounds]]
"""Bounds at each value of an axis."""

_ROWS = {
    "plain": "knows nothing",
    "preference": "knows the orderings",
    "printed": "knows the orderings, as printed",
    "latent_printed": "knows the means, as printed",
}
_HEIGHT = 330
MAX_TICKS = 1000
"""Maximum number of people shown as ticks."""


def against_chart(table: pl.DataFrame, axis: str) -> Chart:
    """Return a chart of bounds and measured growth of regret against one axis; `table` is from `table_against`."""
    along = AXES[axis][0]
    scale = alt.Scale(type="log" if axis == "gap" else "linear", nice=False, padding=14, zero=False)
    values = alt.Axis(values=sorted(set(table["x"].to_list())), format="~g" if axis == "gap" else "d")
    means = [mean for mean in table["mean"].to_list() if mean > 0] or [1.0]
    tips = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=along)]
    tips += [*tooltips({"y": "mean"}, ".3g"), *tooltips({"se": "± standard error", "sd": "sd over people"}, ".2g")]
    return labelled_lines(
        table.rename({"kind": "policy", "mean": "y"}).with_columns(band=2 * pl.col("se")),
        x=alt.X("x:Q", title=along, scale=scale, axis=values),
        y="regret per log T",
        limits=(0.7 * min(means), 1.4 * max(means)),
        tips=tips,
        title=f"Growth of regret against {along}",
        subtitle="bounds, and the policies' growth from round T/10 to T; bands: ± 2 standard errors",
        names=names_of(table["kind"]) | _BOUNDS,
        dashed=_BOUNDS.values(),
        log=True,
        width=430,
        height=_HEIGHT,
    )


def growth_ratio_chart(study: Study, axis: str, policy: str = "lpbts") -> Chart:
    """Return a chart of a policy's growth of regret as a multiple of its bound, per value of the axis."""
    rows = [(f"{x:g}", *growth_ratio(bounds, policy)) for x, bounds in study]
    schema = {"x": pl.String, "ratio": pl.Float64, "se": pl.Float64}
    ratio, se = pl.col("ratio"), pl.col("se")
    frame = pl.DataFrame(rows, schema=schema, orient="row").filter(ratio.is_finite())
    frame = frame.with_columns(low=ratio - se, high=ratio + se, label=pl.Series([f"{r:.1f}×" for r in frame["ratio"]]))
    base = alt.Chart(frame).encode(alt.X("x:N", title=AXES[axis][0], sort=None, axis=alt.Axis(labelAngle=0)))
    of = "growth of regret / bound"
    top = 1.15 * max(frame["high"].to_list(), default=1.0)
    y = alt.Y("ratio:Q", title=of, scale=alt.Scale(domain=[0, max(top, 1.3)]))
    bars = base.mark_bar(size=34, color=colours_of([policy])[0], opacity=0.85).encode(y)
    errors = base.mark_rule(color=INK, strokeWidth=1.5).encode(alt.Y("low:Q", title=of), alt.Y2("high:Q"))
    text = base.mark_text(dy=-10, dx=16, align="left", fontSize=13, color=INK).encode(y, text="label:N")
    line = alt.Chart(pl.DataFrame({"one": [1.0]})).mark_rule(strokeDash=[5, 4], color=INK).encode(y="one:Q")
    title, subtitle = f"Growth of regret over the bound: {name_of(policy)}", "dashed: 1, the best possible"
    return panel(bars, errors, line, text, title=title, subtitle=subtitle, width=alt.Step(84), height=_HEIGHT)


def neighbour_chart(sizes: Sequence[int] = (5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50)) -> Chart:
    """Return the exact expected share of pairs that the nearest of k random states orders differently."""
    rows = [
        (k, float(nearest_inversions(k, k)) / math.comb(k, 2), f"{float(differ_probability(k)):.2e}") for k in sizes
    ]
    base = alt.Chart(pl.DataFrame(rows, schema=["k", "share", "swap"], orient="row")).encode(
        alt.X("k:Q", title="actions and states (k = m)", scale=alt.Scale(nice=False, zero=False, padding=12))
    )
    scale = alt.Scale(domain=[0.25, 0.52], nice=False, zero=False)
    line = base.mark_line(strokeWidth=2.5, color=INK, point=alt.OverlayMarkDef(size=45, color=INK)).encode(
        alt.Y("share:Q", title="pairs ordered differently", scale=scale, axis=alt.Axis(format=".0%", tickCount=6)),
        tooltip=[
            alt.Tooltip("k:Q"),
            alt.Tooltip("share:Q", format=".1%", title="nearest neighbour"),
            alt.Tooltip("swap:N", title="probability that two states differ by one swap"),
        ],
    )
    half = alt.Chart(pl.DataFrame({"y": [0.5], "text": ["mean over all other states"]})).encode(
        alt.Y("y:Q", scale=scale)
    )
    line_at_half = half.mark_rule(strokeDash=[5, 4], color="#9aa0a8")
    label = half.mark_text(align="left", dx=4, dy=-8, x=0, color=QUIET, fontSize=12).encode(text="text:N")
    title, subtitle = "Distance of the nearest other state", "exact expectation over k random states"
    return panel(line_at_half, label, line, title=title, subtitle=subtitle, width=430, height=_HEIGHT)


def people_chart(bounds: Bounds) -> Chart:
    """Return a chart of every person's bounds, and their means over the people without an infinite bound.

    The logarithmic axis cannot show infinite and zero bounds: the row's label counts them.
    """
    known = {name: bounds.column(name) for name in _ROWS}
    known = {name: values for name, values in known.items() if not np.isnan(values).any()}
    rows = []
    for name, values in known.items():
        counts = {"infinite": int(np.isinf(values).sum()), "zero": int((values == 0).sum())}
        words = ", ".join(f"{count} of {len(values)} {word}" for word, count in counts.items() if count)
        rows.append(f"{_ROWS[name]} ({words})" if words else _ROWS[name])
    finite = np.isfinite(np.stack(list(known.values()))).all(axis=0)
    means = [float(values[finite].mean()) if finite.any() else 0.0 for values in known.values()]
    columns = {"bound": pl.String, "value": pl.Float64}
    points = [(row, value) for row, values in zip(rows, known.values(), strict=True) for value in values[:MAX_TICKS]]
    axis = alt.Axis(labelFontSize=13, labelLimit=320)
    ticks, diamonds = (
        alt.Chart(
            pl.DataFrame(values, schema=columns, orient="row").filter(pl.col("value").is_finite(), pl.col("value") > 0)
        ).encode(
            alt.X("value:Q", title="bound on regret per log T", scale=alt.Scale(type="log", nice=False, padding=20)),
            alt.Y("bound:N", title=None, sort=rows, scale=alt.Scale(domain=rows), axis=axis),
        )
        for values in (points, list(zip(rows, means, strict=True)))
    )
    layers = (
        ticks.mark_tick(thickness=2, height=18, opacity=0.45, color="#0b6e99"),
        diamonds.mark_point(size=90, filled=True, shape="diamond", color=INK, opacity=1).encode(
            tooltip=["bound:N", alt.Tooltip("value:Q", title="mean", format=".3g")]
        ),
    )
    of = "" if finite.all() else f" over the {int(finite.sum())} people without an infinite bound"
    shown = f" (first {MAX_TICKS:,})" if len(bounds.people) > MAX_TICKS else ""
    subtitle = f"one tick per person{shown}; diamond: mean{of}"
    return panel(*layers, title="Bounds per person", subtitle=subtitle, width=430, height=alt.Step(36))


def rates_chart(bounds: Bounds, most: int = 25) -> Chart:
    """Return a chart of how often an optimal policy that knows the orderings plays each suboptimal action."""
    shown = bounds.people[0]
    names = unique_labels(bounds.actions)
    rates = pl.DataFrame({"action": names, "rate": shown.preference.rates})
    others = rates.filter(pl.int_range(pl.len()) != shown.best)
    frame = others.sort("rate", descending=True, maintain_order=True)
    angle = 0 if max(map(len, names)) <= 2 else -45
    bars = alt.Chart(frame.head(most)).mark_bar(color="#0b6e99", opacity=0.85)
    chart = bars.encode(
        alt.X("action:N", title="action", sort=None, axis=alt.Axis(labelAngle=angle, labelLimit=120)),
        alt.Y("rate:Q", title="plays per log T"),
        tooltip=["action:N", alt.Tooltip("rate:Q", format=".3g")],
    )
    cut = f"; the {most} most played of {len(frame)} others" if len(frame) > most else ""
    best = display(names[shown.best], 40)
    subtitle = f"person 0; the best action, {best}, is played without limit and omitted{cut}"
    return panel(chart, title="Exploration of an optimal policy", subtitle=subtitle, width=alt.Step(24), height=200)
