"""A report and its files: tables, charts, and one HTML page that opens without a network."""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from lpbandits.errors import door
from lpbandits.files.writing import whole_folder, write_bytes, write_json, write_table, write_text
from lpbandits.simulation.results import versions
from lpbandits.text import shown
from lpbandits.views.charts import Chart, styled

FORMAT = "lpbandits-report"
VERSION = 1


@dataclass(frozen=True)
class Table:
    """A table: a heading per column and rows of text; numbers are set to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A part of a report: a heading, paragraphs, then charts (by the name of their files) and tables."""

    heading: str
    text: Sequence[str] = ()
    charts: Mapping[str, Chart] = field(default_factory=dict)
    tables: Sequence[Table] = ()


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 Inter, Helvetica, Arial, sans-serif; color: #24292f; background: #f6f7f9; margin: 0; }
main { max-width: 1330px; margin: 0 auto; padding: 40px 28px 64px; }
header p { font-size: 18px; color: #57606a; max-width: 46em; }
h1 { font-size: 32px; line-height: 1.2; margin: 0 0 8px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 0 0 10px; }
section { background: white; border: 1px solid #e3e6ea; border-radius: 10px; padding: 24px 28px; margin: 22px 0; }
section p { max-width: 60em; margin: 6px 0 12px; }
p, footer { overflow-wrap: break-word; }
.charts { display: flex; flex-wrap: wrap; gap: 18px; }
.chart { overflow-x: auto; }
table { border-collapse: collapse; margin-top: 12px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: #57606a; border-bottom: 2px solid #d0d7de; }
th, td { padding: 7px 22px 7px 0; vertical-align: top; }
td { border-bottom: 1px solid #eceff3; }
td.number, th.number { text-align: right; white-space: nowrap; }
.verdict { font-weight: 600; }
.holds { color: #1a7f37; } .only { color: #9a6700; } .fails { color: #cf222e; } .open { color: #57606a; }
footer { color: #6b7280; font-size: 13px; }
"""


@door("writing a report")
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
    with whole_folder(folder, about) as place:
        for name, table in (tables or {}).items():
            write_table(place / f"{name}.parquet", table)
        for name, document in (documents or {}).items():
            write_json(place / f"{name}.json", document)
        charts = {name: chart for section in sections for name, chart in section.charts.items()}
        specs = {name: save_chart(chart, place / name) for name, chart in charts.items()}
        write_text(place / "report.html", _page(title, lead, sections, foot, specs))
    return Path(folder) / "report.html"


def _page(title: str, lead: str, sections: Sequence[Section], foot: str, specs: Mapping[str, str]) -> str:
    """Return the report as one HTML page; `specs` are the charts' specifications."""
    body = "\n".join(map(_section, sections))
    embeds = "\n".join(
        f'vegaEmbed("#chart-{name}", {spec}, '
        "{actions: {export: true, source: false, compiled: false, editor: false}});"
        for name, spec in specs.items()
    )
    script = vl_convert.javascript_bundle(None) if specs else ""  # type: ignore[arg-type] # its stub lacks the default
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header><h1>{_text(title)}</h1><p>{_text(lead)}</p></header>
{body}
<footer>{_text(foot)}</footer>
</main>
<script>{script}</script>
<script>
{embeds}
</script>
</body>
</html>
"""


def save_chart(chart: Chart, path: Path) -> str:
    """Write a chart as `path`.svg and `path`.png; return its Vega-Lite specification, for a script in a page."""
    with alt.data_transformers.enable("default", max_rows=None):  # charts are kept small where they are made
        spec = _plain(styled(chart).to_dict())
    svg = vl_convert.vegalite_to_svg(spec)
    write_text(f"{path}.svg", svg)
    write_bytes(f"{path}.png", vl_convert.svg_to_png(svg, scale=2.0))
    return json.dumps(spec).replace("<", "\\u003c")  # nothing in a label can end the script, or begin a comment


def _plain(content: Any) -> Any:
    """Return a specification whose text an XML file, such as SVG, can hold."""
    if isinstance(content, dict):
        return {key: _plain(value) for key, value in content.items()}
    if isinstance(content, list):
        return list(map(_plain, content))
    return shown(content, None) if isinstance(content, str) else content


def _text(text: str) -> str:
    """Return text as HTML, whatever is in it."""
    return html.escape(shown(text, None))


def made_with(seconds: float) -> str:
    """Return what a report says of its making: versions, and the seconds of the computation."""
    return ", ".join(f"{name} {number}" for name, number in versions().items()) + f". Computed in {seconds:.2f} s."


def _section(section: Section) -> str:
    parts = [f"<h2>{_text(section.heading)}</h2>"]
    parts += [f"<p>{_text(paragraph)}</p>" for paragraph in section.text]
    charts = "".join(f'<div class="chart" id="chart-{name}"></div>' for name in section.charts)
    parts += [f'<div class="charts">{charts}</div>'] if charts else []
    parts += [_table(table) for table in section.tables]
    return f"<section>{''.join(parts)}</section>"


def _table(table: Table) -> str:
    numeric = [all(_is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    marks = [' class="number"' if is_number else "" for is_number in numeric]
    head = "".join(f"<th{mark}>{_text(name)}</th>" for mark, name in zip(marks, table.columns, strict=True))
    rows = "".join("<tr>" + "".join(map(_cell, marks, table.columns, row)) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(mark: str, column: str, text: str) -> str:
    """Return a table cell; a verdict is coloured by how it begins."""
    if column == "verdict":
        looks = {"holds only": "only", "holds": "holds", "does not": "fails"}
        look = next((look for start, look in looks.items() if text.startswith(start)), "open")
        return f'<td><span class="verdict {look}">{_text(text)}</span></td>'
    return f"<td{mark}>{_text(text)}</td>"


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in "-–−+" or text == ""
