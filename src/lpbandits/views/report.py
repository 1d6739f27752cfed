"""A report and its files: tables, charts, and one HTML page that opens without a network."""

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import vl_convert

from lpbandits import validate
from lpbandits.simulation.results import versions
from lpbandits.views.charts import Chart, styled


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


def save_report(
    folder: str | Path,
    *,
    title: str,
    lead: str,
    sections: Sequence[Section],
    foot: str = "",
    tables: Mapping[str, pl.DataFrame] | None = None,
) -> Path:
    """Write tables (Parquet), every section's charts (PNG and SVG) and report.html to `folder`; return its path."""
    out = validate.as_folder(folder)
    for name, table in (tables or {}).items():
        table.write_parquet(out / f"{name}.parquet")
    specs = {name: save_chart(chart, out / name) for section in sections for name, chart in section.charts.items()}
    body = "\n".join(map(_section, sections))
    embeds = "\n".join(
        f'vegaEmbed("#chart-{name}", {spec}, '
        "{actions: {export: true, source: false, compiled: false, editor: false}});"
        for name, spec in specs.items()
    )
    script = vl_convert.javascript_bundle(None) if specs else ""  # type: ignore[arg-type] # its stub lacks the default
    text = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<header><h1>{html.escape(title)}</h1><p>{html.escape(lead)}</p></header>
{body}
<footer>{html.escape(foot)}</footer>
</main>
<script>{script}</script>
<script>
{embeds}
</script>
</body>
</html>
"""
    page = out / "report.html"
    page.write_text(text, encoding="utf-8")
    return page


def save_chart(chart: Chart, path: Path) -> str:
    """Write a chart as `path`.svg and `path`.png; return its Vega-Lite specification, for a script in a page."""
    spec = styled(chart).to_dict()
    svg = vl_convert.vegalite_to_svg(spec)
    Path(f"{path}.svg").write_text(svg, encoding="utf-8")
    Path(f"{path}.png").write_bytes(vl_convert.svg_to_png(svg, scale=2.0))
    return json.dumps(spec).replace("</", "<\\/")


def made_with(seconds: float) -> str:
    """Return what a report says of its making: versions, and the seconds of the computation."""
    return ", ".join(f"{name} {number}" for name, number in versions().items()) + f". Computed in {seconds:.2f} s."


def _section(section: Section) -> str:
    parts = [f"<h2>{html.escape(section.heading)}</h2>"]
    parts += [f"<p>{html.escape(paragraph)}</p>" for paragraph in section.text]
    charts = "".join(f'<div class="chart" id="chart-{name}"></div>' for name in section.charts)
    parts += [f'<div class="charts">{charts}</div>'] if charts else []
    parts += [_table(table) for table in section.tables]
    return f"<section>{''.join(parts)}</section>"


def _table(table: Table) -> str:
    numeric = [all(_is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    marks = [' class="number"' if is_number else "" for is_number in numeric]
    head = "".join(f"<th{mark}>{html.escape(name)}</th>" for mark, name in zip(marks, table.columns, strict=True))
    rows = "".join("<tr>" + "".join(map(_cell, marks, table.columns, row)) + "</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(mark: str, column: str, text: str) -> str:
    """Return a table cell; a verdict is coloured by how it begins."""
    if column == "verdict":
        looks = {"holds only": "only", "holds": "holds", "does not": "fails"}
        look = next((look for start, look in looks.items() if text.startswith(start)), "open")
        return f'<td><span class="verdict {look}">{html.escape(text)}</span></td>'
    return f"<td{mark}>{html.escape(text)}</td>"


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or text[:1] in "-–−+" or text == ""
