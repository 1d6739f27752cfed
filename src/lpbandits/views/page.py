"""Render a report as one HTML page that opens without a network."""

import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import NamedTuple

import jinja2
import vl_convert
from markupsafe import Markup

from lpbandits.errors import InvalidInput
from lpbandits.io import paths
from lpbandits.io.atomic import write_text
from lpbandits.text import display
from lpbandits.views.charts.base import FONT, Chart
from lpbandits.views.tables import numeric_columns

VERDICTS = {"holds": ("✓", "holds"), "does not hold": ("✗", "fails"), "not settled": ("?", "open")}
"""Symbol and CSS class of each verdict; the symbols differ, so that colour is not needed to read them."""
SIDE_BY_SIDE = 1060
"""Width in pixels of the widest chart that has its remarks to the right; the remarks of wider charts are below."""


class Panel(NamedTuple):
    """A Vega-Lite specification (JSON) and its preferred width in pixels.

    A panel with a width shrinks with the page. A panel without one (None) has a fixed size and scrolls sideways.
    """

    spec: str
    width: int | None


class Drawing(NamedTuple):
    """A chart on the page: its panels, and their number per row on a wide screen."""

    panels: Sequence[Panel]
    columns: int

    @property
    def width(self) -> int:
        """Preferred width of a row in pixels."""
        return sum(panel.width or 0 for panel in self.panels[: self.columns])


class Picture(NamedTuple):
    """A chart without JavaScript: the SVG elements for a wide and a narrow screen, and a description."""

    wide: str
    narrow: str
    text: str


@dataclass(frozen=True)
class Link:
    """Text that links to the section with this anchor."""

    text: str
    anchor: str


@dataclass(frozen=True)
class Table:
    """A table of text; columns of numbers are aligned to the right.

    A column "verdict" is coloured; a column without a heading shows only the verdict's symbol. A row of one cell is a
    heading within the table. A summary table has small type.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    summary: bool = False
    note: str | Link = ""

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds only numbers and empty cells."""
        return numeric_columns(self.columns, self.rows)


@dataclass(frozen=True)
class Remark:
    """A checked statement about a chart: its verdict, the statement and the lines that support it."""

    verdict: str
    text: str
    lines: Sequence[str] = ()


@dataclass(frozen=True)
class Section:
    """A section of a report: heading, paragraphs, charts by file name, remarks on the charts, tables.

    A chart may be None if the caller of `page` has drawn it. A small section has small type.
    """

    heading: str
    text: Sequence[str] = ()
    charts: Mapping[str, Chart | None] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    remarks: Sequence[Remark] = ()
    anchor: str = ""
    small: bool = False


def page(
    *, title: str, lead: str, sections: Sequence[Section], foot: str, drawings: Mapping[str, Drawing | Picture]
) -> str:
    """Return the HTML page; `drawings` holds the chart of each name in the sections."""
    live = {name: drawing for name, drawing in drawings.items() if isinstance(drawing, Drawing)}
    placed = []
    for section in sections:
        widths = [live[name].width for name in section.charts if name in live]
        beside = bool(widths and section.remarks) and max(widths) <= SIDE_BY_SIDE
        placed.append((section, beside))
    return template("report.html").render(
        title=title,
        lead=lead,
        sections=placed,
        foot=foot,
        drawings=drawings,
        live=live,
        vega=vega_scripts() if live else "",
        font=FONT,
        verdicts=VERDICTS,
    )


@functools.cache
def vega_scripts() -> str:
    """Return the JavaScript of Vega, Vega-Lite and Vega-Embed.

    Bundling takes over a second, so the bundle of each version is kept in the user's cache folder.
    """
    cache = paths.cache_path()
    folder = None if cache is None else paths.private_folder(cache)
    file = folder / f"vega-{version('vl-convert-python')}.js" if folder is not None else None
    if file is not None and file.is_file():
        return file.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle(None)  # type: ignore[arg-type] # its stub lacks the default
    if file is not None:
        with contextlib.suppress(InvalidInput):  # the report does not need the cache
            write_text(file, bundle)
    return bundle


@functools.cache
def template(name: str) -> jinja2.Template:
    """Return a template that escapes text and replaces its control characters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        finalize=_displayed,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _displayed(value: object) -> object:
    """Replace control characters of text; markup that the template made is unchanged."""
    return display(value, None) if isinstance(value, str) and not isinstance(value, Markup) else value
