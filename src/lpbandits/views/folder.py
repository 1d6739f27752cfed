"""Write a report folder: tables, documents, charts and one HTML page."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from lpbandits.errors import translate_errors
from lpbandits.io.atomic import atomic_folder, write_bytes, write_json, write_table, write_text
from lpbandits.io.paths import as_path
from lpbandits.model import PreferenceModel
from lpbandits.simulation.results import versions
from lpbandits.text import display
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, styled
from lpbandits.views.page import Drawing, Panel, Section, page

DIGITS = 5
"""Significant digits of the numbers in a chart."""
PANEL_MARGIN = 140
"""Pixels for the axis and the labels of a panel, in addition to its plot."""


@translate_errors("writing a report")
def save_report(
    folder: str | Path,
    *,
    title: str,
    lead: str,
    sections: Sequence[Section],
    foot: str = "",
    tables: Mapping[str, pl.DataFrame] | None = None,
    documents: Mapping[str, object] | None = None,
    manifest: Mapping[str, object] | None = None,
    model: PreferenceModel | None = None,
) -> Path:
    """Write all files of a report to `folder`, or none on failure; return the path of report.html.

    The files are tables (Parquet), documents (JSON), the charts of all sections (PNG and SVG), the page, a model and a
    manifest.
    """
    about = manifest or {"format": "lpbandits-report", "version": 1, "title": title, "versions": versions()}
    with atomic_folder(folder, about) as place:
        for name, table in (tables or {}).items():
            write_table(place / f"{name}.parquet", table)
        for name, document in (documents or {}).items():
            write_json(place / f"{name}.json", document)
        if model is not None:
            model.save(place / "model.json")
        charts = {name: chart for section in sections for name, chart in section.charts.items() if chart}
        drawings = {name: save_chart(chart, place / name) for name, chart in charts.items()}
        html = page(title=title, lead=lead, sections=sections, foot=foot, drawings=drawings)
        write_text(place / "report.html", html)
    return as_path(folder) / "report.html"


def save_chart(chart: Chart, path: Path) -> Drawing:
    """Write a chart as `path`.svg and `path`.png; return it in the form that the page uses."""
    spec = _spec_of(chart)
    svg = vl_convert.vegalite_to_svg(spec)
    write_text(f"{path}.svg", svg)
    write_bytes(f"{path}.png", vl_convert.svg_to_png(svg, scale=2.0))
    if "concat" not in spec or "title" in spec:  # a combined chart with a title of its own is one panel
        return Drawing([_panel(spec)], 1)
    return Drawing([_panel(_part(spec, panel)) for panel in spec["concat"]], spec["columns"])


def svg_of(chart: Chart) -> str:
    """Return a chart as an SVG element."""
    svg: str = vl_convert.vegalite_to_svg(_spec_of(chart))
    return svg


def _spec_of(chart: Chart) -> Json:
    with alt.data_transformers.enable("default", max_rows=None):  # charts limit their own rows
        return slim(_printable(styled(chart).to_dict()))


def _part(spec: Json, part: Json) -> Json:
    """Return a part of a specification with the data, configuration and parameters that it uses."""
    text = json.dumps(part)
    shared: Json = {key: spec[key] for key in ("$schema", "config", "data") if key in spec}
    data = {name: rows for name, rows in spec.get("datasets", {}).items() if f'"{name}"' in text or "data" in shared}
    params = [one for one in spec.get("params", []) if any(f'"{view}"' in text for view in one.get("views", []))]
    return {**shared, **part, "datasets": data, "params": [*part.get("params", []), *params]}


def _panel(spec: Json) -> Panel:
    width = spec.get("width")
    if isinstance(width, int):
        spec = {**spec, "width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    text = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")  # a label cannot end the script element
    return Panel(text, width + PANEL_MARGIN if isinstance(width, int) else None)


def slim(spec: Json) -> Json:
    """Drop missing values and columns that a specification never names; round data to DIGITS significant digits."""
    rest = {key: value for key, value in spec.items() if key != "datasets"}
    named = set(re.findall(r"\w+", json.dumps(rest)))

    def short(row: Json) -> Json:
        kept = {key: value for key, value in row.items() if key in named and value is not None}
        return {key: float(f"{x:.{DIGITS}g}") if isinstance(x, float) else x for key, x in kept.items()}

    data = {name: [short(row) for row in rows] for name, rows in spec.get("datasets", {}).items()}
    return {**rest, "datasets": data} if data else rest


def _printable(content: Any) -> Any:
    """Replace the characters of all strings that XML, and so SVG, cannot hold."""
    if isinstance(content, dict):
        return {key: _printable(value) for key, value in content.items()}
    if isinstance(content, list):
        return list(map(_printable, content))
    return display(content, None) if isinstance(content, str) else content


def footer(seconds: float) -> str:
    """Return the footer of a report: versions, and the seconds of the computation."""
    return ", ".join(f"{name} {number}" for name, number in versions().items()) + f". Computed in {seconds:.2f} s."
