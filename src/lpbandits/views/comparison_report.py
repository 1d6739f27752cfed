"""Charts, files and HTML report of one simulation."""

from pathlib import Path

from lpbandits.simulation import Results
from lpbandits.views.charts.base import Chart, deferred_validation
from lpbandits.views.charts.lines import regret_chart, state_chart
from lpbandits.views.charts.spread import final_chart
from lpbandits.views.folder import footer, save_report
from lpbandits.views.page import Section, Table
from lpbandits.views.tables import comparison, described

HOW_TO_READ = (
    "Regret is the reward that a person lost by not receiving their best action in every round; lower is better. Lines "
    "are means over people, bands one standard deviation, and bars at the line ends one standard error of the mean "
    "(over draws of the orderings, if there are several). All policies face the same people and the same random draws."
)
STATE_NOTE = "The posterior probability that each policy gives to the person's true state, averaged over people."


def charts_of(results: Results, *, title: str = "Cumulative regret", limit: float | None = None) -> dict[str, Chart]:
    """Return the charts of a simulation by file name; `limit` is the top of the regret axis."""
    curves = results.curves()
    x, y = ("duel", "cumulative strong regret") if results.duels else ("round", "cumulative regret")
    charts = {
        "regret": regret_chart(curves, title=title, limit=limit, along=x, of=y),
        "people": final_chart(results.people(), title="Regret per person"),
    }
    if curves["true_state"].is_not_nan().any():
        charts["state"] = state_chart(curves, title="Probability of the true state")
    return charts


@deferred_validation
def save_comparison(results: Results, folder: str | Path) -> Path:
    """Write tables, charts (PNG and SVG) and an HTML report of a simulation; return the report's path."""
    charts = charts_of(results)
    state = charts.pop("state", None)
    sections = [Section("Regret", [HOW_TO_READ], charts, [Table(*comparison(results))])]
    if state is not None:
        sections.append(Section("True state", [STATE_NOTE], {"state": state}))
    return save_report(
        folder,
        title="Comparison of policies",
        lead=described(results) + ".",
        sections=sections,
        foot=footer(results.seconds),
        tables=results.tables(),
        manifest=results.manifest(),
    )
