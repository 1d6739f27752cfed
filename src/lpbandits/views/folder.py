"""A report and its files: tables, charts, and one HTML page that opens without a network."""

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
from lpbandits.simulation.results import versions
from lpbandits.text import display
from lpbandits.typing import Json
from lpbandits.views.charts.base import Chart, styled
from lpbandits.views.page import Section, page

FORMAT = "lpbandits-report"
VERSION = 1
DIGITS = 5
"""Digits that a chart's numbers have: more than anyone can see."""


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
) -> Path:
    """Write a report's files to `folder`, all of them or none; return the path of report.html.

    They are tables (Parquet), documents (JSON), every section's charts (PNG and SVG), the page, and the manifest.
    """
    about = manifest or {"format": FORMAT, "version": VERSION, "title": title, "versions": versions()}
    with atomic_folder(folder, about) as place:
        for name, table in (tables or {}).items():
            write_table(place / f"{name}.parquet", table)
        for name, document in (documents or {}).items():
            write_json(place / f"{name}.json", document)
        charts = {name: chart for section in sections for name, chart in section.charts.items()}
        specs = {name: save_chart(chart, place / name) for name, chart in charts.items()}
        write_text(place / "report.html", page(title=title, lead=lead, sections=sections, foot=foot, specs=specs))
    return as_path(folder) / "report.html"


def save_chart(chart: Chart, path: Path) -> str:
    """Write a chart as `path`.svg and `path`.png; return its Vega-Lite specification, for a script in a page."""
    with alt.data_transformers.enable("default", max_rows=None):  # charts are kept small where they are made
        spec = slim(_plain(styled(chart).to_dict()))
    svg = vl_convert.vegalite_to_svg(spec)
    write_text(f"{path}.svg", svg)
    write_bytes(f"{path}.png", vl_convert.svg_to_png(svg, scale=2.0))
    return json.dumps(spec, separators=(",", ":")).replace(
        "<", "\\u003c"
    )  # nothing in a label can end the script, or begin a comment


def slim(spec: Json) -> Json:
    """Return a specification without columns that it never names, its data to DIGITS digits.

    >>> slim({"encoding": {"x": {"field": "a"}}, "datasets": {"d": [{"a": 1 / 3, "b": 2}]}})["datasets"]
    {'d': [{'a': 0.33333}]}
    """
    rest = {key: value for key, value in spec.items() if key != "datasets"}
    named = set(re.findall(r"\w+", json.dumps(rest)))
    data = {
        name: [{key: _short(value) for key, value in row.items() if key in named} for row in rows]
        for name, rows in spec.get("datasets", {}).items()
    }
    return {**rest, "datasets": data} if data else rest


def _short(value: object) -> object:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _plain(content: Any) -> Any:
    """Return a specification whose text an XML file, such as SVG, can hold."""
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list):
        return list(map(_plain, content))
    return display(content, None) if isinstance(content, str) else content


def footer(seconds: float) -> str:
    """Return what a report says of its making: versions, and the seconds of the computation."""
    return ", ".join(f"{name} {number}" for name, number in versions().items()) + f". Computed in {seconds:.2f} s."
