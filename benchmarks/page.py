"""Write docs/benchmarks.md from benchmarks/results.json, for `make bench` and `python -m benchmarks page`."""

from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from benchmarks import beaten, missed, readme
from benchmarks.charts import CHARTS
from benchmarks.machine import in_words
from benchmarks.markdown import table
from benchmarks.measure import cells, say
from benchmarks.results import Results
from benchmarks.sections import SECTIONS
from lpbandits.views.charts.base import styled

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "benchmarks"
README = ROOT / "README.md"

METHOD = """\
`make bench` writes this page, `benchmarks/results.json` and the charts. It runs in a separate environment: the other
packages are only in the dependency group `bench`.

- **CPU time** of one thread, which other load on the machine hardly affects. Wall times are marked as such; they need
  an idle machine.
- **Interleaved**: all packages do the same job in turn, several times, and the minimum time of each counts. Other load
  affects all packages equally and can only increase a time.
- **Warm**: every job ran once before. Compiling and importing are measured
  [separately](#the-first-decision-of-a-process).
- **Goals** that are not reached are marked MISSED in [the table of all goals](#all-goals) and
  [explained](#goals-missed). Exponents in that table are fitted to all sizes; charts give the exponent of the last
  segment of a line.
- **Ratios** in parentheses are relative to lpbandits: 12× means twelve times its time.
"""


def render(results: Results) -> str:
    """Return the page."""
    parts = ["# Benchmarks", "", METHOD, _machine(results), "", "## Where others are ahead", "", _ahead(results)]
    parts += ["", "## Goals missed", "", _missed(results)]
    for group, (heading, section) in SECTIONS.items():
        if group in results.groups:
            parts += ["", f"## {heading}", section(results).rstrip()]
    return "\n".join([*parts, "", "## All goals", "", _goals(results), ""])


def _machine(results: Results) -> str:
    about = results.about
    parts = [
        f"Measured on {about['day']}: {in_words(about)} The version of lpbandits is that of the last release before "
        "the measurement. mabby declares numpy < 2; it is installed nevertheless and works."
    ]
    at: dict[str, list[str]] = {}
    for group, found in results.groups.items():
        own, day = found.get("about"), found.get("day", about["day"])
        if own or day != about["day"]:
            machine = f"{own['day']}: {in_words(own)}" if own else f"{day}."
            at.setdefault(machine, []).append(f"`{group}`")
    for machine, measured in at.items():
        parts.append(f"{', '.join(measured)} {'was' if len(measured) == 1 else 'were'} measured on {machine}")
    absent = [group for group in SECTIONS if group not in results.groups]
    if absent:
        names = ", ".join(f"`{group}`" for group in absent)
        parts.append(f"Not measured in these results: {names} (`python -m benchmarks {' '.join(absent)} --save`).")
    return "\n\n".join(parts)


def _ahead(results: Results) -> str:
    found = beaten.found(results)
    return "\n".join(f"- {sentence}." for sentence in found) or "Nowhere in this run."


def _missed(results: Results) -> str:
    lines = []
    for group, row in results.rows():
        if not row.met:
            value, _, goal, _ = cells(row)
            lines.append(f"- **{row.what}**: {value}, goal {goal}. {missed.why(results, group, row.what)}")
    return "\n".join(lines) or "None in this run."


def _goals(results: Results) -> str:
    rows = []
    for group, row in results.rows():
        value, spread, goal, verdict = cells(row)
        rows.append([group, row.what, value, spread, goal, verdict, row.best])
    return table(["group", "measurement", "value", "range", "goal", "", "computed from"], rows, left=2)


def svg(chart: Any) -> str:
    """Draw a chart."""
    with alt.data_transformers.enable("default", max_rows=None):
        drawn: str = vl_convert.vegalite_to_svg(styled(chart).to_dict())
    return drawn


def write(results: Results) -> None:
    """Write the page, its charts, and the table of README.md."""
    PICTURES.mkdir(exist_ok=True)
    for name, (draw, needs) in CHARTS.items():
        if results.table(needs):
            (PICTURES / f"{name}.svg").write_text(svg(draw(results)), encoding="utf-8")
    PAGE.write_text(render(results), encoding="utf-8")
    README.write_text(readme.renewed(README.read_text(encoding="utf-8"), results), encoding="utf-8")
    say(f"wrote {PAGE.relative_to(ROOT)}, {PICTURES.relative_to(ROOT)}/*.svg and the table of {README.name}")
