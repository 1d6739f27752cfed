"""Colours, names, styles and layouts that all charts share.

A policy has one colour and one name in every chart. Lines are labelled at their ends.
"""

import textwrap
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import altair as alt
import polars as pl

from lpbandits.views.tables import names_of

COLOURS = {
    "lpbts": "#0b6e99",
    "lpbts-incremental": "#63b3d1",
    "lpbts-marginal": "#16324f",
    "lpb-utility": "#9bbf2f",
    "lpb-ids": "#2a9d4a",
    "lpb-horizon": "#00a5a5",
    "lpb-order-ucb": "#b5739d",
    "popular": "#6e6259",
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
    "true state": "#4d8b57",
    "all states": "#0b6e99",
    "other states": "#9a9a9a",
    "two-stage, raw (the paper's)": "#d9822b",
    "two-stage, scale-free": "#0b6e99",
    "EM": "#7a4fa3",
    "mTS, common means": "#b35c00",
    "bound-plain": "#9aa0a8",
    "bound-preference": "#24292f",
    "taste": "#b3261e",
    "item-knn": "#5b5ea6",
    "ease": "#009b77",
    "ceiling": "#8a6d3b",
}
"""Colours of the registered policies and of other series that several charts share."""

Chart: TypeAlias = alt.LayerChart | alt.FacetChart | alt.ConcatChart
"""Any chart of a report."""

_SPARE = ["#5b5ea6", "#9b2335", "#009b77", "#b565a7", "#955251", "#e15d44"]
FONT = "Arial, Liberation Sans, Helvetica, sans-serif"
"""Font of pages and charts. PNG files are drawn with Liberation Sans, which has the metrics of Arial.

Text in charts uses only characters of this font: a missing one would change the font of its whole line.
"""
TITLE_WIDTH, SUBTITLE_WIDTH = 38, 58
"""Characters per line of a title and a subtitle."""
INK = "#24292f"
QUIET = "#6b7280"


def colours_of(policies: list[str]) -> list[str]:
    """Return the colours of policies; unregistered names get spare colours."""
    spare = iter(_SPARE * (1 + len(policies) // len(_SPARE)))
    return [COLOURS.get(policy) or next(spare) for policy in policies]


def grid(charts: Iterable[Chart], columns: int = 2) -> Chart:
    """Place charts in rows of `columns`, each with its own colours."""
    combined = alt.concat(*charts, columns=columns, spacing=28)
    out: Chart = combined.resolve_scale(color="independent", strokeDash="independent")
    return out


def panel(*layers: alt.Chart, title: str, subtitle: str = "", width: int | alt.Step, height: int | alt.Step) -> Chart:
    """Return one chart of several layers."""
    return alt.layer(*layers).properties(width=width, height=height, title=heading(title, subtitle))


deferred_validation = alt.utils.schemapi.debug_mode(False)
"""Decorator: altair validates the charts of the function once, when they are saved, and not part by part."""


def styled(chart: Chart) -> Chart:
    """Return a copy of the chart with the package's style."""
    out: Chart = chart.copy(deep=False)
    out.config = alt.Config(
        font=FONT,
        background="white",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=QUIET,
            titleColor=INK,
            titleFontWeight="normal",
            gridColor="#eceff3",
            domainColor="#c9ced6",
            tickColor="#c9ced6",
            labelFontSize=12,
            titleFontSize=13,
        ),
        title=alt.TitleConfig(
            color=INK, fontSize=16, anchor="start", subtitleColor=QUIET, subtitleFontSize=12, offset=14
        ),
    )
    return out


def heading(title: str, subtitle: str = "") -> alt.TitleParams:
    """Return a chart's title and subtitle, wrapped so that they fit a narrow screen."""
    below = textwrap.wrap(subtitle, SUBTITLE_WIDTH, break_on_hyphens=False) if subtitle else alt.Undefined
    return alt.TitleParams(textwrap.wrap(title, TITLE_WIDTH, break_on_hyphens=False), subtitle=below)


def tooltips(titles: Mapping[str, str], number_format: str) -> list[alt.Tooltip]:
    """Return tooltips of numeric fields with their titles."""
    return [alt.Tooltip(f"{name}:Q", title=title, format=number_format) for name, title in titles.items()]


def with_names(frame: pl.DataFrame, names: Mapping[str, str] | None = None) -> tuple[pl.DataFrame, alt.Color]:
    """Replace the column `policy` by `name`, and return the frame with the colour encoding of the names."""
    policies = frame["policy"].unique(maintain_order=True).to_list()
    names = names or names_of(policies)
    colours = zip((names[policy] for policy in policies), colours_of(policies), strict=True)
    named = frame.with_columns(name=pl.col("policy").replace_strict(names)).drop("policy")
    return named, colour_scale("name", dict(colours))


def colour_scale(field: str, colours: Mapping[str, str], legend: alt.Legend | None = None) -> alt.Color:
    """Return the colour encoding of a field with the colour of each value."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", sort=None, scale=scale, legend=legend)
