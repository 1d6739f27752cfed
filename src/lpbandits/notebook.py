"""How notebooks show objects: as HTML, as charts and in reports, all of which `lpbandits.views` makes.

The views know these objects, not the other way round, so they are loaded by name when they are first used (ADR 31).
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lpbandits.views.charts.base import Chart


def _views(module: str) -> Any:
    return importlib.import_module(f"lpbandits.views.{module}")


class Shown:
    """An object that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        html: str = _views("notebook").html(self)
        return html


class Reported(Shown):
    """An agent: a page about one person."""

    def report(self, path: str | Path | None = None) -> str:
        """Return an HTML page about the person in plain words, and write it to `path` if given.

        It holds what was tried and recommended, the outcomes, what is probably best and how sure that is, and why.
        """
        page: str = _views("agent_report").report(self, path)
        return page


class Charted(Shown):
    """An object with a report: its charts and its files."""

    def chart(self, name: str | None = None) -> "Chart":
        """Return the first chart of the report, or the one with this name; a notebook shows it.

        An unknown name is an error that lists the names; they are those of the report's picture files. The chart is an
        Altair chart: `chart.save("regret.png")` writes it.
        """
        chart: Chart = _views("reports").chart(self, name)
        return chart

    def save_report(self, folder: str | Path) -> Path:
        """Write the folder that `lpb … --out` writes (charts, tables, HTML report); return the report's path."""
        path: Path = _views("reports").save(self, folder)
        return path
