"""docs/benchmarks.md, written from benchmarks/results.json: by `make bench`, or by `python -m benchmarks page`."""

from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from benchmarks import beaten
from benchmarks.charts import CHARTS
from benchmarks.markdown import table
from benchmarks.measure import Row, cells
from benchmarks.results import Results
from benchmarks.sections import SECTIONS
from lpbandits.views.charts import styled

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "benchmarks"

METHOD = """\
`make bench` wrote this page, `benchmarks/results.json` and the charts, in an environment of its own: the packages that
it measures against are in the dependency group `bench` and nowhere else.

- **Processor time** of one thread, not the clock: what else the machine does adds little to it.
- **In turn**: everybody does the same job, one after the other, several times over, and the best of each counts. What
  the machine does falls on all alike, and can only add to a time.
- **Warm**: everything ran once before. Compiling and importing are measured apart,
  [below](#the-first-decision-of-a-process).
- **A goal** that is not reached is in the table as MISSED.
"""


def render(results: Results) -> str:
    """Return the page."""
    parts = ["# Benchmarks", "", METHOD, _machine(results.about), "", "## Where others are ahead", "", _ahead(results)]
    for group, (heading, section) in SECTIONS.items():
        if group in results.groups:
            parts += ["", f"## {heading}", section(results).rstrip()]
    return "\n".join([*parts, "", "## All goals", "", _goals(results), ""])


def _machine(about: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version or '(absent)'}" for name, version in about["versions"].items())
    return (
        f"Measured on {about['day']}: {about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB, "
        f"{about['system']}, Python {about['python']}.\n\n{versions}. mabby declares numpy < 2; it is installed all "
        "the same, and runs."
    )


def _ahead(results: Results) -> str:
    found = beaten.found(results)
    return "\n".join(f"- {sentence}." for sentence in found) or "Nowhere in this run."


def _goals(results: Results) -> str:
    rows = []
    for group, found in results.groups.items():
        for one in found["rows"]:
            row = Row(**{key: value for key, value in one.items() if key != "met"})
            value, spread, goal, verdict = cells(row)
            rows.append([group, row.what, value, spread, goal, verdict, row.best])
    return table(["group", "what", "value", "range", "goal", "", "made of"], rows, left=2)


def svg(chart: Any) -> str:
    """Draw a chart."""
    with alt.data_transformers.enable("default", max_rows=None):
        drawn: str = vl_convert.vegalite_to_svg(styled(chart).to_dict())
    return drawn


def write(results: Results) -> None:
    """Write the page and its charts."""
    PICTURES.mkdir(exist_ok=True)
    for name, (draw, needs) in CHARTS.items():
        if results.table(needs):
            (PICTURES / f"{name}.svg").write_text(svg(draw(results)), encoding="utf-8")
    PAGE.write_text(render(results), encoding="utf-8")
