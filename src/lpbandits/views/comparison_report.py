"""The charts, files and report of one simulation."""

from pathlib import Path

from lpbandits.simulation import Results
from lpbandits.views.charts.base import Chart, deferred_validation, regret_chart, state_chart
from lpbandits.views.charts.spread import final_chart
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import comparison, described

HOW_TO_READ = (
    "Regret is what a person lost by not getting their best action in every round; lower is better. Lines are means "
    "over people, bands one standard deviation, bars at their ends one standard error of the mean (over draws of the "
    "orderings, if there are several). All policies meet the same people with the same luck."
)


def charts_of(results: Results, *, title: str = "Cumulative regret", limit: float | None = None) -> dict[str, Chart]:
    """Return the charts of one run by file name."""
    curves = results.curves()
    along, what = ("duel", "cumulative strong regret") if results.duels else ("round", "cumulative regret")
    charts = {
        "regret": regret_chart(curves, title=title, limit=limit, along=along, of=what),
        "people": final_chart(results.people(), title="Regret per person"),
    }
    if curves["true_state"].is_not_nan().any():
        charts["state"] = state_chart(curves, title="Finding the true state")
    return charts


@deferred_validation
def save_comparison(results: Results, folder: str | Path) -> Path:
    """Write tables, charts (PNG and SVG) and an HTML report of one run; return the report's path."""
    charts = charts_of(results)
    state = {"state": charts.pop("state")} if "state" in charts else {}
    sections = [Section("Regret", [HOW_TO_READ], charts, [Table(*comparison(results))])]
    if state:
        text = ["The posterior probability that each policy gives to the person's true state, averaged over people."]
        sections.append(Section("The true state", text, state))
    return save_report(
        folder,
        title="Policies compared",
        lead=described(results) + ".",
        sections=sections,
        foot=footer(results.seconds),
        tables=results.tables(),
        manifest=results.manifest(),
    )
