"""One HTML page that opens without a network: sections of text, charts, remarks beside them, and tables."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import vl_convert

from lpbandits.text import shown
from lpbandits.views.charts import FONT, Chart

VERDICTS = {"holds": ("✓", "holds"), "does not hold": ("✗", "fails"), "not settled": ("?", "open")}
"""How a verdict is marked, and the look of the mark; the mark is read without its colour, too."""

NARROW = 700
"""Pixels below which charts that stand side by side stand one below the other."""


@dataclass(frozen=True)
class Link:
    """Text that leads to the section of that anchor."""

    text: str
    to: str


@dataclass(frozen=True)
class Table:
    """A table: a heading per column and rows of text; numbers are set to the right.

    A column "verdict" is coloured; one without a heading shows only its mark. A compact table has small type, and its
    rows stand in two columns where the page is wide.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    compact: bool = False
    title: str = ""


@dataclass(frozen=True)
class Remark:
    """A judged sentence beside a chart: its verdict, the sentence, and the lines that support it."""

    verdict: str
    text: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A part of a report: a heading, paragraphs, charts (by the name of their files), remarks beside them, tables."""

    heading: str
    text: Sequence[str] = ()
    charts: Mapping[str, Chart] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    remarks: Sequence[Remark] = ()
    anchor: str = ""


_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { font: 16px/1.55 FONT; color: #24292f; background: #f6f7f9; margin: 0; }
main { max-width: 1500px; margin: 0 auto; padding: 28px 28px 64px; }
header p { font-size: 17px; color: #57606a; max-width: 52em; margin: 8px 0; }
h1 { font-size: 32px; line-height: 1.2; margin: 0 0 8px; letter-spacing: -0.01em; }
h2 { font-size: 20px; margin: 0 0 10px; }
h3 { font-size: 14px; margin: 14px 0 2px; color: #57606a; }
section { background: white; border: 1px solid #e3e6ea; border-radius: 10px; padding: 24px 28px; margin: 22px 0; }
section p { max-width: 60em; margin: 6px 0 12px; }
p, footer, td, li { overflow-wrap: anywhere; }
a { color: inherit; text-decoration-color: #c9ced6; text-underline-offset: 3px; }
a:hover { text-decoration: underline currentColor; }
.charts { display: flex; flex-wrap: wrap; gap: 18px; min-width: 0; }
.chart { max-width: 100%; position: relative; }
.chart svg { max-width: 100%; height: auto; }
.beside .chart { width: 100%; }
.table { overflow-x: auto; font-size: 14px; }
table { border-collapse: collapse; margin-top: 12px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: #57606a; border-bottom: 2px solid #d0d7de; }
th, td { padding: 7px 22px 7px 0; vertical-align: top; }
td { border-bottom: 1px solid #eceff3; min-width: 4em; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.mark { min-width: 0; padding-right: 8px; white-space: nowrap; }
.verdict { font-weight: 600; }
.holds { color: #1a7f37; } .fails { color: #cf222e; } .open { color: #6e7781; }
.halves { display: flex; flex-wrap: wrap; gap: 0 32px; }
.halves a:not(:hover) { text-decoration: none; }
.halves table { flex: 1 1 420px; min-width: 0; align-self: flex-start; font-size: 12px; line-height: 1.25; margin: 0; }
.halves td { padding: 2px 10px 2px 0; min-width: 0; overflow-wrap: break-word; }
.halves td.mark { font-size: 14px; line-height: 1; }
.halves td:nth-child(3) { width: 40%; color: #57606a; }
.remarks { list-style: none; margin: 12px 0 0; padding: 0; font-size: 14px; line-height: 1.4; }
.remarks li { padding: 10px 0 10px 24px; border-top: 1px solid #eceff3; position: relative; }
.remarks .verdict { position: absolute; left: 0; }
.remarks div { color: #57606a; font-size: 13px; margin-top: 3px; }
.remarks strong { color: #24292f; font-weight: 600; }
footer { color: #6b7280; font-size: 13px; }
@media (min-width: 1100px) {
  /* Remarks stand right of the charts; when there are many, they go on below, in columns of the same width. */
  .beside { display: flow-root; }
  .beside .charts { float: left; width: 66.5%; padding-right: 30px; margin-bottom: 12px; }
  .beside .remarks { margin: 0; }
  .remarks li { display: inline-block; vertical-align: top; width: 33.3%; padding-right: 20px; }
}
@media (min-width: 1300px) { .beside .charts { width: 74.8%; } .remarks li { width: 25%; } }
@media (max-width: 640px) {
  main { padding: 20px 10px 40px; }
  section { padding: 16px 14px; border-radius: 8px; margin: 14px 0; }
  h1 { font-size: 25px; }
  th, td { padding-right: 12px; }
  .chart.has-actions { padding-right: 0; }
  .halves table { flex-basis: 100%; font-size: 13px; }
}
@media print { section { break-inside: avoid; } body { background: white; } }
""".replace("FONT", FONT)


