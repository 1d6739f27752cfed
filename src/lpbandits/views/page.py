"""One HTML page that opens without a network: sections of text, charts, remarks beside them, and tables."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lpbandits.text import display
from lpbandits.views.charts.base import FONT, Chart
from lpbandits.views.vega import scripts

VERDICTS = {"holds": ("✓", "holds"), "does not hold": ("✗", "fails"), "not settled": ("?", "open")}
"""How a verdict is marked, and the look of the mark; the mark is read without its colour, too."""

NARROW = 700
"""Pixels below which charts that stand side by side stand one below the other."""
LEAST = 130
"""Pixels that the plot of such a chart has at least, beside its axis and the names at its lines' ends."""
SMALL = 0.8
"""A chart that would be shown smaller than this, its type with it, takes all the width, and remarks stand below it."""


@dataclass(frozen=True)
class Link:
    """Text that leads to the section of that anchor."""

    text: str
    to: str


@dataclass(frozen=True)
class Table:
    """A table: a heading per column and rows of text; numbers are set to the right.

    A column "verdict" is coloured; one without a heading shows only its mark. A row of one cell is a heading within the
    table. A table that is a summary has small type and no links underlined. The note stands below.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    summary: bool = False
    note: str | Link = ""


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
section { background: white; border: 1px solid #e3e6ea; border-radius: 10px; padding: 24px 28px; margin: 22px 0; }
section p { max-width: 60em; margin: 6px 0 12px; }
p, footer, td, li { overflow-wrap: anywhere; }
a { color: inherit; text-decoration-color: #c9ced6; text-underline-offset: 3px; }
a:hover { text-decoration: underline currentColor; }
.charts { display: flex; flex-wrap: wrap; gap: 18px; min-width: 0; }
.chart { max-width: 100%; position: relative; }
.chart svg { max-width: 100%; height: auto; }
.charts .chart.has-actions { padding-right: 0; }
.beside .chart, .chart .chart { width: 100%; }
.table { overflow-x: auto; font-size: 14px; }
table { border-collapse: collapse; margin-top: 12px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: #57606a; border-bottom: 2px solid #d0d7de; }
th, td { padding: 7px 22px 7px 0; vertical-align: top; }
td { border-bottom: 1px solid #eceff3; min-width: 4em; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.mark { min-width: 0; padding-right: 8px; white-space: nowrap; }
.verdict { font-weight: 600; }
.holds { color: #1a7f37; } .fails { color: #cf222e; } .open { color: #6e7781; }
.summary { font-size: 13.5px; line-height: 1.3; }
.summary table { width: 100%; margin-top: 4px; }
.summary a:not(:hover) { text-decoration: none; }
.summary th, .summary td { padding: 4px 14px 4px 0; overflow-wrap: break-word; }
.summary td.mark { padding-right: 8px; font-size: 15px; line-height: 1; }
.summary td:nth-child(3) { width: 50%; color: #57606a; }
.summary th.within { padding-top: 10px; border-bottom-width: 1px; }
.note { font-size: 14px; margin-bottom: 0; }
.remarks { list-style: none; margin: 12px 0 0; padding: 0; font-size: 14px; line-height: 1.4; }
.remarks li { padding: 10px 0 10px 24px; border-top: 1px solid #eceff3; position: relative; }
.remarks .verdict { position: absolute; left: 0; }
.remarks div { color: #57606a; font-size: 13px; margin-top: 3px; }
.remarks strong { color: #24292f; font-weight: 600; }
footer { color: #6b7280; font-size: 13px; }
@media (min-width: 1100px) {
  /* Remarks stand right of the charts; when there are many, they go on below, in columns of the same width. */
  .beside { display: flow-root; }
  .beside:not(.below) .charts { float: left; width: 66.5%; padding-right: 30px; margin-bottom: 12px; }
  .beside .remarks { margin: 0; }
  .remarks li { display: inline-block; vertical-align: top; width: 33.3%; padding-right: 20px; }
}
@media (min-width: 1300px) { .beside:not(.below) .charts { width: 74.8%; } .remarks li { width: 25%; } }
@media (max-width: 640px) {
  main { padding: 20px 10px 40px; }
  section { padding: 16px 14px; border-radius: 8px; margin: 14px 0; }
  h1 { font-size: 25px; }
  th, td { padding-right: 12px; }
  .summary td:nth-child(3) { width: 46%; }
  .summary th, .summary td { padding-right: 8px; }
}
@media print { section { break-inside: avoid; } body { background: white; } }
""".replace("FONT", FONT)


def page(*, title: str, lead: str, sections: Sequence[Section], foot: str, specs: Mapping[str, str]) -> str:
    """Return the page; `specs` are the charts' specifications, by the names that the sections have them under."""
    body = "\n".join(map(_section, sections))
    embeds = "\n".join(f'show("{name}", {spec});' for name, spec in specs.items())
    script = scripts() if specs else ""
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


# Without a "less than", which a browser could take for the script's end.
_SHOW = f"""const look = {{renderer: "svg", actions: {{export: true, source: false, compiled: false, editor: false}}}};
function panels(spec) {{  // the charts that one is made of, each with what it needs of the whole
  const parts = spec.hconcat || spec.concat || spec.vconcat;
  if (!parts) return [spec];
  return parts.flatMap(part => {{
    const text = JSON.stringify(part);
    const params = (spec.params || []).filter(p => (p.views || []).some(view => text.includes(`"name":"${{view}}"`)));
    const {{$schema, config, datasets}} = spec;
    return panels({{...part, $schema, config, datasets, params: [...(part.params || []), ...params]}});
  }});
}}
function wrapped(text, font, room) {{
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = font + " {FONT}";
  return [text].flat().join(" ").split(" ").reduce((lines, word) => {{
    const longer = lines.length ? lines[lines.length - 1] + " " + word : word;
    return lines.length && pen.measureText(longer).width > room ? [...lines, word] : [...lines.slice(0, -1), longer];
  }}, []);
}}
async function fit(place, spec) {{  // the plot gives way, and the type keeps its size
  const room = place.closest(".charts").clientWidth;
  const title = typeof spec.title === "object" ? spec.title : {{text: spec.title || ""}};
  spec.title = {{...title, text: wrapped(title.text, "bold 16px", room - 50)}};
  if (title.subtitle) spec.title.subtitle = wrapped(title.subtitle, "12px", room - 50);
  await vegaEmbed(place, spec, look);
  const over = place.querySelector("svg").viewBox.baseVal.width - room;
  const width = Math.max(spec.width - over, {LEAST});
  if (over > 0 && spec.width > width) await vegaEmbed(place, {{...spec, width}}, look);
}}
function show(name, spec) {{
  const place = document.getElementById("chart-" + name);
  if (window.innerWidth >= {NARROW}) {{
    vegaEmbed(place, spec, look).then(() => {{
      const svg = place.querySelector("svg"), both = place.closest(".beside");
      if (both && {SMALL} * svg.viewBox.baseVal.width > svg.clientWidth) both.classList.add("below");
    }});
    return;
  }}
  for (const panel of panels(spec)) {{
    const own = document.createElement("div");
    own.className = "chart";
    fit(place.appendChild(own), panel);
  }}
}}"""


def _text(text: str) -> str:
    """Return text as HTML, whatever is in it."""
    return html.escape(display(text, None))


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
    looks = _looks(table)
    head = "".join(f"<th{look}>{_text(name)}</th>" for look, name in zip(looks, table.columns, strict=True))
    body = "".join(f"<tr>{_row(table, looks, row)}</tr>" for row in table.rows)
    note = f'<p class="note">{_linked(table.note)}</p>' if table.note else ""
    look = "table summary" if table.summary else "table"
    return f'<div class="{look}"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}'


def _looks(table: Table) -> list[str]:
    rows = [row for row in table.rows if len(row) == len(table.columns)]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(table.columns))]
    return [' class="number"' if number else "" for number in numeric]


def _row(table: Table, looks: Sequence[str], row: Sequence[str | Link]) -> str:
    if len(row) == 1 < len(table.columns):
        return f'<th class="within" colspan="{len(table.columns)}">{_linked(row[0])}</th>'
    return "".join(map(_cell, looks, table.columns, row))


def _linked(content: str | Link) -> str:
    if isinstance(content, Link):
        return f'<a href="#{_text(content.to)}">{_text(content.text)}</a>'
    return _text(content)


def _cell(look: str, column: str, content: str | Link) -> str:
    """Return a table cell; a verdict is coloured."""
    if column == "" and isinstance(content, str) and content in VERDICTS:
        return f'<td class="mark">{_mark(content)}</td>'
    if column == "verdict" and isinstance(content, str):
        return f'<td class="mark">{_mark(content)} {_text(content)}</td>'
    return f"<td{look}>{_linked(content)}</td>"


def _is_number(content: str | Link) -> bool:
    if isinstance(content, Link):
        return False
    return content[:1].isdigit() or content[:1] in "-–−+" or content == ""