def page(*, title: str, lead: str, sections: Sequence[Section], foot: str, specs: Mapping[str, str]) -> str:
    """Return the page; `specs` are the charts' specifications, by the names that the sections have them under."""
    body = "\n".join(map(_section, sections))
    embeds = "\n".join(f'show("{name}", {spec});' for name, spec in specs.items())
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
{_SHOW if specs else ""}
{embeds}
</script>
</body>
</html>
"""


_SHOW = f"""function stack(spec) {{  // on a phone, charts that stand side by side stand one below the other
  for (const side of ["hconcat", "concat", "vconcat"]) if (spec[side]) {{
    const parts = spec[side].map(stack);
    delete spec[side]; delete spec.columns;
    spec.vconcat = parts;
  }}
  return spec;
}}
function show(name, spec) {{
  const look = {{renderer: "svg", actions: {{export: true, source: false, compiled: false, editor: false}}}};
  vegaEmbed("#chart-" + name, {NARROW} > window.innerWidth ? stack(spec) : spec, look);
}}"""


def _text(text: str) -> str:
    """Return text as HTML, whatever is in it."""
    return html.escape(shown(text, None))


def _section(section: Section) -> str:
    parts = [f"<h2>{_text(section.heading)}</h2>"]
    parts += [f"<p>{_text(paragraph)}</p>" for paragraph in section.text]
    charts = "".join(f'<div class="chart" id="chart-{name}"></div>' for name in section.charts)
    shown_charts = f'<div class="charts">{charts}</div>' if charts else ""
    remarks = f'<ul class="remarks">{"".join(map(_remark, section.remarks))}</ul>' if section.remarks else ""
    both = f'<div class="beside">{shown_charts}{remarks}</div>' if charts and remarks else shown_charts + remarks
    parts += [both, *map(_table, section.tables)]
    anchor = f' id="{_text(section.anchor)}"' if section.anchor else ""
    return f"<section{anchor}>{''.join(parts)}</section>"


def _remark(remark: Remark) -> str:
    first, *rest = remark.lines or [""]
    lines = (f"<div><strong>{_text(first)}</strong></div>" if first else "") + "".join(
        f"<div>{_text(line)}</div>" for line in rest
    )
    return f"<li>{_mark(remark.verdict)}{_text(remark.text)}{lines}</li>"


def _mark(verdict: str) -> str:
    """Return a verdict's mark; whoever hears the page, or rests the pointer on it, is told the word."""
    mark, look = VERDICTS.get(verdict, ("?", "open"))
    return (
        f'<span class="verdict {look}" role="img" aria-label="{_text(verdict)}" title="{_text(verdict)}">{mark}</span>'
    )


def _table(table: Table) -> str:
    title = f"<h3>{_text(table.title)}</h3>" if table.title else ""
    if table.compact:
        half = (len(table.rows) + 1) // 2
        halves = "".join(f"<table><tbody>{_rows(table, rows)}</tbody></table>" for rows in _split(table.rows, half))
        return f'{title}<div class="halves">{halves}</div>'
    head = "".join(f"<th{mark}>{_text(name)}</th>" for mark, name in zip(_looks(table), table.columns, strict=True))
    return (
        f'{title}<div class="table"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{_rows(table, table.rows)}</tbody></table></div>"
    )


def _split(rows: Sequence[Sequence[str | Link]], half: int) -> list[Sequence[Sequence[str | Link]]]:
    return [part for part in (rows[:half], rows[half:]) if part]


def _looks(table: Table) -> list[str]:
    numeric = [all(_is_number(row[i]) for row in table.rows) for i in range(len(table.columns))]
    return [' class="number"' if number and not table.compact else "" for number in numeric]


def _rows(table: Table, rows: Sequence[Sequence[str | Link]]) -> str:
    looks = _looks(table)
    return "".join("<tr>" + "".join(map(_cell, looks, table.columns, row)) + "</tr>" for row in rows)


def _cell(look: str, column: str, content: str | Link) -> str:
    """Return a table cell; a verdict is coloured."""
    if isinstance(content, Link):
        return f'<td{look}><a href="#{_text(content.to)}">{_text(content.text)}</a></td>'
    if column == "":
        return f'<td class="mark">{_mark(content)}</td>' if content in VERDICTS else f"<td{look}>{_text(content)}</td>"
    if column == "verdict":
        return f'<td class="mark">{_mark(content)} {_text(content)}</td>'
    return f"<td{look}>{_text(content)}</td>"


def _is_number(content: str | Link) -> bool:
    if isinstance(content, Link):
        return False
    return content[:1].isdigit() or content[:1] in "-–−+" or content == ""
